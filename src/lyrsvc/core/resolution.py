"""Resolution: which file of the inventory a track of a webhook means."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class ResolvedBy(StrEnum):
    """The step that decided where the lyrics of a track go."""

    INVENTORY = "inventory"
    PATH = "path"
    METADATA = "metadata"


class Names(NamedTuple):
    """Title and artist as match keys; blank ones match nothing."""

    title_key: str
    artist_key: str

    def __bool__(self) -> bool:
        return bool(self.title_key and self.artist_key)


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A file of the inventory that is called like the track.

    ``is_there`` also holds while its library cannot be reached. ``by_artist`` says that
    its own artist is the one that was named, and not only the other credit.
    """

    row_id: int
    path: str
    album_key: str
    is_done: bool
    is_there: bool
    by_artist: bool


def choose(
    candidates: Iterable[Candidate], *, paired_path: str, album_key: str
) -> Candidate | None:
    """Choose the file that is meant: the paired one, else the best among those called so."""
    there = [candidate for candidate in candidates if candidate.is_there]
    if paired_path:
        for candidate in there:
            if candidate.path == paired_path:
                return candidate
    named = [candidate for candidate in there if candidate.by_artist] or there
    return min(named, key=lambda one: _order(one, album_key), default=None)


def _order(candidate: Candidate, album_key: str) -> tuple[bool, bool, int]:
    same_album = bool(album_key) and candidate.album_key == album_key
    return not same_album, candidate.is_done, candidate.row_id
