"""TLS over real sockets: handshakes, a changed certificate, the plain door beside it."""

import logging
import socket
import ssl
import time
from contextlib import ExitStack

import pytest

from fakes import FakeClock
from lyrsvc.security.certificates import Certificates
from lyrsvc.security.self_signed import SelfSigned
from lyrsvc.web.plain_door import PlainDoor
from lyrsvc.web.security_headers import HEADERS
from pems import common_name, make_pair
from raw_http import HOST, Client, Demo, running
from served import wait_until


def trusting(pair) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=pair.certificate)


def careless() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


@pytest.fixture
def pair(tmp_path):
    return make_pair(tmp_path / "tls")


@pytest.fixture
def certificates(pair):
    return Certificates.of_operator(pair, clock=FakeClock())


@pytest.mark.seed("S-108")
def test_requests_are_served_over_tls_1_2_and_newer_only(certificates, pair):
    with running(context=certificates.context) as house:
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = trusting(pair)
            context.minimum_version = context.maximum_version = version
            context.set_alpn_protocols(["h2", "http/1.1"])
            with house.dial(tls=context) as client:
                assert client.socket.selected_alpn_protocol() == "http/1.1"
                assert client.get("/hello").body == b"/hello\n"
                client.say(b"POST /echo HTTP/1.1\r\n" + HOST + b"Content-Length: 200000\r\n\r\n")
                client.say(b"x" * 200_000)
                assert client.hear().body == b"x" * 200_000
        old = careless()
        old.set_ciphers("DEFAULT:@SECLEVEL=0")
        with pytest.warns(DeprecationWarning, match="TLSv1_1"):
            old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises((ConnectionError, ssl.SSLError)):
            house.dial(tls=old)


def test_limits_hold_over_tls_and_refusals_can_be_read(certificates, pair):
    with running(context=certificates.context, head_s=0.8, idle_s=0.8, body_s=0.8) as house:
        tls = trusting(pair)
        with house.dial(tls=tls) as client:
            client.say(b"GET / HTTP/1.1\r\nHo")
            assert client.hear().status == 408
            assert client.is_ended()
        with house.dial(tls=tls) as client:
            client.say(b"nonsense\r\n\r\n")
            assert client.hear().status == 400
            assert client.is_ended()
        with house.dial(tls=tls) as client:
            assert client.get().status == 200
            assert client.is_ended()
        with house.dial(tls=tls) as client:
            client.say(b"POST /refuse HTTP/1.1\r\n" + HOST + b"Content-Length: 3000000\r\n\r\n")
            client.say(b"x" * 3_000_000)
            assert client.hear().status == 413
            assert client.is_ended()


@pytest.mark.parametrize("path", ["/large", "/flood"])
def test_a_client_that_does_not_read_is_dropped_over_tls_too(certificates, pair, path):
    limits = {"stalled_write_s": 0.4, "stalled_stream_s": 0.4}
    with (
        running(context=certificates.context, **limits) as house,
        house.dial(tls=trusting(pair), receive_buffer=4096) as client,
    ):
        client.say(b"GET " + path.encode() + b" HTTP/1.1\r\n" + HOST + b"\r\n")
        wait_until(lambda: house.app.heads, "it has asked")
        wait_until(lambda: house.open_connections == 0, "it is dropped")


def test_a_handshake_that_does_not_come_is_given_up(certificates, caplog):
    with running(context=certificates.context, handshake_s=0.3) as house:
        with house.dial() as silent, house.dial() as plain:
            plain.say(b"GET / HTTP/1.1\r\n" + HOST + b"\r\n")
            assert plain.is_ended()
            assert silent.is_ended()
        assert house.ask(tls=careless()).status == 200
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.fixture
def at_the_door():
    """Fill a house with clients that never begin their handshake."""
    with ExitStack() as stack:

        def fill(house):
            silent = [stack.enter_context(house.dial()) for _ in range(8)]
            wait_until(lambda: len(house.server._hall.arriving) == 8, "they are at the door")
            return silent

        yield fill


def test_handshakes_count_as_connections(certificates, at_the_door):
    limits = {"connections": 8, "handshake_s": 60, "evicted_after_s": 60}
    with running(context=certificates.context, **limits) as house:
        at_the_door(house)
        with pytest.raises((ConnectionError, ssl.SSLError)):
            house.ask(tls=careless())


def test_handshakes_that_do_not_come_make_room(certificates, at_the_door):
    limits = {"connections": 8, "handshake_s": 60, "evicted_after_s": 0.2}
    with running(context=certificates.context, **limits) as house:
        silent = at_the_door(house)
        time.sleep(0.3)
        for _ in range(3):
            assert house.ask(tls=careless()).status == 200
        ended = [client.is_ended(within_s=0.2) for client in silent]
        assert 1 <= ended.count(True) <= 3


@pytest.mark.spec("H-59")
def test_a_replaced_certificate_is_served_without_a_restart(certificates, pair):
    with running(context=certificates.context) as house, house.dial(tls=careless()) as old:
        assert common_name(old.socket.getpeercert(binary_form=True)) == "localhost"
        make_pair(pair.key.parent, "renewed.example")
        certificates.refresh()
        with house.dial(tls=careless()) as new:
            der = new.socket.getpeercert(binary_form=True)
            assert common_name(der) == "renewed.example"
            assert new.get().status == 200
        assert old.get().status == 200  # who is inside stays inside
        pair.key.write_text("broken\n")
        certificates.refresh()
        certificates.refresh()
        with house.dial(tls=careless()) as client:
            der = client.socket.getpeercert(binary_form=True)
            assert common_name(der) == "renewed.example"


def test_a_self_signed_certificate_is_one_a_client_can_trust(tmp_path):
    maker = SelfSigned(tmp_path / "tls", ())
    clock = FakeClock()
    clock.moment = clock.moment.now(clock.moment.tzinfo)
    certificates = Certificates.self_signed(maker, clock=clock)
    with running(context=certificates.context) as house:
        assert house.ask(tls=trusting(maker.pair)).status == 200


def test_only_the_operators_certificate_promises_to_stay(certificates):
    name = "strict-transport-security"
    with running(context=certificates.context, strict_transport=True) as house:
        answer = house.ask("/hello", tls=careless())
        assert answer.headers[name] == "max-age=31536000"
        with house.dial(tls=careless()) as client:
            client.say(b"nonsense\r\n\r\n")
            assert client.hear().headers[name] == "max-age=31536000"
        for forwarded in (b"X-Forwarded-For: 192.0.2.1\r\n", b"Via: 1.1 proxy\r\n"):
            with house.dial(tls=careless()) as client:
                assert name not in client.get("/", HOST + forwarded).headers
    with running(context=certificates.context) as house:
        assert name not in house.ask("/hello", tls=careless()).headers
    with running(strict_transport=True) as house:
        assert name not in house.ask("/hello").headers


class WithHealth(Demo):
    async def __call__(self, scope, receive, send):
        path = scope["path"].removeprefix("/lyrics")
        await super().__call__({**scope, "path": "/" if path in HEALTH else path}, receive, send)


HEALTH = ("/healthz", "/readyz", "/ping")


@pytest.fixture
def both(certificates):
    app = WithHealth()

    def plain(port):
        return PlainDoor(app, tls_port=port, base_path="/lyrics")

    with running(app, context=certificates.context, plain=plain) as house:
        yield house


def ask_plainly(house, target: str, host: str = "music.example:8080", method: str = "GET"):
    with Client(house.ports[1]) as client:
        client.say(f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        return client.hear()


@pytest.mark.spec("H-59")
@pytest.mark.parametrize("prefix", ["", "/lyrics"])
def test_the_plain_door_sends_pages_on_answers_health_and_takes_no_key(both, prefix):
    for path in ("/", "/dashboard", "/reports/lanes?page=2&q=a%20b", "/static/x/app.css", "/apix"):
        answer = ask_plainly(both, prefix + path)
        assert answer.status == 308
        expected = f"https://music.example:{both.port}{prefix}{path}"
        assert answer.headers["location"] == expected
    for path in HEALTH:
        assert ask_plainly(both, prefix + path).status == 200
    for path in ("/api/v1/status", "/api", "/api/", "/metrics", "/metrics?x=1", "/%61pi/v1/status"):
        for method in ("GET", "POST", "PUT", "DELETE"):
            answer = ask_plainly(both, prefix + path, method=method)
            assert (answer.status, answer.json["error"]) == (403, "https_required"), path
            assert "location" not in answer.headers
    for path in ("/dashboard", "/api/v1/status"):
        answer = ask_plainly(both, prefix + path)
        for name, value in HEADERS:
            assert answer.headers[name.lower()] == value
        assert len(answer.headers["x-request-id"]) == 16
        assert "strict-transport-security" not in answer.headers


HOSTS = {
    "music.example": "music.example",
    "192.0.2.1:80": "192.0.2.1",
    "[2001:db8::1]": "[2001:db8::1]",
    "[2001:db8::1]:8080": "[2001:db8::1]",
    "localhost": "localhost",
}


@pytest.mark.parametrize("host", HOSTS)
def test_the_way_to_tls_keeps_the_host(both, host):
    location = ask_plainly(both, "/dashboard", host).headers["location"]
    assert location == f"https://{HOSTS[host]}:{both.port}/dashboard"


@pytest.mark.parametrize(
    "host", ["", "a_b@evil", "a:b:c", "x:y", "[::1", "evil.example:80:90", "a,b"]
)
def test_a_host_that_is_none_is_sent_nowhere(both, host):
    answer = ask_plainly(both, "/dashboard", host)
    assert answer.status == 400
    assert "location" not in answer.headers


def test_a_path_cannot_name_another_host(both):
    for target in ("//evil.example/x", "/\\evil.example", "http://evil.example/x"):
        answer = ask_plainly(both, target)
        if answer.status == 308:
            assert answer.headers["location"].startswith(f"https://music.example:{both.port}/")
        else:
            assert answer.status == 400


def test_the_usual_port_is_left_out():
    app = Demo()
    with running(PlainDoor(app, tls_port=443)) as house:
        answer = house.ask("/dashboard")
        assert answer.headers["location"] == "https://localhost/dashboard"


def test_a_body_for_the_plain_door_is_not_waited_for(both):
    with Client(both.ports[1]) as client:
        client.say(b"POST /api/v1/webhooks/lidarr HTTP/1.1\r\n" + HOST)
        client.say(b"X-Api-Key: secret\r\nContent-Length: 1000000\r\n\r\n")
        assert client.hear().status == 403
        client.socket.shutdown(socket.SHUT_WR)
        assert client.is_ended()


def test_both_doors_close_at_the_end(both):
    both.server.stop()
    both.thread.join(5)
    for port in both.ports:
        with pytest.raises(ConnectionRefusedError):
            Client(port)
