"""Whether an audio file is still the song that its item asks for.

A file may be replaced by another song while its item waits or while lanes are asked.
Words found for the old one must not come to stand beside the new one.
"""

import os
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from lyrsvc.core import placing
from lyrsvc.core.item import Target, WorkItem
from lyrsvc.core.recording import Recording
from lyrsvc.core.scan_decision import Stamp, is_same_stamp, stamp_of
from lyrsvc.core.scan_facts import Unreadable
from lyrsvc.services.probing import Probes
from lyrsvc.services.tag_reading import read_facts

ANSWER_S: Final = 10.0
"""So long one file may take to be read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SongSight:
    """How the file of a target looks now; no stamp where there is nothing to compare it with.

    ``becomes`` is the song it is now when it is no longer that of its item. ``is_unclear``
    says that it has changed and cannot be read: perhaps it is being written just now.
    """

    stamp: Stamp | None = None
    becomes: Recording | None = None
    is_unclear: bool = False


UNKNOWN: Final = SongSight()


class SameSong:
    """Compares files with what a scan has read, and reads again only those that changed."""

    def __init__(self, probes: Probes | None = None) -> None:
        self._probes = probes or Probes(threads=1, purpose="worker")

    def look(
        self, item: WorkItem, target: Target, root: Path | None, *, known: Stamp | None = None
    ) -> SongSight:
        """Look at the file of a target; as it was when it is as ``known`` it is the right song."""
        seen = target.seen
        stamp = _stamp_at(target.source_path)
        if seen is None or root is None or stamp is None:
            return UNKNOWN
        if known is not None and is_same_stamp(known, stamp):
            return SongSight(stamp=stamp)
        recording: Recording | None = seen.recording
        if not is_same_stamp(seen.stamp, stamp):
            recording = self._read(target.source_path, root, enrich=seen.enriched)
        if recording is None:
            return SongSight(stamp=stamp, is_unclear=True)
        if placing.is_about(item, recording):
            return SongSight(stamp=stamp)
        return SongSight(stamp=stamp, becomes=recording)

    def _read(self, path: str, root: Path, *, enrich: bool) -> Recording | None:
        question = partial(read_facts, path, os.fspath(root), enrich=enrich)
        answers = self._probes.ask({path: question}, until=time.monotonic() + ANSWER_S)
        facts = answers.get(path)
        return None if facts is None or isinstance(facts, Unreadable) else facts.recording


def _stamp_at(path: str) -> Stamp | None:
    if not path:
        return None
    try:
        facts = Path(path).stat()
    except (OSError, ValueError):
        return None
    return stamp_of(facts.st_mtime_ns, facts.st_size, facts.st_ino)
