"""Who did what."""

import io
import json
import logging

import pytest

from lyrsvc.core.redaction import Redactor
from lyrsvc.logs.audit import LEVELS, Audit
from lyrsvc.logs.request_ids import serving
from lyrsvc.logs.setup import LogConfig, set_up


@pytest.fixture
def redactor():
    return Redactor()


@pytest.fixture
def kept():
    return []


@pytest.fixture
def audit(clock, redactor, kept):
    return Audit(clock=clock, redactor=redactor, keep=kept.append)


@pytest.fixture
def lines(clock, redactor):
    stream = io.StringIO()
    config = LogConfig(level="error", format="json")
    logs = set_up(config, redactor=redactor, stream=stream, clock=clock)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    logs.close()


def test_an_event_is_one_line_even_at_level_error(audit, lines):
    audit.event(
        "auth.key.failed",
        outcome="failed",
        client="192.0.2.7",
        request_id="0123456789abcdef",
        reason="unknown",
        path="/api/v1/status",
    )
    [line] = lines()
    del line["time"]
    assert list(line.items()) == [
        ("level", "warn"),
        ("logger", "lyrsvc.audit"),
        ("msg", "audit"),
        ("event", "auth.key.failed"),
        ("outcome", "failed"),
        ("actor", "anonymous"),
        ("client", "192.0.2.7"),
        ("request_id", "0123456789abcdef"),
        ("reason", "unknown"),
        ("path", "/api/v1/status"),
    ]


def test_the_text_line_names_event_and_client_before_anything_a_client_chose(
    clock, redactor, audit
):
    stream = io.StringIO()
    logs = set_up(LogConfig(), redactor=redactor, stream=stream, clock=clock)
    audit.event(
        "auth.login.failed", outcome="failed", client="192.0.2.7", user="x client=1.1.1.1\n"
    )
    logs.close()
    assert stream.getvalue().endswith(
        " WARN  lyrsvc.audit audit event=auth.login.failed outcome=failed actor=anonymous"
        ' client=192.0.2.7 user="x client=1.1.1.1\\n"\n'
    )


@pytest.mark.parametrize("name", LEVELS)
def test_only_what_a_stranger_does_wrong_is_a_warning(audit, lines, name):
    audit.event(name)
    wrong = ("failed", "forbidden", "locked", "rejected")
    assert lines()[0]["level"] == ("warn" if name.endswith(wrong) else "info")


def test_an_event_nobody_declared_is_written_as_a_warning(audit, lines):
    audit.event("brand.new")
    assert lines()[0]["level"] == "warn"


def test_a_key_has_its_name_as_a_field_and_the_request_its_id(audit, lines):
    with serving("0123456789abcdef"):
        audit.event("key.created", actor="user:ada", name="lidarr", scopes=["webhook"])
    [line] = lines()
    assert (line["name"], line["scopes"]) == ("lidarr", ["webhook"])
    assert line["request_id"] == "0123456789abcdef"


def test_what_strangers_can_cause_at_will_is_not_kept(audit, lines, kept, clock):
    audit.event("auth.key.failed")
    audit.event("auth.host.rejected")
    audit.event("auth.login.failed", outcome="failed", client="192.0.2.7", user="ada")
    [entry] = kept
    assert (entry.at, entry.event, entry.outcome) == (clock.now(), "auth.login.failed", "failed")
    assert (entry.actor, entry.client, entry.data) == ("anonymous", "192.0.2.7", {"user": "ada"})
    assert len(lines()) == 3


def test_texts_of_clients_are_cut_only_after_secrets_are_gone(audit, lines, redactor, kept):
    redactor.register("hunter2x" * 4)
    audit.event("auth.login.failed", user="u" * 190 + "hunter2x" * 4, actor="a" * 300, n=5)
    [line] = lines()
    assert "hunter" not in str(line) + str(kept)
    assert (len(line["user"]), len(line["actor"]), line["n"]) == (200, 200, 5)
    assert line["actor"].endswith("…")


def test_secrets_in_a_changed_setting_are_hidden_by_name(audit, lines):
    audit.event("setting.changed", setting="server", old={"api_key": "aaa"}, new={"api_key": "bbb"})
    assert lines()[0]["new"] == {"api_key": "[REDACTED]"}


def test_more_than_ten_lines_a_second_of_one_client_and_event_are_merged(audit, lines, clock):
    for number in range(25):
        audit.event("auth.key.failed", client="192.0.2.7", number=number)
        audit.event("auth.key.failed", client=f"198.51.100.{number}")
    audit.event("auth.login.failed", client="192.0.2.7")
    mine = [line for line in lines() if line["client"] == "192.0.2.7"]
    assert len(mine) == 11
    assert len(lines()) == 36

    clock.advance(1)
    audit.event("auth.key.failed", client="203.0.113.1")
    merged = lines()[36]
    assert (merged["client"], merged["number"], merged["suppressed"]) == ("192.0.2.7", 24, 14)
    assert len(lines()) == 38


def test_no_second_has_more_than_ten_lines_and_no_event_goes_uncounted(audit, lines, clock):
    written_at = []
    for number in range(400):
        before = len(lines())
        audit.event("auth.key.failed", client="192.0.2.7", number=number)
        written_at += [clock.monotonic()] * (len(lines()) - before)
        clock.advance(0.01)
    clock.advance(5)
    audit.flush()
    assert sum(1 + line.get("suppressed", 0) for line in lines()) == 400
    for moment in written_at:
        assert sum(moment <= other < moment + 0.999 for other in written_at) <= 11


def test_closing_writes_what_is_still_suppressed(audit, lines, clock):
    for _ in range(12):
        audit.event("auth.key.failed", client="192.0.2.7")
    audit.flush()
    assert len(lines()) == 10
    audit.close()
    audit.close()
    assert [line.get("suppressed") for line in lines()] == [None] * 10 + [1]


def test_silent_clients_are_forgotten(audit, lines, clock):
    for number in range(500):
        audit.event("auth.key.failed", client=f"2001:db8::{number:x}")
    clock.advance(2)
    audit.flush()
    assert audit._spells == {}


def test_without_a_set_up_nothing_is_raised(clock, redactor, caplog):
    with caplog.at_level(logging.INFO, logger="lyrsvc.audit"):
        Audit(clock=clock, redactor=redactor).event("auth.logout")
    assert caplog.messages == ["audit"]
