"""Which sidecar belongs to which audio file of one directory.

Stems are compared as bytes first; file systems and tools that change the Unicode
form or the case of a name are forgiven only where no exact match exists.
"""

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

NAMED: Final = ("lrc", "txt", "elrc")
"""The suffixes of sidecars, in the order of ``Sidecars``."""


class Sidecars(NamedTuple):
    """The names of an audio file's sidecars, None where there is none."""

    lrc: str | None = None
    txt: str | None = None
    elrc: str | None = None


def pair_sidecars(audio: Iterable[str], sidecars: Sequence[str]) -> dict[str, Sidecars]:
    """Give every audio name that has a sidecar with what it has."""
    stems = {name: split_name(name)[0] for name in audio}
    owned = set(stems.values())
    exact: dict[tuple[str, str], str] = {}
    spare: list[tuple[str, str, str]] = []
    for name in sidecars:
        stem, suffix = split_name(name)
        kind = suffix.lower()
        if stem in owned:
            _keep(exact, (stem, kind), name)
        elif kind in NAMED:
            spare.append((stem, kind, name))
    loose = [_index(spare, form) for form in (composed, folded)] if spare else []
    found = {name: _sidecars(stem, exact, loose) for name, stem in stems.items()}
    return {name: each for name, each in found.items() if any(each)}


def split_name(name: str) -> tuple[str, str]:
    """Divide a name at its last extension, which is given without the dot."""
    stem, dot, suffix = name.rpartition(".")
    return (stem, suffix) if dot and stem else (name, "")


_Names = dict[tuple[str, str], str]


def _sidecars(
    stem: str, exact: _Names, loose: list[tuple[Callable[[str], str], _Names]]
) -> Sidecars:
    found: list[str | None] = []
    for kind in NAMED:
        name = exact.get((stem, kind))
        for form, names in loose:
            name = name or names.get((form(stem), kind))
        found.append(name)
    return Sidecars(*found)


def _index(
    spare: list[tuple[str, str, str]], form: Callable[[str], str]
) -> tuple[Callable[[str], str], _Names]:
    names: _Names = {}
    for stem, kind, name in spare:
        _keep(names, (form(stem), kind), name)
    return form, names


def _keep(names: _Names, key: tuple[str, str], name: str) -> None:
    """Keep the first name, but let the common spelling of the extension win."""
    if key not in names or (name.endswith(f".{key[1]}") and not names[key].endswith(f".{key[1]}")):
        names[key] = name


def composed(stem: str) -> str:
    """Give a stem in one Unicode form."""
    return stem if stem.isascii() else unicodedata.normalize("NFC", stem)


def folded(stem: str) -> str:
    """Give a stem in one Unicode form and without regard to case."""
    return composed(stem).casefold()
