"""Variables are read in one place and handed on as values."""

import ast
from collections.abc import Iterator

import pytest

from source_tree import dotted, modules, name

THE_ONE_READER = "cli/main.py"
READERS = ("environ", "environb", "getenv", "getenvb", "putenv", "unsetenv")


def environment_reads(source: str) -> Iterator[int]:
    """Give the lines that touch the process environment, under whatever name ``os`` goes."""
    tree = ast.parse(source)
    aliases = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name in ("os", "posix", "nt")
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and node.attr in READERS
            and dotted(node.value) in aliases
        ):
            yield node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module in ("os", "posix", "nt"):
            yield from (node.lineno for alias in node.names if alias.name in READERS)


def test_only_the_entry_module_reads_the_environment() -> None:
    found = {
        name(path): lines
        for path in modules()
        if name(path) != THE_ONE_READER
        if (lines := list(environment_reads(path.read_text("utf-8"))))
    }
    assert found == {}


@pytest.mark.parametrize(
    "source",
    [
        "import os\nx = os.environ['HOME']",
        "import os as system\nx = system.getenv('HOME')",
        "def f():\n    from os import environ",
        "import os\nx = dict(os.environb)",
    ],
)
def test_a_read_would_be_seen(source: str) -> None:
    assert len(list(environment_reads(source))) == 1


def test_other_uses_of_os_are_fine() -> None:
    assert list(environment_reads("import os\nx = os.fsync(1)\ny = call.environ")) == []
