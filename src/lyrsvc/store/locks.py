"""The table ``locks``: leases that processes hold on a name."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from lyrsvc.store.moments import to_db

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx

LEASE: Final = timedelta(seconds=60)


def library_lock(library_id: int) -> str:
    """Name the lock of a library."""
    return f"library:{library_id}"


def take(tx: "Tx", name: str, owner: str, *, info: str, now: datetime) -> bool:
    """Take a lock that is free, expired, or further ahead than a lease may reach."""
    taken = tx.first(
        """
        INSERT INTO locks (name, owner, until_at, info, created_at, updated_at)
        VALUES (:name, :owner, :until, :info, :now, :now)
        ON CONFLICT (name) DO UPDATE
           SET owner = :owner, until_at = :until, info = :info, updated_at = :now
         WHERE locks.owner = :owner OR locks.until_at <= :now OR locks.until_at > :until
        RETURNING owner
        """,
        name=name,
        owner=owner,
        info=info,
        until=to_db(now + LEASE),
        now=to_db(now),
    )
    return taken is not None


def renew(tx: "Tx", name: str, owner: str, *, now: datetime) -> bool:
    """Hold on; False when somebody else has it by now."""
    held = tx.run(
        """
        UPDATE locks SET until_at = :until, updated_at = :now WHERE name = :name AND owner = :owner
        """,
        name=name,
        owner=owner,
        until=to_db(now + LEASE),
        now=to_db(now),
    )
    return held > 0


def release(tx: "Tx", name: str, owner: str) -> None:
    """Give a lock up; somebody else's stays."""
    tx.run("DELETE FROM locks WHERE name = :name AND owner = :owner", name=name, owner=owner)


def holder(tx: "Tx", name: str, *, now: datetime) -> "Row | None":
    """Give who holds a lock: owner, info and until when; None when nobody does."""
    return tx.first(
        "SELECT owner, info, until_at FROM locks WHERE name = :name AND until_at > :now",
        name=name,
        now=to_db(now),
    )
