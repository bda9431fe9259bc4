"""The table ``meta``: the few facts a database knows about itself."""

from datetime import datetime
from typing import TYPE_CHECKING, Final

from lyrsvc.store.moments import to_db

if TYPE_CHECKING:
    from lyrsvc.store.transaction import Tx

PROVIDER_SET_VERSION: Final = "provider_set_version"
EMBEDDED_LYRICS: Final = "embedded_lyrics"
"""What was last done about lyrics in the tags: a value of the setting."""


def read(tx: "Tx", name: str) -> str | None:
    """Give a fact, or None when it was never written."""
    value: str | None = tx.value("SELECT value FROM meta WHERE name = :name", name=name)
    return value


def write(tx: "Tx", name: str, value: str, *, now: datetime) -> None:
    """Write a fact down."""
    tx.run(
        """
        INSERT INTO meta (name, value, created_at, updated_at) VALUES (:name, :value, :now, :now)
        ON CONFLICT (name) DO UPDATE SET value = :value, updated_at = :now
        """,
        name=name,
        value=value,
        now=to_db(now),
    )


def provider_set_version(tx: "Tx") -> int | None:
    """Give the provider set the queue was last brought in line with."""
    return _number(read(tx, PROVIDER_SET_VERSION))


def set_provider_set_version(tx: "Tx", version: int, *, now: datetime) -> None:
    """Remember that the queue is in line with a provider set."""
    write(tx, PROVIDER_SET_VERSION, str(version), now=now)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() else None
