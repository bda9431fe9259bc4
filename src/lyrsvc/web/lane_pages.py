"""The lanes as a page: in their order, how each stands, trying one out, letting one try again."""

from collections.abc import Mapping
from typing import Final

from lyrsvc.services.lane_desk import DETECTOR
from lyrsvc.web import provider_api
from lyrsvc.web.exchange import Exchange, Form
from lyrsvc.web.gates import PAGE
from lyrsvc.web.page_actions import Action, act, may_act, sentence
from lyrsvc.web.page_messages import Message
from lyrsvc.web.problems import Problem
from lyrsvc.web.rendering import show, shown_here
from lyrsvc.web.replies import Reply
from lyrsvc.web.route import form, page

HOME: Final = "/system/providers"


def show_lanes(exchange: Exchange) -> Reply:
    """Show every lane in its place, with its record."""
    service = exchange.service
    return show(
        exchange,
        "providers.html",
        title="Providers",
        lanes=service.lane_desk.views(),
        detector=DETECTOR,
        now=service.clock.now(),
        may_act=may_act(exchange),
    )


def act_on_lanes(exchange: Exchange, form: Form) -> Reply:
    """Try a lane out or reset it, as the button says."""
    return act(exchange, form, ACTIONS, home=HOME)


def _test(exchange: Exchange, form: Form) -> Message:
    told, is_fine = [], True
    for lane in _chosen(form):
        trial = provider_api.test_lane(exchange, lane)
        took = f" It took {trial.ms:,} ms." if trial.ms else ""
        told.append(f"{lane}: {sentence(shown_here(exchange, trial.detail))}{took}")
        is_fine = is_fine and trial.ok
    return Message("ok" if is_fine else "error", " ".join(told))


def _reset(exchange: Exchange, form: Form) -> Message:
    told = []
    for lane in _chosen(form):
        state = provider_api.reset_lane(exchange, lane).state
        told.append(
            f"{lane} is asked one careful question next."
            if state == "probing"
            else f"{lane} was not closed."
        )
    return Message("ok", " ".join(told))


def _chosen(form: Form) -> list[str]:
    names = list(dict.fromkeys(filter(None, form.all("id"))))
    if not names:
        raise Problem("invalid_request", "id: name a lane")
    return names


ACTIONS: Final[Mapping[str, Action]] = {"test": _test, "reset": _reset}

ROUTES: Final = (page(HOME, PAGE, show_lanes), form(HOME, PAGE, act_on_lanes))
