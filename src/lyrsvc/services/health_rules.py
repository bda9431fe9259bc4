"""The single checks of the health list, each made from just what it looks at."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from lyrsvc.core.errors import StoreBusy
from lyrsvc.core.ports import Clock
from lyrsvc.services.health_checks import Check, HealthEntry, error, in_words, warning
from lyrsvc.services.lane_desk import NOT_CONFIGURED, LaneDesk, LaneView
from lyrsvc.services.lookup import NOTHING_TO_ASK
from lyrsvc.services.mounts import network_kind
from lyrsvc.services.pausing import Pause, PauseCause
from lyrsvc.services.root_probes import RootProbes, RootState
from lyrsvc.services.watcher import WatchState
from lyrsvc.store import libraries, scan_runs
from lyrsvc.store.database import Database

LEAST_FREE_BYTES: Final = 500 * 1024 * 1024
JUMP: Final = timedelta(seconds=120)
JUMP_SHOWN: Final = timedelta(hours=1)
EXPIRY_NEAR: Final = timedelta(days=14)
OTHERS: Final = 0o077

_PAUSES: Final = {
    PauseCause.THROTTLED: "the primary lane asked for fewer requests",
    PauseCause.LANES_CLOSED: "every lane is closed",
    PauseCause.STORAGE: "the database cannot be written",
}
_SCAN_REMEDIES: Final = {
    "root_unavailable": "mount its directory, or correct the path of the library",
    "mass_missing": "check the disk; if the files are really gone: lyrsvc scan --accept-missing",
    "storage": "free some space, then scan again",
}


def check_lanes(desk: LaneDesk) -> Check:
    """Look at the lanes: whether any can be asked, and which are closed."""

    def check() -> Iterator[HealthEntry]:
        lanes = [view for view in desk.views() if view.role != "detector"]
        if all(view.state == NOT_CONFIGURED for view in lanes):
            yield error("no_provider", "no lane can be asked", _remedy(lanes))
        for view in lanes:
            if view.state in ("closed", "probing"):
                until = f" until {_moment(view.closed_until_at)}" if view.closed_until_at else ""
                detail = f"lane {view.name} is closed{until} ({view.reason or 'unknown'})"
                yield warning("lane_closed", detail, view.remedy or "it opens by itself")

    return check


def check_libraries(db: Database, probes: RootProbes) -> Check:
    """Look at the roots of the libraries: there, filled, writable, with room."""

    def check() -> Iterator[HealthEntry]:
        with db.read() as tx:
            every = libraries.all_libraries(tx)
        states = probes.look(library.path for library in every)
        for library in every:
            shown = f'library "{library.name}" ({library.path})'
            yield from _root_entries(shown, states[library.path])

    return check


def check_scans(db: Database, probes: RootProbes) -> Check:
    """Look at how the last whole scan of each library ended.

    A root that is still gone or empty is told by ``check_libraries``.
    """

    def check() -> Iterator[HealthEntry]:
        with db.read() as tx:
            every = {library.id: library for library in libraries.all_libraries(tx)}
            rows = scan_runs.last_of_each(tx)
        for row in rows:
            reason, library = row["reason"], every.get(row["library_id"])
            if reason == "root_unavailable" and library and _is_bare(library.path, probes):
                continue
            if row["state"] == "failed" or reason == "mass_missing":
                shown = library.name if library else row["library_id"]
                detail = f'the last scan of library "{shown}" failed ({reason or "unknown"})'
                remedy = _SCAN_REMEDIES.get(reason, "see the log, then scan again")
                yield warning("scan_failed", detail, remedy)

    return check


def check_database_place(database: Path, probes: RootProbes) -> Check:
    """Look at the disk the database lies on."""
    directory = database.parent

    def check() -> Iterator[HealthEntry]:
        free = probes.look([directory])[directory].free_bytes
        if free is not None and free < LEAST_FREE_BYTES:
            detail = f"the database directory {directory} has {_mib(free)} left"
            yield error("disk_low", detail, "free some space")
        kind = network_kind(directory)
        if kind:
            detail = f"the database lies on a network file system ({kind})"
            yield warning("db_network_fs", detail, "put it on a local disk: set LYRSVC_DB_PATH")

    return check


def check_key_file(path: Path | None) -> Check:
    """Look who may read the key of the secret store."""

    def check() -> Iterator[HealthEntry]:
        if path is None or os.name != "posix":
            return
        try:
            mode = path.stat().st_mode
        except OSError:
            return
        if mode & OTHERS:
            detail = f"the key file {path} is open to others (mode {mode & 0o777:04o})"
            yield warning("key_file_permissions", detail, f"run: chmod 600 {path}")

    return check


def check_marks(marks: Collection[str]) -> Check:
    """Look at what requests have shown."""

    def check() -> Iterator[HealthEntry]:
        if "proxy_not_declared" in marks:
            yield warning(
                "proxy_not_declared",
                "a proxy on this machine passes requests on and is not declared",
                "set server.trusted_networks.trusted_proxies",
            )

    return check


def check_restart(
    pending: Callable[[], Collection[str]], faults: Callable[[], Sequence[str]]
) -> Check:
    """Look at saved settings that are not in force yet, and whether the next start can use them."""

    def check() -> Iterator[HealthEntry]:
        if wrong := faults():
            yield error(
                "settings_invalid",
                f"the next start would fail: {'; '.join(wrong)}",
                "correct the settings before a restart; see: lyrsvc config check",
            )
            return
        names = sorted(pending())
        if names:
            yield warning(
                "restart_pending", f"saved, but not in force: {in_words(names)}", "restart"
            )

    return check


def check_webhook(expected: Callable[[], bool], last: Callable[[], datetime | None]) -> Check:
    """Look whether a webhook that could come ever came."""

    def check() -> Iterator[HealthEntry]:
        if last() is None and expected():
            yield warning(
                "webhook_never_received",
                "there is a key for webhooks, but none was ever received",
                "add the connection in Lidarr and press Test",
            )

    return check


def check_webhook_paths(missed: Callable[[], str]) -> Check:
    """Look whether the files that webhooks speak of are found here."""

    def check() -> Iterator[HealthEntry]:
        if path := missed():
            yield warning(
                "webhook_paths",
                f"{path} of the last import was found in no library; the lyrics went to output.dir",
                "set server.path_mappings if Lidarr sees other paths; after library add, restart",
            )

    return check


def check_certificate(expires_at: Callable[[], datetime | None], *, clock: Clock) -> Check:
    """Look how long the certificate of the listener is good."""

    def check() -> Iterator[HealthEntry]:
        moment, now = expires_at(), clock.now()
        if moment is None or moment - now > EXPIRY_NEAR:
            return
        if moment <= now:
            detail = f"the TLS certificate expired at {_moment(moment)}"
            yield error("tls_expiring", detail, "replace the certificate files")
        else:
            detail = f"the TLS certificate expires at {_moment(moment)}"
            yield warning("tls_expiring", detail, "replace the certificate files")

    return check


def check_clock(clock: Clock) -> Check:
    """Look whether the clock on the wall went on as evenly as the one that never jumps."""
    began, began_s = clock.now(), clock.monotonic()
    seen: list[tuple[timedelta, datetime | None]] = [(timedelta(), None)]

    def check() -> Iterator[HealthEntry]:
        now = clock.now()
        drift = (now - began) - timedelta(seconds=clock.monotonic() - began_s)
        before, jumped_at = seen[0]
        if abs(drift - before) > JUMP:
            jumped_at = now
        seen[0] = (drift, jumped_at)
        if jumped_at is not None and abs(now - jumped_at) < JUMP_SHOWN:
            detail = f"the clock was set or the machine slept, noticed at {_moment(jumped_at)}"
            yield warning("clock_jump", detail, "check the time of this machine")

    return check


def check_worker(pause: Callable[[], Pause | None]) -> Check:
    """Look whether items are worked on."""

    def check() -> Iterator[HealthEntry]:
        found = pause()
        if found is None or found.cause not in _PAUSES:
            return
        until = f" until {_moment(found.until)}" if found.until else ""
        detail = f"nothing is claimed{until}: {_PAUSES[found.cause]}"
        if found.cause is PauseCause.STORAGE:
            why, _, remedy = str(found.fault or "").partition("; ")
            if isinstance(found.fault, StoreBusy):
                remedy = "end the program that holds it"
            detail = f"{detail} ({why})" if why else detail
            yield error("worker_paused", detail, remedy or "check the disk of the database")
        else:
            yield warning("worker_paused", detail, "it goes on by itself; see the lanes")

    return check


def check_watcher(state: Callable[[], WatchState] | None) -> Check:
    """Look whether the watcher sees everything; None when it is not wanted."""

    def check() -> Iterator[HealthEntry]:
        if state is not None and state() is not WatchState.ON:
            yield warning(
                "watcher_degraded",
                "some directories are not watched; their changes are found by scans only",
                "raise fs.inotify.max_user_watches; see the log",
            )

    return check


def _root_entries(shown: str, state: RootState) -> Iterable[HealthEntry]:
    if not state.answers:
        yield error("library_missing", f"{shown} does not answer", "check the mount")
        return
    if not state.reachable:
        yield error("library_missing", f"{shown} cannot be read", "mount it, or correct its path")
        return
    if state.empty:
        yield warning("library_empty", f"{shown} is empty", "check that its disk is mounted")
    if not state.writable:
        remedy = "let the service write there, or lyrics cannot be saved"
        yield error("library_readonly", f"{shown} cannot be written", remedy)
    if state.free_bytes is not None and state.free_bytes < LEAST_FREE_BYTES:
        yield warning("disk_low", f"{shown} has {_mib(state.free_bytes)} left", "free some space")


def _is_bare(root: Path, probes: RootProbes) -> bool:
    state = probes.look([root])[root]
    return not (state.answers and state.reachable) or state.empty


def _remedy(lanes: Collection[LaneView]) -> str:
    return next((view.remedy for view in lanes if view.remedy), NOTHING_TO_ASK)


def _mib(number: int) -> str:
    return f"{number // (1024 * 1024)} MiB"


def _moment(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC") if moment else ""
