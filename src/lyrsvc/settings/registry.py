"""All declared settings, found by path, by variable and by what people mistype."""

from collections.abc import Iterable, Mapping
from typing import Final

from lyrsvc import brand
from lyrsvc.core.errors import ConfigError
from lyrsvc.core.setting import Entry, Section, Table, entries
from lyrsvc.settings.sections import Settings

_VERY_CLOSE: Final = 0.85
_CLOSE: Final = 0.75
_CLOSE_LAST: Final = 0.8
_LEAST_CLOSE: Final = 0.6


class Registry:
    """The settings of this program and of the plugins it uses."""

    def __init__(self, root: type[Section] = Settings) -> None:
        self.root = root
        self.entries: Final = tuple(entries(root))
        self.by_path: Final = {entry.path: entry for entry in self.entries}
        self.by_key: Final = {entry.key: entry for entry in self.entries}
        self.by_variable: Final = {
            name: entry for entry in self.entries for name in variables(entry)
        }

    def with_lanes(self, sections: Mapping[str, type[Section]]) -> "Registry":
        """Add the sections of plugin lanes below ``[providers]``; none may hide what is there."""
        if not sections:
            return self
        providers = vars(self.root)["providers"].section
        lanes = {name.replace("-", "_"): Table(section) for name, section in sections.items()}
        taken = sorted(set(lanes) & set(vars(providers)))
        if taken:
            raise ConfigError([f"a plugin lane cannot be called {name}" for name in taken])
        joined = type("Providers", (Section,), {**_members(providers), **lanes})
        tables = {**_members(self.root), "providers": Table(joined)}
        return Registry(type("Settings", (Section,), tables))

    def offered_variables(self) -> list[str]:
        """List the variables worth naming to people, files of secrets included."""
        told = {name: e for name, e in self.by_variable.items() if not e.setting.internal}
        return [*told, *(f"{name}_FILE" for name, e in told.items() if e.setting.file_twin)]

    def knows_variable(self, name: str) -> bool:
        """Tell whether a variable, or the secret file it names, is ours."""
        return name in self.by_variable or self.twin_of(name) is not None

    def twin_of(self, name: str) -> Entry | None:
        """Give the secret whose value may be kept in the file that variable ``name`` points to."""
        if not name.endswith("_FILE"):
            return None
        entry = self.by_variable.get(name.removesuffix("_FILE"))
        return entry if entry is not None and entry.setting.file_twin else None


def variables(entry: Entry) -> tuple[str, ...]:
    """List the variables of a setting, the first one winning; the mechanical name comes last."""
    if entry.setting.env_only:
        return entry.setting.env
    mechanical = brand.ENV_PREFIX + entry.path.replace(".", "_").upper()
    return tuple(dict.fromkeys((*entry.setting.env, mechanical)))


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Find the known name that was probably meant, also by its last component."""
    from difflib import SequenceMatcher, get_close_matches  # slow to import, seldom needed

    names = {other.lower(): other for other in sorted(known)}
    wanted = name.lower().replace('"', "")
    last = _last(wanted)
    close = get_close_matches(wanted, names, n=1, cutoff=_VERY_CLOSE)
    rivals = (
        close
        or [other for other in names if _last(other) == last]
        or get_close_matches(wanted, names, n=1, cutoff=_CLOSE)
        or [o for o in names if SequenceMatcher(None, last, _last(o)).ratio() >= _CLOSE_LAST]
        or get_close_matches(wanted, names, n=1, cutoff=_LEAST_CLOSE)
    )
    if not rivals:
        return None
    return names[max(rivals, key=lambda other: SequenceMatcher(None, wanted, other).ratio())]


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _members(section: type[Section]) -> dict[str, object]:
    members = {name: member for name, member in vars(section).items() if name[:2] != "__"}
    return {"__doc__": section.__doc__, **members}
