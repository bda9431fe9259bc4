"""The example of a provider is a package that works, installed as anybody would install it."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from builders import minimal_flac
from source_tree import ROOT

EXAMPLE = ROOT / "examples" / "lyrsvc-provider-example"
SONG = {
    "artist": "The Quiet Ferrymen",
    "title": "Slow Ferry",
    "seconds": 200,
    "synced": "[00:02.10]Nobody hurries on the slow ferry\n[00:05.60]the gulls have time\n"
    "[00:09.20]and so have we",
}
IMPATIENT = """
import sys
from lyrsvc import clock

class Impatient(clock.SystemClock):
    ahead_s = 0.0

    def monotonic(self):
        return super().monotonic() + self.ahead_s

    def wait(self, seconds):
        self.ahead_s += seconds
        return False

clock.SystemClock = Impatient
from lyrsvc.cli.main import run
sys.exit(run())
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """Install the example beside nothing else, from this machine alone."""
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    command += ["--no-build-isolation", "--target", str(place), str(EXAMPLE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return place


class Home:
    """A home where the example is installed and asked first."""

    def __init__(self, place: Path, site: Path, url: str) -> None:
        self.place = place
        self.music = place / "music"
        self._environ = {
            "HOME": str(place),
            "PYTHONPATH": str(site),
            "LYRSVC_PROVIDER_PRIMARY": "shelf",
            "LYRSVC_PROVIDERS_SHELF_BASE_URL": url,
        }
        minimal_flac(self.music / "01.flac", artist=SONG["artist"], title=SONG["title"])

    def run(self, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return self._run("-m", "lyrsvc", *words, **environ)

    def run_without_waiting(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run with a clock whose waits are over at once."""
        return self._run("-c", IMPATIENT, *words)

    def _run(self, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *words],
            env={**self._environ, **environ},
            cwd=self.place,
            capture_output=True,
            text=True,
            check=False,
        )


@contextmanager
def shelved(directory: Path, song: dict[str, object] | None) -> Iterator[str]:
    """Serve a directory with one song, or none, as static files."""
    directory.mkdir()
    if song is not None:
        name = f"{SONG['artist']} - {SONG['title']}.json"
        (directory / name).write_text(json.dumps(song))

    class Silent(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Stay silent."""

    handler = partial(Silent, directory=str(directory))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def test_a_lookup_through_the_example_writes_lyrics_in_its_name(site, tmp_path):
    with shelved(tmp_path / "shelf", SONG) as url:
        home = Home(tmp_path, site, url)

        done = home.run(str(home.music))

    assert done.returncode == 0, done.stderr
    written = (home.music / "01.lrc").read_text()
    assert "[source:shelf]\n" in written
    assert "[00:05.60]the gulls have time\n" in written


@pytest.mark.parametrize(
    ("song", "reason"),
    [
        (None, "not_found"),
        ({**SONG, "synced": ""}, "no_lyrics"),
        ({**SONG, "title": "Quick Ferry"}, "title_mismatch"),
        ({**SONG, "seconds": 260}, "duration_far"),
    ],
)
def test_what_the_example_answers_is_judged_like_any_answer(site, tmp_path, song, reason):
    with shelved(tmp_path / "shelf", song) as url:
        home = Home(tmp_path, site, url)

        done = home.run(str(home.music))

    assert done.returncode == 3, done.stderr
    assert reason in done.stdout
    assert not (home.music / "01.lrc").exists()


def test_a_server_that_is_gone_fails_the_song(site, tmp_path):
    with shelved(tmp_path / "shelf", SONG) as url:
        pass
    home = Home(tmp_path, site, url)

    done = home.run_without_waiting("fetch", str(home.music), "--dry-run")

    assert done.returncode == 1
    assert "network" in done.stdout


def test_the_settings_of_the_example_are_settings_like_any_other(site, tmp_path):
    home = Home(tmp_path, site, "http://127.0.0.1:9")

    listed = home.run("config", "list").stdout
    refused = home.run("config", "check", LYRSVC_PROVIDERS_SHELF_BASE_URL="no address")

    assert "providers.shelf.base_url\thttp://127.0.0.1:9\tenv:" in listed
    assert "providers.shelf.cooldown_seconds\t0" in listed
    assert refused.returncode == 1
    assert "providers.shelf.base_url" in refused.stdout + refused.stderr


def test_the_tests_of_the_example_pass(site):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXAMPLE)]

    done = subprocess.run(
        command,
        env={"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=site,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout
