"""Reading a secret value: typed unseen on the terminal, or piped in; never an argument."""

from typing import TextIO

from lyrsvc.cli.call import World
from lyrsvc.core.errors import Refused, UsageError

_MOST_CHARACTERS = 64 * 1024


def read_value(world: World, name: str) -> str:
    """Read one value; a terminal is asked without echo, anything else is read to its end."""
    stdin: TextIO | None = world.stdin
    if stdin is not None and stdin.isatty():
        return _ask(f"{name}: ")
    try:
        text = stdin.read(_MOST_CHARACTERS + 1) if stdin is not None else ""
    except UnicodeDecodeError:
        raise UsageError(f"the value of {name} is not text") from None
    if len(text) > _MOST_CHARACTERS:
        raise UsageError(f"the value of {name} is longer than 64 KiB")
    return text.removeprefix("\ufeff").removesuffix("\n").removesuffix("\r")


def read_password(world: World) -> str:
    """Read a new password, blanks and all; a terminal is asked twice, without echo."""
    stdin: TextIO | None = world.stdin
    if stdin is not None and stdin.isatty():
        password = _ask("New password: ")
        if _ask("Again: ") != password:
            raise Refused("the two passwords are not the same; nothing was changed")
        return password
    try:
        text = stdin.read(_MOST_CHARACTERS + 1) if stdin is not None else ""
    except UnicodeDecodeError:
        raise Refused("the password is not valid text; nothing was changed") from None
    return text[:-1].removesuffix("\r") if text.endswith("\n") else text


def _ask(prompt: str) -> str:
    import warnings
    from getpass import GetPassWarning, getpass

    with warnings.catch_warnings():
        warnings.simplefilter("error", GetPassWarning)
        try:
            return getpass(prompt)
        except EOFError:
            return ""
        except GetPassWarning as error:
            raise Refused(
                "this terminal cannot hide what is typed; pipe the value in instead"
            ) from error
