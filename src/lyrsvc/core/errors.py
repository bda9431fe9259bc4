"""The one error tree.

::

    LyrsvcError
    ├── UsageError            the command line is wrong                  exit 2
    ├── ConfigError           settings are wrong; holds every fault      exit 1
    ├── NotFound              the named thing does not exist             exit 1
    ├── Refused               the thing exists, but this may not be done exit 1
    │   ├── AlreadyThere      its name or its place is taken
    │   └── NotFailed         only a failed item can be tried again
    ├── StoreError            the database cannot do it now
    │   ├── StoreBusy         another process holds it
    │   ├── StoreLate         a statement took longer than it may
    │   ├── StorageFailed     disk full or I/O error
    │   ├── StoreTooNew       written by a newer program
    │   └── StoreDamaged      not a database, or an applied step was changed
    ├── FileFault             a file cannot be read or written; carries a reason code
    └── LaneError             what a lane may raise, a closed set
        ├── Miss  Throttled  Quota  TokenFinished  IdentityRefused  Malformed  Transient

Every class carries a stable ``code``: the closed set behind failure reasons,
JSON errors and metric labels. A message has the form ``what; remedy`` and holds
no secret, URL or lyric text.
"""

from collections.abc import Sequence


class LyrsvcError(Exception):
    """Anything this program raises on purpose."""

    code = "internal"
    exit_code = 1


class UsageError(LyrsvcError):
    """The command line is wrong."""

    code = "usage"
    exit_code = 2


class ConfigError(LyrsvcError):
    """Settings are wrong; every fault has its own line."""

    code = "config"

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = tuple(faults)


class NotFound(LyrsvcError):
    """The named thing does not exist."""

    code = "not_found"


class Refused(LyrsvcError):
    """The thing exists, but this may not be done to it."""

    code = "refused"


class AlreadyThere(Refused):
    """The name or the place is taken."""

    code = "exists"


class NotFailed(Refused):
    """Only a failed item can be tried again."""

    code = "not_failed"


class StoreError(LyrsvcError):
    """The database cannot do what was asked."""

    code = "storage"


class StoreBusy(StoreError):
    """Another process holds the database for too long."""

    code = "storage_busy"


class StoreLate(StoreError):
    """A statement took longer than it may."""

    code = "timeout"


class StorageFailed(StoreError):
    """The disk is full or answers with errors."""


class StoreTooNew(StoreError):
    """The database was written by a newer program."""

    code = "storage_too_new"


class StoreDamaged(StoreError):
    """The file is no database, or an applied migration was changed."""

    code = "storage_damaged"


class FileFault(LyrsvcError):
    """A file could not be read or written; ``reason`` is a code of the closed sets."""

    code = "file"

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class LaneError(LyrsvcError):
    """What a lane may raise instead of an answer; ``reason`` details the class."""

    code = "lane"
    definitive = False

    def __init__(
        self, message: str = "", *, reason: str = "", retry_after_s: float | None = None
    ) -> None:
        super().__init__(message or self.code)
        self.reason = reason or self.code
        self.retry_after_s = retry_after_s


class Miss(LaneError):
    """Asked and answered: ``not_found``, ``no_lyrics`` or ``restricted``."""

    code = "miss"
    definitive = True


class Throttled(LaneError):
    """Rate limit, captcha or a bare 401."""

    code = "throttled"


class Quota(LaneError):
    """The usage allowance is spent."""

    code = "quota"


class TokenFinished(LaneError):
    """The credential is over; the only class that may lead to a new one."""

    code = "token_finished"


class IdentityRefused(LaneError):
    """This client is no longer served, got a placeholder token, or is fed decoys."""

    code = "identity_refused"


class Malformed(LaneError):
    """The answer was not understood."""

    code = "malformed"


class Transient(LaneError):
    """Network, time-out, server or I/O error: ``network``, ``timeout``, ``upstream_error``."""

    code = "transient"
