"""A provider that is slow, breaks off, talks nonsense or throttles for an hour."""

import pytest

from lyrsvc.demo.song import Song
from lyrsvc.demo.stand_in import LYRICS_PATH
from service_runs import ARTIST, House

MODES = ("cut", "bad_json", "html", "error500", "slow")


@pytest.fixture
def house(tmp_path, clock, upstream):
    return House(tmp_path, clock, upstream.url)


def know(upstream, *titles: str) -> None:
    for title in titles:
        lines = tuple(f"{title} line {number} of the song" for number in range(6))
        upstream.add_song(Song(title=title, artist=ARTIST, length_s=60.0, lines=lines))


def test_whatever_an_upstream_says_no_item_is_lost_and_none_asked_more_than_needed(
    house, upstream, clock
):
    titles = [f"Weir {mode} {number}" for mode in MODES for number in range(3)]
    know(upstream, *titles)
    for title in titles:
        upstream.set_mode(title.split()[1], song=title, times=1, seconds=0.05)
    with house.running(PROVIDER_TOKEN="operators-own") as run:
        for title in titles:
            run.enqueue(title, 60.0)
        for _ in range(40):
            run.work()
            if all(run.item(title)["status"] == "done" for title in titles):
                break
            assert {run.item(title)["status"] for title in titles} <= {"pending", "failed", "done"}
            clock.advance(60)
        sidecars = sorted(f"{title}.lrc" for title in titles)
        assert run.sidecars() == sidecars
        assert {run.item(title)["misses"] for title in titles} == {0}
        assert run.lane()["state"] == "ready"
    asked = [call.song for call in upstream.calls(LYRICS_PATH)]
    for title in titles:  # the slow answer came, every other one was asked for again, once
        assert asked.count(title) == (1 if "slow" in title else 2), title


@pytest.mark.parametrize("mode", ["throttled", "unauthorized", "captcha"])
def test_an_hour_of_throttling_costs_a_handful_of_requests_and_charges_nobody(
    house, upstream, clock, mode
):
    titles = [f"Lock Gate {number}" for number in range(20)]
    know(upstream, *titles)
    upstream.set_mode(mode)
    begun = clock.seconds
    with house.running(PROVIDER_TOKEN="operators-own") as run:
        for title in titles:
            run.enqueue(title, 60.0)
        while clock.seconds - begun < 3600:
            run.work()
            clock.advance(5)
        probes = len(upstream.calls(LYRICS_PATH))
        assert 4 <= probes <= 8  # 60 s, doubled up to half an hour
        rows = run.rows("SELECT status, attempts, misses FROM work_items")
        assert {tuple(row.values()) for row in rows} == {("pending", 0, 0)}

        upstream.set_mode("normal")
        while clock.seconds - begun < 3600 + 1900:
            run.work()
            clock.advance(5)
        assert {row["status"] for row in run.rows("SELECT status FROM work_items")} == {"done"}
        assert len(run.sidecars()) == len(titles)
    assert len(upstream.calls(LYRICS_PATH)) == probes + len(titles)
