"""Artist credits: whom to ask for, and whether two credits name the same people."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import groupby, product
from typing import Final

from lyrsvc.core import outline
from lyrsvc.core.alphabets import letter_scripts
from lyrsvc.core.recording import Recording
from lyrsvc.core.similarity import near_names
from lyrsvc.core.wording import compare_form, tokens_fit, words_of

PLACEHOLDERS: Final = frozenset(
    {
        *("various artists", "various", "va", "v a", "unknown", "unknown artist", "soundtrack"),
        *("original soundtrack", "ost", "cast", "original cast", "no artist"),
    }
)
# Shared by artists who have nothing to do with each other.
_ANYBODY: Final = frozenset(
    {
        *("jr", "sr", "ii", "iii", "friends", "band", "orchestra", "choir", "chorus"),
        *("ensemble", "trio", "quartet", "quintet"),
        *("strings", "company", "co", "family", "others", "more", "guests", "crew", "gang"),
        *("singers", "dj", "mc", "feat"),
        *("hisorchestra", "herorchestra", "hisband", "herband", "hisfriends", "herfriends"),
        *("hiscombo",),
        *("orchestraandchorus", "chorusandorchestra"),
    }
)
_NO_ALIAS: Final = frozenset(
    {
        *("uk", "us", "usa", "ca", "au", "nz", "de", "fr", "jp", "kr", "se", "no", "dk", "fi"),
        *("it", "es", "br", "ie", "nl", "be", "at", "ch", "pl", "ru"),
        *("band", "singer", "rapper", "group", "duo", "artist", "musician", "producer"),
        *("composer", "dj", "mc"),
        *("official", "live", "remix", "solo", "american", "british", "english", "japanese"),
        *("korean", "german"),
        *("french", "canadian", "australian", "swedish"),
    }
)
_TOPIC: Final = " - Topic"
_VEVO: Final = "VEVO"
_EASTERN: Final = frozenset({"HAN", "KANA", "HANGUL"})
_SEPARATOR: Final = re.compile(
    r"\s*[;,/|、\0]\s*|\s+(?:x|×|vs\.?|with|and|&|\+|y|et)\s+(?=\S)", re.IGNORECASE
)
# The same two people, but too common in names to divide one: "Jorge e Mateus".
_JOINER: Final = re.compile(r"\s(?:e|i|en|ve|og|och|und|и)\s|\s*[・·•]\s*", re.IGNORECASE)
_SURNAME_FIRST: Final = re.compile(r"([^\s;,/|、\0]+), ([^;,/|、\0]+)")
_ARTICLE_LAST: Final = re.compile(r"(.+?),\s*the\s*", re.IGNORECASE)


class ArtistRelation(StrEnum):
    """The relations of two credits, the better one first."""

    EQUAL = "equal"
    PARTIAL = "partial"
    CLOSE = "close"
    SCRIPT = "script"
    ABSENT = "absent"
    DIFFERENT = "different"


@dataclass(frozen=True, kw_only=True, slots=True)
class Credit:
    """A credit as name forms: compared without blanks, a leading "the" dropped.

    ``wholes`` are the undivided credit and its aliases, ``names`` and ``guests``
    its single names, ``groups`` undivided names of the list and among the guests,
    and the halves of a name in two scripts.
    """

    wholes: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    guests: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    scripts: frozenset[str] = frozenset()

    @property
    def is_absent(self) -> bool:
        """Tell whether the credit names nobody."""
        return not self.wholes and not self.names

    @property
    def everyone(self) -> frozenset[str]:
        """Give every form a person of this credit goes by."""
        return self.wholes | self.names | self.guests | self.groups


def query_artist(recording: Recording) -> str:
    """Give the artist to ask for, empty when only placeholders are known."""
    track, album = track_artist(recording), without_channel(recording.album_artist)
    if not is_placeholder(album) and _credits_include(recording, album):
        return album
    if not is_placeholder(track):
        return track
    return "" if is_placeholder(album) else album


def identity_artist(recording: Recording) -> str:
    """Give the artist that identifies queue item and cache row, be it a placeholder as tagged."""
    return query_artist(recording) or track_artist(recording) or recording.album_artist


def track_artist(recording: Recording) -> str:
    """Give the track artist, written from the credited list when there is no other."""
    if recording.artist.strip():
        return without_channel(recording.artist)
    return ", ".join(map(without_channel, recording.artists))


def without_channel(artist: str) -> str:
    """Give the artist whose channel is named: downloads are tagged "X - Topic" or "XVEVO"."""
    if artist.endswith(_TOPIC):
        return artist.removesuffix(_TOPIC).strip() or artist
    head = artist.removesuffix(_VEVO)
    return head if head and head[-1].isalnum() else artist


def primary_artist(recording: Recording) -> str:
    """Give the first credited name of the query artist."""
    names = credited_names(recording)
    return names[0] if names else ""


def credited_names(recording: Recording) -> tuple[str, ...]:
    """List the credited names of the query artist as spelled, without guests and repeats.

    Names that tags list stay whole; a single value is no list, but a credit like any other.
    """
    asked = query_artist(recording)
    is_list = len(recording.artists) > 1 and asked == track_artist(recording)
    listed = map(_without_guests, recording.artists) if is_list else ()
    spelled = [name for name in listed if not is_placeholder(name)] or split_names(asked)
    first: dict[str, str] = {}
    for name in spelled:
        first.setdefault(name_form(name), name)
    return tuple(first.values())


def is_placeholder(artist: str) -> bool:
    """Tell whether a credit stands for nobody in particular."""
    letters = artist.replace(" ", "")
    if letters.isascii() and letters.isalnum():  # most names are their own words
        return " ".join(artist.lower().split()) in PLACEHOLDERS
    words = words_of(artist)
    return words.is_blank or " ".join(words.spelled) in PLACEHOLDERS


def split_names(credit: str) -> list[str]:
    """List the names in a credit as spelled; guests and brackets aside."""
    main, _, _ = _cut(credit)
    whole = main.strip()
    pieces = [piece.strip() for piece in _SEPARATOR.split(_article_first(whole)) if piece.strip()]
    # "AC/DC" and "M/A/R/R/S" are names, not lists.
    if all(len(piece) <= 2 for piece in pieces):
        return [whole] if whole else []
    return pieces


@lru_cache(maxsize=512)
def name_form(name: str) -> str:
    """Give the form in which a name is compared."""
    spelled = words_of(name).spelled
    if len(spelled) > 1 and spelled[0] == "the":
        spelled = spelled[1:]
    return "".join(spelled) or "".join(compare_form(name).split())


@lru_cache(maxsize=256)
def read_credit(credit: str, listed: tuple[str, ...] = ()) -> Credit:
    """Read a credit, with the list of names the tags give beside it."""
    credit, listed = without_channel(credit), tuple(map(without_channel, listed))
    if is_placeholder(credit) and all(map(is_placeholder, listed)):
        return Credit()
    main, aliases, guests = _cut(credit)
    inverted = _article_first(main.strip())
    wholes = {name_form(credit), name_form(main), name_form(inverted), *aliases}
    wholes.add(name_form(_JOINER.sub(" and ", main)))
    if surname := _SURNAME_FIRST.fullmatch(main.strip()):
        wholes.add(name_form(f"{surname[2]} {surname[1]}"))
    names = _split_forms([inverted, *listed])
    return Credit(
        wholes=_unmasked(wholes - {""}),
        names=_unmasked(names),
        guests=_unmasked(_split_forms(guests)),
        groups=_unmasked(_forms([*listed, *guests, *_twins(main)])),
        scripts=letter_scripts(compare_form(" ".join((main, *listed)))),
    )


def guest_forms(texts: Iterable[str]) -> frozenset[str]:
    """Give the name forms of guests, undivided and single."""
    named = list(texts)
    return _unmasked(_forms(named) | _split_forms(named))


def relate_artists(asked: Iterable[Credit], answered: Credit) -> ArtistRelation:
    """Name the best relation of any asked credit to the answered one."""
    order = list(ArtistRelation)
    credits = [credit for credit in asked if not credit.is_absent]
    found = [_relate(credit, answered) for credit in credits]
    return min(found, key=order.index, default=ArtistRelation.ABSENT)


def share_name(some: frozenset[str], others: frozenset[str]) -> bool:
    """Tell whether a name occurs in both sets, masked letters and slips of the pen aside."""
    return _meet(some, others) or _are_near(some, others)


def _relate(one: Credit, other: Credit) -> ArtistRelation:
    if one.is_absent or other.is_absent:
        return ArtistRelation.ABSENT
    if _are_equal(one, other):
        return ArtistRelation.EQUAL
    anybody = _ANYBODY - one.wholes - other.wholes  # but "The Band" is a band
    if _meet(_persons(one, anybody), _persons(other, anybody)):
        return ArtistRelation.PARTIAL
    if _are_near(one.names, other.names):
        return ArtistRelation.CLOSE
    if one.scripts and other.scripts and not one.scripts & other.scripts:
        return ArtistRelation.SCRIPT
    return ArtistRelation.DIFFERENT


def _are_equal(one: Credit, other: Credit) -> bool:
    if _meet(one.wholes, other.wholes) or one.names == other.names != frozenset():
        return True
    return one.names | one.guests == other.names | other.guests != frozenset()


def _persons(credit: Credit, anybody: frozenset[str]) -> frozenset[str]:
    return frozenset(form for form in credit.everyone - anybody if len(form) > 1)


def _meet(some: frozenset[str], others: frozenset[str]) -> bool:
    if some & others:
        return True
    masked = [form for form in some | others if "*" in form]
    return bool(masked) and any(tokens_fit(one, other) for one, other in product(some, others))


def _are_near(some: frozenset[str], others: frozenset[str]) -> bool:
    return any(near_names(one, other) for one, other in product(some - _ANYBODY, others - _ANYBODY))


def _credits_include(recording: Recording, album_artist: str) -> bool:
    credit = read_credit(track_artist(recording), recording.artists)
    named = read_credit(album_artist)
    return _meet(
        credit.wholes | credit.names | _forms(map(without_channel, recording.artists)), named.wholes
    )


def _cut(credit: str) -> tuple[str, set[str], list[str]]:
    """Split a credit into its main text, the forms of its aliases and its guests."""
    text, brackets = outline.lift_brackets(_tidy_list(credit))
    main, named = outline.cut_guests(text)
    aliases: set[str] = set()
    guests = [named]
    for bracket in brackets:
        head, company = outline.cut_bracket_guests(outline.MARKS.sub(" ", bracket.content))
        guests.append(company)
        aliases.add(name_form(head))
    bare = outline.MARKS.sub(" ", main)
    if words_of(bare).is_blank:  # the whole name stands in brackets, or is a sign
        return credit, set(), guests
    return bare, {alias for alias in aliases - _NO_ALIAS if len(alias) > 1}, guests


def _without_guests(name: str) -> str:
    main, _, _ = _cut(without_channel(name))
    return main.strip()


def _tidy_list(credit: str) -> str:
    return "\0".join(map(outline.tidy, credit.split("\0")))


def _split_forms(texts: Iterable[str]) -> set[str]:
    return _forms(name for text in texts for name in _SEPARATOR.split(_tidy_list(text)))


def _forms(names: Iterable[str]) -> set[str]:
    return {name_form(name) for name in names if not is_placeholder(name)} - {"", "the"}


def _twins(main: str) -> list[str]:
    """List the halves of names that are given in two scripts, as in "周杰倫 Jay Chou"."""
    halves: list[str] = []
    for name in _SEPARATOR.split(main):
        runs = [" ".join(words) for _, words in groupby(name.split(), key=_is_eastern)]
        halves += runs if len(runs) == 2 else []
    return halves


def _is_eastern(word: str) -> bool:
    scripts = letter_scripts(word)
    return bool(scripts) and scripts <= _EASTERN


def _unmasked(forms: set[str]) -> frozenset[str]:
    """Add the spelling without asterisks: "N*E*R*D" is also "nerd"."""
    return frozenset(forms) | {
        form.replace("*", "") for form in forms if "*" in form and form.strip("*")
    }


def _article_first(name: str) -> str:
    found = _ARTICLE_LAST.fullmatch(name)
    return f"The {found[1]}" if found else name
