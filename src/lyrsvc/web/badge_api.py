"""Numbers for small places: badges of the menu, dashboard widgets."""

from typing import Final

import msgspec

from lyrsvc.services.health_checks import ERROR, WARNING
from lyrsvc.store.stock_taking import take_stock
from lyrsvc.web.exchange import Exchange
from lyrsvc.web.gates import API
from lyrsvc.web.route import get


class Badges(msgspec.Struct):
    """How many there are of what."""

    pending: int
    processing: int
    done: int
    failed: int
    deferred: int
    wanted_missing: int
    wanted_unsynced: int
    instrumental: int
    health_warnings: int
    health_errors: int


def show_badges(exchange: Exchange) -> Badges:
    """Count the queue, what is wanted, and what is not as it should be."""
    with exchange.service.db.read() as tx:
        stock = take_stock(tx)
    health = exchange.service.health
    return Badges(
        **stock.statuses,
        wanted_missing=stock.wanted_missing,
        wanted_unsynced=stock.wanted_unsynced,
        instrumental=stock.instrumental,
        health_warnings=health.count(WARNING),
        health_errors=health.count(ERROR),
    )


ROUTES: Final = (get("/api/v1/badges", API, show_badges),)
