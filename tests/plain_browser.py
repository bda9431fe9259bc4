"""A browser without script: it reads pages, fills in forms, presses buttons, follows redirects."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

from web_face import Answer, Visitor

VOID = {"input", "meta", "link", "br", "hr", "img", "rect", "path", "circle"}
APART = {"dt", "dd", "td", "th", "p", "li", "div", "label", "span", "button", "h1", "h2"}


@dataclass
class PageForm:
    """One form: where it goes, what it would send, and the buttons that send something too."""

    action: str
    method: str
    fields: list[tuple[str, str]] = field(default_factory=list)
    buttons: list[tuple[str, str]] = field(default_factory=list)

    def named(self, name: str) -> list[str]:
        return [value for key, value in self.fields if key == name]


class Page(HTMLParser):
    """What a page says: its text, its forms, its elements with their attributes."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.answer = answer
        self.forms: list[PageForm] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.ids: dict[str, dict[str, str]] = {}
        self._texts: list[str] = []
        self._inside: list[tuple[str, str, int]] = []
        self._by_id: dict[str, str] = {}
        self._form: PageForm | None = None
        self._select = ""
        self.feed(answer.text)
        self.close()

    @property
    def text(self) -> str:
        return _tidy("".join(self._texts))

    def text_of(self, element_id: str) -> str:
        return _tidy(self._by_id[element_id])

    def form_with(self, name: str, value: str) -> PageForm:
        (found,) = [form for form in self.forms if value in form.named(name)]
        return found

    def handle_starttag(self, tag, attrs):
        given = {name: value or "" for name, value in attrs}
        self.elements.append((tag, given))
        if tag in APART:
            self._texts.append(" ")
        if "id" in given:
            assert given["id"] not in self.ids, f"two elements are called {given['id']}"
            self.ids[given["id"]] = given
        if tag not in VOID:
            self._inside.append((tag, given.get("id", ""), len(self._texts)))
        if tag == "form":
            self._form = PageForm(given.get("action", ""), given.get("method", "get"))
            self.forms.append(self._form)
        elif self._form is not None and "disabled" not in given:
            self._note_control(tag, given)

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if tag in APART:
            self._texts.append(" ")
        while self._inside:
            opened, name, start = self._inside.pop()
            if name:
                self._by_id[name] = "".join(self._texts[start:])
            if opened == tag:
                break
        if tag == "form":
            self._form = None

    def handle_data(self, data):
        self._texts.append(data)

    def _note_control(self, tag, given):
        form, name = self._form, given.get("name", "")
        kind = given.get("type", "text")
        if tag == "input" and name and (kind not in ("checkbox", "radio") or "checked" in given):
            form.fields.append((name, given.get("value", "on" if kind == "checkbox" else "")))
        elif tag == "select":
            self._select = name
            form.fields.append((name, ""))
        elif tag == "option" and "selected" in given:
            form.fields[-1] = (self._select, given.get("value", ""))
        elif tag == "button":
            form.buttons.append((name, given.get("value", "")))


@dataclass
class PlainBrowser:
    """Somebody with a browser that runs no script."""

    visitor: Visitor

    def open(self, path: str) -> Page:
        return Page(self._follow(self.visitor.get(path)))

    def press(
        self, form: PageForm, button: tuple[str, str] = ("", ""), *, follow: bool = True, **typed
    ) -> Page:
        """Send a form; ``typed`` replaces fields (dots as two underscores), lists repeat."""
        values = {name.replace("__", "."): value for name, value in typed.items()}
        sent = [(name, value) for name, value in form.fields if name not in values]
        for name, value in values.items():
            sent += [(name, one) for one in (value if isinstance(value, list) else [value])]
        if button[0]:
            sent.append(button)
        answer = self.visitor.submit(form.action, sent)
        return Page(self._follow(answer) if follow else answer)

    def _follow(self, answer: Answer) -> Answer:
        while answer.status in (302, 303):
            answer = self.visitor.get(answer.header("location").partition("#")[0])
        return answer


def _tidy(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
