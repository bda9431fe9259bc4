"""Lanes: how they stand, trying one out, letting a closed one try again."""

from typing import Final, Literal

import msgspec

from lyrsvc.services.lane_desk import LaneView
from lyrsvc.web.audit_notes import audited
from lyrsvc.web.exchange import Exchange
from lyrsvc.web.gates import API
from lyrsvc.web.route import get, post
from lyrsvc.web.shapes import Moment, Page, shown_moment
from lyrsvc.web.short_lists import ShortListQuery, short_page


class Lane(msgspec.Struct):
    """A provider in its place; ``hit_rate`` is null for a lane that was never asked."""

    name: str
    role: Literal["primary", "fallback", "detector"]
    position: int
    state: Literal["ready", "closed", "probing", "not_configured"]
    closed_until_at: Moment | None
    reason: str | None
    next_slot_at: Moment | None
    hits: int
    misses: int
    hit_rate: float | None
    last_hit_at: Moment | None
    remedy: str | None


class LaneTrial(msgspec.Struct):
    """What asking a lane for one song came to."""

    ok: bool
    detail: str
    ms: int


def list_lanes(exchange: Exchange, query: ShortListQuery) -> Page[Lane]:
    """List the configured lanes in their order."""
    lanes = [lane_of(view) for view in exchange.service.lane_desk.views()]
    return short_page(lanes, query, text=lambda lane: lane.name)


def test_lane(exchange: Exchange, lane: str) -> LaneTrial:
    """Ask a lane for one song at its own pace; nothing is counted."""
    trial = exchange.service.lane_desk.test(lane)
    return LaneTrial(ok=trial.ok, detail=trial.detail, ms=trial.ms)


def reset_lane(exchange: Exchange, lane: str) -> Lane:
    """Let a closed lane be asked one careful question now."""
    view = exchange.service.lane_desk.reset(lane)
    audited(exchange, "lane.reset", lane=view.name)
    exchange.service.health.forget()
    return lane_of(view)


def lane_of(view: LaneView) -> Lane:
    """Give the shape of a lane."""
    return Lane(
        name=view.name,
        role=view.role,
        position=view.position,
        state=view.state,
        closed_until_at=shown_moment(view.closed_until_at),
        reason=view.reason or None,
        next_slot_at=shown_moment(view.next_slot_at),
        hits=view.hits,
        misses=view.misses,
        hit_rate=None if view.hit_rate is None else round(view.hit_rate, 4),
        last_hit_at=shown_moment(view.last_hit_at),
        remedy=view.remedy or None,
    )


ROUTES: Final = (
    get("/api/v1/providers", API, list_lanes),
    post("/api/v1/providers/{lane}/test", API, test_lane, refusals=("already_running",)),
    post("/api/v1/providers/{lane}/reset", API, reset_lane),
)
