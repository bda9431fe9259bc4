"""Pairs of an asked recording and an answer, read from the data of the match guard."""

import json
from pathlib import Path
from typing import Any

from lyrsvc.core.lyrics import Matched
from lyrsvc.core.recording import Recording

DATA = Path(__file__).parent / "data" / "matching"


def load(name: str) -> dict[str, Any]:
    return json.loads((DATA / name).read_text("utf-8"))


def asked(row: dict[str, Any]) -> Recording:
    return Recording(
        title=row["title"],
        artist=row["artist"],
        artists=tuple(row.get("artists", ())),
        album_artist=row.get("album_artist", ""),
        album=row["album"],
        duration_ms=_ms(row["duration"]),
        isrcs=_isrcs(row),
        low_confidence=row.get("low_confidence", False),
    )


def answered(row: dict[str, Any]) -> Matched:
    return Matched(
        title=row["title"],
        artist=row["artist"],
        album=row["album"],
        duration_ms=_ms(row["duration"]),
        isrcs=_isrcs(row),
    )


def _ms(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1000)


def _isrcs(row: dict[str, Any]) -> tuple[str, ...]:
    return (row["isrc"],) if row["isrc"] else tuple(row.get("isrcs", ()))
