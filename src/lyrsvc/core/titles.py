"""How a title is read, and shortened for a query.

A title has a core, extras (brackets that belong to the name), guests, and
parts that qualify the recording; what those say is told by ``qualifiers``.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from lyrsvc.core import outline
from lyrsvc.core.numerals import PART_WORDS, has_digit
from lyrsvc.core.outline import Bracket
from lyrsvc.core.qualifiers import Kind, Qualified, qualify
from lyrsvc.core.wording import ARTICLES, Words, words_of

GENERIC: Final = frozenset(
    {
        *("intro", "outro", "interlude", "prelude", "untitled", "skit", "reprise", "overture"),
        *("finale", "theme"),
        *("instrumental", "hidden track", "bonus track"),
    }
)
_BLANKS: Final = re.compile(r"\s+")
_QUOTED_ORIGIN: Final = re.compile(r"\sfrom\s[\"“„«]", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Title:
    """A title as read: the name, and what is said beside it.

    ``full`` is the core with its extras in place; ``stated`` holds every word
    but those of guests and neutral parts; ``quotes_origin`` tells of a ``from "…"``.
    """

    core: Words
    full: Words
    extras: tuple[Words, ...] = ()
    guests: tuple[str, ...] = ()
    kinds: Mapping[Kind, frozenset[str]]
    stated: tuple[str, ...] = ()
    quotes_origin: bool = False

    @property
    def is_symbolic(self) -> bool:
        """Tell whether the title has no word at all."""
        return not self.full.tokens

    @property
    def is_generic(self) -> bool:
        """Tell whether any album may have a track of this name; a number changes nothing."""
        words = [token for token in self.full.tokens if not has_digit(token)]
        if words == ["track"]:
            return bool(self.full.numbers)
        if len(words) > 1 and words[0] in ARTICLES:
            words = words[1:]
        return " ".join(word for word in words if word not in PART_WORDS) in GENERIC


def base_title(title: str, *, artists: Collection[str] = ()) -> str:
    """Shorten a title for a search: no guests, no qualifiers.

    ``artists`` are name forms; a leading segment that is one of them goes too.
    """
    return _shorten(title, artists, keep=lambda said: not said)


def query_title(title: str, *, artists: Collection[str] = ()) -> str:
    """Shorten a title for a query: no guests, nothing neutral; other qualifiers stay."""
    return _shorten(title, artists, keep=lambda said: not said.neutral)


@lru_cache(maxsize=256)
def read_title(title: str, artists: frozenset[str] = frozenset()) -> Title:
    """Read a title; a first segment that is one of the artists' name forms is dropped."""
    parts = _take_apart(title, artists)
    core = words_of(parts.render(_is_name, bare=True))
    if core.is_blank:
        return _read_bracketed(parts, title)
    return Title(
        core=core,
        full=words_of(parts.render(_is_name)),
        extras=tuple(words_of(head) for head, said in parts.heads if head and not said),
        guests=parts.guests,
        kinds=_merge(said for _, said in (*parts.segments, *parts.heads)),
        stated=words_of(parts.render(lambda said: not said.neutral)).spelled,
        quotes_origin=_QUOTED_ORIGIN.search(title) is not None,
    )


@dataclass(frozen=True, slots=True)
class _Parts:
    """The pieces of a title as spelled, each with what it says."""

    segments: tuple[tuple[str, Qualified], ...]
    heads: tuple[tuple[str, Qualified], ...]
    brackets: tuple[Bracket, ...]
    guests: tuple[str, ...]

    def render(self, keep: Callable[[Qualified], bool], *, bare: bool = False) -> str:
        """Write the parts that are kept; ``bare`` leaves out every bracket."""
        text = " - ".join(head for head, said in self.segments if keep(said))
        text += "".join(
            mark
            for head, said in self.segments
            if not keep(said)
            for mark in outline.MARKS.findall(head)
        )
        while outline.MARKS.search(text):
            text = outline.MARKS.sub(lambda mark: self._bracket(mark[0], keep, bare=bare), text)
        return _BLANKS.sub(" ", text).strip()

    def _bracket(self, mark: str, keep: Callable[[Qualified], bool], *, bare: bool) -> str:
        number = outline.bracket_number(mark)
        bracket, (head, said) = self.brackets[number], self.heads[number]
        inner = "".join(outline.MARKS.findall(bracket.content))
        if bare or not head or not keep(said):
            return f" {inner} "
        return f" {bracket.opening}{head}{bracket.closing}{inner} "


def _is_name(said: Qualified) -> bool:
    return not said


def _shorten(title: str, artists: Collection[str], *, keep: Callable[[Qualified], bool]) -> str:
    short = _take_apart(title, artists).render(keep)
    return short if not words_of(short).is_blank else _BLANKS.sub(" ", title).strip()


def _take_apart(title: str, artists: Collection[str]) -> _Parts:
    text, brackets = outline.lift_brackets(outline.tidy(title))
    guests: list[str] = []
    heads = tuple(_read_bracket(bracket.content, guests) for bracket in brackets)
    segments: list[tuple[str, Qualified]] = []
    for segment in outline.split_segments(text):
        head, named = outline.cut_guests(segment, from_start=bool(segments))
        guests.append(named)
        said = qualify(outline.MARKS.sub(" ", head)) if segments else Qualified()
        segments.append((head, said))
    kept = segments[1:] if _starts_with_artist(segments, artists) else segments
    return _Parts(tuple(kept), heads, brackets, tuple(filter(None, guests)))


def _read_bracket(content: str, guests: list[str]) -> tuple[str, Qualified]:
    heads: list[str] = []
    for segment in outline.split_segments(outline.MARKS.sub(" ", content)):
        head, named = outline.cut_bracket_guests(segment)
        guests.append(named)
        heads.append(head.strip())
    head = " - ".join(filter(None, heads))
    return head, qualify(head)


def _starts_with_artist(segments: list[tuple[str, Qualified]], artists: Collection[str]) -> bool:
    """Find a leading artist; but "Iron Maiden - 2015 Remaster" is a title of its own."""
    if len(segments) < 2 or segments[1][1] or words_of(segments[1][0]).is_blank:
        return False
    spelled = words_of(segments[0][0]).spelled
    return "".join(spelled) in artists or "".join(spelled[spelled[:1] == ("the",) :]) in artists


def _read_bracketed(parts: _Parts, title: str) -> Title:
    """Read a title that stands in brackets as a whole: the first of them is the name."""
    named = [(head, said) for head, said in parts.heads if head]
    (name, _), *others = named or [(title, Qualified())]
    extras = [head for head, said in others if not said]
    return Title(
        core=words_of(name),
        full=words_of(" ".join((name, *extras))),
        extras=tuple(map(words_of, extras)),
        guests=parts.guests,
        kinds=_merge(said for _, said in others),
        stated=words_of(" ".join((name, *(h for h, said in others if not said.neutral)))).spelled,
    )


def _merge(parts: Iterable[Qualified]) -> Mapping[Kind, frozenset[str]]:
    kinds: dict[Kind, frozenset[str]] = {}
    for part in parts:
        for kind, detail in part.kinds.items():
            kinds[kind] = kinds.get(kind, frozenset()) | detail
    return kinds
