"""Rows of ``work_items`` as values, and back."""

import json
from typing import TYPE_CHECKING, Any

from lyrsvc.core import resume
from lyrsvc.core.item import DetectorFinding, Result, Route, Status, WorkItem
from lyrsvc.core.ptext import clean_text
from lyrsvc.store.moments import from_db, to_db
from lyrsvc.store.searching import search_keys

if TYPE_CHECKING:
    from lyrsvc.store.engine import Row


def to_item(row: "Row") -> WorkItem:
    """Give the item a row holds."""
    return WorkItem(
        id=row["id"],
        artist=row["artist"],
        artists=tuple(json.loads(row["artists"])),
        title=row["title"],
        album=row["album"],
        album_artist=row["album_artist"],
        artist_key=row["artist_key"],
        title_key=row["title_key"],
        duration_bucket=row["duration_bucket"],
        duration_ms=row["duration_ms"],
        isrc=row["isrc"],
        mbid=row["mbid"],
        low_confidence=bool(row["low_confidence"]),
        status=Status(row["status"]),
        claimed_from=Status(row["claimed_from"]) if row["claimed_from"] else None,
        reason=row["reason"],
        reason_detail=row["reason_detail"],
        reason_text=row["reason_text"],
        priority=row["priority"],
        route=Route(row["route"]),
        ready_key=row["ready_key"],
        due_at=from_db(row["due_at"]),
        attempts=row["attempts"],
        misses=row["misses"],
        provider_set_version=row["provider_set_version"],
        detect_instrumental=_flag(row["detect_instrumental"]),
        detect_origin=row["detect_origin"],
        rerun=bool(row["rerun"]),
        boosted=bool(row["boosted"]),
        lease_owner=row["lease_owner"],
        lease_until_at=from_db(row["lease_until_at"]),
        claim_seq=row["claim_seq"],
        resume=resume.from_text(row["resume"]),
        completed_at=from_db(row["completed_at"]),
        fetched_at=from_db(row["fetched_at"]),
        lane=row["lane"],
        outcome=Result(row["outcome"]),
        from_cache=bool(row["from_cache"]),
        detector=_finding(row),
        created_at=from_db(row["created_at"]),
        updated_at=from_db(row["updated_at"]),
    )


def to_row(item: WorkItem) -> "Row":
    """Give every column of an item but its id and its moments of writing."""
    found = item.detector
    return {
        "artist": clean_text(item.artist),
        "artists": clean_text(json.dumps(item.artists, ensure_ascii=False)),
        "title": clean_text(item.title),
        "album": clean_text(item.album),
        "album_artist": clean_text(item.album_artist),
        "artist_key": item.artist_key,
        "title_key": item.title_key,
        "search_keys": search_keys(item.artist_key, item.title_key, item.album),
        "duration_bucket": item.duration_bucket,
        "duration_ms": item.duration_ms,
        "isrc": item.isrc,
        "mbid": item.mbid,
        "low_confidence": int(item.low_confidence),
        "status": str(item.status),
        "claimed_from": str(item.claimed_from or ""),
        "reason": item.reason,
        "reason_detail": clean_text(item.reason_detail),
        "reason_text": clean_text(item.reason_text),
        "priority": int(item.priority),
        "route": int(item.route),
        "ready_key": item.ready_key,
        "due_at": to_db(item.due_at),
        "attempts": item.attempts,
        "misses": item.misses,
        "provider_set_version": item.provider_set_version,
        "detect_instrumental": _number(item.detect_instrumental),
        "detect_origin": str(item.detect_origin),
        "rerun": int(item.rerun),
        "boosted": int(item.boosted),
        "lease_owner": item.lease_owner,
        "lease_until_at": to_db(item.lease_until_at),
        "claim_seq": item.claim_seq,
        "resume": resume.to_text(item.resume),
        "completed_at": to_db(item.completed_at),
        "fetched_at": to_db(item.fetched_at),
        "lane": item.lane,
        "outcome": str(item.outcome),
        "from_cache": int(item.from_cache),
        "detector_verdict": _number(found.verdict),
        "detector_version": found.version,
        "music_sum": found.music_sum,
        "vocal_peak": found.vocal_peak,
        "speech_mean": found.speech_mean,
        "vocal_class": found.vocal_class,
        "detected_at": to_db(found.detected_at),
    }


def _finding(row: "Row") -> DetectorFinding:
    return DetectorFinding(
        verdict=_flag(row["detector_verdict"]),
        version=row["detector_version"],
        music_sum=row["music_sum"],
        vocal_peak=row["vocal_peak"],
        speech_mean=row["speech_mean"],
        vocal_class=row["vocal_class"],
        detected_at=from_db(row["detected_at"]),
    )


def _flag(value: Any) -> bool | None:  # noqa: ANN401 - as the column holds it
    return None if value is None else bool(value)


def _number(value: bool | None) -> int | None:  # noqa: FBT001 - it is the value itself
    return None if value is None else int(value)
