"""Everybody who wants something of the server during the soak."""

import json
import re
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from _soak_client import Actor, Client, Tally
from _soak_music import Music, Track, album_title, artist_of, title_of
from lyrsvc.demo.stand_in import StandIn

ADMIN = ("soak", "a long soak, not a short one")
HOOKS = 4
"""Senders of webhooks; each sends about three a second."""
CROWD = 48
"""Requests that come at once: as many as have threads to run in."""
BROWSERS = 2
LISTENERS = 4
MOST_EXTRA = 60
"""Albums beyond those it began with; then some go."""
PAGES = (
    *("/dashboard", "/wanted", "/libraries", "/queue", "/queue?status=failed&page=1", "/history"),
    *("/reports/queue-summary", "/reports/recent-outcomes", "/reports/provider-effectiveness"),
    *("/reports/instrumental-inventory", "/reports/failure-analysis", "/settings"),
    *("/settings?tab=raw", "/settings/keys", "/settings/account", "/system/status"),
    *("/system/tasks", "/system/logs"),
)
CALLS = (
    *("/api/v1/badges", "/api/v1/status", "/api/v1/queue?page_size=200", "/api/v1/queue/next"),
    *("/api/v1/wanted?kind=unsynced", "/api/v1/history?page_size=200", "/api/v1/scan"),
    *("/api/v1/scan/results?q=glass&page=2", "/api/v1/reports/recent-outcomes?format=csv"),
    *("/api/v1/reports/failure-analysis", "/api/v1/logs?kind=audit", "/api/v1/settings"),
    *("/api/v1/system/status", "/api/v1/system/health", "/api/v1/openapi.json", "/readyz"),
    *("/api/v1/providers", "/api/v1/tasks", "/api/v1/libraries"),
)
FAULTS: Sequence[dict[str, Any]] = (
    {"mode": "slow", "times": 5, "seconds": 3},
    {"mode": "cut", "times": 5},
    {"mode": "error500", "times": 4},
    {"mode": "bad_json", "times": 3},
    {"mode": "html", "times": 2},
    {"mode": "decoy", "times": 4},
    {"mode": "throttled", "times": 2, "retry_after": 5},
)
_STATIC = re.compile(r'(?:href|src)="(/static/[^"]+)"')


class Play:
    """All the parts, for one running server."""

    def __init__(
        self, address: str, key: str, *, music: Music, stand_in: StandIn, tally: Tally
    ) -> None:
        self._address = address
        self._key = key
        self._music = music
        self._stand_in = stand_in
        self._tally = tally
        self._chance = Random(11)
        self._fault = 0
        self.stop = threading.Event()
        self.queue = 0

    def actors(self) -> list[Actor]:
        """Give everybody, and how often each acts."""
        admin = self._client()
        return [
            *(Actor(f"hook {n}", 0.33, self._hooks(self._client())) for n in range(HOOKS)),
            *(Actor(f"browser {n}", 0.8, Browser(self._client(""))) for n in range(BROWSERS)),
            *(Actor(f"listener {n}", 4, self._listen) for n in range(LISTENERS)),
            Actor("crowd", 30, self._crowd([self._client() for _ in range(CROWD)])),
            Actor("api", 1, lambda: admin.get(self._chance.choice(CALLS))),
            Actor("metrics", 5, self._scrape(self._client())),
            Actor("scan", 75, self._scan(self._client())),
            Actor("disk", 1.5, self._change_disk),
            Actor("settings", 20, self._save_settings(self._client())),
            Actor("keys", 15, self._change_keys(self._client())),
            Actor("stranger", 4, self._guess),
            Actor("slow", 6, self._dawdle),
            Actor("dropped", 3, self._drop),
            Actor("faults", 25, self._misbehave(self._client())),
        ]

    def _client(self, key: str | None = None, source: str = "") -> Client:
        return Client(
            self._address, self._tally, key=self._key if key is None else key, source=source
        )

    def _hooks(self, client: Client) -> Callable[[], object]:
        kinds: Sequence[tuple[Callable[[], dict[str, Any]], int]] = (
            (self._known_import, 41),
            (self._new_import, 10),
            (self._rename, 15),
            (self._fileless_import, 6),
            (self._deletion, 16),
            (lambda: {"eventType": "Test", "artist": {"name": "Test"}}, 6),
            (lambda: {"eventType": "Health", "level": "warning", "message": "x"}, 6),
        )
        makers, weights = [kind[0] for kind in kinds], [kind[1] for kind in kinds]

        def send() -> None:
            body = self._chance.choices(makers, weights)[0]()
            repeats = 2 if self._chance.random() < 0.1 else 1
            for _ in range(repeats):
                client.post("/api/v1/webhooks/lidarr", body, f"webhook {body['eventType']}")

        return send

    def _crowd(self, clients: Sequence[Client]) -> Callable[[], object]:
        """Send webhooks, ask for lists and for reports, all at the same moment."""

        def ask(number: int) -> None:
            client = clients[number]
            match number % 6:
                case 0:
                    client.get("/api/v1/reports/recent-outcomes", "report in a crowd")
                case 1 | 2:
                    body = self._fileless_import()
                    client.post("/api/v1/webhooks/lidarr", body, "webhook in a crowd")
                case _:
                    client.get("/api/v1/queue", "list in a crowd")

        def come() -> None:
            with ThreadPoolExecutor(len(clients)) as everybody:
                list(everybody.map(ask, range(len(clients))))

        return come

    def _known_import(self) -> dict[str, Any]:
        number, tracks = self._music.some_album()
        return _import_of(number, tracks[:3])

    def _new_import(self) -> dict[str, Any]:
        return _import_of(*self._music.add_album(self._chance.randint(1, 3)))

    def _fileless_import(self) -> dict[str, Any]:
        number = self._chance.randrange(2000)
        path = Path("/elsewhere") / f"{number}.flac"
        return _import_of(number, [Track(path, title_of(number, 1))])

    def _rename(self) -> dict[str, Any]:
        number, pairs = self._music.rename_some()
        files = [{"previousPath": str(old), "path": str(new)} for old, new in pairs]
        artist = {"name": artist_of(number), "path": str(self._music.root / artist_of(number))}
        return {"eventType": "Rename", "artist": artist, "renamedTrackFiles": files}

    def _deletion(self) -> dict[str, Any]:
        if self._music.extra <= MOST_EXTRA:
            return self._known_import()
        number = self._music.delete_some()
        return {
            "eventType": "AlbumDelete",
            "artist": {"name": artist_of(number)},
            "album": {"title": album_title(number)},
            "deletedFiles": True,
        }

    def _change_disk(self) -> None:
        """Add, rename or delete without telling anybody: the watcher must see it."""
        draw = self._chance.random()
        if draw < 0.4:
            self._music.add_album(1)
        elif draw < 0.8 or self._music.extra <= MOST_EXTRA:
            self._music.rename_some()
        else:
            self._music.delete_some()
        self._tally.do("changes on disk")

    def _scrape(self, client: Client) -> Callable[[], object]:
        def scrape() -> None:
            answer = client.get("/metrics")
            if answer is not None and answer.status == 200:
                waiting = re.findall(
                    r'queue_items\{status="(?:pending|processing)"\} (\d+)', answer.body.decode()
                )
                self.queue = sum(map(int, waiting))

        return scrape

    def _scan(self, client: Client) -> Callable[[], object]:
        begun = 0

        def scan() -> None:
            nonlocal begun
            begun += 1
            client.post("/api/v1/scan", {"upgrade": begun % 3 == 0}, "scan", expect=(202, 409))

        scan()
        return scan

    def _save_settings(self, client: Client) -> Callable[[], object]:
        def save() -> None:
            name = f"soak {self._chance.randrange(1000)}"
            body = json.dumps({"changes": {"server.instance_name": name}}).encode()
            client.ask("PATCH", "/api/v1/settings", body, what="settings saved")

        return save

    def _change_keys(self, client: Client) -> Callable[[], object]:
        def change() -> None:
            asked = {"name": "short-lived", "scopes": ["webhook"]}
            made = client.post("/api/v1/keys", asked, "key made", expect=(201,))
            if made is None or made.status != 201:
                return
            user = self._client(made.json["key"])
            test = {"eventType": "Test", "artist": {"name": "Test"}}
            user.post("/api/v1/webhooks/lidarr", test, "webhook Test")
            public_id = made.json["public_id"]
            client.ask("DELETE", f"/api/v1/keys/{public_id}", what="key revoked")
            user.post("/api/v1/webhooks/lidarr", test, "wrong key", expect=(401,))
            user.close()

        return change

    def _guess(self) -> None:
        """Try a wrong key and a wrong password, from an address of its own."""
        source = f"127.1.{self._chance.randrange(8)}.{self._chance.randrange(1, 250)}"
        stranger = self._client("x" * 40, source)
        stranger.get("/api/v1/status", "wrong key", expect=(401, 429))
        stranger.key = ""
        if self._chance.random() < 0.3:
            stranger.get("/login")
            fields = {"username": ADMIN[0], "password": "guessed"}
            stranger.submit("/login", fields, "wrong sign-in", expect=(401, 429))
        stranger.close()

    def _listen(self) -> None:
        """Listen for a while; sometimes hang up in the middle, sometimes read nothing."""
        with self._connect() as wire, suppress(OSError):
            head = f"GET /api/v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self._key}"
            wire.sendall(head.encode() + b"\r\n\r\n")
            begin = wire.recv(200)
            self._tally.do("event streams")
            if not begin.startswith(b"HTTP/1.1 200"):
                self._tally.fault(f"event stream: {begin[:60]!r}")
            for _ in range(self._chance.randrange(5, 40)):
                if self.stop.wait(0.5) or not wire.recv(65536):
                    return

    def _dawdle(self) -> None:
        """Send half a head, half a body, or read an answer very slowly."""
        asked = f"Host: x\r\nAuthorization: Bearer {self._key}\r\n"
        pieces = self._chance.choice(
            (
                ["GET /healthz HTTP/1.1\r\n", "Host: ", "x\r\n", "X-Slow: 1"],
                [
                    f"POST /api/v1/webhooks/lidarr HTTP/1.1\r\n{asked}Content-Length: 500\r\n\r\n",
                    "{",
                    '"eventType":',
                ],
                [f"GET /api/v1/queue?page_size=500 HTTP/1.1\r\n{asked}\r\n"],
            )
        )
        with self._connect() as wire, suppress(OSError):
            self._tally.do("slow connections")
            for piece in pieces:
                wire.sendall(piece.encode())
                self.stop.wait(1.5)
            while wire.recv(2048) and not self.stop.wait(0.05):
                pass

    def _drop(self) -> None:
        """Ask and go away without a goodbye, the answer unread."""
        path = self._chance.choice(("/api/v1/queue?page_size=500", "/metrics", "/api/v1/history"))
        with self._connect() as wire, suppress(OSError):
            self._tally.do("dropped connections")
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            head = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self._key}\r\n\r\n"
            sent = head.encode()
            wire.sendall(sent[: self._chance.choice((20, len(sent)))])
            self.stop.wait(self._chance.random() * 0.05)

    def _misbehave(self, client: Client) -> Callable[[], object]:
        """Let the provider fail in some way; its log and old orders are forgotten."""

        def misbehave() -> None:
            order, self._fault = FAULTS[self._fault % len(FAULTS)], self._fault + 1
            self._stand_in.reset()
            self._stand_in.set_mode(**order)
            self._tally.do("orders to the provider to fail")
            if self._fault % 3 == 0:
                client.post("/api/v1/providers/defaultprov/reset", {}, "lane reset")

        return misbehave

    def _connect(self) -> socket.socket:
        host, _, port = self._address.rpartition(":")
        wire = socket.create_connection((host, int(port)), timeout=20)
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        return wire


class Browser:
    """Opens one page after the other with what belongs to it; signs out now and then."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._chance = Random(5)
        self._left = 0
        self._kept: set[str] = set()

    def __call__(self) -> None:
        """Open one page."""
        if self._left == 0:
            self._sign_in()
        self._left -= 1
        page = self._client.get(self._chance.choice(PAGES))
        wanted = set(_STATIC.findall(page.body.decode())) if page else set()
        for path in sorted(wanted - self._kept):
            self._client.get(path, "static")
        self._kept |= wanted
        self._client.get("/api/v1/badges")
        if self._chance.random() < 0.05:
            fields = {"path": "server.instance_name", "value": f"soak {self._left}"}
            self._client.submit("/settings/field", fields, "settings form", expect=(303,))
        if self._left == 0:
            self._client.submit("/logout", {}, "sign out", expect=(303,))
            self._client.cookies.clear()
            self._kept.clear()

    def _sign_in(self) -> None:
        self._left = self._chance.randrange(40, 120)
        self._client.get("/login")
        fields = {"username": ADMIN[0], "password": ADMIN[1]}
        self._client.submit("/login", fields, "sign in", expect=(303,))


def _import_of(number: int, tracks: Sequence[Track]) -> dict[str, Any]:
    return {
        "eventType": "Download",
        "artist": {"name": artist_of(number)},
        "album": {"title": album_title(number)},
        "tracks": [
            {"title": track.title, "trackNumber": str(place + 1)}
            for place, track in enumerate(tracks)
        ],
        "trackFiles": [{"path": str(track.path)} for track in tracks],
    }
