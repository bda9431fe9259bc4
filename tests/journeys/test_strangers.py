"""Strangers who guess keys and passwords cannot take the service away from its owner."""

import json
import threading
import time
import urllib.error
import urllib.request
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import urlencode

import pytest

from served import Served

HOOK = "/api/v1/webhooks/lidarr"


@pytest.fixture
def served(tmp_path):
    environ = {
        "LYRSVC_PROVIDERS_PRIMARY": "lrclib",
        "LYRSVC_LRCLIB_BASE_URL": "http://127.0.0.1:9",
        "LYRSVC_WEB_UI_ENABLED": "true",
        "LYRSVC_WEBAUTH_ADMIN_USER": "ann",
        "LYRSVC_WEBAUTH_ADMIN_PASSWORD": "correct horse battery",
        "LYRSVC_TRUSTED_UI_ACCESS": "off",
    }
    with Served(tmp_path, environ) as running:
        yield running


def ask(served, path, *, data=None, headers=None):
    call = urllib.request.Request(
        f"http://{served.address}{path}", data=data, headers=headers or {}
    )
    begun = time.monotonic()
    try:
        with urllib.request.urlopen(call, timeout=60) as answer:
            return answer.status, answer.headers, answer.read(), time.monotonic() - begun
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.headers, refusal.read(), time.monotonic() - begun


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def memory_mib(pid):
    (line,) = [
        one
        for one in Path(f"/proc/{pid}/status").read_text().splitlines()
        if one.startswith("VmRSS")
    ]
    return int(line.split()[1]) / 1024


@pytest.mark.spec("H-22")
def test_a_right_key_is_answered_while_others_guess(served):
    key = served.run("keys", "create", "--name", "mine").stdout.strip()
    body = json.dumps({"eventType": "Test"}).encode()
    stop, guesses = threading.Event(), []

    def guess():
        while not stop.wait(0.04):
            guesses.append(
                ask(served, HOOK, data=body, headers={"X-Api-Key": "lyrsvc_" + "0" * 64})[0]
            )

    guessers = [threading.Thread(target=guess) for _ in range(8)]
    for one in guessers:
        one.start()
    pid = served._process.pid
    begun, spent = time.monotonic(), cpu_seconds(pid)
    times = []
    while time.monotonic() - begun < 4:
        status, _, _, seconds = ask(served, HOOK, data=body, headers={"X-Api-Key": key})
        assert status == 200
        times.append(seconds)
        time.sleep(0.1)
    used = (cpu_seconds(pid) - spent) / (time.monotonic() - begun)
    stop.set()
    for one in guessers:
        one.join()
    assert set(guesses) == {401}
    assert len(guesses) > 200
    assert sorted(times)[len(times) // 2] < 0.25
    assert used < 0.9


@pytest.mark.spec("H-34")
def test_fifty_wrong_sign_ins_at_once_cost_little(served):
    pid = served._process.pid
    _, headers, _, _ = ask(served, "/login")
    value = SimpleCookie(headers["set-cookie"])["lyrsvc-csrf-token"].value
    ask(served, "/login", data=b"", headers={})
    before, statuses = memory_mib(pid), []

    def post():
        form = urlencode({"username": "ann", "password": "wrong", "csrf_token": value}).encode()
        sent = {
            "Cookie": f"lyrsvc-csrf-token={value}",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        statuses.append(ask(served, "/login", data=form, headers=sent)[0])

    threads = [threading.Thread(target=post) for _ in range(50)]
    for thread in threads:
        thread.start()
    waits, peak = [], before
    while any(thread.is_alive() for thread in threads):
        waits.append(ask(served, "/healthz")[3])
        peak = max(peak, memory_mib(pid))
        time.sleep(0.05)
    assert len(statuses) == 50
    assert set(statuses) <= {401, 429, 503}
    assert statuses.count(401) <= 10
    assert peak - before < 64
    assert sorted(waits)[int(len(waits) * 0.9)] < 0.1
