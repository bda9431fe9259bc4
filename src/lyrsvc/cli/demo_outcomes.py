"""What became of the demo's tracks, beside what was planned for each."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from lyrsvc.core.lrc_output import OWN_LINE
from lyrsvc.core.sidecar import MARKER_BYTES
from lyrsvc.demo.library_plan import Ending, PlannedTrack
from lyrsvc.demo.music_folder import FOREIGN_WORDS
from lyrsvc.store import libraries
from lyrsvc.store.database import Database
from lyrsvc.store.queue_listing import whole_items
from lyrsvc.store.scan_listing import list_results
from lyrsvc.store.stock_taking import take_stock

COLUMNS: Final = ("track", "shows", "planned", "outcome", "lane", "as_planned")
_SIDECARS: Final = (".lrc", ".txt")
_ITEMS_AT_ONCE: Final = 500


def count_settled(db: Database, *, since: datetime) -> tuple[int, bool]:
    """Give how many items came to rest, and whether everything has after a whole scan."""
    with db.read() as tx:
        stock = take_stock(tx)
        every = libraries.all_libraries(tx)
    moving = stock.statuses["pending"] + stock.statuses["processing"]
    scanned = [library.last_ok_scan_at for library in every]
    is_scanned = bool(scanned) and all(at is not None and at >= since for at in scanned)
    return stock.total - moving, is_scanned and not moving and not stock.due


def judge_tracks(db: Database, music: Path, plan: Sequence[PlannedTrack]) -> list[dict[str, Any]]:
    """Give a row for each track: planned, what it came to, and whether that is the same."""
    found = _found(db)
    return [_row(track, music / track.path, found.get(str(music / track.path))) for track in plan]


def _found(db: Database) -> dict[str, dict[str, Any]]:
    """Give what is known of each audio file: its scan result, and its item when it has one."""
    with db.read(deadline_s=None) as tx:
        results = {row["source_path"]: dict(row) for row in list_results(tx)}
        ids = sorted({row["item_id"] for row in results.values() if row["item_id"] is not None})
        items = {
            item["id"]: item
            for start in range(0, len(ids), _ITEMS_AT_ONCE)
            for item in whole_items(tx, ids[start : start + _ITEMS_AT_ONCE])
        }
    return {path: {**row, "item": items.get(row["item_id"])} for path, row in results.items()}


def _row(track: PlannedTrack, audio: Path, result: dict[str, Any] | None) -> dict[str, Any]:
    ending = track.ending
    item = result["item"] if result else None
    status, reason = _came_to(result, item)
    is_same = (status, reason) == (ending.status, ending.reason)
    return {
        "track": str(track.path),
        "shows": track.shows,
        "planned": f"{ending.status} {ending.reason}",
        "outcome": f"{status} {reason}".strip(),
        "lane": (item or {}).get("lane") or "",
        "as_planned": is_same and _has_sidecar(audio, ending),
    }


def _came_to(result: dict[str, Any] | None, item: dict[str, Any] | None) -> tuple[str, str]:
    if result is None:
        return "unknown", ""
    if item is None:
        return result["status"], "present" if result["sidecar"] else ""
    if item["status"] == "done":
        return "done", item["outcome"] or ""
    return item["status"], item["reason"] or ""


def _has_sidecar(audio: Path, ending: Ending) -> bool:
    """Tell whether exactly the planned sidecar is there, with what it is to hold."""
    there = [extension for extension in _SIDECARS if audio.with_suffix(extension).exists()]
    if there != ([ending.sidecar] if ending.sidecar else []):
        return False
    if not there:
        return True
    data = audio.with_suffix(ending.sidecar).read_bytes()
    if ending is Ending.FOREIGN:
        return data == FOREIGN_WORDS
    if ending is Ending.SYNCED:
        return data.startswith(OWN_LINE.encode())
    return (data == MARKER_BYTES) == (ending is Ending.INSTRUMENTAL)


def all_as_planned(rows: Iterable[dict[str, Any]]) -> bool:
    """Tell whether every track ended as planned."""
    return all(row["as_planned"] for row in rows)
