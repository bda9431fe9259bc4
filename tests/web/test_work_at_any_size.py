"""What a scrape and a page cost the database, counted in its steps, at two sizes of the queue."""

import threading
from concurrent.futures import ThreadPoolExecutor

import apsw
import pytest

from fakes import FakeClock
from lyrsvc.store import counts, sqlite
from lyrsvc.store.database import to_db
from service_runs import House
from web_face import Visitor

NOWHERE = "http://127.0.0.1:9"
UI = {"LYRSVC_WEB_UI_ENABLED": "true"}
HOOK = "/api/v1/webhooks/lidarr"
FEW, MANY = 400, 12_000
STEPS = "SQLITE_STMTSTATUS_VM_STEP"
HELD = ("web-report", "web-ordinary")
SCRAPES = 4
ALBUM = {
    "eventType": "Download",
    "artist": {"name": "Quillon Marsh"},
    "album": {"title": "Northern Pier"},
    "tracks": [{"title": f"Song {number}"} for number in range(20)],
}

FILL = """
    WITH RECURSIVE numbers (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM numbers WHERE n < :last)
    INSERT INTO work_items (artist, artist_key, title, title_key, status, outcome, lane, reason,
                            completed_at, due_at, created_at, updated_at)
    SELECT 'Artist ' || n, 'artist ' || n, 'Title ' || n, 'title ' || n,
           CASE n % 4 WHEN 0 THEN 'pending' WHEN 1 THEN 'deferred' WHEN 2 THEN 'failed'
                      ELSE 'done' END,
           CASE n % 4 WHEN 3 THEN 'synced' ELSE '' END,
           CASE n % 4 WHEN 3 THEN 'lrclib' ELSE '' END,
           CASE n % 4 WHEN 1 THEN 'not_found' WHEN 2 THEN 'network' ELSE '' END,
           CASE n % 4 WHEN 3 THEN :now END,
           CASE n % 4 WHEN 3 THEN NULL ELSE :later END, :now, :now
      FROM numbers
"""


@pytest.fixture
def steps(monkeypatch) -> list[int]:
    """Give the steps of every statement that a read-only connection runs."""
    counted: list[int] = []
    real = sqlite.connect

    def connect(path, *, flags, **more):
        connection = real(path, flags=flags, **more)
        if not flags & apsw.SQLITE_OPEN_READWRITE:
            connection.trace_v2(
                apsw.SQLITE_TRACE_PROFILE,
                lambda event: counted.append(event["stmt_status"][STEPS]),
            )
        return connection

    monkeypatch.setattr(sqlite, "connect", connect)
    return counted


def fill(run, rows: int) -> None:
    now = run.house.clock.now()

    def write(tx):
        tx.run(FILL, last=rows, now=to_db(now), later=to_db(now.replace(year=now.year + 1)))
        counts.correct(tx, now=now)

    run.db.write(write)


def cost(visitor: Visitor, steps: list[int], path: str) -> int:
    assert visitor.get(path).status == 200  # what is asked once in a while is asked now
    steps.clear()
    assert visitor.get(path).status == 200
    return sum(steps)


@pytest.mark.spec("H-29")
def test_a_scrape_and_the_dashboard_cost_the_same_with_thirty_times_the_items(
    tmp_path, steps
) -> None:
    paths = ("/metrics", "/dashboard", "/api/v1/status")
    found = []
    for rows in (FEW, MANY):
        place = tmp_path / str(rows)
        place.mkdir()
        with House(place, FakeClock(), NOWHERE).running(**UI) as run:
            fill(run, rows)
            visitor = run.visitor(scope="admin")
            found.append({path: cost(visitor, steps, path) for path in paths})
            metrics = visitor.get("/metrics").text
            assert f'status="failed"}} {rows // 4}\n' in metrics
    few, many = found
    for path in paths:
        assert 0 < many[path] < 1.2 * few[path] + 500, (path, few, many)


@pytest.mark.spec("H-29")
def test_a_webhook_is_answered_while_reports_and_scrapes_are_still_being_read(
    tmp_path, clock, monkeypatch
) -> None:
    """No clock is needed: what is being read ends only after the webhook was answered."""
    goes_on, begun = threading.Event(), threading.Semaphore(0)
    real = sqlite.connect

    def hold(event) -> None:
        slow = "work_items" in event["sql"] or "FROM counts" in event["sql"]
        if slow and threading.current_thread().name.startswith(HELD):
            begun.release()
            goes_on.wait(60)

    def connect(path, *, flags, **more):
        connection = real(path, flags=flags, **more)
        if not flags & apsw.SQLITE_OPEN_READWRITE:
            connection.trace_v2(apsw.SQLITE_TRACE_STMT, hold)
        return connection

    monkeypatch.setattr(sqlite, "connect", connect)
    with House(tmp_path, clock, NOWHERE).running(**UI) as run, ThreadPoolExecutor(8) as others:
        fill(run, FEW)
        admin, lidarr = run.visitor(scope="admin"), run.visitor(scope="webhook")
        lidarr.app = admin.app
        asked = ["/api/v1/reports/recent-outcomes?library=1"] * 2 + ["/metrics"] * SCRAPES
        held = [others.submit(admin.get, path) for path in asked]
        try:
            assert all(begun.acquire(timeout=30) for _ in range(2 + SCRAPES))
            answer = lidarr.post(HOOK, ALBUM)
            assert not any(each.done() for each in held)
        finally:
            goes_on.set()
        assert (answer.status, answer.json["enqueued"]) == (200, 20)
        assert all(each.result().status in (200, 503) for each in held)
