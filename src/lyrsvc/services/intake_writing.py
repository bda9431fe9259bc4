"""Writing a webhook down: wishes, the inventory rows they concern, targets that are gone.

Everything here runs inside the one transaction of a request and touches no file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lyrsvc.core.errors import FileFault
from lyrsvc.core.item import Status, Target
from lyrsvc.core.merging import Effect
from lyrsvc.core.payload_paths import spellings
from lyrsvc.core.resolution import ResolvedBy
from lyrsvc.core.scan_facts import IDENTITY, TagFacts, describe
from lyrsvc.core.sidecar import FetchMode
from lyrsvc.core.wish import Wish
from lyrsvc.files.pairing import NAMED, split_name
from lyrsvc.files.tags import READER_VERSION, to_recording
from lyrsvc.services.enqueueing import Placed, Terms, enqueue
from lyrsvc.services.intake_facts import Gathered, TrackFacts
from lyrsvc.services.payload_files import SeenFile
from lyrsvc.services.tag_reading import shown_lyrics
from lyrsvc.services.target_leaving import drop_target
from lyrsvc.store import (
    announced_dirs,
    inventory,
    libraries,
    scan_results,
    standings,
    stem_rows,
    target_sources,
    targets,
    work_items,
    written_files,
)
from lyrsvc.store.counts import Tally

if TYPE_CHECKING:
    from lyrsvc.store.database import Tx


@dataclass(frozen=True, slots=True)
class TrackOutcome:
    """What became of one track, and the step that decided where its lyrics go."""

    effect: Effect
    by: ResolvedBy | None = None
    item_id: int | None = None


def write_tracks(tx: "Tx", tracks: Sequence[TrackFacts], terms: Terms) -> list[TrackOutcome]:
    """Enqueue the tracks of a request and tie the inventory rows of their files."""
    if any(track.wish is not None and track.wish.spot is not None for track in tracks):
        there = {library.id for library in libraries.all_libraries(tx)}
        tracks = [_still_placed(track, there) for track in tracks]
    wishes = [(place, track.wish) for place, track in enumerate(tracks) if track.wish is not None]
    placed = enqueue(tx, [wish for _, wish in wishes], terms)
    outcomes = [TrackOutcome(Effect.SKIPPED) for _ in tracks]
    for (place, wish), one in zip(wishes, placed, strict=True):
        track = tracks[place]
        _tie(tx, track, wish, one, now=terms.now)
        skipped = one.effect is Effect.SKIPPED
        outcomes[place] = TrackOutcome(one.effect, None if skipped else track.by, one.item_id)
    return outcomes


def write_retag(
    tx: "Tx", track: TrackFacts, terms: Terms, *, formerly: Sequence[str] = ()
) -> TrackOutcome:
    """Bring the row of a file with new tags up to date, then enqueue it.

    What we wrote for the song it was before gives way to the words of the one it is now,
    also if it still stands at one of the paths that the file had ``formerly``.
    """
    seen = track.seen
    facts = tag_facts(seen) if seen is not None else None
    if seen is None or facts is None:
        return write_tracks(tx, [track], terms)[0]
    before = scan_results.get(tx, track.own.row["id"]) if track.own is not None else None
    if before is not None:
        tally = Tally()
        after = refreshed(before, seen, facts)
        scan_results.update(tx, before, after, tally, now=terms.now)
        tally.write(tx, now=terms.now)
    if seen.has_sidecar:
        if _was_other_song(tx, seen, before, facts):
            return write_tracks(tx, [_to_replace(track)], terms)[0]
        if before is not None and all(before[name] == facts.columns[name] for name in IDENTITY):
            return TrackOutcome(Effect.ALREADY_DONE, track.by)
    elif _is_for(track, seen) and _comes_with_other_words(tx, seen, formerly, facts):
        return write_tracks(tx, [_to_replace(track)], terms)[0]
    return write_tracks(tx, [track], terms)[0]


def write_unknown(tx: "Tx", gathered: Gathered, *, now: datetime) -> None:
    """Write down which directories the inventory has to learn about, until that is done."""
    directories = dict.fromkeys(file.audio.directory for file in gathered.unknown)
    if directories:
        announced_dirs.insert(tx, directories, now=now)


def drop_replaced(
    tx: "Tx", gone: Sequence[str], gathered: Gathered, tally: Tally, *, now: datetime
) -> None:
    """Take audio that an upgrade has replaced from the queue.

    A target of the same stem goes over to the new file; any other one leaves its item.
    """
    heirs = {(file.audio.directory, file.stem): file for file in gathered.seen}
    for path in dict.fromkeys(each for one in gone for each in spellings(one)):
        for target_id in target_sources.of_source(tx, path):
            target = targets.get(tx, target_id)
            if target is None:
                continue
            heir = heirs.get((target.out_dir, target.out_stem))
            if heir is not None:
                targets.save(tx, replace(target, source_path=heir.path), now=now)
            else:
                _drop(tx, target, tally, now=now)


def tag_facts(seen: SeenFile) -> TagFacts | None:
    """Give what a scan would learn of a file; None when that is nothing."""
    if seen.tags is None:
        return None
    try:
        recording = to_recording(seen.tags, seen.path, seen.library.path)
        return describe(recording, embedded=shown_lyrics(seen.tags.embedded))
    except FileFault:
        return None


def refreshed(before: Mapping[str, Any], seen: SeenFile, facts: TagFacts) -> dict[str, Any]:
    """Give a row as a scan of the file would leave it; its sidecars are left to the next one."""
    mtime_ns, size, inode = seen.stamp
    after = {
        **before,
        **facts.columns,
        "mtime_ns": mtime_ns,
        "size": size,
        "inode": inode,
        "reader_version": READER_VERSION,
        "enriched": int(seen.enriched),
        "missing_since_at": None,
    }
    if before["status"] == "unreadable":
        after.update(status="pending", reason="", reason_text="")
    return after


def _was_other_song(
    tx: "Tx", seen: SeenFile, before: Mapping[str, Any] | None, facts: TagFacts
) -> bool:
    """Tell whether a file was another song by the inventory, or when its words were written."""
    now = facts.columns["artist_key"], facts.columns["title_key"]
    if before is not None and (before["artist_key"], before["title_key"]) != now:
        return True
    return _has_words_of_another(tx, Path(seen.path), now)


def _comes_with_other_words(
    tx: "Tx", seen: SeenFile, formerly: Sequence[str], facts: TagFacts
) -> bool:
    """Tell whether words of another song will follow a file from a path it had before."""
    now = facts.columns["artist_key"], facts.columns["title_key"]
    root = seen.library.path
    for path in (Path(each) for one in formerly for each in spellings(one)):
        row = None
        if root in path.parents:
            row = stem_rows.at_path(tx, seen.library.id, str(path.relative_to(root)))
        if row is not None and (row["artist_key"], row["title_key"]) != now:
            return True
        if _has_words_of_another(tx, path, now):
            return True
    return False


def _has_words_of_another(tx: "Tx", audio: Path, song: tuple[str, str]) -> bool:
    stem = split_name(audio.name)[0]
    written = (written_files.song_of(tx, audio.with_name(f"{stem}.{kind}")) for kind in NAMED)
    return any(one is not None and (one["artist_key"], one["title_key"]) != song for one in written)


def _is_for(track: TrackFacts, seen: SeenFile) -> bool:
    spot = track.wish.spot if track.wish is not None else None
    return spot is not None and spot.source_path == seen.path


def _to_replace(track: TrackFacts) -> TrackFacts:
    if track.wish is None:
        return track
    return replace(track, wish=replace(track.wish, mode=FetchMode.UPDATE))


def _still_placed(track: TrackFacts, there: set[int]) -> TrackFacts:
    """Send a track whose library was removed meanwhile to the output directory."""
    wish = track.wish
    if wish is None or wish.spot is None or wish.spot.library_id in there:
        return track
    bare = replace(wish, spot=None, has_sidecar=None)
    return replace(track, wish=bare, by=ResolvedBy.METADATA, known=None)


def _tie(tx: "Tx", track: TrackFacts, wish: Wish, placed: Placed, *, now: datetime) -> None:
    """Tie the row of the file that is served to its target, as a scan would."""
    known = track.known
    if known is None or placed.target_id is None or placed.item_id is None:
        return
    if known.row["target_id"] == placed.target_id:
        return
    row = scan_results.get(tx, known.row["id"])
    if row is None or row["target_id"] == placed.target_id:
        return
    standing = None
    if not wish.has_sidecar:
        standing = standings.of_target(tx, placed.item_id, placed.target_id)
    inventory.tie(tx, row["id"], placed.target_id, standing, now=now)


def _drop(tx: "Tx", target: Target, tally: Tally, *, now: datetime) -> None:
    """Drop a target from an item that waits or is done; an attempt finds out by itself."""
    if work_items.get(tx, target.item_id).status is Status.DONE:
        targets.delete(tx, target.id)
    else:
        drop_target(tx, target.id, tally, now=now)
