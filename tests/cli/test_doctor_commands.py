import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from builders import minimal_flac
from fakes import FakeClock
from lyrsvc.demo.stand_in import StandIn
from lyrsvc.services import inotify_link, library_diagnosis
from lyrsvc.services.library_diagnosis import Watching, examine_unit, examine_watcher
from lyrsvc.store import libraries
from lyrsvc.store.database import Database
from served import Served, wait_until
from terminals import Done, Shell

TOKEN = "operator-token-4711"


@pytest.fixture
def music(shell: Shell) -> Path:
    place = shell.home / "music"
    minimal_flac(place / "a" / "x.flac", title="T", artist="A")
    return place


@pytest.fixture
def filled(shell: Shell, music: Path) -> Shell:
    """Somebody with a library and a stored token."""
    assert shell.run("library", "add", str(music)).code == 0
    assert shell.run("secrets", "set", "provider_token", stdin=TOKEN).code == 0
    return shell


def found(done: Done) -> dict[str, dict]:
    """Give the last row of each check; every bad one names a remedy."""
    rows = done.json
    assert all(row["remedy"] for row in rows if row["state"] != "ok")
    assert all(not row["remedy"] for row in rows if row["state"] == "ok")
    assert done.code == (1 if any(row["state"] == "fail" for row in rows) else 0)
    return {row["check"]: row for row in rows}


@pytest.mark.spec("C-74")
def test_a_healthy_demo_is_well(tmp_path):
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "lyrsvc"]
    words = ["demo", "--json", "--listen", "127.0.0.1:0", "--dir", str(tmp_path / "d")]
    with subprocess.Popen([*command, *words], stdout=subprocess.PIPE, env=environ) as demo:
        try:
            assert demo.stdout.readline()
            environ["LYRSVC_CONFIG"] = str(tmp_path / "d" / "config.toml")
            done = subprocess.run(
                [*command, "doctor", "--online", "--json"],
                env=environ,
                capture_output=True,
                text=True,
                check=False,
            )
        finally:
            demo.terminate()
    checks = found(Done(done.returncode, done.stdout, done.stderr))
    assert done.returncode == 0
    wrong = {name for name, row in checks.items() if row["state"] != "ok"}
    assert wrong <= {"ffmpeg"}  # which a demo does without
    expected = {
        "python", "sqlite", "settings", "database directory", "database file", "key file",
        "free space", "file system", "key", "database", "schema", "integrity", "counts",
        "secrets", "token", "library", "watcher", "classifier", "listener", "time zone",
        "lane defaultprov", "lane lrclib",
    }  # fmt: skip
    assert expected <= set(checks)
    assert checks["library"]["detail"].endswith("can be written")


def test_a_fresh_installation_only_warns(shell: Shell):
    done = shell.run("doctor", "--json")
    checks = found(done)
    assert done.code == 0
    assert checks["database"]["state"] == "warn"
    assert "lyrsvc serve" in checks["database"]["remedy"]
    assert checks["token"]["state"] == "warn"
    assert "PROVIDER_TOKEN" in checks["token"]["remedy"]
    assert not shell.database.parent.exists()  # a look makes nothing


def test_rows_are_columns_when_piped_and_a_table_on_a_terminal(filled):
    lines = filled.run("doctor", "--header").lines
    assert lines[0].split("\t") == ["check", "state", "detail", "remedy"]
    assert all(line.count("\t") == 3 for line in lines)
    assert filled.run("doctor", terminal=True).lines[0].split()[:2] == ["check", "state"]


@pytest.mark.spec("C-74")
@pytest.mark.parametrize("fix", [False, True])
def test_a_key_file_open_to_others_is_told_and_mended_on_request(filled, fix):
    key = filled.database.parent / ".lyrsvcgo.key"
    key.chmod(0o644)
    row = found(filled.run("doctor", "--json", *["--fix"] * fix))["key file"]
    if fix:
        assert row["state"] == "ok"
        assert key.stat().st_mode & 0o777 == 0o600
    else:
        assert row["state"] == "warn"
        assert f"chmod 600 {key}" in row["remedy"]
        assert key.stat().st_mode & 0o777 == 0o644


@pytest.mark.spec("C-74")
def test_a_wrong_key_fails_with_the_remedy(filled):
    key = filled.database.parent / ".lyrsvcgo.key"
    key.write_bytes(b"x" * 32)
    row = found(filled.run("doctor", "--json"))["secrets"]
    assert row["state"] == "fail"
    assert "another key" in row["detail"]
    assert "secrets set provider_token" in row["remedy"]
    key.write_bytes(b"x" * 31)
    row = found(filled.run("doctor", "--json"))["key"]
    assert (row["state"], "31 bytes" in row["detail"]) == ("fail", True)
    key.unlink()
    row = found(filled.run("doctor", "--json"))["secrets"]
    assert (row["state"], "key is gone" in row["detail"]) == ("fail", True)
    assert not key.exists()


@pytest.mark.spec("C-74")
def test_an_unwritable_library_fails_and_no_probe_stays(filled, music):
    assert found(filled.run("doctor", "--json"))["library"]["state"] == "ok"
    assert sorted(path.name for path in music.iterdir()) == ["a"]
    if os.geteuid() == 0:
        pytest.skip("root can write anywhere; see the next test")
    music.chmod(0o555)
    row = found(filled.run("doctor", "--json"))["library"]
    music.chmod(0o755)
    assert (row["state"], "cannot write" in row["detail"]) == ("fail", True)


@pytest.mark.spec("C-74")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("docker", [False, True])
def test_root_looks_with_the_eyes_of_the_owner_of_the_database(filled, docker):
    filled.run("doctor", "--json")  # all imports done before the fork
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        top.chmod(0o755)
        music, state = top / "music", top / "state"
        music.mkdir(mode=0o755)
        (music / "x").touch()
        state.mkdir()
        with Database.open(state / "x.db", create=True, clock=FakeClock()) as db:
            now = FakeClock().now()
            db.write(lambda tx: libraries.add(tx, name="m", path=music, now=now))
        for path in (state, *state.iterdir()):
            os.chown(path, 1234, 1234)
        filled.environ["LYRSVC_DB_PATH"] = str(state / "x.db")
        filled.environ["LYRSVC_CONFIG"] = ""
        out = top / "out"
        out.touch()
        out.chmod(0o666)
        child = os.fork()
        if child == 0:
            from lyrsvc.services.library_diagnosis import examine_libraries

            if docker:
                os.setgid(1234)
                os.setuid(1234)
                opened = Database.open(state / "x.db", create=False, clock=FakeClock())
                with opened, opened.read() as tx:
                    every = libraries.all_libraries(tx)
                (row,) = examine_libraries(every, in_container=True)
                out.write_text(f"library\t{row.state}\t{row.detail}\t{row.remedy}\n")
                os._exit(1)
            done = filled.run("doctor")
            out.write_text(done.out)
            os._exit(done.code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
        rows = [line.split("\t") for line in out.read_text().splitlines()]
        (row,) = [row for row in rows if row[0] == "library"]
        assert row[1] == "fail"
        assert f"cannot write in {music}: permission denied" in row[2]
        assert ("PUID=0" in row[3]) == docker
        assert [path.name for path in music.iterdir()] == ["x"]


def test_a_missing_and_an_empty_library_are_told(filled, music):
    (music / "a" / "x.flac").unlink()
    (music / "a").rmdir()
    assert found(filled.run("doctor", "--json"))["library"]["state"] == "warn"
    music.rmdir()
    row = found(filled.run("doctor", "--json"))["library"]
    assert (row["state"], "--path" in row["remedy"]) == ("fail", True)


@pytest.mark.spec("C-74")
def test_a_small_inotify_limit_is_told_with_both_numbers(filled, music, tmp_path, monkeypatch):
    for number in range(9):
        (music / str(number)).mkdir()
    limit = tmp_path / "limit"
    limit.write_text("5\n")
    monkeypatch.setattr(inotify_link, "LIMIT_FILE", limit)
    on = {"LYRSVCGO_WATCH_ENABLED": "true"}
    row = found(filled.run("doctor", "--json", environ=on))["watcher"]
    assert row["state"] == "warn"
    assert row["detail"] == "watcher needs 11 watches, the system allows 5 per user"
    assert "fs.inotify.max_user_watches" in row["remedy"]
    capped = {**on, "LYRSVCGO_WATCH_MAX_DIRS": "3"}
    row = found(filled.run("doctor", "--json", environ=capped))["watcher"]
    assert (row["state"], "LYRSVCGO_WATCH_MAX_DIRS" in row["remedy"]) == ("fail", True)
    assert found(filled.run("doctor", "--json"))["watcher"]["state"] == "ok"  # it is off


def test_wrong_settings_are_rows_and_not_the_end(filled):
    filled.write_config('[api]\ncooldwn = 3\ncooldown = "x"\n[server]\naddr = "nonsense"\n')
    done = filled.run("doctor", "--json")
    rows = [row for row in done.json if row["check"] == "settings"]
    assert done.code == 1
    assert sorted(row["state"] for row in rows) == ["fail", "fail", "warn"]
    assert any("cooldown" in row["remedy"] for row in rows if row["state"] == "warn")
    assert all(row["remedy"] for row in rows)


def test_wrong_counts_are_corrected_and_told(filled):
    assert filled.run("scan").code == 0
    with Database.open(filled.database, create=False, clock=FakeClock()) as db:
        db.write(lambda tx: tx.run("UPDATE counts SET n = 77 WHERE name = 'status.pending'"))
    done = filled.run("doctor", "--json")
    assert found(done)["counts"]["state"] == "warn"
    assert "ERROR" in done.err
    assert found(filled.run("doctor", "--json"))["counts"]["state"] == "ok"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_directory_that_may_not_be_entered_is_told_in_words_and_no_check_is_left_out(filled):
    usual = found(filled.run("doctor", "--json"))  # all imports done before the fork
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        top.chmod(0o777)
        (top / "closed" / "state").mkdir(parents=True)
        (top / "closed").chmod(0o700)
        filled.environ |= {"HOME": name, "LYRSVC_CONFIG": ""}
        filled.environ["LYRSVC_DB_PATH"] = str(top / "closed" / "state" / "x.db")
        child = os.fork()
        if child == 0:
            os.setgid(1234)
            os.setuid(1234)
            done = filled.run("doctor", "--json")
            (top / "out").write_text(done.out)
            os._exit(done.code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
        rows = {row["check"]: row for row in json.loads((top / "out").read_text())}
    assert not [row for row in rows.values() if "Errno" in row["detail"]]
    for check in ("database directory", "database file", "key file", "key", "database"):
        assert rows[check]["state"] == "fail"
        assert "permission denied" in rows[check]["detail"]
        assert rows[check]["remedy"]
    assert {"token", "classifier", "listener", "time zone"} <= rows.keys() & usual.keys()


@pytest.mark.parametrize("harm", ["foreign", "newer", "older", "changed", "torn"])
def test_a_database_that_cannot_be_used_is_told(filled, harm):
    if harm == "foreign":
        filled.database.write_text("no database at all, but long enough to look like a file")
    elif harm == "torn":
        data = bytearray(filled.database.read_bytes())
        data[4096 * 3 : 4096 * 40] = os.urandom(4096 * 37)
        filled.database.write_bytes(data)
    else:
        changes = {
            "newer": "UPDATE schema_migrations SET version = version + 998",
            "older": "DELETE FROM schema_migrations "
            "WHERE version = (SELECT max(version) FROM schema_migrations)",
            "changed": "UPDATE schema_migrations SET sha256 = 'another'",
        }
        with Database.open(filled.database, create=False, clock=FakeClock()) as db:
            db.write(lambda tx: tx.run(changes[harm]))
    checks = found(filled.run("doctor", "--json"))
    if harm == "older":
        assert checks["schema"]["state"] == "warn"
    elif harm == "torn":
        assert "fail" in {row["state"] for row in checks.values()}
    else:
        assert checks["database"]["state"] == "fail"
    assert "listener" in checks  # the others are looked at all the same


def test_missing_directories_are_made_on_request_only(shell: Shell):
    log = shell.home / "logs" / "x.log"
    environ = {"LYRSVC_LOG_FILE": str(log)}
    assert found(shell.run("doctor", "--json"))["database directory"]["state"] == "warn"
    assert not shell.database.parent.exists()
    assert found(shell.run("doctor", "--json", "--fix"))["database directory"]["state"] == "ok"
    assert shell.database.parent.stat().st_mode & 0o777 == 0o750
    assert not shell.database.exists()
    assert found(shell.run("doctor", "--json", environ=environ))["log directory"]["state"] == "ok"


def test_a_settings_file_with_a_secret_is_closed_on_request(filled):
    filled.write_config(f'[api]\ntoken = "{TOKEN}"\n').chmod(0o644)
    row = found(filled.run("doctor", "--json"))["settings file"]
    assert (row["state"], "chmod 600" in row["remedy"]) == ("warn", True)
    done = filled.run("doctor", "--json", "--fix")
    assert found(done)["settings file"]["state"] == "ok"
    assert filled.config.stat().st_mode & 0o777 == 0o600
    assert TOKEN not in done.out + done.err


def test_lanes_are_asked_only_online_and_once_each(filled):
    with StandIn() as upstream:
        environ = {
            "LYRSVC_DEFAULTPROV_BASE_URL": upstream.url,
            "LYRSVC_LRCLIB_BASE_URL": upstream.url,
            "LYRSVC_LRCLIB_COOLDOWN_SECONDS": "0",
            "LYRSVC_API_COOLDOWN": "0",
            "LYRSVC_PROVIDERS_FALLBACK_ORDER": "lrclib",
        }
        filled.run("doctor", environ=environ)
        assert upstream.requests == ()
        checks = found(filled.run("doctor", "--online", "--json", environ=environ))
        assert {checks[f"lane {name}"]["state"] for name in ("defaultprov", "lrclib")} == {"ok"}
        assert len(upstream.calls("macro.subtitles.get")) == 1
        upstream.set_mode("error500")
        checks = found(filled.run("doctor", "--online", "--json", environ=environ))
        assert checks["lane lrclib"]["state"] == "fail"


def test_the_listener_is_asked_and_a_deaf_one_fails(tmp_path):
    environ = {
        "LYRSVC_DB_PATH": str(tmp_path / "x.db"),
        "LYRSVC_SCAN_SCHEDULE": "off",
        "LYRSVC_PROVIDER_PRIMARY": "lrclib",
        "LYRSVC_LRCLIB_BASE_URL": "http://127.0.0.1:9",
    }
    with Served(tmp_path, environ) as served:

        def listener() -> tuple[str, str, str, str]:
            lines = served.run("doctor").stdout.splitlines()
            return next(tuple(line.split("\t")) for line in lines if line.startswith("listener"))

        served.environ["LYRSVC_SERVER_ADDR"] = served.address
        assert listener()[1] == "ok"
        own = served.environ["LYRSVC_DB_PATH"]
        served.environ["LYRSVC_DB_PATH"] = str(tmp_path / "other.db")
        assert (listener()[1], "another database" in listener()[2]) == ("warn", True)
        served.environ |= {"LYRSVC_DB_PATH": own, "LYRSVC_SERVER_ADDR": "127.0.0.1:9"}
        assert listener()[1:3] == ("ok", f"http://{served.address} answers")
        process = int((tmp_path / "x.db.lock").read_text().split()[0])
        os.kill(process, signal.SIGSTOP)
        assert listener()[1] == "fail"
        os.kill(process, signal.SIGCONT)
        assert served.stop() == 0
        wait_until(lambda: listener()[1] == "warn", "it is not running any more")


def test_a_classifier_alone_is_said_to_switch_nothing_on(shell: Shell):
    with StandIn() as stand_in:
        told = {}
        for enabled in ("true", "false"):
            shell.environ["LYRSVC_INSTRUMENTAL_DETECTOR_CLASSIFIER_URL"] = stand_in.url
            shell.environ["LYRSVC_INSTRUMENTAL_DETECTOR_ENABLED"] = enabled
            row = found(shell.run("doctor", "--json"))["classifier"]
            assert row["state"] == "ok"
            told[enabled] = "only libraries and scans that wish it" in row["detail"]
    assert told == {"true": False, "false": True}


def test_an_unknown_zone_is_told(shell: Shell):
    row = found(shell.run("doctor", "--json", environ={"TZ": "Mars/Olympus"}))["time zone"]
    assert (row["state"], "Mars/Olympus" in row["detail"]) == ("warn", True)
    assert found(shell.run("doctor", "--json", environ={"TZ": "Europe/Oslo"}))["time zone"][
        "detail"
    ].startswith("Europe/Oslo")


def test_a_zone_may_be_named_by_its_path(shell: Shell):
    path = "/usr/share/zoneinfo/Asia/Tokyo"
    row = found(shell.run("doctor", "--json", environ={"TZ": path}))["time zone"]
    assert (row["state"], row["detail"].startswith("Asia/Tokyo (")) == ("ok", True)


# -- the packaged unit --------------------------------------------------------------------------


@pytest.fixture
def library(tmp_path):
    with Database.open(tmp_path / "x.db", create=True, clock=FakeClock()) as db:
        now = FakeClock().now()
        return db.write(lambda tx: libraries.add(tx, name="m", path=Path("/srv/music"), now=now))


def test_a_unit_that_keeps_a_library_read_only_is_told_with_the_drop_in(tmp_path, library):
    database = Path("/var/lib/lyrsvcgo-svc/lyrsvcgo.db")
    units = tmp_path / "units"
    units.mkdir()
    assert list(examine_unit([library], database, places=[units])) == []  # no unit here
    unit = units / library_diagnosis.UNIT
    unit.write_text("[Service]\nReadWritePaths=/var/lib/lyrsvcgo-svc\n")
    (row,) = examine_unit([library], database, places=[units])
    assert row.state == "warn"
    assert "ReadWritePaths=/srv/music" in row.remedy
    assert "media-write.conf" in row.remedy
    drop_in = units / f"{unit.name}.d" / "media-write.conf"
    drop_in.parent.mkdir()
    drop_in.write_text("[Service]\nReadWritePaths=/mnt -/srv\n")
    (row,) = examine_unit([library], database, places=[units])
    assert row.state == "ok"
    assert list(examine_unit([library], Path("/home/x/x.db"), places=[units])) == []


def test_links_and_hidden_directories_are_not_counted(tmp_path, library):
    from dataclasses import replace

    root = tmp_path / "music"
    (root / "a" / "b").mkdir(parents=True)
    (root / ".hidden").mkdir()
    (root / "link").symlink_to(root)
    watching = Watching(enabled=True, max_dirs=3, depth=100, limit=3)
    (row,) = examine_watcher([replace(library, path=root)], watching)
    assert (row.state, row.detail.startswith("3 directories")) == ("ok", True)
