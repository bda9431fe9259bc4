"""One setting as the page shows it: which control, what it holds, and whether it may be used."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lyrsvc.core.setting import Setting, Tier
from lyrsvc.providers.lane_registry import known_lanes
from lyrsvc.settings.setting_views import SettingView
from lyrsvc.web.setting_words import SOURCES, label_of, limits_text, spelled, value_text

OFFERS: Final[Mapping[str, Callable[[], Sequence[str]]]] = {"lane": known_lanes}
"""Where the words come from that a declaration cannot list."""

_WIDGETS: Final = {"bool": "switch", "int": "number", "float": "number", "pairs": "pairs"}
_LISTS: Final = ("list", "cidrs")


@dataclass(frozen=True, kw_only=True)
class Situation:
    """What all controls of a page depend on: may the file be written, does anybody look only."""

    known: Mapping[str, Any]
    pending: frozenset[str]
    writable: bool
    frozen: bool


@dataclass(frozen=True, kw_only=True)
class Draft:
    """What a visitor typed and has not saved; ``spare`` is the number of empty rows of a list."""

    value: Any
    spare: int = 1


@dataclass(frozen=True, kw_only=True)
class Control:
    """One setting on the page; ``value`` is what its control holds."""

    view: SettingView
    setting: Setting[Any]
    label: str
    widget: str
    value: Any
    choices: tuple[str, ...]
    limits: str
    disabled: bool
    pending: bool
    error: str = ""
    spare: int = 1

    @property
    def id(self) -> str:
        """The name of the row inside the page."""
        return "setting-" + self.view.path.replace(".", "-")

    @property
    def path(self) -> str:
        """The dotted name."""
        return self.view.path

    @property
    def tier(self) -> Tier:
        """How much can go wrong."""
        return self.setting.tier

    @property
    def options(self) -> list[tuple[str, str]]:
        """The choices with their words, a blank one where nothing may be chosen."""
        named = [(word, spelled(word) if self.setting.choices else word) for word in self.choices]
        may_be_blank = self.widget == "list" or self.setting.default == ""
        return [("", "–"), *named] if may_be_blank else named

    @property
    def rows(self) -> list[Any]:
        """The entries of a list, and the empty ones to fill in."""
        blank: Any = {"from": "", "to": ""} if self.widget == "pairs" else ""
        given = list(self.value or ())
        return given if self.disabled else given + [blank] * self.spare

    @property
    def resettable(self) -> bool:
        """Whether taking it out of the file would change anything."""
        return (
            not self.disabled
            and not self.setting.secret
            and self.view.value != self.view.default
            and bool(self.view.value or self.view.default)
        )

    @property
    def clearable(self) -> bool:
        """Whether a secret can be taken away here."""
        return self.setting.secret and not self.disabled and self.view.set

    @property
    def default_text(self) -> str:
        """The default in words."""
        return value_text(self.view.default, self.view.unit)

    @property
    def running_text(self) -> str:
        """The value in force in words; of a secret only that there is one."""
        return value_text(self.view.running, self.view.unit)

    @property
    def saved_text(self) -> str:
        """The value of the next start in words."""
        return value_text(self.view.value, self.view.unit)

    @property
    def source_text(self) -> str:
        """Where the value in force comes from."""
        return SOURCES[self.view.source]

    @property
    def secret_text(self) -> str:
        """Whether a secret is set and where it is kept, never what it is."""
        return f"set ({self.source_text})" if self.view.set else "not set"

    @property
    def locked_kind(self) -> str:
        """What kind of thing decides instead of the page."""
        return "flag" if (self.view.locked_by or "").startswith("-") else "environment variable"


def make_control(
    view: SettingView,
    setting: Setting[Any],
    around: Situation,
    *,
    draft: Draft | None = None,
    error: str = "",
) -> Control:
    """Make the control of a setting; a draft takes the place of what is saved."""
    choices = setting.choices or tuple(OFFERS[setting.offers]() if setting.offers else ())
    widget = widget_of(setting, choices)
    disabled = _is_disabled(view, around)
    if disabled or view.secret:
        draft = None
    value = view.value if draft is None else draft.value
    return Control(
        view=view,
        setting=setting,
        label=label_of(view.path, view.unit),
        widget=widget,
        value=value,
        choices=_with_present(choices, value) if widget != "switch" else (),
        limits="" if setting.secret else limits_text(setting, around.known),
        disabled=disabled,
        pending=view.path in around.pending,
        error=error,
        spare=draft.spare if draft is not None else 1,
    )


def widget_of(setting: Setting[Any], choices: Sequence[str] = ()) -> str:
    """Choose the control by the type of the setting."""
    if setting.secret:
        return "secret"
    if setting.kind in _LISTS:
        return "list"
    if setting.kind in _WIDGETS:
        return _WIDGETS[setting.kind]
    return "select" if choices else "text"


def _is_disabled(view: SettingView, around: Situation) -> bool:
    """Say whether it cannot be changed here; secrets do not need the file."""
    may_write = around.writable or view.secret
    return view.locked or not view.editable or around.frozen or not may_write


def _with_present(choices: Sequence[str], value: Any) -> tuple[str, ...]:  # noqa: ANN401
    """Offer what is set now, too, even when nothing knows it any more."""
    if not choices:
        return ()
    present = value if isinstance(value, list) else [value]
    return tuple(dict.fromkeys([*choices, *(word for word in present if word)]))
