"""The row of ``meta`` that remembers when a token may be asked for again."""

import json
from datetime import datetime
from typing import TYPE_CHECKING, Final

from lyrsvc.core.token_asking import Asking
from lyrsvc.store.moments import from_db, to_db

if TYPE_CHECKING:
    from lyrsvc.store.transaction import Tx

_NAME: Final = "token_request"


def get(tx: "Tx", *, identity: str) -> Asking:
    """Give what is remembered for this client identity; another one's past does not count."""
    text = tx.value("SELECT value FROM meta WHERE name = :name", name=_NAME)
    try:
        kept = json.loads(text or "{}")
        if kept.get("identity") != identity:
            return Asking()
        return Asking(
            refusals=int(kept["refusals"]),
            faults=int(kept["faults"]),
            not_before_at=from_db(kept["not_before_at"]),
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return Asking()


def put(tx: "Tx", asking: Asking, *, identity: str, now: datetime) -> None:
    """Remember the state of asking for this client identity."""
    value = {
        "identity": identity,
        "refusals": asking.refusals,
        "faults": asking.faults,
        "not_before_at": to_db(asking.not_before_at),
    }
    tx.run(
        """
        INSERT INTO meta (name, value, created_at, updated_at)
        VALUES (:name, :value, :now, :now)
            ON CONFLICT (name) DO UPDATE
           SET value = excluded.value, updated_at = excluded.updated_at
        """,
        name=_NAME,
        value=json.dumps(value),
        now=to_db(now),
    )
