"""What realign decides upon: orphans with their headers, audio with its tags.

Tags come from the inventory where the file is as the scan saw it; a file is opened only
when something depends on it. Nothing is concluded from a directory that cannot be
listed to its end.
"""

import codecs
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lyrsvc.core.errors import FileFault
from lyrsvc.core.isrc import read_isrcs
from lyrsvc.core.library import Library
from lyrsvc.core.lrc import decode, read_header
from lyrsvc.core.mbid import read_mbid
from lyrsvc.core.orphans import Audio, Folder, Orphan, RealignPolicy
from lyrsvc.core.ptext import to_ptext
from lyrsvc.core.scan_decision import stamp_of
from lyrsvc.files.orphan_search import find_orphans
from lyrsvc.files.pairing import Sidecars, folded, pair_sidecars, split_name
from lyrsvc.files.sidecars import HEADER_REACH, read_regular
from lyrsvc.files.tags import READER_VERSION, read_tags
from lyrsvc.files.tree import AudioFile, Listing, list_directory
from lyrsvc.services.scan_gate import below, join
from lyrsvc.store import stem_rows
from lyrsvc.store.database import Database

LARGEST_BYTES: Final = 256 * 1024
"""A larger file is no lyrics."""

_ORDER: Final = ("lrc", "elrc", "txt")
_BARE: Final = Sidecars()
_WIDE: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""How text begins whose characters may hold a zero byte."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that cannot be judged, and why; ``is_fault`` when it ought to be readable."""

    path: str
    reason: str
    is_fault: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """What one directory holds."""

    folder: Folder
    problems: tuple[Problem, ...] = ()


class OrphanFacts:
    """Gathers the facts of one library."""

    def __init__(self, db: Database, library: Library, policy: RealignPolicy) -> None:
        self._db = db
        self._library = library
        self._policy = policy
        self._root = os.fspath(library.path)

    def look(self, path: str) -> Found:
        """Look at a directory that may hold an orphan."""
        listing = list_directory(path)
        if listing.fault:
            problem = Problem(
                path, f"the directory cannot be listed: {listing.fault}", is_fault=True
            )
            return Found(Folder(orphans=(), audio=()), (problem,))
        names = (*(file.name for file in listing.audio), *(bad.name for bad in listing.faults))
        stems = {split_name(name)[0] for name in names}
        orphans: list[Orphan] = []
        problems: list[Problem] = []
        for unit_names in _units(find_orphans(stems, listing.sidecars)):
            unit = _read_unit(path, unit_names)
            if isinstance(unit, Orphan):
                orphans.append(unit)
            else:
                problems += unit
        audio = self._audio(listing, self._is_asked(orphans, listing)) if orphans else ()
        return Found(Folder(orphans=tuple(orphans), audio=tuple(audio)), tuple(problems))

    def audio_of(self, listing: Listing) -> Iterator[Audio]:
        """Give every audio stem of a directory with its tags."""
        return self._audio(listing, asks=True)

    def _is_asked(self, orphans: list[Orphan], listing: Listing) -> bool:
        """Tell whether anything depends on tags."""
        if any(orphan.ids.get(key) for orphan in orphans for key in self._policy.identity_keys):
            return True
        served = pair_sidecars([file.name for file in listing.audio], listing.sidecars)
        bare = {split_name(f.name)[0] for f in listing.audio} - {split_name(n)[0] for n in served}
        if len(orphans) == 1:
            return len(bare) == 1
        return self._policy.name_match and len(bare) > 1

    def _audio(self, listing: Listing, asks: bool) -> Iterator[Audio]:  # noqa: FBT001
        served = pair_sidecars([file.name for file in listing.audio], listing.sidecars)
        rows = self._rows(listing.path) if asks else {}
        stems: dict[str, list[AudioFile]] = {}
        for file in listing.audio:
            stems.setdefault(split_name(file.name)[0], []).append(file)
        for stem, files in stems.items():
            beside = served.get(files[0].name, _BARE)
            tags = [self._tags(listing.path, file, rows) for file in files] if asks else []
            yield Audio(
                directory=listing.path,
                stem=stem,
                kinds=frozenset(f".{split_name(name)[1].lower()}" for name in beside if name),
                ids={
                    "mbid": frozenset(each.mbid for each in tags if each.mbid),
                    "isrc": frozenset(isrc for each in tags for isrc in each.isrcs),
                },
                title=next((each.title for each in tags if each.title), ""),
                artist=next((each.artist for each in tags if each.artist), ""),
            )

    def _rows(self, path: str) -> Mapping[str, Mapping[str, Any]]:
        with self._db.read() as tx:
            return stem_rows.tags_of(tx, self._library.id, below(self._root, path))

    def _tags(
        self, directory: str, file: AudioFile, rows: Mapping[str, Mapping[str, Any]]
    ) -> "_Tags":
        row = rows.get(to_ptext(file.name))
        if row is not None and _is_current(row, file):
            isrcs = tuple(filter(None, row["isrc"].split(",")))
            return _Tags(row["mbid"], isrcs, row["title"], row["artist"])
        try:
            tags = read_tags(join(directory, file.name), enrich=True)
        except FileFault:
            return _Tags()
        return _Tags(tags.mbid or "", tags.isrcs, tags.title, tags.artist)


@dataclass(frozen=True, slots=True)
class _Tags:
    mbid: str = ""
    isrcs: tuple[str, ...] = ()
    title: str = ""
    artist: str = ""


def _is_current(row: Mapping[str, Any], file: AudioFile) -> bool:
    """Tell whether a row holds what the file's own tags say, ids included."""
    stamp = stamp_of(file.mtime_ns, file.size, file.inode)
    return (
        (row["mtime_ns"], row["size"], row["inode"]) == stamp
        and row["reader_version"] == READER_VERSION
        and row["status"] != "unreadable"
        and bool(row["enriched"])
        and not row["low_confidence"]
    )


def _units(names: list[str]) -> Iterator[list[str]]:
    """Group files of one stem; spellings of it are one too, unless two files would be one then."""
    exact: dict[str, list[str]] = {}
    for name in names:
        exact.setdefault(split_name(name)[0], []).append(name)
    alike: dict[str, list[list[str]]] = {}
    for group in exact.values():
        alike.setdefault(folded(split_name(group[0])[0]), []).append(group)
    for groups in alike.values():
        joined = [name for group in groups for name in group]
        kinds = [split_name(name)[1].lower() for name in joined]
        if len(groups) > 1 and len(set(kinds)) == len(kinds):
            yield _ordered(joined)
        else:
            yield from map(_ordered, groups)


def _ordered(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: (_ORDER.index(split_name(name)[1].lower()), name))


def _read_unit(directory: str, names: list[str]) -> Orphan | list[Problem]:
    """Read the files of a stem; what is no lyrics is left out, what is odd stops all of them."""
    kept: list[str] = []
    header: dict[str, str] = {}
    problems: list[Problem] = []
    for name in names:
        data = _read(join(directory, name))
        if isinstance(data, Problem):
            problems.append(data)
        elif data is not None:
            kept.append(name)
            header = {**_header(data), **header}
    if problems:
        whole = [
            Problem(join(directory, name), f"{_name(problems[0])} cannot go along") for name in kept
        ]
        return problems + whole
    if not kept:
        return []
    return Orphan(
        directory=directory,
        stem=split_name(kept[0])[0],
        names=tuple(kept),
        ids=_ids(header),
        title=header.get("ti", "").strip(),
        artist=header.get("ar", "").strip(),
    )


def _header(data: bytes) -> dict[str, str]:
    head = data[:HEADER_REACH]
    text = decode(head, cut=len(head) == HEADER_REACH)
    return read_header(head.decode("latin-1") if text is None else text)


def _read(path: str) -> bytes | Problem | None:
    """Give the bytes of a sidecar, None when it is no lyrics."""
    try:
        facts = os.lstat(path)
    except OSError:
        return None
    if stat.S_ISLNK(facts.st_mode):
        return Problem(path, "it is a symbolic link")
    if not stat.S_ISREG(facts.st_mode):
        return Problem(path, "it is not a regular file")
    if facts.st_size > LARGEST_BYTES:
        return None
    data = read_regular(Path(path), most=LARGEST_BYTES + 1)
    if data is None:
        return Problem(path, "it cannot be read; check its permissions", is_fault=True)
    is_text = b"\0" not in data or data.startswith(_WIDE)
    return data if is_text and len(data) <= LARGEST_BYTES else None


def _ids(header: Mapping[str, str]) -> dict[str, str]:
    mbid = read_mbid([header.get("mbid", "")])
    isrcs = read_isrcs([header.get("isrc", "")])
    found = {"mbid": mbid, "isrc": isrcs[0] if isrcs else None}
    return {key: value for key, value in found.items() if value}


def _name(problem: Problem) -> str:
    return problem.path.rpartition("/")[2]
