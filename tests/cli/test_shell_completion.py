"""Completion in real shells, typed on a real terminal."""

import fcntl
import os
import pty
import select
import shutil
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from terminals import Shell

ODD_NAME = 'Été & "Co" $5: live'

STAND_IN = """#!/bin/sh
if [ "$1" = __complete ] || [ "$1" = completion ]; then
    exec '{python}' -m lyrsvc "$@"
fi
printf '%s\\0' "$@" > '{record}'
"""

START = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source {script}; PS1='rea''dy> '"),
    "zsh": (
        ["zsh", "-f", "-i"],
        "autoload -Uz compinit; compinit -u -D; source {script}; PS1='rea''dy> '",
    ),
    "fish": (
        ["fish", "--no-config", "-i"],
        "source {script}; function fish_prompt; echo -n rea'dy> '; end",
    ),
}


class Terminal:
    """A shell on a pseudo-terminal, with somebody typing."""

    def __init__(self, command: list[str], environ: dict[str, str], directory: Path) -> None:
        self._pid, self._side = pty.fork()
        if self._pid == 0:
            os.chdir(directory)
            os.execvpe(command[0], command, environ)
        fcntl.ioctl(self._side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 400, 0, 0))
        self.seen = ""

    def type(self, text: str) -> None:
        os.write(self._side, text.encode())

    def read_until(self, text: str, *, limit_s: float = 20) -> None:
        end = time.monotonic() + limit_s
        start = len(self.seen)
        while text not in self.seen[start:]:
            if not select.select([self._side], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"{text!r} never came: {self.seen[start:]!r}")
            self.seen += os.read(self._side, 65536).decode(errors="replace")

    def wait_for(self, path: Path, *, limit_s: float = 20) -> bytes:
        end = time.monotonic() + limit_s
        while not (path.exists() and path.read_bytes()):
            assert time.monotonic() < end, f"nothing was run: {self.seen!r}"
            if select.select([self._side], [], [], 0.02)[0]:
                self.seen += os.read(self._side, 65536).decode(errors="replace")
        return path.read_bytes()

    def close(self) -> None:
        os.close(self._side)
        os.kill(self._pid, 9)
        os.waitpid(self._pid, 0)


@pytest.fixture
def typed(tmp_path, shell: Shell, add_library, database):
    """Give a function that types a line into a shell and returns the words the program got."""
    add_library(ODD_NAME)
    add_library("Foo")
    database.close()
    record = tmp_path / "record"
    programs = tmp_path / "bin"
    programs.mkdir()
    program = programs / "lyrsvc"
    program.write_text(STAND_IN.format(python=sys.executable, record=record))
    program.chmod(0o755)
    environ = {
        "HOME": str(tmp_path),
        "PATH": f"{programs}:{os.environ['PATH']}",
        "LYRSVC_DB_PATH": str(shell.database),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
    }
    terminals = []

    def type_line(kind: str, line: str) -> list[str]:
        script = tmp_path / f"script.{kind}"
        done = subprocess.run(
            [program, "completion", kind], env=environ, capture_output=True, check=True
        )
        script.write_bytes(done.stdout)
        command, start = START[kind]
        terminal = Terminal([shutil.which(command[0]), *command[1:]], environ, tmp_path)
        terminals.append(terminal)
        terminal.type(start.format(script=script) + "\n")
        terminal.read_until("ready> ")
        terminal.type(line + "\n")
        return terminal.wait_for(record).decode().split("\0")[:-1]

    yield type_line
    for terminal in terminals:
        terminal.close()


LINES = {
    "--library É\t": ["--library", ODD_NAME],
    "--library=É\t": [f"--library={ODD_NAME}"],
    '--library "É\t': ["--library", ODD_NAME],
    "--library 'É\t": ["--library", ODD_NAME],
    "--library Fo\t": ["--library", "Foo"],
    "--lib\tFo\t": ["--library", "Foo"],
}


@pytest.mark.spec("C-47")
@pytest.mark.seed("S-096")
@pytest.mark.parametrize("words", LINES)
@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=pytest.mark.needs_tool(kind)) for kind in ("bash", "zsh", "fish")],
)
def test_a_completed_line_parses_back_to_the_name(typed, kind, words):
    assert typed(kind, f"lyrsvc scan results {words}") == ["scan", "results", *LINES[words]]
