"""What documents may name, because the program really has it."""

import ast
import importlib.util
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import dev
from lyrsvc.cli.command import GLOBAL_ARGUMENTS, Command
from lyrsvc.cli.commands import BY_NAME, COMMANDS
from lyrsvc.cli.dispatch import divide
from lyrsvc.cli.flags import every_valued_flag, setting_flags
from lyrsvc.cli.parsing import parse
from lyrsvc.core.errors import UsageError
from lyrsvc.core.setting import Table
from lyrsvc.logs.audit import LEVELS
from lyrsvc.settings.registry import Registry
from lyrsvc.settings.sections import Settings
from lyrsvc.web.metrics import FAMILIES
from lyrsvc.web.routes import all_routes
from source_tree import ROOT, modules

SECTIONS: Final = tuple(
    name for name, member in vars(Settings).items() if isinstance(member, Table)
)
GROUPS: Final = frozenset(name.split()[0] for name in BY_NAME if " " in name)

_PLACEHOLDERS: Final = {"ID": "1", "N": "1", "SECONDS": "1"}
_ENDS_LINE: Final = frozenset({"|", ">", ">>", "<", "&&", "||", ";", "2>&1", "&"})
_VARIABLE: Final = re.compile(r"\b(?:LYRSVC|LYRSVCGO)_[A-Z][A-Z0-9_]*\b|\bPROVIDER_TOKEN\w*")
_METRIC: Final = re.compile(r"\blyrsvcgo_[a-z_]+\b")
_SETTING: Final = re.compile(rf"^(?:{'|'.join(SECTIONS)})(?:\.[a-z_]+)+$")
_OWN_FILE: Final = re.compile(
    r"^(?:packaging|docs|tests|src|examples|bench|classifier|devtools)/[\w./*-]*$"
)
_ADDRESS: Final = re.compile(
    r"^(?:(GET|POST|PUT|PATCH|DELETE) )?(/(?:api/v1|healthz|readyz|ping|metrics|dashboard|settings"
    r"|reports|wanted|queue|history|libraries|system|login|logout|setup|static)\b[^\s?]*)"
)


@cache
def registry() -> Registry:
    """Give every setting, those of the example lane too."""
    path = ROOT / "examples" / "lyrsvc-provider-example" / "src" / "lyrsvc_provider_example.py"
    found = importlib.util.spec_from_file_location("documented_example_lane", path)
    example = importlib.util.module_from_spec(found)
    found.loader.exec_module(example)
    return Registry().with_lanes({"shelf": example.Section})


def unknown_variables(text: str) -> list[str]:
    """Give the variables of ours in a text that no setting answers to."""
    return [name for name in _VARIABLE.findall(text) if not registry().knows_variable(name)]


def unknown_metrics(text: str) -> list[str]:
    """Give the metrics of ours in a text that nobody measures."""
    known = {f"lyrsvcgo_{family.name}" for family in FAMILIES}
    return [name for name in _METRIC.findall(text) if name not in known]


def is_unknown_setting(span: str) -> bool:
    """Tell whether a span names a setting that does not exist."""
    name = span.partition("=")[0].strip()
    if not _SETTING.match(name) or name in LEVELS:
        return False
    return not any(path == name or path.startswith(f"{name}.") for path in registry().by_path)


def is_unknown_address(span: str) -> bool:
    """Tell whether a span names an address that nobody answers."""
    found = _ADDRESS.match(span)
    if found is None or found[2].endswith("…"):
        return False
    method, path = found[1], re.sub(r"\{\w+\}", "1", found[2])
    return not any(
        route.pattern.fullmatch(path) and (method is None or method in route.methods)
        for route in all_routes(pages=True)
    )


def is_missing_file(span: str, place: Path = ROOT) -> bool:
    """Tell whether a span names a file of the repository, or beside a place, that is not there."""
    if not _OWN_FILE.match(span):
        return False
    return not any(found for root in (ROOT, place) for found in root.glob(span.rstrip("/")))


def is_unknown_flag(span: str) -> bool:
    """Tell whether a span that is nothing but a flag belongs to no command."""
    name = re.split(r"[ =]", span)[0]
    if not re.fullmatch(r"--[a-z][a-z-]*", name):
        return False
    every = {flag for command in COMMANDS for flag in _flags(command)}
    return name not in every | {"--serve", "--version"}


def wrong_line(text: str) -> str:
    """Say what is wrong with a line that calls the program; empty when nothing is."""
    if text.startswith("python3 dev.py ") and text.split()[2] not in dev.VERBS:
        return f"no such verb: {text}"
    words = program_words(text.replace("python3 dev.py run ", "lyrsvc "))
    if words is None:
        return ""
    line = divide(words, every_valued_flag(registry().entries))
    if line.asks:
        return ""
    if line.command is None:
        return f"no such command: lyrsvc {' '.join(words)}"
    try:
        parse(line.command, line.rest, registry().entries)
    except UsageError as error:
        return str(error)
    return ""


def is_wrong_mention(span: str) -> bool:
    """Tell whether a span calls the program by a command or a flag that does not exist.

    What prose leaves out may be missing: ``lyrsvc secrets set`` is a mention, not a call.
    """
    if span.startswith("python3 dev.py "):
        return span.split()[2] not in dev.VERBS
    if not span.startswith("lyrsvc "):
        return False
    words = program_words(span) or []
    line = divide(words, every_valued_flag(registry().entries))
    if line.command is None:
        return not line.asks
    named = (word.partition("=")[0] for word in line.rest if word.startswith("--"))
    return not {*named} <= _flags(line.command)


def program_words(text: str) -> list[str] | None:
    """Give the words for the program in a line of a shell; None when it is not called."""
    words = shlex.split(text.replace("\\\n", " "), comments=True)
    calls = [at for at, word in enumerate(words) if word == "lyrsvc" and words[at - 1] != "--name"]
    if not calls or calls[-1] == len(words) - 1:
        return None
    rest = words[calls[-1] + 1 :]
    end = next((at for at, word in enumerate(rest) if word in _ENDS_LINE), len(rest))
    return [_PLACEHOLDERS.get(word, word) for word in rest[:end] if word not in ("…", "...")]


def is_wrong_command_span(span: str) -> bool:
    """Tell whether a span such as ``queue retry ID`` starts like a command that is none."""
    words = span.split()
    if len(words) < 2 or words[0] not in GROUPS or not re.fullmatch(r"[a-z][a-z-]+", words[1]):
        return False
    return " ".join(words[:2]) not in BY_NAME


def string_constants() -> Iterator[str]:
    """Give every text in the program's source."""
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def _flags(command: Command) -> set[str]:
    """Give every flag that a command takes."""
    carried = setting_flags(command, registry().entries)
    given = (*command.arguments, *GLOBAL_ARGUMENTS, *carried, *(a.opposite() for a in carried))
    return {name for argument in given for name in argument.names}
