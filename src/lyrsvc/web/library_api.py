"""Libraries: list, add, change, forget. No file on disk is ever touched."""

from os.path import normpath
from pathlib import PurePosixPath
from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from lyrsvc.core.errors import AlreadyThere, Refused
from lyrsvc.services.library_board import LibraryView
from lyrsvc.services.library_lock import LibraryBusy
from lyrsvc.services.library_registry import LibraryRegistry, Override, Registered, Wanted
from lyrsvc.store import libraries
from lyrsvc.web.audit_notes import audited
from lyrsvc.web.exchange import Exchange
from lyrsvc.web.gates import API
from lyrsvc.web.problems import Problem
from lyrsvc.web.replies import Reply
from lyrsvc.web.route import delete, get, patch, post
from lyrsvc.web.shapes import Moment, Page, as_text, shown_moment
from lyrsvc.web.short_lists import ShortListQuery, short_page

BUSY_WAIT_S: Final = 1.0

Name = Annotated[str, Meta(min_length=1, max_length=200)]
RootPath = Annotated[
    str, Meta(min_length=1, max_length=4096, description="An absolute path on this machine.")
]
Choice = bool | None
"""On, off, or null to inherit the default."""


class Library(msgspec.Struct):
    """One registered root; ``missing`` counts its files without lyrics.

    ``note`` comes with a root that was just added or moved inside or around another.
    """

    id: int
    name: str
    path: str
    enrich: bool | None
    detect_instrumental: bool | None
    created_at: Moment
    files: int
    missing: int
    last_scan: Moment | None
    reachable: bool
    writable: bool
    webhook_paths: bool
    note: str | UnsetType = UNSET


class NewLibrary(msgspec.Struct, forbid_unknown_fields=True):
    """What to register."""

    path: RootPath
    name: Name | None = None
    enrich: Choice = None
    detect_instrumental: Choice = None


class LibraryChange(msgspec.Struct, forbid_unknown_fields=True):
    """What to change; a member that is left out stays as it is."""

    path: RootPath | UnsetType = UNSET
    name: Name | UnsetType = UNSET
    enrich: Choice | UnsetType = UNSET
    detect_instrumental: Choice | UnsetType = UNSET


class Removal(msgspec.Struct, forbid_unknown_fields=True):
    """The word that it is meant."""

    confirm: bool = False


def list_libraries(exchange: Exchange, query: ShortListQuery) -> Page[Library]:
    """List the libraries."""
    every = [library_of(view) for view in exchange.service.library_board.views()]
    return short_page(every, query, text=lambda library: f"{library.name} {library.path}")


def show_library(exchange: Exchange, id: int) -> Library:
    """Show one library."""
    return library_of(exchange.service.library_board.view(id))


def add_library(exchange: Exchange, body: NewLibrary) -> Library:
    """Register a directory; a note tells when it lies inside another library."""
    wanted = Wanted(
        path=_absolute(body.path),
        name=body.name,
        enrich=Override(body.enrich),
        detect_instrumental=Override(body.detect_instrumental),
    )
    try:
        done = registry(exchange).add(wanted)
    except Refused as error:
        raise _refusal(error, body.path) from error
    return _done(exchange, "library.added", done)


def change_library(
    exchange: Exchange,
    id: int,
    body: LibraryChange,
) -> Library:
    """Change a library; with another path its rows keep their places below the root."""
    with exchange.service.db.read() as tx:
        library = libraries.get(tx, id)
    path = None if body.path is UNSET else _absolute(body.path)
    wanted = Wanted(
        path=None if path == str(library.path) else path,
        name=None if body.name is UNSET else body.name,
        enrich=_override(body.enrich),
        detect_instrumental=_override(body.detect_instrumental),
    )
    try:
        done = registry(exchange).update(library, wanted)
    except Refused as error:
        raise _refusal(error, path or "") from error
    return _done(exchange, "library.changed", done)


def remove_library(
    exchange: Exchange,
    id: int,
    body: Removal,
) -> Reply:
    """Forget a library, its inventory and the work only it wanted; files stay as they are."""
    with exchange.service.db.read() as tx:
        library = libraries.get(tx, id)
    if not body.confirm:
        held = registry(exchange).count(library, inventory_only=False)
        raise Problem(
            "confirmation_required",
            f"this forgets {held.scan_rows} scan results and {held.cancelled} items of the queue; "
            "confirm it",
        )
    held = registry(exchange).remove(library)
    audited(
        exchange,
        "library.removed",
        library=library.name,
        path=str(library.path),
        scan_rows=held.scan_rows,
        queue_items=held.cancelled,
    )
    return Reply(status=204)


def registry(exchange: Exchange) -> LibraryRegistry:
    """Give what looks after the libraries; a busy one is not waited for long."""
    service = exchange.service
    return LibraryRegistry(
        service.db,
        clock=service.clock,
        working_directory=service.loaded.inputs.working_directory,
        wait_s=BUSY_WAIT_S,
    )


def library_of(view: LibraryView) -> Library:
    """Give the shape of a library."""
    library = view.library
    return Library(
        id=library.id,
        name=library.name,
        path=as_text(str(library.path)),
        enrich=library.enrich,
        detect_instrumental=library.detect_instrumental,
        created_at=shown_moment(library.created_at) or "",
        files=view.files,
        missing=view.missing,
        last_scan=shown_moment(library.last_ok_scan_at),
        reachable=view.root.reachable,
        writable=view.root.writable,
        webhook_paths=view.webhook_paths,
    )


def _done(exchange: Exchange, event: str, done: Registered) -> Library:
    library = done.library
    audited(
        exchange,
        event,
        library=library.name,
        path=str(library.path),
        enrich=library.enrich,
        detect_instrumental=library.detect_instrumental,
    )
    exchange.service.health.forget()
    shown = library_of(exchange.service.library_board.view(library.id))
    if done.notes:
        shown.note = "; ".join(done.notes)
    return shown


def _absolute(path: str) -> str:
    if "\0" in path or not PurePosixPath(path).is_absolute():
        raise Problem("invalid_request", "path: expected an absolute path")
    return path


def _override(choice: bool | UnsetType | None) -> Override | None:  # noqa: FBT001 - the value
    return None if choice is UNSET else Override(choice)


def _refusal(error: Refused, path: str) -> Exception:
    """Say what is in the way, without the path and without the words of the command line."""
    match error:
        case LibraryBusy():
            return error
        case AlreadyThere():
            return Problem("exists", "another library has this directory or this name")
    what = str(error).partition("; ")[0]
    for shown in filter(None, (path, path.rstrip("/"), normpath(path) if path else "")):
        what = what.replace(shown, "the path")
    return Problem("invalid_request", f"path: {what}" if "the path" in what else what)


ROUTES: Final = (
    get("/api/v1/libraries", API, list_libraries),
    post("/api/v1/libraries", API, add_library, status=201, refusals=("exists",)),
    get("/api/v1/libraries/{id}", API, show_library),
    patch("/api/v1/libraries/{id}", API, change_library, refusals=("exists", "already_running")),
    delete(
        "/api/v1/libraries/{id}",
        API,
        remove_library,
        status=204,
        refusals=("confirmation_required", "already_running"),
    ),
)
