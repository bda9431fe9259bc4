"""A service on a long queue, and beside it a server that answers with nothing at all."""

import json
import multiprocessing
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from _filled_queue import fill
from _load import request
from _meter import processor_s
from served import Served, wait_until

QUIET_TURNS = 4


@dataclass(frozen=True)
class Server:
    """Where requests go, and which process pays for them."""

    address: str
    pid: int


def service(home: Path, items: int) -> Served:
    """Give the real service on a new database of so many items."""
    state = home / "state"
    state.mkdir()
    if items:
        fill(state / "lyrsvcgo.db", items)
    return serving(home, {})


def serving(home: Path, environ: dict[str, str]) -> Served:
    """Give the real service on the state that is there; its lane rests."""
    return Served(
        home,
        {
            "LYRSVC_DB_PATH": str(home / "state" / "lyrsvcgo.db"),
            "LYRSVC_PROVIDERS_PRIMARY": "lrclib",
            "LYRSVC_LRCLIB_BASE_URL": "http://127.0.0.1:9",
            "LYRSVC_LRCLIB_COOLDOWN_SECONDS": "3600",
            "LYRSVC_SCAN_SCHEDULE": "off",
            "LYRSVC_WEB_UI_ENABLED": "true",
            "LYRSVC_LOG_LEVEL": "warn",
            **environ,
        },
        ("serve", "--log-level", "info"),
    )


def admin_key(served: Served) -> str:
    """Make a key that may do everything."""
    return served.run("keys", "create", "--name", "bench", "--scope", "admin").stdout.strip()


def hook(number: int, key: str, what: str, tracks: int) -> bytes:
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


def count_of(served: Served, key: str, text: str) -> int:
    """Count the items whose names hold a text."""
    path = f"http://{served.address}/api/v1/queue?page_size=1&q={text.replace(' ', '+')}"
    call = urllib.request.Request(path, headers={"Authorization": f"Bearer {key}"})
    with urllib.request.urlopen(call, timeout=30) as answer:
        return int(json.load(answer)["total"])


def let_rest(pid: int) -> None:
    """Wait until the service has put away what the made-up queue has no files for."""
    before_s, quiet = processor_s(pid), 0
    for _ in range(120):
        time.sleep(0.5)
        now_s = processor_s(pid)
        quiet = quiet + 1 if now_s - before_s <= 0.02 else 0
        before_s = now_s
        if quiet == QUIET_TURNS:
            return


@contextmanager
def empty_server(home: Path) -> Iterator[Server]:
    """Run an application that does nothing, on the same kind of server."""
    process = multiprocessing.get_context("spawn").Process(target=serve_nothing, args=(home,))
    process.start()
    assert process.pid
    try:
        wait_until((home / "empty").exists, "the empty handler listens")
        yield Server((home / "empty").read_text(), process.pid)
    finally:
        process.terminate()
        process.join()


def serve_nothing(home: Path) -> None:
    """Answer every request with the same few bytes."""
    import socket

    from lyrsvc.web.answer_watch import Receive, Send
    from lyrsvc.web.doors import Entrance
    from lyrsvc.web.http_server import HttpServer

    async def nothing(_scope: object, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body"):
            pass
        await send(
            {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"3")]}
        )
        await send({"type": "http.response.body", "body": b"ok\n"})

    listening = socket.create_server(("127.0.0.1", 0))
    draft = home / "empty.new"
    draft.write_text("{}:{}".format(*listening.getsockname()))
    draft.rename(home / "empty")
    HttpServer([Entrance(socket=listening, app=nothing)]).run()
