"""Scans a library: what is on disk goes into the inventory, what lacks lyrics into the queue.

The walk lists each directory once and compares it with what is stored; only new and
changed files are opened, by the tag pool. Rows are written in batches on the way, so
a run that is killed loses nothing but its end. What a run could not see it does not
judge: faults are counted, and protect what lies behind them.
"""

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from lyrsvc.core.errors import StoreError
from lyrsvc.core.library import Library
from lyrsvc.core.ports import Clock
from lyrsvc.core.scan_decision import ScanRules
from lyrsvc.core.scan_facts import TagFacts, Unreadable
from lyrsvc.core.scan_run import RunReason, RunState, ScanReport
from lyrsvc.core.sidecar import FetchMode
from lyrsvc.files.atomic import remove_stale_temp
from lyrsvc.files.tags import READER_VERSION
from lyrsvc.files.tree import DEFAULT_DEPTH, Listing, list_directory, walk
from lyrsvc.services.enqueueing import Terms
from lyrsvc.services.exchanged_audio import ExchangedAudio, Followed
from lyrsvc.services.library_lock import Lease, library_lock
from lyrsvc.services.library_roots import device_of, roots_to_skip
from lyrsvc.services.renamed_audio import RenamedAudio
from lyrsvc.services.renamed_sidecars import RenamedSidecars
from lyrsvc.services.scan_batches import ScanBatches
from lyrsvc.services.scan_gate import Finding, Findings, ScanGate, below, in_portions
from lyrsvc.services.scan_rows import Change, look_change, read_change
from lyrsvc.services.tag_pool import TagPool
from lyrsvc.services.vanished_files import Leave, VanishedFiles, prune
from lyrsvc.store import absences, libraries, scan_runs
from lyrsvc.store.database import Database, Tx

_ANSWER_S: Final = 0.5
_LOG: Final = logging.getLogger("lyrsvc.scan")


@dataclass(frozen=True, kw_only=True, slots=True)
class ScanSetup:
    """What holds for every scan of this installation."""

    enrich: bool = True
    depth: int = DEFAULT_DEPTH
    tag_workers: int = 4
    embedded_lyrics: str = "off"
    retention: timedelta = timedelta(days=30)


@dataclass(frozen=True, kw_only=True, slots=True)
class ScanFlags:
    """What one run does otherwise; None leaves it to the library and the defaults."""

    enrich: bool | None = None
    detect_instrumental: bool | None = None
    accept_missing: bool = False


NO_FLAGS: Final = ScanFlags()
OnScanned = Callable[[Library, Path | None], None]
"""Hears which library was scanned, and which directory of it, or None for all."""
OnRenamed = Callable[[Library, Path | None, Sequence[Path], Lease], None]
"""Hears, while the library is locked, in which directories of a scan audio was renamed."""


class _Stopped(Exception):
    """The run is to end now, with this outcome."""

    def __init__(self, state: RunState, reason: RunReason = RunReason.NONE) -> None:
        super().__init__(str(state))
        self.state, self.reason = state, reason


class Scanner:
    """Scans libraries, one run at a time for each of them."""

    def __init__(  # noqa: PLR0913 - one keyword for each part it is made of
        self,
        db: Database,
        *,
        clock: Clock,
        setup: ScanSetup,
        terms: Callable[[datetime], Terms],
        wake: Callable[[], None] = lambda: None,
        on_scanned: OnScanned = lambda _library, _below: None,
        on_renamed: OnRenamed = lambda _library, _below, _directories, _lease: None,
        sidecars: RenamedSidecars | None = None,
    ) -> None:
        self._db = db
        self._clock = clock
        self._setup = setup
        self._terms = terms
        self._wake = wake
        self._on_scanned = on_scanned
        self._on_renamed = on_renamed
        self._sidecars = sidecars
        self._here: dict[int, ScanReport] = {}
        self._unwanted: set[int] = set()

    def counts_of(self, run_id: int) -> dict[str, int]:
        """Give how far a run is that is carried out here; nothing for any other."""
        report = self._here.get(run_id)
        return {} if report is None else report.counts.as_dict()

    def cancel(self, run_id: int) -> bool:
        """Have a run end at the next file; False when no such run is carried out here."""
        if run_id not in self._here:
            return False
        self._unwanted.add(run_id)
        return True

    def scan(  # noqa: PLR0913 - one parameter for each thing a caller may say
        self,
        library: Library,
        *,
        started_by: str,
        below: Path | None = None,
        mode: FetchMode = FetchMode.NORMAL,
        flags: ScanFlags = NO_FLAGS,
        wait_s: float = 0.0,
        watch: Callable[[ScanReport, str], None] | None = None,
    ) -> ScanReport:
        """Scan a library, or one directory of it with all below.

        Raises ``LibraryBusy`` when its lock is not free within ``wait_s``. ``watch``
        is told when the run begins and now and then how far it is, with the path it is at.
        """
        with library_lock(
            self._db, library, clock=self._clock, purpose="scan", wait_s=wait_s
        ) as lease:
            with self._db.read() as tx:
                library = libraries.get(tx, library.id)  # it may have changed while we waited
            rules = self._rules(library, mode, flags)
            run = _Run(self, library, rules, lease=lease, watch=watch or (lambda *_: None))
            leave = Leave(accept_missing=flags.accept_missing, retention=self._setup.retention)
            report = run.carry_out(started_by, below, leave)
        self._on_scanned(library, below)
        return report

    def _rules(self, library: Library, mode: FetchMode, flags: ScanFlags) -> ScanRules:
        choices = (flags.enrich, library.enrich, self._setup.enrich)
        return ScanRules(
            enrich=next(choice for choice in choices if choice is not None),
            reader_version=READER_VERSION,
            mode=mode,
            respect_embedded=self._setup.embedded_lyrics == "respect",
            extract_embedded=self._setup.embedded_lyrics == "extract",
            detect=flags.detect_instrumental,
        )


class _Run:
    """One run."""

    def __init__(
        self,
        scanner: Scanner,
        library: Library,
        rules: ScanRules,
        *,
        lease: Lease,
        watch: Callable[[ScanReport, str], None],
    ) -> None:
        self._db, self._clock, self._setup = scanner._db, scanner._clock, scanner._setup
        self._terms, self._wake = scanner._terms, scanner._wake
        self._here, self._unwanted = scanner._here, scanner._unwanted
        self._sidecars, self._on_renamed = scanner._sidecars, scanner._on_renamed
        self._library = library
        self._root = os.fspath(library.path)
        self._rules = rules
        self._lease = lease
        self._watch = watch
        self._report = ScanReport(run_id=0, library_id=library.id, library_name=library.name)
        self._renamed = RenamedAudio(self._db, library)
        self._exchanged = ExchangedAudio(self._db, library, self._sidecars)

    def carry_out(self, started_by: str, scope: Path | None, leave: Leave) -> ScanReport:
        """Scan, and write down how it went whatever happens."""
        report, clock = self._report, self._clock
        began = clock.monotonic()
        report.run_id = self._db.write(
            lambda tx: scan_runs.begin(
                tx,
                self._library.id,
                started_by=started_by,
                scope="" if scope is None else os.fspath(scope),
                mode=str(self._rules.mode),
                now=clock.now(),
            )
        )
        report.state = RunState.FAILED
        self._here[report.run_id] = report
        try:
            self._watch(report, self._root)
            self._scan(scope, leave)
            report.state = RunState.DONE
        except _Stopped as stop:
            report.state, report.reason = stop.state, stop.reason
        except StoreError:
            report.reason = RunReason.STORAGE
            raise
        except KeyboardInterrupt:
            report.state = RunState.CANCELLED
            raise
        except BaseException:
            report.reason = RunReason.ABORTED
            raise
        finally:
            self._here.pop(report.run_id, None)
            self._unwanted.discard(report.run_id)
            report.seconds = clock.monotonic() - began
            self._end(is_whole=scope is None)
        return report

    def _scan(self, scope: Path | None, leave: Leave) -> None:
        device = self._require_root()
        start = self._start_of(scope)
        with self._db.read() as tx:
            others = libraries.all_libraries(tx)
            newest = absences.newest_row(tx)
        gate = ScanGate(self._db, self._library.id, self._root, self._rules)
        vanished = VanishedFiles(
            self._db,
            self._library,
            clock=self._clock,
            newest_before=newest,
            sidecars=self._sidecars,
        )
        batches = ScanBatches(
            self._db, self._report, clock=self._clock, terms=self._terms, wake=self._wake
        )
        depth = self._setup.depth - len(Path(below(self._root, start)).parts)
        skip = roots_to_skip(self._library, others)
        listings = self._tidied(walk(start, depth=depth, skip=skip)) if depth >= 0 else iter(())
        pool: TagPool[Finding] = TagPool(
            self._root, enrich=self._rules.enrich, workers=self._setup.tag_workers
        )
        with pool:
            try:
                for portion in in_portions(listings):
                    found = gate.compare(portion)
                    vanished.add(found.gone)
                    self._take_in(found, pool, batches)
                    batches.tick()
                    self._watch(self._report, portion[-1].path)
                self._drain(pool, batches)
                self._visit_origins(start, gate, vanished, pool, batches)
            finally:
                batches.finish()
        if self._require_root() != device:
            raise _Stopped(RunState.FAILED, RunReason.ROOT_UNAVAILABLE)
        self._follow_exchanged(gate, vanished, batches)
        vanished.settle(self._report, leave, renamed=self._renamed)
        self._queue_held(scope, gate, batches)
        self._prune(scope, leave)

    def _drain(self, pool: TagPool[Finding], batches: ScanBatches) -> None:
        pool.flush()
        while not pool.is_idle:
            self._take_answers(pool, batches, wait_s=_ANSWER_S)

    def _visit_origins(
        self,
        start: str,
        gate: ScanGate,
        vanished: VanishedFiles,
        pool: TagPool[Finding],
        batches: ScanBatches,
    ) -> None:
        """Look at directories outside that exchanged files came from: others may be there now."""
        seen: set[str] = set()
        inside = f"{start.rstrip('/')}/"
        while new := {
            directory
            for directory in self._exchanged.origins - seen
            if not f"{directory}/".startswith(inside) and Path(directory).is_dir()
        }:
            seen |= new
            found = gate.compare([list_directory(directory) for directory in sorted(new)])
            vanished.add(found.gone)
            self._take_in(found, pool, batches)
            self._drain(pool, batches)

    def _follow_exchanged(
        self, gate: ScanGate, vanished: VanishedFiles, batches: ScanBatches
    ) -> None:
        """Let rows and sidecars follow files that took the names of others."""
        followed = self._exchanged.follow()
        vanished.spare(followed.row_ids)
        self._renamed.lost -= followed.row_ids
        self._report.counts.relinked += len(followed.row_ids)
        self._report.counts.new -= followed.new
        for directory in followed.directories:
            found = gate.compare([list_directory(directory)])
            for change in self._looked_again(found, followed):
                self._add(change, batches)
        batches.finish()

    def _looked_again(self, found: Findings, followed: Followed) -> Iterator[Change]:
        """Give what is to be done about the files of an exchange; stale words are replaced."""
        rules, library_id = self._rules, self._library.id
        for finding in found.to_look:
            if finding.path in followed.places and finding.row is not None:
                yield look_change(
                    finding, rules.anew if finding.path in followed.stale else rules, library_id
                )
        for finding in found.to_read:
            facts = self._exchanged.facts_of(finding)
            if finding.path in followed.places and facts is not None:
                fitting = rules.anew if finding.path in followed.stale else rules
                yield read_change(finding, facts, fitting, library_id)

    def _queue_held(self, scope: Path | None, gate: ScanGate, batches: ScanBatches) -> None:
        """Queue what was held back, as far as no words came along."""
        held = list(self._renamed)
        if held:
            directories = [Path(directory) for directory, _ in held]
            self._on_renamed(self._library, scope, directories, self._lease)
        for directory, names in held:
            found = gate.compare([list_directory(directory)])
            for finding in found.to_look:
                if finding.name in names:
                    batches.add(look_change(finding, self._rules, self._library.id))
        batches.finish()

    def _prune(self, scope: Path | None, leave: Leave) -> None:
        if scope is None:
            self._report.counts.pruned = prune(
                self._db, self._library, clock=self._clock, retention=leave.retention
            )

    def _require_root(self) -> int:
        device = device_of(self._library.path)
        if device is None:
            raise _Stopped(RunState.FAILED, RunReason.ROOT_UNAVAILABLE)
        return device

    def _start_of(self, scope: Path | None) -> str:
        """Give where the walk begins: the scope, or what still exists above it."""
        root = self._library.path
        if scope is None or root not in scope.parents:
            return self._root
        while scope != root and (scope.is_symlink() or not scope.is_dir()):
            scope = scope.parent
        return os.fspath(scope)

    def _tidied(self, listings: Iterator[Listing]) -> Iterator[Listing]:
        """Check for an end, and remove what a crash of ours left lying about."""
        for listing in listings:
            self._check()
            for name in listing.temp_names:
                remove_stale_temp(Path(listing.path, name), now=self._clock.now())
            yield listing

    def _check(self) -> None:
        if self._clock.wait(0) or self._report.run_id in self._unwanted:
            raise _Stopped(RunState.CANCELLED)
        if self._lease.is_lost:
            raise _Stopped(RunState.FAILED, RunReason.ABORTED)

    def _take_in(self, found: Findings, pool: TagPool[Finding], batches: ScanBatches) -> None:
        self._count(found)
        for folder, error in found.dir_errors:
            batches.add_error(folder, error)
        for finding in found.to_look:
            self._add(look_change(finding, self._rules, self._library.id), batches)
        for finding in found.to_read:
            pool.ask(finding, finding.path)
            while pool.is_full:
                self._take_answers(pool, batches, wait_s=_ANSWER_S)
        self._take_answers(pool, batches)

    def _take_answers(
        self, pool: TagPool[Finding], batches: ScanBatches, *, wait_s: float | None = None
    ) -> None:
        for finding, facts in pool.answers(wait_s=wait_s):
            self._note_read(finding, facts)
            if not self._exchanged.keeps(finding, facts):
                change = read_change(finding, facts, self._rules, self._library.id)
                self._add(change, batches)
        self._check()
        if pool.is_broken:
            raise _Stopped(RunState.FAILED, RunReason.ABORTED)

    def _note_read(self, finding: Finding, facts: TagFacts | Unreadable) -> None:
        counts = self._report.counts
        counts.opened += 1
        if finding.row is None:
            counts.new += 1
        else:
            counts.changed += 1
        if isinstance(facts, Unreadable):
            counts.unreadable += 1
            if facts.reason != "no_metadata":
                counts.file_errors += 1
                self._report.note_error(finding.path, facts.reason)

    def _add(self, change: Change, batches: ScanBatches) -> None:
        self._report.foreign += change.is_foreign
        if change.finding.fault:
            self._report.counts.new += 1
        if self._renamed.holds_back(change):
            change = change._replace(wish=None)
        batches.add(change)

    def _count(self, found: Findings) -> None:
        counts = self._report.counts
        counts.seen += found.seen
        counts.unchanged += found.unchanged
        counts.unreadable += found.unreadable
        counts.dir_errors += found.bad_directories
        counts.file_errors += len(found.faults) - found.bad_directories
        for path, reason in found.faults:
            self._report.note_error(path, reason)

    def _end(self, *, is_whole: bool) -> None:
        report, now = self._report, self._clock.now()

        def end(tx: Tx) -> None:
            scan_runs.end(tx, report, now=now)
            if is_whole and report.state is RunState.DONE:
                libraries.note_scan(tx, report.library_id, now=now)

        self._db.write(end)
        _LOG.log(
            logging.WARNING if report.state is RunState.FAILED else logging.INFO,
            "scan ended",
            extra={
                "library": report.library_name,
                "state": str(report.state),
                "reason": str(report.reason),
                "seconds": round(report.seconds, 1),
                **{name: number for name, number in report.counts.as_dict().items() if number},
            },
        )
