"""The container's first step, run for real: as root, with few powers, as anybody, read-only."""

import os
import shutil
import time

import pytest

from small_roots import FEW_POWERS, SmallRoot, needs_root
from source_tree import ROOT

pytestmark = [needs_root, pytest.mark.needs_tool("busybox")]

WHO = ("sh", "-c", 'echo "$(id -u):$(id -g) $(umask) $HOME"; echo $(id -G)')
LYRSVC = """#!/bin/sh
# Stands for the program: offers commands, tells how it was called.
if [ "$1" = __complete ]; then
    printf '%s\\n' fetch queue serve | grep "^$2"
else
    echo "lyrsvc $* as $(id -u)"
fi
"""


@pytest.fixture
def box(tmp_path):
    box = SmallRoot(tmp_path / "root")
    shutil.copy(ROOT / "packaging" / "docker" / "entrypoint.sh", box.place / "entrypoint")
    box.write("bin/lyrsvc", LYRSVC, 0o755)
    tmp_path.chmod(0o755)
    return box


@pytest.fixture
def config(tmp_path):
    config = tmp_path / "volume"
    config.mkdir()
    return config


@pytest.fixture
def enter(box, config):
    def enter(*words, powers=(), user="", read_only=True, binds=None, **environ):
        if user:
            powers = [*powers, f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        return box.run(
            *("sh", "/entrypoint", *words),
            environ=environ,
            powers=powers,
            binds={config: "/config", **(binds or {})},
            read_only=read_only,
        )

    return enter


def owner(path) -> tuple[int, int]:
    found = path.lstat()
    return found.st_uid, found.st_gid


def put(config, owners: dict[str, tuple[int, int]]) -> None:
    for name, (user, group) in owners.items():
        path = config / name
        if name.endswith("/"):
            path.mkdir(mode=0o700)
        else:
            path.write_text("x")
            path.chmod(0o600)
        os.chown(path, user, group)


@pytest.mark.seed("S-113")
@pytest.mark.parametrize("powers", [(), FEW_POWERS], ids=["all powers", "few powers"])
def test_root_becomes_the_wanted_user_and_group(enter, config, powers) -> None:
    done = enter(*WHO, powers=powers, PUID="99", PGID="100", UMASK="002")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["99:100 0002 /config", "100"]
    assert owner(config) == (99, 100)


@pytest.mark.seed("S-113")
@pytest.mark.parametrize(
    ("environ", "shown"),
    [
        ({}, "1000:1000 0022"),
        ({"PUID": "", "PGID": "", "UMASK": ""}, "1000:1000 0022"),
        ({"PUID": "77", "PGID": "77"}, "77:77 0022"),  # an id that the image knows
        ({"PUID": "0099", "PGID": "00"}, "99:0 0022"),
        ({"PUID": "4294967294", "PGID": "65536"}, "4294967294:65536 0022"),
        ({"UMASK": "0077"}, "1000:1000 0077"),
        ({"UMASK": "2"}, "1000:1000 0002"),
    ],
)
@pytest.mark.parametrize("powers", [(), FEW_POWERS], ids=["all powers", "few powers"])
def test_any_id_works(enter, environ, shown, powers) -> None:
    done = enter(*WHO, powers=powers, **environ)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == f"{shown} /config"


def test_root_itself_may_be_wanted_and_is_warned_of(enter, config) -> None:
    done = enter(*WHO, PUID="0", PGID="0")
    assert done.stdout.startswith("0:0 0022 /config\n")
    assert done.stderr == "lyrsvc: warning: PUID is 0, the service runs as root\n"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("PUID", value) for value in ("abc", "-5", "1e3", " 1", "1.0", "4294967295", "9" * 30)),
        *(("PGID", value) for value in ("users", "$(id)", "0x10")),
        *(("UMASK", value) for value in ("abc", "99", "1777", "u=rwx", "-1", "00022")),
    ],
)
def test_what_is_no_id_or_mask_ends_the_start(enter, config, name, value) -> None:
    done = enter(*WHO, **{name: value})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"lyrsvc: {name} is ")
    assert len(done.stderr.splitlines()) == 1
    assert owner(config) == (0, 0)


def test_another_user_than_root_stays_who_it_is(enter, config) -> None:
    config.chmod(0o777)
    alone = ("--bounding-set=-all", "--no-new-privs")
    done = enter(*WHO, powers=alone, user="1234")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["1234:1234 0022 /config", "1234"]
    told = enter(*WHO, powers=alone, user="1234", PUID="99")
    assert told.stdout.startswith("1234:1234 ")
    assert told.stderr == "lyrsvc: note: started as 1234:1234, so PUID and PGID have no effect\n"
    assert enter(*WHO, powers=alone, user="1234", PUID="1234", PGID="1234").stderr == ""


@pytest.mark.parametrize("powers", [(), FEW_POWERS], ids=["all powers", "few powers"])
def test_only_what_the_service_makes_is_given_away(enter, config, powers) -> None:
    ours = [
        "config.toml",
        ".env",
        "lyrsvcgo.db",
        "lyrsvcgo.db-wal",
        "lyrsvcgo.db-shm",
        "lyrsvcgo.db.lock",
        "lyrsvcgo.db.pre-0.1.0",
        ".lyrsvcgo.key",
        "realign-backup-20260101.jsonl",
        "lyrsvc.log",
        "lyrsvc-20260131T140506123Z.log.gz",
        "tls/",
        "tls/cert.pem",
        "backups/",
        "backups/a.tar.gz",
        "lyrics/",
        "lyrics/deep/",
        "lyrics/deep/x.lrc",
    ]
    theirs = ["notes.txt", "music/", "music/a.flac", "config.toml.bak"]
    put(config, dict.fromkeys([*ours, *theirs], (555, 556)))
    done = enter("true", powers=powers, PUID="99", PGID="100")
    assert (done.returncode, done.stderr) == (0, "")
    assert {name for name in ours if owner(config / name) != (99, 100)} == set()
    assert {name for name in theirs if owner(config / name) != (555, 556)} == set()


def test_what_belongs_to_the_user_already_is_not_touched(enter, config) -> None:
    put(config, {"config.toml": (99, 100), "lyrsvcgo.db": (99, 100), "tls/": (99, 100)})
    os.chown(config, 99, 100)
    config.chmod(0o700)
    before = {path: path.stat().st_ctime_ns for path in config.iterdir()}
    for powers in ((), FEW_POWERS):
        assert enter("true", powers=powers, PUID="99", PGID="100").returncode == 0
    assert {path: path.stat().st_ctime_ns for path in config.iterdir()} == before


def test_one_foreign_file_in_a_closed_directory_is_found(enter, config) -> None:
    put(config, {"config.toml": (99, 100), "lyrsvcgo.db": (0, 0)})
    os.chown(config, 99, 100)
    config.chmod(0o700)
    assert enter("true", powers=FEW_POWERS, PUID="99", PGID="100").returncode == 0
    assert owner(config / "lyrsvcgo.db") == (99, 100)
    assert owner(config) == (99, 100)


def test_links_are_not_followed_out_of_the_directory(enter, config, box) -> None:
    (box.place / "data" / "song.flac").write_text("x")
    (config / "lyrics").symlink_to("/data")
    (config / "config.toml").symlink_to("/data/song.flac")
    assert enter("true", PUID="99", PGID="100").returncode == 0
    assert owner(box.place / "data") == owner(box.place / "data" / "song.flac") == (0, 0)
    assert owner(config / "lyrics") == (99, 100)


def test_what_is_mounted_inside_is_left_alone(enter, config, tmp_path) -> None:
    media = tmp_path / "media"
    media.mkdir()
    (media / "a.lrc").write_text("x")
    (config / "lyrics").mkdir()
    done = enter("true", PUID="99", PGID="100", binds={media: "/config/lyrics"})
    assert done.returncode == 0
    assert owner(media) == owner(media / "a.lrc") == (0, 0)


@pytest.mark.seed("S-113")
def test_ten_thousand_media_files_cost_nothing_and_keep_their_owner(enter, box) -> None:
    media = box.place / "data" / "music"
    media.mkdir()
    for number in range(10_000):
        path = media / f"{number}.flac"
        path.touch()
        os.chown(path, 4000, 4000)
    begin = time.monotonic()
    assert enter("true", PUID="99", PGID="100").returncode == 0
    assert time.monotonic() - begin < 3
    assert {owner(path) for path in media.iterdir()} == {(4000, 4000)}


def test_a_directory_nobody_may_write_ends_the_start_with_the_remedy(enter, config) -> None:
    config.chmod(0o755)
    done = enter("true", user="1234")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "lyrsvc: /config belongs to 0:0 (mode 755) and 1234:1234 cannot write there; on the host: "
        "chown 1234:1234 on the directory mounted at /config, or start with --user 0:0\n"
    )


def test_a_read_only_volume_ends_the_start_with_the_remedy(box, config) -> None:
    os.chown(config, 555, 556)
    done = box.run("sh", "/entrypoint", "true", read_only=True, environ={"PUID": "99"})
    assert done.returncode == 1
    assert "cannot write there" in done.stderr
    assert "set PUID=0 PGID=0" in done.stderr  # the box's own /config, which is root's


def test_a_volume_as_the_image_brings_it_is_closed(enter, config) -> None:
    config.chmod(0o777)
    assert enter("true", powers=FEW_POWERS, PUID="99", PGID="100").returncode == 0
    assert config.stat().st_mode & 0o7777 == 0o750


def test_an_open_directory_with_something_in_it_stays_open(enter, config) -> None:
    config.chmod(0o777)
    (config / "notes.txt").touch()
    assert enter("true", PUID="99", PGID="100").returncode == 0
    assert config.stat().st_mode & 0o7777 == 0o777


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ((), "lyrsvc serve as 1000"),
        (("lyrsvc", "serve"), "lyrsvc serve as 1000"),
        (("--version",), "lyrsvc --version as 1000"),
        (("queue", "list"), "lyrsvc queue list as 1000"),
        (("some artist,some title",), "lyrsvc some artist,some title as 1000"),
        (("echo", "a  b"), "a  b"),
        (("/bin/echo", "x"), "x"),
    ],
)
def test_commands_and_flags_go_to_the_program(enter, words, shown) -> None:
    done = enter(*words)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{shown}\n", "")


def test_the_exit_code_is_the_commands_own(enter) -> None:
    assert enter("sh", "-c", "exit 7").returncode == 7
