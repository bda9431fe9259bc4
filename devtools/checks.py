"""Everything that is checked without running the program: one line a step."""

import os
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from devtools import Refusal, lockfiles, package_lock, reference_pages
from devtools.environment import Environment

Step = Callable[[Environment], str | None]
"""Does one check and gives the complaint, or None when all is well."""


def run_all(env: Environment) -> list[str]:
    """Run every step, print a line for each and the output of those that fail; give their names."""
    failed = []
    with ThreadPoolExecutor(max_workers=max(2, os.cpu_count() or 2)) as pool:
        results = [(name, pool.submit(_timed, step, env)) for name, step in STEPS.items()]
        for name, result in results:
            complaint, seconds = result.result()
            verdict = "ok" if complaint is None else "FAILED"
            print(f"{name:14} {verdict:6} {seconds:5.1f} s", flush=True)
            if complaint is not None:
                failed.append(name)
                print(complaint.rstrip() + "\n", flush=True)
    return failed


def tool(*words: str) -> Step:
    """Make a step of a command of the environment."""

    def step(env: Environment) -> str | None:
        done = subprocess.run(
            [str(env.command(words[0])), *words[1:]],
            cwd=env.root,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
        return None if done.returncode == 0 else done.stdout or f"exit code {done.returncode}"

    return step


STEPS: dict[str, Step] = {
    "ruff format": tool("ruff", "format", "--check", "."),
    "ruff check": tool("ruff", "check", "--no-fix", "."),
    "mypy": tool("mypy"),
    "lint-imports": tool("lint-imports"),
    "docs fresh": reference_pages.compare,
    "locks fresh": lambda env: lockfiles.complaint(env.root) or package_lock.complaint(env.root),
}


def _timed(step: Step, env: Environment) -> tuple[str | None, float]:
    begin = time.monotonic()
    try:
        complaint = step(env)
    except (OSError, Refusal) as error:
        complaint = str(error)
    return complaint, time.monotonic() - begin
