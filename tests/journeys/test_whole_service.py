"""All that serve promises, in one service: what comes from where, and what outlives a crash."""

import json
import signal
import urllib.request

import pytest

from builders import minimal_flac
from lyrsvc.demo.songs import SONGS
from lyrsvc.demo.stand_in import StandIn
from served import Served, wait_until

HOOK = "/api/v1/webhooks/lidarr"
KEYS = ("static-key-of-lidarr-1", "static-key-of-lidarr-2")
SYNCED = [song for song in SONGS if song.lines and song.mode == "normal"][:4]


@pytest.fixture
def upstream():
    with StandIn() as stand_in:
        yield stand_in


@pytest.fixture
def environ(tmp_path, upstream) -> dict[str, str]:
    return {
        "LYRSVC_DB_PATH": str(tmp_path / "state" / "queue.db"),
        "LYRSVC_OUTPUT_DIR": str(tmp_path / "out"),
        "LYRSVC_WEBHOOK_API_KEY": ",".join(KEYS),
        "LYRSVC_PROVIDER_PRIMARY": "lrclib",
        "LYRSVC_LRCLIB_BASE_URL": upstream.url,
        "LYRSVC_LRCLIB_COOLDOWN_SECONDS": "0",
        "LYRSVC_WORK_INTERVAL": "1",
    }


def tell(served: Served, song, key: str) -> dict:
    """Be Lidarr, which imported a song where the service cannot see it."""
    event = {
        "eventType": "Download",
        "artist": {"name": song.artist},
        "album": {"title": song.album},
        "tracks": [{"title": song.title, "duration": song.length_s * 1000}],
        "trackFiles": [{"path": "/nowhere/x.flac"}],
    }
    call = urllib.request.Request(
        f"http://{served.address}{HOOK}?apikey={key}",
        data=json.dumps(event).encode(),
        method="POST",
    )
    with urllib.request.urlopen(call, timeout=30) as answer:
        return json.load(answer)


def put(music, song) -> None:
    minimal_flac(
        music / song.album / f"{song.title}.flac",
        seconds=song.length_s,
        artist=song.artist,
        title=song.title,
        album=song.album,
    )


def items(served: Served) -> dict[str, dict]:
    return {
        item["title"]: item for item in json.loads(served.run("queue", "list", "--json").stdout)
    }


@pytest.mark.seed("S-009", "S-026", "S-029", "S-038", "S-120", "S-122", "S-127")
def test_webhooks_scans_watcher_queue_health_metrics_and_pages_in_one_service(
    tmp_path, environ, upstream
) -> None:
    music, out = tmp_path / "music", tmp_path / "out"
    music.mkdir()
    scanned, watched, missed, told = SYNCED
    put(music, scanned)
    everything = environ | {
        "LYRSVC_SCAN_INTERVAL": "3600",
        "LYRSVC_WEB_UI_ENABLED": "true",
        "LYRSVCGO_WATCH_ENABLED": "true",
        "LYRSVCGO_WATCH_DEBOUNCE_MS": "100",
    }
    Served(tmp_path, environ).run("library", "add", str(music))
    with Served(tmp_path, everything) as served:
        wait_until(lambda: len(list(music.rglob("*.lrc"))) == 1, "the start scan", limit_s=60)
        put(music, watched)
        wait_until(lambda: len(list(music.rglob("*.lrc"))) == 2, "the watcher", limit_s=60)
        assert served.get("/healthz")[0] == served.get("/readyz")[0] == 200
        assert served.get("/dashboard")[0] == 200
        assert b'lyrsvcgo_queue_items{status="done"} 2' in served.get("/metrics")[1]
        upstream.set_mode("error500", lane="lrclib")
        assert tell(served, told, KEYS[0])["resolved"]["metadata"] == 1
        assert tell(served, told, KEYS[1])["refreshed"] == 1
        wait_until(
            lambda: items(served)[told.title]["status"] == "failed", "a hard error", limit_s=60
        )
        served.stop(signal.SIGKILL)
    put(music, missed)  # while nobody watches
    upstream.set_mode("normal", lane="lrclib")

    with Served(tmp_path, everything) as served:
        found = items(served)
        assert {scanned.title, watched.title, told.title} <= set(found)
        assert found[watched.title]["priority"] < found[told.title]["priority"]
        served.run("queue", "retry", str(found[told.title]["id"]))
        wait_until(lambda: len(list(music.rglob("*.lrc"))) == 3, "the periodic scan", limit_s=60)
        wait_until(lambda: out.is_dir() and list(out.glob("*.lrc")), "the webhook's", limit_s=60)
        assert served.stop() == 0
    assert len(list(out.iterdir())) == 1  # nothing that has a file of its own
    assert (tmp_path / "state" / "queue.db").exists()


@pytest.mark.seed("S-036", "S-087", "S-090")
def test_watcher_and_pages_are_off_until_asked_for_and_flags_count(tmp_path, environ) -> None:
    config = tmp_path / "mine.toml"
    config.write_text('[server]\nscan_interval_seconds = 60\ninstance_name = "shelf"\n')
    intervals = ("--scan-interval", "7200", "--work-interval", "2")
    words = ("serve", "--config", str(config), *intervals)
    with Served(tmp_path, environ, words) as served:
        assert served.get("/healthz")[0] == 200
        assert served.get("/dashboard")[0] == 404
        assert served.stop() == 0
    assert "watcher started" not in served.log
    assert f"config={config}" in served.log
    assert 'schedule="every 2 h"' in served.log or 'schedule="every 120 min"' in served.log
