"""What was found in this run, so that an equal recording is not asked for twice."""

from collections import OrderedDict
from typing import Final

from lyrsvc.core.credits import identity_artist
from lyrsvc.core.keys import NEAR_MS, duration_bucket, match_key
from lyrsvc.core.outcome import Missed, Outcome, Served
from lyrsvc.core.recording import Recording
from lyrsvc.services.lookup import Lookup

REMEMBERED: Final = 5_000

Identity = tuple[str, str, int]


class RunMemory:
    """Outcomes by artist, title and length; the oldest are forgotten."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._known: OrderedDict[Identity, tuple[Recording, Served | Missed]] = OrderedDict()

    def find(self, recording: Recording) -> Served | Missed | None:
        """Give what is known about a recording; results are judged anew with its own data."""
        artist, title, bucket = identity(recording)
        neighbours = (bucket, bucket - 1, bucket + 1) if recording.duration_ms else (bucket,)
        for near in neighbours:
            found = self._known.get((artist, title, near))
            if found is not None and (outcome := self._again(recording, *found)) is not None:
                return outcome
        return None

    def keep(self, recording: Recording, outcome: Outcome) -> None:
        """Remember what was found, or that there is nothing; anything else may change."""
        if not isinstance(outcome, Served | Missed):
            return
        if isinstance(outcome, Served):
            outcome = Served(accepted=outcome.accepted)
        key = identity(recording)
        self._known[key] = (recording, outcome)
        self._known.move_to_end(key)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)

    def _again(
        self, recording: Recording, first: Recording, outcome: Served | Missed
    ) -> Served | Missed | None:
        if isinstance(outcome, Missed):
            return outcome if _is_same_question(recording, first, outcome) else None
        if not _is_near(recording.duration_ms, first.duration_ms):
            return None
        return self._lookup.serve_again(recording, outcome.accepted)


def identity(recording: Recording) -> Identity:
    """Give what makes two files the same recording: artist, title and a bucket of lengths."""
    return (
        match_key(identity_artist(recording)),
        match_key(recording.title),
        duration_bucket(recording.duration_ms),
    )


def _is_near(one_ms: int | None, other_ms: int | None) -> bool:
    if not one_ms or not other_ms:
        return not one_ms and not other_ms
    return abs(one_ms - other_ms) <= NEAR_MS


def _is_same_question(one: Recording, other: Recording, missed: Missed) -> bool:
    """Tell whether asking again could only give the same miss.

    What was rejected for one file may fit another of the same names, unless the
    two agree in everything a guard looks at.
    """
    same = one.isrcs == other.isrcs and one.low_confidence == other.low_confidence
    if not missed.rejected:
        return same and identity(one) == identity(other)
    return same and one.album == other.album and one.duration_ms == other.duration_ms
