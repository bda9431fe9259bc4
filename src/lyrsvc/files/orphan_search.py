"""Looking for sidecars without audio: directories where everything has its partner pass quickly.

The rules of the walk are those of ``tree``; but nothing is asked of the file system
beyond the names, and only directories that may hold an orphan are handed out.
"""

import os
from collections.abc import Callable, Iterator, Set
from typing import Final

from lyrsvc.core.sidecar_names import has_language_suffix
from lyrsvc.files.pairing import composed, folded, split_name
from lyrsvc.files.tree import AUDIO, DEFAULT_DEPTH, KINDS, SIDECAR, is_skipped

STEP: Final = 256
"""Directories between two words about how far the walk is."""

_NO_TEXTS: Final = frozenset(
    {
        *("info", "readme", "notes", "tracklist", "track list", "log", "rip log", "accuraterip"),
        *("credits", "license", "folder", "checksum", "md5", "ffp", "fingerprint", "source"),
        *("lineage",),
    }
)
"""Stems of ``.txt`` files that are about an album, not lyrics of a song."""


class OrphanSearch:
    """One walk; ``on_step`` is told now and then where it is, and how many directories it met."""

    def __init__(
        self,
        top: str,
        *,
        depth: int = DEFAULT_DEPTH,
        skip: Set[str] = frozenset(),
        on_fault: Callable[[str, OSError], None] = lambda *_: None,
        on_step: Callable[[str, int], None] = lambda *_: None,
    ) -> None:
        self._waiting = [(top, 0)]
        self._depth = depth
        self._skip = skip
        self._on_fault = on_fault
        self._on_step = on_step

    def __iter__(self) -> Iterator[str]:
        """Give the directories that may hold an orphan, in the order of a walk."""
        met = 0
        path = self._waiting[-1][0]
        while self._waiting:
            path, level = self._waiting.pop()
            met += 1
            if met == STEP:
                self._on_step(path, met)
                met = 0
            below: list[str] = []
            try:
                with os.scandir(path) as entries:
                    is_suspect = _look(entries, below)
            except OSError as error:
                self._on_fault(path, error)
                continue
            if is_suspect:
                yield path
            if below and level < self._depth:
                below.sort(key=os.fsencode, reverse=True)
                prefix = path if path.endswith("/") else f"{path}/"
                paths = (prefix + name for name in below)
                self._waiting += [(each, level + 1) for each in paths if each not in self._skip]
        self._on_step(path, met)


def find_orphans(audio: Set[str], sidecars: list[str]) -> list[str]:
    """Give the sidecars whose stem is that of no audio file, however it is spelled."""
    alone = [name for name in sidecars if split_name(name)[0] not in audio]
    if not alone:
        return alone
    near = {form(stem) for stem in audio for form in (composed, folded)}
    return [name for name in alone if _is_orphan(*split_name(name), near)]


def _is_orphan(stem: str, suffix: str, near: Set[str]) -> bool:
    if composed(stem) in near or folded(stem) in near or has_language_suffix(stem):
        return False
    return not (suffix.lower() == "txt" and stem.strip().lower() in _NO_TEXTS)


def _look(entries: Iterator[os.DirEntry[str]], below: list[str]) -> bool:
    """Note the sub-directories; tell whether there is an orphan by all that names say."""
    audio: set[str] = set()
    lyrics: list[str] = []
    for entry in entries:
        name = entry.name
        if name[0] == "." and is_skipped(name):
            continue
        kind = KINDS.get(name[name.rfind(".") :].lower())
        if entry.is_dir(follow_symlinks=False):
            if not is_skipped(name):
                below.append(name)
        elif kind == AUDIO:
            audio.add(name[: name.rfind(".")])
        elif kind == SIDECAR:
            lyrics.append(name)
    return any(name[: name.rfind(".")] not in audio for name in lyrics) and bool(
        find_orphans(audio, lyrics)
    )
