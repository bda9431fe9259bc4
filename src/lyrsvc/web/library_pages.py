"""The libraries as a page: how each one is doing, adding, changing, scanning, forgetting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from lyrsvc.core.errors import LyrsvcError, NotFound
from lyrsvc.core.library import Library
from lyrsvc.services.library_board import LibraryView
from lyrsvc.services.root_probes import RootState
from lyrsvc.store import libraries
from lyrsvc.store.scan_listing import untagged_files
from lyrsvc.web import library_api, scan_api
from lyrsvc.web.exchange import Exchange, Form
from lyrsvc.web.gates import PAGE
from lyrsvc.web.library_api import Removal
from lyrsvc.web.library_forms import (
    LibraryForm,
    faults_of,
    form_of,
    read_change,
    read_new,
    read_scan,
    sent_form,
)
from lyrsvc.web.page_actions import Action, act, counted, may_act, sentence
from lyrsvc.web.page_messages import Message
from lyrsvc.web.problems import Problem, translate
from lyrsvc.web.rendering import show
from lyrsvc.web.replies import Reply
from lyrsvc.web.route import form, page
from lyrsvc.web.scan_api import ScanClearing
from lyrsvc.web.scan_lines import ScanLine, scan_lines
from lyrsvc.web.shapes import as_text

HOME: Final = "/libraries"
_MOST_UNTAGGED: Final = 20


@dataclass(frozen=True, kw_only=True)
class LibraryCard:
    """A library as the page shows it; ``trouble`` names what is wrong with its directory."""

    view: LibraryView
    path: str
    trouble: str
    running: ScanLine | None
    last: ScanLine | None
    form: LibraryForm
    untagged: Sequence[str] = ()

    @property
    def covered(self) -> str | None:
        """Give the share of files with lyrics in percent; all of them only when none is missing."""
        files, missing = self.view.files, self.view.missing
        return f"{1000 * max(0, files - missing) // files / 10:g}" if files else None


def show_libraries(exchange: Exchange) -> Reply:
    """Show every library, with its scans and what is wrong with it."""
    return _show(exchange)


def act_on_libraries(exchange: Exchange, form: Form) -> Reply:
    """Add, change, scan, call off, clear or remove, as the button says."""
    return act(exchange, form, ACTIONS, home=HOME)


def trouble_of(state: RootState) -> str:
    """Name what is wrong with a directory; nothing when all is well."""
    if not state.answers:
        return "silent"
    if not state.reachable:
        return "unreachable"
    if not state.writable:
        return "unwritable"
    return "empty" if state.empty else ""


def _show(exchange: Exchange, sent: LibraryForm | None = None, *, status: int = 200) -> Reply:
    """Show the page; a form that was refused is shown as it was sent."""
    service = exchange.service
    scans = scan_lines(service.scan_desk, now=service.clock.now())
    cards = [
        LibraryCard(
            view=view,
            path=as_text(str(view.library.path)),
            trouble=trouble_of(view.root),
            running=scans.running_of(view.library.id),
            last=(last := scans.last_of(view.library.id)),
            form=sent if sent and sent.id == view.library.id else form_of(view),
            untagged=_untagged(exchange, last),
        )
        for view in service.library_board.views()
    ]
    return show(
        exchange,
        "libraries.html",
        title="Libraries",
        status=status,
        cards=cards,
        adding=sent if sent and sent.id is None else LibraryForm(),
        faults=sent.faults if sent else {},
        most_untagged=_MOST_UNTAGGED,
        suffix=sent.suffix if sent else "",
        defaults={
            "enrich": service.settings.enrichment.enabled,
            "detect_instrumental": service.settings.instrumental_detector.enabled,
        },
        may_act=may_act(exchange),
    )


def _untagged(exchange: Exchange, last: ScanLine | None) -> list[str]:
    """Name the files that stay out of the queue because nothing says what they are."""
    if last is None or not last.scan.unreadable:
        return []
    with exchange.service.db.read() as tx:
        files = untagged_files(tx, last.scan.library, limit=_MOST_UNTAGGED)
    return [as_text(path) for path in files]


def _add(exchange: Exchange, form: Form) -> Message | Reply:
    try:
        added = library_api.add_library(exchange, read_new(form))
    except (Problem, LyrsvcError) as error:
        return _refused(exchange, form, error)
    note = f" {sentence(added.note)}" if isinstance(added.note, str) else ""
    if "scan" not in form:
        return Message("ok", f"{added.name} was added.{note}")
    try:
        scan_api.start_scan(exchange, read_scan(Form(), added.id))
    except LyrsvcError as error:
        return Message("warning", f"{added.name} was added, but not scanned: {error}.{note}")
    return Message("ok", f"{added.name} was added and is being scanned.{note}")


def _update(exchange: Exchange, form: Form) -> Message | Reply:
    library = _chosen(exchange, form)[0]
    try:
        changed = library_api.change_library(exchange, library.id, read_change(form, library))
    except (Problem, LyrsvcError) as error:
        return _refused(exchange, form, error, library)
    note = f" {sentence(changed.note)}" if isinstance(changed.note, str) else ""
    return Message("ok", f"{changed.name} was saved.{note}")


def _scan(exchange: Exchange, form: Form) -> Message:
    """Scan the named libraries, or all of them when none is named."""
    if not form.all("id"):
        scan_api.start_scan(exchange, read_scan(form, None))
        return Message("ok", "All libraries are being scanned, one after another.")
    chosen = _chosen(exchange, form)
    for library in chosen:
        scan_api.start_scan(exchange, read_scan(form, library.id))
    return Message("ok", f"{_named(chosen)} {_are(chosen)} being scanned.")


def _cancel(exchange: Exchange, form: Form) -> Message:
    """Call off the scans of the named libraries."""
    ids = {library.id for library in _chosen(exchange, form)}
    running = [row for row in exchange.service.scan_desk.running() if row["library_id"] in ids]
    if not running:
        return Message("info", "No scan is running there any more.")
    for row in running:
        scan_api.cancel_scan(exchange, row["id"])
    return Message("ok", "The scan was called off. What it has found so far is kept.")


def _clear(exchange: Exchange, form: Form) -> Message | Reply:
    """Forget scan results; without the word that it is meant, show what that would do."""
    chosen, confirmed = _chosen(exchange, form), bool(form.get("confirm"))
    done = [
        scan_api.clear_results(exchange, ScanClearing(library=one.id, confirm=confirmed))
        for one in chosen
    ]
    rows = counted(sum(one.would_delete for one in done), "scan result")
    items = counted(sum(one.queue_cancelled for one in done), "waiting item")
    if confirmed:
        exchange.service.health.forget()
        return Message("ok", f"{rows} of {_named(chosen)} and {items} of the queue were forgotten.")
    text = (
        f"This forgets {rows} of {_named(chosen)} and {items} of the queue. The library itself "
        "stays, and so does every file: audio and lyrics are not touched. The next scan finds "
        "the files again."
    )
    return _ask(exchange, form, title="Clear the scan results?", text=text, button="Clear results")


def _remove(exchange: Exchange, form: Form) -> Message | Reply:
    """Forget libraries; without the word that it is meant, show what that would do."""
    chosen = _chosen(exchange, form)
    if form.get("confirm"):
        for library in chosen:
            library_api.remove_library(exchange, library.id, Removal(confirm=True))
        exchange.service.health.forget()
        return Message("ok", f"{_named(chosen)} {_were(chosen)} removed. No file was touched.")
    desk = library_api.registry(exchange)
    held = [desk.count(library, inventory_only=False) for library in chosen]
    text = (
        f"This removes {_named(chosen)} with "
        f"{counted(sum(one.scan_rows for one in held), 'scan result')} and "
        f"{counted(sum(one.cancelled for one in held), 'waiting item')} of the queue. "
        "No file is deleted: audio and lyrics stay where they are."
    )
    title = "Remove this library?" if len(chosen) == 1 else "Remove these libraries?"
    return _ask(exchange, form, title=title, text=text, button="Remove")


def _ask(exchange: Exchange, form: Form, *, title: str, text: str, button: str) -> Reply:
    fields = [("action", form.get("action")), *(("id", one) for one in form.all("id"))]
    return show(
        replace(exchange, query_string=""),
        "end_confirm.html",
        title=title,
        text=text,
        action=HOME,
        button=button,
        back=HOME,
        fields=[*fields, ("confirm", "yes")],
    )


def _refused(
    exchange: Exchange,
    form: Form,
    error: Problem | LyrsvcError,
    library: Library | None = None,
) -> Reply:
    """Show the form again with what is wrong with it; programs get the error itself."""
    problem = error if isinstance(error, Problem) else translate(error)
    if exchange.wants_json or problem.status >= 500:
        raise error
    with exchange.service.db.read() as tx:
        others = [one for one in libraries.all_libraries(tx) if one != library]
    faults = faults_of(problem, form, others)
    sent = sent_form(form, faults, id=library.id if library else None)
    return _show(exchange, sent, status=problem.status)


def _chosen(exchange: Exchange, form: Form) -> list[Library]:
    ids = list(dict.fromkeys(form.all("id")))
    if not ids:
        raise Problem("invalid_request", "id: name a library")
    if not all(text.isascii() and text.isdigit() and len(text) <= 18 for text in ids):
        raise Problem("invalid_request", "id: must be the id of a library")
    try:
        with exchange.service.db.read() as tx:
            return [libraries.get(tx, int(text)) for text in ids]
    except NotFound as error:
        raise Problem("not_found", "this library is not there any more") from error


def _named(chosen: list[Library]) -> str:
    return ", ".join(library.name for library in chosen)


def _are(chosen: list[Library]) -> str:
    return "is" if len(chosen) == 1 else "are"


def _were(chosen: list[Library]) -> str:
    return "was" if len(chosen) == 1 else "were"


ACTIONS: Final[Mapping[str, Action]] = {
    "add": _add,
    "update": _update,
    "scan": _scan,
    "cancel": _cancel,
    "clear": _clear,
    "remove": _remove,
}

ROUTES: Final = (page(HOME, PAGE, show_libraries), form(HOME, PAGE, act_on_libraries))
