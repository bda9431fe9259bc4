"""Looking after the libraries."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lyrsvc.cli.call import Call
from lyrsvc.core.errors import UsageError
from lyrsvc.core.library import Library

if TYPE_CHECKING:
    from lyrsvc.services.library_registry import LibraryRegistry, Override, Registered
    from lyrsvc.store.database import Database

COLUMNS = ("id", "name", "path", "enrich", "detect_instrumental", "files", "last_scan")
PLACE = ("id", "name", "path")
_OVERRIDE = {True: "on", False: "off", None: "inherit"}
_CHOICES = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
    "inherit": None,
}


def list_libraries(call: Call) -> int:
    """List the registered libraries."""
    from lyrsvc.store import libraries

    def rows() -> Iterator[dict[str, Any]]:
        db = call.open_to_read()
        if db is None:
            return
        with db, db.read() as tx:
            files = libraries.count_files(tx)
            for library in libraries.all_libraries(tx):
                yield _row(library, files.get(library.id, 0), as_json=call.args.json)

    call.print_rows(COLUMNS, rows())
    return 0


def add(call: Call) -> int:
    """Register a directory; the database is made when there is none."""
    from lyrsvc.services.library_registry import Wanted

    wanted = Wanted(
        path=call.args.path,
        name=call.args.name,
        enrich=_override("--enrich", call.args.enrich),
        detect_instrumental=_override("--detect-instrumental", call.args.detect_instrumental),
    )
    with call.open_or_make() as db:
        done = registry(call, db).add(wanted, allow_missing=call.args.allow_missing)
    return _tell(call, "library.added", done)


def update(call: Call) -> int:
    """Change a library."""
    from lyrsvc.services.library_registry import Wanted
    from lyrsvc.store import libraries

    args = call.args
    wanted = Wanted(
        path=args.path,
        name=args.name,
        enrich=_override("--enrich", args.enrich),
        detect_instrumental=_override("--detect-instrumental", args.detect_instrumental),
    )
    if wanted == Wanted():
        raise UsageError(
            "library update needs --path, --name, --enrich or --detect-instrumental; "
            "see: lyrsvc library update --help"
        )
    with open_to_change(call) as db:
        with db.read() as tx:
            library = libraries.find(tx, args.library)
        done = registry(call, db).update(library, wanted)
    return _tell(call, "library.changed", done)


def remove(call: Call) -> int:
    """Forget a library; without ``--yes`` only say what that would mean."""
    from lyrsvc.store import libraries

    with open_to_change(call) as db:
        with db.read() as tx:
            library = libraries.find(tx, call.args.library)
        desk = registry(call, db)
        gone = call.args.yes
        held = desk.remove(library) if gone else desk.count(library, inventory_only=False)
    row = {
        "library": library.name,
        "scan_rows": held.scan_rows,
        "queue_items": held.cancelled,
    }
    if gone:
        call.audit("library.removed", library=library.name, path=str(library.path), **_numbers(row))
    print_row(call, tuple(row), {**row, "removed": gone})
    if not gone:
        call.note("nothing was removed; add --yes to do it (no file is ever touched)")
    return 0


def registry(call: Call, db: "Database") -> "LibraryRegistry":
    """Give what looks after the libraries."""
    from lyrsvc.services.library_registry import LibraryRegistry

    return LibraryRegistry(
        db, clock=call.world.clock, working_directory=call.world.working_directory
    )


def open_to_change(call: Call) -> "Database":
    """Open a database that must be there already."""
    from lyrsvc.core.errors import NotFound
    from lyrsvc.store.database import Database, exists

    path = call.database_path
    if not exists(path):
        raise NotFound(
            f"no database at {path}; register a library with: lyrsvc library add PATH "
            "(or name the database of the service with --db)"
        )
    return Database.open(path, create=False, upgrade=True, clock=call.world.clock)


def print_row(call: Call, columns: tuple[str, ...], row: dict[str, Any]) -> None:
    """Print what an action came to: one object, or one row."""
    from lyrsvc.cli.listing import to_json

    if call.args.json:
        call.print(to_json(row))
    else:
        call.print_rows(columns, [row])


def _tell(call: Call, event: str, done: "Registered") -> int:
    library = done.library
    row = {"id": library.id, "name": library.name, "path": str(library.path)}
    overrides = {"enrich": library.enrich, "detect_instrumental": library.detect_instrumental}
    notes = {"notes": list(done.notes)} if done.notes else {}
    shown = {name: _OVERRIDE[value] for name, value in overrides.items()}
    call.audit(event, library=library.name, path=str(library.path), **shown)
    print_row(call, PLACE, {**row, **overrides, **notes})
    for note in done.notes:
        call.note(note)
    return 0


def _override(name: str, text: str | None) -> "Override | None":
    from lyrsvc.services.library_registry import Override

    if text is None:
        return None
    if text.lower() not in _CHOICES:
        raise UsageError(f'{name} "{text}" is not one of true, false, inherit')
    return Override(_CHOICES[text.lower()])


def _numbers(row: dict[str, Any]) -> dict[str, int]:
    return {name: value for name, value in row.items() if isinstance(value, int)}


def _row(library: Library, files: int, *, as_json: bool) -> dict[str, Any]:
    from lyrsvc.store.moments import to_db

    scanned = library.last_ok_scan_at
    enrich, detect = library.enrich, library.detect_instrumental
    return {
        "id": library.id,
        "name": library.name,
        "path": str(library.path),
        "enrich": enrich if as_json else _OVERRIDE[enrich],
        "detect_instrumental": detect if as_json else _OVERRIDE[detect],
        "files": files,
        "last_scan": to_db(scanned) if scanned else None,
    }
