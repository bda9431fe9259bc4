"""What the database says after sidecars were moved: inventory, targets, items.

A row shows what stands beside its audio. A target that only waited for a sidecar is
settled by one that came, and opened again when that one is taken away.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lyrsvc.core import requeueing, settling
from lyrsvc.core.item import (
    WAITING,
    Event,
    Result,
    Status,
    Target,
    TargetResult,
    TargetStatus,
    WorkItem,
    move,
)
from lyrsvc.core.library import Library
from lyrsvc.core.ptext import from_ptext
from lyrsvc.core.scan_decision import WORDS
from lyrsvc.core.settling import Ending, TargetEnd
from lyrsvc.core.sidecar import FetchMode, content_hash
from lyrsvc.core.waiting import Moment
from lyrsvc.files.pairing import NAMED, Sidecars, split_name
from lyrsvc.files.sidecars import LARGEST_OWN_BYTES, read_regular
from lyrsvc.services.routing import route_of
from lyrsvc.services.scan_sidecars import NOTHING, Standing, look
from lyrsvc.services.vanished_files import merge_rows
from lyrsvc.store import (
    history,
    scan_links,
    scan_results,
    stem_rows,
    targets,
    work_items,
    written_files,
)
from lyrsvc.store.counts import Tally

if TYPE_CHECKING:
    from lyrsvc.store.database import Database, Tx
    from lyrsvc.store.engine import Row


@dataclass(frozen=True, kw_only=True, slots=True)
class StemStand:
    """A stem of a library, and what stands there now; ``gone`` are rows without their audio."""

    library_id: int
    rel_path: str
    directory: str
    stem: str
    standing: Standing = NOTHING
    gone: frozenset[int] = frozenset()
    has_audio: bool = False


def look_at_stem(
    db: "Database", library: Library, path: Path, moved: Iterable[Path] = ()
) -> StemStand:
    """See what stands at the stem of a path; to be called before the rows are written.

    Only the plain names and those that were ``moved`` here are looked for: listing a
    large directory for every file in it would take for ever.
    """
    directory, stem = os.fspath(path.parent), stem_of(path)
    rel_path = (
        "" if path.parent == library.path else os.fspath(path.parent.relative_to(library.path))
    )
    names = {split_name(each.name)[1].lower(): each.name for each in moved}
    found = Sidecars(*(_standing_name(directory, stem, kind, names.get(kind)) for kind in NAMED))
    standing = NOTHING
    with db.read() as tx:
        rows = stem_rows.of_stem(tx, library.id, rel_path, stem)
        if any(found):
            standing = look(tx, directory, found, remembers=scan_results.has_own_files(tx))
    return StemStand(
        library_id=library.id,
        rel_path=rel_path,
        directory=directory,
        stem=stem,
        standing=standing,
        gone=frozenset(row["id"] for row in rows if not _is_there(directory, row["name"])),
        has_audio=any(_is_there(directory, row["name"]) for row in rows),
    )


def follow_files(
    tx: "Tx",
    files: Iterable[tuple[Path, Path]],
    moment: Moment,
    *,
    on_disk: Mapping[Path, str] | None = None,
) -> None:
    """Let what is remembered of our own files follow them.

    A crash may have kept a move from being written down, and a file may have been written
    under the new name meanwhile. Where that is possible, ``on_disk`` gives the hashes that
    were seen there: what is remembered of the new name stays when it is right.
    """
    for old, new in files:
        if on_disk is not None and written_files.owns(tx, new, on_disk.get(new, "")):
            written_files.forget(tx, old)
        elif written_files.own_hashes(tx, old):
            written_files.move(tx, old, new, now=moment.now)


def seen_hashes(paths: Iterable[Path]) -> dict[Path, str]:
    """Read the hashes of the files that may be ours."""
    found = {path: read_regular(path, most=LARGEST_OWN_BYTES) for path in paths}
    return {path: content_hash(data) for path, data in found.items() if data is not None}


def restand(
    tx: "Tx", stand: StemStand, tally: Tally, moment: Moment, *, settles: bool = True
) -> None:
    """Write down what stands at a stem; with ``settles`` its target follows."""
    standing = stand.standing
    target = targets.find(tx, stand.directory, stand.stem)
    has_lost = stand.has_audio and _is_left(target) and not standing.has_words
    for row in stem_rows.of_stem(tx, stand.library_id, stand.rel_path, stand.stem):
        after = {
            **row,
            "sidecar": standing.bits,
            "sidecar_class": str(standing.kind or ""),
            "ours": int(standing.ours),
        }
        if row["missing_since_at"] is None and row["status"] != "unreadable":
            if standing.has_words:
                after |= {"status": "done", "reason": "", "reason_text": ""}
            elif row["sidecar"] & WORDS and has_lost:
                after |= {"status": "pending", "reason": "", "reason_text": ""}
        scan_results.update(tx, row, after, tally, now=moment.now)
    if target is None or not settles:
        return
    if standing.has_words:
        _settle_present(tx, target, standing, tally, moment)
    elif has_lost:
        open_again(tx, target, tally, moment)


def relink(tx: "Tx", old: StemStand, new: StemStand, tally: Tally, moment: Moment) -> None:
    """Let the row of the vanished audio stand for the file that ids have found to be the same."""
    rows = stem_rows.of_stem(tx, new.library_id, new.rel_path, new.stem)
    lost = [
        row
        for row in stem_rows.of_stem(tx, old.library_id, old.rel_path, old.stem)
        if row["id"] in old.gone
    ]
    if len(rows) == len(lost) == 1 and rows[0]["id"] != lost[0]["id"] and _agree(lost[0], rows[0]):
        merge_rows(tx, lost[0]["id"], rows[0]["id"], tally, now=moment.now)


def remember_move(
    tx: "Tx", stand: StemStand, destination: Path, *, by: str, method: str, moment: Moment
) -> None:
    """Write the move into the history, when the track is known at all."""
    target = targets.find(tx, stand.directory, stand.stem)
    rows = stem_rows.of_stem(tx, stand.library_id, stand.rel_path, stand.stem)
    item = work_items.get(tx, target.item_id) if target else None
    track: dict[str, Any] | None = rows[0] if rows else None
    if item is not None:
        track = {"artist": item.artist, "title": item.title, "album": item.album}
    if track is None:
        return
    note = history.Note(
        by=by, destination=os.fspath(destination), library_id=stand.library_id, reason=method
    )
    history.add_move(tx, track, note, item_id=item.id if item else None, now=moment.now)


def open_again(tx: "Tx", target: Target, tally: Tally, moment: Moment) -> None:
    """Open a target that lost its sidecar, or whose audio is back, and its item with it."""
    item = work_items.get(tx, target.item_id)
    opened = replace(requeueing.opened(target), kind=None)
    if item.status is Status.DONE and item.outcome.is_miss:
        opened = replace(target, status=TargetStatus.DONE, result=TargetResult.MISS, kind=None)
    targets.save(tx, opened, now=moment.now)
    after = item
    if item.status is Status.PROCESSING:
        after = replace(item, rerun=True)
    elif item.status is Status.DONE and opened.is_open:
        after = requeueing.reopen(
            item, now=moment.now, chance=moment.chance, priority=item.priority
        )
        if not item.lane:  # nothing was ever fetched for it
            after = replace(after, outcome=Result.NONE, completed_at=None)
        after = replace(after, route=route_of(tx, after, targets.of_item(tx, item.id)))
    elif item.status in WAITING and item.due_at is None:
        after = requeueing.due_now(item, now=moment.now, chance=moment.chance)
    if after != item:
        work_items.save(tx, item, after, tally, now=moment.now)
    scan_links.follow(tx, after, [opened], now=moment.now)


def stem_of(path: Path) -> str:
    """Give the stem of a file."""
    return split_name(path.name)[0]


def _standing_name(directory: str, stem: str, kind: str, moved: str | None) -> str | None:
    for name in (moved, f"{stem}.{kind}"):
        if name is not None and os.path.lexists(path := Path(directory, name)):
            return name if path.is_symlink() or not path.is_dir() else None
    return None


def _is_there(directory: str, name: str) -> bool:
    return os.path.lexists(Path(directory, from_ptext(name)))


def _is_left(target: Target | None) -> bool:
    """Tell whether a row has nothing to show for itself but the sidecar that was found there."""
    if target is None:
        return True
    return target.status is TargetStatus.DONE and target.result is TargetResult.PRESENT


def _agree(one: "Row", other: "Row") -> bool:
    return any(one[key] and one[key] == other[key] for key in ("mbid", "isrc"))


def _settle_present(
    tx: "Tx", target: Target, standing: Standing, tally: Tally, moment: Moment
) -> None:
    """Settle a target that waited; the item goes with its last one, by T2 and T3."""
    if target.status is TargetStatus.DONE or target.mode is not FetchMode.NORMAL:
        return
    item = work_items.get(tx, target.item_id)
    if item.status is Status.PROCESSING:
        return  # the attempt under way finds it by itself
    done = replace(
        target,
        status=TargetStatus.DONE,
        result=TargetResult.PRESENT,
        kind=standing.kind,
        reason="",
        settled_at=moment.now,
    )
    targets.save(tx, done, now=moment.now)
    every = [done if one.id == done.id else one for one in targets.of_item(tx, item.id)]
    if item.status in WAITING and not any(one.is_open for one in every):
        item = _finished(tx, item, every, done, tally, moment)
    scan_links.follow(tx, item, [done], now=moment.now)


def _finished(
    tx: "Tx",
    item: WorkItem,
    every: Sequence[Target],
    done: Target,
    tally: Tally,
    moment: Moment,
) -> WorkItem:
    claimed = replace(item, status=move(item, Event.CLAIM), claimed_from=item.status)
    end = TargetEnd(
        target_id=done.id, status=done.status, result=done.result, kind=done.kind, mode=done.mode
    )
    settled = settling.settle(claimed, every, Ending(outcome=None, targets=(end,)), moment)
    work_items.save(tx, item, settled.item, tally, now=moment.now)
    targets.save_changed(tx, every, settled.targets, now=moment.now)
    return settled.item
