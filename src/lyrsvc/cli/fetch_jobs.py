"""From the words of a fetch to the songs to work on."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lyrsvc.cli.call import Call
from lyrsvc.cli.queries import BadLine, Query, read_list, read_word
from lyrsvc.core.display import escape_controls
from lyrsvc.core.errors import FileFault, LyrsvcError, UsageError
from lyrsvc.core.isrc import read_isrcs
from lyrsvc.core.recording import Recording
from lyrsvc.core.sidecar_names import query_stem
from lyrsvc.files.atomic import remove_stale_temp
from lyrsvc.files.pairing import pair_sidecars
from lyrsvc.files.sidecar_writing import Place
from lyrsvc.files.tree import Listing, walk
from lyrsvc.services.fetch_job import Job

AMBIGUOUS: Final = (
    "the first comma divided artist and title; to name an artist with a comma, "
    'quote it ("Artist, The",Title) or use --artist and --title'
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What the command line asked for; ``jobs`` begins anew with every call."""

    jobs: Callable[[], Iterator[Job]]
    count: Callable[[], Iterator[int]]
    """Gives numbers of songs that add up to all of them; takes a walk for directories."""
    bad_lines: tuple[BadLine, ...] = ()
    failed_list: Path | None = None
    appends: bool = False
    """The failed list has a name of its own; one of the same second is not replaced."""
    shown: bool = False
    """``--dry-run``: explain each answer."""


Wanted = Path | Query | Recording
"""A directory or audio file, a song as typed, or one with hints for the matcher."""


def read_request(call: Call) -> Request:
    """Read words, ``--from`` and ``--artist``/``--title``; everything wrong is a usage error."""
    words = [read_word(word, call.world.working_directory) for word in call.args.words]
    listed = list(_read_from(call))
    hinted = _hinted(call)
    if not words and call.args.from_ is None and hinted is None:
        raise UsageError("nothing to fetch; name a song as artist,title, a file or a directory")
    outdir = call.world.working_directory / (call.args.outdir or ".")
    if call.args.outdir and any(isinstance(word, Path) for word in words):
        call.note("--outdir is ignored for directories and files; lyrics go next to the audio")
    wanted: list[Wanted] = [one for one in (*words, *listed) if not isinstance(one, BadLine)]
    wanted += [hinted] if hinted else []
    bad_lines = tuple(item for item in listed if isinstance(item, BadLine))
    by_itself = bool(bad_lines) or any(not isinstance(one, Path) for one in wanted)
    return Request(
        jobs=lambda: _jobs(call, wanted, outdir),
        count=lambda: _count(wanted, bad_lines, depth=call.settings.scan.depth),
        bad_lines=bad_lines,
        failed_list=_failed_list(call, outdir, by_itself=by_itself),
        appends=not call.args.failed_list,
        shown=call.args.dry_run,
    )


def directory_jobs(
    root: Path, *, depth: int, tidy: Callable[[Path], object] = lambda _: None
) -> Iterator[Job]:
    """Give a job for every audio file below a directory, in the order of the walk.

    What cannot be listed or read is a job too, so that it is counted and named.
    ``tidy`` is told of temporary files that an earlier run may have left.
    """
    for listing in walk(os.fspath(root), depth=depth):
        directory = Path(listing.path)
        for name in listing.temp_names:
            tidy(directory / name)
        yield from _faults(listing, directory)
        pairs = pair_sidecars([audio.name for audio in listing.audio], listing.sidecars)
        for audio in listing.audio:
            beside = pairs.get(audio.name)
            job = _file_job(directory / audio.name, root=root)
            if beside is not None and (found := beside.lrc or beside.txt):
                job.sidecar = directory / found
            yield job


def _jobs(call: Call, wanted: list[Wanted], outdir: Path) -> Iterator[Job]:
    clock = call.world.clock

    def tidy(path: Path) -> None:
        if not call.args.dry_run:
            remove_stale_temp(path, now=clock.now())

    for one in wanted:
        if isinstance(one, Recording | Query):
            yield _query_job(one, outdir)
        elif os.path.isdir(one):  # noqa: PTH112 - a name too long is no directory
            jobs = directory_jobs(one, depth=call.settings.scan.depth, tidy=tidy)
            if (first := next(jobs, None)) is None:
                call.note(f"no audio file was found in {escape_controls(str(one))}")
            else:
                yield first
                yield from jobs
        else:
            yield _file_job(one)


def _count(wanted: list[Wanted], bad_lines: tuple[BadLine, ...], *, depth: int) -> Iterator[int]:
    yield len(bad_lines)
    for one in wanted:
        if isinstance(one, Path) and one.is_dir():
            for listing in walk(os.fspath(one), depth=depth):
                yield len(listing.audio) + len(listing.faults) + (listing.fault is not None)
        else:
            yield 1


def _faults(listing: Listing, directory: Path) -> Iterator[Job]:
    if listing.fault is not None:
        text = "the directory cannot be listed; check its permissions and the disk"
        yield _broken_job(directory, FileFault(listing.fault, text))
    for entry in listing.faults:
        text = "this is no file that can be read; repair or remove it"
        yield _broken_job(directory / entry.name, FileFault(entry.reason, text))


def _file_job(path: Path, *, root: Path | None = None) -> Job:
    return Job(label=str(path), place=Place.beside(path), audio=path, root=root or path.parent)


def _broken_job(path: Path, fault: FileFault) -> Job:
    return Job(label=str(path), place=Place.beside(path), audio=path, fault=fault)


def _query_job(song: Query | Recording, outdir: Path) -> Job:
    recording = _recording(song)
    place = Place(directory=outdir, stem=query_stem(recording.artist, recording.title), create=True)
    label = Query(recording.artist, recording.title).record
    is_ambiguous = isinstance(song, Query) and song.ambiguous
    hint = AMBIGUOUS if is_ambiguous else ""
    return Job(label=label, place=place, recording=recording, hint=hint)


def _recording(song: Query | Recording) -> Recording:
    if isinstance(song, Recording):
        return song
    return Recording(artist=song.artist, title=song.title)


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
    return round(seconds * 1000) or None


def _read_from(call: Call) -> Iterator[Path | Query | BadLine]:
    name = call.args.from_
    if name is None:
        return
    if name == "-":
        yield from read_list(_stdin_lines(call))
        return
    path = call.world.working_directory / name
    try:
        with path.open(encoding="utf-8", errors="surrogateescape") as file:
            yield from read_list(file)
    except OSError as error:
        raise LyrsvcError(f"cannot read {path}: {error.strerror}") from error


def _stdin_lines(call: Call) -> Iterator[str]:
    stream = call.world.stdin
    raw = getattr(stream, "buffer", None)
    if raw is None:
        yield from stream
        return
    for line in raw:
        yield line.decode("utf-8", "surrogateescape")


def _failed_list(call: Call, outdir: Path, *, by_itself: bool) -> Path | None:
    name: str | None = call.args.failed_list
    if name:
        return call.world.working_directory / name
    if not by_itself or call.args.dry_run:
        return None
    local = call.world.clock.now().astimezone()
    return outdir / f"{local:%Y%m%d_%H%M%S}_failed.txt"
