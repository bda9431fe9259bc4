"""Files that took the names of others: swapped, shifted by one, put in another's place.

Every name is still there, so nothing has vanished; but the file that a row was written
of stands at the name of another row. Rows, targets and our own sidecars follow it. Until
they do the rows say what they said, so that the next scan of a killed one sees the same.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lyrsvc.core.library import Library
from lyrsvc.core.ptext import from_ptext
from lyrsvc.core.relinking import in_order
from lyrsvc.core.scan_decision import Stamp, stamp_of
from lyrsvc.core.scan_facts import IDENTITY, TagFacts, Unreadable
from lyrsvc.files.pairing import split_name
from lyrsvc.services.exchanged_rows import RowMove, are_free, rehouse_all
from lyrsvc.services.scan_gate import Finding
from lyrsvc.store import absences, stem_rows
from lyrsvc.store.database import Database, Tx

if TYPE_CHECKING:
    from lyrsvc.services.renamed_sidecars import RenamedSidecars
    from lyrsvc.store.engine import Row

MOST_STRANGERS: Final = 1000
"""So many files that are new to us wait at known names, in case the old ones turn up."""


@dataclass(slots=True)
class Followed:
    """What became of the files: rows at their new places, and the places to be looked at again."""

    row_ids: set[int] = field(default_factory=set)
    new: int = 0
    """How many of them are at names that were not known."""
    places: set[str] = field(default_factory=set)
    stale: set[str] = field(default_factory=set)
    """Places where words of another song stand, which could not be taken away."""

    @property
    def directories(self) -> list[str]:
        """Give the directories of these places."""
        return sorted({_directory(place) for place in self.places})


class ExchangedAudio:
    """Knows known files at the names of others, and lets everything follow them."""

    def __init__(
        self, db: Database, library: Library, sidecars: "RenamedSidecars | None" = None
    ) -> None:
        self._db = db
        self._library = library
        self._sidecars = sidecars
        with db.read() as tx:
            self._is_known = absences.has_rows(tx, library.id)
        self._moves: dict[str, str] = {}
        self._row_ids: dict[str, int] = {}
        self._new: set[str] = set()
        self._strangers: dict[str, tuple[Stamp, TagFacts]] = {}

    @property
    def origins(self) -> set[str]:
        """Give the directories that files have come from."""
        return {_directory(old) for old in self._moves}

    def keeps(self, finding: Finding, facts: TagFacts | Unreadable) -> bool:
        """Tell whether a file that was read should wait for the end of the run, and remember it."""
        if self._sidecars is None or not self._is_known or isinstance(facts, Unreadable):
            return False
        before, inode = finding.row, finding.stamp[2]
        if not inode or (before is not None and before["inode"] in (0, inode)):
            return False
        columns = facts.columns
        if self._comes_from_a_row(finding, columns):
            return True
        if before is None or all(before[name] == columns[name] for name in IDENTITY):
            return False
        if len(self._strangers) < MOST_STRANGERS:
            self._strangers[finding.path] = finding.stamp, facts
        return finding.path in self._strangers

    def facts_of(self, finding: Finding) -> TagFacts | None:
        """Give what was read of a file that came to a known name from nowhere."""
        stamp, facts = self._strangers.get(finding.path, (None, None))
        return facts if stamp == finding.stamp else None

    def follow(self) -> Followed:
        """Let rows and sidecars follow; what is being worked on is left to the next scan."""
        followed = Followed(places=self._strangers.keys() - self._moves.keys())
        if self._sidecars is None:
            return followed
        for group in in_order(self._moves):
            self._follow(group, self._sidecars, followed)
        return followed

    def _comes_from_a_row(self, finding: Finding, columns: dict[str, Any]) -> bool:
        mtime_ns, size, inode = finding.stamp
        marks = {**columns, "mtime_ns": mtime_ns, "size": size, "inode": inode}
        with self._db.read() as tx:
            found = [
                (row["id"], old)
                for row in absences.same_files(tx, self._library.id, marks)
                if (old := self._left_place(tx, row, finding)) is not None
            ]
        if len(found) != 1 or self._moves.get(found[0][1], finding.path) != finding.path:
            return False
        row_id, old = found[0]
        self._moves[old], self._row_ids[old] = finding.path, row_id
        if finding.row is None:
            self._new.add(finding.path)
        return True

    def _left_place(self, tx: Tx, row: "Row", finding: Finding) -> str | None:
        """Give the place of a row when its file has left it for that of the finding."""
        folder, name = from_ptext(row["rel_path"]), from_ptext(row["name"])
        path = self._library.path / folder / name
        if os.fspath(path) == finding.path:
            return None
        try:
            facts = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            if finding.row is None:
                return None  # a plain rename: vanished here, new there
        except OSError:
            return None  # what cannot be seen has not left
        else:
            stored = row["mtime_ns"], row["size"], row["inode"]
            if stamp_of(facts.st_mtime_ns, facts.st_size, facts.st_ino) == stored:
                return None
        stems = ((folder, name), (finding.folder.rel_path, finding.name))
        return os.fspath(path) if all(self._is_alone(tx, *each) for each in stems) else None

    def _is_alone(self, tx: Tx, folder: str, name: str) -> bool:
        """Tell whether no other audio shares the sidecars of a file."""
        rows = stem_rows.of_stem(tx, self._library.id, folder, split_name(name)[0])
        return all(from_ptext(row["name"]) == name for row in rows)

    def _follow(
        self, group: list[tuple[str, str]], sidecars: "RenamedSidecars", followed: Followed
    ) -> None:
        moves = [RowMove(self._row_ids[old], Path(old), Path(new)) for old, new in group]
        with self._db.read() as tx:
            if not are_free(tx, self._library, moves):
                return
        exchanged = sidecars.exchange(self._library, [(Path(a), Path(b)) for a, b in group])
        if exchanged is None:
            return

        def write(tx: Tx) -> bool:
            if not rehouse_all(tx, self._library, moves, stale=exchanged.stale, now=sidecars.now):
                return False
            sidecars.write_down_exchange(tx, self._library, exchanged)
            return True

        if self._db.write(write, bulk=True):
            followed.new += sum(new in self._new for _, new in group)
            followed.row_ids |= {move.row_id for move in moves}
            followed.places |= {place for pair in group for place in pair}
            followed.stale |= {place for place in _paths(group) if Path(place) in exchanged.stale}


def _directory(path: str) -> str:
    return path.rpartition("/")[0]


def _paths(group: Sequence[tuple[str, str]]) -> Iterator[str]:
    for old, new in group:
        yield old
        yield new
