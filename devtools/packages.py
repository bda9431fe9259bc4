"""Make everything a release hands out: wheel, source archive, .deb, .rpm, .apk, checksums, parts.

The .deb and the .rpm carry their own Python, frozen for the C library of this machine, so they
are made for this machine's type only. The .apk holds ready wheels and is made for both.
"""

import hashlib
import json
import platform
import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from devtools import Refusal, reference_pages, staging, workshop
from devtools.environment import RUNTIME_LOCK
from devtools.lockfiles import read_pins
from devtools.workshop import APK_PYTHON, Workshop

MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
"""What the kernel and what packages call the machine types we build for."""
CHECKSUMS = "SHA256SUMS"

_GLIBC = re.compile(rb"GLIBC_2\.(\d{1,3})\b")


def make(root: Path, kinds: Sequence[str]) -> Iterator[str]:
    """Make the packages of the given formats and tell of each finished file."""
    machine = platform.machine()
    if machine not in MACHINES or platform.system() != "Linux":
        raise Refusal("packages are made on Linux, on x86_64 or aarch64")
    shop = Workshop(root)
    workshop.ensure(shop)
    shop.dist.mkdir(exist_ok=True)
    for old in shop.dist.glob("lyrsvc[-_]*"):
        old.unlink()
    wheel = workshop.build_wheel(shop)
    version = version_of(root)
    pages = shop.build / "pages"
    pages.mkdir(exist_ok=True)
    for page in staging.PAGES:
        text = reference_pages.render(shop, page)
        (pages / page.path).write_text(text, "utf-8", newline="\n")
    glibc = ""
    frozen = shop.build / "lyrsvc"
    if set(kinds) & set(staging.SYSTEMD):
        workshop.freeze(shop, frozen)
        glibc = glibc_floor(frozen)
    for kind in kinds:
        for each in MACHINES if kind == "apk" else (machine,):
            program = frozen
            if kind == "apk":
                program = shop.build / f"vendored-{each}"
                workshop.vendor(shop, wheel, each, program)
            room = shop.build / f"{kind}-{each}"
            staging.lay_out(kind, root, pages, program, room)
            yield _pack(
                shop,
                kind,
                room,
                PACKAGE_ARCH=MACHINES[each],
                PACKAGE_VERSION=version,
                PACKAGE_GLIBC=glibc,
                PACKAGE_PYTHON=APK_PYTHON,
            )
    (shop.dist / f"lyrsvc-{version}.cdx.json").write_text(parts_list(root), "utf-8", newline="\n")
    yield f"lyrsvc-{version}.cdx.json"
    (shop.dist / CHECKSUMS).write_text(checksums(shop.dist), "utf-8", newline="\n")
    yield CHECKSUMS


def version_of(root: Path) -> str:
    """Read the version from the one place that says it."""
    found = re.search(
        r'^__version__ = "([^"]+)"$', (root / "src/lyrsvc/__init__.py").read_text("utf-8"), re.M
    )
    if found is None:
        raise Refusal("src/lyrsvc/__init__.py names no version")
    return found[1]


def check_release(root: Path, tag: str) -> None:
    """Refuse a release whose tag, version and changelog do not agree."""
    version = version_of(root)
    if tag != f"v{version}":
        raise Refusal(f"the tag is {tag}, but the version is {version}")
    changes = (root / "CHANGELOG.md").read_text("utf-8")
    if not re.search(rf"^## \[{re.escape(version)}\]", changes, re.M):
        raise Refusal(f"CHANGELOG.md has no section for {version}")


def glibc_floor(tree: Path) -> str:
    """Give the oldest C library that all binaries of a tree can live with."""
    minors = {
        int(minor)
        for path in tree.rglob("*")
        if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"
        for minor in _GLIBC.findall(path.read_bytes())
    }
    if not minors:
        raise Refusal(f"{tree} holds no binary for the GNU C library")
    return f"2.{max(minors)}"


def parts_list(root: Path) -> str:
    """List what the program is made of, as CycloneDX."""
    pins = read_pins((root / RUNTIME_LOCK).read_text("utf-8"))
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "name": project["name"],
                "version": version_of(root),
                "licenses": [{"license": {"id": project["license"]}}],
            }
        },
        "components": [
            {
                "type": "library",
                "name": name,
                "version": pin.version,
                "purl": f"pkg:pypi/{name}@{pin.version}",
            }
            for name, pin in sorted(pins.items())
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def checksums(directory: Path) -> str:
    """Sum up every file of a directory, in the form that ``sha256sum -c`` reads."""
    files = sorted(path for path in directory.iterdir() if path.is_file())
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in files
        if path.name != CHECKSUMS
    ]
    return "".join(lines)


def _pack(shop: Workshop, kind: str, room: Path, **variables: str) -> str:
    """Let nfpm make one package and give its name."""
    before = {path: path.stat().st_mtime_ns for path in shop.dist.iterdir()}
    words = ["package", "--packager", kind, "--target", str(shop.dist), "--config", "nfpm.yaml"]
    workshop.run(shop, [shop.command("nfpm"), *words], cwd=room, environ=variables)
    made = [path for path in shop.dist.iterdir() if before.get(path) != path.stat().st_mtime_ns]
    (package,) = made
    return package.name
