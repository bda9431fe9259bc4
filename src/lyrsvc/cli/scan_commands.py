"""Looking through libraries."""

from collections.abc import Iterator
from typing import Any

from lyrsvc.cli.call import Call

COLUMNS = ("id", "library", "status", "artist", "title", "source_path", "destination")


def list_results(call: Call) -> int:
    """List the inventory, a row at a time however long it is."""
    from lyrsvc.store import libraries, scan_listing

    def rows() -> Iterator[dict[str, Any]]:
        db = call.open_to_read()
        if db is None:
            return
        with db, db.read(deadline_s=None) as tx:
            name = call.args.library
            library = libraries.find(tx, name).id if name is not None else None
            found = scan_listing.list_results(
                tx, library_id=library, status=call.args.status, limit=call.args.limit
            )
            yield from (_row(row, as_json=call.args.json) for row in found)

    call.print_rows(COLUMNS, rows())
    return 0


def _row(row: dict[str, Any], *, as_json: bool) -> dict[str, Any]:
    name = row.pop("library_name")
    return row if as_json else {**row, "library": name}
