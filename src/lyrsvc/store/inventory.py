"""Questions of the webhook to the inventory: which files are called so, what is known of one."""

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from lyrsvc.core.ptext import from_ptext, path_hash, to_ptext
from lyrsvc.store.moments import to_db
from lyrsvc.store.standings import QueueStanding
from lyrsvc.store.value_lists import questions

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx

MOST: Final = 50
"""So many files of one name are looked at."""

# A rank, not a number: a list of values may hold its last row more than once. CROSS JOIN
# keeps the order of tables: what is asked for is always less than what is there.
_CALLED: Final = """
    SELECT f.asked_title, f.asked_artist, f.asked_album, {by_artist} AS by_artist,
           s.*, d.rel_path, l.path AS root
      FROM (SELECT w.title AS asked_title, w.artist AS asked_artist, w.album AS asked_album,
                   r.id AS row_id,
                   dense_rank() OVER (PARTITION BY w.title, w.artist, w.album
                                      ORDER BY r.album_key = w.album DESC, r.status = 'done', r.id)
                   AS place
              FROM wanted w CROSS JOIN scan_results r
             WHERE r.title_key = w.title AND r.{credit} = w.artist
               AND r.status <> 'unreadable') AS f
     CROSS JOIN scan_results s
     CROSS JOIN scan_dirs d
     CROSS JOIN libraries l
     WHERE f.place <= :most AND s.id = f.row_id AND d.id = s.dir_id AND l.id = s.library_id
"""
_BY_EITHER_CREDIT: Final = (
    "WITH wanted (title, artist, album) AS (VALUES {wanted})"
    + _CALLED.replace("{by_artist}", "1").replace("{credit}", "artist_key")
    + " UNION ALL "
    + _CALLED.replace("{by_artist}", "0").replace("{credit}", "alt_artist_key")
)
_AT: Final = """
    WITH wanted (library, hash, name) AS (VALUES {wanted})
    SELECT s.*, d.rel_path, l.path AS root
      FROM wanted w CROSS JOIN scan_dirs d CROSS JOIN scan_results s CROSS JOIN libraries l
     WHERE d.library_id = w.library AND d.path_hash = w.hash
       AND s.dir_id = d.id AND s.name = w.name
       AND l.id = s.library_id
"""


class Called(NamedTuple):
    """Names that files are looked for by; of many, those of the album come first."""

    title_key: str
    artist_key: str
    album_key: str


class Place(NamedTuple):
    """Where a file lies: its library, its directory below the root, its name."""

    library_id: int
    rel_path: str
    name: str


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


class Namesakes(NamedTuple):
    """Files of one title: those of the artist, and those that credit the artist too."""

    own: list[KnownFile]
    other: list[KnownFile]


def called(tx: "Tx", names: Iterable[Called]) -> dict[Called, Namesakes]:
    """Give the files of each title, by the names that were asked with; one question for all."""
    found = {each: Namesakes([], []) for each in names}
    met: set[tuple[Called, int, int]] = set()
    for sql, params in questions(_BY_EITHER_CREDIT, list(found)):
        for row in tx.all(sql, **params, most=MOST):
            each = Called(row.pop("asked_title"), row.pop("asked_artist"), row.pop("asked_album"))
            by_artist = row.pop("by_artist")
            if (each, by_artist, row["id"]) not in met:
                met.add((each, by_artist, row["id"]))
                (found[each].own if by_artist else found[each].other).append(_known(row))
    return found


def at(tx: "Tx", places: Iterable[Place]) -> dict[Place, KnownFile]:
    """Give what is known of the files at some places."""
    asked = {
        (place.library_id, path_hash(place.rel_path), to_ptext(place.name)): place
        for place in places
    }
    found: dict[Place, KnownFile] = {}
    for sql, params in questions(_AT, list(asked)):
        for row in tx.all(sql, **params):
            key = row["library_id"], path_hash(from_ptext(row["rel_path"])), row["name"]
            found[asked[key]] = _known(row)
    return found


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
