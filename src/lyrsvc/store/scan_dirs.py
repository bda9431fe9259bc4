"""The table ``scan_dirs``: directories that hold or lead to audio.

``rel_path`` is below the library's root, blank for the root itself; a directory is
found by the hash of that path.
"""

from datetime import datetime
from typing import TYPE_CHECKING

from lyrsvc.core.ptext import path_hash, to_ptext
from lyrsvc.store.moments import to_db

if TYPE_CHECKING:
    from lyrsvc.store.transaction import Tx


def find(tx: "Tx", library_id: int, rel_path: str) -> tuple[int, str] | None:
    """Give id and error of a directory that is known."""
    row = tx.first(
        "SELECT id, error FROM scan_dirs WHERE library_id = :library AND path_hash = :hash",
        library=library_id,
        hash=path_hash(rel_path),
    )
    return (row["id"], row["error"]) if row else None


def children(tx: "Tx", dir_id: int) -> list[tuple[str, int, str]]:
    """Give the known directories inside another: name, id and error."""
    return [
        (name, child, error)
        for name, child, error in tx.tuples(
            "SELECT name, id, error FROM scan_dirs WHERE parent_id = :dir", dir=dir_id
        )
    ]


def ensure(tx: "Tx", library_id: int, rel_path: str, *, now: datetime) -> int:
    """Give the id of a directory, writing it and those it lies in down when they are new."""
    missing: list[str] = []
    while (known := find(tx, library_id, rel_path)) is None:
        missing.append(rel_path)
        if not rel_path:
            break
        rel_path = rel_path.rpartition("/")[0]
    dir_id = known[0] if known else None
    for path in reversed(missing):
        dir_id = _insert(tx, library_id, path, dir_id, now=now)
    assert dir_id is not None  # noqa: S101 - either known, or written just now
    return dir_id


def set_error(tx: "Tx", dir_id: int, error: str, *, now: datetime) -> None:
    """Remember why a directory could not be listed; blank when it could."""
    tx.run(
        "UPDATE scan_dirs SET error = :error, updated_at = :now WHERE id = :id",
        id=dir_id,
        error=error,
        now=to_db(now),
    )


def _insert(
    tx: "Tx", library_id: int, rel_path: str, parent_id: int | None, *, now: datetime
) -> int:
    new_id = tx.value(
        """
        INSERT INTO scan_dirs (library_id, parent_id, name, rel_path, path_hash,
                               created_at, updated_at)
        VALUES (:library, :parent, :name, :rel_path, :hash, :now, :now)
        RETURNING id
        """,
        library=library_id,
        parent=parent_id,
        name=to_ptext(rel_path.rpartition("/")[2]),
        rel_path=to_ptext(rel_path),
        hash=path_hash(rel_path),
        now=to_db(now),
    )
    return int(new_id)
