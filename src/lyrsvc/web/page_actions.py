"""Forms of list pages: do what is asked, go back to the list, say in a sentence what happened."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from lyrsvc.core.errors import LyrsvcError
from lyrsvc.web.identity_kinds import IdentityKind
from lyrsvc.web.page_messages import Message, go_back
from lyrsvc.web.problems import Problem, translate
from lyrsvc.web.replies import Reply
from lyrsvc.web.return_paths import safe_next

if TYPE_CHECKING:
    from lyrsvc.web.exchange import Exchange, Form

Action = Callable[["Exchange", "Form"], "Message | Reply"]


def act(exchange: "Exchange", form: "Form", actions: Mapping[str, Action], *, home: str) -> Reply:
    """Do the action a form names; a refusal is told on the page like a success.

    ``home`` is the page the form stands on; ``next`` may name another address of it.
    """
    action = actions.get(form.get("action"))
    if action is None:
        raise Problem("invalid_request", f"action: must be one of {', '.join(actions)}")
    try:
        done = action(exchange, form)
    except (Problem, LyrsvcError) as error:
        problem = error if isinstance(error, Problem) else translate(error)
        if exchange.wants_json or problem.status >= 500:
            raise
        done = Message("error", sentence(problem.detail))
    if isinstance(done, Reply):
        return done
    return go_back(exchange, return_path(form, home), done.text, level=done.level)


def return_path(form: "Form", home: str) -> str:
    """Give the address to go back to: below ``home``, with the filters that were in use."""
    wanted = safe_next(form.get("next"))
    inside = wanted == home or wanted.startswith((f"{home}?", f"{home}/"))
    return wanted if inside else home


def may_act(exchange: "Exchange") -> bool:
    """Tell whether the visitor may change anything: some networks may only look."""
    access = exchange.service.settings.server.trusted_networks.ui_access
    return exchange.identity.kind is not IdentityKind.TRUSTED or access == "full"


def counted(number: int, thing: str) -> str:
    """Count things in words: ``1 item``, ``1,200 items``."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def sentence(text: str) -> str:
    """Make a sentence of what an error says; a setting's name at its start stays as it is."""
    is_name = "." in text.partition(" ")[0].rstrip(".")
    start = text[:1] if is_name else text[:1].upper()
    return start + text[1:] + ("" if text.endswith(".") else ".")
