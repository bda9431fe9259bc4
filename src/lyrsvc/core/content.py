"""Sanity of the words: whether a text is a song at all, and whether two texts are one song."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from lyrsvc.core.han_forms import fold_han
from lyrsvc.core.keys import match_key
from lyrsvc.core.lrc import split_lines
from lyrsvc.core.lyric_lines import is_text_bearing
from lyrsvc.core.lyrics import Candidate, Cue
from lyrsvc.core.normal_forms import normal_form
from lyrsvc.core.scripts import main_script
from lyrsvc.core.verdict import Decision, Verdict

MOST_CHARACTERS: Final = 200_000
MOST_LINES: Final = 5_000
LONG_TRACK_MS: Final = 60_000
FEW_LETTERS: Final = 40
CLAIM_LINES: Final = 4
"""An instrumental flag with fewer lines than this is a claim; with more it is ignored."""

TOO_LONG: Final = "too_long"
PLACEHOLDER: Final = "placeholder_text"
"""The lane has no words; with every other reason it gave wrong ones."""
TOO_FEW: Final = "too_few_lines"
SPAM: Final = "spam_text"

PLACEHOLDERS: Final = frozenset(
    {
        "lyrics not available",
        "no lyrics found",
        "lyrics coming soon",
        "lyrics will be added soon",
        "we do not have the lyrics",
        "not licensed for display",
        "add lyrics",
        "lyrics wanted",
    }
)

CONFLICT_WORDS: Final = 20
WORD_LETTERS: Final = 3
UNSPACED_SCRIPTS: Final = frozenset({"Han", "Kana", "Thai", "Other"})
"""Written without blanks between words (or possibly so): compared by runs of three letters."""
SPARING_SCRIPTS: Final = frozenset({"Arabic", "Hebrew", "Cyrillic"})
"""Vowel signs and stress are written by some and left out by most: compared without them."""

_LONGEST_PLACEHOLDER: Final = 400
_SPAM: Final = re.compile(
    r"https?:|\bwww\.|(?<![\w@.])@\w|\bdiscord\.gg\b|(?<![\w.])t\.me/", re.IGNORECASE
)
_ACCEPT: Final = Verdict(decision=Decision.ACCEPT, reason="")


def judge_content(candidate: Candidate, *, asked_ms: int | None) -> tuple[Candidate, Verdict]:
    """Judge synced and plain words each on their own, and drop the ones that fail.

    The candidate is rejected only when it had words and none are left; a few
    words beside an instrumental flag are no fault.
    """
    synced = fault_of([cue.text for cue in candidate.cues], candidate, asked_ms)
    plain = fault_of(split_lines(candidate.plain or ""), candidate, asked_ms)
    kept = candidate
    if synced:
        kept = replace(kept, cues=(), translation=None)
    if plain:
        kept = replace(kept, plain=None)
    fault = synced or plain
    is_claim = kept.instrumental and fault == PLACEHOLDER
    if not fault or kept.cues or kept.plain or is_claim:
        return kept, _ACCEPT
    return kept, Verdict(decision=Decision.REJECT, reason=fault)


def fault_of(lines: Sequence[str], candidate: Candidate, asked_ms: int | None) -> str:
    """Name what is wrong with these lines, or give an empty text."""
    if exceeds_limits(lines):
        return TOO_LONG
    sung = [line for line in lines if is_text_bearing(line)]
    if not sung:
        return ""
    if _unpunctuated(" ".join(sung)) in PLACEHOLDERS:
        return PLACEHOLDER
    if not candidate.instrumental and _is_too_short(sung, asked_ms):
        return TOO_FEW
    if 2 * sum(_SPAM.search(line) is not None for line in sung) >= len(sung):
        return SPAM
    return ""


def exceeds_limits(lines: Sequence[str]) -> bool:
    """Tell whether a text is longer than any song."""
    return len(lines) > MOST_LINES or sum(map(len, lines)) + len(lines) - 1 > MOST_CHARACTERS


def count_text_lines(candidate: Candidate) -> int:
    """Count the lines with words, in whichever of the two texts has more."""
    return max(_count(_texts(candidate.cues)), _count(split_lines(candidate.plain or "")))


def is_instrumental_claim(candidate: Candidate) -> bool:
    """Tell whether the provider says instrumental and hardly any words speak against it."""
    return candidate.instrumental and count_text_lines(candidate) < CLAIM_LINES


def texts_conflict(first: str, second: str) -> bool:
    """Tell whether two texts for one recording are certainly two different songs."""
    script = main_script(first)
    if script is None or script != main_script(second):
        return False
    ours, theirs = _vocabulary(first, script), _vocabulary(second, script)
    return min(len(ours), len(theirs)) >= CONFLICT_WORDS and ours.isdisjoint(theirs)


def _is_too_short(sung: Sequence[str], asked_ms: int | None) -> bool:
    if len(sung) >= 2:
        return False
    if asked_ms:
        return asked_ms > LONG_TRACK_MS
    return sum(character.isalpha() for line in sung for character in line) < FEW_LETTERS


def _vocabulary(text: str, script: str) -> set[str]:
    key = fold_han(match_key(text))
    if script in SPARING_SCRIPTS:
        key = _without_marks(key)
    words = {word for word in _words(key) if len(word) >= WORD_LETTERS}
    if script not in UNSPACED_SCRIPTS:
        return words
    return {
        word[at : at + WORD_LETTERS] for word in words for at in range(len(word) - WORD_LETTERS + 1)
    }


def _without_marks(key: str) -> str:
    return "".join(c for c in normal_form("NFD", key) if not unicodedata.combining(c))


def _words(key: str) -> list[str]:
    """Divide a key into runs of letters with their marks."""
    spaced = "".join(c if unicodedata.category(c)[0] in "LM" else " " for c in key)
    return spaced.split()


def _unpunctuated(text: str) -> str:
    if len(text) > _LONGEST_PLACEHOLDER:
        return text
    kept = "".join(" " if unicodedata.category(c)[0] in "PS" else c for c in text)
    return " ".join(kept.casefold().split())


def _texts(cues: Iterable[Cue]) -> list[str]:
    return [cue.text for cue in cues]


def _count(lines: Iterable[str]) -> int:
    return sum(map(is_text_bearing, lines))
