"""The transactions of an attempt, each a function of a ``Tx``.

A is :func:`lyrsvc.store.claims.claim_next`. B, :func:`record_result`, makes sure that a
crash costs no second question. D, :func:`settle`, lets item, targets, lanes, counts,
inventory and history stand or fall together; :func:`release` gives the item back
uncharged. All raise ``ClaimLost`` when somebody else holds the item by now.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lyrsvc.core import releasing, settling
from lyrsvc.core.claiming import Claim
from lyrsvc.core.item import Event, Result, Route, Target, TargetResult, WorkItem
from lyrsvc.core.outcome import Attempt, Missed, Served
from lyrsvc.core.result import Accepted
from lyrsvc.core.resume import Detected, Found
from lyrsvc.core.settling import Ending, Settled, TargetEnd
from lyrsvc.core.sidecar import FetchMode
from lyrsvc.core.waiting import LEASE, Moment
from lyrsvc.core.wish import Wish
from lyrsvc.services.enqueueing import Terms, enqueue
from lyrsvc.services.routing import route_of
from lyrsvc.services.target_leaving import miss_audio
from lyrsvc.store import (
    absences,
    claims,
    history,
    lane_attempts,
    lyrics_cache,
    scan_links,
    targets,
    work_items,
    written_files,
)
from lyrsvc.store.counts import Tally
from lyrsvc.store.history import Happening
from lyrsvc.store.lyrics_cache import CacheKey
from lyrsvc.store.written_files import OwnFile

if TYPE_CHECKING:
    from lyrsvc.store.transaction import Tx

WORKER: Final = "worker"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """Lyrics that are about to be written, and how they came.

    ``cache_id`` is known when they are from the cache. Without a ``key`` they are not
    stored: extracted lyrics, and what the detector said, which is ``detected``.
    """

    accepted: Accepted
    attempts: tuple[Attempt, ...] = ()
    key: CacheKey | None = None
    update: bool = False
    cache_id: int | None = None
    detected: Detected | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Intent:
    """A file that is about to be written; ``on_disk`` is the hash of what stands there now."""

    file: OwnFile
    on_disk: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class TargetReport:
    """What became of a target, and which files came and went.

    ``ours`` says whose the deciding sidecar is. ``asks`` is what its audio has become: lyrics
    of that song are wanted there from now on.
    """

    end: TargetEnd
    files: tuple[OwnFile, ...] = ()
    removed: tuple[Path, ...] = ()
    ours: bool = False
    asks: Wish | None = None


def record_result(
    tx: "Tx", claim: Claim, finding: Finding, intents: Sequence[Intent], *, now: datetime
) -> None:
    """Store lyrics and the intent to write them, and prolong the lease (B)."""
    item = work_items.held(tx, claim)
    tally = Tally()
    resumed = replace(item, resume=_left_behind(tx, finding, now), lease_until_at=now + LEASE)
    work_items.save(tx, item, resumed, tally, now=now)
    for intent in intents:
        written_files.intend(tx, intent.file, item_id=item.id, now=now, on_disk=intent.on_disk)
    tally.write(tx, now=now)


def record_intents(tx: "Tx", claim: Claim, intents: Sequence[Intent], *, now: datetime) -> None:
    """Go on from an earlier B: what was found is stored, the files are intended anew."""
    claims.renew_one(tx, claim, now=now)
    for intent in intents:
        item_id = claim.item_id
        written_files.intend(tx, intent.file, item_id=item_id, now=now, on_disk=intent.on_disk)


def settle(
    tx: "Tx",
    claim: Claim,
    ending: Ending,
    reports: Sequence[TargetReport],
    moment: Moment,
    *,
    terms: Terms | None = None,
) -> Settled:
    """Write down what an attempt came to, all or nothing (D).

    The ends of the reports are added to those of the ending. What reports ask for is
    placed on the ``terms``.
    """
    now = moment.now
    item = work_items.held(tx, claim)
    tally = Tally()
    for report in reports:
        if report.end.gone_from:
            miss_audio(tx, report.end.target_id, report.end.gone_from, tally, now=now)
    before = targets.of_item(tx, item.id)
    ending = replace(ending, targets=(*ending.targets, *(report.end for report in reports)))
    settled = settling.settle(item, before, ending, moment)
    _credit(tx, item, ending, tally, now)
    _keep_files(tx, item, reports, tally, now)
    for target in settled.dropped:
        targets.delete(tx, target.id)
    if settled.is_gone:
        work_items.delete(tx, item, tally)
    else:
        settled = _routed(tx, settled)
        targets.save_changed(tx, before, settled.targets, now=now)
        work_items.save(tx, item, settled.item, tally, now=now)
        scan_links.follow(tx, settled.item, settled.targets, now=now)
        _remember(tx, item, settled, ending, reports, now)
        _ask_anew(tx, reports, terms)
    tally.write(tx, now=now)
    return settled


def release(  # noqa: PLR0913 - one keyword for each thing that may be said of it
    tx: "Tx",
    claim: Claim,
    moment: Moment,
    *,
    until: datetime | None = None,
    attempts: Sequence[Attempt] = (),
    route: Route | None = None,
    counted: bool = True,
) -> WorkItem:
    """Give the item back uncharged (T7); see :func:`lyrsvc.core.releasing.release`."""
    item = work_items.held(tx, claim)
    given = releasing.release(
        item, moment, until=until, attempts=attempts, route=route, counted=counted
    )
    tally = Tally()
    work_items.save(tx, item, given, tally, now=moment.now)
    tally.write(tx, now=moment.now)
    return given


def _left_behind(tx: "Tx", finding: Finding, now: datetime) -> Found | Detected | None:
    if finding.detected is not None:
        return finding.detected
    cache_id = finding.cache_id
    if cache_id is None and finding.key is not None:
        cache_id = lyrics_cache.keep(
            tx, finding.key, finding.accepted, now=now, update=finding.update
        )
    if cache_id is None:
        return None
    return Found(
        cache_id=cache_id,
        lane=finding.accepted.lane,
        answers=finding.attempts,
        fetched_at=finding.accepted.fetched_at,
        from_cache=finding.cache_id is not None,
    )


def _credit(tx: "Tx", item: WorkItem, ending: Ending, tally: Tally, now: datetime) -> None:
    outcome = ending.outcome
    served = outcome if isinstance(outcome, Served) and not outcome.from_cache else None
    winner = served.accepted.lane if served else ""
    lane_attempts.credit(tx, item.id, ending.attempts, tally, winner=winner, now=now)


def _keep_files(
    tx: "Tx", item: WorkItem, reports: Sequence[TargetReport], tally: Tally, now: datetime
) -> None:
    for report in reports:
        written_files.forget_all(tx, report.removed)
        for file in report.files:
            written_files.confirm(tx, file, item_id=item.id, now=now)
        if report.end.kind is not None:
            beside = scan_links.Beside(
                kind=report.end.kind,
                ours=report.ours or report.end.result.is_served,
                added=_bits(file.path for file in report.files),
                removed=_bits(report.removed),
            )
            scan_links.note_sidecar(tx, report.end.target_id, beside, tally, now=now)


def _bits(paths: Iterable[Path]) -> int:
    bits = 0
    for path in paths:
        bits |= scan_links.SIDECAR_BITS.get(path.suffix.lower(), 0)
    return bits


def _ask_anew(tx: "Tx", reports: Sequence[TargetReport], terms: Terms | None) -> None:
    """Let targets whose audio is another song by now leave for the item of that song."""
    for report in reports:
        target = targets.get(tx, report.end.target_id)
        wish, spot = report.asks, report.asks.spot if report.asks else None
        if terms is None or target is None or wish is None or spot is None:
            continue
        if target.source_path != spot.source_path:
            continue
        rows = [row["id"] for row in absences.of_target(tx, target.id)]
        (placed,) = enqueue(tx, [wish], terms)
        if placed.item_id is None or placed.target_id is None:
            continue
        scan_links.tie(tx, rows, placed.target_id)
        stand = [one for one in targets.of_item(tx, placed.item_id) if one.id == placed.target_id]
        scan_links.follow(tx, work_items.get(tx, placed.item_id), stand, now=terms.now)


def _routed(tx: "Tx", settled: Settled) -> Settled:
    """Let what is run again be served from the cache where that is possible."""
    if settled.event is not Event.RERUN:
        return settled
    route = route_of(tx, settled.item, settled.targets)
    return replace(settled, item=replace(settled.item, route=route))


def _remember(
    tx: "Tx",
    item: WorkItem,
    settled: Settled,
    ending: Ending,
    reports: Sequence[TargetReport],
    now: datetime,
) -> None:
    event = _happening(item, settled, ending, reports)
    if event is None:
        return
    report = next((r for r in reports if r.end.result.is_served), None)
    report = report or next(iter(reports), None)
    target = _target_of(settled.targets, report)
    served = isinstance(ending.outcome, Served)
    note = history.Note(
        by=WORKER,
        destination=str(report.files[0].path) if report and report.files else "",
        library_id=target.library_id if target else None,
        lane=ending.outcome.accepted.lane if isinstance(ending.outcome, Served) else "",
        reason="" if served and event is not Happening.FAILED else _reason(settled, ending),
        outcome=settled.item.outcome if event in _FINISHED else Result.NONE,
    )
    history.add(tx, item, event, note, now=now)


_FINISHED: Final = frozenset({Happening.WRITTEN, Happening.UPGRADED, Happening.ALREADY_PRESENT})


def _happening(
    item: WorkItem, settled: Settled, ending: Ending, reports: Sequence[TargetReport]
) -> Happening | None:
    if settled.event is Event.FAIL:
        return Happening.FAILED
    if isinstance(ending.outcome, Missed):
        return Happening.REJECTED if ending.outcome.rejected else Happening.MISS
    ends = [report.end for report in reports]
    if any(end.result is TargetResult.WRITTEN for end in ends):
        raised = any(end.mode is not FetchMode.NORMAL for end in ends)
        return Happening.UPGRADED if raised and item.was_served else Happening.WRITTEN
    if any(end.result is TargetResult.SAME for end in ends) and not item.was_served:
        return Happening.WRITTEN
    settled_now = settled.event in (Event.SERVE, Event.KEEP)
    return Happening.ALREADY_PRESENT if settled_now else None


def _reason(settled: Settled, ending: Ending) -> str:
    return ending.outcome.reason if isinstance(ending.outcome, Missed) else settled.item.reason


def _target_of(stand: Sequence[Target], report: TargetReport | None) -> Target | None:
    if report is None:
        return next(iter(stand), None)
    return next((target for target in stand if target.id == report.end.target_id), None)
