"""Which file belongs to which track of one webhook.

The manager sends two lists and no link between them. Equal lengths mean equal places.
With more tracks than files each file owns a run of tracks, in the order of the files;
where the runs end is found out by the names, and only what is certain counts.
"""

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from lyrsvc.core.keys import match_key

MOST_CELLS: Final = 2_000_000
"""A larger search is not made; its files go without a track."""

_TAG: Final = 3
_STEM: Final = 2
_PART: Final = 1
_NEVER: Final = -(10**9)
_NUMBERING: Final = re.compile(r"(?:[0-9]{1,4}|[A-Za-z][0-9]{1,2})(?:[-.][0-9]{1,4})*[\s._)-]+")
_WORD: Final = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class FileNames:
    """How a file calls its song: the stem of its name, and its tag where that can be read."""

    stem: str
    tag_title: str = ""


def pair(titles: Sequence[str], files: Sequence[FileNames]) -> list[int | None]:
    """Give for each track the place of the one file that is its own, or None."""
    if len(titles) == len(files):
        return list(range(len(titles)))
    if not titles or not files:
        return [None] * len(titles)
    tracks = [_Title.of(title) for title in titles]
    names = [_Names.of(file) for file in files]
    return _divide(tracks, names) if len(tracks) > len(names) else _pick(tracks, names)


@dataclass(frozen=True, slots=True)
class _Title:
    key: str
    words: str

    @classmethod
    def of(cls, title: str) -> "_Title":
        key = match_key(title)
        return cls(key, _words(key))


@dataclass(frozen=True, slots=True)
class _Names:
    """The names of a file, ready to be compared; ``padded`` has a blank around every word."""

    tag_key: str
    keys: frozenset[str]
    words: frozenset[str]
    padded: str

    @classmethod
    def of(cls, file: FileNames) -> "_Names":
        numbering = _NUMBERING.match(file.stem)
        bare = file.stem[numbering.end() :] if numbering else file.stem
        keys = frozenset(filter(None, (match_key(file.stem), match_key(bare))))
        words = frozenset(filter(None, map(_words, keys)))
        padded = f" {_words(match_key(file.stem))} "
        return cls(match_key(file.tag_title), keys, words, padded)

    def score(self, track: _Title) -> int:
        """Say how surely a track is this file's."""
        if not track.key:
            return 0
        if track.key == self.tag_key:
            return _TAG
        if track.key in self.keys or track.words in self.words:
            return _STEM
        return _PART if track.words and f" {track.words} " in self.padded else 0


def _words(key: str) -> str:
    return " ".join(_WORD.findall(key))


def _pick(tracks: Sequence[_Title], names: Sequence[_Names]) -> list[int | None]:
    """Give each track the single file that is called like it; a file of two tracks is nobody's."""
    called: defaultdict[str, set[int]] = defaultdict(set)
    for place, file in enumerate(names):
        for name in {file.tag_key, *file.keys, *file.words}:
            called[name].add(place)
    fits = [called[track.key] | called[track.words] if track.key else set() for track in tracks]
    found = [next(iter(places)) if len(places) == 1 else None for places in fits]
    owners = Counter(found)
    return [place if owners[place] == 1 else None for place in found]


def _divide(tracks: Sequence[_Title], names: Sequence[_Names]) -> list[int | None]:
    """Divide the tracks into one run for each file so that single tracks fit best.

    ``slack`` counts the tracks that files before have owned beyond their first.
    ``ahead[i][s]`` is the best sum of the files before ``i`` when they leave slack
    ``s``, ``behind[i][s]`` that of the files from ``i`` on.
    """
    spare = len(tracks) - len(names)
    paired: list[int | None] = [None] * len(tracks)
    if len(names) * (spare + 1) > MOST_CELLS:
        return paired
    scores = [
        array("b", [file.score(track) for track in tracks[place : place + spare + 1]])
        for place, file in enumerate(names)
    ]
    ahead, behind = _sums_ahead(scores, spare), _sums_behind(scores, spare)
    best = ahead[-1][spare]
    for place, row in enumerate(scores):
        before, after = ahead[place], behind[place + 1]
        alone = [
            slack for slack, score in enumerate(row) if before[slack] + score + after[slack] == best
        ]
        if len(alone) == 1 and not _may_own_several(before, after, best):
            paired[place + alone[0]] = place
    return paired


def _may_own_several(before: "array[int]", after: "array[int]", best: int) -> bool:
    """Tell whether a best division gives a file a run of two or more."""
    highest = accumulate(before, max)
    return any(
        sum_ + after[slack] == best
        for slack, sum_ in enumerate(highest, start=1)
        if slack < len(after)
    )


def _sums_ahead(scores: Sequence["array[int]"], spare: int) -> list["array[int]"]:
    sums = [array("i", [0] + [_NEVER] * spare)]
    for row in scores:
        sums.append(_next_sums(sums[-1], row))
    return sums


def _sums_behind(scores: Sequence["array[int]"], spare: int) -> list["array[int]"]:
    """Give the same from the end, where everything lies the other way round."""
    mirrored = _sums_ahead([row[::-1] for row in reversed(scores)], spare)
    return [row[::-1] for row in reversed(mirrored)]


def _next_sums(sums: "array[int]", row: "array[int]") -> "array[int]":
    """Add one file: alone it keeps the slack, with more tracks it raises it."""
    highest = accumulate(sums, max, initial=_NEVER)
    return array(
        "i",
        [
            max(sum_ + score, several)
            for sum_, score, several in zip(sums, row, highest, strict=False)
        ],
    )
