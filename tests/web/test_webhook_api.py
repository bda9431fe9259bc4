"""The webhook over HTTP: bad bodies, a database that is busy, and what a log line says."""

import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import apsw
import pytest

from builders import minimal_flac
from lyrsvc.core.errors import StorageFailed, StoreBusy
from lyrsvc.logs.request_ids import current_request_id
from lyrsvc.services import intake
from lyrsvc.store.sqlite_link import SqliteLink
from lyrsvc.web.route import Room
from served import wait_until
from service_runs import House

NOWHERE = "http://127.0.0.1:9"
HOOK = "/api/v1/webhooks/lidarr"
ALBUM = {
    "eventType": "Download",
    "instanceName": "Lidarr at home",
    "artist": {"name": "Quillon Marsh"},
    "album": {"title": "Northern Pier"},
    "tracks": [{"title": "Tidewater"}, {"title": "Low Light"}],
    "trackFiles": [{"path": "/music/a.flac"}, {"path": "/music/b.flac"}],
}


@pytest.fixture
def run(tmp_path, clock):
    with House(tmp_path, clock, NOWHERE).running() as running:
        yield running


@pytest.fixture
def lidarr(run):
    return run.visitor(scope="webhook")


@pytest.mark.spec("H-21")
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b'"text"',
        b"7",
        b"NaN",
        b'{"eventType": NaN}',
        b'{"eventType": "Download", "tracks": [',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"\xff\xfe\x00",
        b'{"eventType": "Caf\xe9"}',
        b'{"eventType": "Test"} and more',
        b"{'eventType': 'Test'}",
    ],
    ids=lambda body: repr(body[:24]),
)
def test_a_body_that_is_no_event_is_refused_and_leaves_nothing(run, lidarr, body):
    answer = lidarr.post(HOOK, body)
    assert (answer.status, answer.json["error"]) == (400, "invalid_payload")
    assert run.rows("SELECT * FROM work_items") == []
    assert lidarr.get("/healthz").status == 200


@pytest.mark.spec("H-03")
@pytest.mark.seed("S-075")
def test_an_import_is_queued_with_high_priority_and_twice_changes_nothing(run, lidarr):
    first, second = lidarr.post(HOOK, ALBUM), lidarr.ask("PUT", f"{HOOK}/", ALBUM)
    assert first.json == {
        "status": "accepted",
        "event": "Download",
        "tracks": 2,
        "enqueued": 2,
        "refreshed": 0,
        "already_done": 0,
        "skipped": 0,
        "resolved": {"inventory": 0, "path": 0, "metadata": 2},
    }
    assert (second.json["enqueued"], second.json["refreshed"]) == (0, 2)
    rows = run.rows("SELECT title, priority FROM work_items ORDER BY id")
    assert rows == [{"title": "Tidewater", "priority": 10}, {"title": "Low Light", "priority": 10}]


def test_a_database_that_stays_busy_asks_the_sender_to_come_again(run, lidarr, monkeypatch):
    def busy(*_args, **_more):
        raise StoreBusy("held by another process")

    monkeypatch.setattr(run.service.intake, "begin", busy)
    answer = lidarr.post(HOOK, ALBUM)
    assert (answer.status, answer.json["error"]) == (503, "unavailable")
    assert answer.header("retry-after") == "30"
    assert "held" not in answer.text


@contextmanager
def held(run):
    """Keep everybody else from writing."""
    connection = apsw.Connection(run.service.db.location)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.close(force=True)


def test_a_database_that_is_held_for_too_long_asks_the_sender_to_come_again(
    run, lidarr, monkeypatch
):
    monkeypatch.setattr(intake, "WEBHOOK_WAIT_S", 0.3)
    with held(run):
        answer = lidarr.post(HOOK, ALBUM)
        assert (answer.status, answer.json["error"]) == (503, "unavailable")
        assert answer.header("retry-after") == "30"
    assert lidarr.post(HOOK, ALBUM).json["enqueued"] == 2
    assert len(run.rows("SELECT * FROM work_items")) == 2


def test_a_crowd_waits_for_the_database_without_a_thread_each(run, lidarr, monkeypatch):
    monkeypatch.setattr(intake, "WEBHOOK_WAIT_S", 60.0)
    crowd = 3 * Room.WEBHOOK.value.most
    events = [{**ALBUM, "artist": {"name": f"Quillon Marsh {number}"}} for number in range(crowd)]
    begun = []
    begin = run.service.intake.begin
    monkeypatch.setattr(
        run.service.intake, "begin", lambda *a, **k: begun.append(begin(*a, **k)) or begun[-1]
    )
    with ThreadPoolExecutor(crowd) as senders:
        with held(run):
            answers = [senders.submit(lidarr.post, HOOK, event) for event in events]
            wait_until(lambda: len(begun) == crowd, "all of them wait for the database")
            room = lidarr.app._switchboard._rooms[Room.WEBHOOK]
            wait_until(lambda: len(room) == len(room._idle), "no thread waits with them")
            assert len(room) <= Room.WEBHOOK.value.most
            assert not any(answer.done() for answer in answers)
            assert lidarr.get("/healthz").status == 200
        assert [answer.result().json["enqueued"] for answer in answers] == [2] * crowd
    assert len(run.rows("SELECT * FROM work_items")) == 2 * crowd


def test_a_disk_that_fails_at_the_commit_is_no_answer_of_success(run, lidarr, monkeypatch):
    def fail(_link):
        raise StorageFailed("the disk of the database answers with errors")

    with monkeypatch.context() as broken:
        broken.setattr(SqliteLink, "commit", fail)
        answer = lidarr.post(HOOK, ALBUM)
    assert (answer.status, answer.json["error"]) == (503, "unavailable")
    assert run.rows("SELECT * FROM work_items") == []
    assert lidarr.post(HOOK, ALBUM).json["enqueued"] == 2


class Overhearing(logging.Handler):
    """Keeps each record with the request it was written for."""

    def __init__(self):
        super().__init__()
        self.heard = []

    def emit(self, record):
        self.heard.append((record, current_request_id()))


@pytest.fixture
def overhearing(caplog):
    caplog.set_level(logging.INFO)
    handler, log = Overhearing(), logging.getLogger("lyrsvc.webhook")
    log.addHandler(handler)
    yield handler
    log.removeHandler(handler)


@pytest.mark.spec("C-56")
def test_the_line_of_a_webhook_tells_counts_sender_items_and_request(tmp_path, clock, overhearing):
    house = House(tmp_path, clock, NOWHERE)
    with house.running(LYRSVC_TRUSTED_PROXIES="10.9.9.9") as run:
        proxy = run.visitor(scope="webhook", peer="10.9.9.9")
        sent = {"x-request-id": "from-the-proxy", "x-forwarded-for": "203.0.113.9"}
        assert proxy.post(HOOK, ALBUM, headers=sent).header("x-request-id") == "from-the-proxy"
        ids = [row["id"] for row in run.rows("SELECT id FROM work_items ORDER BY id")]
        stranger = run.visitor(scope="webhook", peer="203.0.113.9")
        assert stranger.post(HOOK, ALBUM, headers=sent).header("x-request-id") != "from-the-proxy"
    told, request_id = overhearing.heard[0]
    assert request_id == "from-the-proxy"
    assert told.items == ids
    assert (told.event, told.instance, told.enqueued) == ("Download", "Lidarr at home", 2)
    assert told.client == "203.0.113.9"


def test_the_last_webhook_is_remembered_across_restarts(tmp_path, clock):
    house = House(tmp_path, clock, NOWHERE)
    with house.running() as run:
        assert run.service.webhooks.last is None
        run.visitor(scope="webhook").post(HOOK, {"eventType": "Test", "instanceName": "Box"})
        run.service.flush()
    with house.running() as run:
        last = run.service.webhooks.last
        assert (last.event, last.instance, last.at) == ("Test", "Box", clock.now())


def told_paths(run):
    run.service.health.forget()
    listed = run.visitor(scope="admin").get("/api/v1/system/health?q=webhook_paths").json["items"]
    return [entry["detail"] for entry in listed]


def test_paths_that_are_found_in_no_library_are_told_until_some_are_found(tmp_path, clock, caplog):
    house = House(tmp_path, clock, NOWHERE)
    with house.running() as run:
        run.visitor(scope="admin").post("/api/v1/libraries", {"path": str(house.music)})
    nameless = ALBUM | {"trackFiles": []}
    lost = ALBUM | {"trackFiles": [{"path": "/music/c\n.flac"}]}
    minimal_flac(house.music / "a.flac", artist="Quillon Marsh", title="Tidewater")
    found = ALBUM | {"tracks": [{"title": "Tidewater"}]}
    found |= {"trackFiles": [{"path": str(house.music / "a.flac")}]}

    with house.running() as run:
        lidarr = run.visitor(scope="webhook")
        for event in (nameless, ALBUM, lost, nameless):
            assert lidarr.post(HOOK, event).json["resolved"]["metadata"] == 2
        warned = [
            record for record in caplog.records if "found in no library" in record.getMessage()
        ]
        assert [(one.levelname, one.path) for one in warned] == [("WARNING", "/music/a.flac")]
        (detail,) = told_paths(run)
        assert "/music/c\\n.flac" in detail

        assert lidarr.post(HOOK, found).json["resolved"]["path"] == 1
        assert told_paths(run) == []


def test_where_there_is_no_library_no_path_can_be_wrong(run, lidarr):
    assert lidarr.post(HOOK, ALBUM).json["resolved"]["metadata"] == 2
    assert told_paths(run) == []
