"""What an owner waits for: the demonstration, a wish, the cache, the news, the end.

python bench/service.py [--only WORD]

The real program in a process of its own, with a stand-in for the catalogue on loopback.
"""

import argparse
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from _http_service import hook
from _load import hammer, repeating, request
from _lyrics_server import LyricsServer, lyrics_server, song
from _meter import metered, percentile, timed
from _running import LIMIT_S, lyrsvc, running
from _samples import sample_lines, sampled
from _script import run_script, say
from _table import Bar, Row, explained
from builders import minimal_flac
from served import Served, wait_until

SONGS = 60
CACHED = 50
WISHES = 10


def measure(options: argparse.Namespace) -> Iterator[Row]:
    """Measure one promise after the other, each with a fresh state."""
    for act in ACTS:
        if options.only in act.__name__:
            say(act.__name__.replace("_", " "))
            with tempfile.TemporaryDirectory() as place:
                yield from act(Path(place))
    if not options.only:
        yield image()


def demonstration(home: Path) -> Iterator[Row]:
    """Run the demonstration of 12 tracks to its end."""
    environ = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    start = timed(lambda: lyrsvc(environ, "--version"))
    spent = timed(lambda: lyrsvc(environ, "demo", "--once"))
    row = Row(
        work="demo --once, 12 tracks",
        figure=spent.wall_s,
        unit="s",
        peer="lyrsvc --version",
        peer_figure=start.wall_s,
        bar=Bar(limit=15),
        stolen=spent.stolen,
        note=f"{spent.processor_s:.1f} s processor",
    )
    samples = home / "samples"

    def profile() -> tuple[str, ...]:
        lyrsvc({**environ, **sampled(samples)}, "demo", "--once")
        return sample_lines(samples)

    yield explained(row, profile)


def wish(home: Path) -> Iterator[Row]:
    """Send wishes to an idle service, one at a time, and see when the catalogue is asked."""
    waits = []
    with lyrics_server(SONGS) as upstream, running(home, upstream, pace_s=0) as (served, key):
        time.sleep(1)
        with metered() as spent:
            for number in range(WISHES):
                waits.append(waited_ms(served, upstream, hook(number, key, "wish", 1)))
                time.sleep(0.5)
    yield Row(
        work="idle service, from the webhook's answer to the request, worst of 10",
        figure=max(waits),
        unit="ms",
        bar=Bar(limit=1000),
        stolen=spent.stolen,
        note=f"median {percentile(waits, 0.5):.0f} ms",
    )


def waited_ms(served: Served, upstream: LyricsServer, wanted: bytes) -> float:
    """Send one wish, and give how long after its answer the catalogue is asked."""
    before = upstream.asked()
    sent = hammer(served.address, lambda _: wanted, count=1, connections=1)
    answered = time.monotonic()
    assert sent.statuses == {200: 1}, sent.statuses
    wait_until(lambda: upstream.asked() > before, "it asks", limit_s=LIMIT_S)
    return max(0.0, upstream.times()[before] - answered) * 1000


def cached(home: Path) -> Iterator[Row]:
    """Have 50 songs fetched, then their copies served from the cache at a slow pace."""
    first = home / "music" / "first"
    make_songs(first, CACHED)
    with lyrics_server(SONGS) as upstream:
        with running(home, upstream, pace_s=0) as (served, _):
            served.run("library", "add", str(home / "music"), "--name", "music")
            served.run("scan")
            wait_until(lambda: sidecars(first) == CACHED, "all are fetched", limit_s=LIMIT_S)
            served.stop()
        before = upstream.asked()
        with running(home, upstream, pace_s=15) as (served, key):
            asked = request("POST", "/api/v1/scan", key=key, body=b"{}")
            yield copied(
                "50 cached songs written at a pace of 15 s, scan by the service",
                first,
                lambda: hammer(served.address, lambda _: asked, count=1, connections=1),
                Bar(limit=5),
            )
            yield copied(
                "50 cached songs written at a pace of 15 s, scan by a command",
                first,
                lambda: served.run("scan"),
                None,
            )
        if asked_again := upstream.asked() - before:
            raise AssertionError(f"the catalogue was asked {asked_again} times")


def copied(work: str, first: Path, scan: Callable[[], object], bar: Bar | None) -> Row:
    """Copy the songs, scan, and wait for the sidecars of the copies."""
    second = first.parent / f"copy {time.monotonic_ns()}"
    shutil.copytree(first, second, ignore=shutil.ignore_patterns("*.lrc"))
    began = time.perf_counter()
    with metered() as spent:
        scanned = timed(scan)
        wait_until(lambda: sidecars(second), "one is there", limit_s=LIMIT_S)
        first_s = time.perf_counter() - began
        wait_until(lambda: sidecars(second) == CACHED, "all are there", limit_s=LIMIT_S)
    parts = (
        f"{scanned.wall_s:.2f} s until the scan answered, {first_s:.2f} s until the first file, "
        f"{spent.wall_s - first_s:.2f} s from the first file to the last"
    )
    return Row(work=work, figure=spent.wall_s, unit="s", bar=bar, stolen=spent.stolen, note=parts)


def end(home: Path) -> Iterator[Row]:
    """Ask a service to end while its catalogue keeps it waiting."""
    with lyrics_server(SONGS) as upstream:
        upstream.tell("/_control", mode="slow", seconds=25)
        with running(home, upstream, pace_s=0) as (served, key):
            wanted = hook(0, key, "end", 1)
            hammer(served.address, lambda _: wanted, count=1, connections=1)
            wait_until(upstream.asked, "the catalogue is asked", limit_s=LIMIT_S)
            with metered() as spent:
                code = served.stop(signal.SIGTERM)
        upstream.tell("/_reset")
    yield Row(
        work="SIGTERM during a request to its end",
        figure=spent.wall_s,
        unit="s",
        bar=Bar(limit=10),
        stolen=spent.stolen,
        note=f"exit code {code}",
    )


def weight(home: Path) -> Iterator[Row]:
    """Weigh the first visit of the dashboard: page, styles, scripts, pictures, compressed."""
    with lyrics_server(1) as upstream, running(home, upstream, pace_s=0) as (served, _):
        page, size = fetched(served, "/dashboard")
        links = {
            part.split('"')[0]
            for mark in ('href="', 'src="')
            for part in page.split(mark)[1:]
            if "/static/" in part.split('"')[0]
        }
        sizes = {link: fetched(served, link)[1] for link in links}
    yield Row(
        work="weight of the dashboard on the wire, first visit",
        figure=(size + sum(sizes.values())) / 1024,
        unit="KiB",
        note=f"page {size / 1024:.1f} KiB, {len(sizes)} files beside it",
    )


def news(home: Path) -> Iterator[Row]:
    """Follow the event stream of the pages while wishes are fulfilled."""
    waits = []
    with lyrics_server(SONGS) as upstream, running(home, upstream, pace_s=0) as (served, key):
        call = urllib.request.Request(
            f"http://{served.address}/api/v1/events", headers={"Authorization": f"Bearer {key}"}
        )
        with metered() as spent, urllib.request.urlopen(call, timeout=LIMIT_S) as events:
            for number in range(WISHES):
                wanted = hook(number, key, "news", 1)
                hammer(served.address, repeating(wanted), count=1, connections=1)
                answered = time.monotonic()
                while events.readline() != b"event: outcome\n":
                    pass
                waits.append(time.monotonic() - answered)
    yield Row(
        work="from the webhook's answer to the outcome on the event stream, worst of 10",
        figure=max(waits),
        unit="s",
        bar=Bar(limit=3),
        stolen=spent.stolen,
        note=f"median {percentile(waits, 0.5):.2f} s",
    )


def sampled_audio(home: Path) -> Iterator[Row]:
    """Count what the detector reads of a track of an hour."""
    from lyrsvc.detector.sampler import Sampler

    work = "share of an hour of audio that the detector reads"
    if not shutil.which("ffmpeg"):
        yield Row(work=work, unit="%", bar=Bar(limit=10), note="there is no ffmpeg here")
        return
    import sounds

    minute = sounds.noise(home / "minute.mp3", 60, ("-ar", "44100", "-ac", "2"))
    track, counts = home / "hour.mp3", home / "counts"
    loop: list[str | Path] = ["-stream_loop", "59", "-i", minute, "-c", "copy", track]
    subprocess.run(["ffmpeg", "-v", "error", *loop], check=True)
    counts.mkdir()
    tool = home / "counting"
    tool.write_text(COUNTING.format(python=sys.executable, place=str(counts)))
    tool.chmod(0o755)
    spent = timed(lambda: Sampler(ffmpeg=str(tool)).sample(track, duration_s=3600.0))
    read = [int(count.read_text()) for count in counts.iterdir()]
    yield Row(
        work=work,
        figure=sum(read) / track.stat().st_size * 100,
        unit="%",
        bar=Bar(limit=10),
        stolen=spent.stolen,
        note=f"{len(read)} windows in {spent.wall_s:.1f} s",
    )


def image() -> Row:
    """Say what only a container engine could tell."""
    found = shutil.which("docker") or shutil.which("podman")
    reason = "no image is built here" if found else "there is no container engine here"
    return Row(work="start of the image", unit="s", bar=Bar(limit=3), note=reason)


ACTS = (
    demonstration,
    wish,
    news,
    cached,
    end,
    weight,
    sampled_audio,
)
COUNTING = """#!{python}
import os, pathlib, subprocess, sys
tool = subprocess.Popen(["ffmpeg", *sys.argv[1:]])
read = 0
while True:
    over = os.waitid(os.P_PID, tool.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
    told = pathlib.Path(f"/proc/{{tool.pid}}/io").read_text().split()
    read = max(read, int(told[1]))
    if over:
        break
pathlib.Path({place!r}, str(tool.pid)).write_text(str(read))
sys.exit(tool.wait())
"""
"""A program in the place of ffmpeg that counts what it reads."""

# Songs and pages


def make_songs(folder: Path, count: int) -> None:
    """Make files of songs the catalogue knows."""
    for number in range(count):
        known = song(number)
        minimal_flac(
            folder / f"{number:02}.flac",
            seconds=known.length_s,
            title=known.title,
            artist=known.artist,
            album=known.album,
        )


def sidecars(folder: Path) -> int:
    """Count the lyrics files of a directory."""
    return len(list(folder.glob("*.lrc")))


def fetched(served: Served, path: str) -> tuple[str, int]:
    """Get something compressed; give its text and its size on the wire."""
    import gzip

    call = urllib.request.Request(
        f"http://{served.address}{path}", headers={"Accept-Encoding": "gzip"}
    )
    with urllib.request.urlopen(call, timeout=LIMIT_S) as answer:
        body = answer.read()
        packed = answer.headers.get("content-encoding") == "gzip"
    return (gzip.decompress(body) if packed else body).decode("utf-8", "replace"), len(body)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Take which promise to measure."""
    parser.add_argument("--only", default="", metavar="WORD")


if __name__ == "__main__":
    sys.exit(run_script(__doc__, measure, add_options))
