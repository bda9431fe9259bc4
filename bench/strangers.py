"""What strangers cost who guess keys and passwords, and what the owner notices of it.

python bench/strangers.py [--only WORD]

The real program in a process of its own, on loopback.
"""

import argparse
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import urlencode

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from _load import hammer, request, stream
from _lyrics_server import lyrics_server
from _meter import memory_mib, metered, percentile, processor_s
from _running import LIMIT_S, running
from _script import run_script, say
from _table import Bar, Row
from served import Served

PASSWORD = "correct horse battery"  # the bench's own


def measure(options: argparse.Namespace) -> Iterator[Row]:
    """Let them come, each kind with a fresh state."""
    for act in (guessed_keys, guessed_passwords):
        if options.only in act.__name__:
            say(act.__name__.replace("_", " "))
            with tempfile.TemporaryDirectory() as place:
                yield from act(Path(place))


def guessed_keys(home: Path) -> Iterator[Row]:
    """Answer a right key while 200 wrong ones a second come."""
    with lyrics_server(1) as upstream, running(home, upstream, pace_s=0) as (served, key):
        body = b'{"eventType": "Test"}'
        path = "/api/v1/webhooks/lidarr"
        wrong = request("POST", path, key="lyrsvc_" + "0" * 64, body=body)
        right = request("POST", path, key=key, body=body)
        pid, times = served._process.pid, []
        before_s = processor_s(pid)

        def guess() -> None:
            stream(served.address, lambda _: wrong, rate=200, seconds=10, connections=16)

        guesser = threading.Thread(target=guess)
        with metered() as spent:
            guesser.start()
            while guesser.is_alive():
                taken = hammer(served.address, lambda _: right, count=1, connections=1)
                assert taken.statuses == {200: 1}, taken.statuses
                times += taken.times
                time.sleep(0.05)
        used = (processor_s(pid) - before_s) / spent.wall_s
    yield Row(
        work="right key while 200 wrong keys a second come, p99",
        figure=percentile(times, 0.99) * 1000,
        unit="ms",
        bar=Bar(limit=250),
        stolen=spent.stolen,
        note=f"median {percentile(times, 0.5) * 1000:.1f} ms of {len(times)}",
    )
    yield Row(
        work="use of a core while 200 wrong keys a second come",
        figure=used * 100,
        unit="%",
        bar=Bar(limit=90),
        stolen=spent.stolen,
    )


def guessed_passwords(home: Path) -> Iterator[Row]:
    """Take 50 wrong passwords at once."""
    environ = {
        "LYRSVC_WEBAUTH_ADMIN_USER": "ann",
        "LYRSVC_WEBAUTH_ADMIN_PASSWORD": PASSWORD,
        "LYRSVC_TRUSTED_UI_ACCESS": "off",
    }
    with lyrics_server(1) as upstream, running(home, upstream, pace_s=0, **environ) as (served, _):
        pid = served._process.pid
        token = csrf(served)
        before, peak, waits = memory_mib(pid), 0.0, []
        threads = [
            threading.Thread(target=post_login, args=(served, token), daemon=True)
            for _ in range(50)
        ]
        asked = request("GET", "/healthz")
        with metered() as spent:
            for thread in threads:
                thread.start()
            while any(thread.is_alive() for thread in threads):
                waits += hammer(served.address, lambda _: asked, count=1, connections=1).times
                peak = max(peak, memory_mib(pid))
                time.sleep(0.02)
    yield Row(
        work="memory taken by 50 wrong passwords at once",
        figure=max(0.0, peak - before),
        unit="MiB",
        peer="held before",
        peer_figure=before,
        bar=Bar(limit=64),
    )
    yield Row(
        work="/healthz while 50 wrong passwords are looked at, p90",
        figure=percentile(waits, 0.9) * 1000,
        unit="ms",
        bar=Bar(limit=100),
        stolen=spent.stolen,
        note=f"worst {max(waits) * 1000:.0f} ms of {len(waits)}",
    )


def csrf(served: Served) -> str:
    """Take the token a form must carry."""
    with urllib.request.urlopen(f"http://{served.address}/login", timeout=LIMIT_S) as answer:
        return SimpleCookie(answer.headers["set-cookie"])["lyrsvc-csrf-token"].value


def post_login(served: Served, token: str) -> None:
    """Try a wrong password."""
    form = urlencode({"username": "ann", "password": "wrong", "csrf_token": token}).encode()
    headers = {
        "Cookie": f"lyrsvc-csrf-token={token}",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    call = urllib.request.Request(f"http://{served.address}/login", data=form, headers=headers)
    try:
        urllib.request.urlopen(call, timeout=LIMIT_S).close()
    except urllib.error.HTTPError as refusal:
        refusal.close()


def add_options(parser: argparse.ArgumentParser) -> None:
    """Take which kind to measure."""
    parser.add_argument("--only", default="", metavar="WORD")


if __name__ == "__main__":
    sys.exit(run_script(__doc__, measure, add_options))
