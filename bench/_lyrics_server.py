"""The stand-in for the catalogue in a process of its own, with songs for the bench.

python bench/_lyrics_server.py SONGS    prints its address; ends when its input ends
"""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from lyrsvc.demo.loopback import Received
from lyrsvc.demo.song import Song
from lyrsvc.demo.stand_in import StandIn
from lyrsvc.demo.wire import Answer

LINES = 24
TRACKS = 10
LENGTH_S = 180


def song(number: int) -> Song:
    """Invent a song."""
    return Song(
        title=f"Harbour Song {number}",
        artist=f"Band {number // TRACKS}",
        album=f"Album {number // TRACKS}",
        length_s=float(LENGTH_S + number % 60),
        lines=tuple(f"an invented line {line} of song {number}" for line in range(LINES)),
    )


class WithIds(StandIn):
    """A stand-in that also answers for a row by its number, as the catalogue does."""

    def _answer(self, received: Received) -> Answer:
        head, _, number = received.path.rpartition("/")
        if head != "/api/get" or not number.isdigit():
            return super()._answer(received)
        found = next((one for one in self._songs if one.number == int(number)), None)
        names = {"track_name": found.title, "artist_name": found.artist} if found else {}
        return super()._answer(replace(received, path="/api/get", query=names))


class LyricsServer:
    """The running stand-in."""

    def __init__(self, url: str) -> None:
        self.url = url

    def asked(self) -> int:
        """Count the requests so far."""
        with urllib.request.urlopen(f"{self.url}/_log", timeout=30) as answer:
            return len(json.load(answer))

    def tell(self, path: str, **values: object) -> None:
        """Give an order."""
        body = json.dumps(values).encode()
        call = urllib.request.Request(f"{self.url}{path}", data=body, method="POST")
        with urllib.request.urlopen(call, timeout=30):
            pass

    def times(self) -> list[float]:
        """Give when each request came, on the clock all processes share."""
        with urllib.request.urlopen(f"{self.url}/_log", timeout=30) as answer:
            return [entry["at"] for entry in json.load(answer)]


@contextmanager
def lyrics_server(songs: int) -> Iterator[LyricsServer]:
    """Run it while the block runs."""
    process = subprocess.Popen(
        [sys.executable, __file__, str(songs)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin
    assert process.stdout
    try:
        yield LyricsServer(process.stdout.readline().strip())
    finally:
        process.stdin.close()
        process.wait()


if __name__ == "__main__":
    with WithIds([song(number) for number in range(int(sys.argv[1]))]) as server:
        print(server.url, flush=True)
        sys.stdin.read()
