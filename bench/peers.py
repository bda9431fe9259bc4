"""Lookups in the open catalogue beside other programs, at the same server on loopback.

python bench/peers.py [--songs N] [--rounds N]

The same songs, one after the other, without a pace: songs a second, processor time and
requests a song. The others are fetched once into an environment of their own, ``.bench-env``.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from _lyrics_server import LyricsServer, lyrics_server, song
from _meter import metered
from _peer_env import PEERS, NotToBeHad, peer_python
from _profile import split_lines
from _script import run_script, say
from _table import Bar, Row, explained

HERE = Path(__file__).parent
OURS = "lyrsvc"
FASTER = Bar(limit=1.0, ratio=True, least=True)
CHEAPER = Bar(limit=1.0, ratio=True)


@dataclass(frozen=True, kw_only=True)
class Run:
    """What looking all songs up came to."""

    wall_s: float
    own_s: float
    found: int
    songs: int
    version: str
    requests: int
    stolen: float | None


def measure(options: argparse.Namespace) -> Iterator[Row]:
    """Run every program in turn, round by round."""
    songs = options.songs or (1000 if options.full else 200)
    try:
        say("the peers' environment")
        python = peer_python()
    except NotToBeHad as reason:
        for peer in PEERS:
            yield Row(work=f"lookups beside {peer}", note=str(reason))
        return
    runs: dict[str, list[Run]] = {name: [] for name in (OURS, *PEERS)}
    with tempfile.TemporaryDirectory() as place, lyrics_server(songs + 1) as server:
        listing = Path(place, "songs.json")
        listing.write_text(json.dumps([asdict(song(number)) for number in range(songs + 1)]))
        commands = {
            OURS: [sys.executable, str(HERE / "_own_lookups.py"), server.url, str(listing)],
            **{
                peer: [str(python), str(HERE / "_peer_lookups.py"), peer, server.url, str(listing)]
                for peer in PEERS
            },
        }
        for _ in range(options.rounds):
            for name, command in commands.items():
                runs[name].append(run(command, server, place))
    for peer in PEERS:
        yield from compared(peer, runs)


def run(command: list[str], server: LyricsServer, home: str) -> Run:
    """Run one program over all songs."""
    before = server.asked()
    with metered() as spent:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, check=True, env={"HOME": home}
        )
    wall_s, own_s, found, songs, version = json.loads(done.stdout.splitlines()[-1])
    return Run(
        wall_s=wall_s,
        own_s=own_s,
        found=found,
        songs=songs,
        version=version,
        requests=server.asked() - before,
        stolen=spent.stolen,
    )


def compared(peer: str, runs: dict[str, list[Run]]) -> Iterator[Row]:
    """Give rate, cost and requests beside one peer."""
    ours, theirs = middle(runs[OURS]), middle(runs[peer])
    told = f"{ours.found} of {ours.songs} found, {peer} {theirs.version} {theirs.found}"
    stolen = ours.stolen
    row = Row(
        work=f"lookups of {ours.songs} songs",
        figure=ours.songs / ours.wall_s,
        unit="songs/s",
        peer=peer,
        peer_figure=theirs.songs / theirs.wall_s,
        processor_ratio=theirs.own_s / ours.own_s,
        bar=FASTER,
        stolen=stolen,
        note=told,
    )
    yield explained(row, lambda: split(ours, theirs))
    row = Row(
        work="processor time a lookup",
        figure=ours.own_s / ours.songs * 1000,
        unit="ms",
        peer=peer,
        peer_figure=theirs.own_s / theirs.songs * 1000,
        bar=CHEAPER,
        stolen=stolen,
    )
    yield explained(row, lambda: split(ours, theirs))
    yield Row(
        work="requests a lookup",
        figure=ours.requests / (ours.songs + 1),
        peer=peer,
        peer_figure=theirs.requests / (theirs.songs + 1),
    )


def split(ours: Run, theirs: Run) -> tuple[str, ...]:
    """Say how the time of a song is spent."""
    each = 1000 / ours.songs
    return split_lines(
        {
            "ours: processor": ours.own_s * each,
            "ours: waiting for the server": (ours.wall_s - ours.own_s) * each,
            "theirs: processor": theirs.own_s * each,
            "theirs: waiting for the server": (theirs.wall_s - theirs.own_s) * each,
        },
        "ms a song",
    )


def middle(runs: list[Run]) -> Run:
    """Give the run in the middle."""
    ordered = sorted(runs, key=lambda one: one.wall_s)
    return ordered[len(ordered) // 2]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Take how many songs."""
    parser.add_argument("--songs", type=int)
    parser.add_argument("--rounds", type=int, default=3)


if __name__ == "__main__":
    sys.exit(run_script(__doc__, measure, add_options))
