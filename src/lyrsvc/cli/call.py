"""What a command's function is given: its arguments, the settings, and the ways out."""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from lyrsvc.cli.command import Command
from lyrsvc.cli.parsing import Args
from lyrsvc.settings.environment_sections import Environment
from lyrsvc.settings.loading import Loaded
from lyrsvc.settings.sections import Db, Settings

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from lyrsvc.cli.listing import Row
    from lyrsvc.cli.voice import Voice
    from lyrsvc.core.ports import Clock
    from lyrsvc.store.database import Database


class World(NamedTuple):
    """The outside, as the entry hands it in."""

    environ: dict[str, str]
    working_directory: Path
    user: str
    stdin: TextIO
    stdout: TextIO
    stderr: TextIO
    clock: "Clock"
    make_way: Callable[[int], None] = lambda _: None
    """Leaves the processor to others; only a process of its own may do so."""


class Call(NamedTuple):
    """One command being run."""

    command: Command
    args: Args
    loaded: Loaded
    world: World
    voice: "Voice"

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.loaded.settings

    @property
    def database_path(self) -> Path:
        """Where the database is; loading has made sure that there is a place."""
        path = self.settings.db.path
        if path is None:
            raise RuntimeError("settings were loaded without a database path")
        return path

    def note(self, sentence: str) -> None:
        """Tell the user one line on stderr."""
        self.voice.note(sentence)

    def print(self, text: str) -> None:
        """Print a result line."""
        self.world.stdout.write(text + "\n")

    def print_rows(
        self,
        columns: Sequence[str],
        rows: "Iterable[Row]",
        *,
        through: "Callable[[], AbstractContextManager[None]] | None" = None,
    ) -> None:
        """Print rows in the form the user asked for.

        While a progress line is on the terminal, each is written inside its ``through``.
        """
        from lyrsvc.cli.listing import Form, Through, print_rows

        terminal = self.world.stdout.isatty()
        form = Form(
            json=self.args.json,
            header=self.args.header,
            terminal=terminal,
            width=terminal_width(self.world) if terminal else 0,
        )
        out = self.world.stdout
        print_rows(Through(out, through) if terminal and through else out, columns, rows, form)

    def print_result(self, fields: dict[str, Any], text: str) -> None:
        """Print a result as an object, or as a line for people."""
        from lyrsvc.cli.listing import to_json

        self.print(to_json(fields) if self.args.json else text)

    def audit(self, event: str, **fields: Any) -> None:  # noqa: ANN401 - what the event is about
        """Write down who changed what."""
        from lyrsvc.cli.auditing import write_down

        write_down(self, event, fields)

    def open_to_read(self) -> "Database | None":
        """Open the database without ever creating it; say so when there is none."""
        from lyrsvc.store.database import Database, exists

        path = self.database_path
        if not exists(path):
            self.note(
                f"no database at {path}; nothing to list "
                f"(set {Db.path.env[0]} or start lyrsvc serve)"
            )
            return None
        return Database.open(path, clock=self.world.clock, create=False)

    def open_or_make(self) -> "Database":
        """Open the database; a new one is told of, because the path may be a mistake."""
        from lyrsvc.store.database import Database

        path = self.database_path
        db = Database.open(path, create=True, clock=self.world.clock)
        if db.created:
            self.note(f"made a new database: {path}")
        return db


def terminal_width(world: World) -> int:
    """Give the columns of the terminal."""
    columns = world.environ.get(Environment.columns.env[0], "")
    if columns.isascii() and columns.isdigit() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(world.stdout.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def flush_quietly(stream: TextIO) -> OSError | None:
    """Flush; give the error when the reader has gone away or nothing more can be written."""
    try:
        stream.flush()
    except OSError as error:
        if stream is sys.stdout:  # keep the interpreter's own last flush from failing again
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return error
    return None
