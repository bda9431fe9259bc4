"""Names that nobody knows, in the file and the environment, and what was probably meant."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lyrsvc import brand
from lyrsvc.core.setting import Entry
from lyrsvc.settings.environment_sections import Environment
from lyrsvc.settings.findings import Finding, Kind, fault
from lyrsvc.settings.registry import Registry, nearest
from lyrsvc.settings.resolving import type_name

PASSWORD = Environment.admin_password.env[0]
PASSWORD_FILE = f"{PASSWORD}_FILE"


def unknown_keys(
    document: Mapping[str, Any], path: Path | None, registry: Registry
) -> Iterator[Finding]:
    """Warn of every key that is no setting; a value where a table should be is a fault."""
    in_file = [entry for entry in registry.entries if not entry.setting.env_only]
    tables = _tables(in_file)
    elsewhere = _tables(entry for entry in registry.entries if entry.setting.env_only) - tables
    known = {entry.path for entry in in_file}
    for key, value in _keys(document, tables, elsewhere, ""):
        if key in tables:
            yield fault(key, f"{key} in {path}: wanted a table, found {type_name(value)}")
        elif key.partition(".")[0] in elsewhere:
            text = f'"{key}" cannot be set in {path}; set {_variables(key, registry)}'
            yield Finding(Kind.UNKNOWN, key, text)
        elif key not in known:
            text = f'unknown setting "{key}" in {path}'
            yield Finding(Kind.UNKNOWN, key, text + _key_hint(key, value, known | tables))


def unknown_variables(environ: Mapping[str, str], registry: Registry) -> Iterator[Finding]:
    """Warn of every variable with our prefix that is no setting's."""
    for name in sorted(environ):
        ours = name.startswith(brand.ENV_PREFIXES) and name != PASSWORD_FILE
        if ours and environ[name].strip() and not registry.knows_variable(name):
            meant = nearest(name, registry.offered_variables())
            yield Finding(Kind.UNKNOWN, name, f'unknown variable "{name}"' + _hint(meant))


def _tables(entries: Iterable[Entry]) -> set[str]:
    """Name every table on the way to the settings."""
    tables = set()
    for entry in entries:
        parts = entry.path.split(".")
        tables |= {".".join(parts[:depth]) for depth in range(1, len(parts))}
    return tables


def _keys(
    document: Mapping[str, Any], tables: set[str], elsewhere: set[str], prefix: str
) -> Iterator[tuple[str, Any]]:
    """Give the dotted name of every key, descending only into tables that exist."""
    for name, value in document.items():
        path = prefix + (f'"{name}"' if "." in name else name)
        is_table = isinstance(value, dict) and path in tables | elsewhere
        if is_table and (value or path in tables):
            yield from _keys(value, tables, elsewhere, f"{path}.")
        else:
            yield path, value


def _variables(key: str, registry: Registry) -> str:
    """Name the variable that is wanted instead of a key, or those of its table."""
    entry = registry.by_path.get(key)
    if entry is not None:
        return f"the variable {entry.key}"
    table = key.partition(".")[0]
    names = [e.key for e in registry.entries if e.path.startswith(f"{table}.")]
    return "the variables " + ", ".join(names)


def _key_hint(key: str, value: object, known: Iterable[str]) -> str:
    """Find the name that was meant; of an unknown table also by the settings in it."""
    meant = nearest(key, known)
    if meant is None and isinstance(value, dict):
        inside = (nearest(f"{key}.{name}", known) for name in value)
        meant = next(filter(None, inside), None)
    return _hint(meant)


def _hint(meant: str | None) -> str:
    return f'; did you mean "{meant}"?' if meant else ""
