"""The row of ``meta`` that remembers when a token may be asked for again."""

import json
from datetime import datetime
from typing import TYPE_CHECKING, Final

from lyrsvc.core.token_asking import Asking
from lyrsvc.store import meta
from lyrsvc.store.moments import from_db, to_db

if TYPE_CHECKING:
    from lyrsvc.store.transaction import Tx

_NAME: Final = "token_request"


def get(tx: "Tx", *, identity: str) -> Asking:
    """Give what is remembered for this client identity; another one's past does not count."""
    try:
        kept = json.loads(meta.read(tx, _NAME) or "{}")
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
    meta.write(tx, _NAME, json.dumps(value), now=now)
