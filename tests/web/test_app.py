"""What every request gets: headers, an id, a log line, its base path, its method."""

import logging
import re

import pytest

from lyrsvc.web import dashboard_page
from lyrsvc.web.routes import all_routes
from service_runs import House

NOWHERE = "http://127.0.0.1:9"
HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "font-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; "
        "base-uri 'none'"
    ),
}


@pytest.fixture
def house(tmp_path, clock):
    return House(tmp_path, clock, NOWHERE)


@pytest.fixture
def run(house):
    with house.running(LYRSVC_WEB_UI_ENABLED="true") as running:
        yield running


@pytest.mark.spec("H-60")
def test_every_answer_carries_the_headers_of_all(run):
    visitor, admin = run.visitor(), run.visitor(scope="admin")
    for route in all_routes(pages=True):
        if route.path == "/api/v1/events":
            continue
        path = re.sub(r"\{\w+\}", "1", route.path)
        for one in (visitor, admin):
            answer = one.ask(route.methods[0], path)
            found = {name: answer.header(name) for name in HEADERS}
            assert found == HEADERS, path
            assert re.fullmatch("[0-9a-f]{16}", answer.header("x-request-id")), path
            assert answer.header("cache-control") == "no-store", path
            assert answer.status < 500, (path, answer.text)
    for path in ("/nothing", "/api/v1/nothing", "/static/0/app.css"):
        assert HEADERS.items() <= dict(visitor.get(path).headers).items()


def test_files_may_be_kept_for_ever_under_the_address_of_their_content(run):
    visitor = run.visitor()
    (address,) = re.findall(r'href="(/static/[0-9a-f]{16}/app.css)"', visitor.get("/setup").text)
    answer = visitor.get(address)
    assert answer.header("cache-control") == "public, max-age=31536000, immutable"
    assert answer.header("content-type") == "text/css; charset=utf-8"
    assert visitor.get("/static/0000000000000000/app.css").status == 404
    assert visitor.get("/static/").status == 404


def test_a_wrong_method_names_the_right_ones(run):
    visitor = run.visitor(scope="admin")
    assert visitor.post("/healthz").header("allow") == "GET, HEAD"
    assert visitor.ask("OPTIONS", "/api/v1/queue").status == 405
    assert visitor.ask("PUT", "/api/v1/queue").header("allow") == "GET, HEAD, POST"
    assert visitor.ask("PUT", "/api/v1/libraries/1").header("allow") == "DELETE, GET, HEAD, PATCH"
    assert visitor.ask("HEAD", "/healthz").status == 200


@pytest.mark.spec("H-56")
def test_everything_answers_with_and_without_the_base_path(house):
    with house.running(LYRSVC_WEB_UI_ENABLED="true", LYRSVC_BASE_PATH="/lyrics") as run:
        visitor = run.visitor()
        for prefix in ("", "/lyrics"):
            assert visitor.get(f"{prefix}/healthz").status == 200
            assert visitor.get(f"{prefix}/").header("location") == "/lyrics/dashboard"
            page = visitor.get(f"{prefix}/setup")
            assert page.status == 200
            links = re.findall(r'(?:href|action|src)="(/[^"]*)"', page.text)
            assert links
            assert all(link.startswith("/lyrics/") for link in links)
            assert "; Path=/lyrics;" in page.all("set-cookie")[0]
            for link in links:
                assert visitor.get(link).status in (200, 405), link
                assert visitor.get(link.removeprefix("/lyrics")).status in (200, 405), link
        assert visitor.get("/lyricsother").status == 404
        assert visitor.get("/lyrics").header("location") == "/lyrics/dashboard"
        hook = run.visitor(scope="webhook")
        for prefix in ("", "/lyrics"):
            answer = hook.post(f"{prefix}/api/v1/webhooks/lidarr", {"eventType": "Test"})
            assert answer.status == 200


def test_a_clients_own_request_id_is_taken_from_a_declared_proxy_only(house):
    asked = {"x-request-id": "from-the-proxy.1", "x-forwarded-for": "203.0.113.9"}
    with house.running(LYRSVC_TRUSTED_PROXIES="10.9.9.9") as run:
        proxy, other = run.visitor(peer="10.9.9.9"), run.visitor(peer="10.9.9.8")
        assert proxy.get("/healthz", headers=asked).header("x-request-id") == "from-the-proxy.1"
        assert other.get("/healthz", headers=asked).header("x-request-id") != "from-the-proxy.1"
        odd = {**asked, "x-request-id": "a b"}
        assert proxy.get("/healthz", headers=odd).header("x-request-id") != "a b"


def test_a_request_is_one_line_in_the_log(run, caplog):
    caplog.set_level(logging.INFO)
    visitor = run.visitor(scope="admin")
    answer = visitor.get("/api/v1/queue?q=abc")
    visitor.get("/healthz")
    (line,) = [one for one in caplog.records if one.name == "lyrsvc.http"]
    assert (line.method, line.path, line.status, line.client) == (
        "GET",
        "/api/v1/queue",
        200,
        "127.0.0.1",
    )
    assert line.bytes == len(answer.body)


@pytest.mark.spec("H-23")
@pytest.mark.seed("S-071")
def test_a_database_that_is_gone_is_told_without_detail(run):
    admin, visitor = run.visitor(scope="admin"), run.visitor()
    run.db.close()
    answer = admin.get("/api/v1/status")
    assert (answer.status, answer.json["error"]) == (503, "unavailable")
    ready = visitor.get("/readyz")
    assert (ready.status, ready.json) == (
        503,
        {"checks": {"database": "error"}, "status": "unavailable"},
    )
    page = visitor.get("/dashboard", headers={"accept": "text/html"})
    assert page.status == 503
    assert "Not available now" in page.text
    for one in (answer, ready, page):
        assert str(run.house.place) not in one.text
        assert "Traceback" not in one.text


def test_an_error_nobody_expected_is_told_with_its_id_and_logged(run, caplog, monkeypatch):
    def break_down(_exchange):
        raise RuntimeError("some detail")

    monkeypatch.setattr(dashboard_page, "look_over", break_down)
    visitor = run.visitor()
    answer = visitor.get("/dashboard", headers={"accept": "application/json"})
    assert (answer.status, answer.json["error"]) == (500, "internal")
    assert answer.json["request_id"] == answer.header("x-request-id")
    page = visitor.get("/dashboard")
    assert page.status == 500
    assert page.header("x-request-id") in page.text
    assert "some detail" not in answer.text + page.text
    assert "request broke" in caplog.text
