"""Forms about libraries: read into what the JSON operations take, refused field by field."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lyrsvc.core.library import Library, name_key
from lyrsvc.services.library_board import LibraryView
from lyrsvc.web.exchange import Form
from lyrsvc.web.library_api import LibraryChange, NewLibrary
from lyrsvc.web.page_actions import sentence
from lyrsvc.web.problems import Problem
from lyrsvc.web.scan_api import ScanStart
from lyrsvc.web.shapes import as_text

INHERIT: Final = "inherit"
OVERRIDES: Final = ("enrich", "detect_instrumental")
MODES: Final = ("normal", "upgrade", "update")

_CHOICES: Final[Mapping[str, bool | None]] = {
    "on": True,
    "true": True,
    "off": False,
    "false": False,
    INHERIT: None,
}
_WORDS: Final = {True: "on", False: "off", None: INHERIT}
_NEEDS_PATH: Final = "name the directory that holds the music"
_NEEDS_NAME: Final = "a library needs a name"
_LONGEST: Final = {"name": 200, "path": 4096}


@dataclass(frozen=True, kw_only=True)
class LibraryForm:
    """A form as it stands in the page; ``faults`` say what is wrong, by field."""

    id: int | None = None
    path: str = ""
    name: str = ""
    enrich: str = INHERIT
    detect_instrumental: str = INHERIT
    scan: bool = True
    faults: Mapping[str, str] = field(default_factory=dict)

    @property
    def suffix(self) -> str:
        """Tell the fields of one form from those of another on the same page."""
        return "" if self.id is None else f"-{self.id}"


def form_of(view: LibraryView) -> LibraryForm:
    """Give the form that changes a library, as the library is."""
    library = view.library
    return LibraryForm(
        id=library.id,
        path=as_text(str(library.path)),
        name=library.name,
        enrich=_WORDS[library.enrich],
        detect_instrumental=_WORDS[library.detect_instrumental],
    )


def sent_form(form: Form, faults: Mapping[str, str], *, id: int | None = None) -> LibraryForm:
    """Give the form as it was sent, with what is wrong about it."""
    return LibraryForm(
        id=id,
        path=form.get("path"),
        name=form.get("name"),
        enrich=form.get("enrich") or INHERIT,
        detect_instrumental=form.get("detect_instrumental") or INHERIT,
        scan="scan" in form,
        faults=faults,
    )


def read_new(form: Form) -> NewLibrary:
    """Read what to register; a blank name is chosen by the registry."""
    path = form.get("path").strip()
    if not path:
        raise Problem("invalid_request", f"path: {_NEEDS_PATH}")
    return NewLibrary(**_checked({"path": path, "name": _name(form) or None, **_overrides(form)}))


def read_change(form: Form, library: Library) -> LibraryChange:
    """Read what to change; what is not sent, or is as the page showed it, stays."""
    values: dict[str, Any] = {**_overrides(form)}
    if "name" in form:
        if not _name(form):
            raise Problem("invalid_request", f"name: {_NEEDS_NAME}")
        values["name"] = _name(form)
    if "path" in form and form.get("path") != as_text(str(library.path)):
        if not form.get("path").strip():
            raise Problem("invalid_request", f"path: {_NEEDS_PATH}")
        values["path"] = form.get("path").strip()
    return LibraryChange(**_checked(values))


def read_scan(form: Form, library_id: int | None) -> ScanStart:
    """Read how to scan; ``mode`` stands for the two switches of the JSON operation."""
    mode = form.get("mode", "normal") or "normal"
    if mode not in MODES:
        raise Problem("invalid_request", f"mode: must be one of {', '.join(MODES)}")
    return ScanStart(
        library=library_id,
        update=mode == "update" or _is_on(form, "update"),
        upgrade=mode == "upgrade" or _is_on(form, "upgrade"),
        **_overrides(form),
    )


def faults_of(problem: Problem, form: Form, others: list[Library]) -> dict[str, str]:
    """Say in sentences what is wrong, at the field it is about."""
    name, colon, text = problem.detail.partition(": ")
    if colon and name in ("path", "name", *OVERRIDES):
        return {name: sentence(text)}
    if problem.code == "exists":
        taken = name_key(_name(form)) in [name_key(other.name) for other in others]
        if taken:
            return {"name": "Another library has this name."}
        return {"path": "Another library has this directory already."}
    return {"": sentence(problem.detail)}


def _checked(values: dict[str, Any]) -> dict[str, Any]:
    for name, most in _LONGEST.items():
        if len(values.get(name) or "") > most:
            raise Problem("invalid_request", f"{name}: at most {most:,} characters fit")
    return values


def _name(form: Form) -> str:
    return form.get("name").strip()


def _overrides(form: Form) -> dict[str, bool | None]:
    return {name: _choice(form, name) for name in OVERRIDES if form.get(name)}


def _choice(form: Form, name: str) -> bool | None:
    text = form.get(name)
    if text not in _CHOICES:
        raise Problem("invalid_request", f"{name}: must be on, off or inherit")
    return _CHOICES[text]


def _is_on(form: Form, name: str) -> bool:
    return bool(_choice(form, name)) if form.get(name) else False
