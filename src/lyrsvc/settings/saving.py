"""The one writer of the settings file, for the page and for ``config set``.

Read, edit, validate the whole candidate as the next start would see it, then
replace the file. Whatever happens, the file is the old one or the new one.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from lyrsvc.core.errors import Refused
from lyrsvc.core.ports import Clock
from lyrsvc.core.redaction import REDACTED
from lyrsvc.settings import document
from lyrsvc.settings.config_text import BrokenToml, parse
from lyrsvc.settings.findings import Finding, Kind
from lyrsvc.settings.loading import Inputs, Loaded, examine
from lyrsvc.settings.registry import Registry, variables
from lyrsvc.settings.replacing import (
    FileChanged,
    has_left_overs,
    is_writable,
    read_text,
    replace_text,
    require_writable,
    tidy_up,
)
from lyrsvc.settings.resolving import written_at
from lyrsvc.settings.save_errors import Stale, ValidationFailed
from lyrsvc.settings.save_lock import save_lock
from lyrsvc.settings.save_target import Target, exists

_TRIES = 20


class Change(NamedTuple):
    """One saved setting, before and after, as TOML values; a secret's are hidden."""

    path: str
    old: Any
    new: Any


class Saved(NamedTuple):
    """What a save did."""

    path: Path
    changes: tuple[Change, ...]
    undone: str | None = None
    """The sentence to warn with, when an earlier save had been cut off."""


class FileState(NamedTuple):
    """The settings file as a caller may have seen it."""

    version: str
    """SHA-256 of its bytes; that of nothing when there is no file."""
    writable: bool


def save(
    inputs: Inputs,
    changes: Mapping[str, Any],
    *,
    clock: Clock,
    seen: Mapping[str, Any] | None = None,
    first: Callable[[], None] = lambda: None,
) -> Saved:
    """Write the changed settings, all or none; None removes a setting from the file.

    ``seen`` holds the TOML values the caller saw in the file (None = not there):
    a setting that has another one by now is not overwritten. ``first`` is called once
    everything is known to be good, before the file is touched; when it raises, the file
    stays as it is.
    """
    path = _config_path(inputs)
    target = _target(inputs, path)
    if not exists(target.path.parent):  # make no directory for a save that is refused
        _validate(inputs, "", document.edit("", changes), changes)
    with save_lock(target, clock=clock):
        undone = tidy_up(target)
        for _ in range(_TRIES):
            old = read_text(target.path)
            _require_seen(old, seen or {})
            new = document.edit(old, changes)
            if new == old:
                first()
                return Saved(path, (), undone)
            registry = _validate(inputs, old, new, changes)
            require_writable(target)
            first()
            try:
                replace_text(target, old, new)
            except FileChanged:
                continue
            return Saved(path, tuple(_compare(old, new, changes, registry)), undone)
    raise Refused(f"{path} keeps changing under our hands; try again")


def undo_interrupted_save(inputs: Inputs, *, clock: Clock) -> str | None:
    """Undo a save that was cut off, before the settings are loaded; say so, or None."""
    path = examine(inputs._replace(file_text="")).config_path
    if path is None or not exists(path):
        return None
    target = _target(inputs, path)
    if not has_left_overs(target):
        return None
    try:
        with save_lock(target, clock=clock):
            return tidy_up(target)
    except Refused as error:
        return f"{path}: an interrupted save could not be undone: {error}"


def file_state(loaded: Loaded) -> FileState:
    """Give version and writability of the settings file."""
    from hashlib import sha256

    if loaded.config_path is None:
        return FileState(sha256().hexdigest(), writable=False)
    target = loaded.config_path.resolve()
    try:
        data = target.read_bytes()
    except OSError:
        data = b""
    return FileState(sha256(data).hexdigest(), is_writable(target))


def _config_path(inputs: Inputs) -> Path:
    path = examine(inputs._replace(file_text="")).config_path
    if path is None:
        raise Refused("there is no place for a settings file; name one with --config")
    return path


def _target(inputs: Inputs, path: Path) -> Target:
    """Find the file behind links, and the directory of the database, whatever state it is in."""
    resolved = path.resolve()
    try:
        text = _sound_beginning(read_text(resolved))
    except Refused:
        text = ""
    spares = []
    for candidate in (text, ""):
        database = examine(inputs._replace(file_text=candidate)).settings.db.path
        if database is not None and database.parent.is_dir():
            spares.append(database.parent.resolve())
    return Target(resolved, tuple(spares))


def _sound_beginning(text: str) -> str:
    """Give as many whole lines as are TOML: all, unless a rewrite was cut off."""
    lines = text.splitlines(keepends=True)
    for count in range(len(lines), 0, -1):
        beginning = "".join(lines[:count])
        try:
            parse(beginning)
        except BrokenToml:
            continue
        return beginning
    return ""


def _require_seen(old: str, seen: Mapping[str, Any]) -> None:
    now = document.read(old)
    stale = [path for path, value in seen.items() if written_at(now, path) != value]
    if stale:
        names = ", ".join(stale)
        raise Stale(f"{names} was changed by somebody else meanwhile; look at it again")


def _validate(inputs: Inputs, old: str, new: str, changes: Mapping[str, Any]) -> Registry:
    """Refuse what the next start would complain about, and what a variable hides from it."""
    before = set(examine(inputs._replace(file_text=old)).findings)
    after = examine(inputs._replace(file_text=new))
    refused = [
        found
        for found in after.findings
        if found.fatal
        or (found.kind is Kind.CLAMPED and (found.path in changes or found not in before))
    ]
    hidden = set(_hidden_findings(after, old, changes))
    refused += [
        found
        for found in _hidden_findings(after, new, changes)
        if (found.fatal or found.kind is Kind.CLAMPED)
        and (found.path in changes or (found not in hidden and _is_about(found, changes)))
    ]
    if refused:
        unique = tuple(dict.fromkeys(refused))
        raise ValidationFailed(unique, [_without_outcome(found) for found in unique])
    return after.registry


def _hidden_findings(after: Loaded, text: str, changes: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Look at the changed settings, and those saved with them, as if nothing hid the file's."""
    locked = [path for path in _together(after.registry, text, changes) if after.locked(path)]
    if not locked:
        return ()
    entries = [after.registry.by_path[path] for path in locked]
    hiding = {name for entry in entries for name in variables(entry)}
    hiding |= {f"{name}_FILE" for name in hiding}
    environ = {name: value for name, value in after.environ.items() if name not in hiding}
    flags = {path: value for path, value in after.inputs.flags.items() if path not in locked}
    config = str(after.config_path)
    return examine(
        after.inputs._replace(
            environ=environ, flags=flags, config_flag=config, env_file_flag="none", file_text=text
        )
    ).findings


def _together(registry: Registry, text: str, changes: Mapping[str, Any]) -> list[str]:
    """Name the changed settings, and what else the file says of their groups."""
    written = parse(text)
    known = [path for path in changes if path in registry.by_path]
    groups = {group for path in known if (group := registry.by_path[path].setting.group)}
    beside = [
        path
        for path, entry in registry.by_path.items()
        if entry.setting.group in groups and written_at(written, path) is not None
    ]
    return list(dict.fromkeys(known + beside))


def _is_about(found: Finding, changes: Mapping[str, Any]) -> bool:
    """Tell whether a finding is about the table that a changed setting stands in."""
    return any(path.startswith(f"{found.path}.") for path in changes)


def _without_outcome(found: Finding) -> str:
    """Leave out what loading would have done: a save is refused instead."""
    return found.text.rpartition("; ")[0] if found.kind is Kind.CLAMPED else found.text


def _compare(
    old: str, new: str, changes: Mapping[str, Any], registry: Registry
) -> Iterator[Change]:
    before, after = parse(old), parse(new)
    for path in changes:
        was, is_now = written_at(before, path), written_at(after, path)
        if document.exact(was) == document.exact(is_now):
            continue
        entry = registry.by_path.get(path)
        if entry is not None and entry.setting.secret:
            was, is_now = _hidden(was), _hidden(is_now)
        yield Change(path, was, is_now)


def _hidden(value: object) -> str | None:
    return None if value is None else REDACTED
