"""Items, wishes and endings for tests of the queue."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from lyrsvc.core.claiming import Claim, Turns
from lyrsvc.core.credits import identity_artist
from lyrsvc.core.item import Route, Status, Target, TargetResult, TargetStatus, WorkItem
from lyrsvc.core.keys import match_key
from lyrsvc.core.lyrics import Candidate, Cue, Matched, Quality
from lyrsvc.core.outcome import Answer, Attempt, Broken, Missed, Served
from lyrsvc.core.recording import Recording
from lyrsvc.core.result import Accepted
from lyrsvc.core.settling import Ending, Settled, TargetEnd
from lyrsvc.core.sidecar import FetchMode, Kind
from lyrsvc.core.verdict import Decision, Evidence, Verdict
from lyrsvc.core.waiting import Moment, WaitPolicy
from lyrsvc.core.wish import Spot, Wish, WishOrigin
from lyrsvc.services import attempting
from lyrsvc.services.attempting import TargetReport
from lyrsvc.services.enqueueing import Placed, Terms, enqueue
from lyrsvc.store import claims, counts, targets, work_items
from lyrsvc.store.database import Database
from lyrsvc.store.lyrics_cache import CacheKey
from lyrsvc.store.written_files import OwnFile

NOW = datetime(2026, 1, 31, 14, 5, 6, tzinfo=UTC)
HOUR = timedelta(hours=1)
ACCEPTED = Verdict(decision=Decision.ACCEPT, reason="exact", evidence=Evidence.EXACT, delta_s=0.4)


def an_item(**fields: Any) -> WorkItem:
    """An item that was just enqueued, unless told otherwise."""
    known: dict[str, Any] = {
        "id": 1,
        "artist": "Quillon Marsh",
        "title": "Tidewater",
        "artist_key": "quillon marsh",
        "title_key": "tidewater",
        "due_at": NOW,
        "created_at": NOW,
        "updated_at": NOW,
    }
    if fields.get("status") is Status.PROCESSING:
        known |= {"claimed_from": Status.PENDING, "claim_seq": 1, "lease_owner": "test"}
    return WorkItem(**{**known, **fields})


def a_target(**fields: Any) -> Target:
    number = fields.get("id", 1)
    known: dict[str, Any] = {
        "id": number,
        "item_id": 1,
        "library_id": 1,
        "source_path": f"/music/{number}.flac",
        "out_dir": "/music",
        "out_stem": str(number),
    }
    return Target(**{**known, **fields})


def a_moment(now: datetime = NOW, **policy: Any) -> Moment:
    return Moment(now=now, chance=Random(1), policy=WaitPolicy(**policy))


def a_recording(title: str = "Tidewater", seconds: float | None = 200, **fields: Any) -> Recording:
    length = None if seconds is None else int(seconds * 1000)
    return Recording(**{"title": title, "artist": "Quillon Marsh", "duration_ms": length, **fields})


def cache_key(recording: Recording) -> CacheKey:
    """Give the key under which the lyrics of a recording are kept."""
    return CacheKey(
        artist_key=match_key(identity_artist(recording)),
        title_key=match_key(recording.title),
        duration_ms=recording.duration_ms or 0,
    )


def a_spot(stem: str = "01 Tidewater", **fields: Any) -> Spot:
    folder = fields.pop("out_dir", "/music")
    source = fields.pop("source_path", f"{folder}/{stem}.flac")
    return Spot(out_dir=folder, out_stem=stem, source_path=source, **fields)


def a_wish(
    title: str = "Tidewater",
    seconds: float | None = 200,
    *,
    stem: str | None = "",
    recording: Recording | None = None,
    **fields: Any,
) -> Wish:
    """A wish of a scan for a file named after its song; ``stem`` None names no file."""
    known = recording or a_recording(title, seconds)
    spot = None if stem is None else a_spot(stem or f"{title} {seconds}")
    return Wish(**{"recording": known, "spot": spot, **fields})


def a_webhook(*args: Any, **fields: Any) -> Wish:
    return a_wish(*args, origin=WishOrigin.WEBHOOK, **fields)


def an_attempt(lane: str = "lrclib", answer: Answer = Answer.HIT, **fields: Any) -> Attempt:
    return Attempt(lane=lane, answer=answer, **{"answered_at": NOW, **fields})


def some_lyrics(lane: str = "lrclib", quality: Quality = Quality.SYNCED, **fields: Any) -> Accepted:
    cues = (Cue(1000, "first line"), Cue(5000, "second line"))
    synced = quality >= Quality.SYNCED
    candidate = Candidate(
        matched=Matched(artist="Quillon Marsh", title="Tidewater", duration_ms=200_000),
        cues=cues if synced else (),
        plain=None if synced or quality is Quality.INSTRUMENTAL else "first line\nsecond line",
        instrumental=quality is Quality.INSTRUMENTAL,
    )
    known = {"candidate": candidate, "quality": quality, "verdict": ACCEPTED, "fetched_at": NOW}
    return Accepted(**{**known, "lane": lane, **fields})


def served(lane: str = "lrclib", quality: Quality = Quality.SYNCED, **fields: Any) -> Served:
    attempts = fields.pop("attempts", (an_attempt(lane),))
    return Served(accepted=some_lyrics(lane, quality), attempts=attempts, **fields)


def missed(reason: str = "not_found", **fields: Any) -> Missed:
    return Missed(reason=reason, **fields)


def broken(reason: str = "network", **fields: Any) -> Broken:
    return Broken(reason=reason, lane="lrclib", text="no route", **fields)


def an_end(
    target_id: int,
    result: TargetResult = TargetResult.WRITTEN,
    *,
    status: TargetStatus = TargetStatus.DONE,
    kind: Kind | None = Kind.LRC,
    mode: FetchMode = FetchMode.NORMAL,
    reason: str = "",
) -> TargetEnd:
    return TargetEnd(
        target_id=target_id, status=status, result=result, kind=kind, mode=mode, reason=reason
    )


def still_open(target_id: int, mode: FetchMode = FetchMode.NORMAL) -> TargetEnd:
    """What an attempt that found nothing says about a target it looked after."""
    return TargetEnd(target_id=target_id, status=TargetStatus.PENDING, mode=mode)


class Queue:
    """A real queue in a real database, driven by hand."""

    def __init__(self, db: Database, *, now: datetime = NOW, seed: int = 7) -> None:
        self.db = db
        self.now = now
        self.chance = Random(seed)
        self.policy = WaitPolicy()
        self.turns = {route: Turns() for route in Route}
        self.version = 1
        self.detect_default = False

    def advance(self, **span: float) -> None:
        self.now += timedelta(**span)

    @property
    def terms(self) -> Terms:
        return Terms(
            now=self.now,
            chance=self.chance,
            output_dir="/out",
            provider_set_version=self.version,
            detect_default=self.detect_default,
        )

    @property
    def moment(self) -> Moment:
        return Moment(now=self.now, chance=self.chance, policy=self.policy)

    def enqueue(self, *wishes: Wish) -> list[Placed]:
        terms = self.terms
        return self.db.write(lambda tx: enqueue(tx, wishes, terms))

    def claim(self, route: Route | None = None, owner: str = "me/1") -> WorkItem | None:
        """Claim on one route, or on either."""
        for each in (Route.LOCAL, Route.REMOTE) if route is None else (route,):
            item, self.turns[each] = self.db.write(
                lambda tx, each=each: claims.claim_next(
                    tx,
                    route=each,
                    owner=owner,
                    now=self.now,
                    turns=self.turns[each],
                    chance=self.chance,
                )
            )
            if item is not None:
                return item
        return None

    def settle(self, item: WorkItem, ending: Ending, *reports: TargetReport) -> Settled:
        return self.db.write(
            lambda tx: attempting.settle(tx, Claim.on(item), ending, reports, self.moment)
        )

    def serve(self, item: WorkItem, kind: Kind = Kind.LRC, lane: str = "lrclib") -> Settled:
        """Settle as if every open target had been written."""
        quality = {Kind.LRC: Quality.SYNCED, Kind.TXT: Quality.UNSYNCED}.get(
            kind, Quality.INSTRUMENTAL
        )
        outcome = served(lane, quality)
        reports = [
            a_report(target, kind=kind) for target in self.targets(item.id) if target.is_open
        ]
        return self.settle(item, Ending(outcome=outcome, attempts=outcome.attempts), *reports)

    def miss(self, item: WorkItem, **fields: Any) -> Settled:
        """Settle as if every lane had nothing."""
        attempts = fields.pop("attempts", (an_attempt(answer=Answer.MISS, reason="not_found"),))
        ends = tuple(still_open(t.id, t.mode) for t in self.targets(item.id) if t.is_open)
        outcome = missed(attempts=attempts, **fields)
        return self.settle(item, Ending(outcome=outcome, targets=ends, attempts=attempts))

    def fail(self, item: WorkItem, reason: str = "network") -> Settled:
        attempts = (an_attempt(answer=Answer.TRANSIENT, reason=reason),)
        return self.settle(
            item, Ending(outcome=broken(reason, attempts=attempts), attempts=attempts)
        )

    def release(self, item: WorkItem, **fields: Any) -> WorkItem:
        return self.db.write(
            lambda tx: attempting.release(tx, Claim.on(item), self.moment, **fields)
        )

    def item(self, item_id: int) -> WorkItem:
        with self.db.read() as tx:
            return work_items.get(tx, item_id)

    def items(self) -> list[WorkItem]:
        with self.db.read() as tx:
            ids = [row["id"] for row in tx.all("SELECT id FROM work_items ORDER BY id")]
            return [work_items.get(tx, item_id) for item_id in ids]

    def targets(self, item_id: int) -> list[Target]:
        with self.db.read() as tx:
            return targets.of_item(tx, item_id)

    def count(self, table: str) -> int:
        with self.db.read() as tx:
            return int(tx.value(f"SELECT count(*) FROM {table}"))

    def wrong_counts(self) -> dict[str, tuple[int, int]]:
        with self.db.read() as tx:
            return counts.differences(tx)


def a_report(
    target: Target, *, kind: Kind = Kind.LRC, result: TargetResult | None = None
) -> TargetReport:
    """What a write of one target leaves behind."""
    path = Path(target.out_dir) / f"{target.out_stem}{kind.extension}"
    file = OwnFile(path=path, kind=kind, sha256="0" * 64, source="lrclib", size=10, mtime_ns=5)
    end = an_end(target.id, result or TargetResult.WRITTEN, kind=kind, mode=target.mode)
    return TargetReport(end=end, files=(file,), ours=True)
