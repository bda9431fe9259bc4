"""The table ``scan_dirs``: directories that hold or lead to audio.

``rel_path`` is below the library's root, blank for the root itself; a directory is
found by the hash of that path.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from lyrsvc.core.ptext import path_hash, to_ptext
from lyrsvc.store.moments import to_db
from lyrsvc.store.value_lists import questions

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


def ensure(tx: "Tx", library_id: int, rel_paths: Iterable[str], *, now: datetime) -> dict[str, int]:
    """Give the ids of directories, writing them and those they lie in down when they are new."""
    hashes = {path: path_hash(path) for path in _with_those_above(rel_paths)}
    if not hashes:
        return {}
    ids = _known(tx, library_id, hashes)
    missing = sorted(hashes.keys() - ids.keys())  # what a directory lies in sorts before it
    moment = to_db(now)
    rows: list[tuple[Any, ...]] = []
    (new_ids,) = tx.next_ids(len(missing), "scan_dirs")
    for path, dir_id in zip(missing, new_ids, strict=True):
        above, _, name = path.rpartition("/")
        ids[path] = dir_id
        parent = ids[above] if path else None
        place = to_ptext(name), to_ptext(path), hashes[path]
        rows.append((dir_id, library_id, parent, *place, moment, moment))
    tx.insert_rows("scan_dirs", _INSERTED, rows)
    return ids


def set_error(tx: "Tx", dir_id: int, error: str, *, now: datetime) -> None:
    """Remember why a directory could not be listed; blank when it could."""
    tx.run(
        "UPDATE scan_dirs SET error = :error, updated_at = :now WHERE id = :id",
        id=dir_id,
        error=error,
        now=to_db(now),
    )


_KNOWN: Final = """
    WITH wanted (hash) AS (VALUES {wanted})
    SELECT d.path_hash, d.id
      FROM wanted w
      JOIN scan_dirs d ON d.library_id = :library AND d.path_hash = w.hash
"""
_INSERTED: Final = (
    *("id", "library_id", "parent_id", "name", "rel_path", "path_hash"),
    *("created_at", "updated_at"),
)


def _with_those_above(rel_paths: Iterable[str]) -> set[str]:
    """Give directories with all they lie in, the root among them."""
    found: set[str] = set()
    for each in rel_paths:
        path = each
        while path and path not in found:
            found.add(path)
            path = path.rpartition("/")[0]
        found.add("")
    return found


def _known(tx: "Tx", library_id: int, hashes: Mapping[str, str]) -> dict[str, int]:
    paths = {each: path for path, each in hashes.items()}
    found: list[tuple[Any, ...]] = []
    for sql, params in questions(_KNOWN, [(each,) for each in paths]):
        found += tx.tuples(sql, library=library_id, **params)
    return {paths[each]: dir_id for each, dir_id in found}
