"""How a setting is declared.

A setting is one class attribute of one :class:`Section`. Its declaration holds
everything there is to know about it; files, variables, flags, checks, pages,
documentation and redaction are loops over the declarations::

    class Api(Section):
        cooldown = Integer(15, "Seconds between two requests.", unit="s", check=clamp(0, 86400))

    settings.api.cooldown  # an int

A plugin declares the settings of its lane in the same way.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Final, Generic, NamedTuple, Self, TypedDict, TypeVar, Unpack, cast, overload

T = TypeVar("T")
S = TypeVar("S", bound="Section")

ALL_COMMANDS: Final = ("*",)


class Tier(Enum):
    """How much can go wrong when the setting is changed."""

    SAFE = "safe"
    CAUTION = "caution"
    CRITICAL = "critical"


class Tab(Enum):
    """The page tab that shows the setting."""

    COMMON = "Common"
    ADVANCED = "Advanced"
    NONE = ""


class Flag(NamedTuple):
    """The flag of a setting and the commands that carry it."""

    name: str
    on: tuple[str, ...]
    short: str = ""


class Place(NamedTuple):
    """Where a value stands: relative paths start there, ``~`` is this home."""

    directory: Path
    home: Path | None


class Derived(Generic[T]):
    """A default that follows from other settings; ``text`` says how, for the documentation."""

    def __init__(self, text: str, of: Callable[[Mapping[str, Any]], T]) -> None:
        self.text = text
        self.of = of


def same_as(path: str) -> Derived[Any]:
    """Follow another setting, declared earlier."""
    return Derived(f"`{path}`", lambda known: known[path])


Bound = float | Derived[Any]


class Check:
    """A rule about one value; ``wish`` completes the sentence "must be …"."""

    def __init__(self, wish: str, holds: Callable[[Any], bool]) -> None:
        self.wish = wish
        self.holds = holds


class Clamp:
    """A range: values outside are moved to the nearest bound when loaded, refused when saved.

    A bound may follow from settings declared earlier. ``excused`` names values
    outside the range that other settings allow.
    """

    def __init__(
        self,
        low: Bound,
        high: Bound,
        excused: Callable[[Any, Mapping[str, Any]], bool] | None = None,
    ) -> None:
        self._low = low
        self._high = high
        self._excused = excused

    def bounds(self, known: Mapping[str, Any]) -> tuple[float, float]:
        """Give the range as the other settings make it."""
        low, high = (
            bound.of(known) if isinstance(bound, Derived) else bound
            for bound in (self._low, self._high)
        )
        return low, max(low, high)

    def nearest(self, value: Any, known: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any number
        """Give the value itself, or the bound it passed."""
        if self._excused is not None and self._excused(value, known):
            return value
        low, high = self.bounds(known)
        return type(value)(min(max(value, low), high))

    def text(self) -> str:
        """Write the range for the documentation."""
        return "..".join(
            bound.text if isinstance(bound, Derived) else str(bound)
            for bound in (self._low, self._high)
        )


def must(wish: str, holds: Callable[[Any], bool]) -> Check:
    """Refuse values for which ``holds`` is false."""
    return Check(wish, holds)


def clamp(
    low: Bound, high: Bound, excused: Callable[[Any, Mapping[str, Any]], bool] | None = None
) -> Clamp:
    """Move values into a range."""
    return Clamp(low, high, excused)


class Attributes(TypedDict, total=False):
    """What a declaration may say beside default and help."""

    env: str | tuple[str, ...]
    flag: Flag
    unit: str
    check: Check | Clamp
    group: str
    tab: Tab
    tier: Tier
    secret: bool
    file_twin: bool
    editable: bool
    env_only: bool
    internal: bool
    deprecated: str
    empty_is_absent: bool
    offers: str


class Setting(Generic[T]):
    """One configurable value: its type, default, names, checks and risk."""

    kind = "str"
    wanted = "a string"
    blank: Any = ""
    """What an absent value without a default looks like."""

    def __init__(
        self, default: T | Derived[T], help_text: str, **attributes: Unpack[Attributes]
    ) -> None:
        env = attributes.get("env", ())
        self.default = default
        self.help = help_text
        self.env: tuple[str, ...] = (env,) if isinstance(env, str) else env
        self.flag = attributes.get("flag")
        self.unit = attributes.get("unit", "")
        self.check = attributes.get("check")
        self.group = attributes.get("group", "")
        self.tab = attributes.get("tab", Tab.ADVANCED)
        self.tier = attributes.get("tier", Tier.SAFE)
        self.secret = attributes.get("secret", False)
        self.file_twin = attributes.get("file_twin", self.secret)
        self.env_only = attributes.get("env_only", False)
        self.editable = attributes.get("editable", not self.env_only)
        self.internal = attributes.get("internal", False)
        self.deprecated = attributes.get("deprecated", "")
        self.empty_is_absent = attributes.get("empty_is_absent", False)
        self.offers = attributes.get("offers", "")
        """What its words name, when only the running program knows which there are."""
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, section: None, owner: type) -> Self: ...
    @overload
    def __get__(self, section: object, owner: type) -> T: ...
    def __get__(self, section: object | None, owner: type) -> Self | T:
        """Give the declaration itself; values of a loaded section hide it."""
        if section is None:
            return self
        raise AttributeError(f"{owner.__name__} has no value for {self.name}")

    @property
    def choices(self) -> tuple[str, ...]:
        """The closed list of values, when there is one."""
        return ()

    @property
    def is_list(self) -> bool:
        """Tell whether it holds several values."""
        return isinstance(self.blank, tuple)

    def from_text(self, text: str, place: Place) -> T:  # noqa: ARG002 - paths need the place
        """Read a variable's or flag's text; raise ValueError with a wish when it does not fit."""
        return cast("T", text)

    def from_toml(self, value: object, place: Place) -> T:
        """Read a value of the settings file; raise TypeError when its type does not fit."""
        if not isinstance(value, str):
            raise TypeError(self.wanted)
        return self.from_text(value, place)

    def to_toml(self, value: T) -> Any:  # noqa: ANN401 - whatever TOML can hold
        """Give the value as it is written to the settings file."""
        return value

    def as_written(self, text: str, place: Place) -> Any:  # noqa: ANN401
        """Give a typed text as it is written to the settings file."""
        return self.to_toml(self.from_text(text, place))

    def show(self, value: T) -> str:
        """Write the value for people."""
        return str(self.to_toml(value)) if value is not None else ""

    def is_blank(self, raw: object) -> bool:
        """Tell whether a written value counts as absent."""
        return isinstance(raw, str) and not raw.strip()


class Table:
    """A section inside a section."""

    def __init__(self, section: "type[Section]") -> None:
        self.section = section


def table(section: type[S]) -> S:
    """Declare a section inside a section; to the type checker it is the loaded section."""
    return cast("S", Table(section))


class Section:
    """One table of the settings file; an instance holds its loaded values and never changes."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"settings are read once; {name} cannot be set")


class Entry:
    """A declared setting at its place: ``path`` is its dotted name."""

    def __init__(self, path: str, setting: Setting[Any]) -> None:
        self.path = path
        self.setting = setting

    @property
    def key(self) -> str:
        """The name people use: the path, or the variable of a setting without one."""
        return self.setting.env[0] if self.setting.env_only else self.path


def entries(section: type[Section], prefix: str = "") -> Iterator[Entry]:
    """List every setting of a section and its tables, in the order of their declaration."""
    for name, member in vars(section).items():
        if isinstance(member, Table):
            yield from entries(member.section, f"{prefix}{name}.")
        elif isinstance(member, Setting):
            yield Entry(prefix + name, member)


def fill(section: type[S], values: Mapping[str, Any], prefix: str = "") -> S:
    """Make the loaded section out of values by path."""
    return section(
        {
            name: fill(member.section, values, f"{prefix}{name}.")
            if isinstance(member, Table)
            else values[prefix + name]
            for name, member in vars(section).items()
            if isinstance(member, Table | Setting)
        }
    )
