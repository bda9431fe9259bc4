"""The address Lidarr calls."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from lyrsvc.core.errors import StoreError
from lyrsvc.web.exchange import Exchange
from lyrsvc.web.gates import HOOK
from lyrsvc.web.problems import unavailable
from lyrsvc.web.replies import Unfinished
from lyrsvc.web.route import Payload, Room, Route

_RETRY_AFTER_S: Final = 30


def take_event(exchange: Exchange, body: bytes) -> Unfinished[dict[str, Any]]:
    """Take one event of Lidarr; answered once what it asks for is durable."""
    with _asking_again():
        begun = exchange.service.intake.begin(body, client=exchange.standing.client)

    def finish() -> dict[str, Any]:
        with _asking_again():
            return begun.finish()

    return Unfinished(finish, begun.pending)


@contextmanager
def _asking_again() -> Iterator[None]:
    """Ask the sender to come again when the database cannot be written to."""
    try:
        yield
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
