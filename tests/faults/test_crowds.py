"""Crowds at the door: slow talkers, and strangers who guess keys and passwords.

They cannot take the service away from its owner, nor more of the machine than they are allowed.
"""

import json
import threading
import time
import urllib.error
import urllib.request
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import urlencode

import pytest

from faults.hooked import HOOK, KEY
from raw_http import HOST, Client

GUESSES, GUESSERS = 10_000, 8
TEST = {"eventType": "Test"}


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def memory_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    (line,) = [one for one in status.splitlines() if one.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


def head(key: str, size: int) -> bytes:
    return (
        f"POST {HOOK} HTTP/1.1\r\nX-Api-Key: {key}\r\nContent-Length: {size}\r\n".encode()
        + HOST
        + b"\r\n"
    )


def test_webhooks_are_answered_while_64_slow_talkers_hold_their_connections(grounds):
    grounds.add_library()
    songs = [grounds.record(f"Crowded {number} Quay") for number in range(20)]
    with grounds.serve() as served:
        slow = [Client(served.port) for _ in range(64)]
        for number, client in enumerate(slow):
            # A third never ends its head, a third its body; the rest has a wrong key besides.
            kinds = (b"POST / HTTP/1.1\r\nX: ", head(KEY, 1000) + b"{", head("wrong", 1000) + b"{")
            client.say(kinds[number % 3])
        for song in songs:
            for client in slow[:2]:
                client.say(b" ")
            assert served.send(grounds.announce(song)) == 200
        for client in slow:
            client.socket.close()
        assert served.send(TEST) == 200
        assert served.stop() == 0
    assert len(grounds.items()) == len(songs)
    assert "Traceback" not in served.log


@pytest.mark.spec("H-22")
def test_ten_thousand_wrong_keys_cost_little_and_the_right_one_is_answered_meanwhile(grounds):
    body = json.dumps(TEST).encode()
    with grounds.serve() as served:
        assert served.send(TEST) == 200
        statuses: list[int] = []

        def guess(name: int) -> None:
            with Client(served.port) as client:
                for number in range(GUESSES // GUESSERS):
                    client.say(head(f"lyrsvc_{name:032x}{number:032x}", len(body)) + body)
                    statuses.append(client.hear().status)

        before, spent = memory_mib(served.pid), cpu_seconds(served.pid)
        size = grounds.database.stat().st_size
        guessers = [threading.Thread(target=guess, args=(name,)) for name in range(GUESSERS)]
        for one in guessers:
            one.start()
        rights: list[float] = []
        while any(one.is_alive() for one in guessers):
            begun = time.monotonic()
            assert served.send(TEST) == 200
            rights.append(time.monotonic() - begun)
            time.sleep(0.1)
        used = cpu_seconds(served.pid) - spent
        growth = memory_mib(served.pid) - before
        assert served.stop() == 0
    assert (len(statuses), set(statuses)) == (GUESSES, {401})
    assert len(rights) > 3
    assert sorted(rights)[len(rights) // 2] < 0.25
    assert growth < 32, growth
    assert used / GUESSES * 200 < 0.9, used  # of one core, at 200 a second
    assert grounds.database.stat().st_size - size < 1024 * 1024
    assert grounds.rows("SELECT * FROM audit_log") == []
    assert served.log.count("auth.key.failed") < GUESSES / 10


@pytest.fixture
def doorkeeper(grounds):
    environ = {
        "LYRSVC_WEB_UI_ENABLED": "true",
        "LYRSVC_WEBAUTH_ADMIN_USER": "ann",
        "LYRSVC_WEBAUTH_ADMIN_PASSWORD": "correct horse battery",
        "LYRSVC_TRUSTED_UI_ACCESS": "off",
    }
    with grounds.serve(**environ) as served:
        yield served


def ask(served, path, *, data=None, headers=None):
    call = urllib.request.Request(
        f"http://{served.address}{path}", data=data, headers=headers or {}
    )
    begun = time.monotonic()
    try:
        with urllib.request.urlopen(call, timeout=60) as answer:
            return answer.status, answer.headers, time.monotonic() - begun
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.headers, time.monotonic() - begun


@pytest.mark.spec("H-34")
def test_two_hundred_wrong_sign_ins_at_once_cost_little(doorkeeper):
    served = doorkeeper
    _, headers, _ = ask(served, "/login")
    value = SimpleCookie(headers["set-cookie"])["lyrsvc-csrf-token"].value
    ask(served, "/login", data=b"", headers={})
    before, spent, statuses = memory_mib(served.pid), cpu_seconds(served.pid), []

    def post():
        form = urlencode({"username": "ann", "password": "wrong", "csrf_token": value}).encode()
        sent = {
            "Cookie": f"lyrsvc-csrf-token={value}",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        statuses.append(ask(served, "/login", data=form, headers=sent)[0])

    threads = [threading.Thread(target=post) for _ in range(200)]
    for thread in threads:
        thread.start()
    waits, peak = [], before
    while any(thread.is_alive() for thread in threads):
        waits.append(ask(served, "/healthz")[2])
        peak = max(peak, memory_mib(served.pid))
        time.sleep(0.05)
    used = cpu_seconds(served.pid) - spent
    assert len(statuses) == 200
    assert set(statuses) <= {401, 429, 503}
    assert statuses.count(401) <= 10
    assert peak - before < 64
    assert sorted(waits)[int(len(waits) * 0.9)] < 0.1
    assert used < 15
