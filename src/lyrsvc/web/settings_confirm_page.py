"""The page that says what a critical change will do and asks once, for browsers without script.

A secret does not travel through it in the clear: it is sealed, for this visitor alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from lyrsvc.core.errors import ConfigError
from lyrsvc.security.csrf import ANONYMOUS
from lyrsvc.settings.setting_views import SettingView
from lyrsvc.web.exchange import Exchange, Form
from lyrsvc.web.page_actions import sentence
from lyrsvc.web.problems import Problem
from lyrsvc.web.rendering import show
from lyrsvc.web.replies import Reply
from lyrsvc.web.setting_forms import CONFIRM, PATH, SEALED, Submission, field_name
from lyrsvc.web.setting_words import label_of, value_text

_OWN: Final = frozenset({"csrf_token", CONFIRM, SEALED})


@dataclass(frozen=True, kw_only=True)
class Step:
    """One change that is asked about."""

    path: str
    label: str
    help: str
    before: str
    after: str


def show_confirmation(
    exchange: Exchange,
    form: Form,
    asked: Submission,
    views: Mapping[str, SettingView],
    problem: Problem,
) -> Reply:
    """Show what will change and ask; the form carries everything that was sent."""
    steps = [_step(views[path], value) for path, value in asked.changes.items()]
    tab = views[steps[0].path].tab or ""
    return show(
        replace(exchange, path="/settings", query_string=f"tab={tab}"),
        "settings_confirm.html",
        title="Please confirm",
        action=exchange.path,
        back=f"/settings?tab={tab}#setting-{steps[0].path.replace('.', '-')}",
        detail=sentence(problem.detail),
        steps=steps,
        fields=list(_carried(exchange, form, asked, views)),
    )


def unseal(exchange: Exchange, form: Form) -> str:
    """Give the secret that came back from the page; nothing when there is none."""
    wrapped, path = form.get(SEALED), form.get(PATH)
    if not wrapped:
        return ""
    found = exchange.service.secrets.unwrap(wrapped, purpose=_purpose(exchange, path))
    if found is None:
        raise Problem("invalid_request", "the form is out of date; enter the secret again")
    return found


def _step(view: SettingView, value: object) -> Step:
    if view.secret:
        after = "cleared" if value is None else "the value you entered"
        before = "set" if view.set else "not set"
    else:
        after = value_text(view.default if value in (None, "") else value, view.unit)
        before = value_text(view.value, view.unit)
    return Step(
        path=view.path,
        label=label_of(view.path, view.unit),
        help=view.help,
        before=before,
        after=after,
    )


def _carried(
    exchange: Exchange, form: Form, asked: Submission, views: Mapping[str, SettingView]
) -> Iterator[tuple[str, str]]:
    secrets = {
        field_name(form, path): path for path in asked.paths if path in views and views[path].secret
    }
    for name, values in form.values.items():
        if name not in _OWN and name not in secrets:
            yield from ((name, value) for value in values)
    for path in secrets.values():
        value = asked.changes.get(path)
        if isinstance(value, str) and value:
            yield SEALED, _sealed(exchange, path, value)
    yield CONFIRM, "yes"


def _sealed(exchange: Exchange, path: str, value: str) -> str:
    try:
        return exchange.service.secrets.wrap(value, purpose=_purpose(exchange, path))
    except ConfigError as error:
        raise Problem(
            "unavailable",
            "the secret store cannot be used; see the log",
            headers={"Retry-After": "5"},
        ) from error


def _purpose(exchange: Exchange, path: str) -> str:
    return f"form:{path}:{exchange.identity.session or ANONYMOUS}"
