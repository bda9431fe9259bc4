"""Looking through libraries."""

import gc
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from lyrsvc.cli.call import Call

if TYPE_CHECKING:
    from lyrsvc.cli.progress import ProgressLine
    from lyrsvc.core.library import Library
    from lyrsvc.core.scan_run import ScanReport
    from lyrsvc.core.sidecar import FetchMode
    from lyrsvc.services.scanning import ScanFlags, Scanner
    from lyrsvc.store.database import Database

COLUMNS = ("id", "library", "status", "artist", "title", "source_path", "destination", "reason")
SUMMARY = (
    "library", "seen", "new", "changed", "unchanged", "enqueued", "from_cache", "missing",
    "unreadable", "errors", "seconds",
)  # fmt: skip
LOCK_WAIT_S = 10.0
NICENESS = 10
"""A scan can wait; a server beside it answers somebody."""
_REASONS = {
    "root_unavailable": "its directory is missing, empty or cannot be read; "
    "mount it, or move the library with: lyrsvc library update",
    "aborted": "too many files could not be read in time; check the disk and scan again",
    "storage": "the database cannot be written; free some space and scan again",
}


def scan(call: Call) -> int:
    """Scan all libraries, or those named, one after another."""
    from lyrsvc import runtime
    from lyrsvc.cli.library_commands import open_to_change
    from lyrsvc.cli.progress_of import progress_of

    mode, flags = _mode(call), _flags(call)
    call.world.make_way(NICENESS)
    with open_to_change(call) as db:
        chosen = _chosen(call, db)
        with progress_of(call, "files") as line:
            scanner = runtime.build_scanner(call.settings, db=db, clock=call.world.clock)
            gc.freeze()  # looking through what stays would take time while others wait to write
            round_ = _Round(call, scanner, mode=mode, flags=flags, line=line)
            call.print_rows(SUMMARY, round_.rows(chosen), through=line.log_through)
    if not chosen:
        call.note("there is no library; register one with: lyrsvc library add PATH")
    return round_.code


def list_results(call: Call) -> int:
    """List the inventory, a row at a time however long it is."""
    from lyrsvc.store import libraries, scan_listing

    def rows() -> Iterator[dict[str, Any]]:
        db = call.open_to_read()
        if db is None:
            return
        with db, db.read(deadline_s=None) as tx:
            name = call.args.library
            library = libraries.find(tx, name).id if name is not None else None
            found = scan_listing.list_results(
                tx, library_id=library, status=call.args.status, limit=call.args.limit
            )
            yield from (_row(row, as_json=call.args.json) for row in found)

    call.print_rows(COLUMNS, rows())
    return 0


def clear(call: Call) -> int:
    """Forget a library's scan results; without ``--yes`` only say what that would mean."""
    from lyrsvc.cli.library_commands import open_to_change, print_row, registry
    from lyrsvc.store import libraries

    with open_to_change(call) as db:
        with db.read() as tx:
            library = libraries.find(tx, call.args.library)
        desk = registry(call, db)
        held = desk.clear(library) if call.args.yes else desk.count(library, inventory_only=True)
    row = {
        "library": library.name,
        "scan_rows": held.scan_rows,
        "queue_cancelled": held.cancelled,
        "queue_trimmed": held.trimmed,
    }
    print_row(call, tuple(row), {**row, "cleared": bool(call.args.yes)})
    if not call.args.yes:
        call.note("nothing was cleared; add --yes to do it (no file is ever touched)")
    return 0


class _Round:
    """Scans some libraries and keeps in mind whether all went well."""

    def __init__(
        self,
        call: Call,
        scanner: "Scanner",
        *,
        mode: "FetchMode",
        flags: "ScanFlags",
        line: "ProgressLine",
    ) -> None:
        self._call = call
        self._scanner = scanner
        self._mode, self._flags = mode, flags
        self._line = line
        self._seen = 0
        self.code = 0

    def rows(self, chosen: "list[Library]") -> Iterator[dict[str, Any]]:
        """Scan one library after another; one that is busy does not stop the next."""
        from lyrsvc.services.library_lock import LibraryBusy

        for library in chosen:
            self._call.audit("scan.started", library=library.name)
            try:
                report = self._scanner.scan(
                    library,
                    started_by="cli",
                    mode=self._mode,
                    flags=self._flags,
                    wait_s=LOCK_WAIT_S,
                    watch=self._watcher(),
                )
            except LibraryBusy as busy:
                self._fail(str(busy))
                continue
            self._seen += report.counts.seen
            self._judge(report)
            yield _summary(report, as_json=self._call.args.json)

    def _watcher(self) -> "Callable[[ScanReport, str], None]":
        before = self._seen

        def watch(report: "ScanReport", path: str) -> None:
            counts = report.counts
            shown = {
                "new": counts.new,
                "changed": counts.changed,
                "enqueued": counts.enqueued,
                "errors": report.errors_total,
            }
            self._line.update(
                done=before + counts.seen,
                counters={name: number for name, number in shown.items() if number},
                current=path,
            )

        return watch

    def _judge(self, report: "ScanReport") -> None:
        if report.state == "failed":
            remedy = _REASONS.get(report.reason, "see the log")
            self._fail(f'library "{report.library_name}" was not scanned to its end: {remedy}')
        if report.foreign:
            self._call.note(
                f"{report.foreign} files of others were kept; --update --force replaces them"
            )

    def _fail(self, sentence: str) -> None:
        self.code = 1
        self._call.voice.complain(sentence)


def _chosen(call: Call, db: "Database") -> "list[Library]":
    from lyrsvc.store import libraries

    with db.read() as tx:
        if not call.args.library:
            return libraries.all_libraries(tx)
        named = [libraries.find(tx, name) for name in call.args.library]
    return list({library.id: library for library in named}.values())


def _mode(call: Call) -> "FetchMode":
    from lyrsvc.core.errors import UsageError
    from lyrsvc.core.sidecar import FetchMode

    args = call.args
    if args.force and not args.update:
        raise UsageError("--force needs --update; see: lyrsvc scan --help")
    return FetchMode.FORCE if args.force else look_again_mode(call)


def look_again_mode(call: Call) -> "FetchMode":
    """Give how scans treat what has lyrics already."""
    from lyrsvc.core.sidecar import FetchMode

    if call.args.update:
        return FetchMode.UPDATE
    return FetchMode.UPGRADE if call.args.upgrade else FetchMode.NORMAL


def _flags(call: Call) -> "ScanFlags":
    from lyrsvc.services.scanning import ScanFlags

    args = call.args
    return ScanFlags(
        enrich=_choice(on=args.enrich, off=args.no_enrich),
        detect_instrumental=_choice(on=args.detect_instrumental, off=args.no_detect_instrumental),
        accept_missing=args.accept_missing,
    )


def _choice(*, on: bool, off: bool) -> bool | None:
    return True if on else False if off else None


def _summary(report: "ScanReport", *, as_json: bool) -> dict[str, Any]:
    counts = report.counts.as_dict()
    row = {
        "library": report.library_name,
        **{name: counts[name] for name in SUMMARY if name in counts},
        "errors": report.errors_total,
        "seconds": round(report.seconds, 1),
    }
    if not as_json:
        return row
    more = {name: counts[name] for name in ("opened", "reopened", "relinked", "pruned")}
    ended = {"state": str(report.state), "reason": str(report.reason)}
    return {**row, **more, "foreign": report.foreign, **ended}


def _row(row: dict[str, Any], *, as_json: bool) -> dict[str, Any]:
    name = row.pop("library_name")
    return row if as_json else {**row, "library": name}
