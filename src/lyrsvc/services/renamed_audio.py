"""New files that may be known ones under another name: they are followed before they are queued.

The worker is quicker than the end of a run: words fetched for a new name at once would
leave those at the old one behind, and take the place they are to be moved to.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lyrsvc.core.library import Library
from lyrsvc.core.ptext import from_ptext
from lyrsvc.services.scan_rows import Change
from lyrsvc.store import absences
from lyrsvc.store.database import Database

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row


class RenamedAudio:
    """Knows new files by those that are gone, and remembers where they lie."""

    def __init__(self, db: Database, library: Library) -> None:
        self._db = db
        self._library = library
        with db.read() as tx:
            self._is_known = absences.has_rows(tx, library.id)
        self.lost: set[int] = set()
        """Rows of files that are gone, wherever they were: the new ones may be theirs."""
        self.unplaced: list[int] = []
        """Rows that a run cut short has left: neither followed nor queued."""
        self._held: dict[str, set[str]] = {}

    def __iter__(self) -> Iterator[tuple[str, set[str]]]:
        """Give directories, and the files in them to be looked at again at the end of the run."""
        return iter(sorted(self._held.items()))

    def holds_back(self, change: Change) -> bool:
        """Tell whether a file should wait for the end of the run, and remember it."""
        if not self._is_known or change.wish is None or not is_unplaced(change):
            return False
        if change.wish.has_sidecar:
            return False  # its own words cannot come to where others stand
        with self._db.read() as tx:
            found = absences.namesakes(tx, self._library.id, change.row)
        lost = {row["id"] for row in found if self._is_gone(row)}
        if not lost:
            return False
        self.lost |= lost
        self._held.setdefault(change.finding.folder.path, set()).add(change.finding.name)
        if change.finding.row is not None:
            self.unplaced.append(change.finding.row["id"])
        return True

    def _is_gone(self, row: "Row") -> bool:
        path = self._library.path / from_ptext(row["rel_path"]) / from_ptext(row["name"])
        try:
            path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError:
            return False  # what cannot be seen is not gone
        return False


def is_unplaced(change: Change) -> bool:
    """Tell whether a file has no row yet, or one that a run cut short has left so."""
    before = change.finding.row
    return before is None or (before["target_id"] is None and before["status"] == "pending")
