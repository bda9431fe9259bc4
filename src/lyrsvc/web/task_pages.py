"""The tasks as a page: what comes round by itself, the scans, run one now, call one off."""

from collections.abc import Mapping
from typing import Final

from lyrsvc.web import scan_api, task_api
from lyrsvc.web.exchange import Exchange, Form
from lyrsvc.web.gates import PAGE
from lyrsvc.web.list_filters import library_names
from lyrsvc.web.page_actions import Action, act, may_act
from lyrsvc.web.page_messages import Message
from lyrsvc.web.problems import Problem
from lyrsvc.web.rendering import show
from lyrsvc.web.replies import Reply
from lyrsvc.web.route import form, page
from lyrsvc.web.scan_lines import scan_lines

HOME: Final = "/system/tasks"
TITLES: Final[Mapping[str, str]] = {
    "scan": "Scan all libraries",
    "retention": "Forget what is old",
    "sweep": "Forget vanished files",
    "counts": "Check the counters",
    "lanes": "Follow the providers",
}
"""What people call the tasks; one that is not here goes by its name."""


def show_tasks(exchange: Exchange) -> Reply:
    """Show the tasks, the scans under way and the last of each library."""
    service = exchange.service
    now = service.clock.now()
    return show(
        exchange,
        "tasks.html",
        title="Tasks",
        tasks=service.tasks.views(),
        titles=TITLES,
        scan_lines=scan_lines(service.scan_desk, now=now),
        libraries=library_names(exchange),
        now=now,
        may_act=may_act(exchange),
    )


def act_on_tasks(exchange: Exchange, form: Form) -> Reply:
    """Run a task or call a scan off, as the button says."""
    return act(exchange, form, ACTIONS, home=HOME)


def _run(exchange: Exchange, form: Form) -> Message:
    names = [task_api.run_task(exchange, name).name for name in _chosen(form, "a task")]
    titles = ", ".join(TITLES.get(name, name) for name in names)
    return Message("ok", f"Started: {titles}.")


def _cancel(exchange: Exchange, form: Form) -> Message:
    states = set()
    for text in _chosen(form, "a scan"):
        if not (text.isascii() and text.isdigit() and len(text) <= 18):
            raise Problem("invalid_request", "id: must be the id of a scan")
        states.add(scan_api.cancel_scan(exchange, int(text)).state)
    if "running" in states:
        return Message("info", "The scan is being called off.")
    if "cancelled" in states:
        return Message("ok", "The scan was called off. What it has found so far is kept.")
    return Message("info", "The scan had ended already.")


def _chosen(form: Form, thing: str) -> list[str]:
    ids = list(dict.fromkeys(filter(None, form.all("id"))))
    if not ids:
        raise Problem("invalid_request", f"id: name {thing}")
    return ids


ACTIONS: Final[Mapping[str, Action]] = {"run": _run, "cancel": _cancel}

ROUTES: Final = (page(HOME, PAGE, show_tasks), form(HOME, PAGE, act_on_tasks))
