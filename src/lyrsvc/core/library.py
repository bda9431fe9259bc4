"""A library: a registered root directory and what it overrides."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from lyrsvc.core.normal_forms import normal_form


@dataclass(frozen=True, kw_only=True, slots=True)
class Library:
    """One registered root; an override of None inherits the global default."""

    id: int
    name: str
    path: Path
    enrich: bool | None = None
    detect_instrumental: bool | None = None
    last_ok_scan_at: datetime | None = None
    created_at: datetime
    updated_at: datetime


def name_key(name: str) -> str:
    """Give the form in which library names are compared: case and Unicode form do not count."""
    return normal_form("NFC", normal_form("NFC", name).casefold())
