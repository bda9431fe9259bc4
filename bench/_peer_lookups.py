"""Look every song up once with another program: python bench/_peer_lookups.py PEER URL SONGS.

Runs in the peers' environment. Each peer's address and pace are set from outside; nothing
of theirs is used but the function that looks a song up.
"""

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version

Lookup = Callable[[dict[str, str]], object]


def beets(url: str) -> Lookup:
    """Give the lookup of the lyrics plugin, with its pace taken away."""
    from beetsplug._utils.requests import RateLimitAdapter
    from beetsplug.lyrics import LRCLib, LyricsPlugin

    RateLimitAdapter._wait_time = lambda *_: 0.0
    LRCLib.BASE_URL = f"{url}/api"
    LRCLib.GET_URL, LRCLib.SEARCH_URL = f"{url}/api/get", f"{url}/api/search"
    plugin = LyricsPlugin()
    plugin.config["synced"] = True
    backend = LRCLib(plugin.config, plugin._log)
    return lambda song: backend.fetch(
        song["artist"], song["title"], song["album"], int(song["length_s"])
    )


def syncedlyrics(url: str) -> Lookup:
    """Give the lookup of the provider for the same catalogue."""
    from syncedlyrics.providers.lrclib import Lrclib

    Lrclib.ROOT_URL, Lrclib.API_ENDPOINT = url, f"{url}/api"
    Lrclib.SEARCH_ENDPOINT, Lrclib.LRC_ENDPOINT = f"{url}/api/search", f"{url}/api/get/"
    provider = Lrclib()
    return lambda song: provider.get_lrc(f"{song['title']} {song['artist']}")


def main(peer: str, url: str, path: str) -> None:
    """Look all of them up and print what it cost."""
    lookup = {"beets": beets, "syncedlyrics": syncedlyrics}[peer](url)
    with open(path, encoding="utf-8") as file:  # noqa: PTH123 - as plain as the peers' Python
        first, *songs = json.load(file)
    lookup(first)  # what it loads at first use is not counted
    began, worked = time.perf_counter(), time.process_time()
    found = sum(bool(lookup(song)) for song in songs)
    wall_s, own_s = time.perf_counter() - began, time.process_time() - worked
    print(json.dumps([wall_s, own_s, found, len(songs), version(peer)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
