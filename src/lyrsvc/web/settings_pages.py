"""The settings pages: a loop over the registry, with a form for what is saved together.

Nothing here knows a setting by name. A page that answers a form is shown under the
address of the page the form stands on, so that the menu and the theme stay right.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from lyrsvc.settings.setting_views import SettingView
from lyrsvc.settings.settings_desk import SavedSettings
from lyrsvc.web.exchange import Exchange, Form
from lyrsvc.web.gates import PAGE
from lyrsvc.web.page_actions import may_act, sentence
from lyrsvc.web.page_messages import go_back
from lyrsvc.web.problems import Problem
from lyrsvc.web.rendering import show
from lyrsvc.web.replies import Reply
from lyrsvc.web.route import form, page
from lyrsvc.web.setting_cards import NOTHING_TYPED, Typed, lay_out
from lyrsvc.web.setting_controls import Situation
from lyrsvc.web.setting_forms import (
    CONFIRM,
    PATH,
    Submission,
    arrange_rows,
    read_submission,
)
from lyrsvc.web.setting_words import label_of, value_text
from lyrsvc.web.settings_api import save_changes
from lyrsvc.web.settings_confirm_page import show_confirmation, unseal

TABS: Final = ("common", "advanced", "raw")
VIEWS: Final = ("running", "next")
MOST_PATHS: Final = 100


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One line of the summary above a form that was not saved; ``link`` leads to the setting."""

    link: str
    label: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What a restart changes about one setting, in words."""

    path: str
    secret: bool
    running: str
    saved: str


def show_settings(exchange: Exchange) -> Reply:
    """Show the settings of a tab, those a word is found in, or the whole as TOML."""
    asked = dict(reversed(exchange.query_pairs))
    tab = asked.get("tab", "")
    if tab == "raw":
        return _show_raw(exchange, asked.get("view", ""))
    return _show_tab(
        exchange, tab=tab if tab in TABS else TABS[0], wanted=asked.get("q", "").strip()[:100]
    )


def save_field(exchange: Exchange, form: Form) -> Reply:
    """Save one setting."""
    if len(form.all(PATH)) != 1:
        raise Problem("invalid_request", "path: must name one setting")
    return _save(exchange, form)


def save_section(exchange: Exchange, form: Form) -> Reply:
    """Save settings that depend on each other, all or none."""
    if not 0 < len(form.all(PATH)) <= MOST_PATHS:
        raise Problem("invalid_request", "path: must name the settings to save")
    return _save(exchange, form)


def _save(exchange: Exchange, form: Form) -> Reply:
    desk, registry = exchange.service.settings_desk, exchange.service.loaded.registry
    views = {view.path: view for view in desk.view().settings}
    asked = read_submission(form, registry, views, unsealed=unseal(exchange, form))
    arranged = arrange_rows(form, asked)
    if arranged is not None:
        return _show_arranged(exchange, arranged)
    try:
        _require_readable(asked)
        done = save_changes(
            exchange,
            dict(asked.changes),
            version=form.get("version") or None,
            confirmed=tuple(asked.changes) if form.get(CONFIRM) else (),
        )
    except Problem as problem:
        if exchange.wants_json:
            raise
        if problem.code == "confirmation_required":
            return show_confirmation(exchange, form, asked, views, problem)
        return _show_refusal(exchange, asked, problem)
    if exchange.wants_json:
        return Reply(
            data={
                "saved": list(done.saved),
                "restart_pending": list(done.restart_pending),
                "version": done.version,
            }
        )
    return _go_on(exchange, asked, done)


def _require_readable(asked: Submission) -> None:
    if asked.faults:
        names = ", ".join(asked.faults)
        raise Problem(
            "validation_failed", f"not saved: {names}", extra={"fields": dict(asked.faults)}
        )


def _go_on(exchange: Exchange, asked: Submission, done: SavedSettings) -> Reply:
    """Go back to the setting, saying what was saved and whether it waits for a restart."""
    path = next(iter((*asked.changes, *asked.paths)))
    where = _address(exchange, path)
    if not done.saved:
        return go_back(exchange, where, "Nothing was changed.", level="info")
    names = ", ".join(label_of(one) for one in done.saved)
    waits = not set(done.saved).isdisjoint(done.restart_pending)
    text = f"Saved, restart to apply: {names}." if waits else f"Saved: {names}."
    return go_back(exchange, where, text)


def _show_arranged(exchange: Exchange, arranged: Submission) -> Reply:
    """Show the form as it stands after a row was moved, added or removed; nothing is saved."""
    note = "Not saved yet: press Save below to keep the new order."
    return _show_tab(
        _standing_on(exchange, arranged.paths[0]),
        tab=_tab_of(exchange, arranged.paths[0]),
        typed=Typed(drafts=arranged.drafts),
        note=note,
    )


def _show_refusal(exchange: Exchange, asked: Submission, problem: Problem) -> Reply:
    """Show the form again with what was typed and why it was not saved."""
    path = next(iter((*asked.changes, *asked.paths)))
    found = problem.extra.get("fields")
    fields: Mapping[str, str] = found if isinstance(found, dict) else {}
    tab = _tab_of(exchange, path)
    reply = _show_tab(
        _standing_on(exchange, path),
        tab=tab,
        typed=Typed(drafts=asked.drafts, faults=fields),
        status=problem.status,
        refusal=sentence(problem.detail) if not fields else "",
        faults=[_fault(exchange, name, text, tab) for name, text in fields.items()],
    )
    return replace(reply, headers=problem.headers)


def _show_tab(
    exchange: Exchange,
    *,
    tab: str,
    wanted: str = "",
    typed: Typed = NOTHING_TYPED,
    status: int = 200,
    **notes: Any,  # noqa: ANN401 - what the top of the page tells
) -> Reply:
    service = exchange.service
    desk, loaded = service.settings_desk, service.loaded
    found = desk.view()
    around = Situation(
        known=loaded.resolution.values,
        pending=frozenset(desk.pending()),
        writable=found.writable,
        frozen=not may_act(exchange),
    )
    cards = lay_out(found, loaded.registry, around, tab=tab, wanted=wanted, typed=typed)
    return show(
        exchange,
        "settings.html",
        title="Configuration",
        status=status,
        tab=tab,
        wanted=wanted,
        cards=cards,
        around=around,
        version=found.version,
        config_path=loaded.config_path,
        next_faults=desk.faults(),
        **{"note": "", "refusal": "", "faults": (), **notes},
    )


def _show_raw(exchange: Exchange, view: str) -> Reply:
    view = view if view in VIEWS else VIEWS[0]
    desk = exchange.service.settings_desk
    waiting = set(desk.pending())
    changing = [_turn(one) for one in desk.view().settings if one.path in waiting]
    return show(
        exchange,
        "settings_raw.html",
        title="Configuration",
        tab="raw",
        wanted="",
        view=view,
        toml=desk.raw(following=view == "next"),
        next_faults=desk.faults(),
        changing=changing,
    )


def _turn(view: SettingView) -> Turn:
    return Turn(
        path=view.path,
        secret=view.secret,
        running=value_text(view.running, view.unit),
        saved=value_text(view.value, view.unit),
    )


def _fault(exchange: Exchange, path: str, text: str, tab: str) -> Fault:
    """Lead to the setting, or to the table when the fault is about several."""
    name = path.replace(".", "-")
    by_path = exchange.service.loaded.registry.by_path
    link = ""
    if path in by_path:
        own = by_path[path].setting.tab.value.lower()
        page = "" if own == tab else exchange.url(f"/settings?tab={own}")
        link = f"{page}#setting-{name}" if own else ""
    elif any(one.startswith(f"{path}.") for one in by_path):
        link = f"#table-{name}"
    return Fault(link=link, label=label_of(path) if link else path, text=sentence(text))


def _standing_on(exchange: Exchange, path: str) -> Exchange:
    """Give the exchange as the page that the form stands on sees it."""
    return replace(exchange, path="/settings", query_string=f"tab={_tab_of(exchange, path)}")


def _address(exchange: Exchange, path: str) -> str:
    return f"/settings?tab={_tab_of(exchange, path)}#setting-{path.replace('.', '-')}"


def _tab_of(exchange: Exchange, path: str) -> str:
    entry = exchange.service.loaded.registry.by_path.get(path)
    tab = entry.setting.tab.value.lower() if entry else ""
    return tab or TABS[0]


ROUTES: Final = (
    page("/settings", PAGE, show_settings),
    form("/settings/field", PAGE, save_field),
    form("/settings/section", PAGE, save_section),
)
