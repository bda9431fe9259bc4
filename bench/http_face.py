"""The HTTP face under load, beside an empty handler on the same server in the same run.

python bench/http_face.py [items ...]        rates, and what a request costs the server
python bench/http_face.py --load [items] [--beside nothing|scan|reports|one-scan-and-reports|both]
                                             webhooks at a fixed rate while others work,
                                             then kill -9 and count

A load's figure is timed from the moment a request should have been sent. Client, scan and
the reader of reports are processes of their own.
"""

import argparse
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from _beside import Beside
from _http_service import (
    Server,
    admin_key,
    count_of,
    empty_server,
    hook,
    let_rest,
    service,
    serving,
)
from _load import Make, Timed, hammer, repeating, request, stream
from _meter import Spent, metered, processor_s
from _samples import sample_lines, sampled
from _script import run_script, say
from _table import Bar, Row, explained
from builders import minimal_flac
from served import wait_until

CONNECTIONS = 16
WIRES = 64
TRACKS = 3
MANY_TRACKS = 20
SCANNED = 20_000
PROFILE_S = 10.0
MILLION = 1_000_000
PAGE = Bar(limit=50, size=MILLION)
BESIDE = ("nothing", "scan", "reports", "one-scan-and-reports", "both")


@dataclass(frozen=True, kw_only=True)
class Case:
    """One load: so many webhooks a second, and what runs beside them."""

    items: int
    tracks: int
    rate: float
    seconds: float
    beside: str
    bar: Bar | None

    @property
    def title(self) -> str:
        """Say what it is."""
        return (
            f"{self.tracks}-track webhooks, {self.rate:g}/s for {self.seconds:g} s, "
            f"beside {self.beside}, {self.items:,} items"
        )


@dataclass
class Ran:
    """What a load came to."""

    result: Timed
    spent: Spent
    server_s: float = 0.0
    lost: int = 0
    counts: dict[str, int] = field(default_factory=dict)


def measure(options: argparse.Namespace) -> Iterator[Row]:
    """Measure the rates, then the loads; or only what is asked for."""
    asked = options.items or ([0, 100_000, MILLION] if options.full else [100_000])
    if not options.load:
        for items in asked:
            with tempfile.TemporaryDirectory() as place:
                yield from rates(Path(place), items)
    if options.load or not options.items:
        with tempfile.TemporaryDirectory() as place:
            rested = rest(Path(place), asked[-1])
            for case in cases(options, asked[-1]):
                yield from loaded(case, rested)


def cases(options: argparse.Namespace, items: int) -> Iterator[Case]:
    """Give the loads to measure."""
    seconds = options.seconds or 30.0
    for beside in [options.beside] if options.beside else ["nothing", *BESIDE[-2:]]:
        yield Case(
            items=items,
            tracks=TRACKS,
            rate=200,
            seconds=seconds if beside != "nothing" or options.beside else seconds / 3,
            beside=beside,
            bar=Bar(limit=50),
        )
    yield Case(
        items=items,
        tracks=MANY_TRACKS,
        rate=20,
        seconds=seconds / 2,
        beside=options.beside or "both",
        bar=Bar(limit=250),
    )


# Rates


def rates(home: Path, items: int) -> Iterator[Row]:
    """Measure every route, the empty handler first."""
    say(f"a service on {items:,} items")
    with empty_server(home) as empty, service(home, items) as served:
        key = admin_key(served)
        here = Server(served.address, served._process.pid)
        floor = Meter(empty).take(lambda _: request("GET", "/"), count=4000)
        floor_post = Meter(empty).take(lambda n: hook(n, key, "empty", TRACKS), count=3000)
        let_rest(here.pid)
        for path in ("/healthz", "/api/v1/status", "/metrics", "/dashboard"):
            asked = request("GET", path, key=key)
            taken = Meter(here).take(repeating(asked), count=1500)
            yield taken.row(f"GET {path}, {items:,} items", floor)
        for path in ("/metrics", "/dashboard"):
            asked = request("GET", path, key=key)
            yield Meter(here).alone(path, asked, items)
        for tracks, count in ((TRACKS, 1500), (MANY_TRACKS, 300)):
            for name in ("new", "known"):
                make = maker(key, f"of {tracks}", tracks)
                taken = Meter(here).take(make, count=count)
                yield taken.row(f"webhook, {tracks} {name} tracks, {items:,} items", floor_post)


def maker(key: str, what: str, tracks: int) -> Make:
    """Give what writes webhooks of a kind."""
    return lambda number: hook(number, key, what, tracks)


class Meter:
    """Sends requests of one kind, and tells what they cost."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.result = Timed()
        self.spent = Spent()
        self.cost_ms = 0.0

    def take(self, make: Make, *, count: int, connections: int = CONNECTIONS) -> "Meter":
        """Send so many as fast as answers come."""
        before_s = processor_s(self._server.pid)
        with metered() as self.spent:
            self.result = hammer(self._server.address, make, count=count, connections=connections)
        self.cost_ms = (processor_s(self._server.pid) - before_s) / count * 1000
        return self

    def row(self, work: str, floor: "Meter") -> Row:
        """Give the rate beside the floor's."""
        return Row(
            work=work,
            figure=self.result.rate,
            unit="/s",
            peer="empty handler",
            peer_figure=floor.result.rate,
            processor_ratio=floor.cost_ms / self.cost_ms if self.cost_ms else None,
            stolen=self.spent.stolen,
            note=f"p50 {self.result.at(0.5):.2f} ms, p99 {self.result.at(0.99):.2f} ms, server "
            f"{self.cost_ms:.2f} ms processor each{failed(self.result)}",
        )

    def alone(self, path: str, asked: bytes, items: int) -> Row:
        """Give how long one visitor waits at worst."""
        self.take(lambda _: asked, count=300, connections=1)
        return Row(
            work=f"GET {path}, one visitor, p99, {items:,} items",
            figure=self.result.at(0.99),
            unit="ms",
            bar=PAGE,
            size=items,
            stolen=self.spent.stolen,
            note=f"p50 {self.result.at(0.5):.2f} ms, server {self.cost_ms:.2f} ms processor, "
            f"{self.result.size / 1024:.1f} KiB uncompressed{failed(self.result)}",
        )


def failed(result: Timed) -> str:
    """Say how many were refused."""
    return f"; {result.failures} failed!" if result.failures else ""


# Loads


def loaded(case: Case, rested: Path) -> Iterator[Row]:
    """Hold the load, kill the service, count what is there; profile it when it was too slow."""
    say(case.title)
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        with empty_server(home) as empty:
            floor = stream(
                empty.address,
                lambda n: hook(n, "", "empty", case.tracks),
                rate=case.rate,
                seconds=5,
                connections=WIRES,
            )
        ran = hold(case, home, rested, {})
    sent = len(ran.result.times)
    beside = ", ".join(f"{count} {name}" for name, count in ran.counts.items())
    row = Row(
        work=f"{case.title}, p99",
        figure=ran.result.at(0.99),
        unit="ms",
        peer="empty handler",
        peer_figure=floor.at(0.99),
        bar=case.bar,
        stolen=ran.spent.stolen,
        note=f"p50 {ran.result.at(0.5):.1f} ms, worst {ran.result.at(1):.1f} ms, server "
        f"{ran.server_s / sent * 1000:.1f} ms processor each, "
        f"{ran.server_s / ran.spent.wall_s:.0%} of a core; rounds beside: {beside or 'none'}"
        f"{failed(ran.result)}",
    )
    yield explained(row, lambda: profile(case, rested))
    yield Row(
        work=f"tracks lost by kill -9, {case.title}",
        figure=float(ran.lost),
        unit="tracks",
        bar=Bar(limit=0),
        note=f"of {sent * case.tracks} answered with 200",
    )


def rest(home: Path, items: int) -> Path:
    """Make a state with music to scan, and wait until nothing is left to be put away."""
    say(f"a state of {items:,} items and {SCANNED:,} files to scan")
    make_music(home / "music")
    with service(home, items) as served:
        served.run("library", "add", str(home / "music"), "--name", "bench-music")
        let_rest(served._process.pid)
        served.stop()
    return home / "state"


def hold(case: Case, home: Path, rested: Path, environ: dict[str, str]) -> Ran:
    """Run the service on a copy of the state under one load."""
    shutil.copytree(rested, home / "state")
    os.sync()  # else the first checkpoint of the service waits for the copy to reach the disk
    served = serving(home, environ)
    beside = Beside()
    with served:
        key = admin_key(served)
        pid = served._process.pid
        commands = neighbours(case.beside, served.address, key)
        plain = {name: value for name, value in served.environ.items() if name not in environ}
        with beside.running(commands, plain):
            before_s = processor_s(pid)
            with metered() as spent:
                result = stream(
                    served.address,
                    lambda n: hook(n, key, "load", case.tracks),
                    rate=case.rate,
                    seconds=case.seconds,
                    connections=WIRES,
                )
            server_s = processor_s(pid) - before_s
            os.kill(pid, signal.SIGKILL)
    answered = result.statuses.get(200, 0) * case.tracks
    with serving(home, {}) as again:
        wait_until(lambda: again.get("/readyz")[0] == 200, "it is back", limit_s=120)
        lost = answered - count_of(again, key, "load track")
    return Ran(result, spent, server_s, lost, beside.counts)


def neighbours(beside: str, address: str, key: str) -> dict[str, Sequence[str]]:
    """Give the commands that run beside the load."""
    asking = ("reports", address, key)
    every: dict[str, dict[str, Sequence[str]]] = {
        "nothing": {},
        "scan": {"scan": ("scan", "bench-music")},
        "reports": {"reports": asking},
        "one-scan-and-reports": {"scan": ("scan", "bench-music", "once"), "reports": asking},
        "both": {"scan": ("scan", "bench-music"), "reports": asking},
    }
    return every[beside]


def make_music(music: Path) -> None:
    """Make small files for the scan beside."""
    for number in range(SCANNED):
        minimal_flac(
            music / f"{number // 50:04}" / f"{number:05}.flac",
            seconds=100.0 + number % 300,
            artist=f"Artist {number % 700}",
            title=f"Scanned {number}",
        )


def profile(case: Case, rested: Path) -> Sequence[str]:
    """Hold the load for a while on a service that samples itself."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        short = Case(
            items=case.items,
            tracks=case.tracks,
            rate=case.rate,
            seconds=PROFILE_S,
            beside=case.beside,
            bar=None,
        )
        ran = hold(short, home, rested, sampled(home / "samples"))
        return (
            f"server {ran.server_s / ran.spent.wall_s:.0%} of a core while sampled",
            *sample_lines(home / "samples"),
        )


def add_options(parser: argparse.ArgumentParser) -> None:
    """Take the lengths of the queue and the load."""
    parser.add_argument("items", nargs="*", type=int)
    parser.add_argument("--load", action="store_true", help="only the loads")
    parser.add_argument("--beside", choices=BESIDE, help="what runs beside the load")
    parser.add_argument("--seconds", type=float, help="how long the load of 200/s is held")


if __name__ == "__main__":
    sys.exit(run_script(__doc__, measure, add_options))
