"""Look every song up once as the worker does: python bench/_own_lookups.py URL SONGS."""

import json
import sys
import time
from pathlib import Path

from lyrsvc import __version__
from lyrsvc.clock import SystemClock
from lyrsvc.core.judging import GuardPolicy
from lyrsvc.core.outcome import Served
from lyrsvc.core.recording import Recording
from lyrsvc.providers.lrclib import Lrclib
from lyrsvc.providers.upstream import Connections, Upstream
from lyrsvc.services.lanes import Lane, Manners
from lyrsvc.services.lookup import Lookup


def main(url: str, path: str) -> None:
    """Look all of them up and print what it cost."""
    clock = SystemClock()
    connections = Connections(version=__version__, now=clock.now)
    lane = Lane(
        Lrclib(base_url=url),
        connect=lambda pace, settled: Upstream(connections, pace=pace, settled=settled),
        manners=Manners(),
        clock=clock,
        waiting=lambda seconds, _lane: clock.wait(seconds),
    )
    lookup = Lookup([lane], policy=GuardPolicy(), disconnect=connections.close)
    songs = [recording(song) for song in json.loads(Path(path).read_text())]
    first, *songs = songs
    lookup.look_up(first)  # what it loads at first use is not counted
    began, worked = time.perf_counter(), time.process_time()
    found = sum(isinstance(lookup.look_up(song), Served) for song in songs)
    wall_s, own_s = time.perf_counter() - began, time.process_time() - worked
    lookup.close()
    print(json.dumps([wall_s, own_s, found, len(songs), __version__]))


def recording(song: dict[str, str]) -> Recording:
    """Describe a song as its file would."""
    return Recording(
        title=song["title"],
        artist=song["artist"],
        album=song["album"],
        duration_ms=int(float(song["length_s"]) * 1000),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
