"""Windows on the local clock, on every day of the year."""

from datetime import UTC, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.core.schedule import (
    STEP_BACK,
    TOLERANCE,
    WEEKDAYS,
    ScanPlan,
    is_missed,
    next_window,
    plan_text,
    trusted,
)

BERLIN = ZoneInfo("Europe/Berlin")
ZONES = [
    ZoneInfo(name)
    for name in (
        "UTC",
        "Europe/Berlin",
        "America/New_York",
        "America/St_Johns",
        "America/Nuuk",
        "Asia/Kolkata",
        "Asia/Kathmandu",
        "Australia/Lord_Howe",
        "Pacific/Apia",
        "Pacific/Chatham",
        "Africa/Casablanca",
        "Asia/Beirut",
    )
]
HOURLY = ScanPlan(frequency="hourly")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text.replace(" ", "T")).replace(tzinfo=UTC)


def windows(plan: ScanPlan, zone, start: str, count: int) -> list[datetime]:
    found: list[datetime] = []
    moment = at(start)
    for _ in range(count):
        moment = next_window(plan, moment, zone)
        found.append(moment)
    return found


def daily(text: str) -> ScanPlan:
    return ScanPlan(frequency="daily", at=text)


def weekly(day: str, text: str) -> ScanPlan:
    return ScanPlan(frequency="weekly", day=day, at=text)


@pytest.mark.spec("E-49")
def test_a_time_the_clock_skips_runs_an_hour_later_once():
    assert windows(daily("02:30"), BERLIN, "2026-03-28 12:00", 2) == [
        at("2026-03-29 01:30"),
        at("2026-03-30 00:30"),
    ]
    assert at("2026-03-29 01:30").astimezone(BERLIN).strftime("%H:%M") == "03:30"


@pytest.mark.spec("E-50")
def test_a_time_that_comes_twice_runs_the_first_time_only():
    assert windows(daily("02:30"), BERLIN, "2026-10-24 12:00", 2) == [
        at("2026-10-25 00:30"),
        at("2026-10-26 01:30"),
    ]
    between = at("2026-10-25 01:00")
    assert next_window(daily("02:30"), between, BERLIN) == at("2026-10-26 01:30")


@pytest.mark.spec("E-50")
def test_the_hour_that_comes_twice_has_two_hourly_windows():
    found = windows(HOURLY, BERLIN, "2026-10-24 23:00", 3)
    assert found == [at("2026-10-25 00:00"), at("2026-10-25 01:00"), at("2026-10-25 02:00")]
    assert [f"{one.astimezone(BERLIN):%H:%M}" for one in found] == ["02:00", "02:00", "03:00"]


@pytest.mark.seed("S-030")
@pytest.mark.spec("E-51")
@pytest.mark.parametrize(
    ("zone", "now", "window"),
    [
        ("Asia/Kolkata", "2026-05-01 00:00", "2026-05-01 00:30"),
        ("Asia/Kolkata", "2026-05-01 00:30", "2026-05-01 01:30"),
        ("Asia/Kathmandu", "2026-05-01 00:00", "2026-05-01 00:15"),
        ("Australia/Lord_Howe", "2026-04-04 14:45", "2026-04-04 15:30"),
        ("UTC", "2026-05-01 00:59:59.999999", "2026-05-01 01:00"),
        ("UTC", "2026-05-01 01:00", "2026-05-01 02:00"),
    ],
)
def test_hourly_means_full_hours_of_the_local_clock(zone, now, window):
    assert next_window(HOURLY, at(now), ZoneInfo(zone)) == at(window)


def test_a_zone_that_no_quarter_fits_gets_full_hours_of_utc():
    zone = timezone(timedelta(minutes=-44, seconds=-30))
    assert next_window(HOURLY, at("2026-05-01 00:10"), zone) == at("2026-05-01 01:00")


@pytest.mark.parametrize(
    ("plan", "now", "window"),
    [
        (daily("04:00"), "2026-01-10 02:59:59", "2026-01-10 03:00"),
        (daily("04:00"), "2026-01-10 03:00", "2026-01-11 03:00"),
        (daily("00:00"), "2026-01-10 22:59", "2026-01-10 23:00"),
        (daily("23:59"), "2026-12-31 22:59", "2027-01-01 22:59"),
        (weekly("monday", "04:00"), "2026-01-05 02:00", "2026-01-05 03:00"),
        (weekly("monday", "04:00"), "2026-01-05 03:00", "2026-01-12 03:00"),
        (weekly("sunday", "00:10"), "2026-01-10 23:00", "2026-01-10 23:10"),
        (weekly("sunday", "02:30"), "2026-03-28 12:00", "2026-03-29 01:30"),
    ],
)
@pytest.mark.seed("S-030")
def test_daily_and_weekly_windows_are_local_clock_times(plan, now, window):
    assert next_window(plan, at(now), BERLIN) == at(window)


def test_a_time_skipped_before_midnight_runs_after_it_and_is_not_lost():
    nuuk = ZoneInfo("America/Nuuk")  # on this night 22:59 is followed by 00:00
    gap = at("2026-03-29 01:00")
    assert f"{gap.astimezone(nuuk):%a %H:%M}" == "Sun 00:00"
    assert next_window(daily("23:30"), gap + timedelta(minutes=10), nuuk) == at("2026-03-29 01:30")
    assert next_window(weekly("saturday", "23:30"), gap, nuuk) == at("2026-03-29 01:30")


def test_a_day_that_a_zone_left_out_gives_one_window():
    apia = ZoneInfo("Pacific/Apia")  # there was no 30 December 2011
    assert windows(daily("10:00"), apia, "2011-12-29 12:00", 3) == [
        at("2011-12-29 20:00"),
        at("2011-12-30 20:00"),
        at("2011-12-31 20:00"),
    ]


@pytest.mark.seed("S-030")
def test_off_has_no_window():
    assert next_window(ScanPlan(frequency="off"), at("2026-01-01 00:00"), UTC) is None


@pytest.mark.seed("S-034")
def test_an_interval_counts_from_the_end_of_the_last_scan_and_zero_means_no_other():
    now = at("2026-01-01 00:07:03")
    assert next_window(ScanPlan(), now, UTC) == now + timedelta(seconds=900)
    assert next_window(ScanPlan(interval_s=0), now, UTC) is None
    assert next_window(ScanPlan(frequency="off", interval_s=5), now, UTC) is None


@pytest.mark.seed("S-031", "S-034")
def test_who_scans_at_start():
    assert not ScanPlan(frequency="off").scans_at_start
    assert not HOURLY.scans_at_start
    assert ScanPlan(frequency="hourly", scan_on_start=True).scans_at_start
    assert ScanPlan(frequency="off", scan_on_start=True).scans_at_start
    assert ScanPlan(interval_s=0).scans_at_start
    assert ScanPlan(interval_s=900, scan_on_start=False).scans_at_start


@pytest.mark.parametrize(
    ("plan", "text"),
    [
        (ScanPlan(), "every 15 min"),
        (ScanPlan(interval_s=0), "once at start"),
        (ScanPlan(frequency="off"), "off"),
        (HOURLY, "hourly"),
        (daily("04:00"), "daily at 04:00"),
        (weekly("monday", "04:00"), "every monday at 04:00"),
    ],
)
def test_a_plan_can_be_told_in_words(plan, text):
    assert plan_text(plan) == text


@pytest.mark.parametrize(
    "parts",
    [
        {"frequency": "yearly"},
        {"frequency": "daily"},
        {"frequency": "daily", "at": "24:00"},
        {"frequency": "weekly", "at": "04:00"},
        {"frequency": "weekly", "at": "04:00", "day": "mon"},
        {"frequency": "weekly", "day": "monday"},
        {"interval_s": -1},
    ],
)
def test_a_plan_nobody_could_follow_is_refused(parts):
    with pytest.raises(ValueError, match=r"."):
        ScanPlan(**parts)


def test_a_window_may_be_noticed_two_minutes_late_but_not_later():
    window = at("2026-01-01 04:00")
    assert not is_missed(window, window - timedelta(days=1))
    assert not is_missed(window, window + TOLERANCE)
    assert is_missed(window, window + TOLERANCE + timedelta(microseconds=1))


def test_a_last_window_far_ahead_is_not_believed():
    now = at("2026-01-01 04:00")
    assert trusted(None, now) is None
    for last in (now - timedelta(days=9), now, now + STEP_BACK):
        assert trusted(last, now) == last
    assert trusted(now + STEP_BACK + timedelta(seconds=1), now) is None


FIRST, LAST = at("2012-01-01 00:00"), at("2037-12-01 00:00")
moments = st.timedeltas(timedelta(), LAST - FIRST).map(lambda passed: FIRST + passed)
clock_times = st.times().map(lambda moment: f"{moment:%H:%M}")
plans = st.one_of(
    st.just(HOURLY),
    clock_times.map(daily),
    st.builds(weekly, st.sampled_from(WEEKDAYS), clock_times),
)
LONGEST = {"hourly": 1.5, "daily": 25, "weekly": 7 * 24 + 1}
zones = st.sampled_from(ZONES)


@given(plans, moments, zones)
def test_the_next_window_lies_ahead_and_not_too_far(plan, now, zone):
    window = next_window(plan, now, zone)
    assert now < window <= now + timedelta(hours=LONGEST[plan.frequency])
    assert window.utcoffset() == timedelta()


@given(plans, moments, zones, st.floats(0, 1))
def test_there_is_no_window_between_now_and_the_next_one(plan, now, zone, part):
    window = next_window(plan, now, zone)
    between = now + (window - now) * part
    if between < window:
        assert next_window(plan, between, zone) == window


@given(plans, moments, zones)
def test_a_window_shows_the_planned_time_or_one_after_a_gap(plan, now, zone):
    local = next_window(plan, now, zone).astimezone(zone)
    if plan.frequency == "hourly":
        assert (local.minute, local.second) == (0, 0)
        return
    assert local.fold == 0
    planned = datetime.combine(local.date(), time.fromisoformat(plan.at))
    shift = local.replace(tzinfo=None) - planned
    gap = zone.utcoffset(local.replace(tzinfo=None)) - zone.utcoffset(
        local.replace(tzinfo=None) - timedelta(hours=3)
    )
    assert shift in (timedelta(), gap, gap - timedelta(days=1))
    if plan.frequency == "weekly" and not shift:
        assert WEEKDAYS[local.weekday()] == plan.day


@given(moments, zones)
def test_the_zone_of_the_moment_handed_in_does_not_matter(now, zone):
    elsewhere = now.astimezone(ZoneInfo("Asia/Tokyo"))
    assert next_window(daily("04:00"), elsewhere, zone) == next_window(daily("04:00"), now, zone)
