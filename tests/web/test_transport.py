"""What a connection may do, over real sockets, with limits short enough to wait for."""

import json
import socket
import threading
import time
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lyrsvc.web.answer_watch import WHOLE
from lyrsvc.web.limits import Limits
from lyrsvc.web.security_headers import HEADERS
from raw_http import HOST, Demo, running
from served import wait_until
from timing import is_within

POST = b"POST /echo HTTP/1.1\r\n" + HOST
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.fixture(scope="module")
def house():
    with running() as house:
        yield house


def test_the_limits_are_those_of_the_specification():
    limits = Limits()
    assert (limits.head_s, limits.head_bytes, limits.header_lines) == (10, 16384, 100)
    assert (limits.body_s, limits.connections, limits.idle_s) == (15, 512, 60)
    assert (limits.stalled_write_s, limits.stalled_stream_s) == (15, 30)


def test_requests_follow_each_other_on_one_connection(house):
    with house.dial() as client:
        for number in range(3):
            answer = client.get("/hello")
            assert (answer.status, answer.body) == (200, b"/hello\n"), number
            assert "connection" not in answer.headers
            assert "date" in answer.headers
            assert "server" not in answer.headers


def test_a_body_arrives_whole_however_it_is_cut(house):
    with house.dial() as client:
        for size in (0, 1, 100, 70_000, 1_000_000):
            body = bytes(range(256)) * (size // 256) + b"z" * (size % 256)
            client.say(POST + b"Content-Length: %d\r\n\r\n" % size + body)
            assert client.hear().body == body
    with house.dial() as client:
        for byte in CHUNKED + b"3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n":
            client.say(bytes([byte]))
        assert client.hear().body == b"abcd"


def test_the_application_is_told_when_a_request_is_here_whole(house):
    with house.dial() as client:
        client.say(POST + b"Content-Length: 2\r\n\r\nab")
        assert client.hear().body == b"ab"
        assert house.app.extensions[-1] == {WHOLE}
        before = len(house.app.extensions)
        client.say(POST + b"Content-Length: 2\r\n\r\na")
        wait_until(lambda: len(house.app.extensions) > before, "the head has come")
        assert house.app.extensions[-1] == set()
        client.say(b"b")
        assert client.hear().body == b"ab"
        client.say(POST + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\nab")
        client.hear()
        assert house.app.extensions[-1] == set()  # asking for it would say so to the client


def test_a_body_of_many_small_chunks_is_taken(house):
    with house.dial() as client:
        client.say(CHUNKED + b"1\r\nx\r\n" * 50_000 + b"0\r\n\r\n")
        assert client.hear().body == b"x" * 50_000


def refused(house, data: bytes, status: int = 400, code: str = "invalid_request") -> None:
    before = len(house.app.bodies)
    with house.dial() as client:
        client.say(data)
        answer = client.hear()
        assert (answer.status, answer.json["error"]) == (status, code), answer.raw
        assert sorted(answer.json) == ["detail", "error"]
        assert answer.body == json.dumps(answer.json, separators=(",", ":")).encode() + b"\n"
        assert answer.headers["connection"] == "close"
        assert answer.headers["content-type"] == "application/json"
        assert len(answer.headers["x-request-id"]) == 16
        for name, value in HEADERS:
            assert answer.headers[name.lower()] == value
        assert client.is_ended()
    assert len(house.app.bodies) == before


HEADS = {
    "both lengths": b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "both lengths, other order": b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    "two equal lengths": b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nabcde",
    "two lengths": b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcde",
    "a list of lengths": b"Content-Length: 5, 5\r\n\r\nabcde",
    "a signed length": b"Content-Length: +5\r\n\r\nabcde",
    "a negative length": b"Content-Length: -5\r\n\r\nabcde",
    "a hexadecimal length": b"Content-Length: 0x5\r\n\r\nabcde",
    "an empty length": b"Content-Length: \r\n\r\nabcde",
    "an endless length": b"Content-Length: 99999999999999999999999\r\n\r\nabcde",
    "an unknown coding": b"Transfer-Encoding: gzip\r\n\r\nabcde",
    "two codings": b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "chunked twice": b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "chunked on two lines": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunked and identity": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    "a misspelt coding": b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "a coding behind a vertical tab": b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    "a blank behind a name": b"Content-Length : 5\r\n\r\nabcde",
    "a blank in a name": b"X Y: 5\r\n\r\n",
    "a folded line": b"X: a\r\n b\r\n\r\n",
    "a NUL in a value": b"X: a\0b\r\n\r\n",
    "a NUL in a name": b"X\0: a\r\n\r\n",
    "a control character": b"X: a\x01b\r\n\r\n",
    "a bare line feed": b"X: a\nY: b\r\n\r\n",
    "a bare carriage return": b"X: a\rY: b\r\n\r\n",
    "no name": b": a\r\n\r\n",
    "a second host": b"Host: other\r\n\r\n",
}  # fmt: skip


@pytest.mark.parametrize("name", HEADS)
def test_a_head_that_can_be_read_in_two_ways_is_refused(house, name):
    refused(house, POST + HEADS[name])


STARTS = {
    "no HTTP": b"hello\r\n\r\n",
    "TLS": bytes.fromhex("16030100c8010000c40303"),
    "HTTP/0.9": b"GET /\r\n\r\n",
    "HTTP/2": b"GET / HTTP/2.0\r\nHost: x\r\n\r\n",
    "HTTP/2 by heart": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/1.2": b"GET / HTTP/1.2\r\nHost: x\r\n\r\n",
    "a tunnel": b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n",
    "no host": b"GET / HTTP/1.1\r\n\r\n",
    "an impossible host": b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
    "bare line feeds": b"GET / HTTP/1.1\nHost: x\n\n",
    "a folded start": b"GET / HTTP/1.1\r\n Host: x\r\n\r\n",
    "chunked by an old client": b"POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a control character in the path": b"GET /\x01 HTTP/1.1\r\nHost: x\r\n\r\n",
    "bytes in the path": b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
}  # fmt: skip


@pytest.mark.parametrize("name", STARTS)
def test_what_is_no_request_is_refused(house, name):
    refused(house, STARTS[name])


BODIES = {
    "no number": b"zz\r\nabc\r\n0\r\n\r\n",
    "a negative size": b"-3\r\nabc\r\n0\r\n\r\n",
    "an endless size": b"fffffffffffffffffff\r\nabc\r\n0\r\n\r\n",
    "more than announced": b"3\r\nabcd\r\n0\r\n\r\n",
    "bare line feeds": b"3\nabc\n0\n\n",
    "a prefix": b"0x3\r\nabc\r\n0\r\n\r\n",
    "a blank": b"3 \r\nabc\r\n0\r\n\r\n",
    "a line feed in an extension": b"3;a=b\nabc\r\n0\r\n\r\n",
    "an endless extension": b"3;" + b"a" * 40_000,
    "an endless trailer": b"0\r\nX: " + b"a" * 40_000,
}


@pytest.mark.parametrize("name", BODIES)
def test_bad_chunking_is_refused(house, name):
    refused(house, CHUNKED + BODIES[name])


def test_too_many_trailers_are_refused(house):
    refused(house, CHUNKED + b"0\r\n" + b"X: a\r\n" * 101 + b"\r\n", 431)


def test_trailers_are_no_headers(house):
    with house.dial() as client:
        client.say(CHUNKED + b"3\r\nabc\r\n0\r\nAuthorization: Bearer x\r\n\r\n")
        assert client.hear().body == b"abc"
        assert [name for name, _ in house.app.heads[-1]] == [b"host", b"transfer-encoding"]
        assert client.get().status == 200


def head_of(size: int) -> bytes:
    start = b"GET / HTTP/1.1\r\n" + HOST
    line = b"X: " + b"a" * (size - len(start) - len(b"X: \r\n\r\n")) + b"\r\n\r\n"
    assert len(start + line) == size
    return start + line


@pytest.mark.parametrize("pieces", [1, 7])
def test_a_head_of_16_kib_is_taken_and_one_byte_more_is_431(house, pieces):
    for size, status in ((16384, 200), (16385, 431), (300_000, 431)):
        with house.dial() as client:
            data = head_of(size)
            step = -(-len(data) // pieces)
            for start in range(0, len(data), step):
                client.say(data[start : start + step])
            assert client.hear().status == status, size


@pytest.mark.parametrize(
    "head",
    [
        b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b" " * 20_000 + b"a\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"X" * 20_000 + b": a\r\n\r\n",
    ],
)
def test_every_kind_of_large_head_is_431(house, head):
    refused(house, head, 431)


def test_100_header_lines_are_taken_and_101_are_431(house):
    start = b"GET / HTTP/1.1\r\n" + HOST
    with house.dial() as client:
        client.say(start + b"X: a\r\n" * 99 + b"\r\n")
        assert client.hear().status == 200
    refused(house, start + b"X: a\r\n" * 100 + b"\r\n", 431)


def test_a_large_head_behind_another_request_is_431_after_its_answer(house):
    with house.dial() as client:
        client.say(b"GET /hello HTTP/1.1\r\n" + HOST + b"\r\n" + head_of(40_000))
        assert client.hear().body == b"/hello\n"
        assert client.is_ended()


def test_pipelined_requests_are_answered_in_their_order(house):
    with house.dial() as client:
        client.say(
            b"".join(POST + b"Content-Length: 2\r\n\r\n%02d" % number for number in range(10))
        )
        assert [client.hear().body for _ in range(10)] == [b"%02d" % n for n in range(10)]


def test_a_flood_of_pipelined_requests_is_cut_off(house):
    with house.dial() as client:
        client.say((b"GET /hello HTTP/1.1\r\n" + HOST + b"\r\n") * 1000)
        answers = client.hear_all().count(b"HTTP/1.1 200")
        assert 1 <= answers <= 40


def test_garbage_behind_a_request_does_not_spoil_its_answer(house):
    with house.dial() as client:
        client.say(b"GET /hello HTTP/1.1\r\n" + HOST + b"\r\n" + b"\0\0garbage\r\n\r\n")
        answer = client.hear()
        assert (answer.status, answer.body) == (200, b"/hello\n")
        assert client.is_ended()


def test_a_bad_body_behind_another_request_is_refused_in_its_turn(house):
    before = len(house.app.bodies)
    with house.dial() as client:
        client.say(b"GET /hello HTTP/1.1\r\n" + HOST + b"\r\n" + CHUNKED + b"zz\r\n")
        assert client.hear().status == 200
        assert client.hear().status == 400
        assert client.is_ended()
    assert len(house.app.bodies) == before


UPGRADE = (
    b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"
)


def test_an_upgrade_is_not_taken_and_the_body_stays_a_body(house):
    smuggled = b"GET /broken HTTP/1.1\r\n" + HOST + b"\r\n"
    with house.dial() as client:
        client.say(POST + UPGRADE + b"Content-Length: %d\r\n\r\n" % len(smuggled))
        client.say(smuggled)
        assert client.hear().body == smuggled
        client.say(POST + UPGRADE + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
        assert client.hear().body == b"abc"
        client.say(b"GET /hello HTTP/1.1\r\n" + HOST + UPGRADE + b"\r\n")
        assert client.hear().body == b"/hello\n"
        client.say(b"GET / HTTP/1.1\r\n" + HOST + UPGRADE.replace(b"h2c", b"websocket") + b"\r\n")
        assert client.hear().status == 200


def test_a_client_that_waits_for_leave_to_send_gets_it(house):
    with house.dial() as client:
        client.say(POST + b"Content-Length: 3\r\nExpect: 100-continue\r\n\r\n")
        assert client.hear().status == 100
        client.say(b"abc")
        assert client.hear().body == b"abc"


def test_an_answer_before_the_whole_body_ends_the_connection_and_can_be_read(house):
    for chunked in (False, True):
        with house.dial() as client:
            framing = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: 3000000"
            client.say(b"POST /refuse HTTP/1.1\r\n" + HOST + framing + b"\r\n\r\n")
            start = b"2dc6c0\r\n" if chunked else b""
            client.say(start + b"x" * 3_000_000)
            answer = client.hear()
            assert (answer.status, answer.body) == (413, b"too large\n")
            assert answer.headers["connection"] == "close"
            assert client.is_ended()


def test_a_client_that_only_listens_is_still_answered():
    with running(goodbye_s=60) as house, house.dial() as client:
        client.say(b"GET /slow HTTP/1.1\r\n" + HOST + b"\r\n")
        client.socket.shutdown(socket.SHUT_WR)
        time.sleep(0.1)
        house.app.may_end.set()
        assert client.hear().body == b"slow\n"
        assert client.is_ended()


def test_a_broken_application_is_told_without_a_word_why(house, caplog):
    answer = house.ask("/broken")
    assert (answer.status, answer.json["error"]) == (500, "internal")
    assert answer.json["request_id"] == answer.headers["x-request-id"]
    assert b"secret" not in answer.raw
    assert "ZeroDivisionError" in caplog.text
    assert house.ask("/hello").status == 200


def test_an_answer_that_breaks_halfway_is_seen_to_be_cut(house):
    with house.dial() as client:
        client.say(b"GET /halfway HTTP/1.1\r\n" + HOST + b"\r\n")
        said = client.hear_all()
        assert said.endswith(b"\r\n\r\n4\r\nhalf\r\n")  # and no last chunk


def test_an_old_client_is_sent_no_chunks(house, caplog):
    with house.dial() as client:
        client.say(b"GET /pieces HTTP/1.0\r\n\r\n")
        head, _, rows = client.hear_all().partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head
    assert b"connection: close" in head
    assert rows == b"artist,title\r\na,b\r\n"
    with house.dial() as client:
        client.say(b"GET /stream HTTP/1.0\r\n\r\n")
        heard = b""
        while heard.count(b": keep\n\n") < 2:
            heard += client.socket.recv(1000)
    assert heard.partition(b"\r\n\r\n")[2].startswith(b": keep\n\n: keep\n\n")
    assert "broke" not in caplog.text


def test_a_client_that_leaves_in_the_middle_is_no_error(house, caplog):
    before = house.app.disconnects
    with house.dial() as client:
        client.say(POST + b"Content-Length: 10\r\n\r\nabc")
    wait_until(lambda: house.app.disconnects > before, "the application hears of it")
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


WORDS = (
    b"GET ", b"POST ", b"/ ", b"/echo ", b"HTTP/1.1", b"HTTP/1.0", b"\r\n", b"\r\n\r\n", b"\n", b"\0",
    HOST, b"Content-Length: 3\r\n", b"Content-Length: 0\r\n", b"Transfer-Encoding: chunked\r\n",
    b"Connection: upgrade\r\nUpgrade: h2c\r\n", b"Connection: close\r\n", b"Expect: 100-continue\r\n",
    b"3\r\nabc\r\n", b"0\r\n\r\n", b"abc", b": ", b"X: y\r\n", b" ", b"%00", b"\xff", b"a" * 9000,
    b"GET / HTTP/1.1\r\n" + HOST + b"\r\n", POST + b"Content-Length: 3\r\n\r\nabc",
)  # fmt: skip


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(words=st.lists(st.sampled_from(WORDS), max_size=12), cut=st.integers(1, 40))
def test_whatever_is_said_the_next_one_is_served(house, words, cut):
    said = b"".join(words)
    with house.dial() as client, suppress(ConnectionError):
        client.say(said[:cut])
        client.say(said[cut:])
        client.socket.shutdown(socket.SHUT_WR)
        for answer in client.hear_all().split(b"HTTP/1.1 ")[1:]:
            assert answer[:3] in (b"100", b"200", b"400", b"431")
    assert house.ask("/hello").status == 200


def test_a_slow_head_is_408_and_one_that_never_begins_is_just_ended():
    with running(head_s=0.3) as house:
        refused(house, b"GET / HTTP/1.1\r\nHo", 408, "timeout")
        with house.dial() as client:
            assert client.hear_all() == b""
        with house.dial() as client:  # one byte from time to time is not enough
            began = time.monotonic()
            ended = threading.Event()

            def trickle():
                while not ended.wait(0.05):
                    try:
                        client.say(b"a")
                    except OSError:
                        return

            client.say(b"GET / HTTP/1.1\r\nX: ")
            thread = threading.Thread(target=trickle)
            thread.start()
            assert client.hear().status == 408
            assert time.monotonic() - began < 2
            ended.set()
            thread.join()


def test_line_ends_alone_keep_no_connection_open():
    with running(head_s=0.3) as house, house.dial() as client:
        for _ in range(100):
            client.say(b"\r\n")
            if client.is_ended(within_s=0.02):
                return
        pytest.fail("it is still open")


def test_a_slow_body_is_408_and_the_application_hears_of_it():
    with running(body_s=0.3) as house:
        refused(house, POST + b"Content-Length: 10\r\n\r\nabc", 408, "timeout")
        refused(house, CHUNKED + b"3\r\nabc\r\n", 408, "timeout")
        wait_until(lambda: house.app.disconnects == 2, "the application hears of it")


def test_an_idle_connection_is_ended_but_not_one_that_is_being_answered():
    with running(idle_s=0.8, head_s=0.8, body_s=0.8) as house:
        with house.dial() as client:
            assert client.get("/hello").status == 200
            began = time.monotonic()
            assert client.is_ended()
            assert time.monotonic() - began > 0.6
        with house.dial() as client:
            client.say(b"GET /slow HTTP/1.1\r\n" + HOST + b"\r\n")
            time.sleep(1.6)
            house.app.may_end.set()
            assert client.hear().body == b"slow\n"


@pytest.mark.parametrize("path", ["/large", "/flood"])
def test_a_client_that_does_not_read_is_dropped(path):
    with (
        running(stalled_write_s=0.4, stalled_stream_s=0.8) as house,
        house.dial(receive_buffer=4096) as client,
    ):
        began = time.monotonic()
        client.say(b"GET " + path.encode() + b" HTTP/1.1\r\n" + HOST + b"\r\n")
        wait_until(lambda: house.open_connections == 1, "it is there")
        wait_until(lambda: house.open_connections == 0, "it is dropped")
        least_s = 0.8 if path == "/flood" else 0.4
        assert least_s <= time.monotonic() - began < 5


def test_a_slow_reader_is_not_dropped():
    with running(stalled_write_s=1.5) as house, house.dial(receive_buffer=262144) as client:
        client.say(b"GET /large HTTP/1.1\r\n" + HOST + b"\r\n")
        heard = 0
        for _ in range(10):
            time.sleep(0.2)
            heard += len(client.socket.recv(1024 * 1024))
        while heard < 64 * 1024 * 1024:
            piece = client.socket.recv(1024 * 1024)
            assert piece, heard
            heard += len(piece)


def test_a_quiet_event_stream_stays_open():
    short = {"stalled_write_s": 0.6, "stalled_stream_s": 0.6, "idle_s": 0.6, "head_s": 0.6}
    with running(**short) as house, house.dial() as client:
        client.say(b"GET /stream HTTP/1.1\r\n" + HOST + b"\r\n")
        ends = time.monotonic() + 1.5
        while time.monotonic() < ends:
            assert client.socket.recv(1000)


def test_a_stream_ends_when_its_listener_leaves(house):
    before = house.app.disconnects
    with house.dial() as client:
        client.say(b"GET /stream HTTP/1.1\r\n" + HOST + b"\r\n")
        assert client.socket.recv(1000)
    wait_until(lambda: house.app.disconnects > before, "the application hears of it")


def test_beyond_the_last_connection_a_client_is_told_so_and_existing_ones_are_served():
    with running(connections=3, evicted_after_s=60) as house:
        inside = [house.dial() for _ in range(3)]
        for client in inside:
            assert client.get().status == 200
        refused(house, b"", 503, "busy")
        with house.dial() as client:
            assert client.get().headers["retry-after"] == "2"
        assert house.open_connections == 3
        for client in inside:
            assert client.get().status == 200
            client.socket.close()
        wait_until(lambda: house.open_connections == 0, "they have left")
        assert house.ask().status == 200


def test_who_keeps_us_waiting_makes_room_for_who_asks():
    with running(connections=4, evicted_after_s=0.1) as house:
        idle = [house.dial() for _ in range(4)]
        idle[0].say(b"GET / HTTP/1.1\r\nHo")
        wait_until(lambda: house.open_connections == 4, "they are in")
        time.sleep(0.2)
        for _ in range(3):
            assert house.ask("/hello").status == 200
        assert house.open_connections <= 4
        for client in idle:
            client.socket.close()


def test_who_is_refused_or_slow_with_a_body_makes_room_too():
    with running(connections=4, evicted_after_s=0.1, goodbye_s=30, body_s=30) as house:
        slow = [house.dial() for _ in range(4)]
        for client in slow[:2]:
            client.say(b"nonsense\r\n\r\n")
        for client in slow[2:]:
            client.say(POST + b"Content-Length: 10\r\n\r\nabc")
        wait_until(lambda: len(house.app.heads) == 2, "both bodies are waited for")
        time.sleep(0.2)
        others = [house.dial() for _ in range(4)]
        for client in others:
            assert client.get("/hello").status == 200
        for client in (*slow, *others):
            client.socket.close()


def test_a_crowd_of_idle_clients_costs_the_next_one_a_moment_and_no_refusal():
    with running(connections=4, evicted_after_s=0.3, room_s=5) as house:
        idle = [house.dial() for _ in range(8)]
        for _ in range(3):
            assert house.ask("/hello").status == 200
        for client in idle:
            client.socket.close()


def test_nobody_is_sent_away_while_being_answered():
    with running(connections=2, evicted_after_s=0.0, room_s=0.3) as house:
        busy = [house.dial() for _ in range(2)]
        for client in busy:
            client.say(b"GET /slow HTTP/1.1\r\n" + HOST + b"\r\n")
        wait_until(lambda: len(house.app.heads) == 2, "both are being answered")
        refused(house, b"", 503, "busy")
        house.app.may_end.set()
        for client in busy:
            assert client.hear().body == b"slow\n"
            client.socket.close()


def test_64_slow_clients_do_not_slow_down_the_others():
    with running() as house:
        slow = [house.dial() for _ in range(64)]
        for number, client in enumerate(slow):
            client.say(b"GET / HTTP/1.1\r\nX-%d: " % number)

        def answered():
            assert house.ask("/hello").status == 200

        for _ in range(20):
            for client in slow:
                client.say(b"a")
            assert is_within(0.1, answered)
        for client in slow:
            client.socket.close()


def test_the_end_waits_for_answers_and_ends_streams_and_idle_ones():
    app = Demo()
    with running(app, stop_s=5) as house:
        idle, half, stream, busy = (house.dial() for _ in range(4))
        assert idle.get().status == 200
        half.say(b"GET / HTTP/1.1\r\nHo")
        stream.say(b"GET /stream HTTP/1.1\r\n" + HOST + b"\r\n")
        assert stream.socket.recv(1000)
        busy.say(b"GET /slow HTTP/1.1\r\n" + HOST + b"\r\n")
        wait_until(lambda: len(app.heads) == 3, "all have asked")
        began = time.monotonic()
        house.server.stop()
        for client in (idle, half, stream):
            assert client.is_ended(within_s=1)
        with pytest.raises(ConnectionRefusedError):
            house.dial()
        app.may_end.set()
        answer = busy.hear()
        assert (answer.body, answer.headers["connection"]) == (b"slow\n", "close")
        house.thread.join(3)
        assert time.monotonic() - began < 3
        for client in (idle, half, stream, busy):
            client.socket.close()


def test_the_end_does_not_wait_for_ever(caplog):
    with running(stop_s=0.3) as house, house.dial() as client:
        client.say(b"GET /stubborn HTTP/1.1\r\n" + HOST + b"\r\n")
        wait_until(lambda: house.app.heads, "it has asked")
        house.server.stop()
        answer = client.hear()
        assert (answer.status, answer.json["error"]) == (503, "unavailable")
        house.thread.join(3)
        assert not house.thread.is_alive()
    assert not [record for record in caplog.records if record.exc_info]
