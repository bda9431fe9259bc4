"""A library: a registered root directory and what it overrides."""

import unicodedata
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path


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
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
