"""Realign: which audio file an orphaned sidecar belongs to, as a decision over facts.

An orphan is everything of one stem that matches no audio file: it moves as one unit or
not at all, and only its stem changes. Ids decide first; names are compared only among
what ids have left over, and a doubt is reported, never acted upon. Everything is pure.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from lyrsvc.core.stem_similarity import Name, likeness, read_name

MOST_PAIRS: Final = 250_000
"""Above so many pairs the names of one directory are not compared with each other."""
_HAIR: Final = 1e-9
_GONE: Final = "{} is as much or more like another orphan"


class Tier(StrEnum):
    """How sure a decision is."""

    EXACT = "exact"
    HEURISTIC = "heuristic"
    HEURISTIC_NM = "heuristic-nm"
    AMBIGUOUS = "ambiguous"
    CONFLICT = "conflict"


@dataclass(frozen=True, kw_only=True, slots=True)
class RealignPolicy:
    """What the operator wants of realign."""

    require_provenance: bool = False
    cross_directory: bool = False
    min_confidence: float = 0.75
    min_margin: float = 0.05
    name_match: bool = False
    identity_keys: tuple[str, ...] = ("mbid", "isrc")

    def applies(self, tier: Tier) -> bool:
        """Tell whether moves of a tier are carried out."""
        return tier is Tier.EXACT or not self.require_provenance


@dataclass(frozen=True, kw_only=True, slots=True)
class Orphan:
    """The sidecars of one stem without audio; ``names`` are whole file names in one directory.

    ``ids``, title and artist are what the header says.
    """

    directory: str
    stem: str
    names: tuple[str, ...]
    ids: Mapping[str, str] = field(default_factory=dict)
    title: str = ""
    artist: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Audio:
    """One audio stem; ``kinds`` are the extensions of the sidecars it has, in lower case.

    An audio file may carry several ids of one key, and several files may share the stem.
    """

    directory: str
    stem: str
    kinds: frozenset[str] = frozenset()
    ids: Mapping[str, frozenset[str]] = field(default_factory=dict)
    title: str = ""
    artist: str = ""

    @property
    def place(self) -> tuple[str, str]:
        """Give where it is."""
        return self.directory, self.stem


@dataclass(frozen=True, kw_only=True, slots=True)
class Folder:
    """One directory: its orphans, and every audio stem in it."""

    orphans: tuple[Orphan, ...]
    audio: tuple[Audio, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Move:
    """A planned rename of a whole unit."""

    orphan: Orphan
    audio: Audio
    tier: Tier
    reason: str

    def new_name(self, name: str) -> str:
        """Give the name a file of the unit gets: its extension stays, byte for byte."""
        return f"{self.audio.stem}{extension(name)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Skip:
    """An orphan that is left alone, and why; ``audio`` is what it nearly went to."""

    orphan: Orphan
    tier: Tier
    reason: str
    audio: Audio | None = None


Decision = Move | Skip
FindAudio = Callable[[str, str], Sequence[Audio]]
"""Gives the audio with an id, by the key and its value."""


class Planner:
    """Plans the moves of one run, a directory at a time; remembers what is promised already."""

    def __init__(self, policy: RealignPolicy, *, find: FindAudio | None = None) -> None:
        """Compare ids with the audio that ``find`` knows, else with that of the directory."""
        self._policy = policy
        self._find = find
        self._claimed: set[tuple[str, str, str]] = set()
        self._filled: set[tuple[str, str]] = set()

    def plan(self, folder: Folder) -> list[Decision]:
        """Decide about every orphan of a directory, in their order."""
        decided: dict[str, Decision] = {}
        find = self._find or index_ids(folder.audio)
        for orphan in folder.orphans:
            if (exact := self._exact(orphan, find)) is not None:
                decided[orphan.stem] = exact
        left = [o for o in folder.orphans if not isinstance(decided.get(o.stem), Move)]
        candidates = [a for a in folder.audio if not a.kinds and a.place not in self._filled]
        undecided = [orphan for orphan in left if orphan.stem not in decided]
        for skip_or_move in self._by_name(undecided, len(left), candidates, folder.audio):
            decided[skip_or_move.orphan.stem] = skip_or_move
        return [decided[orphan.stem] for orphan in folder.orphans]

    def _exact(self, orphan: Orphan, find: FindAudio) -> Decision | None:
        for key in self._policy.identity_keys:
            value = orphan.ids.get(key, "")
            found = {audio.place: audio for audio in find(key, value)} if value else {}
            if len(found) > 1:
                names = ", ".join(_distinct(sorted(found)))
                reason = f"{len(found)} audio files have its {key}: {names}"
                return Skip(orphan=orphan, tier=Tier.CONFLICT, reason=reason)
            for audio in found.values():
                return self._claim(orphan, audio, Tier.EXACT, f"same {key}")
        return None

    def _claim(self, orphan: Orphan, audio: Audio, tier: Tier, reason: str) -> Decision:
        """Promise the audio to an orphan, unless a file is there or promised already."""
        for name in orphan.names:
            kind = extension(name).lower()
            goal = (*audio.place, kind)
            if kind in audio.kinds or goal in self._claimed:
                why = "is there already" if kind in audio.kinds else "is another orphan's"
                text = f"{reason}, but {audio.stem}{kind} {why}"
                return Skip(orphan=orphan, tier=Tier.CONFLICT, reason=text, audio=audio)
        self._claimed.update((*audio.place, extension(name).lower()) for name in orphan.names)
        self._filled.add(audio.place)
        return Move(orphan=orphan, audio=audio, tier=tier, reason=reason)

    def _by_name(
        self,
        undecided: Sequence[Orphan],
        left: int,
        candidates: Sequence[Audio],
        every: Sequence[Audio],
    ) -> Iterator[Decision]:
        if left == 1 and len(candidates) == 1:
            return iter([self._lone_pair(orphan, candidates[0], every) for orphan in undecided])
        if self._policy.name_match and left > 1 and len(candidates) > 1:
            return self._many(undecided, candidates)
        return iter([_ambiguous(o, self._why_not(left, len(candidates))) for o in undecided])

    def _why_not(self, orphans: int, candidates: int) -> str:
        if not candidates:
            return "no audio file without sidecar in its directory"
        reason = f"{_count(orphans, 'orphan')} and {_count(candidates, 'audio file')} without "
        reason += "sidecar in the directory"
        several = orphans > 1 and candidates > 1
        return f"{reason}; realign.name_match is off" if several else reason

    def _lone_pair(self, orphan: Orphan, audio: Audio, every: Sequence[Audio]) -> Decision:
        if clash := self._clash(orphan, audio):
            return _ambiguous(orphan, clash, audio)
        if not (orphan.title or orphan.artist or audio.title or audio.artist):
            reason = "the only pair, and neither has a name inside"
            return self._claim(orphan, audio, Tier.HEURISTIC, reason)
        name = read_name(orphan.title, orphan.stem)
        score = likeness(name, _name(audio))
        others = ((likeness(name, _name(a)), a) for a in every if a.place != audio.place)
        rival = max(others, key=lambda pair: pair[0], default=None)
        if refusal := self._refusal(score, audio, rival):
            return _ambiguous(orphan, refusal, audio)
        return self._claim(orphan, audio, Tier.HEURISTIC, f"names alike, {score:.2f}")

    def _many(self, orphans: Sequence[Orphan], candidates: Sequence[Audio]) -> Iterator[Decision]:
        if len(orphans) * len(candidates) > MOST_PAIRS:
            reason = f"{len(orphans)} orphans and {len(candidates)} audio files are too many"
            yield from (_ambiguous(orphan, f"{reason} to compare") for orphan in orphans)
            return
        table = _Table(orphans, candidates, self._clash)
        taken: set[int] = set()
        met: dict[int, Decision] = {}
        for score, row, column in table.best_first():
            if row in met or column in taken:
                continue
            orphan, audio, rival = orphans[row], candidates[column], table.runner_up(row, column)
            beaten = None if rival is None else (table.score(row, rival), candidates[rival])
            if refusal := self._refusal(score, audio, beaten):
                if rival in taken and table.score(row, rival) > score:
                    audio, refusal = candidates[rival], _GONE.format(candidates[rival].stem)
                met[row] = _ambiguous(orphan, refusal, audio)
                continue
            taken.add(column)
            twins = [r for r in table.as_alike(row, column) if not isinstance(met.get(r), Move)]
            if twins:
                reason = f"{len(twins) + 1} orphans are equally like {audio.stem}"
                met |= {r: _ambiguous(orphans[r], reason, audio) for r in (row, *twins)}
                continue
            reason = f"names alike, {score:.2f}"
            met[row] = self._claim(orphan, audio, Tier.HEURISTIC_NM, reason)
        yield from met.values()
        for row in set(range(len(orphans))) - set(met):
            best = table.favourite(row)
            is_alike = table.score(row, best) > 0.0
            reason = _GONE.format(candidates[best].stem) if is_alike else "no name there is alike"
            yield _ambiguous(orphans[row], reason)

    def _refusal(self, score: float, audio: Audio, rival: tuple[float, Audio] | None) -> str:
        """Say why a score is not enough; blank when it is."""
        policy = self._policy
        if score == 0.0:
            return f"{audio.stem} is another song, version or part by its name"
        if _below(score, policy.min_confidence):
            return f"{audio.stem} is not alike enough: {score:.2f} of {policy.min_confidence:.2f}"
        if rival is not None and _below(score - rival[0], policy.min_margin):
            near = f"{score:.2f} and {rival[0]:.2f}"
            return f"{audio.stem} and {rival[1].stem} are nearly equally alike: {near}"
        return ""

    def _clash(self, orphan: Orphan, audio: Audio) -> str:
        """Say which id tells that they are two recordings; blank when none does."""
        for key in self._policy.identity_keys:
            one, others = orphan.ids.get(key), audio.ids.get(key)
            if one and others and one not in others:
                return f"{audio.stem} is another recording by its {key}"
        return ""


class _Table:
    """The scores of every pair; those of two recordings by their ids are 0."""

    def __init__(
        self,
        orphans: Sequence[Orphan],
        candidates: Sequence[Audio],
        clash: Callable[[Orphan, Audio], str],
    ) -> None:
        names = [_name(audio) for audio in candidates]
        self._rows = [
            [
                0.0 if clash(orphan, audio) else likeness(name, other)
                for audio, other in zip(candidates, names, strict=True)
            ]
            for orphan, name in ((o, read_name(o.title, o.stem)) for o in orphans)
        ]

    def score(self, row: int, column: int) -> float:
        return self._rows[row][column]

    def best_first(self) -> list[tuple[float, int, int]]:
        pairs = (
            (score, row, column)
            for row, scores in enumerate(self._rows)
            for column, score in enumerate(scores)
            if score > 0.0
        )
        return sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2]))

    def favourite(self, row: int) -> int:
        scores = self._rows[row]
        return scores.index(max(scores))

    def as_alike(self, row: int, column: int) -> list[int]:
        """Give the other orphans that are as much like an audio file as one is."""
        score = self._rows[row][column]
        return [
            other
            for other, scores in enumerate(self._rows)
            if other != row and abs(scores[column] - score) < _HAIR
        ]

    def runner_up(self, row: int, column: int) -> int | None:
        """Give the best column of an orphan beside one; those that are taken count too."""
        others = [place for place in range(len(self._rows[row])) if place != column]
        return max(others, key=self._rows[row].__getitem__, default=None)


def extension(name: str) -> str:
    """Give the last extension with its dot."""
    return name[name.rfind(".") :]


def index_ids(audio: Iterable[Audio]) -> FindAudio:
    """Let audio be found by its ids."""
    index: dict[tuple[str, str], list[Audio]] = {}
    for each in audio:
        for key, values in each.ids.items():
            for value in values:
                index.setdefault((key, value), []).append(each)
    return lambda key, value: index.get((key, value), ())


def _name(audio: Audio) -> Name:
    return read_name(audio.title, audio.stem)


def _ambiguous(orphan: Orphan, reason: str, audio: Audio | None = None) -> Skip:
    return Skip(orphan=orphan, tier=Tier.AMBIGUOUS, reason=reason, audio=audio)


def _below(value: float, bar: float) -> bool:
    """Compare with a bar that sums of binary fractions may miss by a hair."""
    return value < bar - _HAIR


def _distinct(places: Sequence[tuple[str, str]]) -> list[str]:
    """Name audio by its stem, and by its directory too where there are several."""
    one_directory = len({directory for directory, _ in places}) == 1
    return [stem if one_directory else f"{directory}/{stem}" for directory, stem in places]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
