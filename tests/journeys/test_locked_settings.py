"""Settings that a flag or a variable holds, on the page of the running program."""

from http.cookiejar import CookieJar
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, Request, build_opener

import pytest

from plain_browser import Page
from served import Served
from web_face import Answer

CSRF = "lyrsvc-csrf-token"


class Browser:
    """Somebody on this machine, with cookies."""

    def __init__(self, address: str) -> None:
        self.jar = CookieJar()
        self.base = f"http://{address}"
        self._opener = build_opener(HTTPCookieProcessor(self.jar))

    def ask(self, path: str, fields: dict[str, str] | None = None) -> tuple[int, str]:
        headers = {"Origin": self.base}
        if fields is not None:
            fields = {**fields, "csrf_token": self.csrf}
        data = urlencode(fields).encode() if fields else None
        request = Request(f"{self.base}{path}", data=data, headers=headers)
        try:
            with self._opener.open(request, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as refusal:
            with refusal:
                return refusal.code, refusal.read().decode()

    @property
    def csrf(self) -> str:
        return next(cookie.value or "" for cookie in self.jar if cookie.name == CSRF)


@pytest.mark.seed("S-081")
@pytest.mark.spec("C-21")
def test_what_a_flag_or_a_variable_sets_is_locked_with_its_source(tmp_path) -> None:
    config = tmp_path / ".config" / "lyrsvcgo-svc" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('# mine\n[logging]\nlevel = "error"\n')
    before = config.read_bytes()
    environ = {
        "LYRSVC_WEB_UI_ENABLED": "true",
        "LYRSVC_PROVIDER_PRIMARY": "lrclib",
        "LYRSVC_LOG_LEVEL": "info",
    }
    with Served(tmp_path, environ) as served:
        visit = Browser(served.address)
        status, text = visit.ask("/settings")
        assert status == 200
        page = Page(Answer(status, (), text.encode()))
        assert "Locked by flag --listen" in page.text_of("setting-server-addr")
        level = page.text_of("setting-logging-level")
        assert "Locked by environment variable LYRSVC_LOG_LEVEL" in level
        for path, value in (("server.addr", "127.0.0.1:4000"), ("logging.level", "debug")):
            fields = {"path": path, "value": value, "confirm": "yes"}
            status, answer = visit.ask("/settings/field", fields)
            assert status == 409, answer
            assert "Not saved" in answer
        assert served.stop() == 0
    assert config.read_bytes() == before
