"""The gates: what a classifier's scores must look like for a track to be instrumental.

Music has to be there for certain, a singing voice and speech have to be absent. A map
of scores that is not complete never makes a track instrumental.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from lyrsvc.core.errors import LyrsvcError
from lyrsvc.core.item import DetectorFinding

MUSIC: Final = ("Music", "Musical instrument")
VOCAL: Final = (
    "Singing",
    "Vocal music",
    "Choir",
    "A capella",
    "Chant",
    "Rapping",
    "Child singing",
    "Synthetic singing",
    "Yodeling",
    "Humming",
)
SPEECH: Final = ("Speech",)
MOST_NAMED: Final = 5


class IncompleteScores(LyrsvcError):
    """The classifier's answer cannot be used; it says nothing about the track."""

    code = "incomplete_scores"


@dataclass(frozen=True, kw_only=True, slots=True)
class Gates:
    """Which classes are looked at, and from where on they decide."""

    music_classes: tuple[str, ...] = MUSIC
    vocal_classes: tuple[str, ...] = VOCAL
    speech_classes: tuple[str, ...] = SPEECH
    min_music: float = 0.90
    vocal_below: float = 0.015
    speech_below: float = 0.20

    def version_of(self, model: str) -> str:
        """Name what scores are comparable with: the model, and the classes unless they are usual.

        Thresholds are no part of it: stored scores are judged again by the present ones.
        """
        classes = (self.music_classes, self.vocal_classes, self.speech_classes)
        if not model or tuple(map(frozenset, classes)) == _USUAL:
            return model
        told = "\n".join("\t".join(sorted(names)) for names in classes)
        return f"{model}+{sha256(told.encode()).hexdigest()[:8]}"


_USUAL: Final = (frozenset(MUSIC), frozenset(VOCAL), frozenset(SPEECH))


@dataclass(frozen=True, kw_only=True, slots=True)
class Scores:
    """What is kept of a classifier's answer."""

    music_sum: float
    vocal_peak: float
    vocal_class: str
    speech_mean: float


def read_scores(answer: object, gates: Gates) -> Scores:
    """Read the two maps of an answer; raise ``IncompleteScores`` when anything is missing."""
    mean, most = _map_of(answer, "mean"), _map_of(answer, "max")
    named = {*gates.music_classes, *gates.vocal_classes, *gates.speech_classes}
    missing = sorted(name for name in named if name not in mean or name not in most)
    if missing:
        shown = ", ".join(missing[:MOST_NAMED])
        raise IncompleteScores(f"{len(missing)} classes are missing: {shown}")
    loudest = max(gates.vocal_classes, key=lambda name: most[name], default="")
    return Scores(
        music_sum=math.fsum(mean[name] for name in dict.fromkeys(gates.music_classes)),
        vocal_peak=most[loudest] if loudest else 0.0,
        vocal_class=loudest,
        speech_mean=math.fsum(mean[name] for name in dict.fromkeys(gates.speech_classes)),
    )


def is_instrumental(scores: Scores, gates: Gates) -> bool:
    """Tell whether scores pass every gate: enough music, no voice, no speech."""
    return (
        scores.music_sum >= gates.min_music
        and scores.vocal_peak < gates.vocal_below
        and scores.speech_mean < gates.speech_below
    )


def stored_scores(finding: DetectorFinding) -> Scores | None:
    """Give the scores of an earlier finding; None when it has none."""
    music, vocal, speech = finding.music_sum, finding.vocal_peak, finding.speech_mean
    if music is None or vocal is None or speech is None:
        return None
    return Scores(
        music_sum=music, vocal_peak=vocal, vocal_class=finding.vocal_class, speech_mean=speech
    )


def _map_of(answer: object, name: str) -> Mapping[str, float]:
    found = answer.get(name) if isinstance(answer, Mapping) else None
    if not isinstance(found, Mapping) or not found:
        raise IncompleteScores(f'there is no map "{name}"')
    bad = sum(not _is_probability(value) for value in found.values())
    if bad:
        raise IncompleteScores(f'{bad} values of "{name}" are no probability')
    return found


def _is_probability(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= value <= 1  # type: ignore[operator]
