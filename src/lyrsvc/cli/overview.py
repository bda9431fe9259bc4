"""Help: of the program, of a group, of one command."""

import textwrap
from collections.abc import Iterable

from lyrsvc import brand
from lyrsvc.cli.command import GLOBAL_ARGUMENTS, Argument, Command
from lyrsvc.cli.commands import COMMANDS, GROUPS, inside
from lyrsvc.cli.flags import setting_flags
from lyrsvc.core.setting import Entry

_FORMS = """usage: {program} artist,title [flags]
       {program} DIRECTORY [flags]
       {program} COMMAND [flags]
       {program} --serve --listen ADDR
       {program} --version
"""
WIDTH = 96
"""Lines are no longer than this, however wide a terminal is."""
_COLUMN = 28
_NARROW = 60
"""Below this, texts stand under what they explain, not beside it."""


def of_program(group: str, width: int = WIDTH) -> str:
    """List the commands, of one group or all, and the flags that stand everywhere."""
    commands = inside(group) if group else COMMANDS
    lines = [f"{GROUPS[group]}\n"] if group else [_FORMS.format(program=brand.PROGRAM)]
    lines.append("commands:")
    for command in commands:
        lines += _entry(command.name, command.help, width)
    lines += ["", "everywhere:", *_arguments(GLOBAL_ARGUMENTS, width)]
    lines += ["", f"More: {brand.PROGRAM} COMMAND --help"]
    return "\n".join(lines) + "\n"


def of_command(command: Command, settings: Iterable[Entry], width: int = WIDTH) -> str:
    """Explain one command and everything it takes."""
    places = [argument for argument in command.arguments if not argument.is_flag]
    flags = [argument for argument in command.arguments if argument.is_flag]
    words = " ".join(_place_text(place) for place in places)
    usage = f"usage: {brand.PROGRAM} {command.name} {words}".rstrip()
    lines = [f"{usage} [flags]", "", *textwrap.wrap(command.help, width)]
    carried = setting_flags(command, settings)
    parts = {"words": places, "flags": flags, "settings": carried, "everywhere": GLOBAL_ARGUMENTS}
    for title, arguments in parts.items():
        if arguments:
            lines += ["", f"{title}:", *_arguments(arguments, width)]
    if command.epilog:
        lines += ["", *textwrap.wrap(command.epilog, width)]
    return "\n".join(lines) + "\n"


def of_mistake(group: str, rest: list[str]) -> str:
    """Say what is missing on a line that names no command."""
    if not group:
        flag = rest[0].partition("=")[0] if rest else ""
        what = "names no song, no directory and no command"
        start = f"{brand.PROGRAM}: a line with {flag} alone {what}\n" if flag else ""
        return start + _FORMS.format(program=brand.PROGRAM) + f"see: {brand.PROGRAM} --help\n"
    words = ", ".join(command.words[1] for command in inside(group))
    unknown = next((word for word in rest if not word.startswith("-")), "")
    what = f'no command "{group} {unknown}"' if unknown else f"{group} needs one more word"
    return f"{brand.PROGRAM}: {what}; one of: {words}\n"


def _arguments(arguments: Iterable[Argument], width: int) -> list[str]:
    lines = []
    for argument in arguments:
        name = ", ".join(argument.shown_names) if argument.is_flag else argument.value_name
        if argument.is_flag and argument.takes_value:
            name += f" {argument.value_name}"
        elif argument.kind == "toggle":
            name += f"[={argument.value_name}]"
        text = argument.help
        if argument.default is not None:
            text += f" Default: {argument.default}."
        lines += _entry(name, text, width)
    return lines


def _entry(name: str, text: str, width: int) -> list[str]:
    column = _COLUMN if width >= _NARROW else 4
    body = textwrap.wrap(text, max(width - column, 1)) or [""]
    rest = [" " * column + line for line in body[1:]]
    if len(name) + 3 > column:
        return [f"  {name}", " " * column + body[0], *rest]
    return [f"  {name:<{column - 2}}{body[0]}", *rest]


def _place_text(place: Argument) -> str:
    forms = {"": "{}", "?": "[{}]", "*": "[{}...]", "+": "{}..."}
    return forms[place.repeats].format(place.value_name)
