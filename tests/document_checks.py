"""Judging documents: what a test cannot run, what was not printed, what leads nowhere."""

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from documents import COMMANDS, Document, read_document
from source_tree import ROOT

NEEDS_ANOTHER_MACHINE: Final = frozenset(
    [
        "docker",
        "sudo",
        "apt",
        "dnf",
        "apk",
        "systemctl",
        "journalctl",
        "rc-service",
        "rc-update",
        "pipx",
        "git",
        "brew",
        "lyrsvc-classifier",
        "py",
        "setx",
    ]
)
"""Programs whose commands cannot be run by a test; all others are."""
GATES: Final = (
    "python3 dev.py test",
    "python3 dev.py check",
    "python3 dev.py lock",
    "python3 dev.py bench",
)
"""Commands that would run these tests again, or work on the checkout itself."""


def needs_another_machine(text: str) -> bool:
    """Tell whether a command cannot be run by a test."""
    if text.startswith(GATES) or text.startswith("$env:"):
        return True
    words = [word for word in shlex.split(text, comments=True) if "=" not in word]
    return words[0] in NEEDS_ANOTHER_MACHINE or words[:2] == ["pip", "install"]


def tools_of(document: Document) -> list[str]:
    """Name the programs beside ours and the shell that the commands of a document call."""
    typed = [c.text for b in document.blocks if b.language in COMMANDS for c in b.commands]
    return [tool for tool in ("curl", "ffmpeg") if any(tool in text.split() for text in typed)]


def first_missing(shown: Sequence[str], printed: str) -> str | None:
    """Give the first shown line that does not come, in this order; ``…`` stands for anything."""
    lines = iter(" ".join(line.split()) for line in printed.splitlines())
    for wanted in shown:
        parts = [re.escape(part) for part in " ".join(wanted.split()).split("…")]
        if not any(re.fullmatch(".*".join(parts), line) for line in lines):
            return wanted
    return None


def is_broken(document: Document, target: str) -> bool:
    """Tell whether a link of a document leads nowhere; pictures may still have to be taken."""
    if re.match(r"https?://|mailto:", target):
        return False
    path, _, anchor = target.partition("#")
    place = (document.path.parent / path).resolve() if path else document.path
    if not place.exists():
        return place.parent != ROOT / "docs" / "img"
    return bool(anchor) and anchor not in read_document(place).anchors


def explained_messages() -> Iterator[str]:
    """Give the messages in the first column of the tables about troubles."""
    operations = read_document(ROOT / "docs" / "operations.md")
    inside = False
    for _, line in operations.prose:
        if line.startswith("## "):
            inside = line == "## Troubleshooting"
        if inside and line.startswith("| `"):
            yield from re.findall(r"`([^`]+)`", re.split(r"(?<!\\)\|", line)[1])
