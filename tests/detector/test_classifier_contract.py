"""The classifier over real HTTP on loopback: what is sent, what is taken, what is a fault."""

import gzip
import io
import json
import time
import wave

import pytest

from lyrsvc.core.errors import FileFault, LaneError, Malformed, Transient
from lyrsvc.core.wav import wrap_pcm
from lyrsvc.detector.classifier import Classifier, ClassifierLimits
from ports import free_port
from raw_servers import RawServers
from scored import VERSION, Classifying, score_maps

WAV = wrap_pcm(bytes(3200))
IMPATIENT = ClassifierLimits(classify_s=0.6, health_s=0.4)


@pytest.fixture
def server():
    with Classifying() as server:
        yield server


@pytest.fixture
def ask(server, clock):
    return Classifier(server.url, user_agent="lyrsvc/9", clock=clock)


def test_the_samples_are_sent_as_a_form_with_one_wav(ask, server):
    assert ask.classify(WAV) == score_maps()
    head, _, rest = server.bodies[0].partition(b"\r\n\r\n")
    assert b'name="file"' in head
    assert b"audio/wav" in head
    with wave.open(io.BytesIO(rest)) as read:
        assert (read.getframerate(), read.getnchannels(), read.getnframes()) == (16_000, 1, 1600)
    sent = server.headers[0]
    assert sent["content-type"].startswith("multipart/form-data; boundary=")
    assert sent["user-agent"] == "lyrsvc/9"


@pytest.mark.parametrize("tail", ["/", "///", "/behind/a/prefix", "/behind/a/prefix/"])
def test_the_address_may_end_in_a_slash_or_have_a_path(server, clock, tail):
    asked = Classifier(server.url + tail, user_agent="t", clock=clock)
    assert asked.classify(WAV) == score_maps()
    assert asked.model_version() == VERSION


def test_the_model_is_asked_for_once_in_a_quarter_of_an_hour(ask, server, clock):
    assert [ask.model_version(), ask.model_version()] == [VERSION, VERSION]
    clock.advance(15 * 60 - 1)
    ask.model_version()
    assert server.asked_health == 1
    clock.advance(1)
    server.health = {"status": "ok", "model_version": "b" * 64}
    assert ask.model_version() == "b" * 64
    assert server.asked_health == 2
    ask.model_version(fresh=True)
    assert server.asked_health == 3


def test_a_model_named_with_the_scores_counts(ask, server):
    ask.model_version()
    server.scores = score_maps() | {"model_version": "c" * 64}
    ask.classify(WAV)
    assert ask.model_version() == "c" * 64


@pytest.mark.parametrize("status", [404, 405, 501])
def test_a_classifier_without_health_has_no_version(ask, server, status):
    server.health_status = status
    assert ask.model_version() == ""
    assert ask.classify(WAV) == score_maps()


@pytest.mark.parametrize(
    ("health", "status", "kind"),
    [
        ({"status": "loading"}, 200, Malformed),
        (["ok"], 200, Malformed),
        (b"<html>", 200, Malformed),
        (b"", 200, Malformed),
        ({}, 503, Transient),
        ({}, 401, Malformed),
    ],
)
def test_a_classifier_that_is_not_well_is_a_fault(ask, server, health, status, kind):
    server.health, server.health_status = health, status
    with pytest.raises(kind):
        ask.model_version()


@pytest.mark.parametrize("version", [None, 7, "", "x\n\x00y" * 100])
def test_a_strange_version_is_made_harmless(ask, server, version):
    server.health = {"status": "ok", "model_version": version}
    assert len(ask.model_version()) <= 128
    assert ask.model_version().isprintable()


@pytest.mark.spec("E-65")
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        *((status, Transient) for status in (500, 502, 503, 429)),
        *((status, Malformed) for status in (401, 404, 301, 307, 204)),
    ],
)
def test_every_other_status_is_a_fault_of_the_classifier(ask, server, status, kind):
    ask.model_version()
    server.status = status
    with pytest.raises(kind, match=str(status)):
        ask.classify(WAV)
    assert len(server.bodies) == 1  # nothing is sent twice, no redirect is followed


@pytest.mark.parametrize("status", [400, 413, 415, 422])
def test_samples_that_are_refused_are_the_files_fault_when_the_classifier_is_well(
    ask, server, status
):
    ask.model_version()
    server.status = status
    with pytest.raises(FileFault):
        ask.classify(WAV)


def test_samples_that_are_refused_by_who_does_not_speak_the_contract_are_its_fault(ask, server):
    server.health_status, server.status = 404, 400
    ask.model_version()
    with pytest.raises(Malformed):
        ask.classify(WAV)


@pytest.mark.spec("E-65")
@pytest.mark.parametrize(
    "body", [b"", b"not json", b"[" * 500_000, b"\xff\xfe", b'{"mean":' + b"9" * 6000 + b"}"]
)
def test_what_is_no_json_is_a_bad_answer(ask, server, body):
    server.scores = body
    with pytest.raises(Malformed):
        ask.classify(WAV)


def test_an_answer_over_a_mebibyte_is_refused(ask, server):
    server.scores = json.dumps({"mean": {}, "max": {}, "more": "x" * (1024 * 1024)}).encode()
    with pytest.raises(Malformed, match="over"):
        ask.classify(WAV)


@pytest.mark.spec("E-65")
def test_a_refused_connection_is_a_fault_without_an_address(clock):
    address = f"http://127.0.0.1:{free_port()}"
    asked = Classifier(address, user_agent="t", clock=clock)
    with pytest.raises(Transient) as caught:
        asked.classify(WAV)
    assert "127.0.0.1" not in str(caught.value)
    assert caught.value.reason == "network"


@pytest.fixture
def raw_server():
    servers = RawServers()
    yield servers
    servers.close()


def slowly(answer: bytes):
    """Say these bytes one by one."""

    def play(conn) -> None:
        for byte in answer:
            conn.sendall(bytes([byte]))
            time.sleep(0.02)

    return play


@pytest.mark.parametrize(
    "answer",
    [b"HTTP/1.1 200 OK\r\nX-Long: " + b"y" * 500, b"HTTP/1.1 200 OK\r\n\r\n" + b" " * 500],
    ids=["headers", "body"],
)
def test_an_answer_fed_byte_by_byte_ends_at_the_deadline(raw_server, clock, answer):
    url = raw_server(slowly(answer))
    asked = Classifier(url, user_agent="t", clock=clock, limits=IMPATIENT)
    began = time.monotonic()
    with pytest.raises(Transient) as caught:
        asked.classify(WAV)
    assert time.monotonic() - began < 4
    assert caught.value.reason == "timeout"


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nnot gzip",
    ],
)
def test_whatever_is_wrong_on_the_wire_is_a_fault_of_the_classifier(raw_server, clock, answer):
    url = raw_server(lambda conn: conn.sendall(answer))
    asked = Classifier(url, user_agent="t", clock=clock)
    with pytest.raises(LaneError):
        asked.classify(WAV)


def test_a_small_answer_that_unpacks_to_a_large_one_is_refused(raw_server, clock):
    packed = gzip.compress(b" " * 50_000_000)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    url = raw_server(lambda conn: conn.sendall(head + packed))
    asked = Classifier(url, user_agent="t", clock=clock)
    with pytest.raises(Malformed, match="over"):
        asked.classify(WAV)


def test_a_proxy_of_the_environment_is_not_used(ask, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert ask.classify(WAV) == score_maps()
