"""The HTTP face under load, beside an empty handler on the same server in the same run.

python bench/http_face.py [items ...]        rates at 0, 100000 and 1000000 items, and what
                                             a request costs the server in processor time
python bench/http_face.py --load [items]     200 webhooks a second for 30 s, a scan and
                                             reports beside them, then kill -9 and count
"""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from _filled_queue import fill
from _load import Make, hammer, request, stream
from builders import minimal_flac
from served import Served, wait_until

SIZES = (0, 100_000, 1_000_000)
CONNECTIONS = 16
TRACKS = 3
MANY_TRACKS = 20


def main(words: list[str]) -> None:
    """Measure what the words ask for."""
    if words[:1] == ["--load"]:
        load(int(words[1]) if words[1:] else 100_000)
        return
    sizes = [int(word) for word in words] or SIZES
    print(
        f"{'items':>9} {'route':<22} {'rate/s':>8} {'p50 ms':>8} {'p99 ms':>8} "
        f"{'of empty':>8} {'cpu ms':>7}"
    )
    for items in sizes:
        with tempfile.TemporaryDirectory() as place:
            measure(Path(place), items)


def measure(home: Path, items: int) -> None:
    """Measure every route, the empty handler first and last."""
    server = multiprocessing.get_context("spawn").Process(target=serve_nothing, args=(home,))
    server.start()
    wait_until((home / "empty").exists, "the empty handler listens")
    empty = (home / "empty").read_text()
    with service(home, items) as served:
        key = served.run("keys", "create", "--name", "bench", "--scope", "admin").stdout.strip()
        floor = Meter(items, "empty GET", empty, server.pid)
        floor.take(lambda _: request("GET", "/"), count=4000)
        floor_post = Meter(items, "empty POST", empty, server.pid)
        floor_post.take(lambda n: hook(n, key, "empty"), count=4000)
        pid = served._process.pid
        let_rest(pid)
        for path in ("/healthz", "/api/v1/status", "/metrics"):
            asked = request("GET", path, key=key)
            meter = Meter(items, path, served.address, pid, floor)
            meter.take(lambda _, asked=asked: asked, count=3000)
        for tracks, count in ((TRACKS, 1500), (MANY_TRACKS, 300)):
            for name in (f"webhook, {tracks} tracks", f"  the same {tracks} again"):
                meter = Meter(items, name, served.address, pid, floor_post)
                meter.take(
                    lambda n, tracks=tracks: hook(n, key, f"of {tracks}", tracks), count=count
                )
    server.terminate()
    server.join()


def load(items: int) -> None:
    """Hold 200 webhooks a second for 30 s while a scan and reports run; kill; count."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        served = service(home, items)
        with served:
            key = served.run("keys", "create", "--name", "bench", "--scope", "admin").stdout.strip()
            music = home / "music"
            for number in range(20_000):
                minimal_flac(
                    music / f"{number // 50:04}" / f"{number:05}.flac",
                    seconds=100.0 + number % 300,
                    artist=f"Artist {number % 700}",
                    title=f"Scanned {number}",
                )
            served.run("library", "add", str(music), "--name", "bench-music")
            let_rest(served._process.pid)
            stop, asked = threading.Event(), [0]
            reports = threading.Thread(target=ask_reports, args=(served.address, key, stop, asked))
            scan = start(served, "scan", "--library", "bench-music")
            reports.start()
            result = stream(
                served.address, lambda n: hook(n, key, "load"), rate=200, seconds=30, connections=64
            )
            scanning = scan.poll() is None
            assert scanning or scan.returncode == 0, "the scan failed"
            stop.set()
            os.kill(served._process.pid, signal.SIGKILL)
            reports.join()
            scan.wait()
        with served:
            wait_until(lambda: served.get("/readyz")[0] == 200, "it is back")
            found = count_of(served, key, "load track")
        print(
            f"{items} items, {len(result.times)} webhooks in {result.took:.1f} s, "
            f"statuses {result.statuses}"
        )
        print(
            f"p50 {result.at(0.5):.1f} ms, p99 {result.at(0.99):.1f} ms, "
            f"worst {result.at(1):.1f} ms (bar: p99 50 ms)"
        )
        print(
            f"beside it: a scan of 20,000 files "
            f"({'still running' if scanning else 'finished'}), {asked[0]} reports"
        )
        print(
            f"after kill -9 and a restart: {found} of {len(result.times) * TRACKS} tracks "
            "are in the queue"
        )


def service(home: Path, items: int) -> Served:
    """Give the real service on a database of so many items; its lane rests."""
    state = home / "state"
    state.mkdir()
    if items:
        fill(state / "lyrsvcgo.db", items)
    return Served(
        home,
        {
            "LYRSVC_DB_PATH": str(state / "lyrsvcgo.db"),
            "LYRSVC_PROVIDERS_PRIMARY": "lrclib",
            "LYRSVC_LRCLIB_BASE_URL": "http://127.0.0.1:9",
            "LYRSVC_LRCLIB_COOLDOWN_SECONDS": "3600",
            "LYRSVC_SCAN_SCHEDULE": "off",
            "LYRSVC_LOG_LEVEL": "warn",
        },
        ("serve", "--log-level", "info"),
    )


def hook(number: int, key: str, what: str, tracks: int = TRACKS) -> bytes:
    """Write an import of tracks that this number alone announces."""
    body = {
        "eventType": "Download",
        "artist": {"name": f"{what} artist {number}"},
        "album": {"title": "Album"},
        "tracks": [
            {"title": f"{what} track {number} {i}", "trackNumber": str(i)} for i in range(tracks)
        ],
        "trackFiles": [{"path": f"/music/{what}/{number}-{i}.flac"} for i in range(tracks)],
    }
    return request("POST", "/api/v1/webhooks/lidarr", key=key, body=json.dumps(body).encode())


def ask_reports(address: str, key: str, stop: threading.Event, asked: list[int]) -> None:
    """Ask for heavy reports one after the other."""
    while not stop.is_set():
        for path in (
            "reports/recent-outcomes?q=love",
            "reports/failure-analysis?library=1",
            "queue?page=9",
        ):
            call = urllib.request.Request(
                f"http://{address}/api/v1/{path}", headers={"Authorization": f"Bearer {key}"}
            )
            try:
                with urllib.request.urlopen(call, timeout=30) as answer:
                    answer.read()
            except OSError:
                return
            asked[0] += 1


def count_of(served: Served, key: str, text: str) -> int:
    """Count the items whose names hold a text."""
    path = f"http://{served.address}/api/v1/queue?page_size=1&q={text.replace(' ', '+')}"
    call = urllib.request.Request(path, headers={"Authorization": f"Bearer {key}"})
    with urllib.request.urlopen(call, timeout=30) as answer:
        return json.load(answer)["total"]


def start(served: Served, *words: str) -> "subprocess.Popen[bytes]":
    """Start a command beside the service."""
    return subprocess.Popen(
        [sys.executable, "-m", "lyrsvc", *words],
        env=served.environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def serve_nothing(home: Path) -> None:
    """Answer every request with the same few bytes, on the same server."""
    import socket

    from lyrsvc.web.doors import Entrance
    from lyrsvc.web.http_server import HttpServer

    async def nothing(scope, receive, send) -> None:  # noqa: ARG001
        while (await receive()).get("more_body"):
            pass
        await send(
            {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"3")]}
        )
        await send({"type": "http.response.body", "body": b"ok\n"})

    listening = socket.create_server(("127.0.0.1", 0))
    (home / "empty").write_text("{}:{}".format(*listening.getsockname()))
    HttpServer([Entrance(socket=listening, app=nothing)]).run()


class Meter:
    """Sends requests of one kind as fast as answers come, and tells what they cost."""

    def __init__(
        self, items: int, route: str, address: str, pid: int, floor: "Meter | None" = None
    ) -> None:
        self._items = items
        self._route = route
        self._address = address
        self._pid = pid
        self._floor = floor or self
        self.rate = 0.0

    def take(self, make: Make, *, count: int) -> None:
        """Measure, and print a line."""
        before_s = processor_s(self._pid)
        result = hammer(self._address, make, count=count, connections=CONNECTIONS)
        cost_ms = (processor_s(self._pid) - before_s) / count * 1000
        self.rate = result.rate
        share = result.rate / self._floor.rate
        failed = f"  {result.failures} failed!" if result.failures else ""
        print(
            f"{self._items:>9} {self._route:<22} {result.rate:>8.0f} {result.at(0.5):>8.2f} "
            f"{result.at(0.99):>8.2f} {share:>8.0%} {cost_ms:>7.2f}{failed}",
            flush=True,
        )


def let_rest(pid: int) -> None:
    """Wait until the service has put away what the made-up queue has no files for."""
    before_s, quiet = processor_s(pid), 0
    for _ in range(120):
        time.sleep(0.5)
        now_s = processor_s(pid)
        quiet = quiet + 1 if now_s - before_s <= 0.02 else 0
        before_s = now_s
        if quiet == 4:
            return


def processor_s(pid: int) -> float:
    """Give the processor time a process has used, in all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    begun = time.monotonic()
    main(sys.argv[1:])
    print(f"took {time.monotonic() - begun:.0f} s")
