"""The event stream: what happens reaches whoever listens, and only them."""

import asyncio
import json
import threading
from contextlib import contextmanager

import pytest

from fakes import FakeClock
from lyrsvc.services.announcing import MOST_STREAMS, Announcer
from lyrsvc.web.app import create_app
from lyrsvc.web.event_stream import Bell, EventLines, Pace, may_listen
from served import wait_until
from web_face import run_apart
from web_runs import serving_run

EVENTS = "/api/v1/events"


class Listener:
    """Somebody who listens in a thread of their own, until told to leave."""

    def __init__(self, app, visitor, last_id=""):
        self._app, self._visitor, self._last_id = app, visitor, last_id
        self.status, self.headers, self._raw, self.ended = 0, {}, b"", False
        self._loop = asyncio.new_event_loop()
        self._gone = asyncio.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        wait_until(lambda: self.status, "it is answered")

    def _run(self):
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._listen())
        self._loop.close()

    async def _listen(self):
        async def receive():
            await self._gone.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            if message["type"] == "http.response.start":
                self.headers = {k.decode(): v.decode() for k, v in message["headers"]}
                self.status = message["status"]
            self._raw += message.get("body", b"")

        headers = [
            (b"host", b"localhost"),
            (b"authorization", f"Bearer {self._visitor.key}".encode()),
        ]
        if self._last_id:
            headers.append((b"last-event-id", self._last_id.encode()))
        scope = {
            "type": "http", "method": "GET", "path": EVENTS, "query_string": b"",
            "headers": headers, "client": ("127.0.0.1", 1), "scheme": "http", "http_version": "1.1",
        }  # fmt: skip
        await self._app(scope, receive, send)
        self.ended = True

    def leave(self):
        if self.thread.is_alive():
            self._loop.call_soon_threadsafe(self._gone.set)
        self.thread.join(10)

    @property
    def text(self):
        return self._raw.decode()

    @property
    def events(self):
        found = []
        for block in self.text.split("\n\n"):
            fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
            if "event" in fields:
                found.append((fields.get("id"), fields["event"], json.loads(fields["data"])))
        return found

    def of(self, name):
        return [data for _, event, data in self.events if event == name]

    def wait_for(self, name, holds=bool):
        wait_until(lambda: any(map(holds, self.of(name))), f"{name} arrives")
        return next(data for data in self.of(name) if holds(data))


@pytest.fixture
def run(tmp_path):
    with serving_run(tmp_path) as run:
        yield run


@pytest.fixture
def app(run):
    app = create_app(run.service)
    yield app
    app.close()


@pytest.fixture
def admin(run):
    return run.visitor(scope="admin")


@pytest.fixture
def listen(app, admin):
    listeners = []

    def begin(last_id="", visitor=admin):
        listeners.append(Listener(app, visitor, last_id))
        return listeners[-1]

    yield begin
    for listener in listeners:
        listener.leave()


def test_a_stream_begins_with_how_things_stand(run, listen):
    run.enqueue("Song That Nobody Has")

    listener = listen()

    assert listener.status == 200
    assert listener.headers["content-type"] == "text/event-stream"
    assert listener.headers["cache-control"] == "no-store"
    assert listener.headers["x-accel-buffering"] == "no"
    assert "content-length" not in listener.headers
    queue = listener.wait_for("queue")
    assert listener.text.startswith("retry: 5000\n\n")
    assert queue == {
        "pending": 1, "processing": 0, "done": 0, "failed": 0, "deferred": 0, "instrumental": 0,
        "lanes": {
            "lrclib": {"hits": 0, "misses": 0, "state": "ready"},
            "defaultprov": {"hits": 0, "misses": 0, "state": "not_configured"},
        },
    }  # fmt: skip


def test_each_settled_item_is_told_without_its_targets_and_the_counts_follow(run, listen, admin):
    listener = listen()
    run.enqueue("Lanterns on the Weir", 38.0)
    run.work()

    outcome = listener.wait_for("outcome")

    (item,) = admin.get("/api/v1/queue").json["items"]
    del item["targets"]
    assert outcome == item
    assert outcome["result"] == "synced"
    queue = listener.wait_for("queue", lambda data: data["done"] == 1)
    assert queue["lanes"]["lrclib"]["hits"] == 1


def test_changes_of_other_processes_are_noticed(run, listen):
    listener = listen()
    listener.wait_for("queue")

    run.enqueue("Song That Nobody Has")  # what another process writes looks the same from here

    assert listener.wait_for("queue", lambda data: data["pending"] == 1)


def test_lanes_scans_tasks_health_and_settings_are_told_on_change(run, listen, admin):
    listener = listen()
    listener.wait_for("queue")
    wait_until(lambda: "settings" in run.service.noticer._marks, "everything was seen once")

    admin.post("/api/v1/libraries", {"path": str(run.house.music)})
    (run.house.music / "notes.txt").touch()
    admin.post("/api/v1/scan", {"library": 1})
    admin.post("/api/v1/tasks/retention/run")
    admin.patch("/api/v1/settings", {"changes": {"scan.depth": 7}})
    run.stand_in.set_mode("throttled", lane="lrclib")
    admin.post("/api/v1/providers/lrclib/test")
    run.service.health.forget()

    scan = listener.wait_for("scan", lambda data: data["state"] == "done")
    assert scan == admin.get("/api/v1/scan").json["last"][0]
    assert (
        listener.wait_for("task", lambda data: data["last_result"] == "ok")["name"] == "retention"
    )
    assert listener.wait_for("lane", lambda data: data["state"] == "closed")["name"] == "lrclib"
    assert listener.wait_for("settings") == {"restart_pending": ["scan.depth"]}
    troubles = listener.wait_for("health")
    assert {"lane_closed", "restart_pending"} & {one["code"] for one in troubles}


@pytest.mark.spec("H-55")
def test_a_listener_that_comes_back_misses_nothing(run, listen):
    first = listen()
    run.service.announcer.tell("settings", ["a"])
    first.wait_for("settings")
    last_id = next(event_id for event_id, name, _ in first.events if name == "settings")
    first.leave()
    for name in ("b", "c"):
        run.service.announcer.tell("settings", [name])

    again = listen(last_id)
    again.wait_for("settings", lambda data: data["restart_pending"] == ["c"])

    assert [data["restart_pending"] for data in again.of("settings")] == [["b"], ["c"]]
    assert again.of("reset") == []
    ids = [int(event_id.partition("-")[2]) for event_id, _, _ in again.events if event_id]
    assert ids == sorted(ids)


def test_an_unknown_last_id_is_told_to_load_everything_anew(listen):
    listener = listen("12345-7")

    assert listener.wait_for("reset", lambda _data: True) == {}
    assert [name for _, name, _ in listener.events][:2] == ["queue", "reset"]
    assert all(event_id for event_id, _, _ in listener.events)


@pytest.mark.spec("H-55")
def test_the_twenty_first_stream_is_refused_and_a_place_that_is_left_is_free(run, listen, admin):
    listeners = [listen() for _ in range(MOST_STREAMS)]

    refused = admin.get(EVENTS)
    assert (refused.status, refused.json["error"]) == (503, "busy")
    assert refused.header("retry-after") == "5"
    listeners[0].leave()
    wait_until(lambda: run.service.announcer.listeners < MOST_STREAMS, "the place is free")

    assert listen().status == 200


def test_asking_for_the_head_takes_no_place(run, admin):
    answer = admin.ask("HEAD", EVENTS)

    assert (answer.status, answer.header("content-type")) == (200, "text/event-stream")
    assert "content-length" not in dict(answer.headers)  # a stream has none that could be told
    assert run.service.announcer.listeners == 0


def test_at_the_end_of_the_service_streams_end(run, listen):
    listener = listen()
    listener.wait_for("queue")

    run.service.noticer.close()

    wait_until(lambda: listener.ended, "the stream ends")


@contextmanager
def lines_of(announcer, *, may_listen=lambda: True, **pace):
    bell = Bell()
    stream = announcer.open(wake=bell.ring)
    yield stream, EventLines(stream, bell, opening=b"", may_listen=may_listen, pace=Pace(**pace))
    stream.close()


def test_a_silent_stream_says_that_it_is_there():
    async def first(lines):
        return await anext(lines)

    with lines_of(Announcer(clock=FakeClock()), keep_s=0.01) as (_, lines):
        assert run_apart(first(lines)) == b": keep\n\n"


@pytest.mark.spec("H-55")
def test_whoever_may_not_listen_any_more_is_let_go(run):
    visitor = run.visitor(scope="admin")
    judged = []

    async def drain(lines):
        return [piece async for piece in lines]

    def allowed():
        judged.append(1)
        return len(judged) < 3

    with lines_of(Announcer(clock=FakeClock()), may_listen=allowed, judge_s=0.01) as (
        stream,
        lines,
    ):
        assert run_apart(drain(lines)) == []
        assert stream.ended
    assert len(judged) == 3
    assert visitor.key


@pytest.mark.spec("H-55")
def test_a_revoked_key_is_noticed_at_the_next_look(run, app, admin):
    kept = []
    original = app._switchboard.answer

    async def watch(route, exchange, receive):
        kept.append(exchange)
        return await original(route, exchange, receive)

    app._switchboard.answer = watch
    admin.app = app
    admin.get("/api/v1/tasks")
    (exchange,) = kept
    assert may_listen(exchange)

    keyring = run.service.access.keyring
    (public_id,) = [key.public_id for key in keyring.listing()]
    keyring.revoke(public_id)
    assert not may_listen(exchange)


def test_a_stalled_reader_is_dropped():
    async def read_one_and_stall(stream, lines, announcer):
        announcer.tell("settings", [])
        await anext(lines)
        for number in range(101):
            announcer.tell("settings", [str(number)])
        return [piece async for piece in lines]

    announcer = Announcer(clock=FakeClock())
    with lines_of(announcer) as (stream, lines):
        assert run_apart(read_one_and_stall(stream, lines, announcer)) == []
        assert stream.ended
        assert announcer.listeners == 0
