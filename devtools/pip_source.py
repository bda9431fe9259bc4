"""Find a pip for a new environment, also for a Python that comes without one.

The order: the wheel that Python carries for ``ensurepip``; the pinned wheel, fetched through the
index that pip's own settings name; a pip that is already there; the system's package.
"""

import hashlib
import importlib.util
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

from devtools import Refusal, wheel_index
from devtools.environment import BUILD_LOCK, Environment

REMEDY = (
    "this Python comes without ensurepip and pip; install python3-venv (apt) or your system's "
    "package of pip, or set PIP_INDEX_URL to a package index"
)


def make_venv(env: Environment) -> None:
    """Make the empty environment and give it a pip when there is one to give."""
    if importlib.util.find_spec("venv") is None and not _install_system_package():
        raise Refusal("this Python comes without venv; install python3-venv (apt) or a full Python")
    base = base_python()
    made = subprocess.run(
        [base, "-m", "venv", "--without-pip", str(env.venv)],
        check=False,
        capture_output=True,
        text=True,
    )
    if made.returncode != 0:
        raise Refusal(f"cannot make .venv: {(made.stderr or made.stdout).strip()}")
    wheel = bundled_wheel() or fetched_wheel(env)
    if wheel is None and not _has_pip(base) and _install_system_package():
        wheel = bundled_wheel()
    if wheel is not None:
        _unpack(wheel, env)


def find_pip(env: Environment) -> list[str]:
    """Give the command of a pip that works on the environment."""
    if _has_pip(str(env.python)):
        return [str(env.python), "-m", "pip"]
    if _has_pip(base_python()):
        return [base_python(), "-m", "pip", "--python", str(env.python)]
    raise Refusal(REMEDY)


def base_python() -> str:
    """Give the Python that environments are made from, also when started from inside one."""
    return str(getattr(sys, "_base_executable", "") or sys.executable)


def bundled_wheel() -> Path | None:
    """Find the pip wheel that belongs to this Python."""
    places = [Path(sysconfig.get_path("stdlib")) / "ensurepip" / "_bundled"]
    packaged = sysconfig.get_config_var("WHEEL_PKG_DIR")
    if packaged:
        places.append(Path(packaged))
    wheels = [wheel for place in places for wheel in place.glob("pip-*.whl")]
    return max(wheels, key=_version) if wheels else None


def fetched_wheel(env: Environment) -> Path | None:
    """Fetch the pinned pip wheel through the configured index; None without one."""
    from devtools.lockfiles import read_pins

    pin = read_pins((env.root / BUILD_LOCK).read_text("utf-8"))["pip"]
    name = f"pip-{pin.version}-py3-none-any.whl"
    content = wheel_index.fetch("pip", name)
    if content is None:
        return None
    if hashlib.sha256(content).hexdigest() not in pin.hashes:
        raise Refusal(f"{name} from the configured index is not the file {BUILD_LOCK} pins")
    wheel = env.venv / name
    wheel.write_bytes(content)
    return wheel


def _unpack(wheel: Path, env: Environment) -> None:
    # A pure wheel unpacked is a wheel installed; ensurepip would take seconds for the same.
    paths = sysconfig.get_paths("venv", vars={"base": str(env.venv), "platbase": str(env.venv)})
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(paths["purelib"])
    if wheel.parent == env.venv:
        wheel.unlink()


def _version(wheel: Path) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", wheel.name.split("-")[1])]


def _has_pip(python: str) -> bool:
    probe = [python, "-m", "pip", "--version"]
    return subprocess.run(probe, check=False, capture_output=True).returncode == 0


def _install_system_package() -> bool:
    from devtools.system_tools import apt_install, may_install

    if not may_install():
        return False
    print("dev.py: installing python3-venv with apt", file=sys.stderr, flush=True)
    apt_install(["python3-venv"])
    importlib.invalidate_caches()
    return bundled_wheel() is not None
