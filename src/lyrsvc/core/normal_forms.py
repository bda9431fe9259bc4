"""Unicode normal forms of text from outside, in time proportional to its length.

Sorting one endless run of combining marks costs quadratic time. No writing
system needs more than a few at a letter; Unicode's own stream-safe form allows 30.
"""

import re
import unicodedata
from typing import Final, Literal

MOST_MARKS: Final = 30
"""Further marks at one letter are dropped."""

# Marks are no word characters, so every endless run of them lies in such a stretch.
_STRETCH: Final = re.compile(rf"[^\w\s]{{{MOST_MARKS + 1},}}")


def normal_form(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """Normalise a text that may be hostile."""
    if text.isascii():
        return text
    return unicodedata.normalize(form, _STRETCH.sub(_with_fewer_marks, text))


def _with_fewer_marks(found: re.Match[str]) -> str:
    kept: list[str] = []
    marks = 0
    for character in found[0]:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks <= MOST_MARKS:
            kept.append(character)
    return "".join(kept)
