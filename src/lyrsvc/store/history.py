"""The table ``history``: what happened to tracks, for people to read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lyrsvc.core.item import RESULT_CLASSES, Result, WorkItem
from lyrsvc.core.keys import match_key
from lyrsvc.core.ptext import to_ptext
from lyrsvc.store.moments import to_db
from lyrsvc.store.searching import search_keys

if TYPE_CHECKING:
    from lyrsvc.store.transaction import Tx


class Happening(StrEnum):
    """The events of the history."""

    WRITTEN = "written"
    UPGRADED = "upgraded"
    ALREADY_PRESENT = "already_present"
    MISS = "miss"
    FAILED = "failed"
    REJECTED = "rejected"
    MOVED = "moved"
    RETRIED = "retried"
    ENQUEUED = "enqueued"


@dataclass(frozen=True, kw_only=True, slots=True)
class Note:
    """What is remembered beside the item: who did it, and where a file went."""

    by: str
    destination: str = ""
    library_id: int | None = None
    lane: str = ""
    reason: str = ""
    outcome: Result = Result.NONE


class News(NamedTuple):
    """A new item as the history tells of it."""

    item_id: int
    library_id: int | None
    artist: str
    title: str
    album: str
    by: str


_NEWS_COLUMNS: Final = ("at", "event", *News._fields[:-1], '"by"', "search_keys")


def add(tx: "Tx", item: WorkItem, event: Happening, note: Note, *, now: datetime) -> None:
    """Write down what happened to an item."""
    tx.run(
        """
        INSERT INTO history (at, event, item_id, library_id, artist, title, album, lane, result,
                             outcome, reason, destination, "by", search_keys)
        VALUES (:now, :event, :item, :library, :artist, :title, :album, :lane, :result,
                :outcome, :reason, :destination, :by, :keys)
        """,
        now=to_db(now),
        event=str(event),
        item=item.id,
        library=note.library_id,
        artist=item.artist,
        title=item.title,
        album=item.album,
        lane=note.lane,
        result=RESULT_CLASSES.get(note.outcome, ""),
        outcome=str(note.outcome),
        reason=note.reason,
        destination=to_ptext(note.destination),
        by=note.by,
        keys=_keys_of(item.artist, item.title, item.album),
    )


def add_enqueued(tx: "Tx", news: Sequence[News], *, now: datetime) -> None:
    """Write down that new items were enqueued, all at once."""
    moment, event = to_db(now), str(Happening.ENQUEUED)
    rows = [(moment, event, *one, _keys_of(one.artist, one.title, one.album)) for one in news]
    tx.insert_rows("history", _NEWS_COLUMNS, rows)


def add_move(
    tx: "Tx", track: Mapping[str, Any], note: Note, *, item_id: int | None, now: datetime
) -> None:
    """Write down that a sidecar followed its audio; a track of the inventory need have no item."""
    tx.run(
        """
        INSERT INTO history (at, event, item_id, library_id, artist, title, album, reason,
                             destination, "by", search_keys)
        VALUES (:now, :event, :item, :library, :artist, :title, :album, :reason,
                :destination, :by, :keys)
        """,
        now=to_db(now),
        event=str(Happening.MOVED),
        item=item_id,
        library=note.library_id,
        artist=track["artist"],
        title=track["title"],
        album=track["album"],
        reason=note.reason,
        destination=to_ptext(note.destination),
        by=note.by,
        keys=_keys_of(track["artist"], track["title"], track["album"]),
    )


def _keys_of(artist: str, title: str, album: str) -> str:
    return search_keys(match_key(artist), match_key(title), album)
