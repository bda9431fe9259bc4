"""A whole worker over a real database and real files, with lanes by script and a moving clock."""

import os
import threading
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

from builders import minimal_flac, minimal_mp3
from candidates import matched
from fakes import FakeClock, Scripted, Wire
from lyrsvc.core.item import Status, Target, WorkItem
from lyrsvc.core.judging import GuardPolicy
from lyrsvc.core.lyrics import Candidate, Cue
from lyrsvc.core.pacing import LaneState
from lyrsvc.core.recording import Recording
from lyrsvc.core.scan_run import ScanReport
from lyrsvc.core.sidecar import FetchMode
from lyrsvc.core.waiting import WaitPolicy
from lyrsvc.core.wish import Spot, Wish, WishOrigin
from lyrsvc.files.sidecar_writing import SidecarWriter
from lyrsvc.services.away_roots import AwayRoots
from lyrsvc.services.enqueueing import Enqueuer, Placed, Terms
from lyrsvc.services.item_worker import ItemWorker
from lyrsvc.services.lane_memory import StoredLaneMemory
from lyrsvc.services.lanes import Lane, Manners
from lyrsvc.services.leasing import LeaseKeeper
from lyrsvc.services.listening import Listening
from lyrsvc.services.lookup import Lookup
from lyrsvc.services.pausing import Gate
from lyrsvc.services.scanning import Scanner, ScanSetup
from lyrsvc.services.steadying import Steady, SteadyMemory
from lyrsvc.services.stored_words import StoredWords
from lyrsvc.services.target_writing import OutputStyle, TargetDesk, stored_ownership
from lyrsvc.services.upkeep import Upkeep
from lyrsvc.services.worker import Slots, Worker
from lyrsvc.store import (
    counts,
    lane_attempts,
    lane_state,
    libraries,
    targets,
    work_items,
)
from lyrsvc.store.database import Database

ARTIST = "The Quiet Ferrymen"
LINES = ("We hung the lanterns", "before the weather came", "and the river knew", "all the rest")


class Shop:
    """One run of the service's inside; ``again`` starts the next one on the same database."""

    def __init__(self, place: Path, clock: FakeClock, *providers: Scripted, **options) -> None:
        self.place = place
        self.clock = clock
        self.music = place / "music"
        self.music.mkdir(exist_ok=True)
        self.stop = threading.Event()
        self._open = ExitStack()
        self.db = self._open.enter_context(
            Database.open(place / "state" / "lyrsvc.db", create=True, clock=clock)
        )
        self.library_id = self._library()
        self._wire(providers, options)

    def _wire(self, providers, options) -> None:
        db, clock, chance = self.db, self.clock, Random(11)
        owner = options.pop("owner", f"test-{os.urandom(4).hex()}")
        self.policy = WaitPolicy(**options.pop("policy", {}))
        self.detect_default = options.pop("detect_default", False)
        self.steady = Steady(clock)
        self.wires = {provider.name: Wire(clock) for provider in providers}
        cooldown = timedelta(seconds=options.pop("cooldown_s", 0))
        active = options.pop("active", {})
        self.lanes = [
            Lane(
                provider,
                connect=self.wires[provider.name].connect,
                manners=Manners(cooldown=cooldown),
                clock=clock,
                waiting=lambda seconds, _lane: clock.wait(seconds),
                is_active=active.get(provider.name, lambda: True),
                memory=SteadyMemory(
                    StoredLaneMemory(db, provider.name, clock=clock, owner=owner), self.steady
                ),
            )
            for provider in providers
        ]
        self.lookup = Lookup(self.lanes, policy=GuardPolicy())
        self.keeper = LeaseKeeper(
            db, owner=owner, clock=clock, chance=chance, steady=self.steady, policy=self.policy
        )
        writer = SidecarWriter(
            clock=clock,
            ownership=stored_ownership(db),
            announce=options.pop("announce", None),
        )
        self.items = ItemWorker(
            db,
            self.lookup,
            TargetDesk(writer, style=OutputStyle(), away=AwayRoots(clock=clock)),
            words=StoredWords(db, self.lookup, embedded=options.pop("embedded", "off")),
            listening=Listening(
                options.pop("detector", None), default=self.detect_default, clock=clock
            ),
            keeper=self.keeper,
            steady=self.steady,
            clock=clock,
            chance=chance,
            policy=self.policy,
            terms=self.terms,
        )
        self.worker = Worker(
            db,
            self.items,
            gate=Gate(self.lanes, steady=self.steady, is_stopping=self.stop.is_set),
            keeper=self.keeper,
            steady=self.steady,
            clock=clock,
            chance=chance,
            slots=Slots(owner=owner, remote=options.pop("remote", 2)),
        )
        self.upkeep = Upkeep(db, self.lanes, clock=clock, chance=chance)
        self.enqueuer = Enqueuer(
            db,
            clock=clock,
            terms=self.terms,
            wake=self.worker.wake,
        )
        assert not options, options

    def terms(self, now: datetime) -> Terms:
        return Terms(
            now=now,
            chance=Random(11),
            output_dir=str(self.place / "out"),
            provider_set_version=self.upkeep.provider_set_version,
            detect_default=self.detect_default,
        )

    def _library(self) -> int:
        with self.db.read() as tx:
            known = libraries.all_libraries(tx)
        if known:
            return known[0].id
        now = self.clock.now()
        return self.db.write(
            lambda tx: libraries.add(tx, name="music", path=self.music, now=now)
        ).id

    def close(self) -> None:
        self._open.close()

    def again(self, *providers: Scripted, **options) -> "Shop":
        """Start anew on the same database, as after a restart."""
        self.close()
        shop = Shop(self.place, self.clock, *providers, **options)
        shop.worker.start(alone=True)
        return shop

    # What comes in

    def wish(self, title: str, seconds: float | None = 200, **fields) -> Wish:
        """A wish for a file that is really there, named after its song."""
        stem = fields.pop("stem", title)
        folder = fields.pop("folder", self.music)
        audio = folder / f"{stem}.flac"
        if not audio.exists():
            minimal_flac(audio, seconds=seconds or 200)
        recording = fields.pop("recording", None) or a_song(title, seconds)
        spot = Spot(
            out_dir=str(folder), out_stem=stem, source_path=str(audio), library_id=self.library_id
        )
        return Wish(recording=recording, spot=spot, **fields)

    def enqueue(self, *titles: str, **fields) -> list[Placed]:
        return self.enqueuer.enqueue([self.wish(title, **fields) for title in titles])

    def webhook(self, title: str, **fields) -> Placed:
        return self.enqueue(title, origin=WishOrigin.WEBHOOK, **fields)[0]

    def reopen(self, title: str, mode: FetchMode, **fields) -> Placed:
        """What ``scan --upgrade`` and ``--update`` wish for."""
        return self.enqueue(title, mode=mode, has_sidecar=True, **fields)[0]

    def song(self, path: str, title: str, *, music: Path | None = None, **tags) -> Path:
        """Put a tagged file into the library, for a scan to find."""
        place = (music or self.music) / path
        make = minimal_mp3 if place.suffix == ".mp3" else minimal_flac
        return make(place, **{"title": title, "artist": ARTIST, "album": "Low Tide", **tags})

    def scan(self, library_id: int | None = None) -> ScanReport:
        """Scan a library into the queue, as ``scan`` does it."""
        with self.db.read() as tx:
            library = libraries.get(tx, library_id or self.library_id)
        scanner = Scanner(self.db, clock=self.clock, setup=ScanSetup(), terms=self.terms)
        return scanner.scan(library, started_by="cli")

    # What is done

    def work(self, rounds: int = 10_000) -> int:
        """Let every slot step until none has anything to do; give how many steps did something."""
        done = 0
        for _ in range(rounds):
            steps = sum(slot.step() for slot in self.worker.slots)
            done += steps
            if not steps:
                return done
        raise AssertionError("the worker does not come to rest")

    # What it came to

    def item(self, title: str = "", **keys) -> WorkItem:
        found = [item for item in self.all_items() if not title or item.title == title]
        assert len(found) == 1, [item.title for item in found]
        return found[0]

    def all_items(self) -> list[WorkItem]:
        with self.db.read() as tx:
            return [work_items.get(tx, row["id"]) for row in tx.all("SELECT id FROM work_items")]

    def statuses(self) -> dict[Status, int]:
        found: dict[Status, int] = {}
        for item in self.all_items():
            found[item.status] = found.get(item.status, 0) + 1
        return found

    def targets(self, title: str) -> list[Target]:
        with self.db.read() as tx:
            return targets.of_item(tx, self.item(title).id)

    def state(self, lane: str) -> LaneState:
        with self.db.read() as tx:
            return lane_state.read(tx, lane)

    def attempts(self, title: str) -> dict[str, tuple[int, str]]:
        with self.db.read() as tx:
            rows = lane_attempts.of_item(tx, self.item(title).id)
        return {row["lane"]: (row["hit"], row["verdict"]) for row in rows}

    def counters(self) -> dict[str, tuple[int, int]]:
        with self.db.read() as tx:
            rows = lane_attempts.counters(tx)
        return {lane: (row["hits"], row["misses"]) for lane, row in rows.items()}

    def wrong_counts(self) -> dict[str, tuple[int, int]]:
        with self.db.read() as tx:
            return counts.differences(tx)

    def sidecars(self) -> list[str]:
        return sorted(
            path.name for path in self.music.rglob("*") if path.suffix in (".lrc", ".txt", ".elrc")
        )

    def rows(self) -> dict[str, dict]:
        """Give the inventory by file name."""
        with self.db.read() as tx:
            return {row["name"]: dict(row) for row in tx.all("SELECT * FROM scan_results")}

    def text(self, name: str) -> str:
        return (self.music / name).read_text("utf-8")


def a_song(title: str, seconds: float | None = 200) -> Recording:
    length = None if seconds is None else int(seconds * 1000)
    return Recording(title=title, artist=ARTIST, album="Low Tide Almanac", duration_ms=length)


class Knowing(Scripted):
    """A provider that has every song it is asked for, synced unless told otherwise."""

    def __init__(self, name: str = "main", *, kind: str = "synced", local: bool = False) -> None:
        super().__init__(name, Candidate(matched=matched()), local=local)
        self.kind = kind

    def lookup(self, recording, ctx):
        self.asked.append(recording)
        ctx.http.get("http://scripted")
        return [an_answer(recording, self.kind)]


def an_answer(recording: Recording, kind: str = "synced", lines=LINES) -> Candidate:
    found = matched(
        recording.title,
        number=recording.title,
        duration_ms=recording.duration_ms,
        album=recording.album,
    )
    cues = tuple(
        Cue(ms, f"{line} {recording.title}")
        for ms, line in zip((12_480, 15_970, 19_300, 64_050), lines, strict=True)
    )
    if kind == "instrumental":
        return Candidate(matched=found, instrumental=True)
    if kind == "plain":
        return Candidate(matched=found, plain="\n".join(cue.text for cue in cues))
    return Candidate(matched=found, cues=cues)
