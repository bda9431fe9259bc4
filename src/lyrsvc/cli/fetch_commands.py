"""One-shot and directory mode on the command line."""

import contextlib
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Final

from lyrsvc import runtime
from lyrsvc.cli import fetch_jobs
from lyrsvc.cli.call import Call
from lyrsvc.cli.command import GLOBAL_ARGUMENTS
from lyrsvc.cli.fetch_report import FailedList, Report, Total
from lyrsvc.cli.interrupts import EXIT_INTERRUPTED, ending_politely
from lyrsvc.cli.progress import ProgressLine
from lyrsvc.cli.progress_of import progress_of
from lyrsvc.core.errors import LyrsvcError, UsageError
from lyrsvc.core.sidecar import FetchMode, WordTiming
from lyrsvc.files.sidecar_writing import SidecarWriter
from lyrsvc.files.sidecars import STATELESS
from lyrsvc.services.fetch_job import FetchOptions
from lyrsvc.services.fetching import Fetcher
from lyrsvc.services.lanes import Cancelled
from lyrsvc.services.lookup import Lookup

_OF_THESE_SONGS: Final = frozenset(
    {"--from", "--artist", "--title", "--album", "--isrc", "--duration", "--failed-list"}
)
"""Flags that say nothing about another list of songs."""


def fetch(call: Call) -> int:
    """Fetch lyrics for queries, audio files and directories; nothing is remembered."""
    request = fetch_jobs.read_request(call)
    with progress_of(call, "songs") as line:
        waiting = _Waiting(call, line)
        tokens = runtime.operator_token(call.settings, call.loaded.source("api.token"))
        lookup = runtime.build_lookup(
            call.settings, tokens=tokens, clock=call.world.clock, waiting=waiting.for_lane
        )
        with contextlib.closing(lookup):
            runtime.require_active(lookup.lanes)
            fetcher = Fetcher(
                lookup,
                SidecarWriter(clock=call.world.clock, ownership=STATELESS),
                options=_options(call),
                clock=call.world.clock,
                pause=waiting.pause,
                listening=runtime.build_listening(
                    call.settings, clock=call.world.clock, waiting=waiting.for_lane
                ),
            )
            with Total(request.count, enabled=line.enabled) as total:
                report = Report(
                    call.world.stdout,
                    line,
                    as_json=call.args.json,
                    total=total,
                    shown=request.shown,
                )
                pace = functools.partial(_pace, lookup)
                return _work(call, fetcher, request, report, pace)


def _work(
    call: Call,
    fetcher: Fetcher,
    request: fetch_jobs.Request,
    report: Report,
    pace: Callable[[], float | None],
) -> int:
    left = FailedList(request.bad_lines)
    interrupted = False
    with ending_politely():
        try:
            for job, result in fetcher.run(left.watched(request.jobs())):
                report.add(result, pace_s=pace())
                left.settle(job, result)
        except (KeyboardInterrupt, Cancelled):
            interrupted = True
            left.add_unworked(request.jobs() if request.failed_list else ())
    try:
        for bad in request.bad_lines:
            report.add_bad_line(bad)
        report.close()
        call.voice.summarise(report.tally.text())
    finally:  # also where nobody can be told any more
        _save_failed(call, request, left)
    return EXIT_INTERRUPTED if interrupted else report.tally.exit_code


def _pace(lookup: Lookup) -> float | None:
    """Give the seconds a song takes at the first lane's pace; None when nothing slows it down."""
    first = next((lane for lane in lookup.lanes if lane.active), None)
    return (first.pace_s or None) if first else None


def _save_failed(call: Call, request: fetch_jobs.Request, left: FailedList) -> None:
    path = request.failed_list
    if path is None or not left.lines:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = "a" if request.appends else "w"
        with path.open(mode, encoding="utf-8", errors="surrogateescape") as file:
            file.writelines(f"{text}\n" for text in left.lines)
    except OSError as error:
        raise LyrsvcError(f"cannot write {path}: {error.strerror}") from error
    call.note(f"what failed is listed in {path}; try again with: {_again(call, path)}")


def _again(call: Call, path: Path) -> str:
    """Write the line that does the same once more for what is listed in a file."""
    import shlex

    from lyrsvc.cli.flags import setting_flags, spelled

    words = ["lyrsvc", "--from", str(path)]
    for flag in (*call.command.arguments, *GLOBAL_ARGUMENTS):
        if flag.is_flag and flag.names[0] not in _OF_THESE_SONGS:
            value = getattr(call.args, flag.field)
            words += spelled(flag, value) if value else []
    for setting in setting_flags(call.command, call.loaded.registry.entries):
        value = call.loaded.inputs.flags.get(setting.path)
        words += spelled(setting, value) if value is not None and not setting.is_secret else []
    return shlex.join(words)


def _options(call: Call) -> FetchOptions:
    args, settings = call.args, call.settings
    if args.force and not args.update:
        raise UsageError("--force needs --update")
    if args.update and args.upgrade:
        raise UsageError("--update and --upgrade exclude each other")
    mode = FetchMode.FORCE if args.force else FetchMode.UPDATE if args.update else None
    return FetchOptions(
        mode=mode or (FetchMode.UPGRADE if args.upgrade else FetchMode.NORMAL),
        translation_language=runtime.translation_language(settings),
        word_timing=WordTiming(settings.output.word_timing),
        embedded=settings.output.embedded_lyrics,
        enrich=settings.enrichment.enabled,
        dry_run=args.dry_run,
    )


class _Waiting:
    """Waits with a countdown on a terminal, silently elsewhere."""

    def __init__(self, call: Call, line: ProgressLine) -> None:
        self._clock = call.world.clock
        self._line = line

    def for_lane(self, seconds: float, lane: str) -> bool:
        return self._wait(seconds, lane, "next request in {time} ({reason})")

    def pause(self, seconds: float, why: str) -> bool:
        return self._wait(seconds, why, "asking again in {time}: {reason}")

    def _wait(self, seconds: float, why: str, form: str) -> bool:
        end = self._clock.monotonic() + seconds
        while (left := end - self._clock.monotonic()) > 0:
            if self._line.enabled:
                self._line.countdown(left, why, form=form)
            if self._clock.wait(min(left, 0.5)):
                return True
        return False
