"""When libraries are scanned: windows on the local clock, or the older interval.

A window is a moment at which a scan is to begin. The local clock may skip a time
of day or show it twice; a skipped time counts as if the clock had not been changed
yet (02:30 runs at 03:30), a repeated one counts when it comes first. Moments go in
and come out in UTC. Nothing here knows what time it is.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Final

FREQUENCIES: Final = ("", "off", "hourly", "daily", "weekly")
"""Blank is the older way: an interval counted from the end of the last scan."""
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

TOLERANCE: Final = timedelta(seconds=120)
"""A window noticed later than this is skipped, not run late."""
STEP_BACK: Final = timedelta(hours=2)
"""How far a clock may be set back without a window being run a second time."""

_QUARTER: Final = timedelta(minutes=15)
_QUARTERS_OF_A_DAY: Final = 96
_DAY: Final = timedelta(days=1)
_DAYS_AHEAD: Final = 9


@dataclass(frozen=True, kw_only=True, slots=True)
class ScanPlan:
    """What the operator wants; texts are those of the settings.

    ``interval_s`` counts only while ``frequency`` is blank. A plan that cannot be
    followed is a ``ValueError``: settings are checked long before they come here.
    """

    frequency: str = ""
    at: str = ""
    day: str = ""
    scan_on_start: bool = False
    interval_s: int = 900

    def __post_init__(self) -> None:
        if self.frequency not in FREQUENCIES:
            raise ValueError(f'no scan frequency "{self.frequency}"')
        if self.frequency in ("daily", "weekly"):
            time.fromisoformat(self.at)
        if self.frequency == "weekly" and self.day not in WEEKDAYS:
            raise ValueError(f'no weekday "{self.day}"')
        if self.interval_s < 0:
            raise ValueError("an interval cannot be negative")

    @property
    def by_interval(self) -> bool:
        """Tell whether the older interval decides, not the clock on the wall."""
        return not self.frequency

    @property
    def scans_at_start(self) -> bool:
        """Tell whether a scan runs when the service starts; by interval it always does."""
        return self.by_interval or self.scan_on_start


def next_window(plan: ScanPlan, now: datetime, zone: tzinfo) -> datetime | None:
    """Give the first window strictly after ``now``, or None when there is none.

    By interval, ``now`` is to be the end of the last scan.
    """
    now = now.astimezone(UTC)
    match plan.frequency:
        case "off":
            return None
        case "":
            return now + timedelta(seconds=plan.interval_s) if plan.interval_s else None
        case "hourly":
            return _next_hour(now, zone)
        case _:
            return _next_day(plan, now, zone)


def is_missed(window: datetime, now: datetime) -> bool:
    """Tell whether a window that has come is too long ago to be run."""
    return now - window > TOLERANCE


def trusted(last_fired: datetime | None, now: datetime) -> datetime | None:
    """Give the window that ran last, or None when it lies too far ahead to be believed.

    A clock that was set back a little shows a window again, which is not to run twice;
    one that was far ahead has left a moment that must not hold up anything.
    """
    if last_fired is not None and last_fired > now + STEP_BACK:
        return None
    return last_fired


def plan_text(plan: ScanPlan) -> str:
    """Say the plan in words."""
    match plan.frequency:
        case "daily":
            return f"daily at {plan.at}"
        case "weekly":
            return f"every {plan.day} at {plan.at}"
        case "":
            return f"every {_span(plan.interval_s)}" if plan.interval_s else "once at start"
        case frequency:
            return frequency


def _span(seconds: int) -> str:
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds % length == 0:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def _next_hour(now: datetime, zone: tzinfo) -> datetime:
    """Try quarters of an hour: no zone in use is further from a full hour than that."""
    quarter = now.replace(minute=now.minute // 15 * 15, second=0, microsecond=0)
    moments = (quarter + step * _QUARTER for step in range(1, _QUARTERS_OF_A_DAY))
    full = (moment for moment in moments if _is_full_hour(moment.astimezone(zone)))
    odd_zone = now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    return next(full, odd_zone)


def _is_full_hour(local: datetime) -> bool:
    return local.minute == 0 and local.second == 0


def _next_day(plan: ScanPlan, now: datetime, zone: tzinfo) -> datetime:
    at = time.fromisoformat(plan.at)
    today = now.astimezone(zone).date()
    days = (day for day in _days(today) if plan.frequency == "daily" or _is_named(day, plan.day))
    windows = (datetime.combine(day, at, zone).astimezone(UTC) for day in days)
    return next(window for window in windows if window > now)


def _is_named(day: date, name: str) -> bool:
    return WEEKDAYS[day.weekday()] == name


def _days(today: date) -> Iterator[date]:
    """Give yesterday too: a time skipped before midnight runs after it."""
    return (today + number * _DAY for number in range(-1, _DAYS_AHEAD))
