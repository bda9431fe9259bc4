"""The flags of commands together with those that settings bring along."""

from collections.abc import Iterable
from typing import Any

from lyrsvc.cli.command import GLOBAL_ARGUMENTS, Argument, Command
from lyrsvc.cli.commands import BY_NAME, COMMANDS
from lyrsvc.cli.dispatch import LEGACY
from lyrsvc.core.setting import ALL_COMMANDS, Entry

_WITHOUT_COMMAND = ("serve", LEGACY)
"""Commands whose flags may stand on a line without a command word."""


class SettingFlag(Argument):
    """The flag of a setting; its value is understood later, with all other sources."""

    def __init__(self, entry: Entry) -> None:
        setting, flag = entry.setting, entry.setting.flag
        if flag is None:
            raise ValueError(f"{entry.path} has no flag")
        offers = {"path": "path", "providers.primary": "lane"}
        super().__init__(
            (flag.name, flag.short) if flag.short else (flag.name,),
            setting.help,
            "switch" if setting.kind == "bool" else "text",
            choices=() if setting.kind == "bool" else setting.choices,
            repeats="*" if setting.kind in ("list", "cidrs") else "",
            offers=offers.get(setting.kind) or offers.get(entry.path, ""),
        )
        self.path = entry.path
        self.is_secret = setting.secret

    @property
    def shown_names(self) -> tuple[str, ...]:
        """The names, and the opposite of a switch."""
        return (*self.names, *self.opposite().names) if self.kind == "switch" else self.names


def spelled(flag: Argument, value: Any) -> list[str]:  # noqa: ANN401 - each flag has its type
    """Write a flag as it was given."""
    if isinstance(value, list):
        return [word for one in value for word in spelled(flag, one)]
    if isinstance(value, bool):
        return [(flag if value else flag.opposite()).names[0]]
    return [flag.names[0], str(value)]


def carries(command: Command, entry: Entry) -> bool:
    """Tell whether a command takes the flag of a setting."""
    flag = entry.setting.flag
    return flag is not None and (flag.on == ALL_COMMANDS or command.carries in flag.on)


def setting_flags(command: Command | None, entries: Iterable[Entry]) -> list[SettingFlag]:
    """List the setting flags a command carries; without a command, those of the old forms."""
    named = [BY_NAME[name] for name in _WITHOUT_COMMAND if name in BY_NAME]
    commands = [command] if command else named
    return [SettingFlag(e) for e in entries if any(carries(one, e) for one in commands)]


def every_valued_flag(entries: Iterable[Entry]) -> frozenset[str]:
    """Collect every flag of any command whose value is the next word."""
    own = (argument for command in COMMANDS for argument in command.arguments)
    carried = (SettingFlag(entry) for entry in entries if entry.setting.flag)
    return frozenset(
        name
        for argument in (*GLOBAL_ARGUMENTS, *own, *carried)
        if argument.is_flag and argument.takes_value
        for name in argument.names
    )
