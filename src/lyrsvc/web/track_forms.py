"""The form that asks for one track: what was typed into it, and what is wrong with it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from lyrsvc.web.exchange import Form
from lyrsvc.web.page_actions import sentence
from lyrsvc.web.parsing_requests import read_wish
from lyrsvc.web.problems import Problem
from lyrsvc.web.queue_shapes import TrackWish

LONGEST: Final = {"artist": 1000, "title": 1000, "album": 1000, "path": 4096}


@dataclass(frozen=True, kw_only=True)
class TrackForm:
    """The form as it is shown; ``faults`` has a sentence for each field that is wrong."""

    artist: str = ""
    title: str = ""
    album: str = ""
    path: str = ""
    faults: Mapping[str, str] = field(default_factory=dict)


BLANK: Final = TrackForm()


def read_track(form: Form) -> TrackWish:
    """Read the track that is asked for; blanks around its names do not count."""
    for name, most in LONGEST.items():
        text = form.get(name).strip()
        if not text and name in ("artist", "title"):
            raise Problem("invalid_request", f"{name}: name the {name}")
        if len(text) > most:
            raise Problem("invalid_request", f"{name}: at most {most:,} characters fit")
    stripped = [(name, text.strip()) for name, texts in form.values.items() for text in texts]
    wish: TrackWish = read_wish(Form(stripped), TrackWish)
    return wish


def refused_form(form: Form, problem: Problem) -> TrackForm:
    """Give the form again as it was typed, with what is wrong at the field it is about."""
    name, colon, text = problem.detail.partition(": ")
    faults = {name: sentence(text)} if colon and name in LONGEST else {}
    typed = {name: form.get(name) for name in LONGEST}
    return TrackForm(**typed, faults=faults or {"": sentence(problem.detail)})
