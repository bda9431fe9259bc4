"""The text of ``/metrics``: strict readers take it, and labels cannot break it."""

import subprocess
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from lyrsvc.store.measuring import Metrics
from lyrsvc.web.metrics import FAMILIES, Family, escaped_label, exposition

EMPTY = Metrics(
    queue_items=dict.fromkeys(("pending", "processing", "done", "failed", "deferred"), 0),
    queue_failures={},
    provider_hits={"defaultprov": 0},
    provider_misses={"defaultprov": 0},
    instrumental_tracks=0,
    lane_closed={"defaultprov": False},
    oldest_due_at=None,
    last_scans={},
)
FULL = Metrics(
    queue_items={"pending": 3, "processing": 1, "done": 41, "failed": 2, "deferred": 0},
    queue_failures={"network": 1, "disk_full": 1},
    provider_hits={"lrclib": 40, "defaultprov": 1},
    provider_misses={"lrclib": 7, "defaultprov": 12},
    instrumental_tracks=5,
    lane_closed={"lrclib": False, "defaultprov": True},
    oldest_due_at=datetime(2026, 1, 31, 14, 5, 6, 900_000, tzinfo=UTC),
    last_scans={2: datetime(2026, 1, 31, tzinfo=UTC), 1: None},
)


def samples(text: str) -> dict[str, dict[str, float]]:
    return {
        family.name: {
            next(iter(sample.labels.values()), ""): sample.value for sample in family.samples
        }
        for family in text_string_to_metric_families(text)
    }


def test_every_family_has_help_and_type_even_without_a_sample():
    lines = exposition(EMPTY).splitlines()

    for family in FAMILIES:
        assert sum(line.startswith(f"# HELP lyrsvcgo_{family.name} ") for line in lines) == 1
        assert f"# TYPE lyrsvcgo_{family.name} {family.kind}" in lines
    assert not any(line.startswith("lyrsvcgo_queue_failures") for line in lines)
    assert exposition(EMPTY).endswith("\n")


def test_a_strict_reader_finds_the_numbers_again():
    found = samples(exposition(FULL))

    assert found["lyrsvcgo_queue_items"]["done"] == 41
    assert found["lyrsvcgo_queue_failures"] == {"disk_full": 1, "network": 1}
    assert found["lyrsvcgo_provider_hits"] == {"lrclib": 40, "defaultprov": 1}
    assert found["lyrsvcgo_lane_closed"] == {"lrclib": 0, "defaultprov": 1}
    assert found["lyrsvcgo_instrumental_tracks"] == {"": 5}
    assert found["lyrsvcgo_queue_oldest_due_timestamp_seconds"] == {"": 1769868306}
    assert found["lyrsvcgo_library_last_scan_timestamp_seconds"] == {"1": 0, "2": 1769817600}


def test_samples_are_sorted_by_label_and_numbers_are_whole():
    lines = [line for line in exposition(FULL).splitlines() if not line.startswith("#")]
    values = [line for line in lines if line.startswith("lyrsvcgo_queue_items")]

    assert values == sorted(values)
    assert all(line.rpartition(" ")[2].isdigit() for line in lines)


@pytest.mark.spec("H-26")
def test_labels_escape_backslash_quote_and_newline():
    assert escaped_label('a\\b"c\nd') == 'a\\\\b\\"c\\nd'


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=30))
def test_whatever_a_label_says_a_strict_reader_reads_it_back(value):
    odd = Family(
        name="odd", kind="gauge", help="Odd \\ one.\nTwo lines.", label="lane",
        samples=lambda _found: [(value, 1)],
    )  # fmt: skip
    text = exposition(EMPTY, [odd])

    assert len(text.split("\n")) == 4
    assert samples(text)["lyrsvcgo_odd"] == {value: 1}


@pytest.mark.needs_tool("promtool")
@pytest.mark.parametrize("found", [EMPTY, FULL])
def test_the_linter_of_prometheus_has_nothing_to_say(found):
    checked = subprocess.run(
        ["promtool", "check", "metrics"],
        input=exposition(found), capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")
