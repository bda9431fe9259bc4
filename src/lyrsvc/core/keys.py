"""The match key: one normal form of a name for cache, inventory, queue, webhook and realign.

Two names with equal match keys are the same artist or title. The rule is
idempotent, equal for composed and decomposed input, and marked by
``KEY_VERSION``: rows of an older version are keyed anew by the next scan.
"""

import unicodedata
from functools import lru_cache
from typing import Final

from lyrsvc.core.alphabets import letter_script
from lyrsvc.core.normal_forms import normal_form

KEY_VERSION: Final = 1
BUCKET_MS: Final = 5000
NEAR_MS: Final = 3000
"""How far apart in length two files of one recording may be; less than a bucket."""

_APOSTROPHES: Final = "'‘’‚‛´ʹʼ′`\u1ffd\uff07"
_QUOTES: Final = "“”„‟«»″〝〞〟\uff02"
_DASHES: Final = "‐‑‒–—―−\ufe58\ufe63\uff0d"
_FOLDS: Final = str.maketrans(
    {
        **dict.fromkeys(_APOSTROPHES, ""),
        **dict.fromkeys(_QUOTES, '"'),
        **dict.fromkeys(_DASHES, "-"),
        **dict.fromkeys("〜～", "~"),
        **dict.fromkeys("&＆", " and "),
        **dict.fromkeys("\t\r\n", " "),
        **{chr(code): "" for code in (*range(9), 11, 12, *range(14, 32), 127)},
    }
)
_DROPPED: Final = frozenset({"Cs", "Cc", "Cf"})
_LONGEST_RECALLED: Final = 100
_BARE_SCRIPTS: Final = frozenset({"LATIN", "GREEK"})


def match_key(text: str) -> str:
    """Give the normal form of a name."""
    return _recalled(text) if len(text) <= _LONGEST_RECALLED else _made(text)


def _made(text: str) -> str:
    folded = text.translate(_FOLDS)
    if folded.isascii():
        return " ".join(folded.lower().split())
    return _fold_unicode(folded)


_recalled: Final = lru_cache(maxsize=256)(_made)
"""The same few names are asked for again and again while their song is dealt with."""


def duration_bucket(duration_ms: int | None) -> int:
    """Give the five-second step of a length, 0 when it is unknown."""
    return duration_ms // BUCKET_MS if duration_ms and duration_ms > 0 else 0


def _fold_unicode(folded: str) -> str:
    text = normal_form("NFKC", _drop_controls(folded))
    text = normal_form("NFKC", text.casefold())
    text = _drop_controls(text.translate(_FOLDS))
    return " ".join(_drop_accents(text).split())


def _drop_controls(text: str) -> str:
    return "".join(char for char in text if unicodedata.category(char) not in _DROPPED)


def _drop_accents(text: str) -> str:
    kept: list[str] = []
    bare = False
    for char in normal_form("NFD", text):
        category = unicodedata.category(char)
        if category[0] != "M":
            bare = letter_script(char) in _BARE_SCRIPTS
        if not (bare and category == "Mn"):
            kept.append(char)
    return normal_form("NFC", "".join(kept))
