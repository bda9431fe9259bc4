"""Writing down who did what over HTTP."""

from typing import Any

from lyrsvc.web.exchange import Exchange


def audited(exchange: Exchange, event: str, /, **fields: Any) -> None:  # noqa: ANN401 - as the event has
    """Write an audit event with whoever made the request."""
    exchange.service.audit.event(
        event, actor=exchange.identity.actor, client=exchange.standing.client, **fields
    )
