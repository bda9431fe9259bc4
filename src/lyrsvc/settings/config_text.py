"""Reading the settings file as it stands: text, then TOML, or what is wrong with it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from lyrsvc.settings.findings import Finding, fault
from lyrsvc.settings.whole_files import read_whole

BOM = "\ufeff"


class ConfigText(NamedTuple):
    """The settings file as TOML; a broken one counts as empty beside its fault."""

    document: Mapping[str, Any]
    findings: tuple[Finding, ...] = ()


class BrokenToml(ValueError):
    """The text is no TOML; the message ends with line and column."""


def read_config(path: Path, *, missing: str) -> ConfigText:
    """Read the file; ``missing`` is the fault of a file that has to be there, or blank."""
    try:
        text = read_whole(path).decode("utf-8")
    except FileNotFoundError:
        return ConfigText({}, (fault("", missing),) if missing else ())
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        return ConfigText({}, (fault("", f"cannot read {path}: {reason}; {_remedy(error)}"),))
    return understand(text, path)


def _remedy(error: OSError | UnicodeDecodeError) -> str:
    match error:
        case PermissionError():
            return "make it readable for the user of the service"
        case UnicodeDecodeError():
            return "save it as UTF-8"
        case _:
            return "name another file with --config"


def understand(text: str, path: Path | None) -> ConfigText:
    """Read TOML and keep a syntax error as a fault."""
    try:
        return ConfigText(parse(text))
    except BrokenToml as error:
        return ConfigText({}, (fault("", f"{path}: {error}"),))


def parse(text: str) -> dict[str, Any]:
    """Read TOML, or raise ``BrokenToml`` with line and column."""
    if not text:
        return {}
    import tomllib  # not needed without a file

    body = text.removeprefix(BOM)
    try:
        return tomllib.loads(body)
    except tomllib.TOMLDecodeError as error:
        raise BrokenToml(_with_position(str(error), body)) from None
    except (ValueError, RecursionError):  # a number or a nesting beyond all reason
        raise BrokenToml("a number is too long or arrays are nested too deeply") from None


def _with_position(message: str, text: str) -> str:
    """Give the end of the text as line and column, too."""
    lines = text.replace("\r\n", "\n").split("\n")
    end = f"at line {len(lines)}, column {len(lines[-1]) + 1}"
    return message.replace("(at end of document)", f"({end})")
