"""The files of an attempt: what stands at its targets, what is intended there, what was written.

Every target is judged on disk, with its own length and its own mode; the failure of
one does not stop the others.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Final

from lyrsvc import __version__
from lyrsvc.core import placing
from lyrsvc.core.errors import FileFault
from lyrsvc.core.item import Target, TargetOrigin, TargetResult, TargetStatus, WorkItem
from lyrsvc.core.lrc_output import HeaderFacts
from lyrsvc.core.result import Accepted
from lyrsvc.core.scan_decision import Stamp
from lyrsvc.core.settling import TargetEnd
from lyrsvc.core.sidecar import (
    Fetch,
    FetchMode,
    Kind,
    OnDisk,
    Rendered,
    WordTiming,
    content_hash,
    is_bare_marker,
    may_write,
    render,
    should_fetch,
)
from lyrsvc.files.sidecar_writing import (
    Place,
    SidecarWriter,
    WriteReport,
    WriteResult,
    refuse_read_only,
)
from lyrsvc.files.sidecars import Beside, Ownership
from lyrsvc.services.attempting import Intent, TargetReport
from lyrsvc.services.away_roots import AwayRoots
from lyrsvc.services.same_song import SameSong, SongSight
from lyrsvc.services.write_refusals import WriteRefusals
from lyrsvc.store import written_files
from lyrsvc.store.database import Database
from lyrsvc.store.written_files import OwnFile

_RESULTS: Final[Mapping[WriteResult, TargetResult]] = {
    WriteResult.WRITTEN: TargetResult.WRITTEN,
    WriteResult.SAME: TargetResult.SAME,
    WriteResult.PRESENT: TargetResult.PRESENT,
    WriteResult.KEPT: TargetResult.KEPT,
}

UNCLEAR_WAIT: Final = timedelta(minutes=1)
"""Audio that has changed and cannot be read is perhaps being copied just now."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OutputStyle:
    """How lyrics are written."""

    translation_language: str | None = None
    word_timing: WordTiming = WordTiming.OFF


@dataclass(frozen=True, kw_only=True, slots=True)
class Spot:
    """An open target, its place, and what stands there.

    ``stamp`` tells how its audio looked when that was the right song.
    """

    target: Target
    place: Place
    beside: Beside
    stamp: Stamp | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What is about to be written at a spot; no files mean that the result does not fit it."""

    item: WorkItem
    spot: Spot
    accepted: Accepted | None
    files: tuple[Rendered, ...] = ()

    @property
    def target(self) -> Target:
        """Give the target of the spot."""
        return self.spot.target

    @property
    def place(self) -> Place:
        """Give the place of the spot."""
        return self.spot.place


@dataclass(frozen=True, slots=True)
class Told:
    """What became of a target, and the words of the file system when it refused.

    One that is ``held`` stays open and is to be looked at again after this time.
    """

    report: TargetReport
    text: str = ""
    held: timedelta | None = None


def stored_ownership(db: Database) -> Ownership:
    """Know our own files by the hash of our last write; a bare marker is always ours."""

    def owns(path: Path, kind: Kind, data: bytes) -> bool:
        if kind in (Kind.TXT, Kind.MARKER) and is_bare_marker(data):
            return True
        with db.read() as tx:
            return written_files.owns(tx, path, content_hash(data))

    return Ownership(owns=owns)


def present(target: Target) -> Told:
    """Settle a target whose audio has lyrics of its own inside."""
    return Told(TargetReport(end=_end(target, TargetStatus.DONE, TargetResult.PRESENT)))


class TargetDesk:
    """Looks at targets and writes to them."""

    def __init__(
        self,
        writer: SidecarWriter,
        *,
        style: OutputStyle,
        away: AwayRoots,
        songs: SameSong | None = None,
        refusals: WriteRefusals | None = None,
    ) -> None:
        self._writer = writer
        self._style = style
        self._away = away
        self._songs = songs or SameSong()
        self._refusals = refusals or WriteRefusals()

    def look(
        self, item: WorkItem, target: Target, root: Path | None, *, resumed: bool = False
    ) -> Spot | Told:
        """See what stands at a target; an end when nothing can or has to be done for it.

        A file of ours may be what an attempt has written before it was cut short; when
        this one is ``resumed`` from there, the target is gone through to its end.
        """
        if _is_gone(target.source_path):
            return self._missed(target, root)
        place = _place(target, root)
        try:
            beside = self._look(target, place)
        except FileFault as fault:
            return self._refused(target, place, fault)
        if beside is None:
            return self._missed(target, root)
        if root is not None:
            self._away.note_back(root)
        found = beside.deciding
        halfway = resumed and found is not None and found.ours
        if halfway or should_fetch(beside.state, target.mode) is Fetch.FETCH:
            return self._spot(item, target, place, beside)
        normal = target.mode is FetchMode.NORMAL
        result = TargetResult.PRESENT if normal else TargetResult.KEPT
        end = _end(target, TargetStatus.DONE, result, found.kind if found else None)
        return Told(TargetReport(end=end, ours=found is not None and found.ours))

    def plan(self, item: WorkItem, spot: Spot, accepted: Accepted | None) -> Plan:
        """Say which files a result becomes at a target."""
        files: tuple[Rendered, ...] = ()
        if accepted is not None:
            files = render(
                accepted,
                HeaderFacts.of(item.recording_for(spot.target), version=__version__),
                translation_language=self._style.translation_language,
                word_timing=self._style.word_timing,
            )
        return Plan(item=item, spot=spot, accepted=accepted, files=files)

    def intents(self, spot: Spot, plan: Plan) -> list[Intent]:
        """List the files that may be written, so that they are known as ours after a crash."""
        accepted = plan.accepted
        if accepted is None:
            return []
        mode = plan.target.mode
        if not may_write(spot.beside.state, mode, accepted.quality):
            return []
        return [self._intent(spot, file, accepted.lane) for file in plan.files]

    def write(self, plan: Plan) -> Told:
        """Write one target; whatever the file system refuses becomes its reason."""
        target, accepted = plan.target, plan.accepted
        if accepted is None or not plan.files:
            end = _end(target, TargetStatus.DONE, TargetResult.REJECTED)
            return Told(TargetReport(end=end))
        if _is_gone(target.source_path):  # renamed while the lanes were asked, or away
            return self._missed(target, plan.place.root)
        song = self._songs.look(plan.item, target, plan.place.root, known=plan.spot.stamp)
        if (told := _held_back(plan.item, plan.spot, song)) is not None:
            return told
        try:
            report = self._writer.write(
                plan.place, plan.files, quality=accepted.quality, mode=target.mode
            )
            return self._told(plan, report, accepted.lane)
        except FileFault as fault:
            return self._refused(target, plan.place, fault)

    def _missed(self, target: Target, root: Path | None) -> Told:
        """Park a target whose audio is gone; while its whole library is away, it is only held."""
        wait = self._away.wait_for(root) if root is not None else None
        if wait is None:
            end = _end(target, TargetStatus.PARKED, TargetResult.GONE)
            return Told(TargetReport(end=replace(end, gone_from=target.source_path)))
        return Told(TargetReport(end=_still_open(target)), held=wait)

    def _spot(self, item: WorkItem, target: Target, place: Place, beside: Beside) -> Spot | Told:
        """Find out before anybody is asked that nothing could or should be written there."""
        song = self._songs.look(item, target, place.root)
        spot = Spot(target=target, place=place, beside=beside, stamp=song.stamp)
        if (told := _held_back(item, spot, song)) is not None:
            return told
        try:
            refuse_read_only(place)
        except FileFault as fault:
            return self._refused(target, place, fault)
        return spot

    def _refused(self, target: Target, place: Place, fault: FileFault) -> Told:
        self._refusals.warn(place.root or place.directory, place.directory, fault)
        end = TargetEnd(
            target_id=target.id, status=TargetStatus.FAILED, reason=fault.reason, mode=target.mode
        )
        return Told(TargetReport(end=end), str(fault))

    def _look(self, target: Target, place: Place) -> Beside | None:
        if target.origin is TargetOrigin.METADATA and not place.directory.exists():
            return Beside()
        return self._writer.look(place)

    def _intent(self, spot: Spot, file: Rendered, source: str) -> Intent:
        old = spot.beside.with_extension(file.extension)
        place = spot.place
        path = old.known_as if old else place.directory / f"{place.stem}{file.extension}"
        on_disk = content_hash(old.data) if old and old.data is not None else ""
        own = OwnFile(
            path=path,
            kind=file.kind,
            sha256=file.sha256,
            source=source,
            library_id=spot.target.library_id,
        )
        return Intent(file=own, on_disk=on_disk)

    def _told(self, plan: Plan, report: WriteReport, source: str) -> Told:
        target = plan.target
        if report.result is WriteResult.GONE:
            return self._missed(target, plan.place.root)
        result, ours = _RESULTS[report.result], True
        if result in (TargetResult.PRESENT, TargetResult.KEPT):
            ours = self._is_ours(plan.place)
            if not ours:  # somebody else's file stands there, however good ours would be
                result = TargetResult.PRESENT
        files = tuple(
            OwnFile(
                path=file.path,
                kind=file.kind,
                sha256=file.sha256,
                source=source,
                library_id=target.library_id,
                size=file.size,
                mtime_ns=file.mtime_ns,
            )
            for file in report.files
        )
        end = _end(target, TargetStatus.DONE, result, report.kind)
        return Told(TargetReport(end=end, files=files, removed=report.removed, ours=ours))

    def _is_ours(self, place: Place) -> bool:
        beside = self._writer.look(place)
        found = beside.deciding if beside else None
        return found is not None and found.ours


def _place(target: Target, root: Path | None) -> Place:
    return Place(
        directory=Path(target.out_dir),
        stem=target.out_stem,
        root=root,
        create=target.origin is TargetOrigin.METADATA,
    )


def _is_gone(source_path: str) -> bool:
    """Tell whether an audio file is no longer there; one that may not be seen is not gone."""
    if not source_path:
        return False
    try:
        Path(source_path).stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


def _end(
    target: Target, status: TargetStatus, result: TargetResult, kind: Kind | None = None
) -> TargetEnd:
    return TargetEnd(target_id=target.id, status=status, result=result, kind=kind, mode=target.mode)


def _held_back(item: WorkItem, spot: Spot, song: SongSight) -> Told | None:
    """Leave audio alone that is no longer the song of its item: its own words are wanted there."""
    if song.is_unclear:
        return Told(TargetReport(end=_still_open(spot.target)), held=UNCLEAR_WAIT)
    if song.becomes is None:
        return None
    wish = placing.changed(item, spot.target, song.becomes, has_sidecar=_has_words(spot.beside))
    return Told(TargetReport(end=_still_open(spot.target), asks=wish))


def _has_words(beside: Beside) -> bool:
    return beside.state is not OnDisk.NOTHING


def _still_open(target: Target) -> TargetEnd:
    return TargetEnd(target_id=target.id, status=TargetStatus.PENDING, mode=target.mode)
