"""The id that ties together every line written while one request is served."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_ACCEPTED: Final = r"[A-Za-z0-9._-]{1,64}"
_CURRENT: Final[ContextVar[str]] = ContextVar("request_id", default="")


def new_request_id() -> str:
    """Make an id of 16 characters."""
    return os.urandom(8).hex()


def accepted(client_id: str) -> bool:
    """Tell whether a client's own id has the form of one."""
    return re.fullmatch(_ACCEPTED, client_id) is not None


def current_request_id() -> str:
    """Give the id of the request being served here, or nothing."""
    return _CURRENT.get()


@contextmanager
def serving(request_id: str) -> Iterator[None]:
    """Put the id on every line written in this context."""
    before = _CURRENT.set(request_id)
    try:
        yield
    finally:
        _CURRENT.reset(before)
