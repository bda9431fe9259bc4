"""The image's start with the real program, over this system's root: users, modes, health, exec."""

import os

import pytest

from builders import flac_bytes
from image_roots import ImageRoot, instructions, needs_overlay
from small_roots import FEW_POWERS

LANE = {"LYRSVC_PROVIDER_PRIMARY": "lrclib", "LYRSVC_LRCLIB_BASE_URL": "http://127.0.0.1:9"}
ALONE = ("--reuid=1234", "--regid=1234", "--clear-groups", "--bounding-set=-all", "--no-new-privs")
WORDS = "first line of a song\nand another line of it\nand one more, so that it is a song"

START = """
setpriv $POWERS /usr/local/bin/entrypoint & service=$!
until_it_is ask /healthz
echo "== answer"; ask /healthz
echo "== user"; grep -E '^(Uid|Gid)' /proc/$service/status
echo "== health"; lyrsvc healthcheck; echo $?
"""
END = """
echo "== state"; find /config -printf '%f %U:%G\\n' | sort
kill -TERM $service; wait $service; echo "== code"; echo $?
"""


@pytest.fixture
def image(tmp_path):
    needs_overlay(tmp_path / "probe")
    tmp_path.chmod(0o755)
    return ImageRoot(tmp_path / "image")


def owners(told: dict[str, str]) -> dict[str, str]:
    return dict(line.rsplit(" ", 1) for line in told["state"].splitlines())


def check_well(told: dict[str, str], ids: str) -> None:
    user, group = ids.split(":")
    assert told["answer"].startswith("HTTP/1.1 200"), told["stderr"]
    status = dict(line.split(":", 1) for line in told["user"].splitlines())
    assert (status["Uid"].split(), status["Gid"].split()) == ([user] * 4, [group] * 4)
    assert told["health"] == "ok\n0"
    assert {"config", "lyrsvcgo.db"} <= set(owners(told))
    found = owners(told)
    if user == "1234":  # who is not root cannot take the directory itself
        assert found.pop("config") == "0:0"
    assert {name: owner for name, owner in found.items() if owner != ids} == {}
    assert told["code"] == "0"


@pytest.mark.seed("S-111", "S-112", "S-113")
@pytest.mark.spec("C-58")
@pytest.mark.parametrize(
    ("powers", "environ", "ids"),
    [
        (ALONE, {}, "1234:1234"),
        (FEW_POWERS, {"PUID": "1000", "PGID": "1000", "UMASK": "002"}, "1000:1000"),
        ((), {"PUID": "0", "PGID": "0"}, "0:0"),
        (FEW_POWERS, {"PUID": "1", "PGID": "1"}, "1:1"),  # an id that the system knows
    ],
    ids=["another user", "the compose file's options", "root", "a known id"],
)
def test_it_starts_and_answers_read_only_as_any_user(image, powers, environ, ids) -> None:
    check_well(image.tell(START + END, LANE | environ, powers=powers), ids)


@pytest.mark.seed("S-113", "S-128")
@pytest.mark.spec("C-57")
def test_ten_thousand_files_of_others_stay_theirs_and_sidecars_get_the_mask(image) -> None:
    album = image.data / "music" / "album"
    for number in range(3):
        pairs = [("TITLE", f"Song {number}"), ("ARTIST", "Band"), ("LYRICS", WORDS)]
        album.mkdir(parents=True, exist_ok=True)
        (album / f"{number}.flac").write_bytes(flac_bytes(pairs))
    (image.data / "covers").mkdir()
    for number in range(10_000 - 3):
        (image.data / "covers" / f"{number}.jpg").touch()
    everything = [image.data, *image.data.rglob("*")]
    for path in everything:
        os.chown(path, 4000, 100)
        if path.is_dir():
            path.chmod(0o775)
    steps = """
    { lyrsvc library add /data/music --name music; lyrsvc scan; } >&2
    has_all() { [ "$(ls /data/music/album/*.txt | wc -l)" = 3 ] && echo all; }
    until_it_is has_all
    """
    environ = {"PUID": "99", "PGID": "100", "UMASK": "002"}
    environ |= {"LYRSVC_EMBEDDED_LYRICS": "extract", "LYRSVC_WORK_INTERVAL": "1"}
    told = image.tell(START + steps + END, LANE | environ, powers=FEW_POWERS)
    check_well(told, "99:100")
    assert {(path.stat().st_uid, path.stat().st_gid) for path in everything} == {(4000, 100)}
    made = sorted(album.glob("*.txt"))
    assert [path.name for path in made] == ["0.txt", "1.txt", "2.txt"], told["stderr"]
    facts = {(p.stat().st_uid, p.stat().st_gid, p.stat().st_mode & 0o777) for p in made}
    assert facts == {(99, 100, 0o664)}


@pytest.mark.seed("S-111", "S-112")
@pytest.mark.spec("C-59")
def test_without_arguments_it_serves_and_its_health_follows_the_database(image) -> None:
    """How often Docker looks, and how often in vain, stands in the Dockerfile."""
    steps = """
    mv /config/lyrsvcgo.db /config/elsewhere
    is_ill() { lyrsvc healthcheck >/dev/null 2>&1 || echo ill; }
    until_it_is is_ill
    echo "== ready"; ask /readyz
    echo "== ill"; lyrsvc healthcheck 2>/dev/null; echo $?
    mv /config/elsewhere /config/lyrsvcgo.db
    """
    told = image.tell(START + steps + END, LANE)
    check_well(told, "1000:1000")
    assert told["ready"].startswith("HTTP/1.1 503")
    assert told["ill"].endswith("1")
    (looks,) = [rest for word, rest in instructions() if word == "HEALTHCHECK"]
    every, takes, _, times = (int(word.split("=")[1].rstrip("s")) for word in looks.split()[:4])
    assert times * (every + takes) < 120


@pytest.mark.seed("S-097")
@pytest.mark.spec("C-60")
def test_commands_run_inside_as_root_leave_nothing_of_root(image) -> None:
    steps = """
    echo "== exec"; lyrsvc keys create --name lidarr; echo $?; lyrsvc queue list --json; echo $?
    printf secret | lyrsvc secrets set provider_token >/dev/null 2>&1; echo $?
    lyrsvc config set api.cooldown 20 >/dev/null 2>&1; echo $?
    """
    environ = LANE | {"PUID": "99", "PGID": "100"}
    told = image.tell(START + steps + END, environ, powers=FEW_POWERS)
    check_well(told, "99:100")
    key, *rest = told["exec"].splitlines()
    assert len(key) > 20
    assert rest == ["0", "[]", "0", "0", "0"]
    assert {"config.toml", ".lyrsvcgo.key"} <= set(owners(told))
