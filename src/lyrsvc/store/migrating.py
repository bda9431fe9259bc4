"""Lifts a database to the schema of this program, step by step, forward only.

Each step is one transaction together with its row in ``schema_migrations``; a new
database gets all steps in one, so it is whole or empty. Any number of processes may
do this at once: each looks again once it may write.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lyrsvc.core.errors import StoreDamaged
from lyrsvc.store.moments import to_db
from lyrsvc.store.schema_version import refuse_newer
from lyrsvc.store.transaction import Tx

if TYPE_CHECKING:
    from lyrsvc.store.engine import Engine, Link, Row

MIGRATION_WAIT_S: Final = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One numbered change of the schema."""

    version: int
    name: str
    sql: str

    @property
    def sha256(self) -> str:
        """Give the checksum databases remember; line endings do not count."""
        return sha256(self.sql.encode()).hexdigest()


def read_steps(directory: Path) -> tuple[Step, ...]:
    """Read the steps of a directory, ``NNNN_name.sql``, and insist that none is left out."""
    steps = tuple(
        Step(
            version=int(file.name[:4]),
            name=file.name[5:-4],
            sql=file.read_bytes().decode().replace("\r\n", "\n").replace("\r", "\n"),
        )
        for file in sorted(directory.glob("[0-9][0-9][0-9][0-9]_*.sql"))
    )
    if [step.version for step in steps] != list(range(1, len(steps) + 1)):
        raise StoreDamaged(f"the migrations in {directory} are incomplete; reinstall lyrsvc")
    return steps


def migrate(engine: "Engine", link: "Link", steps: Sequence[Step], *, now: datetime) -> None:
    """Apply what is missing; refuse a newer database and steps that were changed since."""
    while _missing(engine.applied_steps(Tx(link)), steps):
        link.begin(wait_s=MIGRATION_WAIT_S)
        try:
            _apply_next(engine, link, steps, now=now)
            link.commit()
        finally:
            link.rollback()


def _apply_next(engine: "Engine", link: "Link", steps: Sequence[Step], *, now: datetime) -> None:
    """Apply the next step, if nobody did meanwhile; a new database gets all of them at once."""
    applied = engine.applied_steps(Tx(link))
    missing = _missing(applied, steps)
    if applied and missing:
        engine.keep_copy(steps[-1].version, present=len(applied))
        missing = missing[:1]
    for step in missing:
        _write_down(engine, link, step, now=now)


def _write_down(engine: "Engine", link: "Link", step: Step, *, now: datetime) -> None:
    link.run_script(step.sql, {"now": to_db(now)})
    engine.check_references(Tx(link))
    link.run(
        """
        INSERT INTO schema_migrations (version, name, sha256, applied_at)
        VALUES (:version, :name, :sha256, :now)
        """,
        {"version": step.version, "name": step.name, "sha256": step.sha256, "now": to_db(now)},
    )


def refuse_foreign(applied: "Sequence[Row]", steps: Sequence[Step]) -> None:
    """Raise when a step of the database is not the one of this program."""
    for row, step in zip(applied, steps, strict=False):
        if (row["version"], row["sha256"]) != (step.version, step.sha256):
            raise StoreDamaged(
                f"schema step {row['version']} ({row['name']}) of the database is not the one of "
                "this program; reinstall lyrsvc or restore a backup"
            )


def _missing(applied: "list[Row] | None", steps: Sequence[Step]) -> Sequence[Step]:
    """Give the steps still to do, once the applied ones are known to be ours."""
    applied = applied or []
    refuse_newer(max((row["version"] for row in applied), default=0), len(steps))
    refuse_foreign(applied, steps)
    return steps[len(applied) :]
