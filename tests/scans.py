"""A library on disk, a database, and scans of the one into the other."""

from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

from builders import minimal_flac
from fakes import FakeClock
from lyrsvc.core.library import Library
from lyrsvc.core.scan_run import ScanReport
from lyrsvc.services.enqueueing import Terms
from lyrsvc.services.library_registry import LibraryRegistry, Wanted
from lyrsvc.services.renamed_sidecars import RenamedSidecars
from lyrsvc.services.scanning import OnRenamed, ScanFlags, Scanner, ScanSetup
from lyrsvc.store import counts, libraries, scan_listing
from lyrsvc.store.database import Database

TABLES = ("scan_dirs", "scan_results", "work_items", "work_targets", "counts", "written_files")


class Scans:
    """Whoever has a library scanned and looks at what came of it."""

    follower: RenamedSidecars | None = None
    on_renamed: OnRenamed = staticmethod(lambda *_: None)

    def __init__(self, db: Database, clock: FakeClock, root: Path) -> None:
        self.db, self.clock, self.root = db, clock, root
        root.mkdir(exist_ok=True)
        self.woken = 0
        self.registry = LibraryRegistry(db, clock=clock, working_directory=root.parent)
        self.library = self.add(root, name="Music")

    def add(self, path: Path, **wanted: Any) -> Library:
        return self.registry.add(Wanted(path=str(path), **wanted)).library

    def song(self, path: str, title: str = "", **tags: Any) -> Path:
        """Put a tagged file into the library."""
        place = self.root / path
        known = {"title": title or place.stem, "artist": "Quillon Marsh", "album": "Low Tide"}
        return minimal_flac(place, **{**known, **tags})

    def scan(
        self, library: Library | None = None, *, setup: dict[str, Any] | None = None, **call: Any
    ) -> ScanReport:
        flags = {
            name: call.pop(name)
            for name in ("enrich", "detect_instrumental", "accept_missing")
            if name in call
        }
        scanner = Scanner(
            self.db,
            clock=self.clock,
            setup=ScanSetup(**(setup or {})),
            terms=lambda now: Terms(now=now, chance=Random(1), output_dir="/nowhere"),
            wake=self._wake,
            sidecars=self.follower,
            on_renamed=self.on_renamed,
        )
        call.setdefault("started_by", "cli")
        return scanner.scan(library or self.library, flags=ScanFlags(**flags), **call)

    def rows(self, **filters: Any) -> list[dict[str, Any]]:
        with self.db.read() as tx:
            return list(scan_listing.list_results(tx, **filters))

    def statuses(self) -> dict[str, str]:
        """Give the status of each file by its path below the root."""
        return {
            str(Path(row["source_path"]).relative_to(self.root)): row["status"]
            for row in self.rows()
        }

    def table(self, name: str) -> list[dict[str, Any]]:
        with self.db.read() as tx:
            return tx.all(f"SELECT * FROM {name} ORDER BY 1")

    def run(self, sql: str, **params: Any) -> None:
        self.db.write(lambda tx: tx.run(sql, **params))

    def contents(self) -> dict[str, list[dict[str, Any]]]:
        """Give everything an unchanged rescan must leave alone."""
        return {name: self.table(name) for name in TABLES}

    def wrong_counts(self) -> dict[str, tuple[int, int]]:
        with self.db.read() as tx:
            return counts.differences(tx)

    def reload(self, library: Library | None = None) -> Library:
        with self.db.read() as tx:
            return libraries.get(tx, (library or self.library).id)

    def pass_days(self, days: float) -> None:
        self.clock.advance(timedelta(days=days).total_seconds())

    def _wake(self) -> None:
        self.woken += 1
