"""Read the lock files and tell whether they still fit what ``pyproject.toml`` declares."""

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devtools.environment import BUILD_LOCK, DEV_LOCK, RUNTIME_LOCK

LOCKS = (RUNTIME_LOCK, BUILD_LOCK, DEV_LOCK)
DECLARED = "# declared: sha256:"

_NAME = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)")
_EXACT = re.compile(r"==([A-Za-z0-9.!+_-]+)(?=[\s;\\]|$)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})\b")


@dataclass(frozen=True)
class Pin:
    """One package of a lock file; ``version`` is empty when it is not exact."""

    version: str
    hashes: frozenset[str]


def read_pins(text: str) -> dict[str, Pin]:
    """Read a lock file's packages by their normalised names."""
    pins: dict[str, Pin] = {}
    for line in text.replace("\\\n", " ").splitlines():
        name = _NAME.match(line)
        if name is None:
            continue
        exact = _EXACT.match(line, name.end())
        key = re.sub(r"[-_.]+", "-", name[1]).lower()
        pins[key] = Pin(exact[1] if exact else "", frozenset(_HASH.findall(line)))
    return pins


def declared_digest(pyproject: Mapping[str, Any]) -> str:
    """Digest everything a lock file is made from."""
    sources = [
        pyproject["project"].get("requires-python"),
        pyproject["project"].get("dependencies"),
        pyproject.get("dependency-groups"),
        pyproject.get("build-system", {}).get("requires"),
    ]
    return hashlib.sha256(json.dumps(sources, sort_keys=True).encode()).hexdigest()


def complaint(root: Path) -> str | None:
    """Say what is wrong with the lock files, without asking any registry; None when all is well."""
    digest = declared_digest(tomllib.loads((root / "pyproject.toml").read_text("utf-8")))
    texts = {name: (root / name).read_text("utf-8") for name in LOCKS if (root / name).exists()}
    faults = [f"{name} is missing" for name in LOCKS if name not in texts]
    for name, text in texts.items():
        if f"{DECLARED}{digest}" not in text.splitlines():
            faults.append(f"{name} was made from other dependencies than pyproject.toml declares")
        faults += [
            f"{name}: {package} lacks an exact version or a hash"
            for package, pin in read_pins(text).items()
            if not pin.version or not pin.hashes
        ]
    faults += disagreements({name: read_pins(text) for name, text in texts.items()})
    return "\n".join([*faults, "remedy: python3 dev.py lock"]) if faults else None


def disagreements(locks: Mapping[str, Mapping[str, Pin]]) -> list[str]:
    """List packages that the development lock pins otherwise than the smaller locks."""
    dev = locks.get(DEV_LOCK, {})
    return [
        f"{DEV_LOCK} and {name} disagree about {package}"
        for name, pins in locks.items()
        for package, pin in pins.items()
        if dev.get(package) != pin
    ]
