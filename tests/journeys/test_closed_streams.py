"""The program in shells that closed a stream, or whose output has nowhere to go."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FULL = Path("/dev/full")


def run(home: Path, words: str, ending: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run one line of a shell that does to the streams what ``ending`` says."""
    return subprocess.run(
        ["/bin/sh", "-c", f"exec {sys.executable} -m lyrsvc {words} {ending}"],
        env={"HOME": str(home), "PATH": os.environ["PATH"], **environ},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(not FULL.exists(), reason="no full device here")
@pytest.mark.parametrize("words", ["--version", "--help", "queue list --help", "completion bash"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_answer_that_cannot_be_written_is_a_failure_in_one_line(tmp_path, words, unbuffered):
    done = run(tmp_path, words, f">{FULL}", PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == 1
    assert done.stderr.startswith("lyrsvc: ")
    assert "no space left on device" in done.stderr.lower()
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(not FULL.exists(), reason="no full device here")
@pytest.mark.parametrize("words", ["config list", "config list --json", "doctor"])
def test_a_listing_that_finds_no_room_says_so_and_nothing_of_an_accident(tmp_path, words):
    done = run(tmp_path, words, f">{FULL}", PYTHONUNBUFFERED="1")
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["lyrsvc: cannot write the answer: no space left on device"]


def test_a_current_directory_that_is_gone_is_told_in_one_line(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    line = f"cd {gone}; rmdir {gone}; exec {sys.executable} -m lyrsvc queue list"
    done = subprocess.run(
        ["/bin/sh", "-c", line],
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == (
        "lyrsvc: the current directory cannot be used (no such file or directory); "
        "change to another one\n"
    )


@pytest.mark.parametrize("words", ["--version", "queue list", "keys create --name x"])
@pytest.mark.parametrize("ending", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_a_stream_that_is_closed_beforehand_leads_nowhere(tmp_path, words, ending):
    done = run(tmp_path, words, ending)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.seed("S-094")
def test_a_closed_stdin_is_an_empty_value(tmp_path):
    done = run(tmp_path, "secrets set provider_token", "<&-")
    assert done.returncode == 2
    assert "is empty" in done.stderr
