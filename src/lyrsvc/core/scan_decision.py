"""What a scan does about one audio file: open it, look at its row, or leave it alone.

The gate compares what a listing saw with what was stored; only a file that fails it
is opened. Everything here is pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Any, Final

from lyrsvc.core.keys import KEY_VERSION
from lyrsvc.core.relinking import CLOSE_MS
from lyrsvc.core.scan_facts import Embedded
from lyrsvc.core.sidecar import FetchMode

LRC_BIT: Final = 1
TXT_BIT: Final = 2
ELRC_BIT: Final = 4
WORDS: Final = LRC_BIT | TXT_BIT
"""Bits that mean lyrics are there; an enhanced file alone belongs to nobody."""

TRANSIENT: Final = frozenset(("open_denied", "io_error", "tag_timeout"))
"""Reasons for which an unchanged file is tried again."""
RESPECTED: Final = "embedded"
"""Reason of a row that is done because its file holds lyrics itself."""

_MOST: Final = (1 << 63) - 1
_LEAST: Final = -(1 << 63)
_WAITING: Final = frozenset(("failed", "deferred"))
_UNDECIDED: Final = _WAITING | {"pending"}
_SHOWN: Final = (Embedded.PLAIN, Embedded.SYNCED)


class Gate(Enum):
    """What is to be done."""

    NEW = "new"
    CHANGED = "changed"
    LOOK = "look"
    SAME = "same"


GateRow = tuple[Any, ...]
"""Columns of the gate: mtime_ns, size, inode, sidecar, enriched, reader_version, key_version,
missing_since_at, status, target_id, embedded, id."""
Stamp = tuple[int, int, int]
"""mtime_ns, size and inode as columns hold them; see ``stamp_of``."""


@dataclass(frozen=True, kw_only=True)
class ScanRules:
    """What holds for one library in one run, flags and overrides already resolved."""

    enrich: bool
    reader_version: int
    mode: FetchMode = FetchMode.NORMAL
    respect_embedded: bool = False
    extract_embedded: bool = False
    detect: bool | None = None
    """The detection decision of a command line, None without one."""

    @property
    def is_flagged(self) -> bool:
        """Tell whether more is wanted than what is missing."""
        return self.mode is not FetchMode.NORMAL

    def restamps(self, status: str) -> bool:
        """Tell whether a row without lyrics waits for work that a flag decides anew."""
        return self.detect is not None and status in _UNDECIDED

    @property
    def anew(self) -> "ScanRules":
        """Give the rules for a file beside which words of ours for another song stand."""
        return self if self.mode is FetchMode.FORCE else replace(self, mode=FetchMode.UPDATE)

    @cached_property
    def usual(self) -> tuple[int, int, int, None]:
        """Give what the columns behind the sidecar hold when there is nothing to do."""
        return int(self.enrich), self.reader_version, KEY_VERSION, None


def judge(row: GateRow | None, stamp: Stamp, sidecar: int, rules: ScanRules) -> Gate:
    """Compare a stored row with what the listing saw."""
    if row is None:
        return Gate.NEW
    if row[:4] != (*stamp, sidecar) or row[4:8] != rules.usual:
        return _differs(row, stamp, rules)
    status, target_id = row[8], row[9]
    is_bare = not sidecar & WORDS
    if rules.is_flagged or status == "unreadable" or (is_bare and rules.restamps(status)):
        return Gate.LOOK
    if target_id is not None or not is_bare or status in _WAITING:
        return Gate.SAME
    # Not in the queue: it should be, or lyrics in the tags may no longer be enough.
    is_freed = status == "done" and row[10] in _SHOWN and not rules.respect_embedded
    return Gate.LOOK if status == "pending" or is_freed else Gate.SAME


def stamp_of(mtime_ns: int, size: int, inode: int) -> Stamp:
    """Give what tells a changed file, in the range a column holds."""
    if inode > _MOST:
        inode -= 1 << 64
    if not _LEAST <= mtime_ns <= _MOST:
        mtime_ns = max(_LEAST, min(mtime_ns, _MOST))
    return mtime_ns, size, inode


def is_same_stamp(stored: Stamp, found: Stamp) -> bool:
    """Tell whether a file looks as it did; a disk without inode numbers says 0."""
    inodes = stored[2], found[2]
    return stored[:2] == found[:2] and (inodes[0] == inodes[1] or not all(inodes))


def sidecar_bits(lrc: object, txt: object, elrc: object) -> int:
    """Give the column for the sidecars that are there."""
    return (LRC_BIT if lrc else 0) | (TXT_BIT if txt else 0) | (ELRC_BIT if elrc else 0)


def is_respected(embedded: int, sidecar: int, rules: ScanRules) -> bool:
    """Tell whether lyrics in the tags are enough."""
    return rules.respect_embedded and not sidecar & WORDS and embedded in _SHOWN


def is_other_song(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Tell whether two are different songs: new tags alone leave the length as it was."""
    if one["low_confidence"] or other["low_confidence"]:
        return False
    lengths = one["duration_ms"], other["duration_ms"]
    if not all(lengths) or abs(lengths[0] - lengths[1]) <= CLOSE_MS:
        return False
    return any(one[name] != other[name] for name in ("artist_key", "title_key"))


def brings_words(before: int, embedded: int, rules: ScanRules) -> bool:
    """Tell whether lyrics to be written out have come into the tags since they were last read."""
    return rules.extract_embedded and embedded in _SHOWN and before not in _SHOWN


def _differs(row: GateRow, stamp: Stamp, rules: ScanRules) -> Gate:
    """Tell a file that must be opened from a row that needs no more than a look."""
    if not is_same_stamp(row[:3], stamp):
        return Gate.CHANGED
    enriched, reader_version = row[4], row[5]
    if reader_version < rules.reader_version or (rules.enrich and not enriched):
        return Gate.CHANGED
    return Gate.LOOK
