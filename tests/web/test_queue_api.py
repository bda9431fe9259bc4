"""The queue over HTTP."""

from datetime import timedelta

import pytest

from builders import minimal_flac
from fakes import FakeClock
from lyrsvc.store import counts
from report_rows import ITEMS, NOW, fill
from service_runs import House

URL = "/api/v1/queue"
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def run(tmp_path, clock):
    with House(tmp_path, clock, NOWHERE).running() as running:
        yield running
        with running.db.read() as tx:
            assert counts.differences(tx) == {}


@pytest.fixture
def filled(run):
    run.db.write(fill)
    return run


@pytest.fixture
def admin(filled):
    return filled.visitor(scope="admin")


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    """Somebody who changes nothing, so that one service is enough."""
    house = House(tmp_path_factory.mktemp("reader"), FakeClock(), NOWHERE)
    with house.running() as running:
        running.db.write(fill)
        yield running.visitor(scope="admin")


def ids(answer):
    assert answer.status == 200, answer.text
    return [item["id"] for item in answer.json["items"]]


def history(run, item):
    return run.rows(f'SELECT event, "by" FROM history WHERE item_id = {item} ORDER BY id')


def audits(run):
    return [row["event"] for row in run.rows("SELECT event FROM audit_log ORDER BY id")]


# Lists


def test_a_list_has_its_page_and_its_total(reader):
    answer = reader.get(f"{URL}?page=2&page_size=5")

    assert len(ids(answer)) == 5
    body = answer.json
    assert {name: body[name] for name in ("page", "page_size", "total")} == {
        "page": 2,
        "page_size": 5,
        "total": 13,
    }
    assert list(body) == sorted(body)
    assert answer.header("content-type") == "application/json"
    assert answer.body.endswith(b"}\n")


@pytest.mark.seed("S-050")
def test_an_item_has_every_member_and_moments_to_the_second(reader):
    item = reader.get(f"{URL}?q=tidewater").json["items"][0]

    assert item == {
        "id": 1,
        "artist": "Artist 1",
        "title": "Tidewater",
        "album": "Northern Pier",
        "status": "done",
        "priority": 0,
        "reason": None,
        "detail": None,
        "attempts": 0,
        "misses": 0,
        "due_at": None,
        "created_at": "2026-01-31T14:05:06Z",
        "completed_at": "2026-01-31T13:05:06Z",
        "lane": "lrclib",
        "result": "synced",
        "outcome": "synced",
        "duration_bucket": 0,
        "provider_set_version": 0,
        "detect_instrumental": {"value": None, "origin": None},
        "targets": [
            {
                "id": 1,
                "library": 1,
                "source_path": "/music/rock/a.flac",
                "destination": "/m/x.lrc",
                "done": False,
                "from": "inventory",
            },
            {
                "id": 2,
                "library": 2,
                "source_path": "/music/jazz/a.flac",
                "destination": "/m/x.lrc",
                "done": False,
                "from": "inventory",
            },
        ],
    }


def test_a_path_that_is_no_text_is_still_shown(reader):
    targets = reader.get(f"{URL}/3").json["targets"]

    assert targets[1]["source_path"] == "/music/jazz/caf\ufffd.flac"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("status=failed&sort=id", [8, 9, 10]),
        ("status=failed&status=pending&sort=id", [8, 9, 10, 11]),
        ("library=2&sort=id", [1, 3, 6, 8]),
        ("lane=lrclib", [1]),
        ("reason=network&sort=id", [8, 9]),
        ("result=miss&sort=id", [4, 5]),
        ("q=caf%C3%A9", [2]),
        ("q=CAFE", [2]),
        ("sort=id&dir=desc&page_size=2", [13, 12]),
        ("sort=completed_at&page_size=2", [3, 2]),
        ("sort=title&status=done", [3, 4, 2, 1, 5]),
        ("library=99", []),
        ("page=99", []),
    ],
)
def test_filters_and_orders(reader, query, expected):
    assert ids(reader.get(f"{URL}?{query}")) == expected


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("colour=red", "colour"),
        ("page=0", "page"),
        ("page=x", "page"),
        ("page=99999999999999999999999", "page"),
        ("page_size=501", "page_size"),
        ("page_size=-1", "page_size"),
        ("status=bogus", "status"),
        ("sort=bogus", "sort"),
        ("dir=up", "dir"),
        ("result=bogus", "result"),
        ("library=rock", "library"),
        ("page=1&page=2", "page"),
    ],
)
def test_an_unknown_parameter_or_a_bad_value_is_named(reader, query, named):
    answer = reader.get(f"{URL}?{query}")

    assert (answer.status, answer.json["error"]) == (400, "invalid_request")
    assert answer.json["detail"].startswith(named)


def test_what_comes_next_is_shown_and_not_claimed(admin, filled):
    before = filled.rows("SELECT * FROM work_items")

    assert ids(admin.get(f"{URL}/next")) == [10, 11, 7, 9]
    assert ids(admin.get(f"{URL}/next?limit=1")) == [10]
    assert admin.get(f"{URL}/next?limit=51").status == 400
    assert filled.rows("SELECT * FROM work_items") == before


# One item


def test_one_item_shows_what_lanes_answered_and_its_past(admin, filled):
    assert admin.post(f"{URL}/8/retry").status == 200
    item = admin.get(f"{URL}/1").json
    tried = admin.get(f"{URL}/8").json

    assert item["id"] == 1
    assert len(item["targets"]) == 2
    assert {
        lane: (one["hit"], one["attempted_at"]) for lane, one in item["attempts_by_lane"].items()
    } == {
        "defaultprov": (False, "2026-01-31T13:05:06Z"),
        "lrclib": (True, "2026-01-31T13:05:06Z"),
    }
    assert item["history"] == []
    assert [row["event"] for row in tried["history"]] == ["retried"]


@pytest.mark.parametrize("path", ["/999", "/0", "/x", "/1x", "/-1", "/99999999999999999999", "/١"])
def test_an_unknown_id_is_not_found(reader, path):
    answer = reader.get(URL + path)

    assert (answer.status, answer.json["error"]) == (404, "not_found")
    assert reader.post(f"{URL}{path}/retry").status == 404


# Bringing back


@pytest.mark.seed("S-053")
def test_a_failed_item_is_pending_again_and_the_history_names_who_did_it(admin, filled):
    answer = admin.post(f"{URL}/8/retry")

    assert (answer.status, answer.json["status"], answer.json["due_at"]) == (
        200,
        "pending",
        "2026-01-31T14:05:06Z",
    )
    (row,) = history(filled, 8)
    assert row["event"] == "retried"
    assert row["by"].startswith("key:")


@pytest.mark.seed("S-053")
@pytest.mark.parametrize("number", [n for n, item in ITEMS.items() if item["status"] != "failed"])
def test_no_other_status_can_be_retried(admin, filled, number):
    before = filled.rows("SELECT * FROM work_items")
    answer = admin.post(f"{URL}/{number}/retry")

    assert (answer.status, answer.json["error"]) == (409, "not_failed")
    assert filled.rows("SELECT * FROM work_items") == before


def test_several_are_retried_by_id_by_reason_or_all(admin, filled):
    assert admin.post(f"{URL}/retry", {"ids": [8, 1, 99, 8]}).json == {"retried": 1, "refused": 2}
    assert admin.post(f"{URL}/retry", {"reason": "network"}).json == {"retried": 1, "refused": 0}
    assert admin.post(f"{URL}/retry", {"all": True}).json == {"retried": 1, "refused": 0}
    assert admin.post(f"{URL}/retry", {"all": True}).json == {"retried": 0, "refused": 0}
    assert audits(filled).count("queue.retried") == 4


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"all": False},
        {"ids": [1], "all": True},
        {"ids": [1], "reason": "network"},
        {"ids": ["1"]},
        {"ids": [0]},
        {"ids": 1},
        {"bogus": 1},
        [],
        "x",
        None,
    ],
)
def test_a_retry_names_exactly_one_thing(admin, filled, body):
    before = filled.rows("SELECT * FROM work_items")
    answer = admin.post(f"{URL}/retry", body)

    assert (answer.status, answer.json["error"]) == (400, "invalid_request")
    assert filled.rows("SELECT * FROM work_items") == before


def test_deferred_items_become_due_and_those_given_up_open_again(admin, filled):
    assert admin.post(f"{URL}/recheck", {"kind": "deferred", "library": 2}).json == {"due": 1}
    assert admin.post(f"{URL}/recheck", {"kind": "deferred"}).json == {"due": 3}
    assert admin.post(f"{URL}/recheck", {"kind": "retired"}).json == {"due": 2}
    rows = filled.rows("SELECT status, misses, priority FROM work_items WHERE id IN (4, 5)")
    assert rows == [{"status": "deferred", "misses": 0, "priority": -100}] * 2


def test_named_items_are_rechecked_as_far_as_they_can_be(admin):
    assert admin.post(f"{URL}/recheck", {"ids": [6, 4, 1, 8, 999]}).json == {"due": 2}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({"kind": "failed"}, 400),
        ({"ids": [1], "kind": "deferred"}, 400),
        ({"ids": [1], "library": 1}, 400),
        ({"kind": "deferred", "library": 99}, 404),
    ],
)
def test_a_recheck_that_makes_no_sense_is_refused(reader, body, status):
    assert reader.post(f"{URL}/recheck", body).status == status


# Clearing


@pytest.mark.seed("S-056")
def test_finished_items_are_counted_and_deleted_only_when_confirmed(admin, filled):
    clear = f"{URL}/clear"

    assert admin.post(clear, {"status": "done"}).json == {"would_delete": 5, "deleted": 0}
    assert admin.post(clear, {"status": "done", "confirm": False}).json["deleted"] == 0
    assert len(filled.rows("SELECT id FROM work_items")) == 13
    assert admin.post(clear, {"status": "done", "confirm": True}).json["deleted"] == 5
    assert filled.rows("SELECT id FROM work_items WHERE status = 'done'") == []
    assert audits(filled) == ["queue.cleared"]


@pytest.mark.parametrize("body", [{}, {"status": "failed", "confirm": True}, {"confirm": True},
                                  {"status": "done", "confirm": "yes"}])  # fmt: skip
def test_nothing_else_can_be_cleared(admin, filled, body):
    assert admin.post(f"{URL}/clear", body).status == 400
    assert len(filled.rows("SELECT id FROM work_items")) == 13


# Asking for a track


def test_a_new_track_is_created_once_and_urgent(run):
    admin = run.visitor(scope="admin")
    track = {"artist": "Quillon Marsh", "title": "Tidewater", "album": "Northern Pier"}
    made = admin.post(URL, track)
    again = admin.post(URL, {**track, "title": "TIDEWATER"})

    assert (made.status, again.status) == (201, 200)
    assert made.json["id"] == again.json["id"]
    assert (made.json["status"], made.json["priority"]) == ("pending", 10)
    assert made.json["targets"][0]["from"] == "metadata"
    assert len(run.rows("SELECT id FROM work_items")) == 1
    assert history(run, made.json["id"])[0]["by"].startswith("key:")


def test_asking_for_a_failed_track_makes_it_due_now(run):
    admin = run.visitor(scope="admin")
    track = {"artist": "Quillon Marsh", "title": "Tidewater"}
    number = admin.post(URL, track).json["id"]
    later = (NOW + timedelta(hours=5)).isoformat()
    run.db.write(
        lambda tx: tx.run(
            "UPDATE work_items SET status = 'failed', ready_key = NULL, due_at = :at, attempts = 3",
            at=later,
        )
    )
    run.db.write(lambda tx: counts.correct(tx, now=NOW))
    answer = admin.post(URL, track)

    assert (answer.status, answer.json["id"], answer.json["attempts"]) == (200, number, 0)
    assert answer.json["due_at"] == "2026-01-31T14:05:06Z"


@pytest.fixture
def home(tmp_path, clock):
    """A house whose library is registered before the service starts."""
    house = House(tmp_path, clock, NOWHERE)
    with house.running() as first:
        first._library_id()
    return house


def test_a_file_inside_a_library_gets_its_lyrics_beside_it(home):
    audio = minimal_flac(
        home.music / "a.flac", seconds=200.0, artist="Quillon Marsh", title="Tidewater"
    )
    with home.running() as run:
        answer = run.visitor(scope="admin").post(
            URL, {"artist": "Quillon Marsh", "title": "Tidewater", "path": str(audio)}
        )

    assert answer.status == 201
    (target,) = answer.json["targets"]
    assert (target["source_path"], target["from"]) == (str(audio), "path")
    assert target["destination"] == str(audio.with_suffix(".lrc"))
    assert answer.json["duration_bucket"] == 40


def test_a_path_that_is_no_file_of_a_library_is_refused_and_nothing_enqueued(home, tmp_path):
    outside = minimal_flac(tmp_path / "outside.flac", artist="A", title="B")
    (home.music / "folder.flac").mkdir()
    (home.music / "notes.txt").write_text("x")
    (home.music / "link.flac").symlink_to(outside)
    paths = [
        str(outside),
        f"{home.music}/../outside.flac",
        f"{home.music}2/a.flac",
        f"{home.music}/folder.flac",
        f"{home.music}/notes.txt",
        f"{home.music}/link.flac",
        f"{home.music}/missing.flac",
        "relative.flac",
        "C:\\music\\a.flac",
        "\\\\server\\music\\a.flac",
        "/music/\0.flac",
    ]
    with home.running() as run:
        admin = run.visitor(scope="admin")
        for path in paths:
            answer = admin.post(URL, {"artist": "A", "title": "B", "path": path})
            assert (answer.status, answer.json["error"]) == (400, "invalid_request"), path
            assert answer.json["detail"].startswith("path")
            assert str(home.music) not in answer.text
        assert run.rows("SELECT id FROM work_items") == []


@pytest.mark.parametrize(
    "body",
    [
        {"artist": "A"},
        {"title": "B"},
        {"artist": "", "title": "B"},
        {"artist": "A", "title": "\u200b"},
        {"artist": "  ", "title": "B"},
        {"artist": "A", "title": 5},
        {"artist": "A", "title": "B" * 1001},
        {"artist": "A", "title": "B", "path": 1},
        {"artist": "A", "title": "B", "colour": 1},
    ],
)
def test_a_track_needs_names(run, body):
    answer = run.visitor(scope="admin").post(URL, body)

    assert (answer.status, answer.json["error"]) == (400, "invalid_request")
    assert run.rows("SELECT id FROM work_items") == []


@pytest.mark.parametrize(
    ("path", "body", "detail"),
    [
        (URL, {"artist": "A"}, "title: is needed"),
        (URL, {"artist": "", "title": "B"}, "artist: must not be empty"),
        (URL, {"artist": "A", "title": None}, "title: must be text"),
        (URL, {"artist": "A", "title": "B", "Album": "C"}, "Album: unknown member"),
        (URL, {"artist": "A", "title": "B", "x" * 99: 1}, f"{'x' * 64}: unknown member"),
        (URL, ["A", "B"], "the body must be a JSON object"),
        (f"{URL}/retry", {"ids": 8}, "ids: must be a list"),
        (f"{URL}/retry", {"ids": list(range(1, 10_002))}, "ids: must have at most 10000 entries"),
        (f"{URL}/retry", {"ids": ["8"]}, "ids[0]: must be a whole number"),
    ],
)
def test_what_is_wrong_with_a_body_is_said_in_plain_words(run, path, body, detail):
    assert run.visitor(scope="admin").post(path, body).json["detail"] == detail


# Who may


@pytest.mark.parametrize(("scope", "status"), [("", 401), ("webhook", 403)])
def test_only_an_admin_key_opens_the_queue(filled, scope, status):
    visitor = filled.visitor(scope=scope)

    for path in (URL, f"{URL}/1", f"{URL}/next"):
        assert visitor.get(path).status == status
    for path in (URL, f"{URL}/8/retry", f"{URL}/retry", f"{URL}/clear"):
        assert visitor.post(path, {"all": True}).status == status
