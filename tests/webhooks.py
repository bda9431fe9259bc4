"""A library, a database and webhooks that come in: the manager's own bodies, our own root."""

import json
from pathlib import Path
from random import Random
from typing import Any

from builders import minimal_flac
from fakes import FakeClock
from lyrsvc.core.item import Target, WorkItem
from lyrsvc.services.enqueueing import Terms
from lyrsvc.services.intake import Followers, Intake, IntakeRules
from lyrsvc.store import targets, work_items
from lyrsvc.store.database import Database
from scans import Scans

BODIES = Path(__file__).parent / "data" / "lidarr"
ARTIST = "Quillon Marsh"
ALBUM = "Northern Pier"
FOLDER = "Quillon Marsh/Northern Pier (2021)"


def body(name: str, root: Path | str = "/music", **changes: Any) -> dict[str, Any]:
    """Give a body as the manager sends it, its library at another root; None removes a member."""
    text = (BODIES / f"{name}.json").read_text("utf-8")
    event = json.loads(text.replace("/music/", f"{root}/"))
    event.update(changes)
    return {member: value for member, value in event.items() if value is not None}


class Desk(Scans):
    """Takes webhooks for a library on disk; ``restart`` makes the roots count anew."""

    def __init__(self, db: Database, clock: FakeClock, place: Path, **rules: Any) -> None:
        super().__init__(db, clock, place / "music")
        self.output = place / "out"
        self.rules = {"probe_s": 20.0, **rules}
        self.sub_scans: list[tuple[str, str]] = []
        self.rings = 0
        self.restart()

    def restart(self) -> None:
        self.intake = Intake(
            self.db,
            clock=self.clock,
            terms=lambda now: Terms(
                now=now, chance=Random(3), output_dir=str(self.output), provider_set_version=5
            ),
            rules=IntakeRules(**self.rules),
            followers=Followers(wake=self._wake, sub_scan=self._sub_scan, ring=self._ring),
        )

    def send(self, event: dict[str, Any] | bytes | str) -> dict[str, Any]:
        if isinstance(event, str):
            event = body(event, self.root)
        data = event if isinstance(event, bytes) else json.dumps(event, indent=2).encode()
        return self.intake.accept(data)

    def album(self, *, folder: str = FOLDER, **tags: Any) -> list[Path]:
        """Put the files of ``download_new`` on the disk."""
        titles = ("Tidewater", "Salt & Iron", "What the Gulls Said?")
        names = ("01 - Tidewater", "02 - Salt & Iron", "03 - What the Gulls Said")
        known = {"artist": ARTIST, "album": ALBUM, **tags}
        return [
            minimal_flac(self.root / folder / f"{name}.flac", title=title, **known)
            for name, title in zip(names, titles, strict=True)
        ]

    def items(self) -> list[WorkItem]:
        with self.db.read() as tx:
            ids = [row["id"] for row in tx.all("SELECT id FROM work_items ORDER BY id")]
            return [work_items.get(tx, item_id) for item_id in ids]

    def item(self, title: str) -> WorkItem:
        (found,) = [item for item in self.items() if item.title == title]
        return found

    def targets(self, title: str = "") -> list[Target]:
        items = [item for item in self.items() if not title or item.title == title]
        with self.db.read() as tx:
            return [target for item in items for target in targets.of_item(tx, item.id)]

    def places(self) -> list[str]:
        """Give where sidecars are wanted, below the test's own directory."""
        top = self.root.parent
        return sorted(
            str(Path(target.out_dir, target.out_stem).relative_to(top)) for target in self.targets()
        )

    def jobs(self) -> list[tuple[str, str, str]]:
        rows = self.table("rename_jobs")
        return [(row["old_path"], row["new_path"], row["state"]) for row in rows]

    def _sub_scan(self, library: Any, directory: Path) -> None:
        self.sub_scans.append((library.name, str(directory.relative_to(library.path))))

    def _ring(self) -> None:
        self.rings += 1
