"""The sidecars of one renamed audio file, moved to its new name as far as that is free."""

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from lyrsvc.core.display import escape_controls
from lyrsvc.core.orphans import extension
from lyrsvc.files.move_log import MoveLog
from lyrsvc.files.moving import is_half_moved, is_taken
from lyrsvc.files.pairing import NAMED, Sidecars, composed, split_name
from lyrsvc.files.sidecars import find_sidecars
from lyrsvc.files.tree import AUDIO_SUFFIXES
from lyrsvc.services.move_rows import stem_of
from lyrsvc.services.rename_rows import Renamed
from lyrsvc.services.sidecar_moves import SidecarMover, Unit, UnitEnd

METHOD = "lidarr-rename"


@dataclass(slots=True)
class RenameMoves:
    """What became of the sidecars.

    ``followed`` are those at the new name that were, or may have been, at the old one;
    ``kept`` and ``failures`` are sentences. A kept one may find its place free later.
    """

    made: list[tuple[Path, Path]] = field(default_factory=list)
    followed: list[tuple[Path, Path]] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def move_sidecars(renamed: Renamed, mover: SidecarMover, log: MoveLog) -> RenameMoves:
    """Move what stands beside the old name; whoever stands at the new one stays."""
    moves = RenameMoves()
    old_stem, new_stem = stem_of(renamed.old), stem_of(renamed.new)
    goals = _beside(renamed.new.parent, new_stem)
    if (renamed.old.parent, old_stem) == (renamed.new.parent, new_stem):
        _remember_former(renamed, filter(None, goals), moves)
        return moves
    sources = _beside(renamed.old.parent, old_stem)
    for kind in NAMED:
        source, goal = getattr(sources, kind), getattr(goals, kind)
        if source is None:
            if goal is not None:
                old = renamed.old.parent / f"{old_stem}{extension(goal)}"
                moves.followed.append((old, renamed.new.parent / goal))
        elif kind != "elrc" or sources.lrc is None or _has_followed(moves, ".lrc"):
            _move(renamed, source, goal, moves, mover, log)
    _remember_former(renamed, [new.name for _, new in moves.followed], moves)
    return moves


def _remember_former(renamed: Renamed, goals: Iterable[str], moves: RenameMoves) -> None:
    """Note other spellings by which sidecars at the new name may be remembered."""
    for goal in goals:
        for former in renamed.also:
            old = former.with_name(f"{stem_of(former)}{extension(goal)}")
            pair = old, renamed.new.parent / goal
            if old != pair[1] and pair not in moves.followed:
                moves.followed.append(pair)


def _move(
    renamed: Renamed,
    source: str,
    goal: str | None,
    moves: RenameMoves,
    mover: SidecarMover,
    log: MoveLog,
) -> None:
    old = renamed.old.parent / source
    new = renamed.new.parent / f"{stem_of(renamed.new)}{extension(source)}"
    if not _is_regular(old):
        moves.kept.append(f"{_shown(old)} is not a regular file")
        return
    standing = renamed.new.parent / goal if goal else None
    if standing is not None and standing != old and is_taken(old, standing):
        if not is_half_moved(old, standing) and not _is_spare(renamed, old, standing, mover):
            moves.kept.append(f"{_shown(standing)} is there already")
            return
        mover.drop(old)  # a move was cut off between link and unlink, or a scan came first
        moves.followed.append((old, standing))
        return
    unit = Unit(
        files=((old, new),),
        library=renamed.new_library,
        from_library=renamed.old_library,
        method=METHOD,
    )
    moved = mover.move_files(unit, log)
    if moved.end is UnitEnd.MOVED:
        moves.made.append((old, new))
        moves.followed.append((old, new))
    elif moved.end is UnitEnd.CONFLICT:
        moves.kept.append(moved.reason)
    else:
        moves.failures.append(moved.reason)


def _is_spare(renamed: Renamed, old: Path, new: Path, mover: SidecarMover) -> bool:
    """Tell whether our own words stand at both names, and no audio needs the old one.

    A scan that meets renamed audio before the rename is told has them written from the cache.
    """
    for name in os.listdir(old.parent):  # noqa: PTH208 - names are all we want
        stem, suffix = split_name(name)
        same = composed(stem) == composed(stem_of(renamed.old))
        if same and suffix.lower() in AUDIO_SUFFIXES:
            return False
    return _is_regular(new) and mover.is_own_copy(old, new)


def _beside(directory: Path, stem: str) -> Sidecars:
    try:
        return find_sidecars(stem, os.listdir(directory))  # noqa: PTH208 - names are all we want
    except (FileNotFoundError, NotADirectoryError):
        return Sidecars()


def _has_followed(moves: RenameMoves, suffix: str) -> bool:
    return any(extension(new.name).lower() == suffix for _, new in moves.followed)


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _shown(path: Path) -> str:
    return escape_controls(path.name)
