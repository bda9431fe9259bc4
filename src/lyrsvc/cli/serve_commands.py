"""Running the service."""

import logging
import threading

from lyrsvc import __version__
from lyrsvc.cli.call import Call
from lyrsvc.cli.identity import is_root

_LOG = logging.getLogger("lyrsvc.serve")


def serve(call: Call) -> int:
    """Open everything, then serve until a signal comes."""
    from lyrsvc import daemon, runtime, serving, surveying
    from lyrsvc.cli.readiness import note_of
    from lyrsvc.cli.scan_commands import look_again_mode
    from lyrsvc.clock import SystemClock
    from lyrsvc.core.schedule import plan_text
    from lyrsvc.logs.crashes import log_crashes
    from lyrsvc.logs.log_memory import LogMemory
    from lyrsvc.logs.log_recall import recall_lines
    from lyrsvc.settings.reference import effective_toml
    from lyrsvc.store.serve_lock import ServeLock

    if is_root() and not call.settings.environment.docker:
        _LOG.warning("running as root; a user of its own is safer")
    file = call.settings.logging.file
    memory = LogMemory(call.voice.redactor, earlier=recall_lines(file) if file else ())
    call.voice.let_overhear(memory)
    log_crashes()
    daemon.allow_many_files()
    daemon.give_memory_back()
    settings = call.settings
    vault = serving.open_vault(settings)
    stop = threading.Event()
    around = serving.Surroundings(
        clock=SystemClock(stop),
        stop=stop,
        redactor=call.voice.redactor,
        log_memory=memory,
        scan_mode=look_again_mode(call),
    )
    with (
        ServeLock(call.database_path) as lock,
        serving.build(call.loaded, vault, around) as parts,
    ):
        if parts.db.created:
            call.note(f"made a new database: {call.database_path}")
        _LOG.info(
            "startup",
            extra={
                "version": __version__,
                "config": str(call.loaded.config_path or ""),
                "database": str(call.database_path),
                "address": settings.server.addr,
                "lanes": ",".join(runtime.lane_names(settings)),
                "schedule": plan_text(surveying.scan_plan(settings)),
                "ui": "on" if settings.server.web_ui_enabled else "off",
            },
        )
        serving.prepare(parts)
        _LOG.debug("settings", extra={"toml": effective_toml(call.loaded)})
        daemon.serve(
            parts,
            stop=stop,
            notify_socket=call.world.environ.get("NOTIFY_SOCKET", ""),
            reopen_log=call.voice.reopen_log if file else None,
            on_listening=lambda port: lock.note(note_of(settings.server, port=port)),
        )
    return 0
