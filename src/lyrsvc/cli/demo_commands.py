"""Showing the service off: a library made on the spot, servers that are stand-ins, no network."""

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lyrsvc.cli.call import Call
from lyrsvc.cli.interrupts import ending_politely
from lyrsvc.core.errors import UsageError

if TYPE_CHECKING:
    from lyrsvc.cli.demo_place import DemoPlace
    from lyrsvc.cli.progress import ProgressLine
    from lyrsvc.demo.library_plan import PlannedTrack
    from lyrsvc.serving import Service
    from lyrsvc.settings.loading import Loaded

LOOK_EVERY_S = 0.05
LONGEST_S = 25.0
LONGER_PER_TRACK_S = 0.3


def demo(call: Call) -> int:
    """Run the demo as the flags say."""
    from lyrsvc.demo.library_plan import MOST_TRACKS

    call.voice.set_up()
    if not 1 <= call.args.tracks <= MOST_TRACKS:
        raise UsageError(f"--tracks must be from 1 to {MOST_TRACKS}; see: lyrsvc demo --help")
    if call.args.provider_only:
        return _run_provider(call)
    if call.args.once and call.args.listen is not None:
        raise UsageError("--once and --listen exclude each other; see: lyrsvc demo --help")
    from lyrsvc.cli.demo_place import open_place

    named = call.args.dir
    place = None if named is None else call.world.working_directory / named
    with ending_politely(), open_place(place, keep=call.args.keep) as opened:
        return _run_in(call, opened)


def _run_in(call: Call, place: "DemoPlace") -> int:
    from lyrsvc import serving
    from lyrsvc.cli.progress_of import progress_of
    from lyrsvc.clock import SystemClock
    from lyrsvc.demo.library_plan import plan_library, songs_of
    from lyrsvc.demo.music_folder import make_music
    from lyrsvc.demo.stand_in import StandIn
    from lyrsvc.logs.log_memory import LogMemory
    from lyrsvc.store.serve_lock import ServeLock

    plan = plan_library(call.args.tracks)
    memory = LogMemory(call.voice.redactor)
    call.voice.let_overhear(memory)
    stop = threading.Event()
    around = serving.Surroundings(
        clock=SystemClock(stop), stop=stop, redactor=call.voice.redactor, log_memory=memory
    )
    with ServeLock(place.database), StandIn(songs_of(plan)) as upstream:
        with progress_of(call, "tracks") as line:
            make_music(place.music, plan, tell=lambda done: line.update(done=done, total=len(plan)))
        loaded = _settings(call, place, upstream.url)
        vault = serving.open_vault(loaded.settings)
        with serving.build(loaded, vault, around) as service:
            _register(service, place.music)
            if call.args.once:
                return _work_once(call, service, stop, place, plan)
            return _show(call, service, stop, place, plan)


def _settings(call: Call, place: "DemoPlace", upstream: str) -> "Loaded":
    """Write the settings file and load it as ``serve`` would, with nothing of the user's."""
    from lyrsvc.cli.inputs import gather_inputs
    from lyrsvc.settings.loading import load

    flags = {} if call.args.listen is None else {"server.addr": call.args.listen}
    address = "127.0.0.1:0" if call.args.once else _free_address(call.args.listen)
    place.write_settings(
        {
            "api": {"cooldown": 0},
            "db": {"path": str(place.database)},
            "instrumental_detector": {"classifier_url": upstream},
            "output": {"dir": str(place.root / "lyrics")},
            "providers": {"primary": "defaultprov", "fallback_order": ["lrclib"]},
            "providers.defaultprov": {"base_url": upstream},
            "providers.lrclib": {"base_url": upstream, "cooldown_seconds": 0},
            "server": {
                "addr": address,
                "instance_name": "lyrsvc demo",
                "web_ui_enabled": not call.args.once,
                "work_interval_seconds": 1,
            },
            "server.scan_schedule": {"frequency": "off", "scan_on_start": True},
        }
    )
    inputs = gather_inputs({}, place.root, flags=flags, config=str(place.config), env_file="none")
    loaded = load(inputs)
    return loaded if not flags else load(inputs._replace(flags={}))


def _free_address(named: str | None) -> str:
    """Give the named address, else the usual one or the next whose port is free."""
    from lyrsvc import daemon
    from lyrsvc.core.errors import Refused
    from lyrsvc.settings.addresses import split_address
    from lyrsvc.settings.server_sections import Server

    if named is not None and not named.endswith(":0"):
        return named
    first = split_address(str(Server.addr.default) if named is None else named)
    for port in range(first.port, first.port + 100) if first.port else (0,):
        try:
            with daemon.open_listener(first._replace(port=port)) as listening:
                return f"{_bracketed(first.host)}:{listening.getsockname()[1]}"
        except Refused:
            continue
    raise Refused(f"no port from {first.port} on is free; name one with --listen")


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _register(service: "Service", music: Path) -> None:
    from lyrsvc.core.errors import AlreadyThere
    from lyrsvc.services.library_registry import LibraryRegistry, Wanted

    registry = LibraryRegistry(service.db, clock=service.clock, working_directory=music)
    try:
        registry.add(Wanted(path=str(music), name="demo"))
    except AlreadyThere:
        return


def _work_once(
    call: Call,
    service: "Service",
    stop: threading.Event,
    place: "DemoPlace",
    plan: "tuple[PlannedTrack, ...]",
) -> int:
    """Scan, work until idle, and print what became of every track."""
    from lyrsvc import serving
    from lyrsvc.cli.demo_outcomes import COLUMNS, all_as_planned, judge_tracks
    from lyrsvc.cli.progress_of import progress_of
    from lyrsvc.daemon import Crew

    serving.prepare(service)
    with Crew(service, stop), progress_of(call, "tracks") as line:
        is_idle = _wait_until_idle(service, stop, len(plan), line)
    rows = judge_tracks(service.db, place.music, plan)
    call.print_rows(COLUMNS, rows)
    if not is_idle:
        call.voice.complain("the demo did not come to rest in time; try again with less load")
        return 1
    if not all_as_planned(rows):
        call.voice.complain("not every track ended as planned; see the column as_planned")
        return 1
    call.note(f"all {len(rows)} tracks ended as planned{_kept(call, place)}")
    return 0


def _wait_until_idle(
    service: "Service", stop: threading.Event, tracks: int, line: "ProgressLine | None" = None
) -> bool:
    from lyrsvc.cli.demo_outcomes import count_settled

    ends_s = service.clock.monotonic() + LONGEST_S + LONGER_PER_TRACK_S * max(0, tracks - 12)
    while not stop.is_set() and service.clock.monotonic() < ends_s:
        settled, is_idle = count_settled(service.db, since=service.started_at)
        if line is not None:
            line.update(done=settled, total=max(settled, tracks))
        if is_idle:
            return True
        service.clock.wait(LOOK_EVERY_S)
    return False


def _show(
    call: Call,
    service: "Service",
    stop: threading.Event,
    place: "DemoPlace",
    plan: "tuple[PlannedTrack, ...]",
) -> int:
    """Serve with the pages until interrupted, and say what to try."""
    from lyrsvc import daemon, serving
    from lyrsvc.cli.demo_guide import admit, guide

    visitor = admit(service)
    serving.prepare(service)
    told = threading.Thread(
        target=lambda: _tell(call, service, stop, len(plan), guide(call, service, place, visitor)),
        name="guide",
        daemon=True,
    )
    told.start()
    try:
        daemon.serve(service, stop=stop, notify_socket="")
    finally:
        stop.set()
        told.join(1.0)
    if call.args.keep or call.args.dir is not None:
        call.note(f"the demo is kept in {place.root}")
    return 0


def _tell(
    call: Call, service: "Service", stop: threading.Event, tracks: int, text: dict[str, Any]
) -> None:
    """Print the guide once the pages answer, and a line once the queue is worked off."""
    from lyrsvc.cli.demo_guide import shown
    from lyrsvc.cli.readiness import NotReady, ask_ready

    while not stop.is_set():
        try:
            ask_ready(text["url"], own=True)
        except NotReady:
            service.clock.wait(LOOK_EVERY_S)
            continue
        call.print_result(text, shown(text))
        call.world.stdout.flush()
        break
    if _wait_until_idle(service, stop, tracks) and not stop.is_set():
        call.note("every track is settled; end the demo with Ctrl-C")


def _run_provider(call: Call) -> int:
    from lyrsvc.cli.demo_guide import provider_lines
    from lyrsvc.core.errors import Refused
    from lyrsvc.demo.stand_in import StandIn
    from lyrsvc.settings.addresses import is_loopback_host

    if call.args.dir is not None or call.args.keep:
        raise UsageError("--provider-only needs no directory; see: lyrsvc demo --help")
    host, _, port = (call.args.listen or "127.0.0.1:0").rpartition(":")
    if not port.isdigit() or int(port) > 65535 or not is_loopback_host(host):
        raise UsageError("--listen must be a loopback address and a port with --provider-only")
    with ending_politely():
        try:
            stand_in = StandIn(port=int(port))
        except OSError as error:
            cause = (error.strerror or "unknown error").lower()
            raise Refused(f"cannot listen on port {port}: {cause}; choose another") from error
        with stand_in:
            try:
                call.print("\n".join(provider_lines(stand_in.url)))
                call.world.stdout.flush()
                threading.Event().wait()
            except KeyboardInterrupt:
                call.note("stopped")
    return 0


def _kept(call: Call, place: "DemoPlace") -> str:
    keeps = call.args.keep or call.args.dir is not None
    return f"; everything is kept in {place.root}" if keeps else ""
