"""The lock of the packaging tools: made with the others, but installed only by ``package``."""

import hashlib
import shutil
import tempfile
from pathlib import Path

from devtools import locking
from devtools.environment import DEV_LOCK, Environment
from devtools.lockfiles import DECLARED, read_pins
from devtools.workshop import PACKAGE_LOCK

TOOLS = "packaging/tools.in"


def write(env: Environment, *, upgrade: bool) -> str:
    """Write the lock file and tell of it; shared packages get the versions of the others."""
    uv = locking.find_uv(env)
    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder)
        (room / TOOLS).parent.mkdir()
        shutil.copy(env.root / TOOLS, room / TOOLS)
        shutil.copy(env.root / DEV_LOCK, room)
        if not upgrade and (env.root / PACKAGE_LOCK).exists():
            shutil.copy(env.root / PACKAGE_LOCK, room)
        locking.compile_lock(uv, room, PACKAGE_LOCK, (TOOLS, "--constraints", DEV_LOCK))
        text = (room / PACKAGE_LOCK).read_text("utf-8").replace(f"    #   -c {DEV_LOCK}\n", "")
    head = f"# Made by `python3 dev.py lock`; do not edit.\n{DECLARED}{_digest(env.root)}\n"
    (env.root / PACKAGE_LOCK).write_text(head + text, "utf-8", newline="\n")
    return f"wrote {PACKAGE_LOCK}: {len(read_pins(text))} packages"


def complaint(root: Path) -> str | None:
    """Say what is wrong with the lock, without asking any registry; None when all is well."""
    path = root / PACKAGE_LOCK
    if not path.exists():
        return f"{PACKAGE_LOCK} is missing\nremedy: python3 dev.py lock"
    text = path.read_text("utf-8")
    pins, dev = read_pins(text), read_pins((root / DEV_LOCK).read_text("utf-8"))
    faults = [
        f"{PACKAGE_LOCK}: {name} lacks an exact version or a hash"
        for name, pin in pins.items()
        if not pin.version or not pin.hashes
    ]
    faults += [
        f"{PACKAGE_LOCK} and {DEV_LOCK} disagree about {name}"
        for name, pin in pins.items()
        if name in dev and dev[name].version != pin.version
    ]
    if f"{DECLARED}{_digest(root)}" not in text.splitlines():
        faults.append(f"{PACKAGE_LOCK} was made from other tools than {TOOLS} names")
    return "\n".join([*faults, "remedy: python3 dev.py lock"]) if faults else None


def _digest(root: Path) -> str:
    lines = (root / TOOLS).read_text("utf-8").splitlines()
    named = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return hashlib.sha256("\n".join(named).encode()).hexdigest()
