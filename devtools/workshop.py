"""Where packages are made: an environment of its own below ``build/``, and what it makes there.

The tools are pinned in a lock of their own, so that nobody needs them who only tests.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from devtools import Refusal, pip_source, search_paths, wheel_index
from devtools.environment import BUILD_LOCK, MISLEADING, RUNTIME_LOCK, Environment

PACKAGE_LOCK = "requirements-package.lock"
LOCKS = (RUNTIME_LOCK, BUILD_LOCK, PACKAGE_LOCK)
APK_PYTHON = "3.12"
"""The Python that the .apk is made for."""


@dataclass(frozen=True)
class Workshop(Environment):
    """The environment with the packaging tools, in the checkout but beside ``.venv``."""

    @property
    def build(self) -> Path:
        """Where everything that can be made again lies."""
        return self.root / "build" / "package"

    @property
    def venv(self) -> Path:
        """The directory of the environment."""
        return self.build / "venv"

    @property
    def dist(self) -> Path:
        """Where the finished files go."""
        return self.root / "dist"


def ensure(shop: Workshop) -> None:
    """Make the workshop's environment unless it fits the locks."""
    stamp = shop.venv / ".made-from"
    wanted = _digest(shop)
    if stamp.is_file() and stamp.read_text("utf-8") == wanted:
        return
    print("dev.py: preparing the workshop; this needs the package registry, once", file=sys.stderr)
    shutil.rmtree(shop.venv, ignore_errors=True)
    shop.build.mkdir(parents=True, exist_ok=True)
    pip_source.make_venv(shop)
    words = [word for lock in LOCKS for word in ("-r", str(shop.root / lock))]
    run(shop, [*pip_source.find_pip(shop), *_PIP, "install", "--require-hashes", *words])
    stamp.write_text(wanted, "utf-8")


def build_wheel(shop: Workshop) -> Path:
    """Build source archive and wheel, install the wheel into the workshop, and give its path."""
    draft = shop.build / "python"
    shutil.rmtree(draft, ignore_errors=True)
    words = ["-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", str(draft)]
    run(shop, [str(shop.python), *words], cwd=shop.root)
    (wheel,) = draft.glob("*.whl")
    words = ["install", "--no-deps", "--force-reinstall", str(wheel)]
    run(shop, [*pip_source.find_pip(shop), *_PIP, *words])
    for made in draft.iterdir():
        shutil.copy(made, shop.dist)
    return wheel


def freeze(shop: Workshop, place: Path) -> None:
    """Make a program tree with its own Python, for the C library of this system."""
    shutil.rmtree(place, ignore_errors=True)
    work = shop.build / "freezing"
    options: list[str | Path] = [
        "--noconfirm",
        "--clean",
        "--onedir",
        "--log-level",
        "ERROR",
        "--name",
        place.name,
    ]
    places: list[str | Path] = ["--distpath", place.parent, "--workpath", work, "--specpath", work]
    parts = ["--collect-submodules", "lyrsvc", "--collect-data", "lyrsvc"]
    parts += [word for name in _NOT_NEEDED for word in ("--exclude-module", name)]
    entry = shop.root / "packaging" / "frozen" / "entry.py"
    run(shop, [shop.command("pyinstaller"), *options, *places, *parts, entry], cwd=shop.build)
    search_paths.clean(place)


def vendor(shop: Workshop, wheel: Path, machine: str, place: Path) -> None:
    """Unpack the program and its locked wheels for musl systems of a machine type."""
    shutil.rmtree(place, ignore_errors=True)
    target: list[str | Path] = [
        "--target",
        place,
        "--python-platform",
        f"{machine}-unknown-linux-musl",
    ]
    target += ["--python-version", APK_PYTHON, "--only-binary", ":all:", "--no-config", "--quiet"]
    locked: list[str | Path] = ["--require-hashes", "--no-deps", "-r", shop.root / RUNTIME_LOCK]
    uv: list[str | Path] = [shop.command("uv"), "pip", "install", *target, *_indexes()]
    run(shop, [*uv, *locked])
    run(shop, [*uv, "--no-deps", "--no-index", wheel])
    for needless in ("bin", "apsw/sqlite_extra_binaries"):
        shutil.rmtree(place / needless, ignore_errors=True)
    (place / ".lock").unlink(missing_ok=True)


def run(
    shop: Workshop,
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> None:
    """Run a tool to its end, or refuse to go on."""
    clean = {name: value for name, value in os.environ.items() if name not in MISLEADING}
    clean |= {"UV_PYTHON_DOWNLOADS": "never", "PYINSTALLER_CONFIG_DIR": str(shop.build / "cache")}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=clean | dict(environ or {}),
        stdout=sys.stderr.fileno(),
        check=False,
    )
    if done.returncode != 0:
        raise Refusal(f"{Path(command[0]).name} failed with code {done.returncode}")


_PIP = ("--quiet", "--disable-pip-version-check", "--no-input")
_NOT_NEEDED = ("tkinter", "setuptools", "pip", "readline", "pydoc_data", "lib2to3", "test")


def _digest(shop: Workshop) -> str:
    digest = hashlib.sha256(f"{sys.version} {sys.base_prefix} {shop.venv}".encode())
    for name in LOCKS:
        digest.update((shop.root / name).read_bytes())
    return digest.hexdigest()


def _indexes() -> list[str]:
    main, *extra = wheel_index.index_urls(wheel_index.pip_settings(os.environ)) or [""]
    words = ["--default-index", main] if main else []
    return words + [word for url in extra for word in ("--index", url)]
