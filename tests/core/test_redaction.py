"""No secret leaves the program."""

import base64
import json
import re
import threading
import traceback
from enum import IntEnum, StrEnum
from pathlib import PurePosixPath
from time import perf_counter
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.core.escapes import decoded_views
from lyrsvc.core.redaction import REDACTED, Redactor

SECRET = 'p4ss/wörd+"x" y%41\\n=&z'
KEY = "lyrsvc_" + "0123456789abcdef" * 4

ENCODINGS = {
    "as it is": lambda s: s,
    "as JSON": json.dumps,
    "as JSON with its letters": lambda s: json.dumps(s, ensure_ascii=False),
    "as JSON in JSON": lambda s: json.dumps(json.dumps({"a": s})),
    "as JSON with escaped slashes": lambda s: json.dumps(s).replace("/", "\\/"),
    "URL-encoded": quote,
    "URL-encoded to the last sign": lambda s: quote(s, safe=""),
    "URL-encoded in lower case": lambda s: re.sub("%..", lambda m: m[0].lower(), quote(s)),
    "URL-encoded letter by letter": lambda s: "".join(f"%{byte:02X}" for byte in s.encode()),
    "form-encoded": quote_plus,
    "URL-encoded twice": lambda s: quote(quote(s)),
    "as Python shows it": repr,
    "as Python shows it in ASCII": ascii,
    "as Python shows its bytes": lambda s: repr(s.encode()),
    "with its code points spelled out": lambda s: "".join(f"\\U{ord(c):08x}" for c in s),
    "in base64": lambda s: base64.b64encode(s.encode()).decode(),
    "in base64 without padding": lambda s: base64.b64encode(s.encode()).decode().rstrip("="),
    "in URL-safe base64": lambda s: base64.urlsafe_b64encode(s.encode()).decode(),
    "in URL-encoded base64": lambda s: quote(base64.b64encode(s.encode()).decode(), safe=""),
}


@pytest.fixture
def redactor():
    redactor = Redactor()
    redactor.register(SECRET)
    return redactor


@pytest.mark.spec("C-53")
@pytest.mark.parametrize("encode", ENCODINGS.values(), ids=ENCODINGS.keys())
@pytest.mark.parametrize("secret", [SECRET, "hunter2", "kurz??", "ключ-😀-鍵", "plain0123456789"])
def test_a_registered_secret_is_replaced_in_every_spelling(encode, secret):
    redactor = Redactor()
    redactor.register(secret)
    spelled = encode(secret)
    cleaned = redactor.clean(f"before <{spelled}> after")

    assert spelled.strip("\"'b") not in cleaned
    assert REDACTED in cleaned
    assert cleaned.startswith("before <")
    assert cleaned.endswith("> after")


@pytest.mark.spec("C-53")
@pytest.mark.parametrize("user", ["", "u", "us", "use", "user"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_secret_inside_longer_base64_is_found_at_every_alignment(user, encode):
    redactor = Redactor()
    redactor.register("s3cr3t?>pass")
    encoded = encode(f"{user}:s3cr3t?>pass!".encode()).decode()

    cleaned = redactor.clean(f"sent {encoded}")

    assert REDACTED in cleaned
    left = cleaned.removeprefix("sent ").replace(REDACTED, "")
    assert len(left) <= len(user) * 4 / 3 + 8


SECRETS = st.text(st.characters(exclude_categories=("Cs",)), min_size=6, max_size=20).filter(
    str.strip
)


@given(SECRETS, st.data())
def test_no_secret_of_six_characters_survives(secret, data):
    redactor = Redactor()
    redactor.register(secret)
    encode = data.draw(st.sampled_from([str, json.dumps, quote, quote_plus]))

    cleaned = redactor.clean_values(f"({encode(secret)})")

    if secret not in REDACTED:
        assert secret not in cleaned.replace(REDACTED, "\0")
    assert REDACTED in cleaned


def test_a_secret_shorter_than_six_characters_is_left_alone():
    redactor = Redactor()
    redactor.register("rocks")
    redactor.register("")
    redactor.register("       ")
    assert redactor.clean("lyrsvc rocks        here") == "lyrsvc rocks        here"
    redactor.register("lyrics")
    assert redactor.clean("lyrics") == REDACTED


def test_a_secret_read_with_its_line_break_is_known_without_it():
    redactor = Redactor()
    redactor.register("hunter2\n")
    assert redactor.clean("tried hunter2 twice: hunter2") == f"tried {REDACTED} twice: {REDACTED}"


def test_the_longest_of_several_secrets_wins_and_overlaps_leave_nothing():
    redactor = Redactor()
    for secret in ("secret", "secret-and-more", "more-than-that"):
        redactor.register(secret)
    assert redactor.clean("a secret-and-more b") == f"a {REDACTED} b"
    assert redactor.clean("a secret-and-more-than-that b") == f"a {REDACTED} b"


def test_secrets_beside_each_other_are_both_replaced():
    redactor = Redactor()
    redactor.register("first1")
    redactor.register("second")
    assert redactor.clean("first1second") == REDACTED * 2


@pytest.mark.spec("C-53")
def test_a_secret_in_an_exception_and_its_traceback_is_replaced(redactor):
    fault = OSError(2, "no such user", SECRET)
    cleaned = redactor.clean("".join(traceback.format_exception(fault)))
    assert "no such user" in cleaned
    assert "wörd" not in cleaned


@pytest.mark.spec("C-53")
@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("GET /api?apikey=abc&x=1", "GET /api?apikey=[REDACTED]&x=1"),
        ("GET /api?x=1&usertoken=a%2Bb", "GET /api?x=1&usertoken=[REDACTED]"),
        ("APIKEY=abc", "APIKEY=[REDACTED]"),
        ("api_key = 'a b'", "api_key = [REDACTED]"),
        ('apikey="a b" x', "apikey=[REDACTED] x"),
        ("next=%2Fx%3Fapikey%3Dabc", "next=%2Fx%3Fapikey%3D[REDACTED]"),
        ("Authorization: Bearer a.b.c", "Authorization: [REDACTED]"),
        ("authorization:Basic dTpw\r\nHost: x", "authorization:[REDACTED]\r\nHost: x"),
        ('Authorization: Digest username="b", response="c"', "Authorization: [REDACTED]"),
        (
            "{'Authorization': 'Bearer a', 'Host': 'x'}",
            "{'Authorization': '[REDACTED]', 'Host': 'x'}",
        ),
        ("[(b'authorization', b'Bearer a')]", "[(b'authorization', b'[REDACTED]')]"),
        ('{"api_key":"q","z":1}', '{"api_key":"[REDACTED]","z":1}'),
        (r"{\"usertoken\":\"q\",\"z\":1}", r"{\"usertoken\":\"[REDACTED]\",\"z\":1}"),
        ("X-Api-Key: abc", "X-Api-Key: [REDACTED]"),
        ("Cookie: a=b; lyrsvc_session=c", "Cookie: [REDACTED]"),
        ("lyrsvc_session=abcdef; Path=/", "lyrsvc_session=[REDACTED] Path=/"),
        ("postgresql://me:pw@db:5432/x", "postgresql://[REDACTED]@db:5432/x"),
        ("http://me:p@ss@h/x", "http://[REDACTED]@h/x"),
        ("http://me:p/ss@h/x", "http://[REDACTED]@h/x"),
        ("http://:pw@h", "http://[REDACTED]@h"),
        (f"key {KEY} used", "key [REDACTED] used"),
        (f"key {KEY.upper().replace('LYRSVC', 'lyrsvc')}", "key [REDACTED]"),
    ],
)
def test_what_is_shaped_like_a_secret_is_replaced_even_when_unknown(text, cleaned):
    assert Redactor().clean(text) == cleaned
    assert Redactor().clean(cleaned) == cleaned


@pytest.mark.parametrize(
    "text",
    [
        "item settled item=42 status=done lane=lrclib",
        "http://example.org:8080/a@b",
        "http://[::1]:8080/x@y",
        "https://user@host/x",
        "lyrsvc_metrics",
        "no token for lane defaultprov; set PROVIDER_TOKEN (or --token)",
        'database at "/x/lyrsvcgo.db"',
        "Authorization:",
    ],
)
def test_what_is_no_secret_stays_readable(text):
    assert Redactor().clean(text) == text


@pytest.mark.parametrize(
    "name",
    [
        *("token", "usertoken", "api_key", "apikey", "authorization", "cookie", "set-cookie"),
        *("secret", "password", "csrf_token", "master_key", "webhook_api_key", "webhook_api_keys"),
        *("Authorization", "X-Api-Key", "api.token", "server.webhook_api_keys", "new_password"),
    ],
)
def test_a_field_with_a_secret_name_is_hidden_whatever_it_holds(name):
    redactor = Redactor()
    assert redactor.clean_fields({name: "x"}) == {name: REDACTED}
    assert redactor.clean_fields({name: ["x"]}) == {name: REDACTED}
    assert redactor.clean_fields({"a": {"b": [{name: 5}]}}) == {"a": {"b": [{name: REDACTED}]}}


def test_other_fields_keep_their_values_as_plain_json(redactor):
    class Kind(StrEnum):
        DONE = "done"

    class Rank(IntEnum):
        HIGH = 10

    fields = {
        "n": 5, "f": 0.5, "yes": True, "none": None, "status": Kind.DONE, "rank": Rank.HIGH,
        "path": PurePosixPath("/a/b"), "ids": (1, 2), "set": frozenset({"a"}), "raw": b"a\xff",
    }  # fmt: skip
    cleaned = redactor.clean_fields(fields)
    assert cleaned == {
        "n": 5, "f": 0.5, "yes": True, "none": None, "status": "done", "rank": 10,
        "path": "/a/b", "ids": [1, 2], "set": ["a"], "raw": "a\\xff",
    }  # fmt: skip
    json.dumps(cleaned, allow_nan=False)


def test_values_in_fields_are_cleaned_by_value_and_by_shape(redactor):
    redactor.register("12345678")
    cleaned = redactor.clean_fields(
        {"q": f"a {SECRET}", "url": "x?apikey=1", "item": 12345678, SECRET: 1, "e": OSError(SECRET)}
    )
    assert cleaned == {
        "q": f"a {REDACTED}",
        "url": f"x?apikey={REDACTED}",
        "item": REDACTED,
        REDACTED: 1,
        "e": REDACTED,
    }


def test_the_name_of_a_field_is_cleaned_of_a_secret_that_is_known_since_then(redactor):
    fields = {"first words 77": 9999, "n": 123456}
    assert redactor.clean_fields(fields) == fields
    redactor.register("words 77")
    redactor.register("123456")
    assert redactor.clean_fields(fields) == {f"first {REDACTED}": 9999, "n": REDACTED}


def test_odd_values_become_text_and_never_raise():
    class Broken:
        def __str__(self):
            raise RuntimeError

    loop = {}
    loop["loop"] = loop
    fields = {"a": float("nan"), "b": float("-inf"), "c": 10**6000, "d": Broken(), "e": loop, 5: 6}
    cleaned = Redactor().clean_fields(fields)
    assert (cleaned["a"], cleaned["b"], cleaned["c"]) == ("nan", "-inf", "<unprintable int>")
    assert (cleaned["d"], cleaned["5"]) == ("<unprintable Broken>", 6)
    json.dumps(cleaned, allow_nan=False)


def test_secrets_may_be_registered_while_other_threads_clean():
    redactor = Redactor()
    missed = []

    def register(lane):
        for number in range(200):
            secret = f"secret-{lane}-{number:04}"
            redactor.register(secret)
            if secret in redactor.clean(f"x {secret} y"):
                missed.append(secret)

    threads = [threading.Thread(target=register, args=(lane,)) for lane in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert missed == []


@pytest.mark.parametrize(
    "piece",
    ["line of text ", "://a:", "'token", 'token="', "authorization:", "%41\\", "aaaaaa", "'", "=="],
)
def test_long_texts_are_cleaned_in_a_time_that_grows_with_their_length(piece):
    redactor = Redactor()
    redactor.register("aaaaaaaaaaaaaaaaaaab")
    text = piece * (200_000 // len(piece))
    started = perf_counter()
    redactor.clean(text)
    assert perf_counter() - started < 5


@given(st.text())
def test_a_decoded_view_is_traced_back_to_where_it_stands(text):
    source = f"{quote(text)}|{json.dumps(text)}"
    for view in decoded_views(source):
        assert len(view.starts) == len(view.text) + 1
        assert list(view.starts) == sorted(view.starts)
        assert view.source(0, len(view.text)) == (0, len(source))


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("%C3%A4", "ä"),
        ("%FF", "\udcff"),
        (r"\ud83d\ude00", "😀"),
        (r"\ud83d", "\ud83d"),
        (r"\xc3\xa4", "ä"),
        (r"\xe4", "ä"),
        (r"\U0001f600", "😀"),
        (r"\Uffffffff", "\ufffd"),
        (r"a\/b\"\n", 'a/b"\n'),
    ],
)
def test_escapes_are_read_as_what_they_mean(source, text):
    assert text in [view.text for view in decoded_views(source)]
