"""What stands beside an audio file: its class, and whether it is ours.

A sidecar is opened only when it first appears or a flag needs it, and then only if
what we remember of our own files leaves a question.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lyrsvc.core.scan_decision import WORDS, sidecar_bits
from lyrsvc.core.sidecar import (
    MARKER_REACH,
    Kind,
    OnDisk,
    content_hash,
    is_bare_marker,
    is_marker,
    state_of,
)
from lyrsvc.files.pairing import Sidecars
from lyrsvc.files.sidecars import LARGEST_OWN_BYTES, read_regular
from lyrsvc.store import written_files

if TYPE_CHECKING:
    from lyrsvc.store.database import Tx


class Standing(NamedTuple):
    """The sidecars of one audio file; ``moved_from`` is where ours was written before.

    ``song`` is what ours was written for, where it was looked up and is still known.
    """

    bits: int = 0
    kind: Kind | None = None
    ours: bool = False
    path: str = ""
    moved_from: Path | None = None
    song: Mapping[str, Any] | None = None

    @property
    def state(self) -> OnDisk:
        """Name it for the policy."""
        return state_of(self.kind, ours=self.ours)

    @property
    def has_words(self) -> bool:
        """Tell whether lyrics are there."""
        return bool(self.bits & WORDS)


NOTHING: Final = Standing()


def look(tx: "Tx", directory: str, names: Sidecars, *, remembers: bool) -> Standing:
    """Look at the deciding sidecar; ``remembers`` says that we ever wrote a file at all."""
    bits = sidecar_bits(*names)
    name = names.lrc or names.txt
    if name is None:
        return Standing(bits)
    if not remembers and names.lrc:
        return Standing(bits, Kind.LRC)  # nothing here can be ours, so it need not be opened
    path = Path(directory, name)
    known = written_files.recorded(tx, path) if remembers else None
    if known is not None and _is_untouched(path, known):
        song = written_files.song_of(tx, path)
        return Standing(bits, known.kind, ours=True, song=song)
    return _read(tx, path, bits, is_lrc=bool(names.lrc), remembers=remembers)


def _read(tx: "Tx", path: Path, bits: int, *, is_lrc: bool, remembers: bool) -> Standing:
    most = (LARGEST_OWN_BYTES if remembers else MARKER_REACH) + 1
    data = read_regular(path, most=most) or b""
    kind = Kind.LRC if is_lrc else Kind.MARKER if is_marker(data) else Kind.TXT
    if kind is Kind.MARKER and is_bare_marker(data):
        return Standing(bits, kind, ours=True)
    if not remembers or not data or len(data) == most:
        return Standing(bits, kind)
    sha256 = content_hash(data)
    if written_files.owns(tx, path, sha256):
        return Standing(bits, kind, ours=True, song=written_files.song_of(tx, path))
    moved = _moved_from(tx, path, sha256)
    if moved is None:
        return Standing(bits, kind, path=os.fspath(path))
    song = written_files.song_of(tx, moved)
    return Standing(bits, kind, ours=True, path=os.fspath(path), moved_from=moved, song=song)


def _moved_from(tx: "Tx", path: Path, sha256: str) -> Path | None:
    """Find where a file of ours stood before somebody moved it here."""
    for own in written_files.with_hash(tx, sha256):
        if own.path != path and not os.path.lexists(own.path):
            return own.path
    return None


def _is_untouched(path: Path, known: written_files.OwnFile) -> bool:
    try:
        facts = path.lstat()
    except OSError:
        return False
    return facts.st_size == known.size and facts.st_mtime_ns == known.mtime_ns
