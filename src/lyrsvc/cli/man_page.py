"""The manual page, made from the declarations: ``python -m lyrsvc.cli.man_page``."""

import sys
from collections.abc import Iterable, Iterator

from lyrsvc import __version__, brand
from lyrsvc.cli.command import GLOBAL_ARGUMENTS, Argument, Command
from lyrsvc.cli.commands import COMMANDS
from lyrsvc.cli.flags import SettingFlag, setting_flags
from lyrsvc.settings.registry import Registry

_FORMS = (
    ("artist,title", "flags"),
    ("DIRECTORY", "flags"),
    ("COMMAND", "flags"),
)
_DESCRIPTION = (
    "finds the right lyrics for every track of a music library and saves them beside the audio: "
    ".lrc when they are synced, .txt when they are plain or the track is instrumental. Without a "
    "command word it fetches one song, or every file below a directory. Results go to standard "
    "output; logs, notes and progress to standard error. Commands that delete or move something "
    "never ask: without --yes they print what would happen."
)
_EXITS = (
    ("0", "everything asked for is done, or a dry run was printed"),
    ("1", "something failed, was refused or cannot be reached"),
    ("2", "the command line is wrong"),
    ("3", "fetching: nothing failed, but at least one song has no lyrics"),
    ("130", "interrupted"),
)
_FILES = (
    (brand.PACKAGE_CONFIG, "settings of the installed service"),
    (f"{brand.PACKAGE_STATE}/{brand.DATABASE_NAME}", "its database"),
    (f"~/.config/{brand.HOME_DIRECTORY}/{brand.CONFIG_NAME}", "settings of a user"),
    (f"~/.local/share/{brand.HOME_DIRECTORY}/{brand.DATABASE_NAME}", "database of a user"),
)


def page() -> str:
    """Write the page in the man macros."""
    entries = Registry().entries
    everywhere = setting_flags(Command("", "", ""), entries)
    lines = [
        f'.TH {brand.PROGRAM.upper()} 1 "" "{brand.PROGRAM} {__version__}" "User Commands"',
        ".SH NAME",
        rf"{brand.PROGRAM} \- find lyrics for a music library",
        ".SH SYNOPSIS",
    ]
    for number, (word, rest) in enumerate(_FORMS):
        lines += [".br"] if number else []
        lines.append(rf"\fB{brand.PROGRAM}\fR \fI{_text(word)}\fR [{rest}]")
    lines += [".SH DESCRIPTION", rf"\fB{brand.PROGRAM}\fR {_text(_DESCRIPTION)}"]
    lines += [".SH COMMANDS"]
    common = {argument.names for argument in everywhere}
    for command in sorted(COMMANDS, key=lambda each: each.name):
        own = (a for a in setting_flags(command, entries) if a.names not in common)
        lines += _command(command, (*command.arguments, *own))
    lines += [".SH FLAGS OF EVERY COMMAND", *_arguments((*GLOBAL_ARGUMENTS, *everywhere))]
    lines += [".SH EXIT STATUS", *_pairs(_EXITS), ".SH FILES", *_pairs(_FILES)]
    lines += [
        ".SH SEE ALSO",
        _text(f"Every setting and its variables: {brand.PROGRAM} config docs"),
    ]
    return "\n".join(lines) + "\n"


def _command(command: Command, arguments: tuple[Argument, ...]) -> Iterator[str]:
    yield f".SS {brand.PROGRAM} {_text(command.name)}"
    yield _text(command.help)
    yield from _arguments(arguments)
    if command.epilog:
        yield from (".PP", _text(command.epilog))


def _arguments(arguments: Iterable[Argument | SettingFlag]) -> Iterator[str]:
    for argument in arguments:
        yield from (".TP", _name(argument))
        default = f" Default: {argument.default}." if argument.default is not None else ""
        yield _text(argument.help + default)


def _name(argument: Argument) -> str:
    value = rf"\fI{_text(argument.value_name)}\fR"
    if not argument.is_flag:
        return value
    names = ", ".join(rf"\fB{_text(name)}\fR" for name in argument.shown_names)
    if argument.kind == "toggle":
        return f"{names}[={value}]"
    return f"{names} {value}" if argument.takes_value else names


def _pairs(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, meaning in rows:
        yield from (".TP", rf"\fB{_text(name)}\fR", _text(meaning))


def _text(text: str) -> str:
    """Keep words from being read as requests: backslashes, dashes, and a dot at the beginning."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace("~", r"\(ti")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    sys.stdout.write(page())
