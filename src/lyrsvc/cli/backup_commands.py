"""Saving what the service keeps."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from lyrsvc.cli.call import Call
from lyrsvc.cli.identity import become_owner, is_root
from lyrsvc.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lyrsvc.services.backing_up import Backup, Kept
    from lyrsvc.settings.sections import Settings

COLUMNS = ("path", "size")
DIRECTORY = "backups"
_MEBIBYTE = 1024 * 1024


def create(call: Call) -> int:
    """Make an archive and print where it is and how large."""
    from lyrsvc.cli.library_commands import print_row
    from lyrsvc.cli.progress_of import progress_of
    from lyrsvc.services.backing_up import Watch, make_backup, prune, require_database

    home = call.database_path.parent
    if call.args.output is None and is_root():
        become_owner(home)
    require_database(call.database_path)
    target = _target(call)
    _make_room(target.parent)
    with progress_of(call, "MiB") as line:

        def tell(phase: str, done: int, total: int | None) -> None:
            line.update(
                done=done // _MEBIBYTE,
                total=None if total is None else total // _MEBIBYTE,
                current=phase,
            )

        made = make_backup(
            call.database_path,
            target,
            [*kept_files(call.settings, call.loaded.config_path), *_key(call)],
            clock=call.world.clock,
            watch=Watch(tell=tell),
        )
    try:
        older = prune(target.parent, keep=call.args.keep) if call.args.keep else []
    finally:
        if is_root():
            become_owner(home)  # so that the row in the database is written by its owner
        call.audit("backup.created", path=str(made.path), includes_key=call.args.include_key)
        print_row(call, COLUMNS, _row(made))
    for path in older:
        call.note(f"removed the older backup {path}")
    return 0


def kept_files(settings: "Settings", config: Path | None) -> "Iterator[Kept]":
    """Name the small files of an installation: settings and certificates."""
    from lyrsvc.services.backing_up import (
        CERTIFICATE,
        CERTIFICATE_KEY,
        CONFIG,
        OWN_CERTIFICATE,
        OWN_CERTIFICATE_KEY,
        Kept,
    )

    tls = settings.server.tls
    places: dict[str, Path | None] = {
        CONFIG: config,
        CERTIFICATE: tls.cert_file,
        CERTIFICATE_KEY: tls.key_file,
    }
    if settings.db.path is not None:
        own = settings.db.path.parent / "tls"
        places |= {OWN_CERTIFICATE: own / "cert.pem", OWN_CERTIFICATE_KEY: own / "key.pem"}
    for role, path in places.items():
        if path is not None:
            yield Kept(role=role, path=path)


def _key(call: Call) -> "Iterator[Kept]":
    """Name the key file when it is asked for, and warn; else say that it is not in it."""
    from lyrsvc.services.backing_up import KEY, Kept
    from lyrsvc.settings.environment_sections import Environment

    path = call.settings.secrets.key_file
    given = call.settings.environment.master_key
    is_there = path is not None and os.access(path, os.F_OK)
    if not call.args.include_key:
        if is_there and not given:
            call.note(f"the key of the stored secrets is not in it; keep a copy of {path}, too")
        return
    if given:
        call.voice.warn(
            f"the key comes from {Environment.master_key.env[0]}; it is not in the backup"
        )
    elif path is None or not is_there:
        call.voice.warn("there is no key file yet, so none is in the backup")
    else:
        call.voice.warn(
            "the backup holds the key of the stored secrets; whoever has it can read them all"
        )
        yield Kept(role=KEY, path=path)


def _target(call: Call) -> Path:
    """Give the file to make: as named, or with the usual name."""
    from lyrsvc.services.backing_up import free_name

    named, now = call.args.output, call.world.clock.now()
    if call.args.keep == 0:
        raise UsageError("--keep must be at least 1; see: lyrsvc backup --help")
    if named is None:
        return free_name(call.database_path.parent / DIRECTORY, now)
    if named == "-":
        raise UsageError(
            "a backup is not written to stdout; name a file with -o (./- for one named -)"
        )
    path: Path = call.world.working_directory / named
    if path.is_dir() or named.endswith("/"):
        return free_name(path, now)
    if call.args.keep:
        raise UsageError("--keep needs usual names; name a directory with -o, or leave -o out")
    return path


def _make_room(directory: Path) -> None:
    from lyrsvc.files.atomic import write_fault

    try:
        directory.mkdir(mode=0o750, parents=True, exist_ok=True)
    except OSError as error:
        raise write_fault(error, directory) from error


def _row(made: "Backup") -> dict[str, object]:
    return {
        "path": str(made.path),
        "size": made.size,
        "schema": made.schema,
        "files": list(made.roles),
    }
