"""The table ``secrets``: values that only the vault can open."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from lyrsvc.store.moments import to_db

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx


@dataclass(frozen=True, kw_only=True, slots=True)
class SecretBlob:
    """One sealed secret; ``key_check`` names the key that sealed it."""

    name: str
    ciphertext: bytes
    key_check: str


def put(tx: "Tx", blob: SecretBlob, *, now: datetime) -> None:
    """Store a sealed secret, over whatever has its name."""
    tx.run(
        """
        INSERT INTO secrets (name, ciphertext, key_check, created_at, updated_at)
        VALUES (:name, :ciphertext, :key_check, :now, :now)
            ON CONFLICT (name) DO UPDATE
           SET ciphertext = excluded.ciphertext,
               key_check = excluded.key_check,
               updated_at = excluded.updated_at
        """,
        name=blob.name,
        ciphertext=blob.ciphertext,
        key_check=blob.key_check,
        now=to_db(now),
    )


def put_instead(tx: "Tx", blob: SecretBlob, *, of: SecretBlob | None, now: datetime) -> bool:
    """Store a sealed secret only while the row is still ``of``, or still missing when None."""
    if get(tx, blob.name) != of:
        return False
    put(tx, blob, now=now)
    return True


def get(tx: "Tx", name: str) -> SecretBlob | None:
    """Give a sealed secret, or None when there is none of that name."""
    row = tx.first("SELECT name, ciphertext, key_check FROM secrets WHERE name = :name", name=name)
    return None if row is None else _blob(row)


def key_checks(tx: "Tx") -> dict[str, str]:
    """Give the names there are, and which key sealed each."""
    rows = tx.each("SELECT name, key_check FROM secrets ORDER BY name")
    return {row["name"]: row["key_check"] for row in rows}


def names(tx: "Tx") -> list[dict[str, str]]:
    """List names and times of change; never a value."""
    rows = tx.each("SELECT name, updated_at FROM secrets ORDER BY name")
    return [{"name": row["name"], "updated_at": row["updated_at"]} for row in rows]


def delete(tx: "Tx", blob: SecretBlob) -> bool:
    """Remove exactly this sealed secret; one that has changed meanwhile stays."""
    return bool(
        tx.run(
            "DELETE FROM secrets WHERE name = :name AND ciphertext = :ciphertext",
            name=blob.name,
            ciphertext=blob.ciphertext,
        )
    )


def _blob(row: "Row") -> SecretBlob:
    return SecretBlob(
        name=row["name"], ciphertext=bytes(row["ciphertext"]), key_check=row["key_check"]
    )
