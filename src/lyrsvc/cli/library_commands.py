"""Looking after the libraries."""

from collections.abc import Iterator
from typing import Any

from lyrsvc.cli.call import Call
from lyrsvc.core.library import Library

COLUMNS = ("id", "name", "path", "enrich", "detect_instrumental", "files", "last_scan")
_OVERRIDE = {True: "on", False: "off", None: "inherit"}


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
