"""The repository names no machine it was written on and no registry it was fetched from."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from source_tree import ROOT

# The words are put together here, so that this file does not contain them.
MACHINE_PATHS = ["/" + "work/", "/" + "root/", "/" + "opt/wheels", "/" + "tmp/brief"]
REGISTRY_HOSTS = [
    ".".join(parts)
    for parts in [
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("crates", "io"),
        ("rubygems", "org"),
        ("proxy", "golang", "org"),
    ]
]
FOREIGN = re.compile(
    "|".join(
        [rf"(?<![\w.\-/}}]){re.escape(path)}" for path in MACHINE_PATHS]
        + [rf"(?<![\w\-]){re.escape(host)}(?![\w\-])" for host in REGISTRY_HOSTS]
    )
)
SKIPPED = {".git", ".venv", ".state", "dist", "build", "__pycache__", "node_modules"}


def repository_files() -> Iterator[Path]:
    """List what is or would be committed; everything, where git cannot tell."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            check=True,
            capture_output=True,
        ).stdout.decode()
        yield from (ROOT / name for name in listed.split("\0") if name)
    except (OSError, subprocess.CalledProcessError):
        for path in ROOT.rglob("*"):
            inside = path.relative_to(ROOT).parts
            if not SKIPPED.intersection(inside) and not any(
                part.endswith("_cache") for part in inside
            ):
                yield path


def foreign_words(text: str) -> list[str]:
    return [match[0] for match in FOREIGN.finditer(text)]


def test_no_file_names_a_machine_path_or_a_registry() -> None:
    found = {}
    for path in repository_files():
        if not path.is_file() or path.is_symlink():
            continue
        words = foreign_words(path.read_bytes().decode("utf-8", "replace"))
        if words:
            found[path.relative_to(ROOT).as_posix()] = sorted(set(words))
    assert found == {}


def test_some_files_are_looked_at() -> None:
    names = {path.name for path in repository_files()}
    assert {"dev.py", "pyproject.toml", "brand.py"} <= names


@pytest.mark.parametrize(
    "word", [*MACHINE_PATHS, *(f"https://{host}/x" for host in REGISTRY_HOSTS)]
)
def test_such_a_word_would_be_seen(word: str) -> None:
    assert foreign_words(f"see {word}")
    assert foreign_words(f'"{word}"')


@pytest.mark.parametrize("text", ["/network/", "/home/lidarr/work/x", "mypypi.orgs", "lrclib.net"])
def test_innocent_words_are_not_taken_for_one(text: str) -> None:
    assert foreign_words(text) == []
