"""The pages that are written by programs: settings, commands, example file, proofs of promises."""

import difflib
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from devtools import Refusal
from devtools.environment import Environment


@dataclass(frozen=True)
class Page:
    """A generated file and the words of the environment's Python that print it."""

    path: str
    words: tuple[str, ...]


TESTS = Path(__file__).resolve().parent.parent / "tests"

PAGES = (
    Page("docs/configuration.md", ("-m", "lyrsvc", "config", "docs", "--format", "markdown")),
    Page("docs/cli.md", ("-m", "lyrsvc.cli.manual")),
    Page("docs/http-api.md", ("-m", "lyrsvc.web.api_reference")),
    Page("docs/seed-checklist.md", (str(TESTS / "promise_page.py"),)),
    Page("config.example.toml", ("-m", "lyrsvc", "config", "docs", "--format", "toml")),
)


def write(env: Environment) -> list[str]:
    """Write every page and give their names."""
    for page in PAGES:
        target = env.root / page.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(render(env, page), "utf-8", newline="\n")
    return [page.path for page in PAGES]


def compare(env: Environment) -> str | None:
    """Give the difference between the pages on disk and fresh ones; None when there is none."""
    differences = [_difference(env, page) for page in PAGES]
    if not any(differences):
        return None
    return "".join(differences) + "remedy: python3 dev.py docs"


def render(env: Environment, page: Page) -> str:
    """Let the program print one page, untouched by the operator's own settings."""
    with tempfile.TemporaryDirectory() as empty:
        done = subprocess.run(
            [str(env.python), *page.words],
            cwd=empty,
            env=_neutral(empty),
            check=False,
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
    if done.returncode != 0 or not done.stdout:
        raise Refusal(f"{page.path} cannot be made: {done.stderr.strip() or 'nothing was printed'}")
    return done.stdout


def _neutral(home: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    return kept | {"HOME": home, "USERPROFILE": home, "COLUMNS": "100", "PYTHONUTF8": "1"}


def _difference(env: Environment, page: Page) -> str:
    target = env.root / page.path
    found = target.read_text("utf-8") if target.exists() else ""
    fresh = render(env, page)
    lines = difflib.unified_diff(
        found.splitlines(keepends=True),
        fresh.splitlines(keepends=True),
        page.path,
        f"{page.path} as it should be",
    )
    return "".join(lines)
