"""The table ``api_keys``: managed keys, found by the digest of the raw value."""

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from lyrsvc.core.api_key import ApiKey
from lyrsvc.core.scope import Scope
from lyrsvc.store.moments import from_db, to_db

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row
    from lyrsvc.store.transaction import Tx

_COLUMNS: Final = ("public_id", "name", "scopes", "created_at", "revoked_at", "last_used_at")
_BY_DIGEST: Final = f"SELECT {', '.join(_COLUMNS)} FROM api_keys WHERE hash = :hash"  # noqa: S608 - our own names


def add(tx: "Tx", key: ApiKey, *, digest: str) -> None:
    """Store a new key."""
    tx.run(
        """
        INSERT INTO api_keys (public_id, name, hash, scopes, created_at, updated_at)
        VALUES (:public_id, :name, :hash, :scopes, :now, :now)
        """,
        public_id=key.public_id,
        name=key.name,
        hash=digest,
        scopes=key.scope_text,
        now=to_db(key.created_at),
    )


def find(tx: "Tx", *, digest: str) -> ApiKey | None:
    """Give the key with this digest, revoked or not."""
    rows = tx.tuples(_BY_DIGEST, hash=digest)
    return _made(*rows[0]) if rows else None


def find_by_part(tx: "Tx", part: str) -> list[ApiKey]:
    """Give the keys whose public id begins with these hex digits."""
    rows = tx.all(
        """
        SELECT * FROM api_keys
         WHERE public_id >= :part AND public_id < :beyond
         ORDER BY public_id
        """,
        part=part,
        beyond=f"{part}g",
    )
    return [_key(row) for row in rows]


def all_keys(tx: "Tx") -> list[ApiKey]:
    """Give every key, the oldest first; revoked ones too."""
    rows = tx.each("SELECT * FROM api_keys ORDER BY created_at, public_id")
    return [_key(row) for row in rows]


def revoke(tx: "Tx", public_id: str, *, now: datetime) -> ApiKey | None:
    """Make a key useless and give it; one revoked before keeps its time. None when unknown."""
    row = tx.first(
        """
        UPDATE api_keys
           SET updated_at = CASE WHEN revoked_at IS NULL THEN :now ELSE updated_at END,
               revoked_at = coalesce(revoked_at, :now)
         WHERE public_id = :public_id
        RETURNING *
        """,
        public_id=public_id,
        now=to_db(now),
    )
    return None if row is None else _key(row)


def note_used(tx: "Tx", moments: Mapping[str, datetime]) -> None:
    """Remember when keys were last used; a later moment is never put back."""
    tx.many(
        """
        UPDATE api_keys
           SET last_used_at = :used
         WHERE public_id = :public_id AND (last_used_at IS NULL OR last_used_at < :used)
        """,
        [{"public_id": public_id, "used": to_db(at)} for public_id, at in moments.items()],
    )


def _key(row: "Row") -> ApiKey:
    return _made(*(row[name] for name in _COLUMNS))


@lru_cache(maxsize=64)
def _made(
    public_id: str,
    name: str,
    scopes: str,
    created_at: str,
    revoked_at: str | None,
    last_used_at: str | None,
) -> ApiKey:
    """Give the key of a row; every request asks for one, and its row hardly changes."""
    known = set(Scope)
    return ApiKey(
        public_id=public_id,
        name=name,
        scopes=frozenset(Scope(each) for each in scopes.split(",") if each in known),
        created_at=from_db(created_at),
        revoked_at=from_db(revoked_at),
        last_used_at=from_db(last_used_at),
    )
