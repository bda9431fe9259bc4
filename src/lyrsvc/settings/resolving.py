"""Flag, then environment, then file, then store, then default: one value and its source each."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from lyrsvc.core.setting import Check, Clamp, Derived, Entry, Place, Tier
from lyrsvc.core.setting_kinds import PathName
from lyrsvc.settings.addresses import without_anything_before_at
from lyrsvc.settings.findings import Finding, Kind, fault, warning
from lyrsvc.settings.registry import Registry, variables
from lyrsvc.settings.whole_files import read_whole

_SECRET_FILE_LIMIT = 64 * 1024
_LONGEST_SHOWN = 80
_FILE_NAME = PathName(None, "A file that holds a secret.")


class Sources(NamedTuple):
    """Everything values may come from, as it was handed in."""

    flags: Mapping[str, Any]
    environ: Mapping[str, str]
    file: Mapping[str, Any]
    file_path: Path | None
    stored: Mapping[str, str]
    working_directory: Path
    home: Path | None
    database: Path | None
    """Where the database is when no setting says so."""


class Resolution(NamedTuple):
    """Every value by path, where each came from, and what was found on the way."""

    values: dict[str, Any]
    sources: dict[str, str]
    findings: list[Finding]


class _Raw(NamedTuple):
    """A value as written, before it is understood."""

    value: object
    source: str
    shown: str
    """How messages name the place."""


def resolve(registry: Registry, sources: Sources) -> Resolution:
    """Find every setting's value; faults are collected, never raised."""
    result = Resolution({}, {}, [])
    known: dict[str, Any] = {"database": sources.database}
    for entry in registry.entries:
        value, source = _resolve_one(entry, sources, known, result.findings)
        known[entry.path] = result.values[entry.path] = value
        result.sources[entry.path] = source
    return result


def _resolve_one(
    entry: Entry, sources: Sources, known: Mapping[str, Any], findings: list[Finding]
) -> tuple[Any, str]:
    for raw in _candidates(entry, sources, findings):
        value, problem = _judge(entry, raw, sources, known)
        if problem is not None:
            findings.append(problem)
            if problem.fatal:
                break
        elif not value and entry.setting.empty_is_absent:
            continue
        if problem is None or problem.kind is Kind.CLAMPED:
            return value, raw.source
    return _default(entry, known), "default"


def _default(entry: Entry, known: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any setting's value
    default = entry.setting.default
    if not isinstance(default, Derived):
        return default
    try:
        return default.of(known)
    except (AttributeError, TypeError):  # what it follows from is itself missing
        return entry.setting.blank


def locked_by(entry: Entry, sources: Sources) -> str | None:
    """Name the flag or variable that hides what the file says, even when its value is unusable."""
    if _flag_text(entry, sources) is not None:
        return entry.setting.flag.name if entry.setting.flag else "the flag"
    for name in variables(entry):
        names = (name, f"{name}_FILE") if entry.setting.file_twin else (name,)
        for set_name in names:
            if sources.environ.get(set_name, "").strip():
                return set_name
    return None


def _candidates(entry: Entry, sources: Sources, findings: list[Finding]) -> Iterator[_Raw]:
    """Give the written values of a setting, the strongest source first."""
    given = _flag_text(entry, sources)
    if given is not None:
        flag = entry.setting.flag
        yield _Raw(given, "flag", _shown(entry, flag.name if flag else "the flag"))
    for name in variables(entry):
        yield from _from_environment(entry, name, sources, findings)
    if not entry.setting.env_only:
        written = written_at(sources.file, entry.path)
        if written is not None and not entry.setting.is_blank(written):
            yield _Raw(written, "file", f"{entry.path} in {sources.file_path}")
    if sources.stored.get(entry.path, "").strip():
        yield _Raw(sources.stored[entry.path], "store", _shown(entry, "the secret store"))


def _flag_text(entry: Entry, sources: Sources) -> object | None:
    """Give the value of a flag; a blank one counts as absent, a repeated one is a list."""
    value = sources.flags.get(entry.path)
    if isinstance(value, list):
        value = ",".join(map(str, value))
    return None if entry.setting.is_blank(value) else value


def _shown(entry: Entry, source: str) -> str:
    """Name setting and source; the variable of a setting without a path is both."""
    return source if entry.key == source else f"{entry.key} from {source}"


def _from_environment(
    entry: Entry, name: str, sources: Sources, findings: list[Finding]
) -> Iterator[_Raw]:
    text = sources.environ.get(name, "")
    twin = sources.environ.get(f"{name}_FILE", "") if entry.setting.file_twin else ""
    if text.strip():
        if twin.strip():
            findings.append(
                warning(entry.path, f"{name} and {name}_FILE are both set; {name} is used")
            )
        yield _Raw(text, f"env:{name}", _shown(entry, name))
    elif twin.strip():
        place = Place(sources.working_directory, sources.home)
        content = _read_secret_file(entry, f"{name}_FILE", twin, place, findings)
        if content.strip():
            yield _Raw(content, f"env:{name}_FILE", _shown(entry, f"{name}_FILE"))


def _read_secret_file(
    entry: Entry, name: str, path: str, place: Place, findings: list[Finding]
) -> str:
    try:
        data = read_whole(_FILE_NAME.from_text(path, place), _SECRET_FILE_LIMIT + 1)
        if len(data) > _SECRET_FILE_LIMIT:
            findings.append(fault(entry.path, f"{name}: {path} is larger than 64 KiB"))
            return ""
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        findings.append(fault(entry.path, f"{name}: {path} is not UTF-8 text"))
        return ""
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or f"must be {error}"
        findings.append(fault(entry.path, f"{name}: cannot read {path}: {reason}"))
        return ""
    return text.removesuffix("\n").removesuffix("\r")


def _understand(entry: Entry, raw: _Raw, sources: Sources) -> Any:  # noqa: ANN401
    if raw.source == "file":
        directory = sources.file_path.parent if sources.file_path else sources.working_directory
        return entry.setting.from_toml(raw.value, Place(directory, sources.home))
    place = Place(sources.working_directory, sources.home)
    if raw.source == "flag" and not isinstance(raw.value, str):
        return entry.setting.from_toml(raw.value, place)
    return entry.setting.from_text(str(raw.value), place)


def _judge(
    entry: Entry, raw: _Raw, sources: Sources, known: Mapping[str, Any]
) -> tuple[Any, Finding | None]:
    """Give the value, moved into its range where need be, and what is wrong with it."""
    try:
        value = _understand(entry, raw, sources)
    except (ValueError, TypeError) as wish:
        return None, _misfit(entry, raw, wish, _short(entry, raw.value))
    check = entry.setting.check
    if isinstance(check, Check) and not check.holds(value):
        found = _short(entry, entry.setting.show(value))
        return None, _misfit(entry, raw, ValueError(check.wish), found)
    if isinstance(check, Clamp) and check.nearest(value, known) != value:
        moved = check.nearest(value, known)
        show = entry.setting.show
        low, high = (show(type(value)(bound)) for bound in check.bounds(known))
        text = f"{raw.shown}: {show(value)} is outside {low}..{high}; {show(moved)} is used"
        return moved, Finding(Kind.CLAMPED, entry.path, text)
    return value, None


def _misfit(entry: Entry, raw: _Raw, wish: Exception, found: str) -> Finding:
    """Say what was wanted; a safe variable is only warned about and passed over."""
    if isinstance(wish, TypeError):
        text = f"{raw.shown}: wanted {wish}, found {type_name(raw.value)}"
    elif entry.setting.secret:
        text = f"{raw.shown}: must be {wish}"
    else:
        text = f'{raw.shown}: must be {wish}, not "{found}"'
    if raw.source == "flag":
        return Finding(Kind.USAGE, entry.path, text)
    if raw.source.startswith("env:") and entry.setting.tier is Tier.SAFE:
        return warning(entry.path, f"{text}; the variable is not used")
    return fault(entry.path, text)


def _short(entry: Entry, value: object) -> str:
    """Write a refused value for a message: not at length, and never a password in a URL."""
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value).strip()
    if entry.setting.kind == "url":
        text = without_anything_before_at(text)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."


def type_name(value: object) -> str:
    """Name the type of a TOML value for people."""
    names = {
        bool: "true or false", int: "a whole number", float: "a number", str: "a string",
        list: "a list", dict: "a table",
    }  # fmt: skip
    return names.get(type(value), "a date or time")


def written_at(document: Mapping[str, Any], path: str) -> Any:  # noqa: ANN401 - any TOML value
    """Give the value at a dotted path of a TOML document, or None."""
    node: Any = document
    for part in path.split("."):
        if not isinstance(node, Mapping) or part not in node:
            return None
        node = node[part]
    return node
