"""The lane keeps the contract that lyrsvc ships for every lane."""

import json
from collections.abc import Callable

import pytest
from lyrsvc_provider_example import Shelf

from lyrsvc.core.recording import Recording
from lyrsvc.providers.contract import CONTRACT, Subject

LINE = "a lamp, löw, in the 窓"

SUBJECT = Subject(
    make=Shelf,
    recording=Recording(title="Slow Ferry", artist="The Quiet Ferrymen"),
    hit=json.dumps(
        {
            "artist": "The Quiet Ferrymen",
            "title": "Slow Ferry",
            "synced": f"[00:01.40]{LINE}\n[00:04.50]and nobody hurries",
        }
    ).encode(),
    line=LINE,
)


@pytest.mark.parametrize("check", CONTRACT, ids=lambda check: check.__name__)
def test_the_lane_keeps_the_contract(check: Callable[[Subject], None]) -> None:
    """Let each check of the contract look at the lane."""
    check(SUBJECT)
