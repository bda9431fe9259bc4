"""Commands beside a running service: what they put into the queue is worked on at once."""

import json

import pytest

from builders import minimal_flac
from lyrsvc.demo.songs import SONGS
from lyrsvc.demo.stand_in import StandIn
from served import Served, wait_until


@pytest.fixture
def upstream():
    with StandIn() as server:
        yield server


@pytest.fixture
def served(tmp_path, upstream):
    """A service that would look into the queue by itself tomorrow."""
    environ = {
        "LYRSVC_PROVIDERS_PRIMARY": "lrclib",
        "LYRSVC_LRCLIB_BASE_URL": upstream.url,
        "LYRSVC_LRCLIB_COOLDOWN_SECONDS": "0",
        "LYRSVC_API_COOLDOWN": "0",
        "LYRSVC_SCAN_SCHEDULE": "off",
        "LYRSVC_WORK_INTERVAL": "86400",
    }
    with Served(tmp_path, environ) as served:
        yield served


def run(served, *words):
    done = served.run(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def item(served, title):
    items = json.loads(run(served, "queue", "list", "--json", "--limit", "0"))
    return next(item for item in items if item["title"] == title)


def test_a_scan_and_a_recheck_are_heard(served, tmp_path):
    known, unknown = tmp_path / "music" / "known.flac", tmp_path / "music" / "unknown.flac"
    song = SONGS[0]
    minimal_flac(
        known, seconds=song.length_s, artist=song.artist, title=song.title, album=song.album
    )
    minimal_flac(unknown, seconds=200, artist="Nobody at All", title="Never Sung")
    run(served, "library", "add", str(tmp_path / "music"))
    run(served, "scan")
    wait_until(lambda: known.with_suffix(".lrc").exists(), "the words")
    wait_until(lambda: item(served, "Never Sung")["misses"] == 1, "the miss")
    run(served, "queue", "recheck", "--deferred", "--yes")
    wait_until(lambda: item(served, "Never Sung")["misses"] == 2, "it is looked for again")
