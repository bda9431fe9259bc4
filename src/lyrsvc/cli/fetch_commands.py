"""One-shot and directory mode on the command line."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

from lyrsvc import runtime
from lyrsvc.cli import fetch_jobs
from lyrsvc.cli.call import Call
from lyrsvc.cli.fetch_report import FailedList, Report
from lyrsvc.cli.progress import ProgressLine, is_wanted
from lyrsvc.core.errors import LyrsvcError, UsageError
from lyrsvc.core.sidecar import FetchMode, WordTiming
from lyrsvc.files.sidecar_writing import SidecarWriter
from lyrsvc.files.sidecars import STATELESS
from lyrsvc.services.fetching import Fetcher, FetchOptions
from lyrsvc.services.lanes import Cancelled

EXIT_INTERRUPTED = 130


def fetch(call: Call) -> int:
    """Fetch lyrics for queries, audio files and directories; nothing is remembered."""
    request = fetch_jobs.read_request(call)
    logs = call.voice.set_up()
    enabled = is_wanted(
        call.world.stderr,
        term=call.settings.environment.term,
        quiet=call.args.quiet,
        as_json=call.args.json,
    )
    with ProgressLine(
        call.world.stderr, call.world.clock, enabled, noun="songs", summary=False
    ) as line:
        waiting = _Waiting(call, line, enabled=enabled)
        tokens = runtime.operator_token(call.settings, call.loaded.source("api.token"))
        lookup = runtime.build_lookup(
            call.settings, tokens=tokens, clock=call.world.clock, waiting=waiting.for_lane
        )
        with contextlib.closing(lookup):
            runtime.require_active(lookup.lanes)
            if logs is not None and enabled:
                logs.draw_through(line.log_through)
            fetcher = Fetcher(
                lookup,
                SidecarWriter(clock=call.world.clock, ownership=STATELESS),
                options=_options(call),
                clock=call.world.clock,
                pause=waiting.pause,
            )
            return _work(call, fetcher, request, line)


def _work(call: Call, fetcher: Fetcher, request: fetch_jobs.Request, line: ProgressLine) -> int:
    report = Report(
        call.world.stdout, line, as_json=call.args.json, total=request.total, shown=request.shown
    )
    left = FailedList(request.bad_lines)
    jobs = request.jobs()
    interrupted = False
    with _interruptible():
        try:
            for job, result in fetcher.run(left.watched(jobs)):
                report.add(result)
                left.settle(job, result)
        except (KeyboardInterrupt, Cancelled):
            interrupted = True
            left.add_unworked(jobs)
    for bad in request.bad_lines:
        report.add_bad_line(bad)
    report.close()
    call.voice.summarise(report.tally.text())
    _save_failed(call, request, left)
    return EXIT_INTERRUPTED if interrupted else report.tally.exit_code


def _save_failed(call: Call, request: fetch_jobs.Request, left: FailedList) -> None:
    path = request.failed_list
    if path is None or not left.lines:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{text}\n" for text in left.lines), "utf-8")
    except OSError as error:
        raise LyrsvcError(f"cannot write {path}: {error.strerror}") from error
    call.note(f"what failed is listed in {path}; try again with: lyrsvc --from {path}")


def _options(call: Call) -> FetchOptions:
    args, settings = call.args, call.settings
    if args.force and not args.update:
        raise UsageError("--force needs --update")
    if args.update and args.upgrade:
        raise UsageError("--update and --upgrade exclude each other")
    mode = FetchMode.FORCE if args.force else FetchMode.UPDATE if args.update else None
    return FetchOptions(
        mode=mode or (FetchMode.UPGRADE if args.upgrade else FetchMode.NORMAL),
        bilingual=settings.output.bilingual_output,
        word_timing=WordTiming(settings.output.word_timing),
        embedded=settings.output.embedded_lyrics,
        enrich=settings.enrichment.enabled,
        dry_run=args.dry_run,
    )


class _Waiting:
    """Waits with a countdown on a terminal, silently elsewhere."""

    def __init__(self, call: Call, line: ProgressLine, *, enabled: bool) -> None:
        self._clock = call.world.clock
        self._line = line
        self._enabled = enabled

    def for_lane(self, seconds: float, lane: str) -> bool:
        return self.pause(seconds, f"next request ({lane})")

    def pause(self, seconds: float, why: str) -> bool:
        end = self._clock.monotonic() + seconds
        while (left := end - self._clock.monotonic()) > 0:
            if self._enabled:
                self._line.countdown(left, why)
            if self._clock.wait(min(left, 0.5)):
                return True
        return False


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Let a polite request to end count as an interrupt."""

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, on_signal)
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
