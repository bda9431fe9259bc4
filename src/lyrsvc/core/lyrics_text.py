"""Lyrics as text that a column can hold: every field of a candidate, and the way back."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from lyrsvc.core.lyrics import Candidate, Cue, Matched, Word
from lyrsvc.core.ptext import clean_text
from lyrsvc.core.resume import verdict_from
from lyrsvc.core.verdict import Verdict


def to_text(candidate: Candidate, verdict: Verdict) -> str:
    """Write down a candidate and the verdict under which it was taken."""
    members = {
        "matched": asdict(candidate.matched),
        "cues": [_from_cue(cue) for cue in candidate.cues],
        "plain": candidate.plain,
        "instrumental": candidate.instrumental,
        "language": candidate.language,
        "translation": None
        if candidate.translation is None
        else [_from_cue(cue) for cue in candidate.translation],
        "translation_language": candidate.translation_language,
        "verdict": asdict(verdict),
    }
    return clean_text(json.dumps(members, ensure_ascii=False, separators=(",", ":")))


def from_text(text: str) -> tuple[Candidate, Verdict]:
    """Read both back; raise ``ValueError`` for what was not written by ``to_text``."""
    try:
        members = json.loads(text)
        verdict = verdict_from(members["verdict"])
        if verdict is None:
            raise ValueError("lyrics without a verdict")
        return _candidate(members), verdict
    except (TypeError, KeyError, AttributeError, IndexError) as error:
        raise ValueError("not the text form of lyrics") from error


def _candidate(members: Mapping[str, Any]) -> Candidate:
    found = members["matched"]
    translation = members["translation"]
    return Candidate(
        matched=Matched(
            artist=found["artist"],
            title=found["title"],
            album=found["album"],
            duration_ms=found["duration_ms"],
            isrcs=tuple(found["isrcs"]),
            ids=tuple(found["ids"]),
        ),
        cues=_cues(members["cues"]),
        plain=members["plain"],
        instrumental=bool(members["instrumental"]),
        language=members["language"],
        translation=None if translation is None else _cues(translation),
        translation_language=members.get("translation_language"),
    )


def _from_cue(cue: Cue) -> list[Any]:
    """Most cues are a moment and a text; the rest is there only when it is known."""
    short: list[Any] = [cue.ms, cue.text]
    if not cue.words and cue.end_ms is None:
        return short
    return [*short, cue.end_ms, [[word.ms, word.text] for word in cue.words]]


def _cues(rows: Sequence[Sequence[Any]]) -> tuple[Cue, ...]:
    return tuple(
        Cue(row[0], row[1])
        if len(row) == 2
        else Cue(row[0], row[1], tuple(Word(ms, text) for ms, text in row[3]), row[2])
        for row in rows
    )
