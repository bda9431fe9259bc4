"""Lyrics inside the audio file, as a result that can be written like any other."""

import logging
from pathlib import Path
from typing import Final

from lyrsvc.core.cleaning import clean
from lyrsvc.core.errors import FileFault
from lyrsvc.core.lyrics import Candidate, Matched, Quality
from lyrsvc.core.recording import Recording
from lyrsvc.core.result import Accepted, quality_of
from lyrsvc.core.timing import judge_timing
from lyrsvc.core.verdict import Evidence, Verdict
from lyrsvc.files.tags import TagRead, read_tags

LANE: Final = "embedded"

_LOG = logging.getLogger("lyrsvc.worker")


def words_inside(audio: Path) -> TagRead | None:
    """Give the tags of a file that holds lyrics; one that cannot be read holds none."""
    try:
        tags = read_tags(audio, enrich=False, embedded=True)
    except FileFault as fault:
        _LOG.warning("tags cannot be read", extra={"path": str(audio), "reason": fault.reason})
        return None
    return tags if tags.embedded is not None else None


def extracted(tags: TagRead, recording: Recording) -> Accepted | None:
    """Make a result of the words in the tags; only cleaning and the timing guard apply."""
    if tags.embedded is None:
        return None
    length = recording.duration_ms
    candidate = clean(
        Candidate(
            matched=Matched(artist=recording.artist, title=recording.title, duration_ms=length),
            cues=tags.embedded.cues,
            plain=tags.embedded.text,
        )
    )
    timing = judge_timing(candidate.cues, file_ms=length, answered_ms=length)
    quality = quality_of(candidate, timing.decision)
    if quality is Quality.NONE:
        return None
    verdict = Verdict(decision=timing.decision, reason=timing.reason, evidence=Evidence.EXACT)
    return Accepted(candidate=candidate, quality=quality, verdict=verdict, lane=LANE)
