import http.server
import threading
import time

import pytest

from pems import make_pair
from ports import free_port
from served import Served
from terminals import Shell


@pytest.fixture
def environ(tmp_path) -> dict[str, str]:
    return {
        "LYRSVC_DB_PATH": str(tmp_path / "state" / "x.db"),
        "LYRSVC_SCAN_SCHEDULE": "off",
        "LYRSVC_PROVIDER_PRIMARY": "lrclib",
        "LYRSVC_LRCLIB_BASE_URL": "http://127.0.0.1:9",
    }


@pytest.mark.parametrize(
    ("more", "scheme", "base"),
    [
        ({}, "http", ""),
        ({"LYRSVC_BASE_PATH": "/lyrics"}, "http", "/lyrics"),
        ({"LYRSVC_TLS_SELF_SIGNED": "true"}, "https", ""),
    ],
)
def test_a_ready_service_is_ok_with_tls_and_base_path(tmp_path, environ, more, scheme, base):
    with Served(tmp_path, {**environ, **more}) as served:
        served.environ["LYRSVC_SERVER_ADDR"] = f"0.0.0.0:{served.address.rpartition(':')[2]}"
        done = served.run("healthcheck")
        assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
        named = f"{scheme}://{served.address}{base}"
        for url in (named, f"{named}/", f"{named}/readyz"):
            assert served.run("healthcheck", "--url", url).stdout == "ok\n"
        assert served.run("healthcheck", "--json").stdout == '{"status": "ok"}\n'


def test_an_operators_own_certificate_needs_no_authority_here(tmp_path, environ):
    pair = make_pair(tmp_path / "pem", "music.example")
    tls = {"LYRSVC_TLS_CERT_FILE": str(pair.certificate), "LYRSVC_TLS_KEY_FILE": str(pair.key)}
    with Served(tmp_path, {**environ, **tls}) as served:
        served.environ["LYRSVC_SERVER_ADDR"] = served.address
        assert served.run("healthcheck").stdout == "ok\n"


def test_a_lost_database_is_not_ok(tmp_path, environ):
    with Served(tmp_path, environ) as served:
        served.environ["LYRSVC_SERVER_ADDR"] = served.address
        (tmp_path / "state").rename(tmp_path / "elsewhere")
        done = served.run("healthcheck")
        assert (done.returncode, done.stdout) == (1, "")
        assert "is not ready (database)" in done.stderr


@pytest.mark.parametrize(
    ("changed", "by_note"),
    [
        ('[server]\nbase_path = "/lyrics"\n', False),
        ("[server.tls]\nself_signed = true\n", False),
        ("[server\n", False),
        ('[server]\naddr = "127.0.0.1:9"\n', True),
    ],
)
def test_settings_that_wait_for_a_restart_do_not_make_a_service_ill(
    tmp_path, environ, changed, by_note
):
    file = tmp_path / "config.toml"
    file.write_text("")
    with Served(tmp_path, {**environ, "LYRSVC_CONFIG": str(file)}) as served:
        file.write_text(changed)
        if not by_note:
            served.environ["LYRSVC_SERVER_ADDR"] = served.address
            (tmp_path / "state" / "x.db.lock").write_text("")
        done = served.run("healthcheck")
        assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
        served.stop()
        served.environ["LYRSVC_SERVER_ADDR"] = served.address
        done = served.run("healthcheck")
        assert (done.returncode, done.stdout) == (1, "")
        assert f"no answer from http{'s' * ('tls' in changed)}://{served.address}" in done.stderr
        assert ("see: lyrsvc config check" in done.stderr) == (changed == "[server\n")


def test_a_pair_in_the_middle_of_its_renewal_does_not_make_a_service_ill(tmp_path, environ):
    pair = make_pair(tmp_path / "pem", "music.example")
    tls = {"LYRSVC_TLS_CERT_FILE": str(pair.certificate), "LYRSVC_TLS_KEY_FILE": str(pair.key)}
    with Served(tmp_path, {**environ, **tls}) as served:
        served.environ["LYRSVC_SERVER_ADDR"] = served.address
        other = make_pair(tmp_path / "other", "music.example")
        pair.certificate.write_bytes(other.certificate.read_bytes())
        done = served.run("healthcheck")
        assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


def test_nobody_there_is_the_reason(shell: Shell):
    address = f"127.0.0.1:{free_port()}"
    done = shell.run("healthcheck", environ={"LYRSVC_SERVER_ADDR": address})
    assert (done.code, done.out) == (1, "")
    assert f"no answer from http://{address}: connection refused" in done.err
    assert "is the service running?" in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("url", ["nonsense", "ftp://127.0.0.1/", "http://", "http://x:99999/"])
def test_a_url_that_is_none_is_a_mistake_of_the_line(shell: Shell, url):
    done = shell.run("healthcheck", "--url", url)
    assert (done.code, done.out) == (2, "")


def test_an_address_without_a_fixed_port_is_told(shell: Shell):
    done = shell.run("healthcheck", environ={"LYRSVC_SERVER_ADDR": "127.0.0.1:0"})
    assert (done.code, "no fixed port" in done.err) == (1, True)


class Strange(http.server.BaseHTTPRequestHandler):
    """Another program: answers everything, or dribbles without an end."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        if "slow" not in self.path:
            self.wfile.write(b'{"status":"ok"}')
            return
        while not self.server.stop.wait(0.1):
            try:
                self.wfile.write(b" ")
            except OSError:
                return

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def strange():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Strange)
    server.daemon_threads = True
    server.stop = threading.Event()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.stop.set()
    server.shutdown()
    thread.join()
    server.server_close()


def test_another_program_at_the_address_is_not_taken_for_the_service(shell: Shell, strange):
    done = shell.run("healthcheck", "--url", strange)
    assert (done.code, "is another program" in done.err) == (1, True)


def test_an_answer_that_dribbles_is_given_up_after_three_seconds(shell: Shell, strange):
    begun = time.monotonic()
    done = shell.run("healthcheck", "--url", f"{strange}/slow")
    assert done.code == 1
    assert "no answer" in done.err
    assert 2.5 < time.monotonic() - begun < 4.5


def test_a_password_in_the_url_is_never_shown(shell: Shell):
    url = f"http://me:hush-hush@127.0.0.1:{free_port()}"
    done = shell.run("healthcheck", "--url", url)
    assert done.code == 1
    assert "hush" not in done.err + done.out
