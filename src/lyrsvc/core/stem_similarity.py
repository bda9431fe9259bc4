"""How much alike the names of an orphan and an audio file are: the name guard of realign.

Only titles are compared, or file names where there is no title. What says nothing
about the song is left out; another version or another number is another song.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from lyrsvc.core import outline
from lyrsvc.core.keys import match_key
from lyrsvc.core.numerals import NUMBER_WORDS, ROMANS
from lyrsvc.core.similarity import name_likeness
from lyrsvc.core.wording import ARTICLES

VERSIONS: Final = frozenset(
    {
        *("live", "concert", "acoustic", "unplugged", "remix", "mix", "edit", "demo"),
        *("instrumental", "karaoke", "cover", "acapella", "reprise", "sped", "slowed"),
    }
)
"""Words that, in brackets or behind a dash, make another version of a song."""

_TRACK_NUMBER: Final = re.compile(
    r"[\[(]?(?:\d{1,2}[-.]\d{1,3}|[a-d]?\d{1,3})[\])]?(?:\s*[-._]\s*|\s+)"
)
_NEUTRAL: Final = re.compile(
    r"remaster(?:ed)?|mono|stereo|deluxe|explicit|clean|single|album|version|edition"
    r"|anniversary|bonus|original|(?:19|20)\d\d|\d+(?:st|nd|rd|th)"
)
_BEFORE_NUMBER: Final = frozenset(
    {
        *("part", "pt", "vol", "volume", "no", "number", "chapter", "act", "book", "movement"),
        *("side", "disc"),
    }
)
_LAST_ROMAN: Final = 12
_LAST_WORD: Final = 10
_ROMAN: Final = {word: value for word, value in ROMANS.items() if int(value) <= _LAST_ROMAN}
_SPELLED: Final = {word: value for word, value in NUMBER_WORDS.items() if int(value) <= _LAST_WORD}
_DIGITS: Final = re.compile(r"\d+")
_TAIL_WORTH: Final = 0.9
"""What a tail scores is less than what a whole name does."""
_MOST_TAILS: Final = 4


@dataclass(frozen=True, slots=True)
class Name:
    """A name in the forms it may be compared in: a file name has one without track number too.

    ``tails`` are what follows the dashes of a file name, where artist and album may come
    first. They stand for a title only: two file names are compared as a whole.
    """

    forms: tuple["_Form", ...]
    tails: tuple["_Form", ...] = ()
    is_title: bool = False


def read_name(title: str, stem: str) -> Name:
    """Read a title, or the stem where the title is blank."""
    key = _key(title)
    if key:
        return Name((_form(key),), is_title=True)
    key = _key(stem.replace("_", " "))
    whole = _with_and_without_number(key)
    tails = (form for tail in _tails(key) for form in _with_and_without_number(tail))
    return Name(whole, tuple(dict.fromkeys(form for form in tails if form not in whole)))


def likeness(one: Name, other: Name) -> float:
    """Give how much alike two names are, from 0 to 1; the best pair of forms counts."""
    whole = max((_score(a, b) for a in one.forms for b in other.forms), default=0.0)
    if one.is_title == other.is_title:
        return whole
    titles, tails = (one.forms, other.tails) if one.is_title else (other.forms, one.tails)
    ends = max((_score(a, b) for a in titles for b in tails), default=0.0)
    return max(whole, _TAIL_WORTH * ends)


@dataclass(frozen=True, slots=True)
class _Form:
    key: str
    text: str
    versions: frozenset[str]
    numbers: tuple[str, ...]


def _score(one: _Form, other: _Form) -> float:
    if one.key == other.key:
        return 1.0
    if one.versions != other.versions or one.numbers != other.numbers:
        return 0.0
    if not one.text or not other.text:
        return 0.0
    return 1.0 if one.text == other.text else name_likeness(one.text, other.text)


def _key(text: str) -> str:
    """Give the match key of a text that holds none of the signs a lifted bracket leaves."""
    return match_key(outline.tidy(text))


def _with_and_without_number(key: str) -> tuple["_Form", ...]:
    bare = _TRACK_NUMBER.sub("", key, count=1) if _TRACK_NUMBER.match(key) else ""
    return tuple(_form(each) for each in dict.fromkeys((key, bare)) if each)


def _tails(key: str) -> list[str]:
    """Give what follows each dash, unless that only says which version it is."""
    segments = outline.split_segments(key)
    starts = range(max(1, len(segments) - _MOST_TAILS), len(segments))
    tails = [segments[start:] for start in starts]
    return [" - ".join(tail).strip() for tail in tails if not all(map(_is_epithet, tail))]


def _is_epithet(segment: str) -> bool:
    """Tell whether a segment is made of words that are no title: "live", "2011 remaster"."""
    return all(w in VERSIONS or _NEUTRAL.fullmatch(w) for w in _words(segment))


@lru_cache(maxsize=4096)
def _form(key: str) -> _Form:
    bare, brackets = outline.lift_brackets(key)
    segments = [
        outline.cut_guests(segment, from_start=bool(place))[0]
        for place, segment in enumerate(outline.split_segments(bare))
    ]
    plain = [outline.MARKS.sub(" ", segment) for segment in segments]
    inner = [
        outline.cut_bracket_guests(outline.MARKS.sub(" ", bracket.content))[0]
        for bracket in brackets
    ]
    said = frozenset(word for part in (*plain[1:], *inner) for word in _words(part))
    while len(plain) > 1 and _is_neutral(plain[-1]):
        plain.pop()
    kept = [part for part in inner if not _is_neutral(part)]
    if not any(map(_words, plain)):
        plain, kept = inner, []
    main = [_read_numbers(_words(part)) for part in plain]
    beside = [_read_numbers(_words(part)) for part in kept]
    return _Form(
        key=key,
        text=" ".join(_without_article([word for part in main for word in part])),
        versions=said & VERSIONS,
        numbers=tuple(
            str(int(run)) for part in (*main, *beside) for word in part for run in _runs(word)
        ),
    )


def _words(text: str) -> list[str]:
    return "".join(char if _is_word_char(char) else " " for char in text).split()


@lru_cache(maxsize=4096)
def _is_word_char(char: str) -> bool:
    return char.isalnum() or unicodedata.category(char)[0] == "M"


def _runs(word: str) -> list[str]:
    return [run[:18] for run in _DIGITS.findall(word)]


def _is_neutral(part: str) -> bool:
    words = _words(part)
    return bool(words) and all(map(_NEUTRAL.fullmatch, words))


def _read_numbers(words: list[str]) -> list[str]:
    """Replace numerals by their decimal value."""
    read: list[str] = []
    for place, word in enumerate(words):
        counted = bool(place) and words[place - 1] in _BEFORE_NUMBER
        if word in _ROMAN and (counted or place == len(words) - 1):
            read.append(_ROMAN[word])
        elif counted and word in _SPELLED:
            read.append(_SPELLED[word])
        else:
            read.append(_plain(word))
    return read


def _plain(word: str) -> str:
    return str(int(word)) if word.isdecimal() and len(word) <= 18 else word


def _without_article(words: list[str]) -> list[str]:
    return words[1:] if len(words) > 1 and words[0] in ARTICLES else words
