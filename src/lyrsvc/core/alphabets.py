"""Which writing system a letter belongs to, as far as comparing names needs it."""

import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

_SAME_SYSTEM: Final = {
    "CJK": "HAN",
    "IDEOGRAPHIC": "HAN",
    "HIRAGANA": "KANA",
    "KATAKANA": "KANA",
    "KATAKANA-HIRAGANA": "KANA",
    "MODIFIER": "",
}


@lru_cache(maxsize=4096)
def letter_script(char: str) -> str:
    """Name the writing system of a letter; empty for everything that is no letter."""
    if "a" <= char <= "z":
        return "LATIN"
    if unicodedata.category(char)[0] != "L":
        return ""
    first = unicodedata.name(char, "").partition(" ")[0]
    return _SAME_SYSTEM.get(first, first)


def letter_scripts(text: Iterable[str]) -> frozenset[str]:
    """Name every writing system that occurs in the letters of a text."""
    return frozenset(letter_script(char) for char in "".join(text)) - {""}
