"""Write sidecars: judge what is there now, write whole, remove what became needless."""

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Final

from lyrsvc.core.display import escape_controls
from lyrsvc.core.errors import FileFault
from lyrsvc.core.lyrics import Quality
from lyrsvc.core.ports import Clock
from lyrsvc.core.sidecar import (
    FetchMode,
    Kind,
    Rendered,
    content_hash,
    is_covered,
    may_write,
    same_content,
)
from lyrsvc.files.atomic import (
    Announce,
    Guard,
    is_temp_name,
    remove_file,
    remove_stale_temp,
    replace_file,
    write_fault,
)
from lyrsvc.files.open_folder import open_folder
from lyrsvc.files.pairing import Sidecars, split_name
from lyrsvc.files.sidecars import (
    Beside,
    Ownership,
    Sidecar,
    look_beside,
    signature_of,
    without_directories,
)
from lyrsvc.files.stem_index import DirectoryIndexes

ATTEMPTS: Final = 5
"""How often a stem is judged anew because somebody else is writing there."""

_MOVED: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})


class WriteResult(StrEnum):
    """What became of a target."""

    WRITTEN = "written"
    SAME = "same"
    PRESENT = "present"
    KEPT = "kept"
    GONE = "gone"


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where sidecars go: a directory and a stem, inside a library's root or in the output."""

    directory: Path
    stem: str
    root: Path | None = None
    create: bool = False

    @classmethod
    def beside(cls, audio: Path, *, root: Path | None = None) -> "Place":
        """Name the place beside an audio file."""
        return cls(directory=audio.parent, stem=split_name(audio.name)[0], root=root)


@dataclass(frozen=True, kw_only=True, slots=True)
class WrittenFile:
    """A file as it stands after the write, below the directory as it was named.

    The hash makes it ours later.
    """

    path: Path
    kind: Kind
    sha256: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class WriteReport:
    """What became of a target; ``kind`` is that of the deciding sidecar on disk."""

    result: WriteResult
    kind: Kind | None = None
    files: tuple[WrittenFile, ...] = ()
    removed: tuple[Path, ...] = ()


class SidecarWriter:
    """Writes the files of a result, by the policy, over what stands on disk at that moment."""

    def __init__(
        self, *, clock: Clock, ownership: Ownership, announce: Announce | None = None
    ) -> None:
        self._clock = clock
        self._ownership = ownership
        self._announce = announce
        self._indexes = DirectoryIndexes(self._tidy)

    def look(self, place: Place) -> Beside | None:
        """Read what stands at a place; None when its directory is gone."""
        directory = resolve(place)
        return None if directory is None else self._look(place, directory)

    def write(
        self, place: Place, files: Sequence[Rendered], *, quality: Quality, mode: FetchMode
    ) -> WriteReport:
        """Write the main file and its siblings, or say why what is there stays.

        Raises ``FileFault`` when the file system refuses; the old file is then as it was.
        """
        for _ in range(ATTEMPTS):
            # Resolved anew each time: a directory may have become a link elsewhere.
            directory = resolve(place)
            if directory is None:
                return WriteReport(result=WriteResult.GONE)
            try:
                with _held(place, directory) as folder:
                    beside = self._look(place, directory)
                    task = _Task(place, directory, beside, files, mode, folder)
                    report = self._attempt(task, allowed=may_write(beside.state, mode, quality))
            except _Moved:
                continue
            except FileFault:
                if directory.is_dir():
                    raise
                continue
            if report:
                return report
        raise FileFault("write_error", f"cannot write {_shown(place)}: it keeps changing; retry")

    def _look(self, place: Place, directory: Path) -> Beside:
        found = self._find(directory, place.stem)
        return look_beside(directory, found, self._ownership, known_as=place.directory)

    def _find(self, directory: Path, stem: str) -> Sidecars:
        try:
            return without_directories(directory, self._indexes.find(directory, stem))
        except OSError as error:
            raise write_fault(error, directory) from error

    def _tidy(self, path: Path) -> None:
        if is_temp_name(path.name):
            remove_stale_temp(path, now=self._clock.now())

    def _attempt(self, task: "_Task", *, allowed: bool) -> WriteReport | None:
        """Do it once; None when something changed at the last moment."""
        main, beside = task.files[0], task.beside
        old = beside.with_extension(main.extension)
        # An equal text file must not cost a better LRC file its place.
        unbeaten = allowed or main.kind is Kind.LRC or beside.lrc is None
        if old and unbeaten and _holds(old, main):
            return self._finish(task, WriteResult.SAME, _file(task, old.path, old.kind, old.data))
        if not allowed:
            return _kept(beside, task.mode)
        path = old.path if old else task.path_of(main)
        if not replace_file(
            path,
            main.data,
            guard=self._guard(task),
            still_wanted=lambda: self._is_unchanged(task),
            announce=self._teller(task),
            folder=task.folder,
        ):
            return None
        self._indexes.enter(task.directory, added=path.name)
        return self._finish(task, WriteResult.WRITTEN, _file(task, path, main.kind, main.data))

    def _teller(self, task: "_Task") -> Announce | None:
        """Announce paths below the directory as it was named, where a watcher sees them."""
        announce = self._announce
        return announce and (lambda path: announce(task.known(path)))

    def _guard(self, task: "_Task") -> Guard:
        return partial(self._indexes.own_change, task.directory)

    def _is_unchanged(self, task: "_Task") -> bool:
        """Tell whether the stem has the very files it had when it was judged."""
        names = self._find(task.directory, task.place.stem)
        judged = (task.beside.lrc, task.beside.txt, task.beside.elrc)
        return all(map(self._is_same, names, judged))

    def _is_same(self, name: str | None, judged: Sidecar | None) -> bool:
        if name is None or judged is None:
            return name is None and judged is None
        return name == judged.path.name and signature_of(judged.path) == judged.signature

    def _finish(self, task: "_Task", result: WriteResult, main: WrittenFile) -> WriteReport:
        words = self._write_words(task)
        removed = tuple(self._remove(task, sidecar) for sidecar in self._needless(task, words))
        return WriteReport(
            result=result,
            kind=main.kind,
            files=(main, words) if words else (main,),
            removed=tuple(filter(None, removed)),
        )

    def _write_words(self, task: "_Task") -> WrittenFile | None:
        """Write the word-timed sibling, unless a foreign one stands in its place."""
        new = next((file for file in task.files if file.kind is Kind.ELRC), None)
        if new is None:
            return None
        old = task.beside.elrc
        if old and _holds(old, new):
            return _file(task, old.path, old.kind, old.data)
        if old and not old.ours and task.mode is not FetchMode.FORCE:
            return None
        path = old.path if old else task.path_of(new)
        try:
            replace_file(
                path,
                new.data,
                guard=self._guard(task),
                announce=self._teller(task),
                folder=task.folder,
            )
        except FileFault as fault:
            if fault.reason != "name_too_long":
                raise
            return None
        self._indexes.enter(task.directory, added=path.name)
        return _file(task, path, new.kind, new.data)

    def _needless(self, task: "_Task", words: WrittenFile | None) -> list[Sidecar]:
        """List the files that the new one makes needless; only ours, unless forced."""
        main, beside = task.files[0], task.beside
        needless: list[Sidecar] = []
        if main.kind is Kind.LRC:
            if beside.txt and (beside.txt.ours or self._covers(task, main)):
                needless.append(beside.txt)
        elif beside.lrc and (beside.lrc.ours or _is_forced(task, beside.lrc)):
            needless.append(beside.lrc)
        if beside.elrc and beside.elrc.ours and words is None:
            needless.append(beside.elrc)
        return needless

    def _covers(self, task: "_Task", main: Rendered) -> bool:
        """Tell whether a text gives way to a first LRC file that has all of its words.

        One that was kept beside an LRC file is kept on purpose; it goes only by force.
        """
        beside = task.beside
        may_go = beside.lrc is None or task.mode is FetchMode.FORCE
        words = beside.txt.data if beside.txt and may_go else None
        return self._ownership.covers and words is not None and is_covered(words, main.data)

    def _remove(self, task: "_Task", sidecar: Sidecar) -> Path | None:
        """Remove a file that is still the one we judged."""
        if signature_of(sidecar.path) != sidecar.signature:
            return None
        remove_file(
            sidecar.path,
            guard=self._guard(task),
            announce=self._teller(task),
            folder=task.folder,
        )
        self._indexes.enter(task.directory, removed=sidecar.path.name)
        return sidecar.known_as


@dataclass(frozen=True, slots=True)
class _Task:
    place: Place
    directory: Path
    beside: Beside
    files: Sequence[Rendered]
    mode: FetchMode
    folder: int | None

    def path_of(self, file: Rendered) -> Path:
        return self.directory / f"{self.place.stem}{file.extension}"

    def known(self, path: Path) -> Path:
        return self.place.directory / path.name


class _Moved(Exception):
    """A directory is no longer where it was resolved to."""


@contextmanager
def _held(place: Place, directory: Path) -> Iterator[int | None]:
    """Hold the directory open while it is written to; nothing leads out of it then."""
    with ExitStack() as opened:
        try:
            root = place.root and Path(os.path.realpath(place.root, strict=True))
            folder = opened.enter_context(open_folder(directory, root=root))
        except OSError as error:
            if error.errno in _MOVED:
                raise _Moved from error
            raise write_fault(error, directory) from error
        except ValueError as error:  # the root itself leads elsewhere by now
            raise _Moved from error
        yield folder


def resolve(place: Place) -> Path | None:
    """Give the real directory of a place, None when it is gone; refuse one outside its root."""
    if place.stem in {"", ".", ".."} or any(sign in place.stem for sign in ("/", os.sep, "\0")):
        raise _escape(place, "not a file name; rename the track")
    try:
        if place.create:
            place.directory.mkdir(parents=True, exist_ok=True)
        directory = Path(os.path.realpath(place.directory, strict=True))
        root = place.root and Path(os.path.realpath(place.root, strict=True))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise write_fault(error, place.directory) from error
    if root and not directory.is_relative_to(root):
        raise _escape(place, "outside the library; check symbolic links")
    return directory if directory.is_dir() else None


def refuse_read_only(place: Place) -> None:
    """Raise ``FileFault`` where the file system is mounted read-only, so that nothing is tried."""
    if not hasattr(os, "statvfs"):
        return
    try:
        flags = os.statvfs(_standing(place)).f_flag
    except OSError:
        return  # whatever it is, the write will tell
    if flags & os.ST_RDONLY:
        raise _refusal(errno.EROFS, place)


def refuse_unwritable(place: Place) -> None:
    """Raise ``FileFault`` where we could write nothing, for those who would lose what they got."""
    refuse_read_only(place)
    there = _standing(place)
    if place.create and not there.is_dir():
        raise _refusal(errno.ENOTDIR, place)
    as_we_are = os.access in os.supports_effective_ids
    if there.is_dir() and not os.access(there, os.W_OK | os.X_OK, effective_ids=as_we_are):
        raise _refusal(errno.EACCES, place)


def _standing(place: Place) -> Path:
    """Give the directory of a place, or what there is of one that would be made."""
    there = place.directory
    while place.create and not there.exists() and there != there.parent:
        there = there.parent
    return there


def _refusal(number: int, place: Place) -> FileFault:
    return write_fault(OSError(number, os.strerror(number)), place.directory)


def _escape(place: Place, why: str) -> FileFault:
    return FileFault("path_escape", f"cannot write {_shown(place)}: {why}")


def _shown(place: Place) -> str:
    return escape_controls(str(place.directory / place.stem))


def _is_forced(task: _Task, sidecar: Sidecar) -> bool:
    """Tell whether a foreign file was given up for any result; links and pipes never are."""
    return task.mode is FetchMode.FORCE and sidecar.data is not None


def _holds(old: Sidecar, new: Rendered) -> bool:
    return old.data is not None and same_content(old.data, new.data)


def _file(task: _Task, path: Path, kind: Kind, data: bytes | None) -> WrittenFile:
    content = data or b""
    signature = signature_of(path)
    return WrittenFile(
        path=task.known(path),
        kind=kind,
        sha256=content_hash(content),
        size=len(content),
        mtime_ns=signature[2] if signature else 0,
    )


def _kept(beside: Beside, mode: FetchMode) -> WriteReport:
    found = beside.deciding
    result = WriteResult.PRESENT if mode is FetchMode.NORMAL else WriteResult.KEPT
    return WriteReport(result=result, kind=found.kind if found else None)
