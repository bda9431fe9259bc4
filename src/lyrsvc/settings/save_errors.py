"""Why a save was refused; each class is one answer of the page and the API.

::

    ConfigError
    ├── FileInvalid        the file is broken right now
    └── ValidationFailed   the file would not be good any more; knows each setting
    Refused
    ├── SettingLocked      a flag or variable decides
    ├── Unconfirmed        a critical setting is only changed by somebody who says so
    ├── SaveBusy           somebody else saves
    ├── Stale              the value is not the one the caller saw
    ├── SettingsReadOnly   the file cannot be written
    └── DiskFailed         no space, or the disk answers with errors
"""

from collections.abc import Sequence

from lyrsvc.core.errors import ConfigError, Refused
from lyrsvc.settings.findings import Finding


class FileInvalid(ConfigError):
    """The settings file is broken right now."""

    code = "file_invalid"


class ValidationFailed(ConfigError):
    """The settings would not be good any more; ``findings`` names each of them."""

    code = "validation_failed"

    def __init__(self, findings: Sequence[Finding], faults: Sequence[str]) -> None:
        super().__init__(faults)
        self.findings = tuple(findings)


class SaveBusy(Refused):
    """Somebody else is saving."""

    code = "busy"


class Stale(Refused):
    """A setting no longer has the value the caller saw."""

    code = "stale"


class SettingsReadOnly(Refused):
    """The settings file cannot be written by this user."""

    code = "settings_read_only"


class DiskFailed(Refused):
    """The disk is full or answers with errors; the file is the old one."""

    code = "storage"


class SettingLocked(Refused):
    """A flag or variable decides about the setting; ``locked_by`` names it."""

    code = "locked"

    def __init__(self, message: str, *, locked_by: str) -> None:
        super().__init__(message)
        self.locked_by = locked_by


class Unconfirmed(Refused):
    """Critical settings are to be confirmed; ``paths`` names them."""

    code = "confirmation_required"

    def __init__(self, message: str, *, paths: Sequence[str]) -> None:
        super().__init__(message)
        self.paths = tuple(paths)
