"""Make the lock files: exact versions with SHA-256 hashes, for every platform at once."""

import os
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from devtools import Refusal, wheel_index
from devtools.environment import BUILD_LOCK, DEV_LOCK, RUNTIME_LOCK, Environment, ensure
from devtools.lockfiles import DECLARED, LOCKS, declared_digest, read_pins

OLDEST_PYTHON = "3.11"
SOURCES = {
    DEV_LOCK: ("pyproject.toml", "--group", "dev"),
    RUNTIME_LOCK: ("pyproject.toml", "--constraints", DEV_LOCK),
    BUILD_LOCK: ("--group", "build", "--constraints", DEV_LOCK),
}
"""The largest first: the others take its versions, so that all agree."""

PLATFORMS = {
    "x86_64-manylinux_2_28": DEV_LOCK,
    "aarch64-manylinux_2_28": DEV_LOCK,
    "x86_64-unknown-linux-musl": RUNTIME_LOCK,
    "aarch64-unknown-linux-musl": RUNTIME_LOCK,
}
"""Where every package of a lock must come as a wheel: amd64 and arm64, glibc and musl.

A browser's driver and the classifier's engines, which only tests need, come for glibc alone.
"""


def write_locks(env: Environment, *, upgrade: bool) -> Iterator[str]:
    """Write the lock files and tell of each; refuse when a platform would lack a wheel."""
    uv = find_uv(env)
    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder)
        shutil.copy(env.root / "pyproject.toml", room)
        if not upgrade:
            for name in LOCKS:
                if (env.root / name).exists():
                    shutil.copy(env.root / name, room)
        for name, source in SOURCES.items():
            compile_lock(uv, room, name, source)
        for platform, lock in PLATFORMS.items():
            _check_wheels(uv, room, platform, lock)
        digest = declared_digest(tomllib.loads((room / "pyproject.toml").read_text("utf-8")))
        for name in LOCKS:
            text = (room / name).read_text("utf-8").replace(f"    #   -c {DEV_LOCK}\n", "")
            head = f"# Made by `python3 dev.py lock`; do not edit.\n{DECLARED}{digest}\n"
            (env.root / name).write_text(head + text, "utf-8", newline="\n")
            yield f"wrote {name}: {len(read_pins(text))} packages"


def find_uv(env: Environment) -> str:
    """Give the path of uv: the environment's, or the system's while there is no lock yet."""
    if all((env.root / name).exists() for name in LOCKS):
        ensure(env, dev=True)
        return str(env.command("uv"))
    uv = shutil.which("uv", path=str(env.command("uv").parent)) or shutil.which("uv")
    if uv is None:
        raise Refusal("without lock files there is no environment to make new ones; install uv")
    return uv


def compile_lock(uv: str, room: Path, name: str, source: Sequence[str]) -> None:
    """Have uv pin a source in a lock file of the room."""
    options = ["--universal", "--generate-hashes", "--no-header", "--quiet"]
    _uv(uv, room, ["compile", *source, *options, "--output-file", name])


def _check_wheels(uv: str, room: Path, platform: str, lock: str) -> None:
    options = ["--no-deps", "--only-binary", ":all:", "--python-platform", platform, "--quiet"]
    _uv(uv, room, ["compile", lock, *options])


def _uv(uv: str, room: Path, words: Sequence[str]) -> None:
    environ = dict(os.environ, UV_PYTHON_DOWNLOADS="never")
    main, *extra = wheel_index.index_urls(wheel_index.pip_settings(os.environ)) or [""]
    indexes = ["--default-index", main] if main else []
    indexes += [word for url in extra for word in ("--index", url)]
    done = subprocess.run(
        [uv, "pip", *words, "--python-version", OLDEST_PYTHON, "--no-cache", *indexes],
        cwd=room,
        env=environ,
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise Refusal(f"uv could not make the lock files:\n{done.stderr.strip()}")
