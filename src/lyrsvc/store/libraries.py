"""The table ``libraries``: registered roots and what they override."""

import os
import shlex
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lyrsvc.core.errors import AlreadyThere, NotFound, Refused
from lyrsvc.core.library import Library, name_key
from lyrsvc.core.ptext import clean_text, from_ptext, path_hash, to_ptext
from lyrsvc.store.moments import from_db, to_db

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx

_COLUMNS: Final = (
    *("id", "name", "path", "enrich", "detect_instrumental"),
    *("last_ok_scan_at", "created_at", "updated_at"),
)
_ALL: Final = f"SELECT {', '.join(_COLUMNS)} FROM libraries ORDER BY id"  # noqa: S608 - our own names


def add(
    tx: "Tx",
    *,
    name: str,
    path: Path,
    now: datetime,
    enrich: bool | None = None,
    detect_instrumental: bool | None = None,
) -> Library:
    """Register a root; refuse one that is there already and a name that is taken."""
    name = clean_text(name)
    if same := tx.first(
        "SELECT name FROM libraries WHERE path_hash = :hash", hash=path_hash(os.fspath(path))
    ):
        other = same["name"]
        raise AlreadyThere(
            f'{path} is already library "{other}"; use library update {shlex.quote(other)}'
        )
    _refuse_taken(tx, name)
    row = tx.first(
        """
        INSERT INTO libraries (name, name_key, path, path_hash, enrich, detect_instrumental,
                               created_at, updated_at)
        VALUES (:name, :name_key, :path, :path_hash, :enrich, :detect_instrumental, :now, :now)
        RETURNING *
        """,
        name=name,
        name_key=name_key(name),
        path=to_ptext(os.fspath(path)),
        path_hash=path_hash(os.fspath(path)),
        enrich=_from_flag(enrich),
        detect_instrumental=_from_flag(detect_instrumental),
        now=to_db(now),
    )
    assert row is not None  # noqa: S101 - an INSERT that did not raise gives its row back
    return _library(row)


def change(tx: "Tx", library: Library, *, now: datetime) -> Library:
    """Write a changed library down; refuse a name that another one has."""
    name = clean_text(library.name)
    _refuse_taken(tx, name, but=library.id)
    tx.run(
        """
        UPDATE libraries
           SET name = :name, name_key = :name_key, path = :path, path_hash = :path_hash,
               enrich = :enrich, detect_instrumental = :detect_instrumental, updated_at = :now
         WHERE id = :id
        """,
        id=library.id,
        name=name,
        name_key=name_key(name),
        path=to_ptext(os.fspath(library.path)),
        path_hash=path_hash(os.fspath(library.path)),
        enrich=_from_flag(library.enrich),
        detect_instrumental=_from_flag(library.detect_instrumental),
        now=to_db(now),
    )
    return get(tx, library.id)


def get(tx: "Tx", library_id: int) -> Library:
    """Give the library with this id, or raise ``NotFound``."""
    row = tx.first("SELECT * FROM libraries WHERE id = :id", id=library_id)
    if row is None:
        raise _unknown(tx, str(library_id))
    return _library(row)


def all_libraries(tx: "Tx") -> list[Library]:
    """Give every library, by id."""
    return [_made(*row) for row in tx.tuples(_ALL)]


def count_files(tx: "Tx") -> dict[int, int]:
    """Give the number of audio files of each library that has any."""
    return _count_by_library(tx, "files.")


def count_missing(tx: "Tx") -> dict[int, int]:
    """Give the number of files without lyrics of each library that has any."""
    return _count_by_library(tx, "missing.")


def find(tx: "Tx", name_or_id: str) -> Library:
    """Give the library a user means; digits are tried as an id and as a name."""
    rows = _fitting(tx, name_or_id)
    if not rows:
        raise _unknown(tx, name_or_id)
    if len(rows) > 1:
        candidates = ", ".join(f'{row["id"]} "{row["name"]}"' for row in rows)
        handles = " or ".join(_handle(tx, row) for row in rows)
        raise Refused(f'"{name_or_id}" fits several libraries: {candidates}; say {handles}')
    return _library(rows[0])


def note_scan(tx: "Tx", library_id: int, *, now: datetime) -> None:
    """Remember that a whole scan of a library ended well."""
    tx.run(
        "UPDATE libraries SET last_ok_scan_at = :now WHERE id = :id",
        id=library_id,
        now=to_db(now),
    )


def free_name(tx: "Tx", wanted: str) -> str:
    """Give the wanted name, or with ``-2``, ``-3``, … the first one nobody has."""
    name, number = wanted, 1
    while tx.first("SELECT id FROM libraries WHERE name_key = :key", key=name_key(name)):
        number += 1
        name = f"{wanted}-{number}"
    return name


def _refuse_taken(tx: "Tx", name: str, *, but: int = 0) -> None:
    """Refuse a name that another library has, in whatever case."""
    taken = tx.first(
        "SELECT id, name FROM libraries WHERE name_key = :key AND id <> :but",
        key=name_key(name),
        but=but,
    )
    if taken:
        raise AlreadyThere(
            f'library {taken["id"]} is already named "{taken["name"]}"; choose another --name'
        )


def _fitting(tx: "Tx", name_or_id: str) -> "list[Row]":
    return tx.all(
        "SELECT * FROM libraries WHERE id = :id OR name_key = :key ORDER BY id",
        id=_as_id(name_or_id),
        key=name_key(clean_text(name_or_id)),
    )


def _handle(tx: "Tx", row: "Row") -> str:
    """Give a word that fits this library alone: its name, its id, or its id behind zeros."""
    if len(_fitting(tx, row["name"])) == 1:
        return f'"{row["name"]}"'
    number = str(row["id"])
    while len(_fitting(tx, number)) > 1:
        number = f"0{number}"
    return number


def _count_by_library(tx: "Tx", prefix: str) -> dict[int, int]:
    rows = tx.each("SELECT name, n FROM counts WHERE name LIKE :begin", begin=f"{prefix}%")
    return {int(row["name"].removeprefix(prefix)): row["n"] for row in rows}


def _library(row: "Row") -> Library:
    return _made(*(row[name] for name in _COLUMNS))


@lru_cache(maxsize=64)
def _made(  # noqa: PLR0913, PLR0917 - a row has so many columns
    library_id: int,
    name: str,
    path: str,
    enrich: int | None,
    detect_instrumental: int | None,
    last_ok_scan_at: str | None,
    created_at: str,
    updated_at: str,
) -> Library:
    """Give the library of a row; every webhook asks for all of them, and they hardly change."""
    return Library(
        id=library_id,
        name=name,
        path=Path(from_ptext(path)),
        enrich=_to_flag(enrich),
        detect_instrumental=_to_flag(detect_instrumental),
        last_ok_scan_at=from_db(last_ok_scan_at),
        created_at=from_db(created_at),
        updated_at=from_db(updated_at),
    )


def _unknown(tx: "Tx", name_or_id: str) -> NotFound:
    names = ", ".join(row["name"] for row in tx.each("SELECT name FROM libraries ORDER BY name"))
    return NotFound(f'no library "{name_or_id}"; known: {names or "none"}')


def _as_id(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def _from_flag(value: bool | None) -> int | None:  # noqa: FBT001 - it is the value itself
    return None if value is None else int(value)


def _to_flag(value: int | None) -> bool | None:
    return None if value is None else bool(value)
