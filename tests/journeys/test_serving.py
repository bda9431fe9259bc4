"""The real service as a process: it works off its queue, and its end loses nothing."""

import http.client
import os
import re
import signal
import sqlite3
import threading
import time
from pathlib import Path

import pytest

from lyrsvc.demo.stand_in import LYRICS_PATH, TOKEN_PATH, StandIn
from worker_processes import Yard

PATIENCE_S = 30


@pytest.fixture
def yard(tmp_path, stand_in: StandIn):
    place = Yard(tmp_path / "yard", stand_in)
    place.environ["LYRSVC_WORK_INTERVAL"] = "1"
    yield place
    place.close()


class Server:
    """One ``lyrsvc serve``; its log is read in the background."""

    def __init__(self, child) -> None:
        self.child = child
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.port = int(self.line(r"listening .*address=\S+:(\d+)").group(1))

    def _read(self) -> None:
        for line in self.child.stderr:
            self.lines.append(line.decode("utf-8", "replace"))

    @property
    def log(self) -> str:
        return "".join(self.lines)

    def line(self, pattern: str) -> re.Match[str]:
        return until(lambda: re.search(pattern, self.log), self)

    def get(self, path: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        finally:
            connection.close()

    def end(self, number: int = signal.SIGTERM) -> tuple[int, float]:
        begun = time.monotonic()
        self.child.send_signal(number)
        code = self.child.wait(PATIENCE_S)
        return code, time.monotonic() - begun


def until(look, server: Server | None = None, seconds: float = PATIENCE_S):
    ends = time.monotonic() + seconds
    while not (found := look()):
        if time.monotonic() > ends or (server and server.child.poll() is not None):
            raise AssertionError(
                f"it did not happen; the log says:\n{server.log if server else ''}"
            )
        time.sleep(0.02)
    return found


@pytest.fixture
def serve(spawn, yard, shell):
    def start(**environ: str) -> Server:
        shell.environ |= {**yard.environ, "LYRSVC_SERVER_ADDR": "127.0.0.1:0", **environ}
        return Server(spawn("serve", stdout=None))

    return start


def is_done(yard: Yard, count: int):
    return lambda: (
        yard.rows("SELECT count(*) AS n FROM work_items WHERE status = 'done'")[0]["n"] == count
    )


@pytest.mark.seed("S-010")
def test_the_first_run_gets_a_token_by_itself_and_serves_what_waits(yard, serve, shell):
    del yard.environ["PROVIDER_TOKEN"]
    shell.environ.pop("PROVIDER_TOKEN", None)
    song = yard.know("Tidewater")
    yard.enqueue("Tidewater")
    server = serve()
    until(is_done(yard, 1), server)
    assert yard.is_whole(song)
    assert (server.get("/healthz"), server.get("/readyz")) == (200, 200)
    assert len(yard.stand_in.calls(TOKEN_PATH)) == 1
    assert server.end()[0] == 0
    assert "demo-token" not in server.log
    assert b"demo-token" not in (yard.place / "state" / "lyrsvcgo.db").read_bytes()

    yard.know("Second Wind")
    yard.enqueue("Second Wind")
    server = serve()
    until(is_done(yard, 2), server)
    assert len(yard.stand_in.calls(TOKEN_PATH)) == 1  # reused
    assert server.end()[0] == 0


def test_what_comes_in_while_the_service_runs_is_found_by_the_poll(yard, serve):
    server = serve()
    song = yard.know("Tidewater")
    yard.enqueue("Tidewater")
    until(is_done(yard, 1), server)
    assert yard.is_whole(song)


@pytest.mark.spec("E-29")
def test_a_second_server_on_the_same_database_refuses(yard, serve, spawn):
    serve()
    second = spawn("serve")
    _, err = second.communicate(timeout=PATIENCE_S)
    assert second.returncode == 1
    assert b"lyrsvcgo.db is already served by process" in err


@pytest.mark.spec("E-20")
def test_a_stop_during_a_question_ends_quickly_and_charges_nothing(yard, serve):
    yard.know("Tidewater")
    yard.stand_in.set_mode("slow", seconds=25)
    yard.enqueue("Tidewater")
    server = serve()
    until(lambda: yard.stand_in.calls(LYRICS_PATH), server)

    code, seconds = server.end()

    assert (code, seconds < 10) == (0, True)
    (item,) = yard.rows("SELECT * FROM work_items")
    assert (item["status"], item["attempts"], item["misses"]) == ("pending", 0, 0)
    assert (item["lease_owner"], item["claimed_from"]) == ("", "")
    assert yard.counters() == {}
    assert yard.wrong_counts() == {}


def test_a_second_signal_ends_at_once(yard, serve):
    yard.know("Tidewater")
    yard.stand_in.set_mode("slow", seconds=25)
    yard.enqueue("Tidewater")
    server = serve()
    until(lambda: yard.stand_in.calls(LYRICS_PATH), server)
    server.child.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    code, seconds = server.end()
    assert seconds < 2
    assert code in (128 + signal.SIGTERM, 0)


@pytest.mark.spec("E-01")
def test_a_killed_server_takes_its_items_back_at_the_next_start(yard, serve):
    song = yard.know("Tidewater")
    yard.stand_in.set_mode("slow", seconds=25, times=1)
    yard.enqueue("Tidewater")
    server = serve()
    until(lambda: yard.stand_in.calls(LYRICS_PATH), server)
    server.end(signal.SIGKILL)
    assert yard.rows("SELECT status FROM work_items") == [{"status": "processing"}]

    server = serve()
    until(is_done(yard, 1), server)
    assert yard.is_whole(song)
    (item,) = yard.rows("SELECT attempts, misses FROM work_items")
    assert item == {"attempts": 0, "misses": 0}
    assert yard.requests == 2


@pytest.mark.spec("E-22")
def test_a_restart_while_the_lane_rests_sends_nothing(yard, serve):
    yard.know("Tidewater")
    yard.stand_in.set_mode("throttled")
    yard.enqueue("Tidewater")
    server = serve()
    server.line("lane closed")
    assert server.end()[0] == 0
    yard.stand_in.set_mode("normal")

    server = serve()
    server.line("worker paused")
    time.sleep(1.5)  # the poll has come round
    assert yard.requests == 1
    (lane,) = yard.rows("SELECT * FROM lane_state")
    assert (lane["state"], lane["trips"]) == ("closed", 1)


def test_a_database_that_another_program_holds_for_a_while_delays_and_loses_nothing(yard, serve):
    server = serve()
    songs = [yard.know(f"Song {number}") for number in range(5)]
    yard.enqueue(*[song.title for song in songs])
    other = sqlite3.connect(yard.environ["LYRSVC_DB_PATH"], isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    time.sleep(3)
    assert (server.get("/healthz"), server.get("/readyz")) == (200, 200)
    other.execute("COMMIT")
    other.close()
    until(is_done(yard, 5), server)
    assert all(yard.is_whole(song) for song in songs)
    assert yard.requests == 5


@pytest.mark.seed("S-105")
@pytest.mark.parametrize("key", ["nonsense", "c2hvcnQ="])
def test_a_malformed_master_key_ends_the_start(yard, shell, spawn, key):
    shell.environ |= {**yard.environ, "LYRSVC_MASTER_KEY": key}
    child = spawn("serve")
    _, err = child.communicate(timeout=PATIENCE_S)
    assert child.returncode == 1
    assert b"LYRSVC_MASTER_KEY" in err
    assert key.encode() not in err


@pytest.mark.spec("E-28")
def test_a_full_disk_pauses_the_worker_and_nothing_is_lost(yard):
    """The limit on file sizes stands for the disk: the log of the database cannot grow."""
    songs = [yard.know(f"Song {number}") for number in range(20)]
    yard.enqueue(*[song.title for song in songs])
    pid = yard.start(threads=True, full_after_bytes=150_000, retry_s=0.3)
    until(lambda: (Path(yard.place) / "paused").exists())
    assert is_done(yard, 20)() is False
    time.sleep(0.7)
    os.kill(pid, signal.SIGUSR1)  # space is freed

    until(is_done(yard, 20))
    os.kill(pid, signal.SIGKILL)
    assert all(yard.is_whole(song) for song in songs)
    assert yard.requests == 20
    assert yard.counters() == {"defaultprov": (20, 0)}
    assert yard.wrong_counts() == {}
