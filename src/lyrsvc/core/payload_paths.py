"""Paths as another machine spells them, as text: what they are called here, and how they end."""

import os
import re
import unicodedata
from typing import Final

LONGEST_BYTES: Final = 4096

PathMappings = tuple[tuple[str, str], ...]
"""Pairs of a prefix there and the same place here."""

_WINDOWS: Final = re.compile(r"[A-Za-z]:[\\/]|\\\\")
_ENDS: Final = "/\\"


def local_path(path: str, mappings: PathMappings = ()) -> str | None:
    """Give an absolute path of this machine without dots and doubled slashes, or None."""
    text = _mapped(path, mappings)
    if not is_storable(text) or not os.path.isabs(text):  # noqa: PTH117 - asked for each path
        return None
    cleaned = os.path.normpath(text if text.isascii() else os.fsdecode(os.fsencode(text)))
    return "/" + cleaned.lstrip("/") if cleaned.startswith("//") else cleaned


def is_storable(path: str) -> bool:
    """Tell whether a text can be a path at all: not blank, not endless, made of bytes."""
    if not path or "\0" in path:
        return False
    try:
        return len(os.fsencode(path)) <= LONGEST_BYTES
    except UnicodeEncodeError:  # a lone surrogate that stands for no byte
        return False


def stem_of(path: str) -> str:
    """Give the last name of a path of any system, without its extension."""
    name = re.split(r"[\\/]" if _WINDOWS.match(path) else "/", path)[-1]
    stem, dot, _ = name.rpartition(".")
    return stem if dot and stem else name


def spellings(path: str) -> tuple[str, ...]:
    """Give a path as it is and in both Unicode forms; one that is gone cannot be looked up."""
    forms = (path, unicodedata.normalize("NFC", path), unicodedata.normalize("NFD", path))
    return tuple(dict.fromkeys(forms))


def _mapped(path: str, mappings: PathMappings) -> str:
    """Replace the longest prefix of whole components; both slashes divide on the left side."""
    if not mappings:
        return path
    is_windows = _WINDOWS.match(path) is not None
    wanted = _slashed(path, fold=is_windows)
    best: tuple[int, str] | None = None
    for before, after in mappings:
        prefix = _slashed(before.rstrip(_ENDS), fold=is_windows)
        inside = wanted == prefix or wanted.startswith(f"{prefix}/")
        if inside and (best is None or len(prefix) > best[0]):
            best = len(prefix), after
    if best is None:
        return path
    rest = path[best[0] :]
    if is_windows:
        rest = rest.replace("\\", "/")
    return f"{best[1].rstrip('/')}/{rest.lstrip(_ENDS)}" if rest.strip(_ENDS) else best[1]


def _slashed(text: str, *, fold: bool) -> str:
    """Give a text with one kind of slash; letters keep their number when case is dropped."""
    text = text.replace("\\", "/")
    return "".join(_lowered(letter) for letter in text) if fold else text


def _lowered(letter: str) -> str:
    lower = letter.lower()
    return lower if len(lower) == 1 else letter
