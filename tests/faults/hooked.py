"""The running service with a key, somebody who sends it webhooks, and songs it can find."""

import http.client
import json
import sqlite3
from contextlib import closing
from pathlib import Path

from builders import minimal_flac
from lyrsvc.clock import SystemClock
from lyrsvc.demo.song import Song
from lyrsvc.demo.stand_in import LYRICS_PATH, StandIn
from lyrsvc.store import libraries
from lyrsvc.store.database import Database
from served import Served

KEY = "operators-key-0123456789abcdef"
HOOK = "/api/v1/webhooks/lidarr"
ARTIST = "The Quiet Ferrymen"


class Hooked(Served):
    """A running service that is sent webhooks."""

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, body: dict, *, key: str = KEY) -> int:
        """Send a webhook; give the status, 0 when nobody answered."""
        wire = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            wire.request("POST", HOOK, json.dumps(body), {"X-Api-Key": key})
            return wire.getresponse().status
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            wire.close()


class Grounds:
    """A music directory, a database and a stand-in; each ``serve`` is one run of the program."""

    def __init__(self, place: Path, upstream: StandIn) -> None:
        self.place, self.upstream = place, upstream
        self.music = place / "music"
        self.database = place / "state" / "x.db"
        self.environ = {
            "LYRSVC_DB_PATH": str(self.database),
            "LYRSVC_DEFAULTPROV_BASE_URL": upstream.url,
            "LYRSVC_API_COOLDOWN": "0",
            "PROVIDER_TOKEN": "operators-own",
            "LYRSVC_WEBHOOK_API_KEY": KEY,
            "LYRSVC_SCAN_SCHEDULE": "off",
            "LYRSVC_WORK_INTERVAL": "1",
        }

    def add_library(self) -> None:
        self.music.mkdir(exist_ok=True)
        clock = SystemClock()
        with Database.open(self.database, create=True, clock=clock) as db:
            db.write(lambda tx: libraries.add(tx, name="music", path=self.music, now=clock.now()))

    def serve(self, **environ: str) -> Hooked:
        return Hooked(self.place, {**self.environ, **environ})

    def record(self, title: str, *, lines: int = 6) -> Path:
        """Make a song that the stand-in knows, and its audio."""
        words = tuple(f"{title} line {number} of the song" for number in range(lines))
        self.upstream.add_song(Song(title=title, artist=ARTIST, length_s=60.0, lines=words))
        path = self.music / f"{title}.flac"
        return minimal_flac(path, seconds=60.0, artist=ARTIST, title=title)

    def announce(self, *files: Path) -> dict:
        """Give the webhook that tells of these files."""
        return {
            "eventType": "Download",
            "artist": {"name": ARTIST},
            "album": {"title": "Low Tide Almanac"},
            "tracks": [{"title": file.stem} for file in files],
            "trackFiles": [{"path": str(file)} for file in files],
        }

    def items(self) -> dict[str, dict]:
        return {row["title"]: row for row in self.rows("SELECT * FROM work_items")}

    def statuses(self) -> dict[str, str]:
        return {title: item["status"] for title, item in self.items().items()}

    def rows(self, sql: str) -> list[dict]:
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as db:
            db.row_factory = sqlite3.Row
            return [dict(row) for row in db.execute(sql)]

    @property
    def asked(self) -> list[str | None]:
        return [call.song for call in self.upstream.calls(LYRICS_PATH)]
