"""The ``.env`` file: fills variables that are not set, and only our own."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from lyrsvc import brand
from lyrsvc.settings.environment_sections import Environment
from lyrsvc.settings.findings import Finding, warning
from lyrsvc.settings.registry import Registry

_NEVER = Environment.admin_password.env[0]
_LINE = r"""\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=[ \t]*
        (?: '([^']*)' | "((?:[^"\\]|\\.)*)" | ((?![ \t'"]|\#(?<=[ \t]\#)).*?|) )
        (?:[ \t]+\#.*)?[ \t]*"""


class DotEnv(NamedTuple):
    """The variables of a file, and what was odd in it."""

    variables: dict[str, str]
    findings: list[Finding]


def read_dotenv(text: str, name: str, registry: Registry) -> DotEnv:
    """Read ``NAME=value`` lines; nothing is expanded, and a message never shows a line."""
    result = DotEnv({}, [])
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text.removeprefix("\ufeff")), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = re.fullmatch(_LINE, line, re.VERBOSE)
        if match is None or "\0" in line:
            result.findings.append(warning("", f"{name} line {number} is not NAME=value; skipped"))
        elif match[1] == _NEVER:
            result.findings.append(
                warning("", f"{name} line {number}: {_NEVER} is taken from the environment only")
            )
        elif registry.knows_variable(match[1]) or match[1].startswith(brand.ENV_PREFIXES):
            result.variables[match[1]] = _value(match)  # unknown ones are warned of as others are
    return result


def filled(environ: Mapping[str, str], found: Mapping[str, str]) -> dict[str, str]:
    """Join the environment with a file's variables; what is already set, and not blank, wins."""
    return {
        **found,
        **{name: value for name, value in environ.items() if value.strip() or name not in found},
    }


def _value(match: re.Match[str]) -> str:
    if match[2] is not None:
        return match[2]
    if match[3] is not None:
        return re.sub(r'\\(["\\$`])', r"\1", match[3])
    return match[4].strip()
