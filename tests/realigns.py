"""A library whose audio was renamed, and whoever brings the sidecars back."""

import hashlib
import os
from pathlib import Path
from random import Random

from fakes import FakeClock
from lyrsvc.core.orphans import RealignPolicy
from lyrsvc.core.sidecar import Kind, content_hash
from lyrsvc.files.move_log import LoggedMove, MoveLog, read_moves
from lyrsvc.services.realign_undo import Undo
from lyrsvc.services.realigning import Ears, Line, Realigner, RealignReport, Scope
from lyrsvc.store import written_files
from lyrsvc.store.database import Database
from lyrsvc.store.written_files import OwnFile
from scans import Scans

WORDS = "[00:01.00]We hung the lanterns\n"


class Realigns(Scans):
    """Scans and realigns one library."""

    def __init__(self, db: Database, clock: FakeClock, root: Path) -> None:
        super().__init__(db, clock, root)
        self.backup = root.parent / "backup.jsonl"
        self.lines: list[Line] = []
        self.announced: list[str] = []

    def put(self, path: str, text: str = WORDS, *, ours: bool = False, **header: str) -> Path:
        """Put a sidecar into the library."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("".join(f"[{key}:{value}]\n" for key, value in header.items()) + text)
        if ours:
            self.claim(place)
        return place

    def claim(self, path: Path) -> None:
        """Remember a file as written by us."""
        facts = path.stat()
        own = OwnFile(
            path=path,
            kind=Kind.LRC if path.suffix == ".lrc" else Kind.TXT,
            sha256=content_hash(path.read_bytes()),
            library_id=self.library.id,
            size=facts.st_size,
            mtime_ns=facts.st_mtime_ns,
        )
        self.db.write(lambda tx: written_files.confirm(tx, own, item_id=None, now=self.clock.now()))

    def realigner(self, **policy) -> Realigner:
        return Realigner(
            self.db,
            clock=self.clock,
            policy=RealignPolicy(**policy),
            chance=Random(1),
            announce=lambda path: self.announced.append(path.name),
        )

    def preview(self, scope: Scope | None = None, **policy) -> RealignReport:
        self.lines = []
        ears = Ears(tell=self.lines.append)
        return self.realigner(**policy).preview(self.library, scope=scope or Scope(), ears=ears)

    def realign(self, scope: Scope | None = None, **policy) -> RealignReport:
        self.lines = []
        ears = Ears(tell=self.lines.append)
        with MoveLog(self.backup) as log:
            return self.realigner(**policy).realign(
                self.library, log, scope=scope or Scope(), ears=ears
            )

    def undo(self, backup: Path | None = None) -> Undo:
        self.lines = []
        undo = Undo(self.db, clock=self.clock, chance=Random(2), tell=self.lines.append)
        with MoveLog(self.root.parent / "undo.jsonl") as log:
            undo.undo(list(read_moves(backup or self.backup)), log)
        return undo

    def moves(self) -> list[LoggedMove]:
        return [m for m in read_moves(self.backup) if isinstance(m, LoggedMove)]

    def told(self) -> list[tuple[str, str, str, str]]:
        return [
            (line.action, line.method, self._short(line.old_path), self._short(line.new_path))
            for line in self.lines
        ]

    def files(self) -> dict[str, tuple[str, int]]:
        """Give the hash and time of every file below the root."""
        found = {}
        for folder, _, names in os.walk(self.root):
            for name in names:
                path = Path(folder, name)
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                found[str(path.relative_to(self.root))] = digest, path.stat().st_mtime_ns
        return found

    def sidecars(self) -> set[str]:
        return {name for name in self.files() if not name.endswith(".flac")}

    def known(self) -> dict[str, list[dict]]:
        """Give what the database says, moments and the shuffled order of the queue aside."""
        vague = ("updated_at", "created_at", "due_at", "ready_key", "settled_at", "id")
        return {
            name: [{k: v for k, v in row.items() if k not in vague} for row in rows]
            for name, rows in self.contents().items()
        }

    def _short(self, path: str) -> str:
        return str(Path(path).relative_to(self.root)) if path else ""
