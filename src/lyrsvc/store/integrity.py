"""Whether a database is whole: the file itself, its references, its schema."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from lyrsvc.core.errors import StoreDamaged
from lyrsvc.store.database import engine_at
from lyrsvc.store.migrating import read_steps, refuse_foreign
from lyrsvc.store.schema_version import newest_version, refuse_newer
from lyrsvc.store.transaction import Tx

if TYPE_CHECKING:
    from lyrsvc.store.engine import Engine

MOST_TOLD: Final = 5
WAIT_S: Final = 10.0
_SOUND: Final = ["ok"]


class Soundness(NamedTuple):
    """The schema a whole database has, and the newest this program knows."""

    schema: int
    newest: int


def save_copy(location: "str | os.PathLike[str]", destination: Path) -> Soundness:
    """Write a consistent copy to a new file, whatever its schema, and prove that it is whole."""
    engine_at(location).copy_to(destination)
    return check_whole(destination)


def check_whole(location: "str | os.PathLike[str]") -> Soundness:
    """Look at everything in a database that nobody writes to; raise when it cannot be served.

    An older schema is fine: the service lifts it when it starts.
    """
    engine = engine_at(location)
    link = engine.open_reader(WAIT_S)
    try:
        tx = Tx(link)
        found = _schema(engine, tx)
        if faults := find_faults(tx, thorough=True):
            raise StoreDamaged(f"{engine.location} is damaged: {faults[0]}; use another backup")
        engine.check_references(tx)
    finally:
        link.close()
    return found


def read_schema(location: "str | os.PathLike[str]") -> Soundness:
    """Say which schema a database has; raise when the service would not start with it."""
    engine = engine_at(location)
    link = engine.open_reader(WAIT_S)
    try:
        tx = Tx(link)
        found = _schema(engine, tx)
        steps = read_steps(Path(engine.steps_directory))
        refuse_foreign(engine.applied_steps(tx) or (), steps[: found.schema])
    finally:
        link.close()
    return found


def find_faults(tx: "Tx", *, thorough: bool) -> list[str]:
    """Name what is wrong with the file; ``thorough`` also compares indexes with their tables."""
    statement = "PRAGMA integrity_check" if thorough else "PRAGMA quick_check"
    rows = tx.all(f"{statement}({MOST_TOLD})")
    found = [str(next(iter(row.values()))) for row in rows]
    return [] if found == _SOUND else found


def _schema(engine: "Engine", tx: "Tx") -> Soundness:
    applied = engine.applied_steps(tx)
    if not applied:
        raise StoreDamaged(f"{engine.location} holds no database of this program")
    schema, newest = applied[-1]["version"], newest_version(engine.steps_directory)
    refuse_newer(schema, newest)
    return Soundness(schema, newest)
