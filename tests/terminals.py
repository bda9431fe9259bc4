"""Running commands in process, through the parser, as the entry does."""

import errno
import io
import json
import os
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from lyrsvc.cli.call import World
from lyrsvc.cli.running import main
from lyrsvc.clock import SystemClock
from lyrsvc.core.ports import Clock


class Done(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class Pipe(io.StringIO):
    """A stream that says it is none."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return False


class Full(Pipe):
    """A stream onto a disk that is full."""

    def write(self, _text: str) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Shell:
    """A user with a home directory, who types commands."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environ = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
        self.working_directory = home
        self.clock: Clock = SystemClock()

    @property
    def config(self) -> Path:
        return self.home / ".config" / "lyrsvcgo-svc" / "config.toml"

    @property
    def database(self) -> Path:
        return self.home / ".local" / "share" / "lyrsvcgo-svc" / "lyrsvcgo.db"

    def write_config(self, text: str) -> Path:
        self.config.parent.mkdir(parents=True, exist_ok=True)
        self.config.write_text(text)
        return self.config

    def run(
        self,
        *argv: str,
        stdin: str = "",
        terminal: bool = False,
        watched: bool = False,
        environ: dict[str, str] | None = None,
        out: TextIO | None = None,
    ) -> Done:
        shown = Screen() if terminal else Pipe()
        err = Screen() if watched else Pipe()
        world = World(
            {**self.environ, **(environ or {})},
            self.working_directory,
            "tester",
            io.StringIO(stdin),
            out or shown,
            err,
            self.clock,
        )
        code = main(list(argv), world)
        return Done(code, shown.getvalue(), err.getvalue())
