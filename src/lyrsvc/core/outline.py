"""The outline of a name: its brackets, its dash segments and the guests it mentions.

Works on the text as spelled, so that a shortened title can still be sent to a
provider. A lifted bracket leaves one private-use character in its place.
"""

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from lyrsvc.core.normal_forms import normal_form
from lyrsvc.core.numerals import NUMBER_WORDS

_FIRST_MARK: Final = 0xE000
_LAST_MARK: Final = 0xE0FF
MARKS: Final = re.compile(f"[{chr(_FIRST_MARK)}-{chr(_LAST_MARK)}]")

_DEEPEST: Final = 16
_PAIRS: Final = {"(": ")", "[": "]", "{": "}", "【": "】", "〔": "〕", "《": "》", "〈": "〉"}
_FULL_WIDTH: Final = str.maketrans(
    {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    | {"\u3000": " ", "\t": " ", "\r": " ", "\n": " "}
)
_DROPPED: Final = frozenset({"Cc", "Cf", "Cs", "Co"})
_DASH: Final = re.compile(r"\s[-‐‑‒–—―−﹘﹣]\s")
_GUEST: Final = re.compile(
    rf"(?<![^\W_])(feat|ft|featuring)(?![^\W_])\.?\s*"
    rf"([^{chr(_FIRST_MARK)}-{chr(_LAST_MARK)}]*[^\W_][^{chr(_FIRST_MARK)}-{chr(_LAST_MARK)}]*)",
    re.IGNORECASE,
)
_WITH: Final = re.compile(r"\s*(?:with\s+|w/\s*)(?P<names>\S.*)", re.IGNORECASE | re.DOTALL)
_FEET: Final = re.compile(
    rf"(?:\d|(?<![^\W_])(?<!\bthe )(?:{'|'.join(NUMBER_WORDS)}|hundred))\s*$", re.IGNORECASE
)
# "Dance (With Me)" names nobody.
_NOBODY: Final = frozenset(
    {
        *("me", "you", "u", "ya", "him", "her", "us", "them", "it", "myself", "yourself", "a"),
        *("an", "my", "your", "no", "love", "this", "that"),
    }
)


@dataclass(frozen=True, slots=True)
class Bracket:
    """A lifted bracket: its opening sign and its content, inner brackets lifted too."""

    opening: str
    content: str

    @property
    def closing(self) -> str:
        """Give the sign that ends it."""
        return _PAIRS[self.opening]


def tidy(text: str) -> str:
    """Compose a text and drop what nobody sees; full-width signs become plain ones."""
    plain = text.translate(_FULL_WIDTH)
    if not (plain.isascii() and plain.isprintable()):
        composed = normal_form("NFC", plain)
        plain = "".join(char for char in composed if unicodedata.category(char) not in _DROPPED)
    return " ".join(plain.split())


def lift_brackets(text: str) -> tuple[str, tuple[Bracket, ...]]:
    """Replace every balanced bracket by its mark; the n-th mark stands for the n-th bracket."""
    frames: list[tuple[str, list[str]]] = [("", [])]
    lifted: list[Bracket] = []
    for char in text:
        if char in _PAIRS and len(frames) <= _DEEPEST:
            frames.append((char, []))
        elif (depth := _depth_closed_by(char, frames)) and len(lifted) <= _LAST_MARK - _FIRST_MARK:
            _unwind(frames, depth)
            opening, content = frames.pop()
            frames[-1][1].append(chr(_FIRST_MARK + len(lifted)))
            lifted.append(Bracket(opening, "".join(content)))
        else:
            frames[-1][1].append(char)
    _unwind(frames, 0)
    return "".join(frames[0][1]), tuple(lifted)


def bracket_number(mark: str) -> int:
    """Give the place of the bracket a mark stands for."""
    return ord(mark) - _FIRST_MARK


def split_segments(text: str) -> list[str]:
    """Cut a text at dashes that stand between blanks."""
    return _DASH.split(text)


def cut_guests(text: str, *, from_start: bool = False) -> tuple[str, str]:
    """Split off what follows ``feat``, up to the next bracket.

    At the very start of a text the word is a name ("Ft. Worth"), unless told otherwise.
    """
    found = _GUEST.search(text)
    while found:
        before = text[: found.start()]
        is_feet = found[1].lower() == "ft" and _FEET.search(before)
        if not is_feet and (from_start or MARKS.sub("", before).strip()):
            return before + " " + text[found.end() :], found[2].strip()
        found = _GUEST.search(text, found.end(1))
    return text, ""


def cut_bracket_guests(content: str) -> tuple[str, str]:
    """Split off the guests a bracket names, with a leading ``with`` too."""
    company = _WITH.fullmatch(content)
    if company and company["names"].split()[0].strip(".,!?").lower() not in _NOBODY:
        return "", company["names"].strip()
    return cut_guests(content, from_start=True)


def _depth_closed_by(char: str, frames: list[tuple[str, list[str]]]) -> int:
    for depth in range(len(frames) - 1, 0, -1):
        if _PAIRS[frames[depth][0]] == char:
            return depth
    return 0


def _unwind(frames: list[tuple[str, list[str]]], depth: int) -> None:
    """Give brackets that were never closed back to the text around them."""
    while len(frames) > depth + 1:
        opening, content = frames.pop()
        frames[-1][1].extend((opening, *content))
