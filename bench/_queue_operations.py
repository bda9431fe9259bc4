"""What a queue does all day, each done once and timed: claim, settle, promote, enqueue."""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from pathlib import Path

from _filled_queue import LANES, NOW
from lyrsvc.core.claiming import Claim, Turns
from lyrsvc.core.item import Route, TargetResult, TargetStatus, WorkItem
from lyrsvc.core.lyrics import Candidate, Matched, Quality
from lyrsvc.core.outcome import Answer, Attempt, Missed, Served
from lyrsvc.core.recording import Recording
from lyrsvc.core.result import Accepted
from lyrsvc.core.settling import Ending, TargetEnd
from lyrsvc.core.sidecar import Kind
from lyrsvc.core.verdict import Decision, Verdict
from lyrsvc.core.waiting import Moment
from lyrsvc.core.wish import Spot, Wish, WishOrigin
from lyrsvc.services import attempting, scan_batches
from lyrsvc.services.attempting import TargetReport
from lyrsvc.services.enqueueing import Terms, enqueue
from lyrsvc.store import claims, targets
from lyrsvc.store.database import Database, Tx, from_db
from lyrsvc.store.written_files import OwnFile

DEADLINE_S = 30.0
REQUEST_TRACKS = 20


@dataclass
class Bench:
    """A filled database and what the measurements need to remember."""

    db: Database
    size: int
    dice: random.Random = field(default_factory=lambda: random.Random(3))
    turns: Turns = field(default_factory=Turns)
    claimed: list[WorkItem] = field(default_factory=list)
    batch: int = scan_batches.FEWEST
    numbers: Iterator[int] = field(default_factory=lambda: count(1))


def reading(question: Callable[[Tx], object]) -> Callable[[Bench], float]:
    """Measure a question, the opening of its read included."""

    def run(bench: Bench) -> float:
        began = time.perf_counter()
        with bench.db.read(deadline_s=DEADLINE_S) as tx:
            question(tx)
        return time.perf_counter() - began

    return run


def durable(bench: Bench, operation: Callable[[Tx], object], *, bulk: bool = False) -> float:
    """Measure an operation until it is durable."""
    began = time.perf_counter()
    bench.db.write(operation, bulk=bulk)
    return time.perf_counter() - began


def point_read(bench: Bench) -> float:
    """Measure one row by its id."""
    number = bench.dice.randint(1, bench.size)
    return reading(lambda tx: tx.first("SELECT * FROM work_items WHERE id = :id", id=number))(bench)


def one_commit(bench: Bench) -> float:
    """Measure one changed row."""
    moment = str(next(bench.numbers))
    return durable(
        bench,
        lambda tx: tx.run(
            "UPDATE counts SET updated_at = :at WHERE name = 'instrumental'", at=moment
        ),
    )


# The queue's own operations


def claim(bench: Bench) -> float:
    """Claim the next item, promotion included."""

    def take(tx: Tx) -> tuple[WorkItem | None, Turns]:
        return claims.claim_next(
            tx, route=Route.REMOTE, owner="bench", now=NOW, turns=bench.turns, chance=bench.dice
        )

    began = time.perf_counter()
    item, bench.turns = bench.db.write(take)
    took = time.perf_counter() - began
    assert item is not None, "the queue is too short for so many claims"
    bench.claimed.append(item)
    return took


def settle_served(bench: Bench) -> float:
    """Settle an item whose file was written."""
    item = claimed_item(bench)
    with bench.db.read() as tx:
        stand = targets.of_item(tx, item.id)
    reports = [
        TargetReport(
            end=TargetEnd(
                target_id=target.id,
                status=TargetStatus.DONE,
                result=TargetResult.WRITTEN,
                kind=Kind.LRC,
            ),
            files=(
                OwnFile(
                    path=Path(target.out_dir, target.out_stem + ".lrc"),
                    kind=Kind.LRC,
                    sha256=f"{item.id:064x}",
                    source="lrclib",
                    library_id=target.library_id,
                ),
            ),
        )
        for target in stand
    ]
    attempts = (
        Attempt(lane="defaultprov", answer=Answer.MISS, reason="not_found", answered_at=NOW),
        Attempt(lane="lrclib", answer=Answer.HIT, answered_at=NOW),
    )
    accepted = Accepted(
        candidate=Candidate(matched=Matched(), plain="la"),
        quality=Quality.SYNCED,
        verdict=Verdict(decision=Decision.ACCEPT, reason="exact"),
        lane="lrclib",
        fetched_at=NOW,
    )
    outcome = Served(accepted=accepted, attempts=attempts)
    ending = Ending(outcome=outcome, attempts=attempts)
    return durable(bench, settling(bench, item, ending, reports))


def settle_missed(bench: Bench) -> float:
    """Settle an item that no lane knows."""
    item = claimed_item(bench)
    attempts = tuple(
        Attempt(lane=lane, answer=Answer.MISS, reason="not_found", answered_at=NOW)
        for lane in LANES[:2]
    )
    outcome = Missed(reason="not_found", attempts=attempts)
    return durable(bench, settling(bench, item, Ending(outcome=outcome, attempts=attempts), []))


def settling(
    bench: Bench, item: WorkItem, ending: Ending, reports: list[TargetReport]
) -> Callable[[Tx], object]:
    """Give the operation that settles an item."""
    moment = Moment(now=NOW, chance=bench.dice)
    return lambda tx: attempting.settle(tx, Claim.on(item), ending, reports, moment)


def claimed_item(bench: Bench) -> WorkItem:
    """Take an item that was claimed, or claim one."""
    if not bench.claimed:
        claim(bench)
    return bench.claimed.pop()


def promote_nothing(bench: Bench) -> float:
    """Look for due items when there are none."""
    long_ago = NOW - timedelta(days=3000)
    return durable(bench, lambda tx: claims.promote(tx, now=long_ago, chance=bench.dice))


def promote_many(bench: Bench) -> float:
    """Promote 500 items; their moment is moved to, not waited for."""
    with bench.db.read() as tx:
        due_at = tx.value(
            """
            SELECT due_at FROM work_items
             WHERE ready_key IS NULL AND status IN ('pending', 'failed', 'deferred')
               AND due_at IS NOT NULL
             ORDER BY due_at, id LIMIT 1 OFFSET 499
            """
        )
    now = from_db(due_at)
    return durable(bench, lambda tx: claims.promote(tx, now=now, chance=bench.dice))


def enqueue_request(bench: Bench) -> float:
    """Enqueue 20 tracks as a webhook does: half of them are known."""
    wishes = [
        wish(bench, WishOrigin.WEBHOOK, known=number % 2 == 0) for number in range(REQUEST_TRACKS)
    ]
    return durable(bench, enqueueing(bench, wishes))


def enqueue_batch(bench: Bench) -> float:
    """Enqueue a batch of new files as a scan does: as many as keep the writer for a moment."""
    wishes = [wish(bench, WishOrigin.SCAN, known=False) for _ in range(bench.batch)]
    operation = enqueueing(bench, wishes)
    written = scan_batches.Written(rows=len(wishes))

    def timed(tx: Tx) -> None:
        began = time.monotonic()
        operation(tx)
        written.seconds = time.monotonic() - began

    spent = durable(bench, timed, bulk=True)
    bench.batch = scan_batches.fitting(bench.batch, written)
    return spent


def enqueueing(bench: Bench, wishes: list[Wish]) -> Callable[[Tx], object]:
    """Give the operation that enqueues the wishes."""
    terms = Terms(now=NOW, chance=bench.dice, output_dir="/output", provider_set_version=1387)
    return lambda tx: enqueue(tx, wishes, terms)


def wish(bench: Bench, origin: WishOrigin, *, known: bool) -> Wish:
    """Wish for a track of the queue, or for a new one."""
    number = next(bench.numbers)
    recording = Recording(
        title=f"New Song {number}", artist=f"New Artist {number // 12}", duration_ms=200_000
    )
    if known:
        with bench.db.read() as tx:
            row = tx.first(
                "SELECT artist, title, duration_ms FROM work_items WHERE id = :id",
                id=bench.dice.randint(1, bench.size),
            )
        assert row is not None
        recording = Recording(**row)
    folder = f"/music/1/new {number // 12}"
    spot = Spot(
        out_dir=folder,
        out_stem=f"{number}",
        source_path=f"{folder}/{number}.flac",
        library_id=1,
    )
    return Wish(recording=recording, spot=spot, origin=origin)
