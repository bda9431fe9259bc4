"""When two words or names are near: a slip of the pen apart, not more."""

from typing import Final

from lyrsvc.core.alphabets import letter_script

_ALPHABETS: Final = frozenset({"LATIN", "GREEK", "CYRILLIC"})
_LONG_LETTERS: Final = 10
_WORD_LETTERS: Final = 4
_WORD_LIKENESS: Final = 0.93
_NAME_LETTERS: Final = 5
_NAME_LIKENESS: Final = 0.90
_START_LETTERS: Final = 4
_START_WEIGHT: Final = 0.1


def near_words(one: str, other: str) -> bool:
    """Tell whether two words of a title are near."""
    return _near(one, other, letters=_WORD_LETTERS, likeness=_WORD_LIKENESS)


def near_names(one: str, other: str) -> bool:
    """Tell whether two names of artists, written without blanks, are near."""
    return _near(one, other, letters=_NAME_LETTERS, likeness=_NAME_LIKENESS)


def edit_distance(one: str, other: str, *, limit: int | None = None) -> int:
    """Count the edits between two texts, a transposition being one; above the limit stop early."""
    from rapidfuzz.distance import OSA

    return OSA.distance(one, other, score_cutoff=limit)


def jaro_winkler(one: str, other: str) -> float:
    """Give the Jaro-Winkler likeness of two texts, from 0 to 1."""
    from rapidfuzz.distance import JaroWinkler

    return JaroWinkler.similarity(one, other)


def name_likeness(one: str, other: str) -> float:
    """Give the Jaro-Winkler likeness as first defined: a common start counts at every likeness.

    The usual one grants it to texts that are much alike only.
    """
    from rapidfuzz.distance import Jaro, Prefix

    likeness = Jaro.similarity(one, other)
    start = min(Prefix.similarity(one, other), _START_LETTERS)
    return likeness + start * _START_WEIGHT * (1.0 - likeness)


def _near(one: str, other: str, *, letters: int, likeness: float) -> bool:
    shorter = min(len(one), len(other))
    limit = 2 if shorter >= _LONG_LETTERS else 1
    if shorter < letters or abs(len(one) - len(other)) > limit:
        return False
    if not (_is_alphabetic(one) and _is_alphabetic(other)):
        return False
    return edit_distance(one, other, limit=limit) <= limit and jaro_winkler(one, other) >= likeness


def _is_alphabetic(text: str) -> bool:
    return all(letter_script(char) in _ALPHABETS for char in text)
