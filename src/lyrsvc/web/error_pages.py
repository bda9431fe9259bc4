"""Errors as pages, for people with a browser."""

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from lyrsvc.core.errors import LyrsvcError
from lyrsvc.web.gates import page_of, visitor_of
from lyrsvc.web.identity_kinds import ANONYMOUS, IdentityKind
from lyrsvc.web.problems import Problem
from lyrsvc.web.rendering import show, show_door
from lyrsvc.web.replies import Reply
from lyrsvc.web.return_paths import safe_next

if TYPE_CHECKING:
    from lyrsvc.web.exchange import Exchange

_PROGRAMS: Final = ("/api/", "/metrics", "/healthz", "/readyz", "/ping", "/static/")
_TITLES: Final = {
    400: "Not understood",
    401: "Sign in first",
    403: "Not allowed",
    404: "Not found",
    405: "Not possible",
    413: "Too large",
    503: "Not available now",
}


def is_for_people(exchange: "Exchange") -> bool:
    """Tell whether an error is shown as a page rather than as JSON."""
    return (
        exchange.service.settings.server.web_ui_enabled
        and not exchange.path.startswith(_PROGRAMS)
        and not exchange.wants_json
    )


def show_problem(exchange: "Exchange", problem: Problem) -> Reply:
    """Show what went wrong inside the frame; strangers see it without the menu."""
    title = _TITLES.get(problem.status, "Something went wrong")
    context: dict[str, Any] = {
        "sentence": problem.detail[:1].upper() + problem.detail[1:] + ".",
        "hint": "Please try again in a moment." if problem.status == 503 else "",
        # A page that is loaded again after a refused form would only send the form again.
        "back": safe_next(page_of(exchange)) if problem.code == "csrf" else "",
        "request_id": str(problem.extra.get("request_id", "")),
    }
    if exchange.identity.kind is IdentityKind.ANONYMOUS:
        with contextlib.suppress(LyrsvcError):
            exchange.identity = visitor_of(exchange) or ANONYMOUS
    known = exchange.identity.kind is not IdentityKind.ANONYMOUS
    shown = show if known else show_door
    reply = shown(exchange, "error.html", title=title, status=problem.status, **context)
    return replace(
        reply,
        headers=problem.headers,
        # A form in another tab must stay good: its value is bound to who is not known here.
        cookies=reply.cookies if known else (),
    )
