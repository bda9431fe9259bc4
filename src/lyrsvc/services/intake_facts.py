"""What a webhook's tracks come to: each with its file, its names and where its lyrics go.

The disk and the inventory are looked at here, before anything is written; whatever
does not answer in time is not visible.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from lyrsvc.core.item import Status, Target, TargetOrigin, TargetStatus
from lyrsvc.core.resolution import Candidate, Names, ResolvedBy, choose
from lyrsvc.core.scan_decision import WORDS
from lyrsvc.core.scan_facts import stored_recording
from lyrsvc.core.wish import Spot, Wish, WishOrigin
from lyrsvc.services.payload_files import UNKNOWN, PayloadFiles, SeenFile, Sight
from lyrsvc.services.payload_tracks import Payload, PayloadTrack, pair_tracks
from lyrsvc.services.probing import Probes
from lyrsvc.store import inventory, targets, work_items
from lyrsvc.store.database import Database
from lyrsvc.store.inventory import KnownFile

if TYPE_CHECKING:
    from lyrsvc.store.database import Tx


@dataclass(frozen=True, kw_only=True, slots=True)
class TrackFacts:
    """One track: what is wished for it and which step decided that; no wish means skipped.

    ``seen`` is the file that is its own, ``own`` what the inventory knows of that file,
    ``known`` the file of the inventory that its lyrics go to.
    """

    wish: Wish | None = None
    by: ResolvedBy | None = None
    seen: SeenFile | None = None
    own: KnownFile | None = None
    known: KnownFile | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Gathered:
    """All tracks of a webhook, and every file of it that can be seen."""

    tracks: tuple[TrackFacts, ...]
    seen: tuple[SeenFile, ...]
    unknown: tuple[SeenFile, ...]
    """Files that the inventory does not know, or not as they are now."""


class FactFinder:
    """Gathers the facts of one request after the other."""

    def __init__(self, db: Database, probes: Probes) -> None:
        self._db = db
        self._probes = probes

    def gather(self, payload: Payload, files: PayloadFiles, *, until: float) -> Gathered:
        """Look at everything a webhook speaks of."""
        paths = dict.fromkeys(filter(None, payload.files))
        answers = self._probes.ask({path: partial(files.see, path) for path in paths}, until=until)
        seen = {path: file for path, file in answers.items() if file is not None}
        tracks = pair_tracks(payload, seen)
        with self._db.read() as tx:
            rows = {file.path: _row_of(tx, file) for file in seen.values()}
            called = [_called(tx, track, rows) for track in tracks]
            places = [_old_places(tx, track) for track in tracks]
        sights = self._look(called, files, until)
        bare = self._bare(places, files, until)
        facts = tuple(
            _resolve(track, rows, found, sights, lacks=any(t.id in bare for t in old))
            for track, found, old in zip(tracks, called, places, strict=True)
        )
        every = tuple({file.path: file for file in seen.values()}.values())
        unknown = tuple(file for file in every if not _is_known(file, rows[file.path]))
        return Gathered(tracks=facts, seen=every, unknown=unknown)

    def _look(
        self,
        called: Sequence[Sequence["_Found"]],
        files: PayloadFiles,
        until: float,
    ) -> dict[str, Sight]:
        """Look whether the files that are called like the tracks are still there."""
        every = {found.file.path: found.file for each in called for found in each}
        questions = {
            path: partial(files.look, file.root, file.directory, file.name, file.stem)
            for path, file in every.items()
        }
        return self._probes.ask(questions, until=until)

    def _bare(
        self, places: Sequence[Sequence[Target]], files: PayloadFiles, until: float
    ) -> set[int]:
        """Give the finished targets whose sidecar has vanished."""
        questions = {
            target.id: partial(files.lacks_sidecar, target) for each in places for target in each
        }
        answers = self._probes.ask(questions, until=until)
        return {target_id for target_id, lacks in answers.items() if lacks}


@dataclass(frozen=True, slots=True)
class _Found:
    """A file that is called like a track: by which of its names, and in which credit."""

    file: KnownFile
    names: Names
    by_artist: bool


def _row_of(tx: "Tx", file: SeenFile) -> KnownFile | None:
    return inventory.at(tx, file.library.id, file.rel_directory, file.audio.name)


def _called(tx: "Tx", track: PayloadTrack, rows: Mapping[str, KnownFile | None]) -> list[_Found]:
    """Give the files of the inventory that are called like a track, by either of its names."""
    found: list[_Found] = []
    for names in filter(None, dict.fromkeys((track.payload, track.tagged))):
        own, other = inventory.called(
            tx, names.title_key, names.artist_key, album_key=track.album_key
        )
        found += [_Found(file, names, by_artist=True) for file in own]
        found += [_Found(file, names, by_artist=False) for file in other]
        if (row := rows.get(track.seen.path) if track.seen else None) and (
            names == track.tagged or _is_called(row, names)
        ):
            found.append(_Found(row, names, by_artist=True))
    return found


def _is_called(file: KnownFile, names: Names) -> bool:
    row = file.row
    artists = (row["artist_key"], row["alt_artist_key"])
    return row["title_key"] == names.title_key and names.artist_key in artists


def _old_places(tx: "Tx", track: PayloadTrack) -> list[Target]:
    """Give the finished targets of a track that can only be served where it was before."""
    if track.seen is not None or not track.tagged:
        return []
    same = work_items.namesakes(tx, track.tagged.artist_key, track.tagged.title_key)
    done = [item for item in same if item.status is Status.DONE and item.outcome.has_lyrics]
    return [
        target
        for item in done
        for target in targets.of_item(tx, item.id)
        if target.status is TargetStatus.DONE
    ]


def _resolve(
    track: PayloadTrack,
    rows: Mapping[str, KnownFile | None],
    called: Sequence[_Found],
    sights: Mapping[str, Sight],
    *,
    lacks: bool,
) -> TrackFacts:
    """Take the first step that leads somewhere: inventory, payload path, metadata."""
    seen = track.seen
    own = rows.get(seen.path) if seen is not None else None
    if known := _match(track, own, called, sights):
        return _by_inventory(track, own, known, sights)
    if track.recording is None or not track.tagged:
        return TrackFacts(seen=seen, own=own)
    wish = Wish(
        recording=track.recording,
        spot=_spot_of(seen) if seen is not None else None,
        origin=WishOrigin.WEBHOOK,
        has_sidecar=seen.has_sidecar if seen is not None else False if lacks else None,
    )
    by = ResolvedBy.METADATA if seen is None else ResolvedBy.PATH
    return TrackFacts(wish=wish, by=by, seen=seen, own=own)


def _spot_of(seen: SeenFile) -> Spot:
    return Spot(
        out_dir=seen.audio.directory,
        out_stem=seen.stem,
        source_path=seen.path,
        library_id=seen.library.id,
        origin=TargetOrigin.PATH,
    )


def _match(
    track: PayloadTrack,
    own: KnownFile | None,
    called: Sequence[_Found],
    sights: Mapping[str, Sight],
) -> KnownFile | None:
    """Find the file that is meant, by the payload's names first and then by the tags'."""
    for names in filter(None, dict.fromkeys((track.payload, track.tagged))):
        named = [found for found in called if found.names == names]
        chosen = choose(
            [_candidate(found, own, sights) for found in named],
            paired_path=track.seen.path if track.seen is not None else "",
            album_key=track.album_key,
        )
        if chosen is not None:
            return next(one.file for one in named if one.file.row["id"] == chosen.row_id)
    return None


def _candidate(found: _Found, own: KnownFile | None, sights: Mapping[str, Sight]) -> Candidate:
    file = found.file
    sight = sights.get(file.path, UNKNOWN)
    is_own = own is not None and own.path == file.path
    return Candidate(
        row_id=file.row["id"],
        path=file.path,
        album_key=file.row["album_key"],
        is_done=file.row["status"] == "done",
        is_there=is_own or sight.exists or not sight.reachable,
        by_artist=found.by_artist,
    )


def _by_inventory(
    track: PayloadTrack, own: KnownFile | None, known: KnownFile, sights: Mapping[str, Sight]
) -> TrackFacts:
    """Use source and destination as the scan recorded them; the names as the file has them now."""
    seen, row = track.seen, known.row
    recording = stored_recording(row)
    if seen is not None and own is not None and own.path == known.path:
        has_sidecar: bool | None = seen.has_sidecar
        if seen.tags is not None and track.recording is not None:
            recording = track.recording
    else:
        has_sidecar = sights.get(known.path, UNKNOWN).has_sidecar
    spot = Spot(
        out_dir=known.directory,
        out_stem=known.stem,
        source_path=known.path,
        library_id=row["library_id"],
        origin=TargetOrigin.INVENTORY,
    )
    wish = Wish(
        recording=recording,
        spot=spot,
        origin=WishOrigin.WEBHOOK,
        has_sidecar=bool(row["sidecar"] & WORDS) if has_sidecar is None else has_sidecar,
    )
    return TrackFacts(wish=wish, by=ResolvedBy.INVENTORY, seen=seen, own=own, known=known)


def _is_known(file: SeenFile, row: KnownFile | None) -> bool:
    """Tell whether the inventory knows a file as it is now."""
    if row is None or row.row["missing_since_at"] is not None:
        return False
    stored = row.row
    return (stored["mtime_ns"], stored["size"], stored["inode"]) == file.stamp
