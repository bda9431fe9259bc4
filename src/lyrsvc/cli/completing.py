"""What may stand at the cursor, read from the declarations of commands and settings.

Answers go to the shell's completion script: candidates one per line, nothing on
stderr, exit 0 whatever happens. Nothing is created or changed by asking.
"""

import os
import sys
from collections.abc import Iterator, Mapping

from lyrsvc.cli.command import GLOBAL_ARGUMENTS, Argument, Command
from lyrsvc.cli.commands import BY_NAME, COMMANDS, GROUPS, inside
from lyrsvc.cli.dispatch import LEGACY, divide

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lyrsvc.core.setting import Entry


class Candidate:
    """One answer and its description."""

    def __init__(self, text: str, help_text: str = "") -> None:
        self.text = text
        self.help = help_text

    def behind(self, flag: str) -> "Candidate":
        """Give the answer in the form ``--flag=answer``."""
        return Candidate(f"{flag}={self.text}", self.help)


class Cursor:
    """The words before the cursor, the beginning of the word at it, and where to look."""

    def __init__(
        self, before: list[str], word: str, environ: Mapping[str, str], directory: str
    ) -> None:
        self.before = before
        self.word = word
        self.environ = environ
        self.directory = directory


_WITHOUT_COMMAND = (
    Argument(("--version", "-V"), "Show the version and exit.", "switch"),
    Argument(("--serve",), "Run the service.", "switch"),
)


def answer(words: list[str], environ: Mapping[str, str], directory: str) -> str:
    """Give the candidates for a line, one each line."""
    if environ.get("LYRSVC_COMPLETE_SHELL") == "bash":
        words = [unquote(word) for word in words]
    cursor = Cursor(words[:-1], words[-1] if words else "", environ, directory)
    found = [c for c in candidates(cursor) if c.text.startswith(cursor.word)]
    described = environ.get("LYRSVC_COMPLETE_DESCRIPTIONS") == "1"
    lines = dict.fromkeys(
        f"{c.text}\t{c.help}" if described and c.help else c.text
        for c in found
        if "\n" not in c.text
    )
    return "".join(f"{line}\n" for line in lines)


def candidates(cursor: Cursor) -> Iterator[Candidate]:
    """List what may stand at the cursor, sorted."""
    settings = _Settings(cursor)
    line = divide(cursor.before, _valued(cursor, settings))
    if line.group:
        yield from _sorted(Candidate(c.words[1], c.help) for c in inside(line.group))
        return
    command = line.command
    flags = _flags(command, settings) if _needs_flags(cursor) else {}
    closed = "--" in cursor.before
    if not closed and "=" in cursor.word and cursor.word.split("=")[0] in flags:
        name = cursor.word.split("=")[0]
        for found in _values(flags[name], settings):
            yield found.behind(name)
    elif not closed and _awaits_value(cursor.before, flags):
        yield from _dashed(_values(flags[cursor.before[-1]], settings), cursor.before[-1])
    elif not closed and cursor.word.startswith("-"):
        given = {word.split("=")[0] for word in cursor.before}
        yield from _sorted(
            Candidate(name, a.help)
            for name, a in flags.items()
            if a.repeats == "*" or not given.intersection(a.names)
        )
    elif command is None or (command.name == LEGACY and not _is_named(cursor, LEGACY)):
        yield from _first_words() if not line.rest or command is None else ()
    else:
        if not line.rest and not closed:
            yield from _sorted(Candidate(c.words[1], c.help) for c in inside(command.name))
        yield from _positional(command, line.rest, settings)


def unquote(word: str) -> str:
    """Take quotes and backslashes away as a shell would, forgiving what is not closed."""
    text, quote, at = "", "", 0
    while at < len(word):
        character = word[at]
        following = word[at + 1] if at + 1 < len(word) else ""
        if character == "\\" and quote != "'":
            keeps = quote == '"' and following not in '$`"\\'
            text += (character if keeps else "") + following
            at += 1
        elif character == quote:
            quote = ""
        elif character in "'\"" and not quote:
            quote = character
        else:
            text += character
        at += 1
    return text


class _Settings:
    """The settings, looked at only when a candidate needs them."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._entries: tuple[Entry, ...] | None = None

    @property
    def entries(self) -> "tuple[Entry, ...]":
        if self._entries is None:
            from lyrsvc.settings.registry import Registry

            self._entries = Registry().entries
        return self._entries

    def libraries(self) -> list[tuple[int, str]]:
        """Read the library names from the database the line means."""
        from pathlib import Path

        from lyrsvc.cli.inputs import gather_inputs
        from lyrsvc.settings.loading import examine
        from lyrsvc.store.peeking import library_names

        given = {
            name: value
            for flag, name in (("--config", "config"), ("--db", "db"), ("--env-file", "env_file"))
            if (value := _given(self._cursor.before, flag)) is not None
        }
        inputs = gather_inputs(
            self._cursor.environ,
            Path(self._cursor.directory),
            flags={"db.path": given["db"]} if "db" in given else {},
            config=given.get("config"),
            env_file=given.get("env_file"),
        )
        path = examine(inputs).settings.db.path
        return library_names(str(path)) if path is not None else []


def _given(words: list[str], flag: str) -> str | None:
    for at, word in enumerate(words):
        if word.startswith(f"{flag}="):
            return word.partition("=")[2]
        if word == flag and at + 1 < len(words):
            return words[at + 1]
    return None


def _needs_flags(cursor: Cursor) -> bool:
    return cursor.word.startswith("-") or any(word.startswith("-") for word in cursor.before)


def _valued(cursor: Cursor, settings: _Settings) -> frozenset[str]:
    if not any(word.startswith("-") for word in cursor.before):
        return frozenset()
    from lyrsvc.cli.flags import every_valued_flag

    return every_valued_flag(settings.entries)


def _flags(command: Command | None, settings: _Settings) -> dict[str, Argument]:
    from lyrsvc.cli.flags import setting_flags

    carried = setting_flags(command, settings.entries)
    opposites = [flag.opposite() for flag in carried if flag.kind == "switch"]
    own = command.arguments if command else (*_WITHOUT_COMMAND, *BY_NAME[LEGACY].arguments)
    every = (*GLOBAL_ARGUMENTS, *own, *carried, *opposites)
    return {name: argument for argument in every if argument.is_flag for name in argument.names}


def _awaits_value(before: list[str], flags: Mapping[str, Argument]) -> bool:
    return bool(before) and before[-1] in flags and flags[before[-1]].takes_value


def _is_named(cursor: Cursor, name: str) -> bool:
    return name in cursor.before


def _first_words() -> Iterator[Candidate]:
    singles = (Candidate(c.name, c.help) for c in COMMANDS if len(c.words) == 1)
    groups = (Candidate(name, text) for name, text in GROUPS.items())
    yield from _sorted((*singles, *groups))


def _positional(command: Command, rest: list[str], settings: _Settings) -> Iterator[Candidate]:
    places = [argument for argument in command.arguments if not argument.is_flag]
    words = _plain_words(rest, command, settings)
    if not places or (len(words) >= len(places) and not places[-1].repeats):
        return
    place = places[min(len(words), len(places) - 1)]
    if place.offers == "setting" and words:
        entry = next((e for e in settings.entries if e.path == words[0]), None)
        yield from (Candidate(choice) for choice in (entry.setting.choices if entry else ()))
    else:
        # What looks like a flag is one, unless two dashes stand before it.
        closed = "--" in rest
        found = _values(place, settings)
        yield from (one for one in found if closed or not one.text.startswith("-"))


def _plain_words(rest: list[str], command: Command, settings: _Settings) -> list[str]:
    flags = _flags(command, settings) if any(word.startswith("-") for word in rest) else {}
    words, skip = [], False
    for word in rest:
        if skip:
            skip = False
        elif word.startswith("-") and word != "-":
            skip = word in flags and flags[word].takes_value
        else:
            words.append(word)
    return words


def _values(argument: Argument, settings: _Settings) -> Iterator[Candidate]:
    if argument.choices:
        yield from _sorted(Candidate(choice) for choice in argument.choices)
    elif argument.offers == "library":
        libraries = settings.libraries()
        yield from _sorted(Candidate(name) for _, name in libraries)
        yield from (Candidate(str(number), name) for number, name in sorted(libraries))
    elif argument.offers == "setting":
        named = (e for e in settings.entries if not e.setting.env_only)
        yield from _sorted(Candidate(e.path, e.setting.help) for e in named)
    elif argument.offers == "lane":
        from lyrsvc.providers.lane_registry import known_lanes

        yield from _sorted(Candidate(name) for name in known_lanes())


def _dashed(found: Iterator[Candidate], flag: str) -> Iterator[Candidate]:
    """Offer a value that looks like a flag in the form that cannot be mistaken."""
    for candidate in found:
        if candidate.text.startswith("-"):
            yield candidate.behind(flag)
        else:
            yield candidate


def _sorted(found: Iterator[Candidate] | tuple[Candidate, ...]) -> list[Candidate]:
    return sorted(found, key=lambda candidate: candidate.text)


def run(words: list[str], environ: Mapping[str, str]) -> int:
    """Answer the shell; an error is no answer, and never a message."""
    try:
        text = answer(words, environ, os.getcwd())  # noqa: PTH109 - pathlib costs time
        sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Exception:  # noqa: BLE001 - a shell at its prompt must not see our troubles
        return 0
    return 0
