"""Time zones written as a rule."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from lyrsvc.core.posix_zone import rule_zone

WINTER = datetime(2026, 1, 15, 12, tzinfo=UTC)
SUMMER = datetime(2026, 7, 15, 12, tzinfo=UTC)


@pytest.mark.seed("S-078")
@pytest.mark.parametrize(
    ("rule", "winter", "summer"),
    [
        ("JST-9", "21:00 JST", "21:00 JST"),
        ("UTC+3", "09:00 UTC", "09:00 UTC"),
        ("<-03>3", "09:00 -03", "09:00 -03"),
        ("<+0330>-3:30", "15:30 +0330", "15:30 +0330"),
        ("CET-1CEST,M3.5.0,M10.5.0/3", "13:00 CET", "14:00 CEST"),
        ("AEST-10AEDT,M10.1.0,M4.1.0/3", "23:00 AEDT", "22:00 AEST"),
        ("XST5XDT4,J60/2,J300/2", "07:00 XST", "08:00 XDT"),
    ],
)
def test_a_rule_is_a_zone(rule, winter, summer):
    zone = rule_zone(rule)
    assert str(zone) == rule
    told = [moment.astimezone(zone).strftime("%H:%M %Z") for moment in (WINTER, SUMMER)]
    assert told == [winter, summer]


@pytest.mark.parametrize(
    "text",
    ["", "JST", "Nowhere/City", "/etc/passwd", "9", "JS-9", "JST-99999", "JST-9\nX", "JST-9 ", "é-9",
     "XST5XDT", "XST5XDT,M3.5.0", "XST5XDT,M99.5.0,M1.1.1", "JST-٩"],
)  # fmt: skip
def test_anything_else_is_none(text):
    assert rule_zone(text) is None


def test_the_hours_are_those_of_the_c_library():
    rule = "CET-1CEST,M3.5.0,M10.5.0/3"
    script = "import time; print([time.localtime(s).tm_gmtoff for s in range(%d, %d, 3600)])"
    start, end = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (2026, 2027))
    known = subprocess.run(
        [sys.executable, "-c", script % (start, end)],
        env={"TZ": rule},
        capture_output=True,
        text=True,
        check=True,
    )
    zone = rule_zone(rule)
    moments = (datetime.fromtimestamp(second, zone) for second in range(start, end, 3600))
    ours = [int((moment.utcoffset() or timedelta()).total_seconds()) for moment in moments]
    assert known.stdout.strip() == str(ours)
