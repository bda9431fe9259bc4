"""Reading a posted form of settings: what is to be saved, and what was typed."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from lyrsvc.core.redaction import REDACTED
from lyrsvc.core.setting import Place, Setting
from lyrsvc.core.setting_kinds import Toggle
from lyrsvc.settings.registry import Registry
from lyrsvc.settings.setting_views import SettingView
from lyrsvc.web.exchange import Form
from lyrsvc.web.setting_controls import Draft, widget_of

PATH: Final = "path"
VALUE: Final = "value"
SEALED: Final = "sealed"
CONFIRM: Final = "confirm"
RESET: Final = "reset"
CLEAR: Final = "clear"
ROWS: Final = "rows"
MOST_SPARE: Final = 20

_NOWHERE: Final = Place(Path("/"), None)
_AGAIN: Final = "must be typed again with its user name and password, which are hidden here"


@dataclass(frozen=True, kw_only=True)
class Submission:
    """What a form says; ``changes`` holds only what differs from what is saved."""

    paths: tuple[str, ...]
    changes: Mapping[str, Any] = field(default_factory=dict)
    drafts: Mapping[str, Draft] = field(default_factory=dict)
    faults: Mapping[str, str] = field(default_factory=dict)


def read_submission(
    form: Form, registry: Registry, views: Mapping[str, SettingView], *, unsealed: str = ""
) -> Submission:
    """Read a form; ``unsealed`` is a secret that came back sealed from the page that asks."""
    paths = tuple(dict.fromkeys(form.all(PATH)))
    removed = [*form.all(RESET), *form.all(CLEAR)]
    if removed:
        return Submission(paths=paths, changes=dict.fromkeys(removed))
    changes: dict[str, Any] = {}
    drafts: dict[str, Draft] = {}
    faults: dict[str, str] = {}
    for path in paths:
        view = views.get(path)
        if view is None:
            changes[path] = None
            continue
        setting, name = registry.by_path[path].setting, field_name(form, path)
        typed = unsealed if view.secret and unsealed else _typed(form, name, setting)
        if typed is None:
            faults[path] = "was sent without a value"
            continue
        drafts[path] = Draft(value=typed)
        try:
            value = _understood(typed, setting, view)
        except ValueError as wish:
            faults[path] = str(wish)
            continue
        if _is_change(value, view):
            changes[path] = value
    return Submission(paths=paths, changes=changes, drafts=drafts, faults=faults)


def arrange_rows(form: Form, submission: Submission) -> Submission | None:
    """Do what a button of a list asks for (move, remove, add); None when none was pressed."""
    wish = form.get(ROWS)
    act, _, rest = wish.partition(":")
    place, _, path = rest.partition(":")
    draft = submission.drafts.get(path)
    if draft is None or not isinstance(draft.value, list) or not place.isdigit():
        return None
    entries, at = _all_rows(form, path), int(place)
    spare = draft.spare
    match act:
        case "up" if 0 < at < len(entries):
            entries.insert(at - 1, entries.pop(at))
        case "down" if at + 1 < len(entries):
            entries.insert(at + 1, entries.pop(at))
        case "remove" if at < len(entries):
            entries.pop(at)
        case "add":
            spare = min(sum(map(_is_blank, entries)) + 1, MOST_SPARE)
    moved = Draft(value=[entry for entry in entries if not _is_blank(entry)], spare=spare)
    return replace(submission, drafts={**submission.drafts, path: moved})


def field_name(form: Form, path: str) -> str:
    """Name the field of a setting: its path, or just ``value`` where the form has one setting."""
    own = any(name == path or name.startswith(f"{path}.") for name in form.values)
    return path if own or len(form.all(PATH)) != 1 else VALUE


def _typed(form: Form, name: str, setting: Setting[Any]) -> Any:  # noqa: ANN401 - by its type
    """Give what stands in the control, as the control holds it; None when it was not sent."""
    widget = widget_of(setting)
    if widget == "pairs":
        sent = f"{name}.from" in form and f"{name}.to" in form
        return [pair for pair in _pairs(form, name) if not _is_blank(pair)] if sent else None
    if name not in form:
        return None
    if widget == "list":
        return [text.strip() for text in form.all(name) if text.strip()]
    # A switch that is off sends only the hidden "false" in front of it.
    last = form.all(name)[-1].strip()
    return last.lower() in Toggle.YES if widget == "switch" else last


def _understood(typed: Any, setting: Setting[Any], view: SettingView) -> Any:  # noqa: ANN401
    """Give the TOML value of what was typed; ``ValueError`` says what it must be."""
    if widget_of(setting) == "number":
        try:
            return setting.from_text(typed, _NOWHERE)
        except ValueError as wish:
            raise ValueError(f"must be {wish}") from None
    if REDACTED in str(typed) and typed != view.value:
        raise ValueError(_AGAIN)
    return typed


def _is_change(value: Any, view: SettingView) -> bool:  # noqa: ANN401 - any TOML value
    """Tell whether anything would be saved; who may not save it hears so all the same."""
    if view.secret:
        return bool(value)
    same = bool(value == (view.value if view.value is not None else ""))
    return not same or view.locked or not view.editable


def _all_rows(form: Form, path: str) -> list[Any]:
    name = field_name(form, path)
    return list(_pairs(form, name)) or [text.strip() for text in form.all(name)]


def _pairs(form: Form, name: str) -> list[dict[str, str]]:
    befores, afters = form.all(f"{name}.from"), form.all(f"{name}.to")
    return [
        {"from": before.strip(), "to": after.strip()}
        for before, after in zip(befores, afters, strict=False)
    ]


def _is_blank(entry: Any) -> bool:  # noqa: ANN401 - a word or a pair
    return not any(entry.values()) if isinstance(entry, dict) else not entry
