"""Looking at everything the service needs, and saying what helps."""

import platform
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lyrsvc.cli.call import Call
from lyrsvc.core.errors import LyrsvcError
from lyrsvc.services.diagnosis import Examine, Finding, examine_all, odd, told, well

if TYPE_CHECKING:
    from lyrsvc.core.library import Library
    from lyrsvc.services.secret_store import SecretStore
    from lyrsvc.store.database import Database

COLUMNS = ("check", "state", "detail", "remedy")


def doctor(call: Call) -> int:
    """Run every check and print a row for each; end with 1 when one fails."""
    failed = False

    def rows() -> Iterator[dict[str, Any]]:
        nonlocal failed
        call.voice.set_up()
        with ExitStack() as stack:
            for finding in examine_all(_checks(call, stack)):
                failed = failed or finding.state == "fail"
                yield {name: getattr(finding, name) for name in COLUMNS}

    call.print_rows(COLUMNS, rows())
    return 1 if failed else 0


def _checks(call: Call, stack: ExitStack) -> Iterator[tuple[str, Examine]]:
    from lyrsvc.cli import doctor_service

    yield "python", _versions
    yield "settings", lambda: _settings(call)
    if call.settings.db.path is not None:
        yield from _place_checks(call, call.settings.db.path)
        yield from _store_checks(call, stack)
    yield "detection", lambda: doctor_service.examine_detector(call)
    yield "listener", lambda: doctor_service.examine_listener(call)
    yield "time zone", lambda: _zone(call)


def _versions() -> Iterator[Finding]:
    from lyrsvc import __version__
    from lyrsvc.store.database_facts import library_version

    yield well("program", f"lyrsvc {__version__}")
    yield well("python", platform.python_version())
    yield well("sqlite", library_version())


def _settings(call: Call) -> Iterator[Finding]:
    loaded = call.loaded
    for found in loaded.findings:
        finding = told("settings", found.text, state="fail" if found.fatal else "warn")
        if "; " not in found.text:
            place = loaded.config_path or "the environment"
            finding = told("settings", f"{found.text}; correct it in {place}", state=finding.state)
        yield finding
    if not loaded.findings:
        path = loaded.config_path
        there = path is not None and path.exists()
        yield well("settings", f"read from {path}" if there else "no file; defaults and variables")


def _place_checks(call: Call, database: Path) -> Iterator[tuple[str, Examine]]:
    from lyrsvc.services.place_diagnosis import PlaceDiagnosis, PrivateFile, examine_disk

    places = PlaceDiagnosis(fix=call.args.fix)
    settings = call.settings
    yield (
        "database directory",
        lambda: places.examine_directory("database directory", database.parent),
    )
    if settings.logging.file:
        logs = Path(settings.logging.file).parent
        yield "log directory", lambda: places.examine_directory("log directory", logs)
    config = call.loaded.config_path
    if config is not None and _holds_secret(call):
        secret = PrivateFile(check="settings file", path=config)
        yield "settings file", lambda: places.examine_file(secret)
    stored = PrivateFile(check="database file", path=database, mode=0o660)
    yield "database file", lambda: places.examine_file(stored)
    key_file = settings.secrets.key_file
    if key_file is not None and not settings.environment.master_key:
        key = PrivateFile(check="key file", path=key_file)
        yield "key file", lambda: places.examine_file(key)
    yield "free space", lambda: examine_disk(database)


def _holds_secret(call: Call) -> bool:
    from lyrsvc.settings.resolving import written_at

    loaded = call.loaded
    return any(
        entry.setting.secret and written_at(loaded.sources.file, entry.path)
        for entry in loaded.registry.entries
    )


def _store_checks(call: Call, stack: ExitStack) -> Iterator[tuple[str, Examine]]:
    from lyrsvc import serving
    from lyrsvc.security.vault import Vault
    from lyrsvc.services import store_diagnosis as store
    from lyrsvc.services.secret_store import SecretStore
    from lyrsvc.settings.environment_sections import Environment

    path, clock = call.database_path, call.world.clock
    given = call.settings.environment.master_key
    source = Environment.master_key.env[0] if given else str(call.settings.secrets.key_file)
    vaults: list[Vault] = []

    def examine_key() -> Iterable[Finding]:
        vaults.append(serving.open_vault(call.settings))
        return store.examine_key(vaults[0], source)

    yield "key", examine_key
    yield "database", lambda: store.examine_schema(path)
    db = _opened(call, stack)
    if db is None:
        yield from _lane_checks(call, None)
        return
    yield "integrity", lambda: store.examine_content(db, clock=clock)
    secrets = None
    if vaults:
        secrets = SecretStore(db, vaults[0], clock=clock, keep_back=call.voice.redactor.register)
        yield "secrets", lambda: store.examine_secrets(secrets)
    yield from _lane_checks(call, secrets)
    yield from _library_checks(call, db)


def _lane_checks(call: Call, secrets: "SecretStore | None") -> Iterator[tuple[str, Examine]]:
    from lyrsvc.cli import doctor_service

    yield "token", lambda: doctor_service.examine_token(call, secrets)
    if call.args.online:
        yield "lanes", lambda: doctor_service.examine_lanes(call, secrets)


def _opened(call: Call, stack: ExitStack) -> "Database | None":
    """Open the database when it can be; why it cannot is a finding of the check before."""
    from lyrsvc.store.database import Database

    try:
        return stack.enter_context(
            Database.open(call.database_path, create=False, clock=call.world.clock)
        )
    except LyrsvcError:
        return None


def _library_checks(call: Call, db: "Database") -> Iterator[tuple[str, Examine]]:
    from lyrsvc.services import library_diagnosis as places
    from lyrsvc.store import libraries

    settings = call.settings
    every: list[Library] = []

    def examine_libraries() -> Iterable[Finding]:
        with db.read() as tx:
            every.extend(libraries.all_libraries(tx))
        return places.examine_libraries(every, in_container=settings.environment.docker)

    watching = places.system_watching(
        enabled=settings.watcher.enabled,
        max_dirs=settings.watcher.max_dirs,
        depth=settings.scan.depth,
    )
    yield "library", examine_libraries
    yield "hardening", lambda: places.examine_unit(every, call.database_path)
    yield "watcher", lambda: places.examine_watcher(every, watching)


def _zone(call: Call) -> Iterator[Finding]:
    from lyrsvc.settings.environment_sections import Environment
    from lyrsvc.settings.zones import find_zone, read_zone

    wanted = call.settings.environment.tz.strip()
    zone = find_zone(wanted)
    here = call.world.clock.now().astimezone(zone)
    shown = f"{getattr(zone, 'key', None) or here.tzname()} ({here:%H:%M %z})"
    if wanted and read_zone(wanted) is None:
        yield odd(
            "time zone",
            f'no zone "{wanted}"; {shown} holds',
            f"set {Environment.tz.env[0]}, e.g. Europe/Oslo",
        )
    else:
        yield well("time zone", shown)
