"""What is wrong or odd about settings, as values: faults end the program, warnings do not."""

from enum import Enum
from typing import NamedTuple


class Kind(Enum):
    """Why a finding was made; saving refuses some that loading forgives."""

    FAULT = "fault"
    USAGE = "usage"
    CLAMPED = "clamped"
    UNKNOWN = "unknown"
    WARNING = "warning"


class Finding(NamedTuple):
    """One line about one setting."""

    kind: Kind
    path: str
    text: str

    @property
    def fatal(self) -> bool:
        """Tell whether the program cannot go on."""
        return self.kind in (Kind.FAULT, Kind.USAGE)


def fault(path: str, text: str) -> Finding:
    """Say that a setting cannot be used."""
    return Finding(Kind.FAULT, path, text)


def warning(path: str, text: str) -> Finding:
    """Say that a setting is odd, and go on."""
    return Finding(Kind.WARNING, path, text)
