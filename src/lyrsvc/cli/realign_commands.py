"""Bringing sidecars back to audio files that were renamed."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from lyrsvc.cli.call import Call
from lyrsvc.cli.identity import become_owner, would_leave_traces

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from lyrsvc.cli.progress import ProgressLine
    from lyrsvc.core.library import Library
    from lyrsvc.core.orphans import RealignPolicy
    from lyrsvc.files.move_log import MoveLog
    from lyrsvc.services.realigning import Line, Realigner, RealignReport
    from lyrsvc.store.database import Database

COLUMNS = ("action", "method", "old_path", "new_path", "reason")
SUMMARY = (
    "dirs", "orphans", "planned", "applied", "gated", "ambiguous", "conflict", "errors",
)  # fmt: skip
UNDO_SUMMARY = ("lines", "planned", "applied", "already", "conflict", "errors")
LOCK_WAIT_S = 10.0
_NOT_WITH_UNDO = (
    "library", "min_confidence", "min_margin", "name_match", "no_name_match", "cross_directory",
    "no_cross_directory", "require_provenance", "no_require_provenance",
)  # fmt: skip


def realign(call: Call) -> int:
    """Say what would be moved, or move it; with ``--undo`` the other way round."""
    if call.args.undo is not None:
        return _undo(call)
    from lyrsvc.cli.library_commands import open_to_change
    from lyrsvc.cli.progress_of import progress_of
    from lyrsvc.store import libraries

    policy = _policy(call)
    log = _log(call)
    become_owner(call.database_path.parent)
    with log, open_to_change(call) as db:
        with db.read() as tx:
            named = call.args.library or []
            chosen = [libraries.find(tx, name) for name in named] or libraries.all_libraries(tx)
        with progress_of(call, "directories") as line:
            round_ = _Round(call, _realigner(call, db, policy), log, line)
            rows = round_.rows({library.id: library for library in chosen})
            _print(call, rows, round_, through=line.log_through)
    if not chosen:
        call.note("there is no library; register one with: lyrsvc library add PATH")
    elif round_.summary["planned"] and not call.args.yes:
        call.note("nothing was moved; add --yes to do it")
    return round_.code


class _Round:
    """Goes through some libraries and keeps in mind whether all went well."""

    def __init__(
        self, call: Call, realigner: "Realigner", log: "MoveLog", line: "ProgressLine"
    ) -> None:
        self._call = call
        self._realigner = realigner
        self._log = log
        self._line = line
        self.summary = dict.fromkeys(SUMMARY, 0)
        self.code = 0

    @property
    def backup(self) -> "Path | None":
        """Give the backup, when anything was moved."""
        return self._log.path if self._log.is_used else None

    def rows(self, chosen: "dict[int, Library]") -> "Iterator[Line]":
        """Go through one library after another; one that fails does not stop the next."""
        from lyrsvc.core.errors import Refused
        from lyrsvc.services.realigning import Ears

        for library in chosen.values():
            lines: list[Line] = []
            ears = Ears(tell=lines.append, watch=self._watch)
            try:
                self._add(self._run(library, ears))
            except Refused as refusal:
                self._fail(str(refusal))
            except BaseException:
                yield from lines  # what was moved is told, whatever stopped the rest
                raise
            yield from lines

    def _run(self, library: "Library", ears: Any) -> "RealignReport":  # noqa: ANN401 - see rows
        from lyrsvc.services.realigning import Scope

        scope = Scope(depth=self._call.settings.scan.depth)
        if not self._call.args.yes:
            return self._realigner.preview(library, scope=scope, ears=ears)
        return self._realigner.realign(
            library, self._log, scope=scope, ears=ears, wait_s=LOCK_WAIT_S
        )

    def _add(self, report: "RealignReport") -> None:
        for name in SUMMARY:
            self.summary[name] += getattr(report, name)
        if report.is_cut_short:
            self._fail("realign was stopped before its end; run it again")
        if report.errors:
            self.code = 1

    def _watch(self, report: "RealignReport", path: str) -> None:
        counts = {name: getattr(report, name) for name in SUMMARY[1:]}
        self._line.update(
            done=self.summary["dirs"] + report.dirs,
            counters={name: number for name, number in counts.items() if number},
            current=path,
        )

    def _fail(self, sentence: str) -> None:
        self.code = 1
        self._call.voice.complain(sentence)


class _UndoRound:
    """What undoing came to, for the summary."""

    def __init__(self, log: "MoveLog") -> None:
        self._log = log
        self.summary = dict.fromkeys(UNDO_SUMMARY, 0)

    @property
    def backup(self) -> "Path | None":
        return self._log.path if self._log.is_used else None


def _undo(call: Call) -> int:
    from random import SystemRandom

    from lyrsvc.cli.library_commands import open_to_change
    from lyrsvc.core.errors import UsageError
    from lyrsvc.files.move_log import read_moves
    from lyrsvc.services.realign_undo import Undo

    for name in _NOT_WITH_UNDO:
        if getattr(call.args, name):
            flag = name.replace("_", "-")
            raise UsageError(f"--undo and --{flag} exclude each other; see: lyrsvc realign --help")
    file = call.world.working_directory / call.args.undo
    moves = list(read_moves(file))
    log = _log(call)
    become_owner(call.database_path.parent)
    lines: list[Line] = []
    with log, open_to_change(call) as db:
        undo = Undo(db, clock=call.world.clock, chance=SystemRandom(), tell=lines.append)
        round_ = _UndoRound(log)

        def rows() -> "Iterator[Line]":
            try:
                if call.args.yes:
                    undo.undo(moves, log, wait_s=LOCK_WAIT_S)
                else:
                    undo.preview(moves)
            finally:
                round_.summary = {name: getattr(undo.report, name) for name in UNDO_SUMMARY}
            yield from lines

        _print(call, rows(), round_)
    if undo.report.planned and not call.args.yes:
        call.note("nothing was moved back; add --yes to do it")
    return 1 if undo.report.errors or undo.report.conflict else 0


def _print(
    call: Call,
    rows: "Iterator[Line]",
    round_: "_Round | _UndoRound",
    *,
    through: "Callable[[], AbstractContextManager[None]] | None" = None,
) -> None:
    shown = ({name: getattr(line, name) for name in COLUMNS} for line in rows)
    if call.args.json:
        from lyrsvc.cli.listing import to_json

        results = list(shown)
        backup = str(round_.backup) if round_.backup else None
        call.print(to_json({"results": results, "summary": round_.summary, "backup": backup}))
        return
    call.print_rows(COLUMNS, shown, through=through)
    sentence = ", ".join(f"{name} {number}" for name, number in round_.summary.items())
    call.voice.summarise(f"{sentence}; backup {round_.backup}" if round_.backup else sentence)


def _log(call: Call) -> "MoveLog":
    """Give the backup: the one that is named, else a new one beside the database.

    A named one may lie where only root may write, and root is not who moves the files.
    """
    from datetime import UTC

    from lyrsvc.files.move_log import MoveLog

    if call.args.backup is not None:
        named = MoveLog(call.world.working_directory / call.args.backup)
        if call.args.yes and would_leave_traces(call.database_path.parent):
            named.open_early()
        return named
    moment = call.world.clock.now().astimezone(UTC).strftime("%Y%m%d-%H%M%S")
    stem, number = call.database_path.parent / f"realign-backup-{moment}", 1
    path = stem.with_name(f"{stem.name}.jsonl")
    while path.exists():
        number += 1
        path = stem.with_name(f"{stem.name}-{number}.jsonl")
    return MoveLog(path)


def _realigner(call: Call, db: "Database", policy: "RealignPolicy") -> "Realigner":
    from random import SystemRandom

    from lyrsvc.services.realigning import Realigner

    return Realigner(db, clock=call.world.clock, policy=policy, chance=SystemRandom())


def _policy(call: Call) -> "RealignPolicy":
    """Give the settings, where no flag says otherwise."""
    from dataclasses import replace

    from lyrsvc import runtime

    args, policy = call.args, runtime.realign_policy(call.settings)
    policy = replace(
        policy,
        require_provenance=_choice(call, "require_provenance", policy.require_provenance),
        cross_directory=_choice(call, "cross_directory", policy.cross_directory),
        name_match=_choice(call, "name_match", policy.name_match),
    )
    if args.min_confidence is not None:
        least = _fraction("--min-confidence", args.min_confidence, 0.01, 1.0)
        policy = replace(policy, min_confidence=least)
    if args.min_margin is not None:
        policy = replace(policy, min_margin=_fraction("--min-margin", args.min_margin, 0.0, 0.99))
    return policy


def _choice(call: Call, name: str, usual: bool) -> bool:  # noqa: FBT001 - it is the value itself
    on, off = getattr(call.args, name), getattr(call.args, f"no_{name}")
    return bool(on) if on or off else usual


def _fraction(flag: str, text: str, least: float, most: float) -> float:
    from lyrsvc.core.errors import UsageError

    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not least <= value <= most:
        raise UsageError(f'{flag} "{text}" is not a number from {least:g} to {most:g}')
    return value
