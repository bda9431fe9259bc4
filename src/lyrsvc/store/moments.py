"""Moments as columns hold them: UTC text of fixed width, so text order is time order."""

from datetime import UTC, datetime
from typing import overload


@overload
def to_db(moment: datetime) -> str: ...
@overload
def to_db(moment: None) -> None: ...
@overload
def to_db(moment: datetime | None) -> str | None: ...
def to_db(moment: datetime | None) -> str | None:
    """Write a moment down: ``2026-01-31T14:05:06.123Z``; None stays None."""
    if moment is None:
        return None
    if moment.tzinfo is None:
        raise ValueError("a moment without a time zone cannot be stored")
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")[:23] + "Z"


@overload
def from_db(text: str) -> datetime: ...
@overload
def from_db(text: None) -> None: ...
@overload
def from_db(text: str | None) -> datetime | None: ...
def from_db(text: str | None) -> datetime | None:
    """Read a moment back, in UTC; None stays None."""
    return None if text is None else datetime.fromisoformat(text).astimezone(UTC)
