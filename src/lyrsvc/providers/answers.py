"""Reading what servers send: JSON of any shape, numbers in any dress, waiting times."""

import json
import math
import re
from datetime import UTC, datetime
from decimal import Decimal
from email.utils import parsedate_to_datetime
from typing import Any, Final, TypeGuard

from lyrsvc.core.errors import Malformed
from lyrsvc.core.ports import Reply

LONGEST_WAIT_S: Final = 7 * 24 * 3600.0

_LONE_HALF: Final = re.compile("[\ud800-\udfff]")


def read_json(reply: Reply) -> Any:  # noqa: ANN401 - the shape is the caller's to judge
    """Parse a body as JSON, or raise ``Malformed``."""
    try:
        return json.loads(reply.body)
    except (ValueError, RecursionError):
        raise Malformed(f"{describe(reply)}, not JSON") from None


def describe(reply: Reply) -> str:
    """Say all that may be said about an answer: its status and its size."""
    return f"HTTP {reply.status}, {len(reply.body)} bytes"


def step_into(value: object, *path: str) -> object:
    """Follow keys into nested objects; None as soon as one is missing or no object."""
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def as_object(value: object) -> dict[str, Any]:
    """Give an object, or an empty one when the value is anything else."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """Give a list, or an empty one when the value is anything else."""
    return value if isinstance(value, list) else []


def as_text(value: object) -> str:
    """Give text that can be encoded, half a character as U+FFFD; blank when it is no text."""
    if not isinstance(value, str):
        return ""
    return _LONE_HALF.sub("\ufffd", value)


def as_flag(value: object) -> bool:
    """Read 1, true and "1" as yes, all else as no."""
    return value in (1, "1")


def as_int(value: object) -> int | None:
    """Read a whole number, also one that was sent as text or with a fraction of zero."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 19:
        return int(value)
    if not is_number(value) or value != int(value):
        return None
    return int(value)


def as_ms(seconds: object) -> int | None:
    """Turn seconds into whole milliseconds, truncated; None when it is no usable time."""
    if not is_number(seconds) or not 0 <= seconds < 1e7:
        return None
    return int(Decimal(str(seconds)) * 1000)


def is_number(value: object) -> TypeGuard[int | float]:
    """Tell whether a JSON value is a finite number and no boolean."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def retry_after_s(reply: Reply) -> float | None:
    """Read ``Retry-After`` as seconds, given as a number or as a date."""
    given = reply.headers.get("retry-after", "").strip()
    if given.isascii() and given.isdecimal():
        return min(float(given[:12]), LONGEST_WAIT_S)
    until, since = _moment(given), _moment(reply.headers.get("date", ""))
    if until is None or since is None:
        return None
    return min(max((until - since).total_seconds(), 0.0), LONGEST_WAIT_S)


def _moment(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
