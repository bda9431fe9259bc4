"""Questions of the webhook to the inventory: which files are called so, what is known of one."""

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lyrsvc.core.ptext import from_ptext, to_ptext
from lyrsvc.store import scan_dirs, scan_results
from lyrsvc.store.moments import to_db
from lyrsvc.store.standings import QueueStanding

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx

MOST: Final = 50
"""So many files of one name are looked at."""

_CALLED: Final = """
    SELECT s.*, d.rel_path, l.path AS root
      FROM (SELECT id FROM scan_results
             WHERE title_key = :title AND {credit} = :artist AND status <> 'unreadable'
             ORDER BY album_key = :album DESC, status = 'done', id LIMIT :most) AS f
      JOIN scan_results s ON s.id = f.id
      JOIN scan_dirs d ON d.id = s.dir_id
      JOIN libraries l ON l.id = s.library_id
"""
_BY_ARTIST: Final = _CALLED.format(credit="artist_key")
_BY_OTHER_CREDIT: Final = _CALLED.format(credit="alt_artist_key")


class KnownFile(NamedTuple):
    """A row of the inventory and where its file is, as Python's file functions take it."""

    row: "Row"
    root: str
    directory: str
    name: str

    @property
    def path(self) -> str:
        """Give the whole path."""
        return f"{self.directory}/{self.name}"

    @property
    def stem(self) -> str:
        """Give the stem of its sidecars."""
        return from_ptext(self.row["out_stem"])


def called(
    tx: "Tx", title_key: str, artist_key: str, *, album_key: str = ""
) -> tuple[list[KnownFile], list[KnownFile]]:
    """Give the files of a title: those of the artist, and those that credit the artist too."""
    asked: dict[str, Any] = {
        "title": title_key,
        "artist": artist_key,
        "album": album_key,
        "most": MOST,
    }
    own, other = tx.all(_BY_ARTIST, **asked), tx.all(_BY_OTHER_CREDIT, **asked)
    return [_known(row) for row in own], [_known(row) for row in other]


def at(tx: "Tx", library_id: int, rel_path: str, name: str) -> KnownFile | None:
    """Give what is known of one file: its directory below the root, and its name."""
    folder = scan_dirs.find(tx, library_id, rel_path)
    if folder is None:
        return None
    row_id = tx.value(
        "SELECT id FROM scan_results WHERE dir_id = :dir AND name = :name",
        dir=folder[0],
        name=to_ptext(name),
    )
    row = scan_results.get(tx, row_id) if row_id is not None else None
    return _known(row) if row else None


def tie(
    tx: "Tx", row_id: int, target_id: int, standing: QueueStanding | None, *, now: datetime
) -> None:
    """Tie a row to the target of its file; a standing gives it the status of that."""
    tx.run(
        "UPDATE scan_results SET target_id = :target, updated_at = :now WHERE id = :id",
        id=row_id,
        target=target_id,
        now=to_db(now),
    )
    if standing is not None:
        tx.run(
            """
            UPDATE scan_results SET status = :status, reason = :reason, reason_text = :text
             WHERE id = :id AND status <> 'unreadable'
            """,
            id=row_id,
            status=standing.status,
            reason=standing.reason,
            text=standing.reason_text,
        )


def _known(row: "Row") -> KnownFile:
    root, below = from_ptext(row["root"]).rstrip("/"), from_ptext(row["rel_path"])
    directory = f"{root}/{below}" if below else root
    return KnownFile(row, root, directory, from_ptext(row["name"]))
