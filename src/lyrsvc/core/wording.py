"""The compare form of a name and the words it consists of; used by the match guard alone."""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from lyrsvc.core.alphabets import letter_scripts
from lyrsvc.core.keys import match_key
from lyrsvc.core.numerals import PART_WORDS, has_digit, read_numbers

ARTICLES: Final = frozenset({"the", "a", "an"})

# Hardly anybody types these: the vowel signs of Arabic and Hebrew, the stop of Hawaiian.
_UNWRITTEN: Final = (*range(0x591, 0x5BE), 0x5BF, 0x5C1, 0x5C2, 0x5C7, *range(0x64B, 0x653), 0x670)
_LETTERS: Final = str.maketrans(
    {
        **dict.fromkeys((*map(chr, _UNWRITTEN), *"ـʻʽʾʿ"), ""),
        **dict.fromkeys("أإآٱ", "ا"),
        **{"ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه"},
        **{"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe"},
        **{"ı": "i", "ħ": "h", "ŋ": "n", "ё": "е", "♯": "#"},
        **dict.fromkeys("×✕✖", "x"),
    }
)
_LETTER: Final = r"[^\W\d_]"
_REWRITES: Final = (
    ("!", re.compile(rf"(?<={_LETTER})!(?={_LETTER})"), "i"),
    ("$", re.compile(rf"(?<={_LETTER})\$+|\$+(?={_LETTER})"), lambda m: "s" * len(m[0])),
    ("+", re.compile(r"(?<=\s)\+(?=\s(?!\d))|(?<!\d\s)(?<=\s)\+(?=\s)"), "and"),
    ("n", re.compile(r"(?<=[\s-])n(?=[\s-])"), "and"),
    ("°", re.compile(r"(?<![^\W_])n°(?=\s?\d)"), "no."),
    ("w/", re.compile(r"(?<![^\W_])w/\s*"), "with "),
    (
        ".",
        re.compile(rf"(?<![^\W_])(?:{_LETTER}\.)+{_LETTER}(?![^\W_])\.?"),
        lambda m: m[0].replace(".", ""),
    ),
)
_AND: Final = re.compile(r"(?<=[^\W_])['‘’´`ʼ]n(?:['‘’´`ʼ]|(?=\s))", re.IGNORECASE)
_SILENT: Final = frozenset("™®©℗℠♪♫~^|<>=+$`")
_DECIMAL: Final = re.compile(r"\d\.\d")


@dataclass(frozen=True, slots=True)
class Words:
    """A text in compare form: its tokens, its symbols, and both in their order.

    ``spelled`` are the tokens as written, ``tokens`` those with numbers read,
    ``symbols`` those before each token and after the last. ``signs`` stands
    for a text without tokens.
    """

    spelled: tuple[str, ...]
    tokens: tuple[str, ...]
    symbols: tuple[str, ...]
    signs: str
    has_decimal: bool

    @property
    def is_blank(self) -> bool:
        """Tell whether nothing at all is left."""
        return not self.tokens and not self.signs

    @property
    def numbers(self) -> tuple[str, ...]:
        """Give the tokens that hold a digit."""
        return tuple(token for token in self.tokens if has_digit(token))

    @property
    def plain_words(self) -> tuple[str, ...]:
        """Give the tokens that are neither numbers nor part words."""
        return tuple(t for t in self.tokens if not has_digit(t) and t not in PART_WORDS)

    @property
    def mixed(self) -> str:
        """Give tokens and symbols in their order, without blanks."""
        return "".join(
            symbol + token for symbol, token in zip(self.symbols, (*self.spelled, ""), strict=True)
        )

    @property
    def scripts(self) -> frozenset[str]:
        """Name the writing systems of the letters."""
        return letter_scripts(self.spelled)


def compare_form(text: str) -> str:
    """Give the match key with the spelling tricks of names undone."""
    form = match_key(_AND.sub(" n ", text) if "n" in text.lower() else text).translate(_LETTERS)
    for trigger, pattern, replacement in _REWRITES:
        if trigger in form:
            form = pattern.sub(replacement, form)
    return form


@lru_cache(maxsize=512)
def words_of(text: str) -> Words:
    """Read a text into its words."""
    form = compare_form(text)
    tokens, gaps = _split(form)
    if not tokens:
        signs = "".join(form.split())
        return Words((), (), (), signs, has_decimal=False)
    return Words(
        spelled=tuple(tokens),
        tokens=read_numbers(tokens, gaps),
        symbols=tuple(_symbols(gap) for gap in gaps),
        signs="",
        has_decimal=_DECIMAL.search(form) is not None,
    )


def same_words(one: Words, other: Words) -> bool:
    """Tell whether two texts have the same words, blanks and masked letters aside."""
    if not one.tokens or not other.tokens:
        return bool(one.signs) and one.signs == other.signs
    return (
        _lists_fit(one.tokens, other.tokens)
        or _lists_fit(one.spelled, other.spelled)
        or _joined_fit(one, other)
    )


def symbols_clash(one: Words, other: Words) -> bool:
    """Tell whether both texts have symbols, but others or in other places."""
    if not any(one.symbols) or not any(other.symbols):
        return False
    return one.symbols != other.symbols and one.mixed != other.mixed


def tokens_fit(one: str, other: str) -> bool:
    """Compare two tokens; ``*`` stands for one letter."""
    if one == other:
        return True
    if "*" not in one and "*" not in other:
        return False
    return len(one) == len(other) and all(map(_chars_fit, one, other))


def _chars_fit(one: str, other: str) -> bool:
    if one == other:
        return True
    return (one == "*" and other.isalpha()) or (other == "*" and one.isalpha())


def _lists_fit(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return len(one) == len(other) and all(map(tokens_fit, one, other))


def _joined_fit(one: Words, other: Words) -> bool:
    # "2.0" joined is "20": another number, not another spelling.
    if one.has_decimal != other.has_decimal and one.numbers != other.numbers:
        return False
    return any(
        tokens_fit(left, right) or left.replace("*", "") == right.replace("*", "")
        for left, right in (
            ("".join(one.spelled), "".join(other.spelled)),
            ("".join(one.tokens), "".join(other.tokens)),
        )
    )


def _split(form: str) -> tuple[list[str], list[str]]:
    """Cut a compare form into tokens and the gaps around them."""
    tokens: list[str] = []
    gaps: list[str] = [""]
    inside = False
    for char in form:
        if _is_word_char(char) or (inside and _stays_inside(char, tokens[-1])):
            if inside:
                tokens[-1] += char
            else:
                tokens.append(char)
                gaps.append("")
            inside = True
        else:
            gaps[-1] += char
            inside = False
    return tokens, gaps


def _stays_inside(char: str, token: str) -> bool:
    if char == "*":
        return token[-1] == "*" or token[-1].isalpha()
    return unicodedata.category(char)[0] == "M"


@lru_cache(maxsize=4096)
def _is_word_char(char: str) -> bool:
    return char.isalnum()


def _symbols(gap: str) -> str:
    return "".join(c for c in gap if unicodedata.category(c)[0] == "S" and c not in _SILENT)
