import json
import os
import shutil
import tarfile
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest

from builders import minimal_flac
from fakes import FakeClock
from lyrsvc.store.database import Database
from lyrsvc.store.serve_lock import ServeLock
from pems import make_pair
from terminals import Shell

TOKEN = "operator-token-4711"


@pytest.fixture
def filled(shell: Shell) -> Shell:
    """Somebody with a library, a secret and a settings file."""
    music = shell.home / "music"
    minimal_flac(music / "x.flac", title="T", artist="A")
    assert shell.run("library", "add", str(music)).code == 0
    assert shell.run("scan").code == 0
    assert shell.run("secrets", "set", "provider_token", stdin=TOKEN).code == 0
    shell.write_config("[api]\ncooldown = 7\n").chmod(0o600)
    return shell


def members(path: str) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        return {one.name: archive.extractfile(one).read() for one in archive}


def titles(path: Path) -> list[str]:
    with Database.open(path, create=False, clock=FakeClock()) as db, db.read() as tx:
        return [row["title"] for row in tx.all("SELECT title FROM work_items")]


def events(path: Path) -> list[str]:
    with Database.open(path, create=False, clock=FakeClock()) as db, db.read() as tx:
        return [row["event"] for row in tx.all("SELECT event FROM audit_log ORDER BY id")]


# -- making one ---------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["backup"], ["backup", "create"]])
def test_a_backup_holds_database_settings_and_checksums_but_no_key(filled, words):
    done = filled.run(*words)
    assert done.code == 0, done.err
    path, size = done.lines[0].split("\t")
    assert Path(path).parent == filled.database.parent / "backups"
    assert Path(path).stat().st_mode & 0o777 == 0o600
    assert int(size) == Path(path).stat().st_size
    held = members(path)
    assert set(held) == {"manifest.json", "database.db", "config.toml"}
    assert held["config.toml"] == filled.config.read_bytes()
    listed = json.loads(held["manifest.json"])
    assert {row["role"] for row in listed["files"]} == {"database", "config"}
    assert all(len(row["sha256"]) == 64 for row in listed["files"])
    assert "key of the stored secrets is not in it" in done.err
    assert events(filled.database)[-1] == "backup.created"
    assert f"path={path}" in done.err
    assert TOKEN.encode() not in b"".join(held.values())
    assert [one.name for one in Path(path).parent.iterdir()] == [Path(path).name]


def test_the_key_goes_in_only_on_request_and_with_a_warning(filled):
    done = filled.run("backup", "--include-key", "--json", "-o", "x.tar.gz")
    assert done.code == 0
    assert done.json["path"] == str(filled.home / "x.tar.gz")
    assert done.json["files"] == ["database", "config", "key"]
    assert "WARN" in done.err
    assert "whoever has it can read them all" in done.err
    key = (filled.database.parent / ".lyrsvcgo.key").read_bytes()
    assert members(done.json["path"])["master.key"] == key


def test_a_key_from_the_environment_is_never_in_it(filled):
    given = {"LYRSVC_MASTER_KEY": "A" * 43 + "="}
    done = filled.run("backup", "--include-key", "--json", environ=given)
    assert (done.code, done.json["files"]) == (0, ["database", "config"])
    assert "LYRSVC_MASTER_KEY" in done.err


def test_certificates_go_in_the_operators_and_our_own(filled):
    pair = make_pair(filled.home / "pem")
    own = filled.database.parent / "tls"
    make_pair(own)
    environ = {
        "LYRSVC_TLS_CERT_FILE": str(pair.certificate),
        "LYRSVC_TLS_KEY_FILE": str(pair.key),
    }
    done = filled.run("backup", "--json", environ=environ)
    held = members(done.json["path"])
    assert held["tls/cert.pem"] == pair.certificate.read_bytes()
    assert held["self-signed/key.pem"] == (own / "key.pem").read_bytes()
    for path in (pair.certificate, own / "key.pem"):
        path.write_text("lost")
    file = done.json["path"]
    done = filled.run("backup", "restore", file, "--yes", "--json")
    assert "tls/cert.pem stays in the archive" in done.err  # no setting names a place for it
    assert (own / "key.pem").read_bytes() == held["self-signed/key.pem"]
    assert pair.certificate.read_text() == "lost"
    assert filled.run("backup", "restore", file, "--yes", environ=environ).code == 0
    assert pair.certificate.read_bytes() == held["tls/cert.pem"]
    assert (own / "key.pem").stat().st_mode & 0o777 == 0o600


def test_a_pipe_is_no_place_for_a_backup(filled):
    done = filled.run("backup", "-o", "-")
    assert (done.code, done.out) == (2, "")
    assert "not written to stdout; name a file" in done.err
    assert not (filled.home / "-").exists()


def test_nothing_is_overwritten_and_a_directory_gets_the_usual_name(filled):
    target = filled.home / "mine.tar.gz"
    target.write_bytes(b"mine")
    done = filled.run("backup", "-o", str(target))
    assert (done.code, done.out) == (1, "")
    assert "is there already; it is not replaced" in done.err
    assert target.read_bytes() == b"mine"
    filled.clock = FakeClock()
    (filled.home / "there").mkdir()
    names = [
        Path(filled.run("backup", "-o", place, "--json").json["path"]).name
        for place in ("there", "there/", "new/")
    ]
    assert names == [
        "lyrsvc-20260131T140506Z.tar.gz",
        "lyrsvc-20260131T140506Z-2.tar.gz",
        "lyrsvc-20260131T140506Z.tar.gz",
    ]


def test_only_the_newest_are_kept_and_only_ours_go(filled):
    clock = filled.clock = FakeClock()
    place = filled.database.parent / "backups"
    place.mkdir()
    strangers = ["notes.txt", "lyrsvc-mine.tar.gz", "other-20200101T000000Z.tar.gz"]
    for name in strangers:
        (place / name).write_text("x")
    for _ in range(4):
        assert filled.run("backup", "--keep", "2").code == 0
        clock.moment += timedelta(days=1)
    ours = {one.name for one in place.iterdir()} - set(strangers)
    assert ours == {"lyrsvc-20260202T140506Z.tar.gz", "lyrsvc-20260203T140506Z.tar.gz"}
    assert all((place / name).exists() for name in strangers)


@pytest.mark.parametrize("words", [["--keep", "0"], ["--keep", "x"], ["-o", "f", "--keep", "2"]])
def test_a_senseless_number_to_keep_is_refused(filled, words):
    done = filled.run("backup", *words)
    assert done.code == 2
    assert not (filled.home / "f").exists()


def test_without_a_database_there_is_nothing_to_save(shell):
    done = shell.run("backup")
    assert done.code == 1
    assert "there is nothing to save" in done.err
    assert not shell.database.exists()


def test_a_damaged_database_gives_no_backup(filled):
    data = bytearray(filled.database.read_bytes())
    page = 4096
    data[page * 3 : page * 30] = os.urandom(page * 27)
    filled.database.write_bytes(data)
    done = filled.run("backup", "-o", "x.tar.gz")
    assert done.code == 1
    assert "damaged" in done.err
    assert not list(filled.home.glob("*.tar.gz"))
    assert not list(filled.home.glob(".lyrsvc-*"))


def test_what_a_killed_backup_left_behind_is_removed_by_the_next(filled):
    place = filled.database.parent / "backups"
    place.mkdir()
    stale = place / ".lyrsvc-0123abcd.tmp"
    stale.write_bytes(b"half")
    os.utime(stale, (1, 1))
    assert filled.run("backup").code == 0
    assert not stale.exists()


def test_progress_is_shown_on_a_terminal(filled):
    done = filled.run("backup", watched=True)
    assert done.code == 0
    assert "0 MiB  copying" in done.err
    assert "copying" not in filled.run("backup", "--json", watched=True).err


# -- bringing it back ---------------------------------------------------------------------------


def test_without_yes_it_only_says_what_would_be_replaced(filled):
    file = filled.run("backup", "--json").json["path"]
    before = filled.database.read_bytes()
    done = filled.run("backup", "restore", file)
    assert done.code == 0
    assert done.lines == [
        f"database\twould-replace\t{filled.database}\t{filled.database}.before-restore"
    ]  # the settings are the same
    assert "add --yes" in done.err
    assert filled.database.read_bytes() == before


def test_a_restore_keeps_the_old_files_beside_the_new(filled):
    file = filled.run("backup", "--json", "-o", "x.tar.gz").json["path"]
    assert titles(filled.database) == ["T"]
    assert filled.run("library", "remove", "music", "--yes").code == 0
    filled.config.write_text("[api]\ncooldown = 99\n")
    done = filled.run("backup", "restore", file, "--yes", "--json")
    assert done.code == 0, done.err
    assert {row["file"]: row["action"] for row in done.json} == {
        "database": "replaced",
        "config": "replaced",
    }
    assert titles(filled.database) == ["T"]
    assert titles(Path(f"{filled.database}.before-restore")) == []
    assert filled.run("config", "get", "api.cooldown").out == "7\n"
    assert "99" in Path(f"{filled.config}.before-restore").read_text()
    assert filled.config.stat().st_mode & 0o777 == 0o600
    assert events(filled.database)[-1] == "backup.restored"
    filled.config.write_text("")
    assert filled.run("backup", "restore", file, "--yes").code == 0  # and the first stays
    assert Path(f"{filled.database}.2.before-restore").exists()
    assert "99" in Path(f"{filled.config}.before-restore").read_text()
    assert Path(f"{filled.config}.2.before-restore").read_text() == ""


def test_the_log_of_a_killed_service_goes_with_its_database(filled):
    file = filled.run("backup", "--json", "-o", "x.tar.gz").json["path"]
    wal = Path(f"{filled.database}-wal")
    with Database.open(filled.database, create=False, clock=FakeClock()) as db:
        db.write(lambda tx: tx.run("UPDATE work_items SET title = 'only in the log'"))
        copies = {path: path.read_bytes() for path in (filled.database, wal)}
    for path, data in copies.items():  # as a kill leaves them
        path.write_bytes(data)
    assert filled.run("backup", "restore", file, "--yes").code == 0
    assert titles(filled.database) == ["T"]
    assert titles(Path(f"{filled.database}.before-restore")) == ["only in the log"]


def test_a_running_service_is_never_restored_under(filled):
    file = filled.run("backup", "--json").json["path"]
    before = filled.database.read_bytes()
    with ServeLock(filled.database):
        done = filled.run("backup", "restore", file, "--yes")
        shown = filled.run("backup", "restore", file)
    assert (done.code, done.out) == (1, "")
    assert "already served by process" in done.err
    assert "stop it first" in done.err
    assert shown.code == 0
    assert "stop it before" in shown.err
    assert filled.database.read_bytes() == before
    assert not list(filled.database.parent.glob("*.before-restore*"))


def test_elsewhere_everything_is_made_and_the_key_opens_the_secrets(filled, tmp_path):
    file = filled.run("backup", "--json", "--include-key").json["path"]
    other = Shell(tmp_path / "other")
    other.home.mkdir()
    done = other.run("backup", "restore", file, "--yes", "--json")
    assert done.code == 0, done.err
    assert {row["action"] for row in done.json} == {"created"}
    assert titles(other.database) == ["T"]
    assert (other.database.parent / ".lyrsvcgo.key").stat().st_mode & 0o777 == 0o600
    assert other.config.read_bytes() == filled.config.read_bytes()
    assert "WARN" not in done.err
    found = {row["check"]: row["state"] for row in other.run("doctor", "--json").json}
    assert found["secrets"] == "ok"


def test_a_lost_key_is_told_with_the_remedy(filled, tmp_path):
    file = filled.run("backup", "--json").json["path"]
    other = Shell(tmp_path / "other")
    other.home.mkdir()
    done = other.run("backup", "restore", file, "--yes")
    assert done.code == 0
    assert "does not open the stored provider_token" in done.err
    assert "lyrsvc secrets set" in done.err


def test_settings_that_name_another_database_are_told(filled, tmp_path):
    filled.write_config(f'[db]\npath = "{filled.database}"\n')
    file = filled.run("backup", "--json").json["path"]
    before = filled.database.read_bytes()
    place = tmp_path / "other" / "y.db"
    config = tmp_path / "other" / "c.toml"
    done = filled.run(
        "backup", "restore", file, "--yes", "--config", str(config), "--db", str(place)
    )
    assert done.code == 0, done.err
    assert titles(place) == ["T"]
    assert filled.database.read_bytes() == before  # the one the settings name is not touched
    (tmp_path / "third").mkdir()
    third = {"LYRSVC_CONFIG": str(tmp_path / "third" / "c.toml"), "HOME": str(tmp_path / "third")}
    done = filled.run("backup", "restore", file, "--yes", environ=third)
    assert "name another database" in done.err
    assert filled.database.read_bytes() == before


@pytest.mark.parametrize("harm", ["cut", "flip", "foreign", "missing"])
def test_a_bad_archive_changes_nothing(filled, harm):
    file = Path(filled.run("backup", "--json", "-o", "x.tar.gz").json["path"])
    whole = file.read_bytes()
    if harm == "cut":
        file.write_bytes(whole[: len(whole) // 2])
    elif harm == "flip":
        file.write_bytes(whole[:3000] + bytes((whole[3000] ^ 1,)) + whole[3001:])
    elif harm == "foreign":
        file.write_text("not a backup")
    else:
        file.unlink()
    before = {path: path.read_bytes() for path in filled.home.rglob("*") if path.is_file()}
    for words in ([], ["--yes"]):
        done = filled.run("backup", "restore", str(file), *words)
        assert (done.code, done.out) == (1, "")
        assert "Traceback" not in done.err
    now = {path: path.read_bytes() for path in filled.home.rglob("*") if path.is_file()}
    assert {path for path in now if path.suffix not in (".lock",)} >= set(before)
    assert all(now[path] == data for path, data in before.items())


def test_an_archive_with_a_newer_database_is_refused(filled, tmp_path):
    newer = tmp_path / "newer.db"
    with Database.open(newer, create=True, clock=FakeClock()) as db:
        db.write(lambda tx: tx.run("UPDATE schema_migrations SET version = 999 WHERE version = 1"))
    elsewhere = tmp_path / "n" / "x.db"
    elsewhere.parent.mkdir()
    shutil.copyfile(newer, elsewhere)
    done = filled.run("backup", "--db", str(elsewhere), "-o", str(tmp_path / "n.tar.gz"))
    assert done.code == 1
    assert "schema 999 is newer than this program" in done.err


def test_restore_works_although_the_settings_are_broken(filled):
    file = filled.run("backup", "--json", "-o", "x.tar.gz").json["path"]
    filled.config.write_text("[api\n")
    assert filled.run("queue", "list").code == 1
    done = filled.run("backup", "restore", file, "--yes")
    assert done.code == 0, done.err
    assert filled.run("queue", "list").code == 0


def test_a_failure_halfway_puts_everything_back(filled, monkeypatch):
    from lyrsvc.core.errors import FileFault
    from lyrsvc.services import restoring

    file = filled.run("backup", "--json", "-o", "x.tar.gz").json["path"]
    filled.config.write_text("[api]\ncooldown = 99\n")
    before = {path: path.read_bytes() for path in filled.home.rglob("*") if path.is_file()}
    exchange = restoring._exchange

    def stumble(step, staged, done):
        exchange(step, staged, done)
        if step.role == "config":
            raise FileFault("disk_full", "cannot write: no space left; free some")

    monkeypatch.setattr(restoring, "_exchange", stumble)
    assert filled.run("backup", "restore", file, "--yes").code == 1
    now = {path: path.read_bytes() for path in filled.home.rglob("*") if path.is_file()}
    assert {p: d for p, d in now.items() if p.suffix != ".lock"} == before


@pytest.mark.spec("C-12")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_root_leaves_no_file_of_root_in_a_directory_of_another(filled):
    filled.run("backup", "-o", "warm.tar.gz")  # all imports done before the forks
    filled.run("backup", "restore", "warm.tar.gz", "--yes")
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as outside:
        directory = Path(name)
        shutil.copyfile(filled.database, directory / "x.db")
        (directory / "c.toml").write_text("[api]\ncooldown = 7\n")
        for path in (directory, *directory.iterdir()):
            os.chown(path, 1234, 1234)
        filled.environ["LYRSVC_DB_PATH"] = str(directory / "x.db")
        filled.environ["LYRSVC_CONFIG"] = str(directory / "c.toml")
        file = f"{outside}/mine.tar.gz"
        lines = (["-o", file], [], ["restore", file, "--yes"])
        for words in lines:
            child = os.fork()
            if child == 0:
                os._exit(filled.run("backup", *words).code)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert len(list(directory.glob("backups/*.tar.gz"))) == 1
        assert {path.stat().st_uid for path in directory.rglob("*")} == {1234}
        assert Path(file).stat().st_uid == 0
        assert events(directory / "x.db")[-1] == "backup.restored"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_root_keeps_only_the_newest_where_only_root_may_write(filled):
    filled.run("backup", "-o", "warm.tar.gz")
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as outside:
        shutil.copyfile(filled.database, Path(name) / "x.db")
        for path in (Path(name), Path(name) / "x.db"):
            os.chown(path, 1234, 1234)
        filled.environ["LYRSVC_DB_PATH"] = str(Path(name) / "x.db")
        for _ in range(3):
            child = os.fork()
            if child == 0:
                os._exit(filled.run("backup", "-o", outside, "--keep", "1").code)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert len(list(Path(outside).iterdir())) == 1
        assert events(Path(name) / "x.db")[-3:] == ["backup.created"] * 3


def test_where_there_is_nothing_to_save_nothing_is_made(shell: Shell):
    assert shell.run("backup").code == 1
    assert shell.run("backup", "-o", "sub/b.tar.gz").code == 1
    assert list(shell.home.iterdir()) == []


# -- completion ---------------------------------------------------------------------------------


def test_the_words_are_completed(shell: Shell):
    from lyrsvc.cli.completing import answer

    def at(*words: str) -> list[str]:
        return answer(list(words), shell.environ, str(shell.home)).splitlines()

    assert at("backup", "") == ["create", "restore"]
    assert "--include-key" in at("backup", "create", "--")
    assert "--include-key" in at("backup", "--")
    assert at("backup", "restore", "") == []
    assert at("docto") == ["doctor"]
    assert "--once" in at("demo", "--o")
