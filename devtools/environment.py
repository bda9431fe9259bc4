"""The project's own environment, ``.venv``: made at first use, remade when it no longer fits.

A stamp, written last, says what the environment was made from. It is removed before any work
begins, so an environment whose making was cut short has none and is made again.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path

from devtools import Refusal

RUNTIME_LOCK = "requirements.lock"
BUILD_LOCK = "requirements-build.lock"
DEV_LOCK = "requirements-dev.lock"

MISLEADING = (
    "PIP_USER",
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_ROOT",
    "PIP_REQUIRE_HASHES",
    "PIP_CONSTRAINT",
    "PYTHONPATH",
    "PYTHONHOME",
)
"""Variables that would make pip install something else, or somewhere else."""


@dataclass(frozen=True)
class Environment:
    """Where the parts of a checkout's environment are."""

    root: Path

    @property
    def venv(self) -> Path:
        """The directory of the environment."""
        return self.root / ".venv"

    @property
    def stamp(self) -> Path:
        """The file that says what the environment was made from."""
        return self.venv / ".made-from.json"

    @property
    def turn(self) -> Path:
        """The file that is locked while somebody builds."""
        return self.venv / ".building"

    @property
    def python(self) -> Path:
        """The interpreter of the environment."""
        return self.command("python")

    def command(self, name: str) -> Path:
        """Give the path of an installed command."""
        if os.name == "nt":
            return self.venv / "Scripts" / f"{name}.exe"
        return self.venv / "bin" / name


@dataclass(frozen=True)
class Stamp:
    """What an environment was made from; ``dev`` is empty without the development packages."""

    python: str
    place: str
    runtime: str
    build: str
    dev: str
    project: str


class Work(StrEnum):
    """One piece of building."""

    CLEAR = "clear"
    RUNTIME = "runtime"
    DEV = "dev"
    PROJECT = "project"


def ensure(env: Environment, *, dev: bool) -> None:
    """Make the environment fit to use; a fitting one costs a few milliseconds."""
    wanted = present(env)
    if not plan(read_stamp(env), wanted, dev=dev):
        return
    with _turn_to_build(env) as turn:
        found = read_stamp(env)  # another dev.py may have built it while we waited
        works = plan(found, wanted, dev=dev)
        if works:
            env.stamp.unlink(missing_ok=True)
            _build(env, works, turn)
            has_dev = Work.DEV in works or bool(found and found.dev and Work.CLEAR not in works)
            _write_stamp(env, wanted if has_dev else replace(wanted, dev=""))


def present(env: Environment) -> Stamp:
    """Describe what an environment made now would be made from."""
    return Stamp(
        python=f"{sys.version} {sys.base_prefix}",
        place=str(env.venv),
        runtime=_digest(env.root / RUNTIME_LOCK),
        build=_digest(env.root / BUILD_LOCK),
        dev=_digest(env.root / DEV_LOCK),
        project=_digest(env.root / "pyproject.toml"),
    )


def plan(found: Stamp | None, wanted: Stamp, *, dev: bool) -> tuple[Work, ...]:
    """Decide what is to be done to the environment found; nothing when it fits."""
    packages = Work.DEV if dev else Work.RUNTIME
    if found is None or replace(found, dev="", project="") != replace(wanted, dev="", project=""):
        return (Work.CLEAR, packages, Work.PROJECT)
    if found.dev not in ("", wanted.dev):
        return (Work.CLEAR, packages, Work.PROJECT)
    works = []
    if dev and not found.dev:
        works.append(Work.DEV)
    if found.project != wanted.project:
        works.append(Work.PROJECT)
    return tuple(works)


def read_stamp(env: Environment) -> Stamp | None:
    """Read what the environment was made from; None when it is missing, damaged or half made."""
    try:
        stamp = Stamp(**json.loads(env.stamp.read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    whole = env.python.exists() and env.command("lyrsvc").exists()
    return stamp if whole else None


def _write_stamp(env: Environment, stamp: Stamp) -> None:
    draft = env.stamp.with_suffix(".new")
    draft.write_text(json.dumps(asdict(stamp), indent=1), "utf-8")
    draft.replace(env.stamp)


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        raise Refusal(f"{path.name} is missing; is this a whole checkout?") from None


@contextmanager
def _turn_to_build(env: Environment) -> Iterator[int]:
    """Let one dev.py build at a time; the lock dies with the process and its children."""
    env.venv.mkdir(exist_ok=True)
    handle = os.open(env.turn, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if not _lock(handle, wait=False):
            _say("waiting for another dev.py that prepares .venv")
            while not _lock(handle, wait=True):
                pass
        yield handle
    finally:
        os.close(handle)


def _lock(handle: int, *, wait: bool) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def _build(env: Environment, works: Sequence[Work], turn: int) -> None:
    from devtools import pip_source

    if Work.CLEAR in works:
        _say("preparing .venv; this needs the package registry, once")
        _clear(env)
        pip_source.make_venv(env)
    elif Work.DEV in works:
        _say("adding the development packages to .venv; this needs the package registry, once")
    pip = pip_source.find_pip(env)
    locks = ["-r", RUNTIME_LOCK, "-r", BUILD_LOCK] if Work.RUNTIME in works else []
    if Work.DEV in works:
        locks = ["-r", DEV_LOCK]
    if locks:
        _install(env, [*pip, "install", "--require-hashes", *locks], turn)
    if Work.PROJECT in works:
        _install(env, [*pip, "install", "--no-deps", "--no-build-isolation", "-e", "."], turn)


def _install(env: Environment, command: Sequence[str], turn: int) -> None:
    options = ["--quiet", "--disable-pip-version-check", "--no-input", "--no-warn-script-location"]
    environ = {name: value for name, value in os.environ.items() if name not in MISLEADING}
    done = subprocess.run(
        [*command, *options],
        cwd=env.root,
        env=environ,
        stdout=sys.stderr.fileno(),  # what a command prints belongs to that command
        pass_fds=() if os.name == "nt" else (turn,),
        check=False,
    )
    if done.returncode != 0:
        raise Refusal("the environment could not be made; pip says why above")


def _clear(env: Environment) -> None:
    import shutil

    try:
        for entry in env.venv.iterdir():
            if entry == env.turn:
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
    except PermissionError as error:
        raise Refusal(
            f"cannot remove {error.filename}; end what runs from .venv, start dev.py with the "
            "Python outside it, or remove .venv by hand"
        ) from None


def _say(sentence: str) -> None:
    print(f"dev.py: {sentence}", file=sys.stderr, flush=True)
