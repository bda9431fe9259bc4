"""The built-in HTTP lanes keep the contract that strangers are asked to keep."""

import pytest

from lyrsvc.core.errors import Miss
from lyrsvc.core.recording import Recording
from lyrsvc.providers.contract import (
    CONTRACT,
    Subject,
    calls_a_closed_port_transient,
    calls_an_endless_body_malformed,
    calls_silence_transient,
)
from lyrsvc.providers.defaultprov import DefaultProv
from lyrsvc.providers.lrclib import Lrclib
from lyrsvc.providers.tokens import OperatorToken
from providers_data import recorded

ASKED = Recording(title="Paper Lantern Weather", artist="The Quiet Ferrymen")
LINE = "löw 灯 και 🎐"


def hit(lane: str, file: str) -> bytes:
    return recorded(lane, file).text.replace("lanterns low", f"lanterns {LINE}").encode()


SUBJECTS = {
    "defaultprov": Subject(
        make=lambda url: DefaultProv(
            base_url=url, app_id="app", tokens=OperatorToken("token", "--token")
        ),
        recording=ASKED,
        hit=hit("defaultprov", "A1_synced_cue_array.json"),
        line=LINE,
    ),
    "lrclib": Subject(
        make=lambda url: Lrclib(base_url=url),
        recording=ASKED,
        hit=hit("lrclib", "hit.json"),
        line=LINE,
    ),
}


@pytest.mark.parametrize("name", SUBJECTS)
@pytest.mark.parametrize("check", CONTRACT, ids=lambda check: check.__name__)
def test_a_built_in_lane_keeps_the_contract(name, check):
    check(SUBJECTS[name])


FOR_FREE = {
    calls_silence_transient,
    calls_a_closed_port_transient,
    calls_an_endless_body_malformed,
}
"""The network's own faults are translated for every lane."""


class Careless:
    """A lane that calls everything a miss, shouts and cannot be closed twice."""

    name = "Careless Lane"
    local = False
    needs_token = False

    def __init__(self, url):
        self._url = url
        self._closed = False

    def lookup(self, recording, ctx):
        reply = ctx.http.get(self._url)
        raise Miss(f"{self._url}: {reply.body!r}")

    def probe(self, ctx):
        pass

    def close(self):
        if self._closed:
            raise RuntimeError("closed twice")
        self._closed = True


@pytest.mark.parametrize("check", CONTRACT, ids=lambda check: check.__name__)
def test_the_contract_finds_out_a_careless_lane(check):
    subject = Subject(make=Careless, recording=ASKED, hit=b"{}", line=LINE)

    if check in FOR_FREE:
        check(subject)
    else:
        with pytest.raises((AssertionError, Miss, RuntimeError)):
            check(subject)
