"""The service as ``serve`` wires it, in this process, against servers on loopback."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from builders import minimal_flac
from lyrsvc import serving
from lyrsvc.core.ports import Clock
from lyrsvc.core.recording import Recording
from lyrsvc.core.redaction import Redactor
from lyrsvc.core.scope import Scope
from lyrsvc.core.wish import Spot, Wish
from lyrsvc.serving import Service, Surroundings
from lyrsvc.settings.loading import Inputs, Lanes, load
from lyrsvc.store import libraries
from lyrsvc.web.app import create_app
from web_face import Visitor

BUILTIN = ("defaultprov", "lrclib", "lrclib-dump")
ARTIST = "The Quiet Ferrymen"
ALBUM = "Low Tide Almanac"


class House:
    """A home, an environment and a music directory; each ``running`` is one run of the service."""

    def __init__(
        self, place: Path, clock: Clock, upstream: str, stop: threading.Event | None = None
    ) -> None:
        self.place = place
        self.clock = clock
        self.stop = stop or threading.Event()
        self.music = place / "music"
        self.music.mkdir()
        self.redactor = Redactor()
        self.environ = {
            "HOME": str(place),
            "LYRSVC_DB_PATH": str(place / "state" / "lyrsvcgo.db"),
            "LYRSVC_DEFAULTPROV_BASE_URL": upstream,
            "LYRSVC_LRCLIB_BASE_URL": upstream,
            "LYRSVC_LRCLIB_COOLDOWN_SECONDS": "0",
            "LYRSVC_API_COOLDOWN": "0",
        }

    @contextmanager
    def running(
        self, *, flags: Mapping[str, str] | None = None, toml: str = "", **environ: str
    ) -> Iterator["Run"]:
        config = self.place / ".config" / "lyrsvcgo-svc" / "config.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(toml)
        config.chmod(0o600)
        loaded = load(
            Inputs(
                environ={**self.environ, **environ},
                working_directory=self.place,
                user="somebody",
                lanes=Lanes(BUILTIN, lambda _wanted: {}),
                flags=flags or {},
            )
        )
        around = Surroundings(
            clock=self.clock,
            stop=self.stop,
            redactor=self.redactor,
        )
        vault = serving.open_vault(loaded.settings)
        with serving.build(loaded, vault, around) as service:
            run = Run(self, service)
            service.worker.start(alone=True)
            service.upkeep.run()
            yield run


class Run:
    """One run, driven by hand; ``visitor`` calls its HTTP face."""

    def __init__(self, house: House, service: Service) -> None:
        self.house = house
        self.service = service
        self.db = service.db
        self.waits: list[float] = []

    def visitor(self, *, scope: str = "", **more: object) -> Visitor:
        """Give somebody who calls the application, with a key of a scope when one is named."""
        key = ""
        if scope:
            key = self.service.access.keyring.create("test", [Scope(scope)]).raw
        return Visitor(create_app(self.service, sleep=self._note_wait), key=key, **more)

    async def _note_wait(self, seconds: float) -> None:
        """Let answers that are held back come at once."""
        self.waits.append(seconds)

    def enqueue(self, title: str, seconds: float = 214.0, *, stem: str = "") -> None:
        audio = self.house.music / f"{stem or title}.flac"
        if not audio.exists():
            minimal_flac(audio, seconds=seconds)
        spot = Spot(
            out_dir=str(audio.parent),
            out_stem=audio.stem,
            source_path=str(audio),
            library_id=self._library_id(),
        )
        recording = Recording(
            title=title, artist=ARTIST, album=ALBUM, duration_ms=int(seconds * 1000)
        )
        self.service.enqueuer.enqueue([Wish(recording=recording, spot=spot)])

    def work(self) -> None:
        for _ in range(1000):
            if not sum(slot.step() for slot in self.service.worker.slots):
                return
        raise AssertionError("the worker does not come to rest")

    def rows(self, sql: str) -> list[dict]:
        with self.db.read() as tx:
            return [dict(row) for row in tx.all(sql)]

    def item(self, title: str) -> dict:
        (found,) = [r for r in self.rows("SELECT * FROM work_items") if r["title"] == title]
        return found

    def lane(self, name: str = "defaultprov") -> dict:
        return next(iter(self.rows(f"SELECT * FROM lane_state WHERE lane = '{name}'")), {})

    def sidecars(self) -> list[str]:
        return sorted(p.name for p in self.house.music.iterdir() if p.suffix in (".lrc", ".txt"))

    def _library_id(self) -> int:
        with self.db.read() as tx:
            known = libraries.all_libraries(tx)
        if known:
            return known[0].id
        now = self.house.clock.now()
        return self.db.write(
            lambda tx: libraries.add(tx, name="music", path=self.house.music, now=now)
        ).id
