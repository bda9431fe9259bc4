"""Workers as processes of their own, over one database and one music directory."""

import json
import os
import subprocess
import sys
from pathlib import Path

from builders import minimal_flac
from lyrsvc.clock import SystemClock
from lyrsvc.core.recording import Recording
from lyrsvc.core.sidecar import FetchMode
from lyrsvc.core.wish import Spot, Wish
from lyrsvc.demo.song import Song
from lyrsvc.demo.stand_in import LYRICS_PATH, StandIn
from lyrsvc.services.enqueueing import Terms, enqueue
from lyrsvc.store import counts, lane_attempts, libraries
from lyrsvc.store.database import Database

TESTS = Path(__file__).parent
ARTIST = "The Quiet Ferrymen"


class Yard:
    """A database, a music directory, a stand-in, and processes that work on them."""

    def __init__(self, place: Path, stand_in: StandIn | None) -> None:
        self.place = place
        self.stand_in = stand_in
        self.music = place / "music"
        self.music.mkdir(parents=True)
        self.clock = SystemClock()
        url = stand_in.url if stand_in else "http://127.0.0.1:9"
        self.environ = {
            "HOME": str(place),
            "LYRSVC_DB_PATH": str(place / "state" / "lyrsvcgo.db"),
            "LYRSVC_DEFAULTPROV_BASE_URL": url,
            "LYRSVC_API_COOLDOWN": "0",
            "PROVIDER_TOKEN": "operators-own",
        }
        self._zygote: subprocess.Popen | None = None
        with self.open() as db:
            now = self.clock.now()
            self.library_id = db.write(
                lambda tx: libraries.add(tx, name="music", path=self.music, now=now)
            ).id

    def open(self) -> Database:
        return Database.open(self.environ["LYRSVC_DB_PATH"], create=True, clock=self.clock)

    def close(self) -> None:
        if self._zygote is not None:
            self._zygote.kill()
            self._zygote.communicate()

    # What comes in

    def know(self, title: str, *, seconds: float = 60.0, mode: str = "normal") -> Song:
        song = Song(
            title=title,
            artist=ARTIST,
            length_s=seconds,
            mode=mode,
            lines=tuple(f"{title} line {number} of the song" for number in range(6)),
        )
        self.stand_in.add_song(song)
        return song

    def enqueue(self, *titles: str, seconds: float = 60.0, **fields) -> None:
        wishes = [self.wish(title, seconds=seconds, **fields) for title in titles]
        self.enqueue_wishes(wishes)

    def enqueue_wishes(self, wishes: list[Wish]) -> None:
        from random import Random

        terms = Terms(now=self.clock.now(), chance=Random(5), output_dir=str(self.place / "out"))
        with self.open() as db:
            for start in range(0, len(wishes), 500):
                db.write(lambda tx, start=start: enqueue(tx, wishes[start : start + 500], terms))

    def wish(self, title: str, *, seconds: float = 60.0, stem: str = "", **fields) -> Wish:
        audio = self.music / f"{stem or title}.flac"
        if not audio.exists():
            minimal_flac(audio, seconds=seconds)
        return Wish(
            recording=Recording(title=title, artist=ARTIST, duration_ms=int(seconds * 1000)),
            spot=Spot(
                out_dir=str(self.music),
                out_stem=audio.stem,
                source_path=str(audio),
                library_id=self.library_id,
            ),
            **fields,
        )

    def reopen(self, title: str, mode: FetchMode) -> None:
        self.enqueue_wishes([self.wish(title, mode=mode, has_sidecar=True)])

    # Who works

    def run(self, **order) -> int:
        """Let one worker run to its end; give its exit code, -9 when it was killed."""
        self._order(order)
        json.loads(self._zygote.stdout.readline())
        return json.loads(self._zygote.stdout.readline())["code"]

    def start(self, **order) -> int:
        """Start a worker and give its pid."""
        self._order({**order, "apart": True})
        return json.loads(self._zygote.stdout.readline())["pid"]

    def _order(self, order: dict) -> None:
        if self._zygote is None:
            paths = [str(TESTS), str(TESTS.parent / "src")]
            self._zygote = subprocess.Popen(
                [sys.executable, str(TESTS / "worker_zygote.py")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
                text=True,
            )
        self._zygote.stdin.write(json.dumps({"environ": self.environ, **order}) + "\n")
        self._zygote.stdin.flush()

    # What it came to

    @property
    def requests(self) -> int:
        return len(self.stand_in.calls(LYRICS_PATH))

    def rows(self, sql: str) -> list[dict]:
        with self.open() as db, db.read() as tx:
            return [dict(row) for row in tx.all(sql)]

    def counters(self) -> dict[str, tuple[int, int]]:
        with self.open() as db, db.read() as tx:
            found = lane_attempts.counters(tx)
        return {lane: (row["hits"], row["misses"]) for lane, row in found.items()}

    def wrong_counts(self) -> dict:
        with self.open() as db, db.read() as tx:
            return counts.differences(tx)

    def temps(self) -> list[Path]:
        return [path for path in self.music.iterdir() if path.name.startswith(".lyrsvc-")]

    def is_whole(self, song: Song, stem: str = "") -> bool:
        """Tell whether the sidecar of a song holds every line of it, and nothing else."""
        text = (self.music / f"{stem or song.title}.lrc").read_text("utf-8")
        lines = [line for line in text.splitlines() if line[1:2].isdigit()]
        return [line.partition("]")[2] for line in lines] == list(song.lines)
