"""Put the commit and the day of the build into what is built, never into the source tree.

Wheel and source archive get a module ``lyrsvc/_build.py`` with ``COMMIT`` and ``BUILT``; a
checkout has none. A wheel made from a source archive keeps the archive's.
"""

import os
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACES = {"wheel": "lyrsvc/_build.py", "sdist": "src/lyrsvc/_build.py"}
COMMIT_VARIABLE = "LYRSVC_BUILD_COMMIT"
"""Names the commit where the build has no repository at hand, as in a container image."""


class BuildStamp(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the module to a wheel or a source archive; leaves editable installs alone."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the module to a temporary place and have it included from there."""
        root = Path(self.root)
        if version == "editable" or (root / PLACES["sdist"]).exists():
            return
        self._room = tempfile.TemporaryDirectory()
        module = Path(self._room.name) / "_build.py"
        module.write_text(stamp_text(commit(root), built()), "utf-8", newline="\n")
        build_data["force_include"][str(module)] = PLACES[self.target_name]

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary module."""
        if hasattr(self, "_room"):
            self._room.cleanup()


def stamp_text(commit: str, built: str) -> str:
    """Give the module's text."""
    return f'"""Which build this is."""\n\nCOMMIT = {commit!r}\nBUILT = {built!r}\n'


def commit(root: Path) -> str:
    """Name the commit being built, marked when the tree has changed since."""
    named = os.environ.get(COMMIT_VARIABLE, "")
    if named:
        return named[:7] if len(named) == 40 else named
    if not (root / ".git").exists():
        return "unknown"
    command = ["git", "describe", "--always", "--dirty", "--abbrev=7", "--exclude=*"]
    try:
        found = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.stdout.strip()


def built() -> str:
    """Give the day of the build, which SOURCE_DATE_EPOCH may fix."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    moment = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    return moment.date().isoformat()
