"""The service under mixed load for a long time: whether it gives back what it takes.

python bench/soak.py [--minutes 20] [--albums 1000] [--csv FILE] [--plot FILE.svg]

Webhooks, scans, changes on the disk, pages, event streams, scrapes, wrong keys and passwords,
saved settings, slow and dropped connections, and a provider that fails now and then. Ends
with 1 when something grows, or when an answer was 5xx.
"""

import argparse
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from _plot import Line, Panel, write_svg
from _soak_actors import ADMIN, Play
from _soak_client import Tally, play
from _soak_music import Catalogue, Music
from _soak_samples import MIB, Sample, look, slope, write_csv
from served import Served, wait_until

BY_NAME_ONLY = True
"""Too long for a run of all measurements."""
EVERY_S = 2.0
JUDGED_FROM_MINUTES = 10.0
"""Below that, what is still warming up looks like growth."""
BLUE, ORANGE, RED = "#1d6fb8", "#c2620a", "#c62828"


@dataclass(frozen=True)
class Bound:
    """What is watched for growth, and how much of it in ten minutes still counts as none."""

    name: str
    unit: str
    value: Callable[[Sample], float]
    most: float


BOUNDS = (
    Bound("memory (RSS)", "MiB", lambda sample: sample.rss / MIB, 1.0),
    Bound("descriptors", "", lambda sample: sample.descriptors, 1.0),
    Bound("threads", "", lambda sample: sample.threads, 1.0),
    Bound("write-ahead log", "MiB", lambda sample: sample.wal / MIB, 1.0),
)


def main(words: Sequence[str]) -> int:
    """Soak, tell, draw."""
    parser = argparse.ArgumentParser(prog="soak")
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--albums", type=int, default=1000, help="of ten songs each")
    parser.add_argument("--csv", type=Path, help="write every sample to this file")
    parser.add_argument("--plot", type=Path, help="draw the samples as SVG")
    asked = parser.parse_args(words)
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="soak-") as place:
        soak = Soak(Path(place), asked.albums, tally)
        soak.run(asked.minutes * 60)
    print(told(soak))
    if asked.csv:
        write_csv(soak.samples, asked.csv)
    if asked.plot:
        draw(soak, asked.plot)
    return 1 if soak.complaints() else 0


class Soak:
    """One run: the server, everybody who uses it, and the samples."""

    def __init__(self, home: Path, albums: int, tally: Tally) -> None:
        self._home = home
        self._database = home / "state" / "lyrsvcgo.db"
        self.tally = tally
        self.samples: list[Sample] = []
        self.music = Music(home / "music", albums=albums)
        self.stopped = (0, 0.0)
        self.lyrics = 0
        self.tracebacks = 0

    def run(self, seconds: float) -> None:
        """Start everything, watch it for so long, and end it."""
        with Catalogue() as stand_in, self._service(stand_in.url) as served:
            wait_until(lambda: served.get("/readyz")[0] == 200, "it is ready", limit_s=60)
            key = served.run("keys", "create", "--name", "soak", "--scope", "admin").stdout.strip()
            added = served.run("library", "add", str(self.music.root), "--name", "soak")
            if not key or added.returncode:
                raise SystemExit(f"the service cannot be prepared: {added.stderr or served.log}")
            part = Play(served.address, key, music=self.music, stand_in=stand_in, tally=self.tally)
            threads = self._begin(part)
            with suppress(KeyboardInterrupt):
                self._watch(served._process.pid, part, seconds)
            part.stop.set()
            for thread in threads:
                thread.join(40)
            begun = time.monotonic()
            self.stopped = (served.stop(), time.monotonic() - begun)
            self.lyrics = sum(1 for _ in self.music.root.rglob("*.lrc"))
            self.tracebacks = served.log.count("Traceback")
            if self.tracebacks:
                print(served.log[served.log.index("Traceback") - 500 :][:6000])

    def complaints(self) -> list[str]:
        """Say what is not as it should be."""
        found = [
            f"{bound.name} grows by {self.growth(bound):.2f} {bound.unit} in ten minutes"
            for bound in BOUNDS
            if self.is_judged and self.growth(bound) > bound.most
        ]
        if self.tally.failed:
            found.append(f"{self.tally.failed} answers were 5xx")
        found += [f"{number} x {what}" for what, number in self.tally.faults.items()]
        found += [f"{number} x no answer: {what}" for what, number in self.tally.lost.items()]
        if self.tracebacks:
            found.append(f"{self.tracebacks} tracebacks in the log")
        if self.stopped[0]:
            found.append(f"it ended with {self.stopped[0]}")
        return found

    @property
    def is_judged(self) -> bool:
        """Whether it was long enough to speak of growth."""
        return bool(self.samples) and self.samples[-1].at_s > JUDGED_FROM_MINUTES * 60 - EVERY_S * 2

    def growth(self, bound: Bound) -> float:
        """Give the growth in ten minutes over the last two thirds."""
        return slope(self.samples[len(self.samples) // 3 :], bound.value)

    def _service(self, provider: str) -> Served:
        return Served(
            self._home,
            {
                "LYRSVC_DB_PATH": str(self._database),
                "LYRSVC_PROVIDERS_FALLBACK_ORDER": "lrclib",
                "LYRSVC_DEFAULTPROV_BASE_URL": provider,
                "LYRSVC_LRCLIB_BASE_URL": provider,
                "LYRSVC_API_COOLDOWN": "0",
                "LYRSVC_LRCLIB_COOLDOWN_SECONDS": "0.2",
                "LYRSVC_API_CIRCUIT_BACKOFF_BASE": "15",
                "LYRSVC_WORKER_SLOTS": "4",
                "LYRSVC_SCAN_SCHEDULE": "off",
                "LYRSVC_WEB_UI_ENABLED": "true",
                "LYRSVCGO_WATCH_ENABLED": "true",
                "LYRSVC_WEBAUTH_ADMIN_USER": ADMIN[0],
                "LYRSVC_WEBAUTH_ADMIN_PASSWORD": ADMIN[1],
            },
        )

    def _begin(self, part: Play) -> list[threading.Thread]:
        threads = []
        for number, actor in enumerate(part.actors()):
            chance = Random(number).random
            thread = threading.Thread(
                target=play, args=(actor, part.stop, self.tally, chance), daemon=True
            )
            thread.start()
            threads.append(thread)
        return threads

    def _watch(self, pid: int, part: Play, seconds: float) -> None:
        begun = time.monotonic()
        while (now_s := time.monotonic() - begun) < seconds:
            counts = (self.tally.total, self.tally.failed)
            self.samples.append(
                look(pid, self._database, at_s=now_s, queue=part.queue, counts=counts)
            )
            if len(self.samples) % 30 == 0:
                print(f"{now_s / 60:5.1f} min  {state(self.samples[-1])}", flush=True)
            time.sleep(max(0.0, begun + len(self.samples) * EVERY_S - time.monotonic()))


def state(sample: Sample) -> str:
    """Say in one line how things stand."""
    return (
        f"{sample.rss / MIB:.1f} MiB, {sample.descriptors} descriptors, {sample.threads} threads, "
        f"WAL {sample.wal / MIB:.1f} MiB, {sample.queue} waiting, {sample.answered} answered, "
        f"{sample.failed} failed"
    )


def told(soak: Soak) -> str:
    """Write the summary."""
    samples, tally = soak.samples, soak.tally
    third = max(1, len(samples) // 3)
    rows = [f"\n{'':<18}{'first third':>14}{'last third':>14}{'per 10 min':>14}{'bound':>8}"]
    for bound in BOUNDS:
        first = statistics.median(map(bound.value, samples[:third]))
        last = statistics.median(map(bound.value, samples[-third:]))
        rows.append(
            f"{bound.name:<18}{first:>10.1f} {bound.unit:<3}{last:>10.1f} {bound.unit:<3}"
            f"{soak.growth(bound):>+10.2f} {bound.unit:<3}{bound.most:>8.1f}"
        )
    end = samples[-1]
    rows += [
        f"\n{end.at_s / 60:.1f} minutes, {soak.music.files} songs ({soak.lyrics} with synced "
        f"lyrics), {tally.total} answers ({tally.total / end.at_s:.1f}/s), "
        f"{tally.failed} of them 5xx; {end.processor_s / end.at_s:.0%} of a core",
        f"statuses {dict(sorted(tally.statuses.items()))}; " + counted(tally.done),
        f"database {end.database / MIB:.1f} MiB, most memory "
        f"{max(sample.rss for sample in samples) / MIB:.1f} MiB, most children "
        f"{max(sample.children for sample in samples)}, ended in {soak.stopped[1]:.1f} s",
        *slowest(tally),
    ]
    return "\n".join([*rows, "", verdict(soak)])


def slowest(tally: Tally) -> list[str]:
    """List what is asked most, with how long answers took."""
    most = sorted(tally.times.items(), key=lambda pair: -len(pair[1]))[:12]
    return [
        f"  {what:<40}{len(times):>7}  "
        f"p50 {_at(times, 0.5):>6.1f} ms  p99 {_at(times, 0.99):>7.1f} ms"
        for what, times in most
    ]


def verdict(soak: Soak) -> str:
    """Say whether it is flat."""
    complaints = soak.complaints()
    if complaints:
        return "NOT WELL\n" + "\n".join(f"  {complaint}" for complaint in complaints)
    return "flat" if soak.is_judged else "well; too short to tell whether it is flat"


def counted(done: dict[str, int]) -> str:
    """Write counts in words."""
    return ", ".join(f"{number} {what}" for what, number in done.items())


def draw(soak: Soak, path: Path) -> None:
    """Draw four panels."""
    samples = soak.samples
    memory, growth = BOUNDS[0], soak.growth(BOUNDS[0])
    rates = per_second(samples)
    panels = (
        Panel(
            "Memory",
            "MiB",
            (
                line("server", BLUE, samples, memory.value),
                line("its tag readers, during scans", ORANGE, samples, _children_mib),
            ),
        ),
        Panel(
            "Descriptors and threads",
            "count",
            (
                line("open descriptors", BLUE, samples, lambda sample: sample.descriptors),
                line("threads", ORANGE, samples, lambda sample: sample.threads),
            ),
        ),
        Panel(
            "Database",
            "MiB",
            (
                line("database", BLUE, samples, lambda sample: sample.database / MIB),
                line("write-ahead log", ORANGE, samples, lambda sample: sample.wal / MIB),
            ),
        ),
        Panel(
            "Requests",
            "per second",
            (
                Line("answered", BLUE, [(x, y) for x, y, _ in rates]),
                Line("failed (5xx)", RED, [(x, y) for x, _, y in rates]),
            ),
        ),
    )
    end = samples[-1]
    subtitle = (
        f"{soak.music.files:,} songs, {end.answered:,} requests, {end.failed} failed; "
        f"memory {growth:+.2f} MiB in ten minutes over the last two thirds"
    )
    write_svg(path, f"{end.at_s / 60:.0f} minutes of mixed load", subtitle, panels)


def line(
    name: str, colour: str, samples: Sequence[Sample], value: Callable[[Sample], float]
) -> Line:
    """Give a value of every sample as a line over minutes."""
    return Line(name, colour, [(sample.at_s / 60, value(sample)) for sample in samples])


def per_second(samples: Sequence[Sample], step: int = 5) -> list[tuple[float, float, float]]:
    """Give minute, answers and failures a second, over ten seconds each."""
    marks = samples[::step]
    return [
        (
            new.at_s / 60,
            (new.answered - old.answered) / (new.at_s - old.at_s),
            (new.failed - old.failed) / (new.at_s - old.at_s),
        )
        for old, new in pairwise(marks)
    ]


def _children_mib(sample: Sample) -> float:
    return sample.children_pss / MIB


def _at(times: Sequence[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, int(share * len(times)))] * 1000


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
