"""``/metrics``: what the database says at this moment, in the text format 0.0.4.

A family is one row of a table. Everything is read from one state of the database; when any
of it cannot be read there is no answer at all, because a family that is left out would
count as zero.
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from lyrsvc import __version__, brand
from lyrsvc.core.errors import StoreError
from lyrsvc.store.measuring import Metrics, take_metrics
from lyrsvc.web.exchange import Exchange
from lyrsvc.web.gates import METRICS
from lyrsvc.web.problems import unavailable
from lyrsvc.web.replies import Reply
from lyrsvc.web.route import get

_LOG = logging.getLogger("lyrsvc.metrics")

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Sample = tuple[str, int]
"""The value of the label, empty for a family without one, and the number."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Family:
    """One metric: its name without our prefix, its type, what it means, where it comes from."""

    name: str
    kind: str
    help: str
    samples: Callable[[Metrics], Iterable[Sample]]
    label: str = ""


FAMILIES: Final = (
    Family(
        name="queue_items",
        kind="gauge",
        help="Work items by status.",
        label="status",
        samples=lambda found: found.queue_items.items(),
    ),
    Family(
        name="queue_failures",
        kind="gauge",
        help="Failed work items by reason.",
        label="reason",
        samples=lambda found: found.queue_failures.items(),
    ),
    Family(
        name="provider_hits_total",
        kind="counter",
        help="Answers of a lane that gave the lyrics.",
        label="lane",
        samples=lambda found: found.provider_hits.items(),
    ),
    Family(
        name="provider_misses_total",
        kind="counter",
        help="Answers of a lane that had no fitting lyrics.",
        label="lane",
        samples=lambda found: found.provider_misses.items(),
    ),
    Family(
        name="instrumental_tracks",
        kind="gauge",
        help="Work items that audio detection confirmed as instrumental.",
        samples=lambda found: [("", found.instrumental_tracks)],
    ),
    Family(
        name="build_info",
        kind="gauge",
        help="The running version.",
        label="version",
        samples=lambda _found: [(__version__, 1)],
    ),
    Family(
        name="lane_closed",
        kind="gauge",
        help="Whether a lane takes no ordinary request now.",
        label="lane",
        samples=lambda found: ((lane, int(closed)) for lane, closed in found.lane_closed.items()),
    ),
    Family(
        name="queue_oldest_due_timestamp_seconds",
        kind="gauge",
        help="Since when the longest-due unclaimed work item is due, 0 when none is.",
        samples=lambda found: [("", _seconds(found.oldest_due_at))],
    ),
    Family(
        name="library_last_scan_timestamp_seconds",
        kind="gauge",
        help="When the last whole scan of a library ended well, 0 when none did.",
        label="library",
        samples=lambda found: (
            (str(library), _seconds(moment)) for library, moment in found.last_scans.items()
        ),
    ),
)


def answer_metrics(exchange: Exchange) -> Reply:
    """Measure, and write everything down."""
    service = exchange.service
    try:
        with service.db.read() as tx:
            found = take_metrics(tx, lanes=service.lane_desk.names, now=service.clock.now())
    except Exception as error:
        if not isinstance(error, StoreError):
            _LOG.exception("the metrics cannot be read")
        raise unavailable() from error
    return Reply(text=exposition(found), content_type=CONTENT_TYPE)


def exposition(found: Metrics, families: Iterable[Family] = FAMILIES) -> str:
    """Write every family; help and type also where there is no sample."""
    return "".join(f"{line}\n" for family in families for line in _lines(family, found))


def _lines(family: Family, found: Metrics) -> Iterator[str]:
    name = f"{brand.METRIC_PREFIX}{family.name}"
    yield f"# HELP {name} {_escaped_help(family.help)}"
    yield f"# TYPE {name} {family.kind}"
    for value, number in sorted(family.samples(found)):
        labels = f'{{{family.label}="{escaped_label(value)}"}}' if family.label else ""
        yield f"{name}{labels} {number}"


def escaped_label(value: str) -> str:
    """Write a label's value between its quotes."""
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _escaped_help(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")


def _seconds(moment: datetime | None) -> int:
    return 0 if moment is None else int(moment.timestamp())


ROUTES: Final = (get("/metrics", METRICS, answer_metrics, media=("text/plain",)),)
