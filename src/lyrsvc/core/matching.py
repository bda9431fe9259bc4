"""The match guard: whether an answer is the asked song.

``ROWS`` is the table of the specification; the first row that applies gives
the verdict. A wrong song's words are the worst thing this program could write,
so names decide before a length, and doubt ends in a rejection.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from lyrsvc.core.comparison import Facts, compare
from lyrsvc.core.credits import ArtistRelation
from lyrsvc.core.lyrics import Matched, Quality
from lyrsvc.core.recording import Recording
from lyrsvc.core.title_relations import TitleRelation
from lyrsvc.core.verdict import Decision, Evidence, Verdict
from lyrsvc.core.versions import SAME_CUT_MS, VersionRelation

STAND_IN_MS: Final = 2000
FAR_MS: Final = 8000

Judged = tuple[int, Verdict, Quality]
"""A candidate's place in the lane's answer, the verdict on it, and what it carries."""


def judge_match(asked: Recording, answered: Matched) -> Verdict:
    """Compare what was asked for with what a provider says it found."""
    facts = compare(asked, answered)
    row = next(row for row in ROWS if row.applies(facts))
    return Verdict(
        decision=row.decision,
        reason=row.reason,
        evidence=row.evidence,
        title=facts.title,
        artist=facts.artist,
        version=facts.version,
        delta_s=None if facts.delta_ms is None else facts.delta_ms / 1000,
        album_equal=facts.album_equal,
        title_literal=facts.title_literal,
        artist_literal=facts.artist_literal,
    )


def rank(judged: Iterable[Judged]) -> list[Judged]:
    """Order the candidates of one lane, the one to serve first; rejected ones are left out.

    The match comes before the quality; what may not keep its timing counts as unsynced.
    Of answers that are equal otherwise the one spelled as asked comes first.
    """
    return sorted((row for row in judged if not row[1].rejected), key=_rank_key)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table, under the number the specification gives it."""

    number: str
    applies: Callable[[Facts], bool]
    decision: Decision
    reason: str
    evidence: Evidence = Evidence.NONE


def _contradicts(facts: Facts) -> bool:
    return facts.artist is ArtistRelation.DIFFERENT and facts.title in (
        TitleRelation.DIFFERENT,
        TitleRelation.NUMBERS,
        TitleRelation.SYMBOLS,
    )


def _names_fit(facts: Facts) -> bool:
    return facts.title in _FITTING_TITLES and facts.artist in _FITTING_ARTISTS


def _album_stands_in(facts: Facts) -> bool:
    return (
        facts.artist in (ArtistRelation.SCRIPT, ArtistRelation.ABSENT)
        and facts.title is TitleRelation.EQUAL
        and not facts.symbolic
        and facts.album_equal
        and facts.within(STAND_IN_MS)
        and facts.same_version
    )


def _is_unplaced(facts: Facts) -> bool:
    if not facts.generic:
        return False
    if facts.within(SAME_CUT_MS):  # many a band has an intro of a minute
        return facts.artist is ArtistRelation.CLOSE and not facts.album_equal
    return not (facts.delta_ms is None and facts.album_equal)


def _names_equal(facts: Facts) -> bool:
    return facts.title is TitleRelation.EQUAL and facts.artist is ArtistRelation.EQUAL


def _same_cut(facts: Facts) -> bool:
    return facts.within(SAME_CUT_MS) and facts.same_version


def _is_far(facts: Facts) -> bool:
    return facts.delta_ms is not None and facts.delta_ms > FAR_MS


def _title(relation: TitleRelation) -> Callable[[Facts], bool]:
    return lambda facts: facts.title is relation


def _artist(relation: ArtistRelation) -> Callable[[Facts], bool]:
    return lambda facts: facts.artist is relation


_FITTING_TITLES: Final = (
    TitleRelation.EQUAL,
    TitleRelation.ALIAS,
    TitleRelation.SUBSET,
    TitleRelation.CLOSE,
)
_FITTING_ARTISTS: Final = (ArtistRelation.EQUAL, ArtistRelation.PARTIAL, ArtistRelation.CLOSE)

_YES: Final = Decision.ACCEPT
_WORDS: Final = Decision.UNSYNCED_ONLY
_NO: Final = Decision.REJECT

ROWS: Final[tuple[Row, ...]] = (
    Row("0", lambda f: f.untitled, _NO, "no_title"),
    Row("1", lambda f: f.isrc_shared and _contradicts(f), _NO, "isrc_contradicted"),
    Row("1b", lambda f: f.isrc_shared and not _is_far(f), _YES, "isrc", Evidence.EXACT),
    Row("1c", lambda f: f.isrc_shared and _names_fit(f), _WORDS, "isrc_duration", Evidence.EXACT),
    Row("1d", lambda f: f.isrc_shared, _NO, "isrc_contradicted"),
    Row("2", _title(TitleRelation.NUMBERS), _NO, "title_number"),
    Row("2", _title(TitleRelation.SYMBOLS), _NO, "title_symbols"),
    Row("2", _title(TitleRelation.SCRIPT), _NO, "title_script"),
    Row("2", _title(TitleRelation.DIFFERENT), _NO, "title_mismatch"),
    Row("3", _artist(ArtistRelation.DIFFERENT), _NO, "artist_mismatch"),
    Row("4", lambda f: f.guests_clash, _NO, "guest_mismatch"),
    Row("5", lambda f: f.version is VersionRelation.WORDS, _NO, "version_words"),
    Row("6", _album_stands_in, _YES, "album_stand_in", Evidence.STRONG),
    Row("6b", _artist(ArtistRelation.SCRIPT), _NO, "artist_script"),
    Row("6b", _artist(ArtistRelation.ABSENT), _NO, "artist_unknown"),
    Row(
        "7",
        lambda f: f.symbolic and f.artist is ArtistRelation.EQUAL and f.within(SAME_CUT_MS),
        _YES,
        "ok_strong",
        Evidence.STRONG,
    ),
    Row("7", lambda f: f.symbolic, _NO, "symbol_title"),
    Row("8", _is_unplaced, _NO, "generic_title"),
    Row("9", lambda f: f.low_confidence and not _names_equal(f), _NO, "low_confidence"),
    Row(
        "9b",
        lambda f: f.low_confidence and f.delta_ms is None,
        _WORDS,
        "low_confidence",
        Evidence.FAIR,
    ),
    Row(
        "10",
        lambda f: _same_cut(f) and f.title_weak and f.artist is ArtistRelation.CLOSE,
        _NO,
        "title_weak",
    ),
    Row("10", _same_cut, _YES, "ok_strong", Evidence.STRONG),
    Row("11", lambda f: _is_far(f) and f.same_version, _NO, "duration_far"),
    Row("12", lambda f: f.title_weak, _NO, "title_weak"),
    Row("13", _artist(ArtistRelation.CLOSE), _NO, "artist_weak"),
    Row("14", lambda f: not f.same_version, _WORDS, "version_timing", Evidence.FAIR),
    Row("15", lambda f: f.delta_ms is not None, _WORDS, "duration_near", Evidence.FAIR),
    Row("16", _artist(ArtistRelation.PARTIAL), _WORDS, "artist_partial", Evidence.FAIR),
    Row("17", lambda f: f.unpinned, _WORDS, "version_unpinned", Evidence.FAIR),
    Row("18", lambda _: True, _YES, "ok_no_duration", Evidence.FAIR),
)


def _rank_key(judged: Judged) -> tuple[bool, int, int, bool, float, bool, bool, int]:
    place, verdict, quality = judged
    usable = quality if verdict.accepted else min(quality, Quality.UNSYNCED)
    return (
        not verdict.accepted,
        -usable,
        list(Evidence).index(verdict.evidence),
        not verdict.album_equal,
        float("inf") if verdict.delta_s is None else verdict.delta_s,
        not verdict.title_literal,
        not verdict.artist_literal,
        place,
    )
