"""What is answered when a request cannot be served: a closed set of codes.

A problem's sentence holds no path, key, token, SQL or stack trace.
"""

from collections.abc import Mapping
from typing import Final

from lyrsvc.core.errors import (
    LyrsvcError,
    NotFound,
    Refused,
    StoreBusy,
    StoreError,
    StoreLate,
)

STATUS_OF: Final[Mapping[str, int]] = {
    "invalid_payload": 400,
    "invalid_request": 400,
    "validation_failed": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "csrf": 403,
    "cross_origin": 403,
    "settings_read_only": 403,
    "https_required": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "not_failed": 409,
    "locked": 409,
    "stale": 409,
    "file_invalid": 409,
    "confirmation_required": 409,
    "already_running": 409,
    "exists": 409,
    "payload_too_large": 413,
    "unsupported_encoding": 415,
    "too_many_attempts": 429,
    "internal": 500,
    "unavailable": 503,
    "busy": 503,
    "timeout": 503,
}
"""Every error code, with its status."""


class Problem(Exception):
    """A request that is answered with an error; ``extra`` are further members of the body."""

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        extra: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.status = STATUS_OF[code]
        self.headers = dict(headers or {})
        self.extra = dict(extra or {})

    @property
    def body(self) -> dict[str, object]:
        """The JSON object that is answered."""
        return {"error": self.code, "detail": self.detail, **self.extra}


def unauthorized(detail: str = "a valid API key is needed") -> Problem:
    """Ask for a key; never with a challenge that makes browsers open a dialog."""
    return Problem("unauthorized", detail, headers={"WWW-Authenticate": 'Bearer realm="lyrsvc"'})


def unavailable(retry_after_s: int = 5) -> Problem:
    """Say that the database cannot be used now; nothing was changed."""
    return Problem(
        "unavailable",
        "the database cannot be used now; try again",
        headers={"Retry-After": str(retry_after_s)},
    )


def translate(error: LyrsvcError) -> Problem:
    """Turn an error of the house into what is answered."""
    match error:
        case NotFound():
            return Problem("not_found", str(error))
        case StoreBusy() | StoreLate():
            return _come_back(error)
        case StoreError():
            return unavailable()
        case Refused() if error.code in STATUS_OF:
            return Problem(error.code, str(error))
        case _ if error.code in STATUS_OF and error.code != "internal":
            return Problem(error.code, str(error))
    return Problem("invalid_request", str(error))


def _come_back(error: StoreError) -> Problem:
    busy = isinstance(error, StoreBusy)
    code = "busy" if busy else "timeout"
    detail = "the database is busy; try again" if busy else "this took too long; ask for less"
    return Problem(code, detail, headers={"Retry-After": "5"})
