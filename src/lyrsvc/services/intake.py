"""Intake: a webhook's body becomes work, in one transaction, and is answered.

Every well-formed event is answered, also those nobody here has a use for: an error
would make the sender stop calling. Disk and inventory are looked at first, then all
tracks of a request are written down together or not at all.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from lyrsvc.core.display import escape_controls
from lyrsvc.core.errors import Refused
from lyrsvc.core.lidarr_event import Event, EventKind, read_event
from lyrsvc.core.merging import Effect
from lyrsvc.core.payload_paths import PathMappings, is_storable, local_path
from lyrsvc.core.ports import Clock
from lyrsvc.core.ptext import clean_text
from lyrsvc.core.resolution import ResolvedBy
from lyrsvc.core.wish import WishOrigin
from lyrsvc.services.deletions import Deletions, drop_targets, drop_titles
from lyrsvc.services.enqueueing import WEBHOOK_WAIT_S
from lyrsvc.services.intake_facts import FactFinder, Gathered
from lyrsvc.services.intake_writing import (
    TrackOutcome,
    drop_replaced,
    write_retag,
    write_tracks,
    write_unknown,
)
from lyrsvc.services.payload_files import Grounds, PayloadFiles
from lyrsvc.services.payload_tracks import Payload
from lyrsvc.services.probing import THREADS, Probes
from lyrsvc.store import libraries, rename_jobs, work_items
from lyrsvc.store.counts import Tally

if TYPE_CHECKING:
    from datetime import datetime

    from lyrsvc.core.library import Library
    from lyrsvc.services.enqueueing import Terms
    from lyrsvc.store.database import Database, Tx
    from lyrsvc.store.writing import Pending

T = TypeVar("T")
Answer = dict[str, Any]
"""The body of an answer."""

_LONGEST_SHOWN: Final = 200
_MOST_SHOWN: Final = 100
"""So many ids of items a line holds at most."""
_EFFECTS: Final = tuple((str(effect), effect) for effect in Effect)
_STEPS: Final = tuple((str(step), step) for step in ResolvedBy)
_LOG = logging.getLogger("lyrsvc.webhook")


@dataclass(frozen=True, kw_only=True, slots=True)
class IntakeRules:
    """What the operator has set: paths there and here, enrichment, patience with disks."""

    path_mappings: PathMappings = ()
    enrich: bool = True
    probe_threads: int = THREADS
    probe_s: float = 30.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Followers:
    """Who is told after a request was written down; each only takes note of it, and never fails.

    ``wake`` the worker, ``sub_scan`` a directory with files the inventory does not know,
    ``ring`` for the step that lets sidecars follow renamed files. ``heard`` is told event and
    sender of every request that was understood, ``missed`` a path of an import that was found
    nowhere with all its files, or blank when some were found.
    """

    wake: Callable[[], None] = lambda: None
    sub_scan: "Callable[[Library, Path], None]" = lambda _library, _directory: None
    ring: Callable[[], None] = lambda: None
    heard: Callable[[str, str], None] = lambda _event, _instance: None
    missed: Callable[[str], None] = lambda _path: None


@dataclass(frozen=True, slots=True)
class Asked:
    """The item of a track that was asked for, and whether it was made for that."""

    item_id: int
    is_new: bool


@dataclass(frozen=True, slots=True)
class Begun:
    """An event that has been looked into; ``pending`` is what of it is still to be durable.

    ``finish`` waits for that, tells everybody who goes on from there, and gives the answer.
    """

    finish: Callable[[], Answer]
    pending: "Pending[Any] | None"


class _Taken(NamedTuple):
    """What became of an event: the answer to it, and the items it concerns, for the log."""

    answer: Answer
    items: Sequence[int] = ()


class _Writing(NamedTuple):
    """An event on its way into the database, and what has come of it once it is there."""

    pending: "Pending[Any]"
    when_durable: Callable[[], _Taken]


class Intake:
    """Takes webhooks; the roots that count are those registered when it is made."""

    def __init__(
        self,
        db: "Database",
        *,
        clock: Clock,
        terms: "Callable[[datetime], Terms]",
        rules: IntakeRules,
        followers: Followers,
    ) -> None:
        self._db = db
        self._clock = clock
        self._terms = terms
        self._rules = rules
        self._followers = followers
        probes = Probes(threads=rules.probe_threads)
        self._facts = FactFinder(db, probes, open_files=self._open_files)
        self._deletions = Deletions(db, probes)
        self._actions: Mapping[EventKind, Callable[[Event], _Taken | _Writing]] = {
            EventKind.TEST: self._test,
            EventKind.DOWNLOAD: self._ingest,
            EventKind.RETAG: self._retag,
            EventKind.RENAME: self._rename,
            EventKind.ARTIST_DELETE: self._delete_files,
            EventKind.ALBUM_DELETE: self._delete_files,
            EventKind.DELETE: self._delete_titles,
            EventKind.UNUSED: partial(_ignored, reason="not_used"),
            EventKind.UNKNOWN: partial(_ignored, reason="unknown_event"),
        }
        with db.read() as tx:
            known = libraries.all_libraries(tx)
        self._roots = {library.id: library.path for library in known}
        self._grounds = self._grounds_of(known)

    def accept(self, body: bytes, *, client: str = "") -> Answer:
        """Do what an event asks for and give the answer to it; the log names the client.

        Raises ``InvalidPayload`` for a body that is none, and ``StoreError`` when nothing
        could be written; the sender may then send it again.
        """
        return self.begin(body, client=client).finish()

    def begin(self, body: bytes, *, client: str = "") -> "Begun":
        """Do what an event asks for, but do not wait until it is durable."""
        began = self._clock.monotonic()
        event = read_event(body)
        taken = self._actions[event.kind](event)

        def finish() -> Answer:
            done = taken if isinstance(taken, _Taken) else taken.when_durable()
            self._followers.heard(event.name, event.instance)
            self._log(event, done, self._clock.monotonic() - began, client)
            return done.answer

        return Begun(finish, None if isinstance(taken, _Taken) else taken.pending)

    def ask(self, *, artist: str, title: str, album: str, path: str, by: str) -> Asked:
        """Enqueue one track that somebody asks for; a path must be a file inside a root.

        Raises ``Refused`` when the path is not to be used or the names are none.
        """
        payload = Payload(
            artist=clean_text(artist).strip(),
            album=clean_text(album).strip(),
            titles=(clean_text(title).strip(),),
            files=(path,) if path else (),
        )
        gathered = self._facts.gather(payload, until=self._until())
        track = gathered.tracks[0]
        if path and not gathered.seen:
            raise Refused(
                "path: not an audio file inside a library; "
                "a library added since the start counts after a restart"
            )
        if track.wish is None:
            raise Refused("artist, title: names of signs alone cannot be looked up")
        wish = replace(track.wish, origin=WishOrigin.SEARCH, by=by)
        terms = self._terms(self._clock.now())

        def write(tx: "Tx") -> Asked:
            newest = work_items.newest_id(tx)
            outcome = write_tracks(tx, [replace(track, wish=wish)], terms)[0]
            write_unknown(tx, gathered, now=terms.now)
            if outcome.item_id is None:
                raise Refused("artist, title: names of signs alone cannot be looked up")
            return Asked(outcome.item_id, is_new=outcome.item_id > newest)

        asked = self._write(write)
        self._followers.wake()
        self._announce(gathered)
        return asked

    def roots(self) -> tuple[Path, ...]:
        """Give the roots that payload paths may lie in, as they were when this was made."""
        return tuple(self._roots.values())

    def takes_paths_of(self, library: "Library") -> bool:
        """Tell whether payload paths may lie in a library: it was there when this was made."""
        return self._roots.get(library.id) == library.path

    def _test(self, event: Event) -> _Taken:
        return _Taken({"status": "ok", "event": event.name})

    def _ingest(self, event: Event) -> _Taken | _Writing:
        """Enqueue every track; what an upgrade has replaced leaves the queue with it."""
        if not event.titles:
            return _ignored(event, "no_tracks")
        payload = Payload(
            artist=event.artist, album=event.album, titles=event.titles, files=event.files
        )
        until = self._until()
        gathered = self._facts.gather(payload, until=until)
        gone: list[str] = []
        if event.is_upgrade and event.deleted:
            gone = self._deletions.gone(event.deleted, gathered.files, until=until)
        terms = self._terms(self._clock.now())

        def write(tx: "Tx") -> list[TrackOutcome]:
            outcomes = write_tracks(tx, gathered.tracks, terms)
            write_unknown(tx, gathered, now=terms.now)
            if gone:
                tally = Tally()
                drop_replaced(tx, gone, gathered, tally, now=terms.now)
                tally.write(tx, now=terms.now)
            return outcomes

        def wake() -> None:
            if pending.is_durable:
                self._followers.wake()

        pending = self._db.submit(write, wait_s=WEBHOOK_WAIT_S)
        pending.then(wake)  # also when nobody comes back for the answer
        return _Writing(pending, lambda: self._ingested(event, gathered, pending.result()))

    def _retag(self, event: Event) -> _Taken | _Writing:
        """Enqueue one file by its new tags; with titles it is an import like any other."""
        if event.titles:
            return self._ingest(event)
        payload = Payload(artist=event.artist, album="", titles=("",), files=(event.retagged,))
        gathered = self._facts.gather(payload, until=self._until())
        terms = self._terms(self._clock.now())

        def write(tx: "Tx") -> TrackOutcome:
            former = (
                local_path(path, self._rules.path_mappings)
                for path in rename_jobs.former_paths(tx, event.retagged)
            )
            write_unknown(tx, gathered, now=terms.now)
            track = gathered.tracks[0]
            return write_retag(tx, track, terms, formerly=list(filter(None, former)))

        outcome = self._write(write)
        self._followers.wake()
        return self._ingested(event, gathered, [outcome])

    def _ingested(
        self, event: Event, gathered: Gathered, outcomes: Sequence[TrackOutcome]
    ) -> _Taken:
        """Have unknown directories looked at, and count."""
        self._announce(gathered)
        ids = {one.item_id for one in outcomes if one.item_id is not None}
        effects = [outcome.effect for outcome in outcomes]
        steps = [outcome.by for outcome in outcomes]
        if event.files and self._grounds.libraries and any(steps):
            is_found = any(step not in (None, ResolvedBy.METADATA) for step in steps)
            self._followers.missed("" if is_found else _shown(event.files[0]))
        answer = {
            "status": "accepted",
            "event": event.name,
            "tracks": len(outcomes),
            **{name: effects.count(effect) for name, effect in _EFFECTS},
            "resolved": {name: steps.count(step) for name, step in _STEPS},
        }
        return _Taken(answer, sorted(ids))

    def _announce(self, gathered: Gathered) -> None:
        places = {(file.library.id, file.audio.directory): file for file in gathered.unknown}
        for file in places.values():
            self._followers.sub_scan(file.library, Path(file.audio.directory))

    def _rename(self, event: Event) -> _Taken:
        """Store which files were renamed, as they are called there; sidecars follow later."""
        if not event.renamed:
            return _ignored(event, "no_tracks")
        pairs = [pair for pair in event.renamed if all(map(is_storable, pair))]
        if not pairs:
            return _ignored(event, "not_visible")
        now = self._clock.now()
        self._write(lambda tx: rename_jobs.insert(tx, pairs, now=now))
        self._followers.ring()
        return _Taken({"status": "accepted", "event": event.name, "files": len(pairs)})

    def _delete_files(self, event: Event) -> _Taken:
        """Drop what waits for files that were deleted with their artist or album."""
        if not event.files_deleted:
            return _ignored(event, "files_kept")
        until = self._until()
        with self._db.read() as tx:
            files = self._open_files(tx)
        place = self._deletions.place(event.artist_path, files, until=until)
        if place is None:
            return _ignored(event, "not_visible")
        album = event.album if event.kind is EventKind.ALBUM_DELETE else None
        orphaned = self._deletions.orphaned(place, album=album, until=until)
        now = self._clock.now()
        dropped = self._write(lambda tx: drop_targets(tx, orphaned, now=now)) if orphaned else 0
        return _Taken({"status": "accepted", "event": event.name, "dropped": dropped})

    def _delete_titles(self, event: Event) -> _Taken:
        """Drop what waits under the names that are listed."""
        if not event.titles:
            return _ignored(event, "no_tracks")
        now = self._clock.now()
        dropped = self._write(lambda tx: drop_titles(tx, event.artist, event.titles, now=now))
        return _Taken({"status": "accepted", "event": event.name, "dropped": dropped})

    def _write(self, operation: "Callable[[Tx], T]") -> T:
        return self._db.write(operation, wait_s=WEBHOOK_WAIT_S)

    def _open_files(self, tx: "Tx") -> PayloadFiles:
        """Look at the disk through the roots of the start that are still registered."""
        known = libraries.all_libraries(tx)
        grounds = self._grounds
        if known != grounds.libraries:
            grounds = self._grounds = self._grounds_of(known)
        return PayloadFiles(grounds, enrich=self._rules.enrich)

    def _grounds_of(self, known: "Sequence[Library]") -> Grounds:
        roots = [one.path for one in known if self.takes_paths_of(one)]
        return Grounds(roots, known, mappings=self._rules.path_mappings)

    def _until(self) -> float:
        return time.monotonic() + self._rules.probe_s

    def _log(self, event: Event, taken: _Taken, seconds: float, client: str) -> None:
        counts = {name: value for name, value in taken.answer.items() if name != "event"}
        _LOG.info(
            "webhook",
            extra={
                "event": _shown(event.name),
                "instance": _shown(event.instance),
                "ms": round(seconds * 1000),
                **({"client": client} if client else {}),
                **counts,
                **({"items": taken.items[:_MOST_SHOWN]} if taken.items else {}),
            },
        )


def _ignored(event: Event, reason: str) -> _Taken:
    return _Taken({"status": "ignored", "event": event.name, "reason": reason})


def _shown(text: str) -> str:
    return escape_controls(text[:_LONGEST_SHOWN])
