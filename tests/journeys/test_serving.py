"""The running service, from the outside: files in, lyrics out."""

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from builders import minimal_flac
from lyrsvc.clock import SystemClock
from lyrsvc.demo.stand_in import StandIn
from lyrsvc.store.database import Database
from served import Served, wait_until
from webhooks import body

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
@pytest.mark.seed("S-070", "S-090")
@pytest.mark.parametrize("words", [("serve",), ("--serve",)])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_both_forms_serve_and_end_politely(tmp_path, environ, words, number):
    with Served(tmp_path, environ, words) as served:
        assert served.get("/healthz") == (200, b'{"status":"ok"}\n')
        assert served.get("/readyz")[0] == 200
        assert served.stop(number) == 0
    assert "stopped" in served.log


def test_a_hang_up_opens_the_log_file_anew(tmp_path, environ):
    file, moved = tmp_path / "logs" / "l.log", tmp_path / "logs" / "rotated"
    with Served(tmp_path, {**environ, "LYRSVC_LOG_FILE": str(file)}) as served:
        process = int((tmp_path / "state" / "x.db.lock").read_text().split()[0])
        for _ in range(2):
            file.rename(moved)
            os.kill(process, signal.SIGHUP)
            wait_until(file.exists, "the file is opened anew")
        assert served.get("/healthz")[0] == 200
        assert served.stop() == 0
    assert "stopped" in file.read_text()
    assert "stopped" not in moved.read_text()


@pytest.mark.parametrize("ignored", [False, True])
def test_without_a_log_file_a_hang_up_is_a_polite_end_unless_it_is_ignored(
    tmp_path, environ, ignored
):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)
    try:
        with Served(tmp_path, environ) as served:
            if ignored:
                os.kill(
                    int((tmp_path / "state" / "x.db.lock").read_text().split()[0]), signal.SIGHUP
                )
                assert served.get("/healthz")[0] == 200
            assert served.stop(signal.SIGTERM if ignored else signal.SIGHUP) == 0
    finally:
        signal.signal(signal.SIGHUP, before)
    assert "stopped" in served.log


@pytest.mark.seed("S-071")
def test_a_database_out_of_reach_is_told_without_a_word_why(tmp_path, environ):
    with Served(tmp_path, environ) as served:
        assert served.get("/readyz") == (200, b'{"checks":{"database":"ok"},"status":"ready"}\n')
        (tmp_path / "state").rename(tmp_path / "elsewhere")
        wait_until(lambda: served.get("/readyz")[0] == 503, "the loss is noticed")
        lost = b'{"checks":{"database":"error"},"status":"unavailable"}\n'
        assert served.get("/readyz") == (503, lost)
        assert served.get("/healthz")[0] == 200


def test_a_webhook_is_not_acknowledged_once_the_database_was_deleted(tmp_path, environ):
    with Served(tmp_path, environ) as served:
        key = served.run("keys", "create", "--name", "lidarr").stdout.strip()

        def send() -> int:
            request = urllib.request.Request(
                f"http://{served.address}/api/v1/webhooks/lidarr",
                data=json.dumps(body("download_new")).encode(),
                headers={"X-API-Key": key, "Content-Type": "application/json"},
            )
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    return answer.status
            except urllib.error.HTTPError as refusal:
                with refusal:
                    return refusal.code

        assert send() < 300
        for file in (tmp_path / "state").iterdir():
            file.unlink()
        assert send() == 503


def test_a_log_file_that_cannot_be_made_is_told_of_once(tmp_path, environ):
    (tmp_path / "in the way").write_text("")
    file = tmp_path / "in the way" / "l.log"
    with Served(tmp_path, {**environ, "LYRSVC_LOG_FILE": str(file)}) as served:
        assert served.stop() == 0
    assert served.log.count("log file cannot be created") == 1


def test_a_command_beside_the_service_leaves_it_the_log_file_without_a_word(tmp_path, environ):
    environ = {**environ, "LYRSVC_LOG_FILE": str(tmp_path / "l.log")}
    (tmp_path / "music").mkdir()
    with Served(tmp_path, environ) as served:
        added = served.run("library", "add", str(tmp_path / "music"))
        assert (added.returncode, added.stderr.count("\n")) == (0, 1)
        assert "event=library.added" in added.stderr
        other = {**environ, "LYRSVC_DB_PATH": str(tmp_path / "other" / "x.db")}
        with Served(tmp_path, other) as second:  # two services with one log file are a mistake
            assert second.log.count("log file is written by another process") == 1


def test_too_few_open_files_are_raised_or_refused_with_a_remedy(tmp_path, environ):
    few = ("sh", "-c", 'ulimit -S -n 20; exec "$@"', "sh")
    with Served(tmp_path, environ, below=few) as served:
        assert served.get("/readyz")[0] == 200
        assert served.stop() == 0

    program = [sys.executable, "-m", "lyrsvc", "serve", "--listen", "127.0.0.1:0"]
    hopeless = ["sh", "-c", 'ulimit -n 20; exec "$@"', "sh", *program]
    ended = subprocess.run(
        hopeless, env=served.environ, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert "may have only 20 files open; " in ended.stderr


@pytest.mark.spec("E-56")
@pytest.mark.seed("S-027", "S-038", "S-039")
def test_an_album_dropped_into_a_watched_library_gets_its_lyrics(tmp_path, environ, upstream):
    music = tmp_path / "music"
    music.mkdir()
    with Served(tmp_path, environ | {"LYRSVCGO_WATCH_ENABLED": "true"}) as served:
        assert "watcher started" in served.log
        assert served.run("library", "add", str(music)).returncode == 0  # while it runs
        for number in range(3):
            song(music / "Album" / f"{number}.flac")
        wait_until(lambda: len(list(music.rglob("*.lrc"))) == 3, "three sidecars")
        assert served.stop() == 0
    assert len([call for call in upstream.requests if call.path == "/api/get"]) <= 2  # one song
    assert " ERROR " not in served.log


@pytest.mark.seed("S-027", "S-034")
def test_the_next_round_scans_a_library_that_was_added_meanwhile(tmp_path, environ):
    song(tmp_path / "music" / "one.flac")
    by_interval = {"LYRSVC_SCAN_SCHEDULE": "", "LYRSVC_SCAN_INTERVAL": "1"}
    with Served(tmp_path, environ | by_interval) as served:
        assert served.run("library", "add", str(tmp_path / "music")).returncode == 0
        wait_until((tmp_path / "music" / "one.lrc").exists, "the sidecar")
        song(tmp_path / "music" / "two.flac")
        wait_until((tmp_path / "music" / "two.lrc").exists, "a later round's")
        assert served.stop() == 0
    assert "watcher started" not in served.log


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


@pytest.mark.spec("E-55")
@pytest.mark.seed("S-037")
def test_more_directories_than_the_cap_end_the_program_before_it_listens(tmp_path, environ):
    for number in range(9):
        (tmp_path / "music" / str(number)).mkdir(parents=True)  # ten with the root
    with Served(tmp_path, environ) as served:
        served.run("library", "add", str(tmp_path / "music"))
        assert served.stop() == 0
    capped = environ | {"LYRSVCGO_WATCH_ENABLED": "true", "LYRSVCGO_WATCH_MAX_DIRS": "10"}
    with Served(tmp_path, capped) as served:
        assert "watcher started" in served.log
        assert served.stop() == 0
    (tmp_path / "music" / "one more").mkdir()
    done = Served(tmp_path, capped).run("serve", "--listen", "127.0.0.1:0")
    assert done.returncode == 1
    assert "LYRSVCGO_WATCH_MAX_DIRS=10" in done.stderr
    assert "listening" not in done.stderr


@pytest.mark.spec("E-58")
def test_own_writes_cause_no_scan_but_a_foreign_sidecar_does(tmp_path, environ, upstream):
    music = tmp_path / "music"
    own = [music / f"{number:03}" for number in range(100)]
    for directory in own:
        song(directory / "x.flac")
    watching = {"LYRSVCGO_WATCH_ENABLED": "true", "LYRSVC_LOG_LEVEL": "debug"}
    with Served(tmp_path, environ | watching) as served:
        served.run("library", "add", str(music))
        wait_until(lambda: len(list(music.rglob("*.lrc"))) == 100, "sidecars")
        wait_until(lambda: served.log.count("/x.lrc") >= 100, "events of our own writes")
        song(music / "late" / "x.flac")  # long after the quiet time of those events
        wait_until((music / "late" / "x.lrc").exists, "the sidecar of a file that came later")
        assert not [line for line in scanned(served) if any(f"{d} " in line for d in own)]
        (own[0] / "other.lrc").write_text("[00:01.00]somebody else's\n")
        wait_until(
            lambda: any(f"{own[0]} " in line for line in scanned(served)), "the foreign file"
        )
        assert served.stop() == 0


def scanned(served: Served) -> list[str]:
    return [line for line in served.log.splitlines() if "directory is scanned" in line]


@pytest.mark.spec("E-54")
@pytest.mark.seed("S-034")
def test_a_daily_scan_needs_its_time_and_an_interval_of_0_scans_once(tmp_path, environ):
    config = tmp_path / "c.toml"
    config.write_text("")
    served = Served(tmp_path, environ | {"LYRSVC_CONFIG": str(config), "LYRSVC_SCAN_SCHEDULE": ""})
    refused = served.run("config", "set", "server.scan_schedule.frequency", "daily")
    assert refused.returncode == 1
    assert "server.scan_schedule" in refused.stderr
    assert config.read_text() == ""
    config.write_text('[server.scan_schedule]\nfrequency = "daily"\n')
    done = served.run("serve", "--listen", "127.0.0.1:0")
    assert done.returncode == 1
    assert "also needs at (HH:MM)" in done.stderr
    config.write_text("[server]\nscan_interval_seconds = 0\n")
    song(tmp_path / "music" / "one.flac")
    served.run("library", "add", str(tmp_path / "music"))
    with served:
        wait_until((tmp_path / "music" / "one.lrc").exists, "the start scan")
        assert served.log.count("scan ended") == 1
        assert served.stop() == 0


@pytest.mark.spec("E-29")
def test_a_second_service_on_one_database_is_refused_by_name(tmp_path, environ):
    with Served(tmp_path, environ) as served:
        second = served.run("serve", "--listen", "127.0.0.1:0")
        assert second.returncode == 1
        assert environ["LYRSVC_DB_PATH"] in second.stderr
        assert served.stop() == 0


@pytest.mark.parametrize(("flag", "mode"), [("--upgrade", "upgrade"), ("--update", "update")])
def test_scheduled_scans_look_again_when_the_service_was_started_so(tmp_path, flag, mode):
    (tmp_path / "music").mkdir()
    environ = {
        "LYRSVC_PROVIDERS_PRIMARY": "lrclib",
        "LYRSVC_LRCLIB_BASE_URL": "http://127.0.0.1:9",
        "LYRSVC_SCAN_SCHEDULE": "off",
    }
    with Served(tmp_path, environ) as served:
        assert served.run("library", "add", str(tmp_path / "music")).returncode == 0
    environ |= {"LYRSVC_SCAN_SCHEDULE": "hourly", "LYRSVC_SCAN_SCHEDULE_ON_START": "true"}
    with Served(tmp_path, environ, ("serve", flag)) as served:
        (database,) = tmp_path.rglob("lyrsvcgo.db")

        def modes():
            with Database.open(database, create=False, clock=SystemClock()) as db, db.read() as tx:
                return [row["mode"] for row in tx.all("SELECT mode FROM scan_runs")]

        wait_until(modes, "a scan has begun")
        assert modes() == [mode]


@pytest.mark.parametrize("flag", ["--upgrade", "--update"])
def test_scans_in_a_row_do_not_ask_again_and_again(tmp_path, environ, upstream, flag):
    upstream.set_mode("plain")
    song(tmp_path / "music" / "one.flac")
    environ |= {"LYRSVC_SCAN_SCHEDULE": "", "LYRSVC_SCAN_INTERVAL": "1"}
    with Served(tmp_path, environ) as served:
        assert served.run("library", "add", str(tmp_path / "music")).returncode == 0
        wait_until((tmp_path / "music" / "one.txt").exists, "the plain words")
    asked = len(upstream.requests)
    with Served(tmp_path, environ, ("serve", flag)) as served:
        wait_until(lambda: served.log.count("item settled") == 1, "one look again")
        once = len(upstream.requests)
        assert once > asked
        wait_until(lambda: served.log.count("scan ended") >= 4, "more scans")
        assert served.stop() == 0
    assert len(upstream.requests) == once
    assert served.log.count("item settled") == 1
