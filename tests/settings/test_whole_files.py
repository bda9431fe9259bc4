"""Files and pipes that settings are read from."""

import os
import subprocess
import sys
import threading
import time

import pytest

from lyrsvc.settings import whole_files
from lyrsvc.settings.whole_files import read_whole

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX pipes")


@pytest.fixture
def pipe(tmp_path, monkeypatch):
    monkeypatch.setattr(whole_files, "WRITER_WAIT_S", 0.2)
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def test_a_file_is_read_as_it_is_and_no_further_than_wanted(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"A=1\n")
    assert (read_whole(path), read_whole(path, 2)) == (b"A=1\n", b"A=")
    with pytest.raises(IsADirectoryError):
        read_whole(tmp_path)


def test_a_pipe_without_a_writer_is_given_up(pipe):
    with pytest.raises(OSError, match="nobody writes into this pipe"):
        read_whole(pipe)


@pytest.mark.parametrize("thinks_s", [0.0, 0.5])
def test_a_pipe_with_a_writer_is_read_to_its_end_however_long_he_thinks(pipe, thinks_s):
    def write() -> None:
        with pipe.open("wb", buffering=0) as file:
            for part in (b"A=1\n", b"B=2\n"):
                time.sleep(thinks_s)
                file.write(part)

    writer = threading.Thread(target=write)
    writer.start()
    assert read_whole(pipe) == b"A=1\nB=2\n"
    writer.join()


@pytest.mark.parametrize("what", [".env", "token", "config.toml"])
def test_no_start_hangs_at_a_pipe_that_nobody_writes_into(tmp_path, what):
    os.mkfifo(tmp_path / what)
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    if what == "token":
        environ["PROVIDER_TOKEN_FILE"] = str(tmp_path / what)
    words = ("--config", str(tmp_path / what)) if what == "config.toml" else ()
    done = subprocess.run(
        [sys.executable, "-m", "lyrsvc", "config", "check", *words],
        env=environ,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert f"cannot read {tmp_path / what}: nobody writes into this pipe" in done.stdout
    assert done.returncode == (0 if what == ".env" else 1)
