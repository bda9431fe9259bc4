"""Looking at settings and saving them."""

from collections.abc import Iterator
from typing import Any

from lyrsvc.cli.call import Call
from lyrsvc.core.errors import ConfigError, UsageError
from lyrsvc.core.redaction import REDACTED
from lyrsvc.core.setting import Entry, Place
from lyrsvc.settings.locations import home_of
from lyrsvc.settings.registry import nearest
from lyrsvc.settings.secret_values import SECRET_SETTINGS

COLUMNS = ("setting", "value", "source")


def get(call: Call) -> int:
    """Print one value; secrets only with ``--reveal``."""
    from lyrsvc.settings.reference import shown

    entry = _entry(call, call.args.key)
    value = call.loaded.resolution.values[entry.path]
    text = shown(entry, value, reveal=call.args.reveal)
    source = call.loaded.source(entry.path)
    if source == "default" and entry.path in _stored(call):
        text, source = _kept(call, entry) if call.args.reveal else REDACTED, "store"
    call.print_result({"setting": entry.key, "value": text, "source": source}, text)
    return 0


def list_settings(call: Call) -> int:
    """Print every setting; secrets are hidden."""
    from lyrsvc.settings.reference import shown

    def rows() -> Iterator[dict[str, Any]]:
        stored = _stored(call)
        for entry in call.loaded.registry.entries:
            source = call.loaded.source(entry.path)
            text = shown(entry, call.loaded.resolution.values[entry.path])
            if source == "default" and entry.path in stored:
                text, source = REDACTED, "store"
            if entry.setting.internal or (call.args.changed and source == "default"):
                continue
            yield {"setting": entry.key, "value": text, "source": source}

    call.print_rows(COLUMNS, rows())
    return 0


def check(call: Call) -> int:
    """Print faults and warnings, one per line."""
    findings = call.loaded.findings
    if call.args.json:
        call.print_result(
            {
                "config": str(call.loaded.config_path) if call.loaded.config_path else None,
                "faults": list(call.loaded.faults),
                "warnings": list(call.loaded.warnings),
            },
            "",
        )
    else:
        for found in findings:
            call.print(f"{'fault' if found.fatal else 'warning'}: {found.text}")
        if not findings:
            call.print("no faults, no warnings")
    return 1 if call.loaded.faults or (call.args.strict and findings) else 0


def docs(call: Call) -> int:
    """Print the reference page or the example file."""
    from lyrsvc.settings import reference

    write = reference.markdown if call.args.format == "markdown" else reference.example
    call.world.stdout.write(write(call.loaded.registry))
    return 0


def set_values(call: Call) -> int:
    """Save one setting, or several ``KEY=VALUE`` words at once."""
    return _save(call, dict(_pairs(call)))


def unset(call: Call) -> int:
    """Take a setting out of the file."""
    entry = _entry(call, call.args.key)
    return _save(call, {entry.path: None})


def _pairs(call: Call) -> Iterator[tuple[str, str]]:
    words = call.args.words
    registry = call.loaded.registry
    if "=" not in words[0] or words[0] in registry.by_path:
        if len(words) == 1:
            raise UsageError(f"config set {words[0]} needs a value; to remove it: config unset")
        entry = _entry(call, words[0])
        if len(words) > 2 and not entry.setting.is_list:
            raise UsageError(
                f'{entry.key} takes one value, so "{words[2]}" is one too many; '
                "quote a value with blanks, or name several settings as KEY=VALUE words"
            )
        yield entry.path, ",".join(words[1:])
        return
    for word in words:
        key, sign, value = word.partition("=")
        if not sign:
            raise UsageError(f'"{word}" is not KEY=VALUE')
        yield _entry(call, key).path, value


def _save(call: Call, texts: dict[str, str | None]) -> int:
    from lyrsvc.settings.saving import save

    registry = call.loaded.registry
    changes = {path: _as_written(call, path, text) for path, text in texts.items()}
    saved = save(call.loaded.inputs, changes, clock=call.world.clock)
    for path, old, new in saved.changes:
        call.audit("setting.changed", setting=path, old=old, new=new)
    for path in texts:
        if winner := call.loaded.locked_by(path):
            now = "is saved" if changes[path] is not None else "is not in the file now"
            call.note(f"{registry.by_path[path].key} {now}, but {winner} wins")
    changed = {change.path for change in saved.changes}
    lines = [
        f"{path}={_told(call, path, written)}"
        if written is not None
        else f"{path} {'removed' if path in changed else 'was not in the file'}"
        for path, written in changes.items()
    ]
    fields = {"saved": [change.path for change in saved.changes], "path": str(saved.path)}
    call.print_result(fields, "\n".join(lines))
    if saved.changes:
        call.note("the change applies at the next restart")
    return 0


def _told(call: Call, path: str, written: Any) -> str:  # noqa: ANN401 - any TOML value
    """Write for people what was saved: a relative name stays one, a password is hidden."""
    from lyrsvc.settings.addresses import without_user_info
    from lyrsvc.settings.reference import shown

    if isinstance(written, str):
        return without_user_info(written)
    entry = call.loaded.registry.by_path[path]
    return shown(entry, entry.setting.from_toml(written, _place(call)))


def _as_written(call: Call, path: str, text: str | None) -> Any:  # noqa: ANN401 - any TOML value
    """Give a text as it is written to the file; None where the setting is to leave it."""
    entry = call.loaded.registry.by_path[path]
    if entry.setting.secret:
        remedy = "lyrsvc secrets set provider_token, or webhook_api_key"
        raise UsageError(
            f"{path} is a secret and is not taken from the command line; use: {remedy}"
        )
    if entry.setting.env_only:
        raise UsageError(f"{entry.key} is set in the environment only")
    if text is None or not text.strip():
        return None
    if entry.setting.is_list and text.strip() == "[]":
        return []
    try:
        return entry.setting.as_written(text, _place(call))
    except ValueError as wish:
        raise ConfigError([f'{path}: must be {wish}, not "{text}"']) from wish


def _place(call: Call) -> Place:
    """Give where relative names of the file start."""
    directory = call.loaded.config_path.parent if call.loaded.config_path else None
    return Place(directory or call.world.working_directory, home_of(call.loaded.environ))


def _stored(call: Call) -> frozenset[str]:
    """Name the settings that the secret store holds; neither its key nor a value is looked at."""
    from lyrsvc.core.errors import StoreError
    from lyrsvc.store import secret_blobs
    from lyrsvc.store.database import Database, exists

    path = call.settings.db.path
    if path is None or not exists(path):
        return frozenset()
    try:
        with Database.open(path, create=False, clock=call.world.clock) as db, db.read() as tx:
            names = {row["name"] for row in secret_blobs.names(tx)}
    except StoreError as error:
        call.voice.warn(f"the secret store cannot be looked at: {error}")
        return frozenset()
    return frozenset(setting for name, setting in SECRET_SETTINGS.items() if name in names)


def _kept(call: Call, entry: Entry) -> str:
    """Open the one value of a setting that the secret store holds."""
    from lyrsvc.cli.secret_commands import opened

    name = next(name for name, setting in SECRET_SETTINGS.items() if setting == entry.path)
    return opened(call, name)


def _entry(call: Call, key: str) -> Entry:
    registry = call.loaded.registry
    entry = registry.by_key.get(key) or registry.by_path.get(key) or registry.by_variable.get(key)
    if entry is None or entry.setting.internal:
        meant = nearest(key, registry.by_key)
        hint = f'; did you mean "{meant}"?' if meant else ""
        raise UsageError(f'unknown setting "{key}"{hint}')
    return entry
