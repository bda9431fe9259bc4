"""The zone of the schedule's clock."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import TZPATH, ZoneInfo

import pytest

from lyrsvc.settings.zones import LibraryZone, find_zone, shown_zone

SUMMER = datetime(2026, 7, 1, 12, tzinfo=UTC)


def zone_file(name: str) -> Path:
    found = [Path(place) / name for place in TZPATH if (Path(place) / name).is_file()]
    if not found:
        pytest.skip("no zones on this machine")
    return found[0]


@pytest.mark.parametrize("name", ["Europe/Berlin", ":Europe/Berlin", " Europe/Berlin "])
def test_the_operators_zone_counts(name):
    assert find_zone(name) == ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize("name", ["JST-9", " JST-9 ", ":JST-9"])
def test_the_operators_zone_may_be_a_rule(tmp_path, name):
    for zone in (find_zone(name, machine=tmp_path / "none"), shown_zone(name)):
        assert SUMMER.astimezone(zone).strftime("%H:%M %Z") == "21:00 JST"


@pytest.mark.parametrize("before", ["", ":"])
def test_the_operators_zone_may_be_a_path(before):
    name = f"{before}{zone_file('Asia/Tokyo')}"
    for zone in (find_zone(name), shown_zone(name)):
        assert SUMMER.astimezone(zone).strftime("%H:%M %Z") == "21:00 JST"
        assert str(zone) == "Asia/Tokyo"


def test_a_zone_file_of_the_operators_own_is_called_as_its_path(tmp_path):
    own = tmp_path / "own"
    own.write_bytes(zone_file("Asia/Tokyo").read_bytes())
    for zone in (find_zone(str(own)), shown_zone(str(own))):
        assert (str(zone), f"{SUMMER.astimezone(zone):%H:%M}") == (str(own), "21:00")


@pytest.mark.parametrize("name", ["", "Nowhere/City", "/etc/passwd", "JST"])
def test_moments_are_shown_in_utc_without_a_known_zone(name):
    assert shown_zone(name) is UTC


@pytest.mark.parametrize(
    "name", ["", " ", "Nowhere/City", "../etc/passwd", "/etc/passwd", "Europe"]
)
def test_without_a_known_one_it_is_the_machines(tmp_path, name):
    machine = tmp_path / "localtime"
    machine.symlink_to(zone_file("Asia/Kolkata"))
    zone = find_zone(name, machine=machine)
    assert SUMMER.astimezone(zone).strftime("%H:%M") == "17:30"
    assert str(zone) == "Asia/Kolkata"


def test_a_copied_zone_file_has_no_name_but_the_same_hours(tmp_path):
    machine = tmp_path / "localtime"
    machine.write_bytes(zone_file("Asia/Kolkata").read_bytes())
    assert SUMMER.astimezone(find_zone("", machine=machine)).strftime("%H:%M") == "17:30"


@pytest.mark.parametrize("content", [None, b"", b"no zone"])
def test_without_a_usable_file_the_c_library_is_asked(tmp_path, content):
    machine = tmp_path / "localtime"
    if content is not None:
        machine.write_bytes(content)
    zone = find_zone("", machine=machine)
    assert isinstance(zone, LibraryZone)
    assert SUMMER.astimezone(zone) == SUMMER
    assert zone.utcoffset(None) is zone.tzname(None) is zone.dst(None) is None
    assert SUMMER.astimezone(zone).tzname()


def test_the_c_librarys_zone_knows_gaps_and_repeated_hours():
    script = """
from datetime import UTC, datetime, timedelta
from lyrsvc.core.schedule import ScanPlan, next_window
from lyrsvc.settings.zones import LibraryZone
from zoneinfo import ZoneInfo
ours, known = LibraryZone(), ZoneInfo("Europe/Berlin")
moment = datetime(2026, 1, 1, tzinfo=UTC)
for _ in range(365 * 24 * 2):
    moment += timedelta(minutes=30)
    one, other = moment.astimezone(ours), moment.astimezone(known)
    assert (one.replace(tzinfo=None), one.fold) == (other.replace(tzinfo=None), other.fold), moment
plan = ScanPlan(frequency="daily", at="02:30")
for start in ("2026-03-28T12:00+00:00", "2026-03-29T01:10+00:00", "2026-10-25T00:40+00:00"):
    now = datetime.fromisoformat(start)
    assert next_window(plan, now, ours) == next_window(plan, now, known), start
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"TZ": "Europe/Berlin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
