"""What hangs on a library: its inventory and targets, counted, handed over, moved, removed."""

import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from lyrsvc.core.ptext import from_ptext, path_hash, to_ptext
from lyrsvc.store.counts import Tally
from lyrsvc.store.moments import to_db
from lyrsvc.store.scan_results import count
from lyrsvc.store.targets import stem_hash

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx

_WAITING: Final = "('pending', 'failed', 'deferred')"


class Holdings(NamedTuple):
    """Numbers of rows; items are cancelled with their last target, else only trimmed."""

    scan_rows: int
    cancelled: int
    trimmed: int


def count_holdings(tx: "Tx", library_id: int, *, inventory_only: bool) -> Holdings:
    """Count what would go with a library's inventory, or with the library."""
    rows = tx.value(
        "SELECT count(*) FROM scan_results WHERE library_id = :library", library=library_id
    )
    # Origins are asked for only where they matter: the indexes do not know them.
    found = tx.first(
        f"""
        SELECT count(*) FILTER (WHERE NOT others) AS cancelled,
               count(*) FILTER (WHERE others) AS trimmed
          FROM (SELECT EXISTS (SELECT 1 FROM work_targets o
                                WHERE o.item_id = i.id
                                  AND (o.library_id IS NULL OR +o.library_id <> :library
                                       {"OR o.origin <> 'inventory'" if inventory_only else ""})
                               ) AS others
                  FROM work_items i
                 WHERE i.status IN {_WAITING}
                   AND EXISTS (SELECT 1 FROM work_targets t
                                WHERE t.item_id = i.id AND +t.library_id = :library
                                  {"AND t.origin = 'inventory'" if inventory_only else ""})
               ) AS held
        """,  # noqa: S608 - the words are ours
        library=library_id,
    )
    assert found is not None  # noqa: S101 - a sum always gives a row
    return Holdings(int(rows), int(found["cancelled"]), int(found["trimmed"]))


def waiting_targets(
    tx: "Tx", library_id: int, *, inventory_only: bool, after: int, limit: int
) -> list[int]:
    """Give targets of a library whose item waits, by id."""
    rows = tx.tuples(
        f"""
        SELECT t.id FROM work_targets t JOIN work_items i ON i.id = t.item_id
         WHERE t.library_id = :library AND t.id > :after AND i.status IN {_WAITING}
           AND (:inventory = 0 OR t.origin = 'inventory')
         ORDER BY t.id LIMIT :limit
        """,  # noqa: S608 - the statuses are ours
        library=library_id,
        after=after,
        inventory=int(inventory_only),
        limit=limit,
    )
    return [target_id for (target_id,) in rows]


def delete_rows(tx: "Tx", library_id: int, *, limit: int, now: datetime) -> int:
    """Remove some inventory rows of a library; give how many went."""
    rows = tx.all(
        """
        SELECT id, library_id, sidecar_class, ours, missing_since_at
          FROM scan_results WHERE library_id = :library LIMIT :limit
        """,
        library=library_id,
        limit=limit,
    )
    tally = Tally()
    for row in rows:
        count(tally, row, None)
    tx.many("DELETE FROM scan_results WHERE id = :id", [{"id": row["id"]} for row in rows])
    tally.write(tx, now=now)
    return len(rows)


def delete_dirs(tx: "Tx", library_id: int) -> None:
    """Remove the directories of a library that has no rows left."""
    tx.run("UPDATE scan_dirs SET parent_id = NULL WHERE library_id = :library", library=library_id)
    tx.run("DELETE FROM scan_dirs WHERE library_id = :library", library=library_id)


def delete_library(tx: "Tx", library_id: int) -> None:
    """Remove a library and what still hangs on it; done items and our memory of files stay.

    What is being worked on finds out by the origin that it had a library; paths of webhooks, too.
    """
    for name in ("files", "missing"):
        tx.run("DELETE FROM counts WHERE name = :name", name=f"{name}.{library_id}")
    tx.run(
        "UPDATE work_targets SET origin = 'inventory' WHERE library_id = :id AND origin = 'path'",
        id=library_id,
    )
    tx.run("DELETE FROM libraries WHERE id = :id", id=library_id)


def hand_over(tx: "Tx", outer_id: int, inner_id: int, *, rel_path: str, now: datetime) -> int:
    """Give the rows of one library below a directory to another whose root that is."""
    moved = wanted = 0
    top = to_ptext(rel_path)
    tally = Tally()
    for folder in _dirs_below(tx, outer_id, top):
        tx.run(
            """
            UPDATE scan_dirs
               SET library_id = :library, rel_path = :rel, path_hash = :hash, updated_at = :now,
                   parent_id = CASE WHEN :rel = '' THEN NULL ELSE parent_id END,
                   name = CASE WHEN :rel = '' THEN '' ELSE name END
             WHERE id = :id
            """,
            id=folder["id"],
            library=inner_id,
            rel=(inner := folder["rel_path"][len(top) :].lstrip("/")),
            hash=path_hash(from_ptext(inner)),
            now=to_db(now),
        )
        tx.run(
            """
            UPDATE work_targets SET library_id = :library, updated_at = :now
             WHERE id IN (SELECT target_id FROM scan_results
                           WHERE dir_id = :dir AND target_id IS NOT NULL)
            """,
            dir=folder["id"],
            library=inner_id,
            now=to_db(now),
        )
        wanted += tx.value(
            """
            SELECT count(*) FROM scan_results
             WHERE dir_id = :dir AND missing_since_at IS NULL AND sidecar_class = ''
            """,
            dir=folder["id"],
        )
        moved += tx.run(
            "UPDATE scan_results SET library_id = :library, updated_at = :now WHERE dir_id = :dir",
            dir=folder["id"],
            library=inner_id,
            now=to_db(now),
        )
    for name, number in (("files", moved), ("missing", wanted)):
        tally.add(f"{name}.{outer_id}", -number)
        tally.add(f"{name}.{inner_id}", number)
    tally.write(tx, now=now)
    return moved


def row_ids_below(tx: "Tx", library_id: int, rel_path: str) -> "list[Row]":
    """Give the rows of a library in a directory and below it."""
    return [
        row
        for folder in _dirs_below(tx, library_id, to_ptext(rel_path))
        for row in tx.all("SELECT * FROM scan_results WHERE dir_id = :dir", dir=folder["id"])
    ]


def move_targets(tx: "Tx", library_id: int, old: Path, new: Path, *, now: datetime) -> list[int]:
    """Let the targets of a library follow its root; give those whose new place is taken."""
    taken: list[int] = []
    rows = tx.all(
        "SELECT id, source_path, out_dir, out_stem FROM work_targets WHERE library_id = :library",
        library=library_id,
    )
    for row in rows:
        out_dir = rebased(from_ptext(row["out_dir"]), old, new)
        source = rebased(from_ptext(row["source_path"]), old, new)
        if out_dir is None:
            continue
        out_hash = stem_hash(out_dir, from_ptext(row["out_stem"]))
        other = tx.first(
            "SELECT id FROM work_targets WHERE out_hash = :hash AND id <> :id",
            hash=out_hash,
            id=row["id"],
        )
        if other is not None:
            taken.append(row["id"])
            continue
        tx.run(
            """
            UPDATE work_targets
               SET out_dir = :dir, out_hash = :hash, source_path = :source,
                   source_hash = :source_hash, updated_at = :now
             WHERE id = :id
            """,
            id=row["id"],
            dir=to_ptext(out_dir),
            hash=out_hash,
            source=to_ptext(source or ""),
            source_hash=path_hash(source) if source else "",
            now=to_db(now),
        )
    return taken


def move_written(tx: "Tx", old: Path, new: Path, *, now: datetime) -> None:
    """Let the memory of our files follow a root."""
    prefix = to_ptext(os.fspath(old)).rstrip("/") + "/"
    rows = tx.all(
        "SELECT id, path FROM written_files WHERE substr(path, 1, :length) = :prefix",
        length=len(prefix),
        prefix=prefix,
    )
    for row in rows:
        path = rebased(from_ptext(row["path"]), old, new)
        if path is None:
            continue
        tx.run(
            "DELETE FROM written_files WHERE path_hash = :hash AND id <> :id",
            hash=path_hash(path),
            id=row["id"],
        )
        tx.run(
            """
            UPDATE written_files SET path = :path, path_hash = :hash, updated_at = :now
             WHERE id = :id
            """,
            id=row["id"],
            path=to_ptext(path),
            hash=path_hash(path),
            now=to_db(now),
        )


def rebased(path: str, old: Path, new: Path) -> str | None:
    """Give a path below another root; None when it is not below the old one."""
    before = os.fspath(old).rstrip("/")
    if path != before and not path.startswith(before + "/"):
        return None
    return os.fspath(new).rstrip("/") + path[len(before) :]


def _dirs_below(tx: "Tx", library_id: int, top: str) -> "list[Row]":
    return tx.all(
        """
        SELECT id, rel_path FROM scan_dirs
         WHERE library_id = :library
           AND (rel_path = :top OR substr(rel_path, 1, :length) = :below)
         ORDER BY id
        """,
        library=library_id,
        top=top,
        below=f"{top}/",
        length=len(top) + 1,
    )
