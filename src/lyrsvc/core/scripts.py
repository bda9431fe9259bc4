"""The script guard: whether words are written in a script the listener accepts.

Only letters count, after compatibility normalisation, so that full-width and
half-width forms are what they look like. Letters that belong to no script, such
as the okina, count neither way.
"""

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from lyrsvc.core.keys import match_key
from lyrsvc.core.normal_forms import normal_form
from lyrsvc.core.script_ranges import RANGES
from lyrsvc.core.verdict import Decision, Verdict

OTHER: Final = "Other"
SCRIPT_NAMES: Final = (
    "Latin",
    "Han",
    "Kana",
    "Hangul",
    "Cyrillic",
    "Greek",
    "Arabic",
    "Hebrew",
    "Thai",
    "Devanagari",
    OTHER,
)
"""The names a setting may use, in any case."""

REASON: Final = "script_guard"

CREDIT_HEAD_LINES: Final = 8
CREDIT_TAIL_LINES: Final = 4
CREDIT_LABELS: Final = frozenset(
    {
        *("lyrics", "lyrics by", "lyricist", "written by", "music", "music by", "composer"),
        *("composed by", "arranger", "arranged by", "producer", "produced by", "mixed by"),
        *("mixing", "mastered by", "mastering", "performed by", "vocals", "publisher"),
        *("作词", "作詞", "作曲", "编曲", "編曲", "制作人", "製作人", "混音", "母带", "监制"),
        *("词", "曲", "歌", "唄"),
    }
)

_COMMON: Final = "Common"
_LONGEST_LABEL: Final = 60
_CREDIT: Final = re.compile(rf"([^:：]{{1,{_LONGEST_LABEL}}})[:：]")
_BLOCK_WORDS: Final = {
    "CJK": "Han",
    "HIRAGANA": "Kana",
    "KATAKANA": "Kana",
    **{name.upper(): name for name in SCRIPT_NAMES},
}
"""First words of character names, for letters younger than the table."""


def canonical_script(name: str) -> str | None:
    """Give a script name as we spell it, or None when there is no such name."""
    wanted = name.strip().casefold()
    return next((known for known in SCRIPT_NAMES if known.casefold() == wanted), None)


def judge_script(lines: Iterable[str], *, accepted: Collection[str], threshold: float) -> Verdict:
    """Reject lines of which too many letters are foreign; no accepted script means no guard."""
    if accepted and foreign_share(lines, accepted) > threshold:
        return Verdict(decision=Decision.REJECT, reason=REASON)
    return Verdict(decision=Decision.ACCEPT, reason="")


def foreign_share(lines: Iterable[str], accepted: Collection[str]) -> float:
    """Tell which share of the letters lies outside the accepted scripts; credit lines aside."""
    welcome = {canonical_script(name) for name in accepted}
    counts = count_scripts("\n".join(without_credits(list(lines))))
    total = sum(counts.values())
    if not total:
        return 0.0
    return sum(n for script, n in counts.items() if script not in welcome) / total


def without_credits(lines: Sequence[str]) -> list[str]:
    """Drop the lines at both ends that name who wrote, played or published the song."""
    filled = [line for line in lines if line.strip()]
    last_head = CREDIT_HEAD_LINES
    first_tail = len(filled) - CREDIT_TAIL_LINES
    return [
        line
        for place, line in enumerate(filled)
        if not ((place < last_head or place >= first_tail) and is_credit(line))
    ]


def is_credit(line: str) -> bool:
    """Tell whether a line has the form ``<label>:<text>`` with the label of a credit."""
    found = _CREDIT.match(line.strip())
    if not found:
        return False
    label = match_key(found[1])
    return label in CREDIT_LABELS or label.replace(" ", "") in CREDIT_LABELS


def count_scripts(text: str) -> Counter[str]:
    """Count the letters of a text by script, under the names of ``SCRIPT_NAMES``."""
    counts: Counter[str] = Counter()
    for character, times in Counter(normal_form("NFKC", text)).items():
        script = script_of(character)
        if script is not None:
            counts[script] += times
    return counts


def main_script(text: str) -> str | None:
    """Name the script of more than half of the letters, or None when there is no such script."""
    counts = count_scripts(text)
    for script, times in counts.most_common(1):
        if 2 * times > counts.total():
            return script
    return None


def script_of(character: str) -> str | None:
    """Name the script of a letter; None for what is no letter or belongs to no script."""
    found = _fine_script(character)
    return found if found is None or found in SCRIPT_NAMES else OTHER


def _fine_script(character: str) -> str | None:
    if not unicodedata.category(character).startswith("L"):
        return None
    point = ord(character)
    place = bisect_right(_STARTS, point) - 1
    if place >= 0 and point <= _ENDS[place]:
        script = _SCRIPTS[place]
        return None if script == _COMMON else script
    word = unicodedata.name(character, OTHER).split(" ")[0].split("-")[0]
    return _BLOCK_WORDS.get(word, word.title())


def _table() -> list[tuple[int, int, str]]:
    rows = []
    for name, ranges in RANGES.items():
        for span in ranges.split():
            first, _, last = span.partition("-")
            rows.append((int(first, 16), int(last or first, 16), name))
    return sorted(rows)


_STARTS, _ENDS, _SCRIPTS = zip(*_table(), strict=True)
