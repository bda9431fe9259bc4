"""The demo, as somebody sees it who has just installed the program."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import pytest

from lyrsvc.demo.music_folder import FOREIGN_WORDS
from lyrsvc.demo.stand_in import StandIn
from served import wait_until
from terminals import Shell

HOSTILE = {
    "LYRSVC_PROVIDER_PRIMARY": "nobody",
    "LYRSVC_API_COOLDOWN": "86400",
    "LYRSVC_SERVER_ADDR": "nonsense",
    "LYRSVC_MASTER_KEY": "short",
    "PROVIDER_TOKEN": "the-users-own-token",
}
"""Variables of a user; none of them may reach the demo."""


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


@pytest.fixture
def user(home):
    shell = Shell(home)
    shell.environ |= HOSTILE | {"LYRSVC_LOG_FILE": str(home / "log" / "x.log")}
    shell.write_config('[servr]\nx = 1\n[api]\ncooldown = "wrong"\n')
    return shell


class Running:
    """A demo in a process of its own."""

    def __init__(self, place: Path, *words: str) -> None:
        self.environ = {
            "HOME": str(place),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "TMPDIR": str(place),
            "LYRSVC_LOG_FORMAT": "json",
        }
        self._err = (place / "err.log").open("wb")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "lyrsvc", "demo", *words],
            stdout=subprocess.PIPE,
            stderr=self._err,
            env=self.environ,
            cwd=place,
        )

    @property
    def log(self) -> str:
        return Path(self._err.name).read_text("utf-8")

    def __enter__(self) -> "Running":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()
        self._err.close()

    def first_lines(self) -> dict:
        return json.loads(self.process.stdout.readline())

    def end(self, number: int = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.process.wait(timeout=12)


def files_below(place: Path) -> list[Path]:
    return [path for path in place.rglob("*") if path.is_file()]


@pytest.mark.spec("C-70")
@pytest.mark.seed("S-009")
def test_one_round_ends_as_planned_offline_and_leaves_nothing_behind(user, temporary):
    before = {path: path.read_bytes() for path in files_below(user.home)}
    begun = time.monotonic()
    done = user.run("demo", "--once", "--json")
    assert done.code == 0, done.err
    assert time.monotonic() - begun < 30
    rows = done.json
    assert len(rows) == 12
    assert all(row["as_planned"] and row["planned"] == row["outcome"] for row in rows)
    assert [row["outcome"] for row in rows].count("done synced") == 5
    assert list(temporary.iterdir()) == []
    assert {path: path.read_bytes() for path in files_below(user.home)} == before


def test_the_table_names_every_track_and_a_larger_library_can_be_had(user, temporary):
    done = user.run("demo", "--once", "--tracks", "30", "--header")
    assert done.code == 0, done.err
    assert done.lines[0].split("\t") == [
        "track", "shows", "planned", "outcome", "lane", "as_planned",
    ]  # fmt: skip
    assert len(done.lines) == 31
    assert "all 30 tracks ended as planned" in done.err


def test_a_kept_demo_can_be_run_again_and_its_foreign_sidecar_survives(user, temporary):
    place = user.home / "show"
    for _ in range(2):
        done = user.run("demo", "--once", "--dir", "show")
        assert done.code == 0, done.err
    assert str(place) in done.err
    (foreign,) = place.rglob("02 - Nine Umbrellas.lrc")
    assert foreign.read_bytes() == FOREIGN_WORDS
    assert len(list(place.rglob("*.flac"))) == 4
    assert list(temporary.iterdir()) == []


def test_a_track_that_does_not_end_as_planned_fails_the_round(user, temporary, monkeypatch):
    def sabotage(self):
        self.set_mode("miss", song="Kitchen Radio")
        return start(self)

    start = StandIn.start
    monkeypatch.setattr(StandIn, "start", sabotage)
    done = user.run("demo", "--once", "--json")
    assert done.code == 1
    wrong = [row for row in done.json if not row["as_planned"]]
    assert [(row["planned"], row["outcome"]) for row in wrong] == [
        ("done unsynced", "deferred not_found")
    ]
    assert "as_planned" in done.err
    assert list(temporary.iterdir()) == []


@pytest.mark.spec("C-71")
def test_a_music_folder_is_refused_and_not_touched(user, temporary):
    music = user.home / "music"
    music.mkdir()
    (music / "song.mp3").write_bytes(b"mine")
    before = music.stat().st_mtime_ns
    for words in (["--once"], []):
        done = user.run("demo", *words, "--dir", str(music))
        assert done.code == 1
        assert "neither empty nor the directory of an earlier demo" in done.err
    assert [path.name for path in music.iterdir()] == ["song.mp3"]
    assert music.stat().st_mtime_ns == before
    done = user.run("demo", "--once", "--dir", str(music / "song.mp3"))
    assert (done.code, "is no directory" in done.err) == (1, True)


@pytest.mark.parametrize(
    "words",
    [
        ["--once", "--provider-only"],
        ["--once", "--listen", "127.0.0.1:0"],
        ["--tracks", "0"],
        ["--tracks", "9999999"],
        ["--provider-only", "--keep"],
        ["--provider-only", "--listen", "0.0.0.0:0"],
        ["--listen", "nonsense"],
        ["--unknown"],
    ],
)
def test_flags_that_make_no_sense_are_refused(user, temporary, words):
    done = user.run("demo", *words)
    assert (done.code, done.out) == (2, "")
    assert list(temporary.iterdir()) == []


@pytest.mark.spec("C-71")
@pytest.mark.skipif(shutil.which("curl") is None, reason="not installed: curl")
def test_the_pages_answer_and_the_four_printed_commands_work_as_printed(tmp_path):
    with Running(tmp_path, "--json", "--listen", "127.0.0.1:0") as demo:
        told = demo.first_lines()
        with urllib.request.urlopen(f"{told['url']}/login", timeout=30) as page:
            assert page.status == 200
        wait_until(lambda: "every track is settled" in demo.log, "it settles", limit_s=20)
        webhook, queue, realign, config = (_sh(line, demo) for line in told["commands"])
        assert json.loads(webhook.stdout)["enqueued"] == 1
        assert "Lanterns on the Weir" in queue.stdout
        assert "upstream_error" in queue.stdout
        assert realign.stdout.startswith("would-move\texact\t")
        assert "providers.lrclib.base_url\thttp://127.0.0.1:" in config.stdout
        lyrics = Path(told["directory"], "lyrics")
        wait_until(lambda: list(lyrics.rglob("*.lrc")), "the song of the webhook")
        assert _signs_in(told)
        assert demo.end() == 0
    assert not Path(told["directory"]).exists()
    assert "the-users-own-token" not in demo.log


def test_the_guide_for_people_names_everything_whatever_the_directory_is_called(tmp_path):
    place = tmp_path / "it's here & $there"
    with Running(tmp_path, "--listen", "127.0.0.1:0", "--dir", place.name) as demo:
        lines = list(
            iter(
                lambda: demo.process.stdout.readline().decode().rstrip("\n"), "End it with Ctrl-C."
            )
        )
        assert f"Directory  {place}" in lines
        assert any(line.startswith("Sign in    demo / ") for line in lines)
        commands = [lines[at + 1] for at, line in enumerate(lines) if line.startswith("# ")]
        assert len(commands) == 4
        assert str(place / "config.toml") in _sh(commands[-1], demo).stdout
        assert demo.end(signal.SIGTERM) == 0
    assert (place / "state" / "lyrsvcgo.db").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_round_that_is_interrupted_tidies_up(tmp_path, number):
    with Running(tmp_path, "--once", "--tracks", "600") as demo:
        wait_until(lambda: list(tmp_path.glob("lyrsvc-demo-*/state/*.db")), "it has begun")
        assert demo.end(number) == 130
    assert list(tmp_path.glob("lyrsvc-demo-*")) == []


def test_two_demos_do_not_share_a_directory(tmp_path, user):
    with Running(tmp_path, "--json", "--listen", "127.0.0.1:0", "--dir", "d") as demo:
        demo.first_lines()
        config = (tmp_path / "d" / "config.toml").read_bytes()
        done = user.run("demo", "--once", "--dir", str(tmp_path / "d"))
        assert (done.code, "already served" in done.err) == (1, True)
        assert (tmp_path / "d" / "config.toml").read_bytes() == config
        assert demo.end() == 0


def test_the_stand_in_alone_prints_the_variables_to_set(tmp_path):
    with Running(tmp_path, "--provider-only") as demo:
        lines = [demo.process.stdout.readline().decode() for _ in range(5)]
        variables = dict(line.removeprefix("export ").strip().split("=", 1) for line in lines)
        url = variables["LYRSVC_LRCLIB_BASE_URL"]
        assert variables["LYRSVC_DEFAULTPROV_BASE_URL"] == url
        with urllib.request.urlopen(f"{url}/health", timeout=30) as answer:
            assert json.load(answer)["status"] == "ok"
        assert demo.end(signal.SIGTERM) == 0


def _sh(line: str, demo: Running) -> subprocess.CompletedProcess[str]:
    """Run a line as it was printed, in a plain shell somewhere else."""
    done = subprocess.run(
        ["sh", "-c", line],
        env=demo.environ,
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def _signs_in(told: dict) -> bool:
    from http.cookiejar import CookieJar
    from urllib.parse import urlencode

    jar = CookieJar()
    visitor = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    with visitor.open(f"{told['url']}/login", timeout=30) as page:
        text = page.read().decode()
    field = text.partition('name="csrf_token"')[2].partition('value="')[2].partition('"')[0]
    form = {"username": told["user"], "password": told["password"], "csrf_token": field}
    with visitor.open(f"{told['url']}/login", urlencode(form).encode(), timeout=30) as page:
        page.read()
    return any(cookie.name == "lyrsvc_session" for cookie in jar)
