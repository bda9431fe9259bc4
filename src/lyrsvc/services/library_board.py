"""Libraries as pages and programs see them: registered, counted, and looked at on disk."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lyrsvc.core.library import Library
from lyrsvc.services.root_probes import RootProbes, RootState
from lyrsvc.store import libraries
from lyrsvc.store.database import Database


@dataclass(frozen=True, kw_only=True, slots=True)
class LibraryView:
    """A library; ``missing`` counts files without lyrics beside them.

    ``webhook_paths`` says whether a webhook may name files of it by path: only roots that
    were there when the service started may be.
    """

    library: Library
    files: int
    missing: int
    root: RootState
    webhook_paths: bool


class LibraryBoard:
    """Shows libraries; ``takes_paths`` tells those that a webhook may name files of by path."""

    def __init__(
        self,
        db: Database,
        *,
        probes: RootProbes,
        takes_paths: Callable[[Library], bool] = lambda _library: False,
    ) -> None:
        self._db = db
        self._probes = probes
        self._takes_paths = takes_paths

    def views(self) -> list[LibraryView]:
        """Show every library, by id."""
        with self._db.read() as tx:
            every = libraries.all_libraries(tx)
            files = libraries.count_files(tx)
            missing = libraries.count_missing(tx)
        states = self._probes.look(library.path for library in every)
        return [
            LibraryView(
                library=library,
                files=files.get(library.id, 0),
                missing=missing.get(library.id, 0),
                root=states[library.path],
                webhook_paths=self._takes_paths(library),
            )
            for library in every
        ]

    def view(self, library_id: int) -> LibraryView:
        """Show one library, or raise ``NotFound``."""
        with self._db.read() as tx:
            library = libraries.get(tx, library_id)
            files = libraries.count_files(tx)
            missing = libraries.count_missing(tx)
        return LibraryView(
            library=library,
            files=files.get(library.id, 0),
            missing=missing.get(library.id, 0),
            root=self._probes.look([library.path])[library.path],
            webhook_paths=self._takes_paths(library),
        )

    def free_bytes(self, directory: Path) -> int | None:
        """Give the room left at a place; None when nobody can say."""
        return self._probes.look([directory])[directory].free_bytes
