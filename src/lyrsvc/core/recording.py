"""The recording that lyrics are wanted for, as file tags or a query describe it."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Recording:
    """What a lane is asked about.

    ``artist`` is the track artist as tagged and ``artists`` its credited list;
    what is sent to a lane is ``query_artist``. Length and ids are absent when
    enrichment is off. ``source_path`` is for local lanes only.
    """

    title: str
    artist: str = ""
    artists: tuple[str, ...] = ()
    album_artist: str = ""
    album: str = ""
    duration_ms: int | None = None
    isrcs: tuple[str, ...] = ()
    mbid: str | None = None
    low_confidence: bool = False
    source_path: Path | None = None
