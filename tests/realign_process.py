"""A realign or rename run that kills itself at a named point; see ``test_realign_crashes``.

    python realign_process.py DATABASE BACKUP POINT TIMES realign|rename|undo

The operations are wrapped here, the product knows nothing of it.
"""

import os
import signal
import sys
from pathlib import Path
from random import Random

from lyrsvc.clock import SystemClock
from lyrsvc.core.orphans import RealignPolicy
from lyrsvc.files import move_log, moving
from lyrsvc.files.move_log import MoveLog, read_moves
from lyrsvc.services import renaming, sidecar_moves
from lyrsvc.services.realign_undo import Undo
from lyrsvc.services.realigning import Realigner
from lyrsvc.services.rename_cases import RenameTerms
from lyrsvc.services.renaming import Renamer
from lyrsvc.store import libraries
from lyrsvc.store.counts import Tally
from lyrsvc.store.database import Database


def main() -> None:
    database, backup, point, times, what = sys.argv[1:]
    clock = SystemClock()
    with Database.open(Path(database), create=False, clock=clock) as db:
        with db.read() as tx:
            [library] = libraries.all_libraries(tx)
        die_at(point, int(times))
        if what == "rename":
            terms = RenameTerms(roots=lambda: [library.path], backup=Path(backup))
            Renamer(db, clock=clock, chance=Random(1), terms=terms).step()
        elif what == "realign":
            realigner = Realigner(db, clock=clock, policy=RealignPolicy(), chance=Random(1))
            with MoveLog(Path(backup)) as log:
                realigner.realign(library, log)
        else:
            with MoveLog(Path(f"{backup}.undo")) as log:
                undo = Undo(db, clock=clock, chance=Random(1))
                undo.undo(list(read_moves(Path(backup))), log)


def die_at(point: str, times: int) -> None:
    left = [times]

    def die() -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def wrap(owner, name, *, first: bool) -> None:
        inner = getattr(owner, name)

        def wrapped(*args, **options):
            if first:
                die()
            result = inner(*args, **options)
            if not first:
                die()
            return result

        setattr(owner, name, wrapped)

    def link_only(old, new):
        os.link(old, new)
        die()
        old.unlink()

    points = {
        "nowhere": lambda: None,
        "backup opened": lambda: wrap(MoveLog, "open", first=False),
        "line written": lambda: wrap(move_log, "_write", first=False),
        "line durable": lambda: wrap(moving, "_rename", first=True),
        "linked": lambda: setattr(moving, "_rename", link_only),
        "renamed": lambda: wrap(moving, "_rename", first=False),
        "directory synced": lambda: wrap(moving, "sync_directory", first=False),
        "moved": lambda: wrap(sidecar_moves.SidecarMover, "move_files", first=False),
        "inside rows": lambda: wrap(Tally, "write", first=False),
        "rows written": lambda: wrap(
            renaming.Renamer if sys.argv[-1] == "rename" else sidecar_moves.SidecarMover,
            "_write_down" if sys.argv[-1] == "rename" else "write_down",
            first=False,
        ),
    }
    points[point]()


if __name__ == "__main__":
    main()
