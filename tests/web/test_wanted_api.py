"""Wanted lyrics and the history over HTTP."""

from datetime import timedelta

import pytest

from builders import minimal_flac
from lyrsvc.core.item import Result
from lyrsvc.store import counts, history
from lyrsvc.store.history import Happening, Note
from queue_cases import an_item
from report_rows import NOW
from service_runs import House

WANTED = "/api/v1/wanted"
HISTORY = "/api/v1/history"
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def run(tmp_path, clock):
    """A service with a scanned library of three songs, one of them with a sidecar."""
    house = House(tmp_path, clock, NOWHERE)
    for number, title in enumerate(("Tidewater", "Jóga", "Ember"), 1):
        audio = house.music / f"{number}.flac"
        minimal_flac(audio, seconds=100.0 + 20 * number, artist="Björk", title=title, album="X")
    (house.music / "3.lrc").write_text("[00:01.00]words\n")
    with house.running() as running:
        running._library_id()
        admin = running.visitor(scope="admin")
        assert admin.post("/api/v1/scan", {}).status == 202
        running.service.scan_desk.wait(20)
        yield running
        with running.db.read() as tx:
            assert counts.differences(tx) == {}


@pytest.fixture
def admin(run):
    return run.visitor(scope="admin")


def test_files_without_a_sidecar_are_wanted(admin, run):
    answer = admin.get(WANTED)

    assert answer.status == 200
    assert (answer.json["total"], answer.json["page"], answer.json["page_size"]) == (2, 1, 50)
    assert answer.json["items"][0] == {
        "id": 1,
        "library": 1,
        "source_path": str(run.house.music / "1.flac"),
        "destination": str(run.house.music / "1.lrc"),
        "artist": "Björk",
        "title": "Tidewater",
        "album": "X",
        "status": "pending",
        "isrc": "",
        "mbid": "",
        "duration_s": 120.0,
        "sidecar": None,
        "ours": False,
        "item_id": 1,
    }


def test_filters_orders_and_their_refusals(admin):
    def titles(query):
        return [row["title"] for row in admin.get(f"{WANTED}?{query}").json["items"]]

    assert titles("q=joga") == ["Jóga"]
    assert titles("sort=title") == ["Jóga", "Tidewater"]
    assert titles("sort=title&dir=desc&page_size=1&page=2") == ["Jóga"]
    assert titles("kind=unsynced") == []
    assert titles("library=1") == ["Tidewater", "Jóga"]
    assert titles("library=9") == []
    for query in ("kind=bogus", "sort=status", "status=done", "library=x"):
        answer = admin.get(f"{WANTED}?{query}")
        assert (answer.status, answer.json["error"]) == (400, "invalid_request")
        assert answer.json["detail"].startswith(query.partition("=")[0])


def wait_longer(run):
    later = (NOW + timedelta(days=3)).isoformat()
    run.db.write(
        lambda tx: tx.run(
            "UPDATE work_items SET status = 'deferred', priority = -100, ready_key = NULL,"
            " due_at = :at",
            at=later,
        )
    )
    run.db.write(lambda tx: counts.correct(tx, now=NOW))


def test_a_search_makes_named_files_due_now_ahead_of_everything(admin, run):
    wait_longer(run)
    answer = admin.post(f"{WANTED}/search", {"ids": [1]})

    assert (answer.status, answer.json) == (202, {"enqueued": 1})
    items = {row["id"]: row for row in admin.get("/api/v1/queue").json["items"]}
    assert (items[1]["priority"], items[1]["due_at"]) == (10, "2026-01-31T14:05:06Z")
    assert items[2]["priority"] == -100
    assert [item["id"] for item in admin.get("/api/v1/queue/next").json["items"]] == [1]


def test_a_search_for_all_keeps_the_priority_of_scans(admin, run):
    wait_longer(run)
    answer = admin.post(f"{WANTED}/search", {"kind": "missing", "library": 1})

    assert (answer.status, answer.json) == (202, {"enqueued": 2})
    assert {row["priority"] for row in admin.get("/api/v1/queue").json["items"]} == {0}
    assert admin.post(f"{WANTED}/search", {"kind": "unsynced"}).json == {"enqueued": 0}


def test_a_search_that_makes_no_sense_is_refused(admin):
    wrong = [
        ({}, 400),
        ({"ids": [1], "kind": "missing"}, 400),
        ({"ids": [1], "library": 1}, 400),
        ({"ids": list(range(1, 502))}, 400),
        ({"kind": "bogus"}, 400),
        ({"kind": "missing", "library": 99}, 404),
    ]
    for body, status in wrong:
        assert admin.post(f"{WANTED}/search", body).status == status, body


# History


def test_the_history_is_listed_filtered_and_searched(admin, run):
    def write(tx):
        note = Note(by="worker", lane="lrclib", outcome=Result.SYNCED, destination="/m/a.lrc")
        song = an_item(id=7, artist="Björk", title="Jóga")
        history.add(tx, song, Happening.WRITTEN, note, now=NOW + timedelta(seconds=1))
        history.add(tx, song, Happening.RETRIED, Note(by="cli:me"), now=NOW + timedelta(hours=1))

    run.db.write(write)

    def events(query):
        answer = admin.get(f"{HISTORY}?{query}")
        assert answer.status == 200, answer.text
        assert answer.json["total"] == len(answer.json["items"])
        return [row["event"] for row in answer.json["items"]]

    assert events("q=bjork") == ["retried", "written"]
    assert events("event=written") == ["written"]
    assert events("lane=lrclib") == ["written"]
    assert events("since=2026-01-31T14:05:07Z") == ["retried", "written"]
    assert events("since=2026-01-31T15:05:08%2B01:00&until=2026-01-31T15:05:06Z") == []
    assert events("until=2026-01-31") == []
    assert events("since=2026-01-31T15:00") == ["retried"]
    row = admin.get(f"{HISTORY}?event=written").json["items"][0]
    assert row == {
        "id": row["id"],
        "at": "2026-01-31T14:05:07Z",
        "item_id": 7,
        "event": "written",
        "artist": "Björk",
        "title": "Jóga",
        "album": "",
        "lane": "lrclib",
        "result": "synced",
        "outcome": "synced",
        "reason": None,
        "destination": "/m/a.lrc",
        "by": "worker",
    }


def test_a_bad_value_is_named(admin):
    for query in (
        "event=bogus",
        "since=yesterday",
        "until=2026-13-01",
        "since=0001-01-01T00:00:00%2B10:00",
        "sort=artist",
        "colour=red",
    ):
        answer = admin.get(f"{HISTORY}?{query}")
        assert (answer.status, answer.json["error"]) == (400, "invalid_request")
        assert answer.json["detail"].startswith(query.partition("=")[0])
