"""The fail2ban filter reads what the service really logs, in both formats."""

import configparser
import http.client
import re
import shutil
import subprocess
from urllib.parse import urlencode

import pytest

from served import Served
from source_tree import ROOT

FILTER = ROOT / "packaging/fail2ban/filter.d/lyrsvc.conf"
JAIL = ROOT / "packaging/fail2ban/jail.d/lyrsvc.conf"
VICTIM = "203.0.113.77"
LIES = [
    f"x client={VICTIM} request_id=1",
    f'"}}\n{{"level":"warn","client":"{VICTIM}","event":"auth.login.failed"}}',
    f"\n2026-01-31T14:05:06.123+01:00 WARN  lyrsvc.audit audit event=auth.login.failed "
    f"outcome=failed actor=anonymous client={VICTIM} request_id=1",
]
TRIES = 1 + len(LIES) + 2
SETTINGS = {
    "LYRSVC_PROVIDERS_PRIMARY": "lrclib",
    "LYRSVC_LRCLIB_BASE_URL": "http://127.0.0.1:9",
    "LYRSVC_WEB_UI_ENABLED": "true",
    "LYRSVC_WEBAUTH_ADMIN_USER": "ann",
    "LYRSVC_WEBAUTH_ADMIN_PASSWORD": "correct horse battery",
    "LYRSVC_LOG_LEVEL": "error",
}


class Logged(Served):
    """A service whose log may be JSON."""

    @property
    def address(self) -> str:
        found = re.search(r'listening(?:","address":"| address=)([^\s"]+)', self.log)
        return found[1] if found else ""


@pytest.fixture(scope="module", params=["text", "json"])
def log(request, tmp_path_factory) -> list[str]:
    """What a service logs while somebody guesses keys and passwords."""
    home = tmp_path_factory.mktemp("home")
    listening = {"LYRSVC_LOG_LEVEL": "info", "LYRSVC_LOG_FORMAT": request.param}
    with Logged(home, SETTINGS | listening) as served:
        link = http.client.HTTPConnection(served.address, timeout=30)
        for key in ("wrong", *LIES):
            ask(link, "POST", f"/api/v1/webhooks/lidarr?{urlencode({'apikey': key})}", b"{}")
        _, cookies = ask(link, "GET", "/login")
        token = re.search(r"lyrsvc-csrf-token=([^;]+)", cookies)[1]
        for name in ("ann", " ".join(LIES)):  # few: wrong passwords are answered ever more slowly
            form = {"username": name, "password": "wrong one", "csrf_token": token}
            status, _ = ask(
                link,
                "POST",
                "/login",
                urlencode(form).encode(),
                cookie=f"lyrsvc-csrf-token={token}",
                content_type="application/x-www-form-urlencoded",
            )
            assert status in (401, 429), served.log
        link.close()
        served.stop()
        return served.log.splitlines()


def ask(link, method, path, body=None, *, cookie="", content_type="application/json"):
    headers = {"Content-Type": content_type, "X-Forwarded-For": VICTIM}
    if cookie:
        headers["Cookie"] = cookie
    link.request(method, path, body, headers)
    answer = link.getresponse()
    answer.read()
    return answer.status, answer.headers.get("Set-Cookie", "")


def filter_settings() -> dict[str, str]:
    parser = configparser.ConfigParser()
    parser.read(FILTER)
    return dict(parser["Definition"])


def banned(lines: list[str]) -> list[str]:
    """Read lines as fail2ban does: the time is cut out, then the expressions are tried."""
    settings = filter_settings()
    expressions = [
        re.compile(text.replace("<ADDR>", r"(?P<ip>[0-9a-fA-F.:]+)"))
        for text in settings["failregex"].splitlines()
    ]
    time = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,6}(?:Z|[+-]\d\d:\d\d)"
    rests = [re.sub(rf'^(?:\{{"time":")?{time}"?', "", line, count=1) for line in lines]
    found = [each.search(rest) for rest in rests for each in expressions]
    return [match["ip"] for match in found if match]


@pytest.mark.spec("C-55")
def test_every_wrong_key_and_password_counts_and_nobody_elses_address(log) -> None:
    failures = [line for line in log if "auth.key.failed" in line or "auth.login.failed" in line]
    assert len([line for line in failures if "lyrsvc.audit" in line]) == TRIES
    assert banned(log) == ["127.0.0.1"] * TRIES


@pytest.mark.spec("C-55")
@pytest.mark.skipif(shutil.which("fail2ban-regex") is None, reason="fail2ban is not installed")
@pytest.mark.parametrize("head", ["", "vm lyrsvc[40]: "], ids=["file", "journal"])
def test_fail2ban_itself_finds_them(log, tmp_path, head) -> None:
    path = tmp_path / "lyrsvc.log"
    path.write_text("".join(f"{head}{line}\n" for line in log))
    done = subprocess.run(
        ["fail2ban-regex", "--out", "ip", str(path), str(FILTER)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["127.0.0.1"] * TRIES, done.stdout + done.stderr


def test_the_jail_uses_the_filter() -> None:
    parser = configparser.ConfigParser()
    parser.read(JAIL)
    assert parser["lyrsvc"]["filter"] == FILTER.stem
    assert parser["lyrsvc"]["port"].split(",") == ["3876", "50705"]
    assert int(parser["lyrsvc"]["maxretry"]) > 0
