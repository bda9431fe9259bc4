"""The programs that tests need beside Python packages, and how to get them."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

MISSING_VARIABLE = "DEV_MISSING_TOOLS"
"""Tells the tests which tools could not be had, separated by blanks."""


@dataclass(frozen=True)
class Tool:
    """A program by its commands, any of which will do, and its package for apt."""

    commands: tuple[str, ...]
    package: str

    def path(self) -> str | None:
        """Find the program; None when it is not installed."""
        found = (shutil.which(command) for command in self.commands)
        return next((path for path in found if path), None)


TOOLS = {
    "bash": Tool(("bash",), "bash"),
    "curl": Tool(("curl",), "curl"),
    "zsh": Tool(("zsh",), "zsh"),
    "fish": Tool(("fish",), "fish"),
    "ffmpeg": Tool(("ffmpeg",), "ffmpeg"),
    "espeak-ng": Tool(("espeak-ng",), "espeak-ng"),
    "chromium": Tool(("chromium", "chromium-browser", "google-chrome"), "chromium"),
    "busybox": Tool(("busybox",), "busybox"),
    "mkfs.vfat": Tool(("mkfs.vfat",), "dosfstools"),
    "prometheus": Tool(("prometheus",), "prometheus"),
    "promtool": Tool(("promtool",), "prometheus"),
}


def missing_tools() -> list[str]:
    """List the tools that are not installed."""
    return [name for name, tool in TOOLS.items() if tool.path() is None]


def provide() -> list[str]:
    """Install the missing tools where that is allowed; give those still missing."""
    missing = missing_tools()
    if missing and may_install():
        print(f"dev.py: installing {', '.join(missing)} with apt", file=sys.stderr, flush=True)
        apt_install([TOOLS[name].package for name in missing])
        missing = missing_tools()
    return missing


def may_install() -> bool:
    """Tell whether we are root on a system with apt."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    return is_root and shutil.which("apt-get") is not None


def apt_install(packages: Sequence[str]) -> None:
    """Install the packages, and when one of them cannot be had, the others."""
    if _apt("install", packages) or (_apt("update") and _apt("install", packages)):
        return
    for package in packages if len(packages) > 1 else ():
        _apt("install", [package])


def is_required(environ: Mapping[str, str]) -> bool:
    """Tell whether a missing tool is a failure."""
    return environ.get("CI", "").lower() in ("true", "1")


def closing_line(missing: Iterable[str]) -> str:
    """Say which tools are missing and what to install."""
    names = list(missing)
    packages = " ".join(TOOLS[name].package for name in names)
    return f"missing tools, their tests did not run: {', '.join(names)}; install: {packages}"


def _apt(verb: str, packages: Sequence[str] = ()) -> bool:
    options = ["-q", "-y", "-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::http::Timeout=30"]
    if verb == "install":
        options.append("--no-install-recommends")
    done = subprocess.run(
        ["apt-get", verb, *options, *packages],
        env=dict(os.environ, DEBIAN_FRONTEND="noninteractive"),
        stdin=subprocess.DEVNULL,
        check=False,
        capture_output=True,
    )
    return done.returncode == 0
