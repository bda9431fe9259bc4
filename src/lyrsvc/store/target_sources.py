"""Targets by the audio file they are for."""

from typing import TYPE_CHECKING, NamedTuple

from lyrsvc.core.ptext import from_ptext, path_hash, to_ptext

if TYPE_CHECKING:
    from lyrsvc.store.transaction import Tx


class WaitingTarget(NamedTuple):
    """A target whose item waits, and what its song belongs to."""

    id: int
    source_path: str
    album: str


def of_source(tx: "Tx", source_path: str) -> list[int]:
    """Give the targets of one audio file."""
    rows = tx.tuples(
        "SELECT id FROM work_targets WHERE source_hash = :hash ORDER BY id",
        hash=path_hash(source_path),
    )
    return [target_id for (target_id,) in rows]


def waiting_below(tx: "Tx", library_id: int, directory: str) -> list[WaitingTarget]:
    """Give the targets of waiting items whose audio lies below a directory."""
    prefix = to_ptext(directory.rstrip("/") + "/")
    rows = tx.tuples(
        """
        SELECT t.id, t.source_path, i.album
          FROM work_targets t CROSS JOIN work_items i ON i.id = t.item_id
         WHERE t.library_id = :library AND substr(t.source_path, 1, :length) = :prefix
           AND i.status IN ('pending', 'failed', 'deferred')
         ORDER BY t.id
        """,
        library=library_id,
        length=len(prefix),
        prefix=prefix,
    )
    return [WaitingTarget(target, from_ptext(source), album) for target, source, album in rows]
