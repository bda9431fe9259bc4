"""Reading the words of one command by its declaration.

The declarations say all there is to know, so a small reader of our own does:
it starts faster than the standard one and its messages name the remedy.
"""

from collections.abc import Iterable
from typing import Any

from lyrsvc import brand
from lyrsvc.cli.command import GLOBAL_ARGUMENTS, Argument, Command
from lyrsvc.cli.flags import SettingFlag, setting_flags
from lyrsvc.core.errors import UsageError
from lyrsvc.core.setting import Entry

_NO_FLAG = (*"0123456789", "")
"""What follows the dash of a word that is no flag: a negative number, or nothing."""


class Args:
    """The values of a command's arguments, as attributes."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - each argument has its own type
        raise AttributeError(name)


def parse(
    command: Command, words: list[str], settings: Iterable[Entry]
) -> tuple[Args, dict[str, Any]]:
    """Read the words of a command; give its arguments and the settings' flags by path."""
    reader = _Reader(command, setting_flags(command, settings))
    try:
        return reader.read(words)
    except UsageError:
        if not command.discreet:
            raise
        see = f"see: {brand.PROGRAM} {command.name} --help"
        raise UsageError(f"{command.discreet}; {see}") from None


def asks_for_help(words: list[str]) -> bool:
    """Tell whether a line asks for help, whatever else is missing or wrong in it."""
    end = words.index("--") if "--" in words else len(words)
    return any(word in ("-h", "--help") for word in words[:end])


class _Reader:
    def __init__(self, command: Command, carried: list[SettingFlag]) -> None:
        self._command = command
        own = (*command.arguments, *GLOBAL_ARGUMENTS)
        self._places = [argument for argument in own if not argument.is_flag]
        self._flags: dict[str, Argument] = {
            name: a for a in (*own, *carried) if a.is_flag for name in a.names
        }
        self._off = {a.opposite().names[0]: a for a in carried if a.kind == "switch"}
        self._values: dict[str, Any] = {
            a.field: False if a.kind == "switch" else a.default for a in own
        }
        self._settings: dict[str, Any] = {}
        self._given: set[str] = set()

    def read(self, words: list[str]) -> tuple[Args, dict[str, Any]]:
        plain: list[str] = []
        queue = list(reversed(words))
        while queue:
            word = queue.pop()
            if word == "--":
                plain += reversed(queue)
                break
            if word.startswith("--"):
                self._take_long(word, queue)
            elif word.startswith("-") and word[1:2] not in _NO_FLAG:
                self._take_short(word, queue)
            else:
                plain.append(word)
        self._place(plain)
        self._check_flags()
        return Args(self._values), self._settings

    def _take_long(self, word: str, queue: list[str]) -> None:
        name, sign, value = word.partition("=")
        if name in self._off and not sign:
            self._keep(self._off[name], value=False)
            return
        argument = self._flags.get(name)
        if argument is None:
            raise self._wrong(f"unknown flag {name}")
        if argument.kind == "switch":
            if sign:
                raise self._wrong(f"{name} takes no value")
            self._keep(argument, value=True)
        elif argument.kind == "toggle":
            self._keep(argument, value=value if sign else "true")
        else:
            self._keep(argument, value=value if sign else self._next(name, queue))

    def _take_short(self, word: str, queue: list[str]) -> None:
        name, rest = word[:2], word[2:]
        argument = self._flags.get(name)
        if argument is None:
            raise self._wrong(f"unknown flag {name}")
        if argument.takes_value:
            self._keep(argument, value=rest.removeprefix("=") or self._next(name, queue))
            return
        self._keep(argument, value=True)
        if rest:
            queue.append(f"-{rest}")

    def _next(self, name: str, queue: list[str]) -> str:
        following = queue[-1] if queue else None
        if following is None or following.partition("=")[0] in self._flags or following == "--":
            raise self._wrong(f"{name} needs a value")
        return queue.pop()

    def _keep(self, argument: Argument, *, value: Any) -> None:  # noqa: ANN401
        if isinstance(argument, SettingFlag):
            if argument.kind == "switch" and self._settings.get(argument.path, value) != value:
                raise self._wrong(f"{argument.names[0]} and its opposite exclude each other")
            if argument.repeats:
                self._settings.setdefault(argument.path, []).append(value)
            else:
                self._settings[argument.path] = value
            return
        self._given.add(argument.names[0])
        checked = value if isinstance(value, bool) else _understood(argument, value)
        if argument.repeats:
            self._values[argument.field] = [*(self._values[argument.field] or []), checked]
        else:
            self._values[argument.field] = checked

    def _place(self, words: list[str]) -> None:
        rest = list(words)
        for place in self._places:
            if place.repeats in ("*", "+"):
                self._values[place.field] = [_understood(place, word) for word in rest]
                if place.repeats == "+" and not rest:
                    raise self._wrong(f"{place.value_name} is missing")
                return
            if rest:
                self._values[place.field] = _understood(place, rest.pop(0))
            elif place.repeats != "?":
                raise self._wrong(f"{place.value_name} is missing")
        if rest:
            raise self._wrong(f'unexpected word "{rest[0]}"')

    def _check_flags(self) -> None:
        for argument in self._command.arguments:
            name = argument.names[0]
            if argument.required and name not in self._given:
                raise self._wrong(f"{name} is missing")
            if name in self._given and argument.excludes in self._given:
                raise self._wrong(f"{name} and {argument.excludes} exclude each other")

    def _wrong(self, what: str) -> UsageError:
        return UsageError(f"{what}; see: {brand.PROGRAM} {self._command.name} --help")


def _understood(argument: Argument, text: str) -> Any:  # noqa: ANN401 - each kind has its type
    name = argument.names[0]
    if argument.kind == "number":
        if not text.isascii() or not text.isdigit() or len(text) > 18:
            called = name if argument.is_flag else argument.value_name
            raise UsageError(f'{called} "{text}" is not a whole number from 0')
        return int(text)
    if argument.choices and text not in argument.choices:
        raise UsageError(f'{name} "{text}" is not one of {", ".join(argument.choices)}')
    return text
