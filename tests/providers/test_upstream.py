"""The one way to the network, tried against servers that mean no good."""

import errno
import gzip
import os
import socket
import ssl
import threading
import time
import tracemalloc
import warnings
import zlib
from datetime import date, timedelta

import pytest

from lyrsvc.core.errors import LaneError, Malformed, Transient
from lyrsvc.demo.loopback import LoopbackServer, Received
from lyrsvc.demo.wire import Answer, in_json
from lyrsvc.providers.upstream import Connections, Limits, Upstream
from ports import free_port

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
QUICK = Limits(total_s=0.5, connect_s=0.5)


@pytest.fixture
def quick(connect) -> Upstream:
    return Upstream(connect(limits=QUICK))


def fault_of(upstream: Upstream, url: str, **options) -> LaneError:
    with pytest.raises(LaneError) as caught:
        upstream.get(url, {"usertoken": "hidden-token"}, **options)
    text = str(caught.value)
    assert "hidden-token" not in text
    assert "://" not in text
    assert "127.0.0.1" not in text
    return caught.value


def test_every_request_names_the_program_and_carries_the_query(httpserver, upstream):
    httpserver.expect_request("/x").respond_with_json({"a": "ü"}, headers={"X-Kind": "b"})

    reply = upstream.get(httpserver.url_for("/x"), {"q": "Ärger & Co"}, headers={"Cookie": "a="})

    assert (reply.status, reply.headers["x-kind"]) == (200, "b")
    seen = httpserver.log[0][0]
    assert seen.headers["User-Agent"] == "lyrsvc/9.9.9 (+https://lyrsvc.example)"
    assert seen.headers["Cookie"] == "a="
    assert seen.args["q"] == "Ärger & Co"


def test_a_query_with_undecodable_letters_is_still_sent(httpserver, upstream):
    httpserver.expect_request("/x").respond_with_data("{}")

    assert upstream.get(httpserver.url_for("/x"), {"q": "a\udcff"}).status == 200


def test_every_slot_of_the_worker_keeps_its_connection(connect, caplog):
    slots, answers = 8, []
    together = threading.Barrier(slots)

    def answer(_: Received) -> Answer:
        together.wait(30)
        return in_json({})

    server = LoopbackServer(answer)
    server.start()
    upstream = Upstream(connect(limits=Limits(total_s=40, connect_s=30)))
    asking = [
        threading.Thread(target=lambda: answers.append(upstream.get(f"{server.url}/x").status))
        for _ in range(slots)
    ]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    server.close()

    assert answers == [200] * slots
    assert "discarding connection" not in caplog.text


def test_the_pacer_is_asked_before_each_request_and_told_after_it(httpserver, connect):
    httpserver.expect_request("/a").respond_with_data("", 302, {"Location": "/b"})
    httpserver.expect_request("/b").respond_with_data("ok")
    steps: list[str] = []
    upstream = Upstream(
        connect(), pace=lambda: steps.append("pace"), settled=lambda: steps.append("settled")
    )

    assert upstream.get(httpserver.url_for("/a")).body == b"ok"
    assert steps == ["pace", "settled", "pace", "settled"]


def test_a_pacer_that_raises_stops_the_request(httpserver, connect):
    def refuse():
        raise InterruptedError

    settled: list[int] = []
    upstream = Upstream(connect(), pace=refuse, settled=lambda: settled.append(1))

    with pytest.raises(InterruptedError):
        upstream.get(httpserver.url_for("/"))
    assert (httpserver.log, settled) == ([], [])


def test_a_failed_request_is_settled_too(connect, raw_server):
    settled: list[int] = []
    upstream = Upstream(connect(), settled=lambda: settled.append(1))

    fault_of(upstream, raw_server(lambda conn: None))

    assert settled == [1]


@pytest.mark.parametrize("size", [10, 11])
def test_a_body_above_the_cap_is_malformed(httpserver, upstream, size):
    httpserver.expect_request("/").respond_with_data(b"x" * size)

    if size <= 10:
        assert len(upstream.get(httpserver.url_for("/"), cap_bytes=10).body) == size
    else:
        error = fault_of(upstream, httpserver.url_for("/"), cap_bytes=10)
        assert isinstance(error, Malformed)


def test_gzip_is_read(httpserver, upstream):
    httpserver.expect_request("/").respond_with_data(
        gzip.compress(b'{"a": 1}'), headers={"Content-Encoding": "gzip"}
    )

    assert upstream.get(httpserver.url_for("/")).body == b'{"a": 1}'


def test_a_gzip_bomb_ends_at_the_cap(httpserver, upstream):
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(200)) + packer.flush()
    assert len(bomb) < 400_000
    httpserver.expect_request("/").respond_with_data(bomb, headers={"Content-Encoding": "gzip"})

    tracemalloc.start()
    try:
        error = fault_of(upstream, httpserver.url_for("/"))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert isinstance(error, Malformed)
    assert most < 16 * 1024 * 1024, most


def test_broken_compression_is_malformed(httpserver, upstream):
    httpserver.expect_request("/").respond_with_data(
        b"no gzip at all", headers={"Content-Encoding": "gzip"}
    )

    assert isinstance(fault_of(upstream, httpserver.url_for("/")), Malformed)


def drip(conn, data: bytes, stop: threading.Event) -> None:
    for byte in data:
        conn.sendall(bytes([byte]))
        if stop.wait(0.05):
            return


@pytest.mark.parametrize("part", ["headers", "body", "chunks", "status"])
def test_a_server_that_feeds_single_bytes_is_cut_off_at_the_deadline(quick, raw_server, part):
    stop = threading.Event()
    scripts = {
        "status": (b"", b"HTTP/1.1 200 " + b"O" * 1000),
        "headers": (OK, b"X-Slow: " + b"a" * 1000),
        "body": (OK + b"Content-Length: 1000\r\n\r\n", b"a" * 1000),
        "chunks": (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n" * 200),
    }
    at_once, slowly = scripts[part]

    def play(conn):
        conn.sendall(at_once)
        drip(conn, slowly, stop)

    url = raw_server(play)
    started = time.monotonic()
    error = fault_of(quick, url)
    took = time.monotonic() - started
    stop.set()

    assert (type(error), error.reason, str(error)) == (Transient, "timeout", "timeout")
    assert took < 10  # of fifty


def test_silence_is_a_timeout(quick, raw_server):
    stop = threading.Event()
    url = raw_server(lambda conn: stop.wait(5))

    error = fault_of(quick, url)
    stop.set()

    assert (type(error), error.reason) == (Transient, "timeout")


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        (b"", "connection closed"),
        (OK + b"Content-Length: 100\r\n\r\nhalf", "connection closed"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab", "answer is not HTTP"),
        (b"SSH-2.0-OpenSSH\r\n", "answer is not HTTP"),
        (OK + b"X-Long: " + b"a" * 70_000 + b"\r\n\r\n", "answer is not HTTP"),
        (OK + b"".join(b"X-%d: a\r\n" % n for n in range(200)) + b"\r\n", "answer is not HTTP"),
    ],
    ids=["closed", "cut body", "cut chunk", "no HTTP", "huge header", "many headers"],
)
def test_a_broken_conversation_is_transient(upstream, raw_server, sent, text):
    error = fault_of(upstream, raw_server(lambda conn: conn.sendall(sent)))

    assert (type(error), error.reason, str(error)) == (Transient, "network", text)


def test_trouble_of_the_system_is_named_and_not_blamed_on_the_answer(
    upstream, raw_server, monkeypatch
):
    def fail(*_: object) -> None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    monkeypatch.setattr(socket.socket, "sendall", fail)
    error = fault_of(upstream, raw_server(lambda conn: None))

    assert (type(error), str(error)) == (Transient, "connection failed: Bad file descriptor")


def test_a_closed_port_is_a_network_fault(upstream, raw_server):
    error = fault_of(upstream, f"http://127.0.0.1:{free_port()}/")

    assert (error.reason, str(error)) == ("network", "connection refused")


@pytest.mark.parametrize("status", [100, 102, 103])
def test_answers_before_the_answer_are_passed_over(upstream, raw_server, status):
    hints = b"HTTP/1.1 %d Wait\r\nLink: </style.css>\r\n\r\n" % status

    reply = upstream.get(
        raw_server(lambda conn: conn.sendall(hints * 2 + OK + b"Content-Length: 2\r\n\r\n{}"))
    )

    assert (reply.status, reply.body) == (200, b"{}")
    assert "link" not in reply.headers


def test_the_status_of_an_error_counts_even_when_its_body_is_cut(upstream, raw_server):
    cut = b"HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nContent-Length: 1000\r\n\r\nhalf"

    reply = upstream.get(raw_server(lambda conn: conn.sendall(cut)))

    assert (reply.status, reply.headers["retry-after"]) == (429, "7")


def test_the_body_of_an_error_may_be_endless(httpserver, upstream):
    httpserver.expect_request("/").respond_with_data(b"x" * 5_000_000, 503)

    reply = upstream.get(httpserver.url_for("/"))

    assert reply.status == 503
    assert len(reply.body) <= 64 * 1024


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_on_the_same_server_is_followed(httpserver, upstream, status):
    httpserver.expect_request("/a").respond_with_data("", status, {"Location": "/b?c=d"})
    httpserver.expect_request("/b", query_string="c=d").respond_with_data("there")

    assert upstream.get(httpserver.url_for("/a")).body == b"there"


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.2:{port}/b",
        "http://localhost:{port}/b",
        "http://127.0.0.1:1/b",
        "https://127.0.0.1:{port}/b",
        "http://user:secret@127.0.0.1:{port}/b",
        "//127.0.0.2:{port}/b",
        "file:///etc/passwd",
        "http://127.0.0.1:99999/b",
        "http://[::1/b",
        "",
    ],
)
def test_a_redirect_to_any_other_place_is_refused(upstream, raw_server, location):
    asked: list[int] = []

    def play(conn):
        asked.append(1)
        target = location.format(port=conn.getsockname()[1]).encode()
        given = b"Location: " + target + b"\r\n" if target else b""
        conn.sendall(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n" + given + b"\r\n")

    error = fault_of(upstream, raw_server(play) + "/a")

    assert (type(error), error.reason) == (Transient, "upstream_error")
    assert asked == [1]


def test_a_fourth_redirect_is_one_too_many(httpserver, upstream):
    for step in range(9):
        httpserver.expect_request(f"/{step}").respond_with_data(
            "", 302, {"Location": f"/{step + 1}"}
        )
    httpserver.expect_request("/9").respond_with_data("there")

    assert upstream.get(httpserver.url_for("/6")).body == b"there"
    httpserver.clear_log()
    error = fault_of(upstream, httpserver.url_for("/5"))

    assert (type(error), error.reason) == (Transient, "upstream_error")
    assert len(httpserver.log) == 4


def test_an_answer_without_a_date_gets_the_present_one(upstream, raw_server):
    reply = upstream.get(raw_server(lambda conn: conn.sendall(OK + b"\r\n{}")))

    assert reply.headers["date"] == "Sat, 31 Jan 2026 14:00:00 GMT"


def test_a_certificate_nobody_vouches_for_is_refused(upstream, connect, tmp_path):
    context, certificate = make_certificate(tmp_path)
    with TlsServer(context) as url:
        error = fault_of(upstream, url)
        trusted = Upstream(connect(ca_file=str(certificate)))
        assert trusted.get(url).body == b"{}"

    assert (error.reason, str(error)) == ("network", "certificate not trusted")


@pytest.mark.parametrize(
    ("days", "host", "text"),
    [
        ((1, 2), "127.0.0.1", "certificate not valid yet; check the clock"),
        ((-2, -1), "127.0.0.1", "certificate expired; check the clock"),
        ((-1, 1), "127.0.0.9", "certificate of another host"),
    ],
)
def test_a_certificate_that_does_not_fit_tells_why(connect, tmp_path, days, host, text):
    context, certificate = make_certificate(tmp_path, days=days, host=host)
    with TlsServer(context) as url:
        error = fault_of(Upstream(connect(ca_file=str(certificate))), url)
    assert (error.reason, str(error)) == ("network", text)


def test_a_clock_far_behind_is_not_told_at_every_connection(connect, tmp_path, monkeypatch):
    monkeypatch.setattr("urllib3.connection.RECENT_DATE", date.max)
    context, certificate = make_certificate(tmp_path)
    with TlsServer(context) as url, warnings.catch_warnings(record=True) as told:
        assert Upstream(connect(ca_file=str(certificate))).get(url).body == b"{}"
    assert told == []


def test_connections_may_be_closed_twice(connect):
    connections: Connections = connect()
    connections.close()
    connections.close()


def make_certificate(directory, *, days=(-1, 1), host="127.0.0.1"):
    import datetime
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "loopback")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now + timedelta(days=days[0]))
        .not_valid_after(now + timedelta(days=days[1]))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(host))]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    pem, key_file = directory / "cert.pem", directory / "key.pem"
    pem.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, key_file)
    return context, pem


class TlsServer:
    def __init__(self, context):
        from pytest_httpserver import HTTPServer

        self.server = HTTPServer(ssl_context=context)
        self.server.expect_request("/").respond_with_data("{}")

    def __enter__(self):
        self.server.start()
        return f"https://127.0.0.1:{self.server.port}/"

    def __exit__(self, *_):
        self.server.stop()
