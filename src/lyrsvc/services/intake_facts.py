"""What a webhook's tracks come to: each with its file, its names and where its lyrics go.

The disk and the inventory are looked at here, before anything is written; whatever
does not answer in time is not visible.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from lyrsvc.core.item import Target, TargetOrigin
from lyrsvc.core.resolution import Candidate, Names, ResolvedBy, choose
from lyrsvc.core.scan_decision import WORDS
from lyrsvc.core.scan_facts import stored_recording
from lyrsvc.core.wish import Spot, Wish, WishOrigin
from lyrsvc.services.payload_files import UNKNOWN, PayloadFiles, SeenFile, Sight
from lyrsvc.services.payload_tracks import Payload, PayloadTrack, pair_tracks
from lyrsvc.services.probing import Probes
from lyrsvc.store import inventory, targets
from lyrsvc.store.database import Database
from lyrsvc.store.inventory import Called, KnownFile, Namesakes, Place

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
    files: PayloadFiles


class FactFinder:
    """Gathers the facts of one request after the other."""

    def __init__(
        self, db: Database, probes: Probes, *, open_files: "Callable[[Tx], PayloadFiles]"
    ) -> None:
        self._db = db
        self._probes = probes
        self._open_files = open_files

    def gather(self, payload: Payload, *, until: float) -> Gathered:
        """Look at everything a webhook speaks of."""
        with self._db.read() as tx:
            files = self._open_files(tx)
            paths = [path for path in dict.fromkeys(payload.files) if files.may_see(path)]
            known = _Known(tx, pair_tracks(payload, {}), {}) if not paths else None
        seen: dict[str, SeenFile] = {}
        if known is None:
            asked = {path: partial(files.see, path) for path in paths}
            answers = self._probes.ask(asked, until=until)
            seen = {path: file for path, file in answers.items() if file is not None}
            with self._db.read() as tx:
                known = _Known(tx, pair_tracks(payload, seen), seen)
        sights = self._look(known.called, files, until)
        bare = self._bare(known.places, files, until)
        facts = tuple(
            _resolve(track, known.rows, found, sights, lacks=any(t.id in bare for t in old))
            for track, found, old in zip(known.tracks, known.called, known.places, strict=True)
        )
        every = tuple({file.path: file for file in seen.values()}.values())
        unknown = tuple(file for file in every if not _is_known(file, known.rows.get(file.path)))
        return Gathered(tracks=facts, seen=every, unknown=unknown, files=files)

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


class _Known:
    """What the store knows of the tracks of a request, asked for with few questions.

    ``rows`` are the files that were seen, by path; ``called`` the files that are called like
    each track; ``places`` the finished targets of each that can be served only there.
    """

    def __init__(
        self, tx: "Tx", tracks: Sequence[PayloadTrack], seen: Mapping[str, SeenFile]
    ) -> None:
        self.tracks = tracks
        self.rows = _rows_of(tx, seen.values())
        self.called = _called(tx, tracks, self.rows)
        self.places = _old_places(tx, tracks)


def _rows_of(tx: "Tx", files: Iterable[SeenFile]) -> dict[str, KnownFile]:
    places = {
        file.path: Place(file.library.id, file.rel_directory, file.audio.name) for file in files
    }
    known = inventory.at(tx, places.values())
    return {path: known[place] for path, place in places.items() if place in known}


def _called(
    tx: "Tx", tracks: Sequence[PayloadTrack], rows: Mapping[str, KnownFile]
) -> list[list["_Found"]]:
    """Give the files of the inventory that are called like each track, by either of its names."""
    asked = [
        [
            (names, Called(names.title_key, names.artist_key, track.album_key))
            for names in _names_of(track)
        ]
        for track in tracks
    ]
    found = inventory.called(tx, (key for each in asked for _, key in each))
    return [
        [one for names, key in each for one in _named(track, names, found[key], rows)]
        for track, each in zip(tracks, asked, strict=True)
    ]


def _names_of(track: PayloadTrack) -> list[Names]:
    """Give the names a track is looked for by: the payload's, then the tags'."""
    return [names for names in dict.fromkeys((track.payload, track.tagged)) if names]


def _named(
    track: PayloadTrack, names: Names, same: Namesakes, rows: Mapping[str, KnownFile]
) -> Iterator["_Found"]:
    yield from (_Found(file, names, by_artist=True) for file in same.own)
    yield from (_Found(file, names, by_artist=False) for file in same.other)
    row = rows.get(track.seen.path) if track.seen is not None else None
    if row is not None and (names == track.tagged or _is_called(row, names)):
        yield _Found(row, names, by_artist=True)


def _is_called(file: KnownFile, names: Names) -> bool:
    row = file.row
    artists = (row["artist_key"], row["alt_artist_key"])
    return row["title_key"] == names.title_key and names.artist_key in artists


def _old_places(tx: "Tx", tracks: Sequence[PayloadTrack]) -> list[list[Target]]:
    """Give the finished targets of the tracks that can only be served where they were before."""
    asked = [
        (track.tagged.artist_key, track.tagged.title_key)
        if track.seen is None and track.tagged
        else None
        for track in tracks
    ]
    served = targets.served_by_name(tx, filter(None, asked))
    return [served[names] if names is not None else [] for names in asked]


def _resolve(
    track: PayloadTrack,
    rows: Mapping[str, KnownFile],
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
        names=(track.tagged.artist_key, track.tagged.title_key),
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
    for names in _names_of(track):
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
