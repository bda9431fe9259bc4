"""Lanes in order, from a recording to an outcome: the same walk for every mode."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from lyrsvc.core.credits import query_artist
from lyrsvc.core.errors import Refused
from lyrsvc.core.judging import GuardPolicy, Judgement, judge, judge_again
from lyrsvc.core.keys import match_key
from lyrsvc.core.lyrics import Candidate, Quality
from lyrsvc.core.outcome import Attempt, Missed, Outcome, Served, decide, ends_the_walk
from lyrsvc.core.recording import Recording
from lyrsvc.core.result import Accepted
from lyrsvc.services.lanes import Lane

NOTHING_TO_ASK: Final = (
    "no token for lane defaultprov; set PROVIDER_TOKEN (or --token), "
    'or use the open lane: providers.primary = "lrclib" (--provider lrclib)'
)


class Lookup:
    """Asks the active lanes one after another."""

    def __init__(
        self,
        lanes: Sequence[Lane],
        *,
        policy: GuardPolicy,
        disconnect: Callable[[], None] = lambda: None,
    ) -> None:
        self.lanes = tuple(lanes)
        self._policy = policy
        self._disconnect = disconnect

    def look_up(
        self, recording: Recording, *, answered: Mapping[str, Attempt] | None = None
    ) -> Outcome:
        """Find lyrics; lanes that have ``answered`` before are not asked again."""
        if not match_key(recording.title):
            return Missed(reason="rejected_match", detail="no_title", rejected=True)
        return decide(self._walk(recording, answered or {}))

    def serve_again(self, recording: Recording, stored: Accepted) -> Served | None:
        """Judge a stored result with this recording's own data; None when it does not fit."""
        judged = judge_again(recording, stored.candidate, self._policy)
        if judged.quality is Quality.NONE:
            return None
        accepted = Accepted(
            candidate=judged.candidate,
            quality=judged.quality,
            verdict=judged.verdict,
            lane=stored.lane,
            fetched_at=stored.fetched_at,
        )
        return Served(accepted=accepted, from_cache=True)

    def close(self) -> None:
        """Let go of every lane and of the connections they share."""
        for lane in self.lanes:
            lane.close()
        self._disconnect()

    def _walk(self, recording: Recording, answered: Mapping[str, Attempt]) -> list[Attempt]:
        active = [lane for lane in self.lanes if lane.active]
        if not active:
            raise Refused("no lane can be asked")
        attempts: list[Attempt] = []
        for lane in active:
            attempt = answered.get(lane.name) or self._ask(lane, recording)
            attempts.append(attempt)
            if ends_the_walk(attempt):
                break
        return attempts

    def _ask(self, lane: Lane, recording: Recording) -> Attempt:
        judged: list[tuple[Candidate, Judgement]] = []

        def judge_once(candidate: Candidate) -> Judgement:
            for known, judgement in judged:
                if known is candidate:
                    return judgement
            judgement = judge(recording, candidate, self._policy)
            judged.append((candidate, judgement))
            return judgement

        return lane.ask(recording, judge_once)


def can_be_asked(recording: Recording) -> bool:
    """Tell whether a recording names enough to be looked for at all."""
    return bool(match_key(recording.title)) and bool(
        query_artist(recording) or recording.isrcs or recording.album
    )
