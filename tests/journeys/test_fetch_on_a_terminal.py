"""Directory mode in a real pseudo-terminal, and under sudden death."""

import contextlib
import fcntl
import os
import pty
import random
import re
import signal
import struct
import termios
import time
from pathlib import Path

import pytest

from builders import minimal_flac
from lyrsvc.core.display import display_width
from lyrsvc.demo.song import Song
from lyrsvc.demo.stand_in import StandIn
from terminals import Shell

CJK = ("紙の月をたたむ", "夕凪書店", 41)
WEIR = ("Lanterns on the Weir", "The Quiet Ferrymen", 38)
GLASS = ("Glass Orchard", "Mara Voss", 42)


@pytest.fixture
def music(home: Path) -> Path:
    for number, (title, artist, seconds) in enumerate((CJK, WEIR, GLASS)):
        path = home / "music" / f"{number} {title}.flac"
        minimal_flac(path, seconds=seconds, title=title, artist=artist)
    return home / "music"


class Terminal:
    """The master side of a pseudo-terminal; reads all that is shown."""

    def __init__(self, columns: int) -> None:
        self.master, self.slave = pty.openpty()
        size = struct.pack("HHHH", 24, columns, 0, 0)
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, size)

    def read_all(self) -> str:
        os.close(self.slave)
        shown = b""
        with contextlib.suppress(OSError):
            while part := os.read(self.master, 65536):
                shown += part
        os.close(self.master)
        return shown.decode()


@pytest.mark.spec("C-51", "P-69")
@pytest.mark.parametrize("columns", [80, 20])
def test_progress_is_one_line_that_never_wraps(shell: Shell, spawn, music: Path, columns: int):
    terminal = Terminal(columns)
    shell.environ |= {"TERM": "xterm", "LYRSVC_API_COOLDOWN": "1"}
    child = spawn("music", stderr=terminal.slave)
    out, _ = child.communicate(timeout=60)
    shown = terminal.read_all()
    assert child.returncode == 0, shown
    assert len(out.splitlines()) == 3
    drawn = [part for part in shown.replace("\r\n", "\n").partition("lyrsvc: ")[0].split("\r")]
    assert any(part.strip() for part in drawn)
    for part in drawn:
        assert display_width(part) < columns
        assert "\n" not in part.strip("\n")
    wait = r"next request in 1 s \(defaultprov\)" if columns == 80 else r"wait 1 s"
    assert re.search(wait, shown)
    assert "1/3" in shown
    assert "\x1b" not in shown


@pytest.mark.spec("C-51", "P-69")
def test_a_pipe_sees_no_progress_and_no_countdown(shell: Shell, spawn, music: Path):
    shell.environ["LYRSVC_API_COOLDOWN"] = "1"
    child = spawn("music")
    _, err = child.communicate(timeout=60)
    assert child.returncode == 0
    assert b"\r" not in err
    assert b"next request" not in err
    assert err.decode().splitlines() == [
        "lyrsvc: 3 synced, 0 unsynced, 0 instrumental, 0 present, 0 miss, 0 failed"
    ]


@pytest.mark.spec("P-61")
def test_killed_at_any_moment_every_sidecar_is_absent_or_whole(
    shell: Shell, stand_in: StandIn, spawn, home: Path
):
    names = [f"Song Number {number:02d}" for number in range(30)]
    lines = tuple(f"a line of words, number {number}, " + "la " * 60 for number in range(40))
    for name in names:
        stand_in.add_song(Song(title=name, artist="The Mortals", length_s=150, lines=lines))
        path = home / "music" / f"{name}.flac"
        minimal_flac(path, seconds=150, title=name, artist="The Mortals")
    dice = random.Random(4)
    assert shell.run("music").code == 0
    contents = {path.name: _without_time(path) for path in (home / "music").glob("*.lrc")}
    assert len(contents) == len(names)
    killed = 0
    for _ in range(10):
        for path in (home / "music").glob("*.lrc"):
            path.unlink()
        enough = len(stand_in.requests) + dice.randint(1, len(names) - 1)
        child = spawn("music")
        while child.poll() is None and len(stand_in.requests) < enough:
            time.sleep(0.001)
        time.sleep(dice.uniform(0, 0.02))
        child.send_signal(signal.SIGKILL)
        child.communicate()
        killed += child.returncode == -signal.SIGKILL
        for path in (home / "music").glob("*.lrc"):
            assert _without_time(path) == contents[path.name]
    assert killed
    child = spawn("music")
    child.communicate(timeout=60)
    assert child.returncode == 0
    assert {p.name: _without_time(p) for p in (home / "music").glob("*.lrc")} == contents


def _without_time(path: Path) -> str:
    return re.sub(r"\[fetched:[^]]*\]\n", "", path.read_text())
