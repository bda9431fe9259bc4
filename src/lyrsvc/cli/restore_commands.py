"""Bringing back what a backup holds."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lyrsvc.cli.call import Call
from lyrsvc.cli.identity import become_owner, is_root

if TYPE_CHECKING:
    from lyrsvc.services.restoring import Content, Step
    from lyrsvc.settings.loading import Loaded

COLUMNS = ("file", "action", "path", "kept_as")


def restore(call: Call) -> int:
    """Say what a backup would replace, or replace it; never under a running service."""
    from lyrsvc.core.errors import ConfigError
    from lyrsvc.services.restoring import check_room, plan_restore, read_backup
    from lyrsvc.store.serve_lock import is_served

    if call.settings.db.path is None:
        raise ConfigError(call.loaded.faults or ["there is no place for the database"])
    file = call.world.working_directory / call.args.file
    database = _resolved(call.database_path)
    content = read_backup(file)
    after = _settings_after(call, content)
    places = _places(after, database)
    steps = plan_restore(content, places)
    check_room(content, database)
    for entry in content.manifest.entries:
        if entry.role not in places:
            call.note(f"{entry.name} stays in the archive; no setting names a place for it")
    if not call.args.yes:
        call.print_rows(COLUMNS, (_row(step, done=False) for step in steps))
        call.note("nothing was replaced; add --yes to do it")
        if is_served(database):
            call.note("the service is running; stop it before you restore")
        return 0
    _carry_out(call, file, content, steps)
    call.print_rows(COLUMNS, (_row(step, done=True) for step in steps))
    _tell_about(call, after, content)
    if is_root():
        become_owner(database.parent)  # so that the row in the database is written by its owner
    call.audit("backup.restored", path=str(file), made_at=content.manifest.created_at)
    return 0


def _carry_out(call: Call, file: Path, content: "Content", steps: "list[Step]") -> None:
    from lyrsvc.cli.progress_of import progress_of
    from lyrsvc.services import restoring
    from lyrsvc.services.backing_up import DATABASE

    database = next(step.target for step in steps if step.role == DATABASE)
    with _unserved(database), progress_of(call, "files") as line:
        line.update(done=0, total=len(steps), current=str(file))
        restoring.restore(file, content, steps)


@contextmanager
def _unserved(database: Path) -> Iterator[None]:
    """Keep a server away for as long as files are exchanged, and leave no file of root's."""
    import os

    from lyrsvc.core.errors import Refused
    from lyrsvc.store.serve_lock import ServeLock

    lock = ServeLock(database)
    try:
        lock.hold()
    except Refused as refusal:
        what = str(refusal).partition(";")[0]
        raise Refused(f"{what}; stop it first, then restore") from None
    try:
        if is_root():
            home = database.parent.stat()
            os.chown(database.with_name(f"{database.name}.lock"), home.st_uid, home.st_gid)
        yield
    finally:
        lock.close()


def _settings_after(call: Call, content: "Content") -> "Loaded":
    """Load the settings as they will be, with the database where it is looked for now."""
    from lyrsvc.services.backing_up import CONFIG
    from lyrsvc.settings.loading import examine

    text = content.small.get(CONFIG)
    if text is None:
        return call.loaded
    inputs = call.loaded.inputs
    flags = {**inputs.flags, "db.path": str(call.database_path)}
    return examine(inputs._replace(file_text=text.decode("utf-8", "replace"), flags=flags))


def _places(after: "Loaded", database: Path) -> dict[str, Path]:
    """Tell where each kind of file belongs here; the archive has no say in it."""
    from lyrsvc.cli.backup_commands import kept_files
    from lyrsvc.services.backing_up import DATABASE, KEY

    settings = after.settings
    places = {kept.role: _resolved(kept.path) for kept in kept_files(settings, after.config_path)}
    if settings.secrets.key_file is not None and not settings.environment.master_key:
        places[KEY] = _resolved(settings.secrets.key_file)
    return places | {DATABASE: database}


def _tell_about(call: Call, after: "Loaded", content: "Content") -> None:
    """Say what still stands between the restored files and a service that works."""
    from lyrsvc.core.errors import LyrsvcError

    named = _database_named_by_file(call, content)
    if named is not None and named != call.database_path:
        call.voice.warn(
            f"the restored settings name another database ({named}); "
            f"change db.path, or start the service with --db {call.database_path}"
        )
    try:
        lost = _unreadable_secrets(call, after)
    except LyrsvcError as error:
        call.voice.warn(str(error))
        return
    if lost:
        call.voice.warn(
            f"the key here does not open the stored {', '.join(lost)}; put the key file of the "
            f"old place at {after.settings.secrets.key_file}, or use: lyrsvc secrets set"
        )


def _database_named_by_file(call: Call, content: "Content") -> Path | None:
    from lyrsvc.services.backing_up import CONFIG
    from lyrsvc.settings.loading import examine

    text = content.small.get(CONFIG)
    if text is None:
        return None
    seen = examine(call.loaded.inputs._replace(file_text=text.decode("utf-8", "replace")))
    return seen.settings.db.path


def _unreadable_secrets(call: Call, after: "Loaded") -> list[str]:
    from lyrsvc import serving
    from lyrsvc.services.secret_store import SecretStore
    from lyrsvc.store.database import Database

    vault = serving.open_vault(after.settings)
    with Database.open(call.database_path, create=False, clock=call.world.clock) as db:
        return SecretStore(db, vault, clock=call.world.clock).sealed_otherwise()


def _row(step: "Step", *, done: bool) -> dict[str, Any]:
    verbs = ("replaced", "created") if done else ("would-replace", "would-create")
    return {
        "file": step.role,
        "action": verbs[0] if step.replaces else verbs[1],
        "path": str(step.target),
        "kept_as": None if step.kept_as is None else str(step.kept_as),
    }


def _resolved(path: Path) -> Path:
    """Follow links, so that what they lead to is replaced and not the links."""
    return path.resolve()
