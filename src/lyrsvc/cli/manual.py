"""The command reference page, made from the declarations: ``python -m lyrsvc.cli.manual``."""

import sys

from lyrsvc import brand
from lyrsvc.cli.command import GLOBAL_ARGUMENTS, Argument, Command
from lyrsvc.cli.commands import COMMANDS
from lyrsvc.cli.flags import setting_flags
from lyrsvc.settings.registry import Registry

_INTRODUCTION = """# Command line

Generated from the declarations of the commands. Results go to stdout; logs, notes and progress to
stderr. Listings are a table on a terminal, tab-separated without a header when piped (`--header`
adds one), and one JSON document with `--json`. On a narrow terminal a row takes several lines, and
only names are cut. Commands that delete or move something never ask: without `--yes` they print
what would happen.

| Exit code | Meaning |
|---|---|
| 0 | everything asked for is done, or a dry run was printed |
| 1 | something failed, was refused or cannot be reached |
| 2 | the command line is wrong |
| 3 | fetching: nothing failed, but at least one song has no lyrics |
| 130 | interrupted |
"""


def page() -> str:
    """Write the reference page."""
    parts = [_INTRODUCTION, "## Flags of every command\n"]
    entries = Registry().entries
    anything = Command("", "", "")
    everywhere = setting_flags(anything, entries)
    parts.append(_table((*GLOBAL_ARGUMENTS, *everywhere)))
    common = {argument.names for argument in everywhere}
    for command in sorted(COMMANDS, key=lambda each: each.name):
        carried = setting_flags(command, entries)
        own = [argument for argument in carried if argument.names not in common]
        arguments = (*command.arguments, *own)
        parts.append(f"## `{brand.PROGRAM} {command.name}`\n\n{command.help}\n")
        if arguments:
            parts.append(_table(arguments))
        if command.epilog:
            parts.append(f"{command.epilog}\n")
    return "\n".join(parts)


def _table(arguments: tuple[Argument, ...]) -> str:
    rows = ["| Word | Meaning |", "|---|---|"]
    cells = ((_name(argument), _meaning(argument)) for argument in arguments)
    rows += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells]
    return "\n".join(rows) + "\n"


def _name(argument: Argument) -> str:
    value = argument.value_name
    if not argument.is_flag:
        return f"`{value}`"
    names = ", ".join(f"`{name}`" for name in argument.shown_names)
    return f"{names} `{value}`" if argument.takes_value else names


def _meaning(argument: Argument) -> str:
    choices = f" One of: {', '.join(argument.choices)}." if argument.choices else ""
    default = f" Default: {argument.default}." if argument.default is not None else ""
    return argument.help + (choices if argument.kind != "switch" else "") + default


if __name__ == "__main__":
    sys.stdout.write(page())
