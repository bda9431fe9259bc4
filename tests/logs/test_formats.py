"""One record, one line."""

import json
import logging
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.core.redaction import REDACTED, Redactor
from lyrsvc.logs.formats import (
    ConsoleTextFormat,
    JsonFormat,
    TextFormat,
    level_name,
    plain_note,
)
from lyrsvc.logs.request_ids import serving

MOMENT = 1769864706.123
ANY_TEXT = st.text(st.characters(exclude_categories=()))
ANY_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=8,
)


def a_record(message, *args, level=logging.INFO, name="lyrsvc.worker", exc=None, **extra):
    logger = logging.getLogger(name)
    exc_info = (type(exc), exc, exc.__traceback__) if exc else None
    record = logger.makeRecord(name, level, "x.py", 1, message, args, exc_info, extra=extra)
    record.created = MOMENT
    return record


@pytest.fixture
def text():
    return TextFormat(Redactor()).format


@pytest.fixture
def as_json():
    return lambda record: json.loads(JsonFormat(Redactor()).format(record))


@pytest.fixture
def in_berlin(monkeypatch):
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def caught(action):
    try:
        action()
    except (OSError, ValueError) as fault:
        return fault
    raise AssertionError


@pytest.mark.usefixtures("in_berlin")
@pytest.mark.parametrize(
    ("created", "shown"),
    [(5.0, "01:00:05.000"), (5.0019, "01:00:05.001"), (5.9999999, "01:00:05.999")],
)
def test_a_line_shows_whole_thousandths_of_its_second(text, created, shown):
    record = a_record("x")
    record.created = created
    assert text(record).startswith(f"1970-01-01T{shown}+01:00 ")


@pytest.mark.usefixtures("in_berlin")
def test_a_text_line_has_local_time_level_logger_message_and_fields(text):
    record = a_record("item settled", item=42, status="done", lane="lrclib")
    assert text(record) == (
        "2026-01-31T14:05:06.123+01:00 INFO  lyrsvc.worker item settled item=42 status=done lane=lrclib"
    )


def test_a_json_line_has_utc_time_level_logger_message_then_fields():
    line = JsonFormat(Redactor()).format(a_record("item settled", item=42, lane="lrclib"))
    assert line == (
        '{"time":"2026-01-31T13:05:06.123Z","level":"info","logger":"lyrsvc.worker",'
        '"msg":"item settled","item":42,"lane":"lrclib"}'
    )


@pytest.mark.parametrize(
    ("level", "name"),
    [
        (10, "debug"),
        (5, "debug"),
        (20, "info"),
        (25, "info"),
        (30, "warn"),
        (40, "error"),
        (50, "error"),
    ],
)
def test_there_are_four_level_names(level, name, text, as_json):
    assert level_name(level) == name
    assert as_json(a_record("x", level=level))["level"] == name
    assert f" {name.upper():<5} lyrsvc.worker " in text(a_record("x", level=level))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("plain", "plain"),
        ("", '""'),
        ("two words", '"two words"'),
        ('say "hi"', r'"say \"hi\""'),
        ("a=b", '"a=b"'),
        ("C:\\x", r'"C:\\x"'),
        ("a\nb\tc\x1b[2J", r'"a\nb\tc\x1b[2J"'),
        ("caf\udce9.flac", r'"caf\xe9.flac"'),
        ("東京", "東京"),
        (True, "true"),
        (None, "null"),
        (0.5, "0.5"),
        (["a", 2], "a,2"),
        ([], '""'),
        (Path("/m/a b"), '"/m/a b"'),
        (b"raw", "raw"),
    ],
)
def test_text_values_are_quoted_when_needed_and_never_sent_raw(text, value, shown):
    assert text(a_record("x", value=value)).endswith(f" x value={shown}")


def test_nested_fields_get_dotted_names_in_text_and_stay_nested_in_json(text, as_json):
    record = a_record("progress", counters={"done": 3, "miss": {"a": 1}})
    assert text(record).endswith("progress counters.done=3 counters.miss.a=1")
    assert as_json(record)["counters"] == {"done": 3, "miss": {"a": 1}}


def test_a_message_with_control_characters_stays_one_harmless_line(text):
    line = text(a_record("a\nb \x1b]0;x\x07 \u2028 c", name="lyrsvc.\n"))
    assert line.endswith(r"lyrsvc.\n a\nb \x1b]0;x\x07 \u2028 c")


def test_reserved_names_travel_in_fields_and_own_names_get_a_mark(as_json):
    record = a_record("x", fields={"name": "kitchen", "level": "loud", "msg": "m"}, time="noon")
    line = as_json(record)
    assert (line["name"], line["level_"], line["msg_"], line["time_"]) == (
        "kitchen",
        "loud",
        "m",
        "noon",
    )
    assert (line["level"], line["msg"]) == ("info", "x")


def test_fields_that_are_no_mapping_are_passed_over(as_json):
    assert "fields" not in as_json(a_record("x", fields=5))


def test_a_field_name_cannot_break_the_line(text):
    assert text(a_record("x", **{'a b="c': 1, "": 2})).endswith(" a_b__c=1 _=2")


def test_arguments_that_do_not_fit_the_sentence_are_still_shown(text):
    assert "got %d ('x',)" in text(a_record("got %d", "x"))
    assert "half %s and %s" in text(a_record("half %s and %s", 1))


def test_a_record_that_cannot_be_shown_says_so(text):
    class Wrong:
        def __str__(self):
            raise RuntimeError

    assert "unloggable record reason=RuntimeError" in text(a_record(Wrong()))


@pytest.mark.spec("C-53")
def test_exceptions_are_one_line_without_the_secret_in_their_text():
    redactor = Redactor()
    redactor.register("hunter2x")
    fault = caught(lambda: int("hunter2x"))
    record = a_record("it broke", level=logging.ERROR, exc=fault)

    line = TextFormat(redactor).format(record)
    document = json.loads(JsonFormat(redactor).format(record))

    assert "\n" not in line
    assert r"exc=\"Traceback" not in line
    assert 'exc="Traceback (most recent call last):\\n' in line
    assert document["exc"].startswith("Traceback")
    assert "ValueError" in document["exc"]
    assert "hunter2x" not in line + json.dumps(document)
    assert REDACTED in document["exc"]


def test_an_empty_exception_is_no_exception_and_a_stack_is_a_field(as_json):
    record = a_record("x")
    record.exc_info = (None, None, None)
    record.stack_info = "Stack:\n  here"
    line = as_json(record)
    assert "exc" not in line
    assert line["stack"] == "Stack:\n  here"


@pytest.mark.spec("C-53")
@pytest.mark.parametrize("format_of", [TextFormat, JsonFormat, ConsoleTextFormat])
def test_no_part_of_a_record_shows_a_secret(format_of):
    redactor = Redactor()
    redactor.register('s3cr3t"pass')
    secret = 's3cr3t"pass'
    fault = caught(Path(f"/nowhere/{secret}").read_bytes)
    record = a_record(
        "GET %s", f"http://h/?q={secret}",
        name=f"lyrsvc.{secret}", exc=fault, level=logging.ERROR,
        artist=f"The {secret}s", headers={"Authorization": "Bearer zzzzzz"}, token="yyyyyy",
        body=json.dumps({"t": secret}), url="http://h/x?usertoken=wwwwww", **{secret: 1},
    )  # fmt: skip
    line = format_of(redactor).format(record)
    for leaked in ("s3cr3t", "zzzzzz", "yyyyyy", "wwwwww"):
        assert leaked not in line
    assert REDACTED in line


@pytest.mark.parametrize(
    "secret", ['","level', '"info","', "123456", "worker", '"msg":"x', "06.123Z", '":42}']
)
def test_a_secret_that_looks_like_json_does_not_break_the_object(secret):
    redactor = Redactor()
    redactor.register(secret)
    line = JsonFormat(redactor).format(a_record("x", item=123456, y=42))
    document = json.loads(line)
    assert {"time", "level", "msg", "y"} <= set(document)
    assert secret not in str(list(document.values()))


def test_every_line_carries_the_id_of_the_request_being_served(text, as_json):
    with serving("0123456789abcdef"):
        assert text(a_record("x", a=1)).endswith("x a=1 request_id=0123456789abcdef")
        assert as_json(a_record("x", request_id=""))["request_id"] == "0123456789abcdef"
        assert as_json(a_record("x", request_id="own"))["request_id"] == "own"
    assert "request_id" not in as_json(a_record("x"))


def test_a_note_is_a_plain_sentence_on_the_console_and_a_record_elsewhere(text, as_json):
    note = a_record("no library; add one\n", lyrsvc_note=True, level=logging.ERROR)
    assert ConsoleTextFormat(Redactor()).format(note) == "lyrsvc: no library; add one"
    assert " ERROR lyrsvc.worker no library; add one" in text(note)
    assert as_json(note)["level"] == "error"


def test_a_plain_note_is_one_line_without_secrets():
    assert (
        plain_note("bad\nflag apikey=abc \x1b", Redactor())
        == r"lyrsvc: bad\nflag apikey=[REDACTED] \x1b"
    )


def test_the_delete_character_is_escaped_in_json_too(as_json):
    assert "\x7f" not in JsonFormat(Redactor()).format(a_record("a\x7fb"))
    assert as_json(a_record("a\x7fb"))["msg"] == "a\x7fb"


def test_streams_without_unicode_get_escapes_that_json_knows():
    line = JsonFormat(Redactor(), ascii_only=True).format(a_record("東京 😀 \udce9", a="é"))
    assert line.isascii()
    assert json.loads(line)["msg"] == "東京 😀 \ufffd"


@given(ANY_TEXT, st.dictionaries(ANY_TEXT, ANY_VALUE, max_size=4), st.booleans())
def test_json_lines_always_parse(message, fields, ascii_only):
    redactor = Redactor()
    redactor.register("secret-value")
    line = JsonFormat(redactor, ascii_only=ascii_only).format(
        a_record("%s", message, fields=fields)
    )

    assert len(line.splitlines()) == 1
    document = json.loads(line.encode())
    assert document["level"] == "info"
    assert {"time", "logger", "msg"} <= set(document)
    assert not re.search("[\x00-\x1f\x7f-\x9f]", line)


@given(ANY_TEXT, st.dictionaries(ANY_TEXT, ANY_VALUE, max_size=4))
def test_text_lines_are_always_one_line(message, fields):
    line = TextFormat(Redactor()).format(a_record("%s", message, fields=fields))
    line.encode()
    assert len(line.splitlines()) == 1
    assert "\x1b" not in line


def test_formatting_needs_no_heavy_modules():
    heavy = {"logging.handlers", "logging.config", "gzip", "shutil", "fcntl", "socket", "base64"}
    script = "import sys, lyrsvc.logs.setup, lyrsvc.logs.notes; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    loaded = set(run.stdout.decode().split())
    assert "lyrsvc.logs.formats" in loaded
    assert heavy & loaded == set()
