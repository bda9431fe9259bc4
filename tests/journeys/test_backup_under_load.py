"""A backup taken while webhooks pour in, brought back somewhere else."""

import http.client
import json
import threading
import time

import pytest

from fakes import FakeClock
from lyrsvc.store.database import Database
from lyrsvc.store.integrity import check_whole
from served import Served, wait_until

HOOK = "/api/v1/webhooks/lidarr"
PER_SECOND = 100
CALLERS = 4


class Pouring:
    """Sends webhooks at a steady pace, each about a song of its own, until told to stop."""

    def __init__(self, address: str, key: str) -> None:
        self._address, self._key = address, key
        self._stop = threading.Event()
        self.begun = time.monotonic()
        self._numbers = iter(range(10_000_000))
        self._lock = threading.Lock()
        self.acknowledged: list[str] = []
        self.refused: list[object] = []
        self._threads = [threading.Thread(target=self._pour) for _ in range(CALLERS)]

    def __enter__(self) -> "Pouring":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _pour(self) -> None:
        connection = http.client.HTTPConnection(self._address, timeout=30)
        while not self._stop.is_set():
            with self._lock:
                number = next(self._numbers)
            self._stop.wait(max(0.0, self.begun + number / PER_SECOND - time.monotonic()))
            try:
                self._send(connection, f"Song {number:06}")
            except OSError as error:
                self.refused.append(error)
        connection.close()

    def _send(self, connection: http.client.HTTPConnection, title: str) -> None:
        body = {
            "eventType": "Download",
            "artist": {"id": 1, "name": "The Patient Callers"},
            "album": {"id": 1, "title": "Load"},
            "tracks": [{"id": 1, "title": title, "trackNumber": "1"}],
        }
        headers = {"X-Api-Key": self._key, "Content-Type": "application/json"}
        connection.request("POST", HOOK, json.dumps(body), headers)
        answer = connection.getresponse()
        told = json.loads(answer.read())
        if answer.status in (200, 202) and told["enqueued"] == 1:
            self.acknowledged.append(title)
        else:
            self.refused.append((answer.status, told))


@pytest.mark.spec("C-75")
def test_a_backup_under_load_holds_every_acknowledged_item_and_disturbs_no_call(tmp_path):
    environ = {
        "LYRSVC_DB_PATH": str(tmp_path / "state" / "x.db"),
        "LYRSVC_SCAN_SCHEDULE": "off",
        "LYRSVC_PROVIDER_PRIMARY": "lrclib",
        "LYRSVC_LRCLIB_BASE_URL": "http://127.0.0.1:9",  # nobody is there: items pile up
    }
    file = tmp_path / "away" / "x.tar.gz"
    with Served(tmp_path, environ) as served:
        key = served.run("keys", "create", "--name", "lidarr").stdout.strip()
        with Pouring(served.address, key) as pouring:
            wait_until(lambda: len(pouring.acknowledged) >= PER_SECOND, "calls are answered")
            before, begun = list(pouring.acknowledged), time.monotonic()
            made = served.run("backup", "-o", str(file), "--json")
            assert made.returncode == 0, made.stderr
            after, ended = len(pouring.acknowledged), time.monotonic()
            wait_until(lambda: len(pouring.acknowledged) >= after + 50, "calls go on")
        assert pouring.refused == []
        alone_per_s = len(before) / (begun - pouring.begun)
        beside_per_s = (after - len(before)) / (ended - begun)
        assert beside_per_s > alone_per_s / 3  # the load went on, on whatever machine this is
        assert served.stop() == 0
    assert json.loads(made.stdout)["files"][0] == "database"
    elsewhere = {"LYRSVC_DB_PATH": str(tmp_path / "other" / "y.db"), "HOME": str(tmp_path / "h")}
    done = Served(tmp_path, elsewhere).run("backup", "restore", str(file), "--yes")
    assert done.returncode == 0, done.stderr
    restored = tmp_path / "other" / "y.db"
    check_whole(restored)
    with Database.open(restored, create=False, clock=FakeClock()) as db, db.read() as tx:
        titles = {row["title"] for row in tx.all("SELECT title FROM work_items")}
        events = [row["event"] for row in tx.all("SELECT event FROM audit_log ORDER BY id")]
    assert set(before) <= titles
    assert events[-1] == "backup.restored"
    again = Served(tmp_path, elsewhere).run("queue", "list", "--limit", "0")
    assert len(again.stdout.splitlines()) == len(titles)
