"""The listener of the real program: TLS, the plain door, bad addresses, the end."""

import http.client
import re
import resource
import signal
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path

import apsw
import pytest

from pems import common_name, make_pair
from raw_http import HOST, Client
from served import Served, wait_until
from timing import is_within


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {
        "LYRSVC_DB_PATH": str(tmp_path / "state" / "x.db"),
        "LYRSVC_PROVIDER_PRIMARY": "lrclib",
        "LYRSVC_LRCLIB_BASE_URL": "http://127.0.0.1:9",
        "LYRSVC_SCAN_SCHEDULE": "off",
    }


def careless() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def port_of(served: Served) -> int:
    return int(served.address.rpartition(":")[2])


def plain_port_of(served: Served) -> int:
    found = re.search(r"sending plain requests on address=\S+:(\d+)", served.log)
    assert found, served.log
    return int(found[1])


def ask(port: int, path: str, *, tls: ssl.SSLContext | None = None) -> tuple[int, dict, bytes]:
    if tls is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    else:
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=tls)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, dict(answer.headers), answer.read()
    finally:
        connection.close()


def served_name(port: int) -> str:
    with Client(port, tls=careless()) as client:
        return common_name(client.socket.getpeercert(binary_form=True))


@pytest.mark.spec("H-59")
@pytest.mark.seed("S-108")
def test_tls_with_the_operators_pair_a_plain_door_and_a_replaced_certificate(tmp_path, environ):
    pair = make_pair(tmp_path / "certs")
    environ |= {
        "LYRSVC_TLS_CERT_FILE": str(pair.certificate),
        "LYRSVC_TLS_KEY_FILE": str(pair.key),
        "LYRSVC_TLS_REDIRECT_HTTP": "127.0.0.1:0",
    }
    trusting = ssl.create_default_context(cafile=pair.certificate)
    trusting.check_hostname = False
    with Served(tmp_path, environ) as served:
        port, plain = port_of(served), plain_port_of(served)
        status, headers, _ = ask(port, "/healthz", tls=trusting)
        assert (status, headers["strict-transport-security"]) == (200, "max-age=31536000")
        assert ask(plain, "/healthz")[0] == 200
        assert ask(plain, "/readyz")[0] == 200
        assert ask(plain, "/api/v1/status")[0] == 403
        assert ask(plain, "/metrics")[0] == 403
        status, headers, _ = ask(plain, "/dashboard?x=1")
        assert (status, headers["location"]) == (308, f"https://127.0.0.1:{port}/dashboard?x=1")
        make_pair(pair.key.parent, "renewed.example")
        wait_until(lambda: served_name(port) == "renewed.example", "the new certificate")
        assert served.stop() == 0
    assert " ERROR " not in served.log


@pytest.mark.seed("S-108")
def test_tls_with_a_pair_of_our_own(tmp_path, environ):
    environ |= {"LYRSVC_TLS_SELF_SIGNED": "true", "LYRSVC_TLS_SELF_SIGNED_HOSTS": "nas.example"}
    place = tmp_path / "state" / "tls"
    serials = []
    for _ in range(2):
        with Served(tmp_path, environ) as served:
            trusting = ssl.create_default_context(cafile=place / "cert.pem")
            status, headers, _ = ask(port_of(served), "/healthz", tls=trusting)
            assert status == 200
            assert "strict-transport-security" not in headers
            assert served.stop() == 0
        serials.append((place / "cert.pem").read_bytes())
    assert serials[0] == serials[1]  # whoever trusted it once need not do so again


def refusal(tmp_path, environ, *words: str) -> str:
    done = Served(tmp_path, environ).run("serve", *(words or ("--listen", "127.0.0.1:0")))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "listening" not in done.stderr
    return done.stderr


def test_a_pair_that_does_not_match_ends_the_start(tmp_path, environ):
    first, second = make_pair(tmp_path / "1"), make_pair(tmp_path / "2")
    environ |= {
        "LYRSVC_TLS_CERT_FILE": str(first.certificate),
        "LYRSVC_TLS_KEY_FILE": str(second.key),
    }
    assert "server.tls" in refusal(tmp_path, environ)
    assert "server.tls" in refusal(tmp_path, environ | {"LYRSVC_TLS_KEY_FILE": "/nowhere/k.pem"})


def test_an_address_that_is_taken_ends_the_start_and_is_named(tmp_path, environ):
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        assert address in refusal(tmp_path, environ, "--listen", address)
        plain = {"LYRSVC_TLS_SELF_SIGNED": "true", "LYRSVC_TLS_REDIRECT_HTTP": address}
        told = refusal(tmp_path, environ | plain)
        assert f"on {address}: already in use; choose another server.tls.redirect_http" in told


def test_an_address_of_another_machine_is_told_in_our_own_words(tmp_path, environ):
    told = refusal(tmp_path, environ, "--listen", "[2001:db8::77]:3876")
    assert "lyrsvc: cannot listen on [2001:db8::77]:3876: cannot assign requested" in told
    assert told.rstrip().endswith("; choose another --listen")


def locked(path: str) -> apsw.Connection:
    holder = apsw.Connection(path)
    holder.set_busy_timeout(5000)
    holder.execute("BEGIN EXCLUSIVE")
    return holder


def test_the_first_signal_waits_for_the_answer_and_the_second_does_not(tmp_path, environ):
    slow = b"GET /readyz HTTP/1.1\r\n" + HOST + b"\r\n"
    for signals, expected in ((1, 0), (2, 128 + signal.SIGTERM)):
        with Served(tmp_path, environ) as served, Client(port_of(served)) as client:
            with locked(environ["LYRSVC_DB_PATH"]):
                client.say(slow)
                time.sleep(0.3)  # it is being answered
                process = served._process
                for _ in range(signals):
                    process.send_signal(signal.SIGTERM)
                    time.sleep(0.2)
                if signals == 2:
                    assert process.wait(timeout=10) == expected
                else:
                    assert client.hear().status == 503
            assert process.wait(timeout=10) == expected


HANGING = """
import os, signal, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from lyrsvc import daemon
daemon._LAST_S = 0.5
class Server:
    def stop(self): pass
stop = threading.Event()
ThreadPoolExecutor(1).submit(time.sleep, 60)
with daemon._signals(Server(), stop, lambda: None):
    os.kill(os.getpid(), signal.SIGTERM)
    stop.wait()
sys.exit(3)
"""


def test_a_thread_that_hangs_does_not_keep_the_program_from_its_end():
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", HANGING], check=False, timeout=20)
    assert done.returncode == 0
    assert time.monotonic() - began < 10


@pytest.mark.spec("H-23")
def test_health_is_told_while_the_database_is_locked_and_readiness_is_not(tmp_path, environ):
    with Served(tmp_path, environ) as served:
        port = port_of(served)
        assert ask(port, "/readyz")[0] == 200
        holder = locked(environ["LYRSVC_DB_PATH"])

        def not_ready():
            status, _, body = ask(port, "/readyz")
            assert status == 503
            assert str(tmp_path).encode() not in body

        def healthy():
            for path in ("/healthz", "/ping"):
                status, _, body = ask(port, path)
                assert (status, body) == (200, b'{"status":"ok"}\n')

        assert is_within(2.5, not_ready)
        assert is_within(1, healthy)
        holder.execute("ROLLBACK")
        holder.close()
        wait_until(lambda: ask(port, "/readyz")[0] == 200, "it is ready again")
        assert served.stop() == 0


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="needs Linux")
def test_without_free_file_handles_idle_clients_make_room(tmp_path, environ):
    with Served(tmp_path, environ) as served:
        port, pid = port_of(served), served._process.pid
        assert ask(port, "/readyz")[0] == 200
        used = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + 4, used + 4))
        idle = [Client(port) for _ in range(8)]
        time.sleep(1.2)  # long enough to have kept us waiting
        assert ask(port, "/healthz")[0] == 200
        assert "raise the limit of open files" in served.log
        for client in idle:
            client.socket.close()
        assert served.stop() == 0


def test_64_slow_clients_do_not_keep_health_from_being_told(tmp_path, environ):
    with Served(tmp_path, environ) as served:
        port = port_of(served)
        slow = [Client(port) for _ in range(64)]
        for client in slow:
            client.say(b"GET /healthz HTTP/1.1\r\nX: ")
        times = []
        for _ in range(10):
            for client in slow:
                client.say(b"a")
            began = time.monotonic()
            assert ask(port, "/healthz")[0] == 200
            times.append(time.monotonic() - began)
        assert sorted(times)[5] < 0.1
        for client in slow:
            client.socket.close()
        assert served.stop() == 0
