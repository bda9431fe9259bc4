"""Health, readiness and the count of the queue."""

from typing import Final

import msgspec

from lyrsvc.core.errors import LyrsvcError
from lyrsvc.store import counts
from lyrsvc.store.stock_taking import count_statuses
from lyrsvc.web.exchange import Exchange
from lyrsvc.web.gates import ANYONE, STATUS
from lyrsvc.web.replies import Reply
from lyrsvc.web.route import Room, get


class Health(msgspec.Struct):
    """The service answers."""

    status: str


class Readiness(msgspec.Struct):
    """Whether what the service needs is there."""

    checks: dict[str, str]
    status: str


class QueueStatus(msgspec.Struct):
    """How many items stand where; statuses without items are left out."""

    queue: dict[str, int]
    status: str


def answer_health(exchange: Exchange) -> Health:  # noqa: ARG001 - every handler is given it
    """Answer as long as requests are answered at all."""
    return Health(status="ok")


def answer_readiness(exchange: Exchange) -> Readiness | Reply:
    """Answer 200 while the database can be read; say nothing about why it cannot."""
    try:
        exchange.service.db.check_reachable()
    except LyrsvcError:
        checks = Readiness(checks={"database": "error"}, status="unavailable")
        return Reply(status=503, data=checks)
    return Readiness(checks={"database": "ok"}, status="ready")


def answer_status(exchange: Exchange) -> QueueStatus:
    """Count the queue; never show a path, a key or a token."""
    with exchange.service.db.read() as tx:
        standing = count_statuses(counts.read(tx))
    return QueueStatus(queue={name: n for name, n in standing.items() if n}, status="ok")


ROUTES: Final = (
    get("/healthz", ANYONE, answer_health, room=Room.INSTANT),
    get("/ping", ANYONE, answer_health, room=Room.INSTANT),
    get("/readyz", ANYONE, answer_readiness, room=Room.PROBE, also=(503,)),
    get("/api/v1/status", STATUS, answer_status),
)
