"""The running service, from the outside: files in, lyrics out."""

import signal

import pytest

from builders import minimal_flac
from lyrsvc.demo.stand_in import StandIn
from served import Served, wait_until

ARTIST, TITLE = "The Quiet Ferrymen", "Lanterns on the Weir"


@pytest.fixture
def upstream():
    with StandIn() as stand_in:
        yield stand_in


@pytest.fixture
def environ(upstream: StandIn, tmp_path) -> dict[str, str]:
    return {
        "LYRSVC_DB_PATH": str(tmp_path / "state" / "x.db"),
        "LYRSVC_LRCLIB_BASE_URL": upstream.url,
        "LYRSVC_LRCLIB_COOLDOWN_SECONDS": "0",
        "LYRSVC_PROVIDER_PRIMARY": "lrclib",
        "LYRSVC_SCAN_SCHEDULE": "off",
        "LYRSVC_WORK_INTERVAL": "1",
        "LYRSVCGO_WATCH_DEBOUNCE_MS": "100",
    }


def song(path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    minimal_flac(path, seconds=38, title=TITLE, artist=ARTIST)


@pytest.mark.spec("C-31")
@pytest.mark.seed("S-070", "S-071", "S-090")
@pytest.mark.parametrize("words", [("serve",), ("--serve",)])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_both_forms_serve_and_end_politely(tmp_path, environ, words, number):
    with Served(tmp_path, environ, words) as served:
        assert served.get("/healthz") == (200, b'{"status":"ok"}')
        assert served.get("/readyz")[0] == 200
        assert served.stop(number) == 0
    assert "stopped" in served.log


@pytest.mark.seed("S-027", "S-038", "S-039")
def test_an_album_dropped_into_a_watched_library_gets_its_lyrics(tmp_path, environ, upstream):
    music = tmp_path / "music"
    music.mkdir()
    with Served(tmp_path, environ | {"LYRSVCGO_WATCH_ENABLED": "true"}) as served:
        assert "watcher started" in served.log
        assert served.run("library", "add", str(music)).returncode == 0  # while it runs
        for number in range(3):
            song(music / "Album" / f"{number}.flac")
        wait_until(lambda: len(list(music.rglob("*.lrc"))) == 3, "three sidecars", limit_s=40)
        assert served.stop() == 0
    assert len([call for call in upstream.requests if call.path == "/api/get"]) <= 2  # one song
    assert " ERROR " not in served.log


def test_a_scan_of_another_process_is_worked_off(tmp_path, environ, upstream):
    song(tmp_path / "music" / "one.flac")
    with Served(tmp_path, environ) as served:
        assert served.run("library", "add", str(tmp_path / "music")).returncode == 0
        assert served.run("scan").returncode == 0
        wait_until((tmp_path / "music" / "one.lrc").exists, "the sidecar")
        wait_until(lambda: "\tdone\t" in served.run("queue", "list").stdout, "the item is done")
        assert served.stop() == 0


@pytest.mark.seed("S-031")
def test_a_scan_on_start_finds_what_came_while_nobody_looked(tmp_path, environ):
    song(tmp_path / "music" / "one.flac")
    with Served(tmp_path, environ) as served:
        served.run("library", "add", str(tmp_path / "music"))
        assert served.stop() == 0
    assert not (tmp_path / "music" / "one.lrc").exists()
    with Served(tmp_path, environ | {"LYRSVC_SCAN_SCHEDULE_ON_START": "true"}) as served:
        wait_until((tmp_path / "music" / "one.lrc").exists, "the sidecar")
        assert served.stop() == 0


@pytest.mark.seed("S-037")
def test_more_directories_than_the_cap_end_the_program(tmp_path, environ):
    for number in range(5):
        (tmp_path / "music" / str(number)).mkdir(parents=True)
    with Served(tmp_path, environ) as served:
        served.run("library", "add", str(tmp_path / "music"))
        assert served.stop() == 0
    capped = environ | {"LYRSVCGO_WATCH_ENABLED": "true", "LYRSVCGO_WATCH_MAX_DIRS": "3"}
    done = Served(tmp_path, capped).run("serve", "--listen", "127.0.0.1:0")
    assert done.returncode == 1
    assert "LYRSVCGO_WATCH_MAX_DIRS" in done.stderr


@pytest.mark.spec("E-29")
def test_a_second_service_on_one_database_is_refused_by_name(tmp_path, environ):
    with Served(tmp_path, environ) as served:
        second = served.run("serve", "--listen", "127.0.0.1:0")
        assert second.returncode == 1
        assert environ["LYRSVC_DB_PATH"] in second.stderr
        assert served.stop() == 0
