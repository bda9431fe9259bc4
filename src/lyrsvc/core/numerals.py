"""Numbers in titles: part words, leading zeros, roman numerals, number words."""

import re
from collections.abc import Sequence
from typing import Final
from unicodedata import decimal

PART_WORDS: Final = frozenset(
    {
        *("part", "no", "volume", "opus", "movement", "chapter", "episode", "act", "scene"),
        *("book", "phase", "side", "disc"),
    }
)
NUMBER_WORDS: Final = {
    **{"one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6"},
    **{"seven": "7", "eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12"},
}
ROMANS: Final = {
    tens + ones: str(10 * ten + one)
    for ten, tens in enumerate(("", "x", "xx", "xxx"))
    for one, ones in enumerate(("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"))
    if ten + one
}

_ABBREVIATIONS: Final = {
    "pt": "part",
    "pts": "part",
    "vol": "volume",
    "op": "opus",
    "mvt": "movement",
    "ch": "chapter",
    "ep": "episode",
    "nr": "no",
}
# Words of their own ("Spare Parts", "Wrong Number") unless a number follows.
_BEFORE_NUMBER: Final = {"parts": "part", "number": "no"}
_GLUED: Final = re.compile(rf"({'|'.join((*_ABBREVIATIONS, *PART_WORDS))})(\d+)")
_HEADING: Final = re.compile(r"\.(?:\s|$)")


def read_numbers(tokens: Sequence[str], gaps: Sequence[str]) -> tuple[str, ...]:
    """Give the tokens with part words unified and numbers read.

    ``gaps`` holds the text before each token and, last, the text after all of them.
    """
    read: list[str] = []
    for index, token in enumerate(tokens):
        before = read[-1] if read else ""
        if glued := _GLUED.fullmatch(token):
            read += [_unify(glued[1], follows_number=True), _plain(glued[2])]
        elif token in ROMANS and _is_roman(tokens, gaps, index, before=before):
            read.append(ROMANS[token])
        elif before in PART_WORDS and token in NUMBER_WORDS:
            read.append(NUMBER_WORDS[token])
        else:
            read.append(_unify(_plain(token), follows_number=_starts_number(tokens, index + 1)))
    return _without_number_sign(read, gaps)


def has_digit(token: str) -> bool:
    """Tell whether a token counts as a number."""
    return any(char.isdigit() for char in token)


def _unify(word: str, *, follows_number: bool) -> str:
    if follows_number and word in _BEFORE_NUMBER:
        return _BEFORE_NUMBER[word]
    return _ABBREVIATIONS.get(word, word)


def _plain(token: str) -> str:
    """Write a number in common digits and without leading zeros: "٠٢" is "2"."""
    if not token.isdecimal():
        return token
    return "".join(str(decimal(digit)) for digit in token).lstrip("0") or "0"


def _starts_number(tokens: Sequence[str], index: int) -> bool:
    if index >= len(tokens):
        return False
    return tokens[index] in ROMANS or tokens[index] in NUMBER_WORDS or has_digit(tokens[index])


def _is_roman(tokens: Sequence[str], gaps: Sequence[str], index: int, *, before: str) -> bool:
    if len(tokens[index]) > 1 or before in PART_WORDS:
        return True
    if len(tokens) > 1 and index == len(tokens) - 1:
        return True
    heads = index == 0 or ":" in gaps[index] or "-" in gaps[index]
    return heads and _HEADING.match(gaps[index + 1]) is not None


def _without_number_sign(read: list[str], gaps: Sequence[str]) -> tuple[str, ...]:
    """Drop the ``no`` of "No. 5", so that it equals "#5" and "5"; a sung "no" stays."""
    kept: list[str] = []
    for index, word in enumerate(read):
        follows = read[index + 1] if index + 1 < len(read) else ""
        if not (word == "no" and follows.isdecimal() and (index or gaps[1].startswith("."))):
            kept.append(word)
    return tuple(kept)
