"""Whether two titles name the same version of a song."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from lyrsvc.core.qualifiers import TIMING, WORDS, Kind
from lyrsvc.core.titles import Title, read_title
from lyrsvc.core.wording import words_of

Kinds = Mapping[Kind, frozenset[str]]

SAME_CUT_MS: Final = 3000
_CERTAIN_MS: Final = 1000
_LIVE_ALBUM: Final = re.compile(
    r" live (?:at|in|from|on) | unplugged | in concert | concert version | live $"
    r"| ao vivo | en vivo | en directo | dal vivo | en concert "
    r"|ライブ|ライヴ|라이브|现场|現場|演唱[会會]"
)
_COVER_ALBUM: Final = re.compile(
    r" karaoke | tribute to | in the style of | made (?:famous|popular) by "
    r"| originally performed by | lullaby renditions "
)


class VersionRelation(StrEnum):
    """The relations of two versions of a song."""

    SAME = "same"
    TIMING = "timing"
    WORDS = "words"


def relate_versions(asked: Kinds, answered: Kinds, delta_ms: int | None) -> VersionRelation:
    """Tell whether the words, or only the timing, may differ."""
    if any(not _words_fit(kind, asked.get(kind), answered.get(kind)) for kind in WORDS):
        return VersionRelation.WORDS
    if any((kind in asked) != (kind in answered) for kind in TIMING):
        return VersionRelation.TIMING
    shared = any(kind in asked for kind in TIMING)
    if shared and delta_ms is not None and delta_ms > SAME_CUT_MS:
        return VersionRelation.TIMING
    return VersionRelation.SAME


def hint_kinds(
    titles: tuple[Title, Title], albums: tuple[str, str], delta_ms: int | None
) -> tuple[Kinds, Kinds]:
    """Add what the albums say to what the asked and the answered title say.

    At equal length a live album may confirm what the other title says, but
    never sets two recordings apart.
    """
    asked, answered = titles
    if album_is_cover(albums[1]) and not album_is_cover(albums[0]):
        answered_kinds: Kinds = {**answered.kinds, Kind.COVER: frozenset()}
    else:
        answered_kinds = answered.kinds
    certain = delta_ms is not None and delta_ms <= _CERTAIN_MS
    hints = [album_is_live(album) for album in albums]
    hints = [
        hint and (not certain or Kind.LIVE in other.kinds)
        for hint, other in zip(hints, (answered, asked), strict=True)
    ]
    return _with_live(asked.kinds, add=hints[0]), _with_live(answered_kinds, add=hints[1])


def album_is_live(album: str) -> bool:
    """Tell whether an album calls itself live."""
    return Kind.LIVE in read_title(album).kinds or _LIVE_ALBUM.search(_padded(album)) is not None


def album_is_cover(album: str) -> bool:
    """Tell whether an album calls itself one of covers."""
    return _COVER_ALBUM.search(_padded(album)) is not None


def _with_live(kinds: Kinds, *, add: bool) -> Kinds:
    return {**kinds, Kind.LIVE: frozenset()} if add else kinds


def _words_fit(kind: Kind, one: frozenset[str] | None, other: frozenset[str] | None) -> bool:
    if one is None or other is None:
        return one is other
    if kind is Kind.REMIX:
        return not one or not other or _holds(one, other) or _holds(other, one)
    return one == other


def _holds(one: frozenset[str], other: frozenset[str]) -> bool:
    """Tell whether a remixer's name contains the other's, a possessive s aside."""
    return {word.removesuffix("s") for word in other} <= {word.removesuffix("s") for word in one}


def _padded(album: str) -> str:
    return f" {' '.join(words_of(album).spelled)} "
