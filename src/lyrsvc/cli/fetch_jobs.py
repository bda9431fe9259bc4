"""From the words of a fetch to the songs to work on."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from lyrsvc.cli.call import Call
from lyrsvc.cli.queries import BadLine, Query, read_list, read_word
from lyrsvc.core.errors import LyrsvcError, UsageError
from lyrsvc.core.isrc import read_isrcs
from lyrsvc.core.recording import Recording
from lyrsvc.core.sidecar_names import numbered, query_stem
from lyrsvc.files.pairing import pair_sidecars
from lyrsvc.files.sidecar_writing import Place
from lyrsvc.files.tree import walk
from lyrsvc.services.fetching import Job


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What the command line asked for."""

    jobs: Callable[[], Iterator[Job]]
    bad_lines: tuple[BadLine, ...] = ()
    total: int | None = None
    failed_list: Path | None = None
    shown: bool = False
    """``--dry-run``: explain each answer."""


def read_request(call: Call) -> Request:
    """Read words, ``--from`` and ``--artist``/``--title``; everything wrong is a usage error."""
    words = [read_word(word, call.world.working_directory) for word in call.args.words]
    listed = list(_read_from(call))
    songs = [_song(item) for item in (*words, *listed) if isinstance(item, Query)]
    hinted = _hinted(call)
    if not words and not listed and hinted is None:
        raise UsageError("nothing to fetch; name a song as artist,title, a file or a directory")
    outdir = call.world.working_directory / (call.args.outdir or ".")
    paths = [word for word in words if isinstance(word, Path)]
    if call.args.outdir and paths:
        call.note("--outdir is ignored for directories and files; lyrics go next to the audio")
    names = _Names(outdir)

    def jobs() -> Iterator[Job]:
        for path in paths:
            depth = call.settings.scan.depth
            yield from directory_jobs(path, depth=depth) if path.is_dir() else (_file_job(path),)
        for song in (*songs, *([hinted] if hinted else [])):
            yield names.job(song)

    return Request(
        jobs=jobs,
        bad_lines=tuple(item for item in listed if isinstance(item, BadLine)),
        total=None if any(path.is_dir() for path in paths) else len(paths) + len(songs),
        failed_list=_failed_list(call, outdir, by_itself=bool(listed or songs or hinted)),
        shown=call.args.dry_run,
    )


def directory_jobs(root: Path, *, depth: int) -> Iterator[Job]:
    """Give a job for every audio file below a directory, in the order of the walk."""
    for listing in walk(os.fspath(root), depth=depth):
        directory = Path(listing.path)
        pairs = pair_sidecars([audio.name for audio in listing.audio], listing.sidecars)
        for audio in listing.audio:
            beside = pairs.get(audio.name)
            job = _file_job(directory / audio.name, root=root)
            yield replace(job, has_sidecar=beside is not None and bool(beside.lrc or beside.txt))


def _file_job(path: Path, *, root: Path | None = None) -> Job:
    return Job(label=str(path), place=Place.beside(path), audio=path, root=root or path.parent)


class _Names:
    """Gives every query its own file name; two songs never share one."""

    def __init__(self, outdir: Path) -> None:
        self._outdir = outdir
        self._taken: dict[str, list[str]] = {}

    def job(self, recording: Recording) -> Job:
        record = Query(recording.artist, recording.title).record
        stem = query_stem(recording.artist, recording.title)
        users = self._taken.setdefault(stem.casefold(), [])
        if record not in users:
            users.append(record)
        place = Place(
            directory=self._outdir, stem=numbered(stem, users.index(record) + 1), create=True
        )
        return Job(label=record, place=place, recording=recording)


def _song(query: Query) -> Recording:
    return Recording(artist=query.artist, title=query.title)


def _hinted(call: Call) -> Recording | None:
    args = call.args
    if args.artist is None and args.title is None:
        if args.album or args.isrc or args.duration:
            raise UsageError("--album, --isrc and --duration go with --artist and --title")
        return None
    if not (args.artist or "").strip() or not (args.title or "").strip():
        raise UsageError("--artist and --title need each other")
    isrcs = read_isrcs([args.isrc]) if args.isrc else ()
    if args.isrc and not isrcs:
        raise UsageError(f'--isrc "{args.isrc}" is not an ISRC such as GBAYE0601498')
    return Recording(
        artist=args.artist.strip(),
        title=args.title.strip(),
        album=(args.album or "").strip(),
        isrcs=isrcs,
        duration_ms=_milliseconds(args.duration),
    )


def _milliseconds(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 86400:
        raise UsageError(f'--duration "{text}" is not a number of seconds')
    return round(seconds * 1000)


def _read_from(call: Call) -> Iterator[Query | BadLine]:
    name = call.args.from_
    if name is None:
        return
    if name == "-":
        yield from read_list(call.world.stdin)
        return
    path = call.world.working_directory / name
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            yield from read_list(file)
    except OSError as error:
        raise LyrsvcError(f"cannot read {path}: {error.strerror}") from error


def _failed_list(call: Call, outdir: Path, *, by_itself: bool) -> Path | None:
    name: str | None = call.args.failed_list
    if name:
        return call.world.working_directory / name
    if not by_itself or call.args.dry_run:
        return None
    local = call.world.clock.now().astimezone()
    return outdir / f"{local:%Y%m%d_%H%M%S}_failed.txt"
