"""Placing: which item a wish belongs to, and what its target looks like."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from lyrsvc.core import merging, requeueing
from lyrsvc.core.credits import identity_artist
from lyrsvc.core.item import (
    Priority,
    Status,
    Target,
    TargetOrigin,
    TargetResult,
    TargetStatus,
    WorkItem,
)
from lyrsvc.core.keys import duration_bucket, match_key
from lyrsvc.core.merging import Decision, Step
from lyrsvc.core.ptext import clean_text
from lyrsvc.core.recording import Recording
from lyrsvc.core.scan_facts import keys_of
from lyrsvc.core.sidecar_names import numbered, query_stem
from lyrsvc.core.wish import Spot, Wish


def names_of(wish: Wish) -> tuple[str, str]:
    """Give the match keys of artist and title that a wish goes by."""
    recording = wish.recording
    return wish.names or (match_key(identity_artist(recording)), match_key(recording.title))


def chosen(
    same: Sequence[WorkItem], wish: Wish, bucket: int, owned: Target | None
) -> WorkItem | None:
    """Choose the item of a wish: its own length; of unknown length the one that has its file."""
    exact = next((item for item in same if item.duration_bucket == bucket), None)
    if wish.recording.duration_ms:
        return exact
    owner = next((item for item in same if owned and item.id == owned.item_id), None)
    return owner or exact or next(iter(same), None)


def new_target(wish: Wish, item_id: int) -> Target:
    """Give the target of a wish that names a place; its id is not known yet."""
    spot = wish.spot
    if spot is None:
        raise ValueError("a target needs a place")
    return Target(
        id=0,
        item_id=item_id,
        library_id=spot.library_id,
        origin=origin_of(spot),
        source_path=spot.source_path,
        out_dir=spot.out_dir,
        out_stem=spot.out_stem,
        duration_ms=wish.recording.duration_ms or 0,
        mode=wish.mode,
    )


def fallback_spot(wish: Wish, output_dir: str, number: int = 1) -> Spot:
    """Name a file in the output directory, the first of its name or a later one."""
    recording = wish.recording
    stem = query_stem(clean_text(identity_artist(recording)), clean_text(recording.title))
    return Spot(out_dir=output_dir, out_stem=numbered(stem, number), origin=TargetOrigin.METADATA)


def is_same_track(item: WorkItem, wish: Wish) -> bool:
    """Tell whether a failed item is what a wish asks for, but for a length known only now."""
    return item.status is Status.FAILED and (item.artist_key, item.title_key) == names_of(wish)


def is_about(item: WorkItem, recording: Recording) -> bool:
    """Tell whether an item asks for the song that the tags of a file say.

    Names that were guessed from the path, or are not known, say nothing against it; of
    lengths that are both known five seconds decide, as they do for the queue.
    """
    keys = keys_of(recording)
    if recording.low_confidence or not (keys["title_key"] and keys["artist_key"]):
        return True
    artists = keys["artist_key"], keys["alt_artist_key"]
    if item.title_key != keys["title_key"] or item.artist_key not in artists:
        return False
    buckets = item.duration_bucket, duration_bucket(recording.duration_ms)
    return not all(buckets) or buckets[0] == buckets[1]


def of_new_length(item: WorkItem, wish: Wish, bucket: int) -> WorkItem:
    """Give an item the length and ids of a wish; its wait stays, old answers do not count."""
    recording = wish.recording
    return replace(
        item,
        duration_bucket=bucket,
        duration_ms=recording.duration_ms or 0,
        isrc=",".join(recording.isrcs) or item.isrc,
        mbid=recording.mbid or item.mbid,
        resume=None,
    )


def re_sourced(target: Target, wish: Wish) -> Target:
    """Give a target the file of a wish."""
    spot = wish.spot
    if spot is None:
        return target
    same = spot.source_path == target.source_path
    known = same and target.origin is TargetOrigin.INVENTORY
    length = wish.recording.duration_ms or 0
    return replace(
        target,
        library_id=spot.library_id or (target.library_id if same else None),
        origin=target.origin if known else origin_of(spot),
        source_path=spot.source_path,
        duration_ms=length or (target.duration_ms if same else 0),
    )


def changed(item: WorkItem, target: Target, recording: Recording, *, has_sidecar: bool) -> Wish:
    """Wish for the song that the audio of a target has become, as urgently as for the old one."""
    return Wish(
        recording=recording,
        spot=Spot(
            out_dir=target.out_dir,
            out_stem=target.out_stem,
            source_path=target.source_path,
            library_id=target.library_id,
            origin=target.origin,
        ),
        mode=target.mode,
        priority=max(item.priority, Priority.SCAN),
        has_sidecar=has_sidecar,
    )


def origin_of(spot: Spot) -> TargetOrigin:
    """Give the origin; what belongs to no library cannot be of the inventory."""
    known = spot.library_id is not None or spot.origin is not TargetOrigin.INVENTORY
    return spot.origin if known else TargetOrigin.PATH


def speaks_first(target: Target, wish: Wish) -> bool:
    """Tell whether a wish's file names the song: it is the same, the first, or the only one."""
    source = wish.spot.source_path if wish.spot else ""
    if not source:
        return False
    gone = target.status is TargetStatus.PARKED
    first = _file_order(source) <= _file_order(target.source_path)
    return not target.source_path or gone or first


def missed(target: Target, item: WorkItem, now: datetime) -> Target:
    """Settle a target that came to an item that was given up."""
    result = TargetResult(str(item.outcome))
    return replace(target, status=TargetStatus.DONE, result=result, settled_at=now)


def concerns_others(wish: Wish, decision: Decision) -> bool:
    """Tell whether a wish may open targets it does not name."""
    return decision.step is Step.SEEK or (decision.step is Step.REOPEN and wish.spot is None)


def followed(target: Target, wish: Wish, decision: Decision) -> Target:
    """Open the targets that are concerned although the wish does not name them."""
    if decision.step is Step.SEEK and requeueing.is_missed(target):
        return requeueing.opened(target)
    if decision.step is Step.REOPEN and wish.spot is None and target.status is TargetStatus.DONE:
        mode = merging.raised(target.mode, wish.mode)
        return replace(requeueing.opened(target), mode=mode)
    return target


def _file_order(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")
