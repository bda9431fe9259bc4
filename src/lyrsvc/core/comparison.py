"""What the match guard knows about a pair: the asked recording and an answer, compared."""

from dataclasses import dataclass, replace
from typing import Final

from lyrsvc.core.credits import (
    ArtistRelation,
    Credit,
    guest_forms,
    read_credit,
    relate_artists,
    share_name,
    track_artist,
)
from lyrsvc.core.han_forms import fold_han
from lyrsvc.core.isrc import read_isrcs
from lyrsvc.core.keys import match_key
from lyrsvc.core.lyrics import Matched
from lyrsvc.core.qualifiers import Kind
from lyrsvc.core.recording import Recording
from lyrsvc.core.title_relations import TitleRelation, relate_titles, settle_trailing
from lyrsvc.core.titles import Title, read_title
from lyrsvc.core.versions import VersionRelation, hint_kinds, relate_versions

_LOOSE: Final = frozenset({Kind.LIVE, Kind.DEMO, Kind.ACOUSTIC, Kind.REMIX})


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """Everything the verdict depends on.

    ``unpinned``: a side is a kind of version of which many exist, and the titles
    do not say which in the same words.
    """

    title: TitleRelation
    artist: ArtistRelation
    version: VersionRelation
    delta_ms: int | None
    album_equal: bool
    title_literal: bool
    artist_literal: bool
    untitled: bool
    isrc_shared: bool
    guests_clash: bool
    symbolic: bool
    generic: bool
    unpinned: bool
    low_confidence: bool

    @property
    def title_weak(self) -> bool:
        """Tell whether the title alone would not convince."""
        return self.title in (TitleRelation.SUBSET, TitleRelation.CLOSE)

    @property
    def same_version(self) -> bool:
        """Tell whether nothing says it is another version."""
        return self.version is VersionRelation.SAME

    def within(self, limit_ms: int) -> bool:
        """Tell whether both lengths are known and at most so far apart."""
        return self.delta_ms is not None and self.delta_ms <= limit_ms


def compare(asked: Recording, answered: Matched) -> Facts:
    """Gather the facts about a pair."""
    asked, answered = _fold_asked(asked), _fold_answered(answered)
    credits = _asked_credits(asked)
    credit = read_credit(answered.artist)
    names = frozenset().union(*(c.wholes | c.names for c in (*credits, credit)))
    one, other = settle_trailing(read_title(asked.title, names), read_title(answered.title, names))
    delta_ms = _delta_ms(asked.duration_ms, answered.duration_ms)
    kinds = hint_kinds((one, other), (asked.album, answered.album), delta_ms)
    literal = _are_spelled_alike(asked.title, answered.title)
    return Facts(
        title=TitleRelation.EQUAL if literal else relate_titles(one, other),
        artist=relate_artists(credits, credit),
        version=relate_versions(*kinds, delta_ms),
        delta_ms=delta_ms,
        album_equal=same_album(asked.album, answered.album),
        title_literal=literal,
        artist_literal=_are_spelled_alike(track_artist(asked), answered.artist),
        untitled=not match_key(asked.title),
        isrc_shared=not set(read_isrcs(asked.isrcs)).isdisjoint(read_isrcs(answered.isrcs)),
        guests_clash=_guests_clash(credits, one, credit, other),
        symbolic=one.is_symbolic or other.is_symbolic,
        generic=one.is_generic or other.is_generic,
        unpinned=any(k.keys() & _LOOSE for k in kinds) and one.stated != other.stated,
        low_confidence=asked.low_confidence,
    )


def same_album(asked: str, answered: str) -> bool:
    """Tell whether both albums are known and equal, what qualifies them aside."""
    if not match_key(asked) or not match_key(answered):
        return False
    one, other = settle_trailing(read_title(asked), read_title(answered))
    return relate_titles(one, other) is TitleRelation.EQUAL


def _fold_asked(asked: Recording) -> Recording:
    names = (asked.title, asked.artist, asked.album, asked.album_artist, *asked.artists)
    if all(map(str.isascii, names)):
        return asked
    return replace(
        asked,
        title=fold_han(asked.title),
        artist=fold_han(asked.artist),
        artists=tuple(map(fold_han, asked.artists)),
        album=fold_han(asked.album),
        album_artist=fold_han(asked.album_artist),
    )


def _fold_answered(answered: Matched) -> Matched:
    if all(map(str.isascii, (answered.title, answered.artist, answered.album))):
        return answered
    return replace(
        answered,
        title=fold_han(answered.title),
        artist=fold_han(answered.artist),
        album=fold_han(answered.album),
    )


def _asked_credits(asked: Recording) -> tuple[Credit, ...]:
    credits = (
        read_credit(track_artist(asked), asked.artists),
        read_credit(asked.album_artist),
    )
    return tuple(credit for credit in credits if not credit.is_absent)


def _are_spelled_alike(asked: str, answered: str) -> bool:
    key = match_key(asked)
    return bool(key) and key == match_key(answered)


def _guests_clash(credits: tuple[Credit, ...], one: Title, credit: Credit, other: Title) -> bool:
    asked = guest_forms(one.guests).union(*(c.guests for c in credits))
    answered = guest_forms(other.guests) | credit.guests
    if not asked or not answered:
        return False
    return not (
        share_name(asked, credit.everyone | answered)
        or share_name(answered, asked.union(*(c.everyone for c in credits)))
    )


def _delta_ms(asked: int | None, answered: int | None) -> int | None:
    if not asked or not answered or asked < 0 or answered < 0:
        return None
    return abs(asked - answered)
