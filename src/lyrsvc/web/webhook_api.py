"""The address Lidarr calls."""

from typing import Any, Final

from lyrsvc.core.errors import StoreError
from lyrsvc.web.exchange import Exchange
from lyrsvc.web.gates import HOOK
from lyrsvc.web.problems import unavailable
from lyrsvc.web.route import Payload, Room, Route

_RETRY_AFTER_S: Final = 30


def take_event(exchange: Exchange, body: bytes) -> dict[str, Any]:
    """Take one event of Lidarr; answered once what it asks for is durable."""
    try:
        return exchange.service.intake.accept(body, client=exchange.standing.client)
    except StoreError as error:
        raise unavailable(_RETRY_AFTER_S) from error


ROUTES: Final = tuple(
    Route(
        methods=("POST", "PUT"),
        path=path,
        gate=HOOK,
        handler=take_event,
        room=Room.WEBHOOK,
        payload=Payload.WEBHOOK,
    )
    for path in ("/api/v1/webhooks/lidarr", "/api/v1/webhooks/lidarr/")
)
