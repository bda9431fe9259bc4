"""Events of a real service over a real socket, and what other processes change."""

import http.client
import json
import time

import pytest

from served import Served, wait_until


@pytest.fixture
def served(tmp_path):
    environ = {
        "LYRSVC_DB_PATH": str(tmp_path / "state" / "lyrsvcgo.db"),
        "LYRSVC_PROVIDER_PRIMARY": "lrclib",
        "LYRSVC_LRCLIB_BASE_URL": "http://127.0.0.1:9",
        "LYRSVC_SCAN_SCHEDULE": "off",
    }
    with Served(tmp_path, environ) as service:
        yield service


def admin_key(served):
    made = served.run("keys", "create", "--name", "test", "--scope", "admin", "--json")
    assert made.returncode == 0, made.stderr
    return json.loads(made.stdout)["key"]


def test_another_process_adds_a_library_and_scans_and_listeners_hear_of_it(served, tmp_path):
    (tmp_path / "music").mkdir()
    (tmp_path / "music" / "notes.txt").touch()
    connection = http.client.HTTPConnection(served.address, timeout=30)
    connection.request(
        "GET", "/api/v1/events", headers={"Authorization": f"Bearer {admin_key(served)}"}
    )
    stream = connection.getresponse()
    assert (stream.status, stream.headers["content-type"]) == (200, "text/event-stream")
    heard = b""

    def hear(word):
        nonlocal heard
        until = time.monotonic() + 10
        while word not in heard:
            assert time.monotonic() < until, heard
            heard += stream.readline()

    hear(b"event: queue")
    assert served.run("library", "add", str(tmp_path / "music")).returncode == 0
    assert served.run("scan").returncode == 0
    hear(b"event: scan")
    hear(b'"started_by":"cli"')

    began = time.monotonic()
    assert served.stop() == 0
    assert time.monotonic() - began < 10
    assert "Traceback" not in served.log
    connection.close()
    wait_until(lambda: "stopped" in served.log, "it says so")
