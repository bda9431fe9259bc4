"""A home like a newcomer's, with one terminal in it, where documented commands are typed.

Everything is real: the shell, the program, the service and its port. Only the lyrics
servers are stand-ins on loopback, and ports that documents name are replaced by free ones.
"""

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Final

from builders import minimal_flac
from documents import Command
from lyrsvc.demo.song import Song
from lyrsvc.demo.songs import SONGS
from lyrsvc.demo.stand_in import StandIn
from lyrsvc.demo.tiny_audio import audio_bytes
from ports import free_port
from served import wait_until
from source_tree import ROOT

LONGEST_S: Final = 60.0
HOME_IN_DOCUMENTS: Final = "/home/you"
PORT: Final = "3876"
SHELF_PORT: Final = "8000"
CLASSIFIER_PORT: Final = "8080"

RUNS_ON: Final = re.compile(
    r"(?:[A-Z_]+=\S+ )*(?:lyrsvc|python3 dev\.py(?: run)?) (?:--)?(?P<what>serve|demo)\b"
    r"(?!.*(?:--once|--help))|python3 -m (?P<files>http\.server)\b"
)
WORDS: Final = (
    "The first line that nobody sang before",
    "and a second one to keep it company",
    "Here comes the part that everybody knows",
    "and then the lamp is carried out again",
)
REAL_NAMES: Final = tuple(
    Song(title=title, artist=artist, album=album, length_s=seconds, lines=WORDS)
    for artist, title, album, seconds in (
        ("Nina Simone", "Feeling Good", "I Put a Spell on You", 174.0),
        ("Earth, Wind & Fire", "September", "The Best of Earth, Wind & Fire", 215.0),
        ("Odetta", "Water Boy", "Odetta at the Gate of Horn", 231.0),
    )
)
"""Songs that documents ask for; the words are invented."""

_SHIM: Final = """#!/bin/sh
exec {python} -m lyrsvc "$@"
"""
_DOOR: Final = """
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
import dev
from devtools.environment import Environment
dev.HOME = Environment(Path(__file__).resolve().parent)
dev.ensure = lambda *_, **__: None  # the environment of the tests is ready
sys.exit(dev.main(sys.argv[1:]))
"""
_SCREEN: Final = """
import os, pty, sys
os.environ["COLUMNS"] = "400"  # nothing is cut, however long the paths of a test are
sys.exit(os.waitstatus_to_exitcode(pty.spawn(["bash", "--noprofile", "--norc", sys.argv[1]])))
"""


class DocumentedHome:
    """A home directory with some music, and a shell that was opened in it."""

    def __init__(self, place: Path, stand_in: StandIn) -> None:
        self.home = place / "home"
        self._notes = place / "notes"
        self._bin = place / "bin"
        self.port = free_port()
        self._ports = {
            PORT: str(self.port),
            SHELF_PORT: str(free_port()),
            CLASSIFIER_PORT: stand_in.url.rpartition(":")[2],
        }
        self._running: list[tuple[str, int]] = []
        self._count = 0
        for song in REAL_NAMES:
            stand_in.add_song(song)
        self._furnish()
        self._shell = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self.home,
            env=self._environ(stand_in.url),
            text=True,
            start_new_session=True,
        )
        self._tell("set -a; echo ready")  # what is set in this terminal is there on its screen too

    def __enter__(self) -> "DocumentedHome":
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._shell.pid, signal.SIGKILL)
        self._shell.communicate()

    def run(self, command: Command) -> str:
        """Type a command; give what it printed, in the words of the documents."""
        text = command.text
        for documented, real in self._ports.items():
            text = re.sub(rf"(?<![\d.]){documented}\b", real, text)
        runs_on = RUNS_ON.match(text)
        if runs_on:
            return self._start(text, runs_on["what"] or "files")
        return self._type(command, text)

    def stop(self) -> list[int]:
        """End everything that still runs; give how each service ended."""
        ended = []
        while self._running:
            what, number = self._running.pop()
            code = self._end(number)
            ended += [] if what == "files" else [code]
        return ended

    def answers(self, path: str) -> int:
        """Ask the service; give the status, 0 when it is not there."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=30) as reply:
                return reply.status
        except urllib.error.HTTPError as refusal:
            with refusal:
                return refusal.code
        except OSError:
            return 0

    def _type(self, command: Command, text: str) -> str:
        script, printed = self._script(text)
        shell = f". {shlex.quote(str(script))}"
        if command.on_screen:
            screen = self._notes / "screen.py"
            shell = f"{shlex.quote(sys.executable)} {shlex.quote(str(screen))} {script}"
        code = self._tell(f"{shell} >{shlex.quote(str(printed))} 2>&1 </dev/null; echo $?")
        shown = self._told(printed)
        assert int(code) == command.ends_with, f"{text}\nended with {code}:\n{shown}"
        return shown

    def _start(self, text: str, what: str) -> str:
        if what == "serve" and self._running:
            self.stop()
        if what == "demo":
            text = f"{text} --listen 127.0.0.1:{self.port}"
        script, printed = self._script(f"exec env {text}")
        number = int(self._tell(f"( . {script} ) >{printed} 2>&1 </dev/null & echo $!"))
        self._running.append((what, number))
        wait_until(lambda: self._is_up(what, printed) or not _is_alive(number), f"{text} is up")
        assert _is_alive(number), f"{text}\nended:\n{self._told(printed)}"
        return self._told(printed)

    def _is_up(self, what: str, printed: Path) -> bool:
        if what == "demo":
            return printed.exists() and "End it with" in printed.read_text()
        if not printed.exists():
            return False
        port = self.port if what == "serve" else int(self._ports[SHELF_PORT])
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    def _end(self, number: int) -> int:
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGTERM)
        return int(self._tell(f"wait {number}; echo $?"))

    def _script(self, text: str) -> tuple[Path, Path]:
        self._count += 1
        script = self._notes / f"{self._count}.sh"
        script.write_text(f"{text}\n", "utf-8")
        return script, self._notes / f"{self._count}.out"

    def _tell(self, line: str) -> str:
        """Let the shell do something and answer with one line."""
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        patience = threading.Timer(LONGEST_S, os.killpg, (self._shell.pid, signal.SIGKILL))
        patience.start()
        try:
            self._shell.stdin.write(f"{line}\n")
            self._shell.stdin.flush()
            answer = self._shell.stdout.readline()
        finally:
            patience.cancel()
        assert answer, f"no end within {LONGEST_S:g} s: {line}"
        return answer

    def _told(self, printed: Path) -> str:
        text = printed.read_text("utf-8", "replace").replace("\r", "")
        text = text.replace(str(self.home), HOME_IN_DOCUMENTS)
        for documented, real in self._ports.items():
            text = re.sub(rf"(?<=:){real}\b", documented, text)
        return text

    def _environ(self, upstream: str) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": f"{self._bin}:/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "PYTHONPATH": str(self.home / "site"),
            "LYRSVC_SERVER_ADDR": f"127.0.0.1:{self.port}",
            "LYRSVC_DEFAULTPROV_BASE_URL": upstream,
            "LYRSVC_LRCLIB_BASE_URL": upstream,
            "LYRSVC_LRCLIB_COOLDOWN_SECONDS": "0",
            "LYRSVC_API_COOLDOWN": "0",
            "LYRSVC_WORK_INTERVAL": "1",
            # pip puts packages there, from this machine alone
            "PIP_TARGET": str(self.home / "site"),
            "PIP_NO_DEPS": "1",
            "PIP_NO_INDEX": "1",
            "PIP_NO_BUILD_ISOLATION": "0",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }

    def _furnish(self) -> None:
        for directory in (self.home / "Music", self._notes, self._bin):
            directory.mkdir(parents=True)
        for song in (*REAL_NAMES, SONGS[0]):
            album = self.home / "Music" / song.artist / song.album
            tags = {"artist": song.artist, "title": song.title, "album": song.album}
            minimal_flac(album / f"01 - {song.title}.flac", seconds=song.length_s, **tags)
        shutil.copytree(
            ROOT / "examples",
            self.home / "examples",
            ignore=shutil.ignore_patterns("__pycache__", ".*"),
        )
        (self.home / "song.flac").write_bytes(audio_bytes("flac", seconds=4.0, tags={}))
        (self._notes / "screen.py").write_text(_SCREEN)
        (self.home / "dev.py").write_text(_DOOR.format(root=str(ROOT)))
        shim = self._bin / "lyrsvc"
        shim.write_text(_SHIM.format(python=shlex.quote(sys.executable)))
        shim.chmod(0o755)
        for name, module in {"python3": "", "pip": " -m pip", "pytest": " -m pytest"}.items():
            tool = self._bin / name
            tool.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)}{module} "$@"\n')
            tool.chmod(0o755)
        own = self.home / ".venv" / "bin"
        own.mkdir(parents=True)
        (own / "lyrsvc").symlink_to(shim)


def _is_alive(number: int) -> bool:
    """Tell whether a child of the shell still runs; the shell takes leave of those that ended."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True
