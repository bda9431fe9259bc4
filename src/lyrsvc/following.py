"""The composition root of what lets sidecars follow their audio: renames and realign."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom

from lyrsvc.core.library import Library
from lyrsvc.core.ports import Clock
from lyrsvc.files.atomic import Announce
from lyrsvc.runtime import realign_policy
from lyrsvc.services.library_lock import Lease
from lyrsvc.services.reactive_realign import Reaction, ReactiveRealign
from lyrsvc.services.rename_cases import RenameTerms
from lyrsvc.services.renaming import Renamer
from lyrsvc.services.serve_backup import NAME as BACKUP_NAME
from lyrsvc.settings.sections import Settings
from lyrsvc.store.database import Database


@dataclass(frozen=True, kw_only=True)
class Following:
    """What moves sidecars while the service runs; without ``realign`` only what was announced."""

    renamer: Renamer
    realign: ReactiveRealign | None

    @property
    def loops(self) -> dict[str, Callable[[], None]]:
        """Give the loops that run until the program stops, a thread each."""
        loops: dict[str, Callable[[], None]] = {"renames": self.renamer.run}
        return loops | ({"realign": self.realign.run} if self.realign else {})

    def scanned(self, library: Library, below: Path | None) -> None:
        """Hear that a library was scanned, or a directory of it because something changed there."""
        if self.realign is None:
            return
        if below is None:
            self.realign.scanned(library)
        else:
            self.realign.touch(library, [below])

    def renamed(
        self, library: Library, below: Path | None, directories: Iterable[Path], lease: Lease
    ) -> None:
        """Hear of directories with renamed audio, before what lacks words there is queued."""
        if self.realign is not None:
            self.realign.follow(library, below, directories, lease)

    def wake(self) -> None:
        """Let everybody notice at once that the program stops."""
        self.renamer.wake()
        if self.realign is not None:
            self.realign.wake()


def build(
    settings: Settings,
    *,
    db: Database,
    clock: Clock,
    roots: Callable[[], Iterable[Path]],
    announce: Announce,
    sub_scan: Callable[[Library, Path], None],
) -> Following:
    """Wire what applies announced renames and, when it is switched on, what looks by itself."""
    assert settings.db.path is not None  # noqa: S101 - the database is open
    backup, chance = settings.db.path.parent / BACKUP_NAME, SystemRandom()
    realign = None
    if settings.realign.enabled:
        realign = ReactiveRealign(
            db,
            clock=clock,
            chance=chance,
            reaction=Reaction(
                policy=realign_policy(settings),
                backup=backup,
                auto_apply_heuristic=settings.realign.auto_apply_heuristic,
                on_scan=settings.realign.on_scan,
                depth=settings.scan.depth,
            ),
            announce=announce,
        )
    renamer = Renamer(
        db,
        clock=clock,
        chance=chance,
        terms=RenameTerms(
            roots=roots,
            backup=backup,
            mappings=settings.server.path_mappings,
            sub_scan=sub_scan,
        ),
        announce=announce,
        on_touched=realign.touch if realign else lambda _library, _directories: None,
    )
    return Following(renamer=renamer, realign=realign)
