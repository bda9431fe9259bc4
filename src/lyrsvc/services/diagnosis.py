"""What ``doctor`` finds: one row for everything looked at, and the remedy of what is wrong."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from lyrsvc.core.errors import ConfigError, LyrsvcError
from lyrsvc.services.health_checks import ERROR, Check

State = Literal["ok", "warn", "fail"]

LOOK: Final = "see the log of the service"
NOT_OURS: Final = "run this as the user of the service, or check owner and mode"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing that was looked at, and how it is."""

    check: str
    state: State
    detail: str
    remedy: str = ""


Examine = Callable[[], Iterable[Finding]]
"""Looks at one part of an installation."""


def well(check: str, detail: str) -> Finding:
    """Say that something is as it should be."""
    return Finding(check=check, state="ok", detail=detail)


def odd(check: str, detail: str, remedy: str) -> Finding:
    """Say that something should be looked at."""
    return Finding(check=check, state="warn", detail=detail, remedy=remedy)


def broken(check: str, detail: str, remedy: str) -> Finding:
    """Say that something does not work."""
    return Finding(check=check, state="fail", detail=detail, remedy=remedy)


def told(check: str, sentence: str, *, state: State = "fail") -> Finding:
    """Make a finding of a message of the form ``what; remedy``."""
    what, _, remedy = sentence.partition("; ")
    return Finding(check=check, state=state, detail=what, remedy=remedy or LOOK)


def examine_all(checks: Iterable[tuple[str, Examine]]) -> Iterator[Finding]:
    """Run every check; one that cannot even look is a finding of its own."""
    for name, look in checks:
        try:
            yield from look()
        except ConfigError as error:
            yield from (told(name, fault) for fault in error.faults)
        except LyrsvcError as error:
            yield told(name, str(error))
        except OSError as error:
            yield broken(name, _plainly(error), NOT_OURS)


def _plainly(error: OSError) -> str:
    if error.filename is None or error.strerror is None:
        return str(error)
    return f"cannot use {os.fsdecode(error.filename)}: {error.strerror.lower()}"


def from_health(check: Check, names: dict[str, str]) -> Iterator[Finding]:
    """Make findings of a health check; ``names`` translates its codes."""
    for entry in check():
        make = broken if entry.level == ERROR else odd
        yield make(names.get(entry.code, entry.code), entry.detail, entry.remedy)
