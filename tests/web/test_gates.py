"""Who may pass: keys and their carriers, network trust, sessions, forms of our own."""

import logging
import os
import re

import pytest

from lyrsvc.web import answering
from lyrsvc.web.answering import Switchboard
from lyrsvc.web.route import Room
from lyrsvc.web.routes import all_routes
from service_runs import House
from web_face import basic

NOWHERE = "http://127.0.0.1:9"
STATUS = "/api/v1/status"
HOOK = "/api/v1/webhooks/lidarr"
TEST_EVENT = {"eventType": "Test"}
STRANGER = "203.0.113.9"
GOOD = "correct horse battery"


@pytest.fixture
def house(tmp_path, clock):
    return House(tmp_path, clock, NOWHERE)


@pytest.fixture
def run(house):
    with house.running(LYRSVC_WEB_UI_ENABLED="true") as running:
        yield running


def with_admin(run, name="Ann", **more):
    """Give a visitor who has set the service up and is signed in."""
    visitor = run.visitor(**more)
    visitor.get("/setup")
    answer = visitor.submit(
        "/setup", {"username": name, "password": GOOD, "confirm": GOOD, **csrf(visitor)}
    )
    assert (answer.status, answer.header("location")) == (303, "/dashboard"), answer.text
    return visitor


def csrf(visitor):
    return {"csrf_token": visitor.cookies.get("lyrsvc-csrf-token", "")}


def page_routes():
    """Give the rows of the table that are there only with the pages."""
    without = {route.path for route in all_routes(pages=False)}
    return [route for route in all_routes(pages=True) if route.path not in without]


def _filled(path):
    """Put something in the place of every part that varies."""
    return re.sub(r"\{[^}]*\}", "1", path)


# Keys


@pytest.mark.spec("H-19")
@pytest.mark.seed("S-075", "S-100")
@pytest.mark.parametrize(
    "carry",
    [
        lambda key: (f"{HOOK}?apikey={key}", {}),
        lambda key: (f"{HOOK}?apikey=&apikey=%20{key}%20", {}),
        lambda key: (HOOK, {"authorization": f"bearer {key}"}),
        lambda key: (HOOK, {"authorization": f"Bearer   {key} "}),
        lambda key: (HOOK, {"x-api-key": key}),
        lambda key: (HOOK, basic("", key)),
        lambda key: (HOOK, basic("lidarr", key)),
        lambda key: (HOOK, basic(key, "")),
    ],
)
@pytest.mark.parametrize("scope", ["webhook", "admin"])
def test_a_key_is_found_wherever_it_is_carried(run, carry, scope):
    visitor = run.visitor(scope=scope)
    path, headers = carry(visitor.key)
    visitor.key = ""
    answer = visitor.post(path, TEST_EVENT, headers=headers)
    assert answer.json == {"event": "Test", "status": "ok"}


@pytest.mark.seed("S-075")
@pytest.mark.spec("H-19")
def test_a_wrong_key_in_an_earlier_place_is_final(run):
    visitor = run.visitor(scope="webhook")
    assert visitor.post(f"{HOOK}?apikey=wrong", TEST_EVENT).status == 401
    wrong = {"authorization": "Bearer wrong", "x-api-key": visitor.key}
    assert visitor.post(HOOK, TEST_EVENT, headers=wrong).status == 401


@pytest.mark.spec("H-19")
@pytest.mark.seed("S-101")
def test_a_revoked_key_opens_nothing_and_says_no_more_than_an_unknown_one(run):
    visitor = run.visitor(scope="webhook")
    unknown = run.visitor()
    unknown.key = "lyrsvc_" + "0" * 64
    run.service.access.keyring.revoke(run.service.access.keyring.listing()[0].public_id)

    refusals = [one.post(HOOK, TEST_EVENT) for one in (visitor, unknown)]

    assert [one.status for one in refusals] == [401, 401]
    assert refusals[0].body == refusals[1].body
    assert refusals[0].header("www-authenticate") == 'Bearer realm="lyrsvc"'


@pytest.mark.spec("H-19")
@pytest.mark.seed("S-100")
def test_webhook_and_static_keys_do_not_open_the_status(house):
    with house.running(LYRSVC_WEBHOOK_API_KEY="my-own-static-key") as run:
        managed, static = run.visitor(scope="webhook"), run.visitor()
        static.key = "my-own-static-key"
        assert static.post(HOOK, TEST_EVENT).status == 200
        for one in (managed, static):
            refusal = one.get(STATUS)
            assert refusal.status == 403
            assert refusal.json["required_scope"] == "admin"
    with house.running() as run:
        static = run.visitor()
        static.key = "my-own-static-key"
        assert static.post(HOOK, TEST_EVENT).status == 401


@pytest.mark.spec("H-19")
def test_no_line_of_the_log_shows_a_key(run, caplog):
    caplog.set_level(logging.DEBUG)
    visitor = run.visitor(scope="webhook")
    visitor.post(f"{HOOK}?ApiKey={visitor.key}&apikey={visitor.key}", TEST_EVENT)
    visitor.get(STATUS)
    visitor.post(f"{HOOK}?apikey=some-wrong-key", TEST_EVENT)
    assert visitor.key not in caplog.text
    assert "some-wrong-key" not in caplog.text


def test_basic_credentials_never_authorise_a_write_of_the_api(run):
    visitor = run.visitor(scope="admin")
    headers = basic("me", visitor.key)
    visitor.key = ""
    assert visitor.get("/api/v1/queue", headers=headers).status == 200
    assert visitor.post("/api/v1/queue/retry", {"all": True}, headers=headers).status == 401


def test_the_password_of_a_proxy_is_no_wrong_key_of_somebody_who_looks_at_pages(run, caplog):
    signed_in, trusted = with_admin(run, peer=STRANGER), run.visitor()
    trusted.get("/dashboard")
    caplog.clear()
    proxied = basic("me", "the password of the proxy")
    for visitor in (signed_in, trusted):
        assert visitor.get("/api/v1/badges", headers=proxied).status == 200
    assert not caplog.records  # nothing that fail2ban could take for an intruder
    assert signed_in.get("/api/v1/badges?apikey=wrong", headers=proxied).status == 401
    assert signed_in.get("/api/v1/badges", headers={"x-api-key": "wrong"}).status == 401
    assert run.visitor().get("/api/v1/badges", headers=proxied).status == 401
    assert len(caplog.records) == 3


@pytest.mark.spec("H-24")
@pytest.mark.seed("S-072")
def test_neither_loopback_nor_a_session_stands_in_for_the_key_of_the_status(run):
    visitor = with_admin(run)
    assert visitor.get(STATUS).status == 401
    assert run.visitor().get(STATUS).status == 401
    assert run.visitor(scope="admin").get(STATUS).json == {"queue": {}, "status": "ok"}


@pytest.mark.spec("H-20")
@pytest.mark.parametrize("is_whole", [False, True])
def test_a_wrong_key_is_refused_before_the_body_is_looked_at(run, is_whole):
    visitor = run.visitor(is_whole=is_whole)
    visitor.key = "wrong"
    assert visitor.post(HOOK, b"x" * 1048577).status == 401
    assert visitor.post(HOOK, b"x", headers={"content-encoding": "gzip"}).status == 401
    admin_only = run.visitor(scope="webhook", is_whole=is_whole)
    assert admin_only.post("/api/v1/queue/retry", b"x" * 1048577).status == 403
    known = run.visitor(scope="webhook", is_whole=is_whole)
    refusal = known.post(HOOK, b" " * 1048577)
    assert refusal.status == 413
    assert refusal.json["limit"] == 1048576
    assert refusal.header("connection") == "close"


@pytest.mark.parametrize("is_whole", [False, True])
def test_a_packed_body_is_refused(run, is_whole):
    visitor = run.visitor(scope="webhook", is_whole=is_whole)
    assert visitor.post(HOOK, b"x", headers={"content-encoding": "gzip"}).status == 415
    assert visitor.post(HOOK, TEST_EVENT).json == {"event": "Test", "status": "ok"}


def test_a_request_that_is_here_whole_takes_one_thread_and_one_turn(run, monkeypatch):
    turns = []
    real = Switchboard._run

    async def counted(self, room, work, *args):
        turns.append(room)
        return await real(self, room, work, *args)

    monkeypatch.setattr(Switchboard, "_run", counted)
    run.visitor(scope="webhook", is_whole=True).post(HOOK, TEST_EVENT)
    run.visitor(scope="admin").get(STATUS)
    assert len(turns) == 2
    run.visitor(scope="webhook").post(HOOK, TEST_EVENT)
    assert len(turns) == 4  # its gate does not wait for a body that is still to come


def test_only_reports_leave_the_processor_to_others(run, monkeypatch):
    seen = {}
    real = answering._handle

    def looked_at(route, exchange):
        seen[route.room] = os.nice(0) - here
        return real(route, exchange)

    here = os.nice(0)
    monkeypatch.setattr(answering, "_handle", looked_at)
    admin = run.visitor(scope="admin")
    assert admin.get("/api/v1/reports/recent-outcomes").status == 200
    assert admin.get(STATUS).status == 200
    assert run.visitor(scope="webhook").post(HOOK, TEST_EVENT).status == 200
    assert seen == {
        Room.REPORT: min(answering.REPORT_NICENESS, 19 - here),  # there is nothing above 19
        Room.ORDINARY: 0,
        Room.WEBHOOK: 0,
    }
    assert os.nice(0) == here


# Metrics


@pytest.mark.spec("H-28")
@pytest.mark.seed("S-074")
@pytest.mark.parametrize("forged", [{}, {"x-forwarded-for": "127.0.0.1"}])
def test_metrics_are_for_trusted_networks_or_an_admin_key(run, forged):
    stranger = run.visitor(peer=STRANGER, headers=forged)
    assert stranger.get("/metrics").status == 403
    stranger.key = "wrong"
    assert stranger.get("/metrics").status == 401
    assert run.visitor(scope="webhook", peer=STRANGER, headers=forged).get("/metrics").status == 403
    assert run.visitor(scope="admin", peer=STRANGER, headers=forged).get("/metrics").status == 200


@pytest.mark.spec("H-31")
def test_a_forwarding_header_on_loopback_costs_the_pages_but_not_the_metrics(run):
    with_admin(run)
    passed_on = run.visitor(headers={"x-real-ip": "10.1.1.1"})
    assert passed_on.get("/dashboard").header("location") == "/login?next=/dashboard"
    assert passed_on.get("/metrics").status == 200
    assert "proxy_not_declared" in run.service.marks


@pytest.mark.spec("H-31")
def test_a_foreign_host_name_is_not_trusted_until_it_is_allowed(house):
    with house.running(LYRSVC_WEB_UI_ENABLED="true") as run:
        with_admin(run)
        assert run.visitor(host="evil.example").get("/dashboard").status == 303
    with house.running(LYRSVC_WEB_UI_ENABLED="true", LYRSVC_ALLOWED_HOSTS="evil.example") as run:
        assert run.visitor(host="evil.example").get("/dashboard").status == 200


@pytest.mark.parametrize(("access", "page_is_told"), [("full", True), ("off", False)])
def test_a_trusted_network_that_only_a_host_name_keeps_out_is_told_in_the_log(
    house, caplog, access, page_is_told
):
    def rejected():
        noted = [line.fields for line in caplog.records if line.name == "lyrsvc.audit"]
        return [(one["path"], one["host"]) for one in noted if one["event"] == "auth.host.rejected"]

    near, far = "192.168.1.9", "nas.lan:3876"
    with house.running(
        LYRSVC_WEB_UI_ENABLED="true",
        LYRSVC_TRUSTED_UI_ACCESS=access,
        LYRSVC_TRUSTED_CIDRS="192.168.1.0/24",
    ) as run:
        signed_in = with_admin(run, peer=near, host=far)
        for visitor in (signed_in, run.visitor(peer=STRANGER, host=far), run.visitor(peer=near)):
            visitor.get("/dashboard")
        assert rejected() == []
        run.visitor(peer=near, host=far).get("/dashboard")
        assert rejected() == [("/dashboard", far)] * page_is_told
        assert run.visitor(peer=near, host=far).get("/metrics").status == 403
        assert rejected()[page_is_told:] == [("/metrics", far)]
        assert run.rows("SELECT id FROM audit_log WHERE event = 'auth.host.rejected'") == []


@pytest.mark.spec("H-32")
@pytest.mark.parametrize(
    ("access", "page", "write"), [("full", 200, 303), ("read", 200, 401), ("off", 303, 303)]
)
def test_what_a_trusted_network_may_do_is_the_operators_choice(house, access, page, write):
    with house.running(LYRSVC_WEB_UI_ENABLED="true", LYRSVC_TRUSTED_UI_ACCESS=access) as run:
        with_admin(run)
        visitor = run.visitor()
        assert visitor.get("/dashboard").status == page
        visitor.get("/login")
        answer = visitor.submit("/logout", csrf(visitor))
        assert answer.status == write
        if access == "off":
            assert answer.header("location").startswith("/login?next=")


@pytest.mark.spec("H-32")
def test_the_api_answers_a_trusted_network_only_after_a_page_was_loaded(run):
    with_admin(run)
    visitor = run.visitor()
    assert visitor.get("/api/v1/queue").status == 401
    visitor.get("/dashboard")
    assert visitor.get("/api/v1/queue").status == 200
    assert visitor.post("/api/v1/queue/retry", {"all": True}).status == 403
    header = {"x-csrf-token": visitor.cookies["lyrsvc-csrf-token"]}
    assert visitor.post("/api/v1/queue/retry", {"all": True}, headers=header).status == 200


# Forms


@pytest.mark.spec("H-39")
@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"origin": "https://evil.example"}, "cross_origin"),
        ({"origin": "null"}, "cross_origin"),
        ({"referer": "https://evil.example/form"}, "cross_origin"),
        ({"sec-fetch-site": "cross-site"}, "cross_origin"),
        ({"sec-fetch-site": "same-site"}, "cross_origin"),
        ({"origin": "http://localhost:9999"}, "cross_origin"),
    ],
)
def test_a_write_that_another_site_makes_the_browser_send_is_refused(run, headers, code):
    visitor = with_admin(run)
    json = {"accept": "application/json", **headers}
    answer = visitor.submit("/theme", {"theme": "dark", **csrf(visitor)}, headers=json)
    assert (answer.status, answer.json["error"]) == (403, code)
    assert answer.all("set-cookie") == []


@pytest.mark.spec("H-39")
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "http://localhost:3876"},
        {"origin": "http://LOCALHOST:3876"},
        {"referer": "http://localhost:3876/dashboard"},
        {"sec-fetch-site": "same-origin", "origin": "null"},
        {"sec-fetch-site": "none"},
    ],
)
def test_a_write_from_our_own_page_passes(run, headers):
    visitor = with_admin(run)
    answer = visitor.submit("/theme", {"theme": "dark", **csrf(visitor)}, headers=headers)
    assert answer.status == 303
    assert visitor.cookies["lyrsvc-theme"] == "dark"


@pytest.mark.parametrize(
    ("headers", "names_the_proxy"),
    [
        ({"origin": "http://nas.lan"}, True),
        ({"referer": "http://nas.lan/login"}, True),
        ({"sec-fetch-site": "cross-site", "origin": "http://nas.lan"}, False),
    ],
)
def test_whoever_is_cut_off_by_a_proxy_that_hides_the_host_is_told_so(
    run, headers, names_the_proxy
):
    visitor = with_admin(run, host="127.0.0.1:3876")
    answer = visitor.submit("/theme", {"theme": "dark", **csrf(visitor)}, headers=headers)
    assert (answer.status, "This request does not come from" in answer.text) == (403, True)
    assert ("a proxy in between does not pass on the Host" in answer.text) == names_the_proxy


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("nas.lan:80", "http://nas.lan", 303),
        ("nas.lan:443", "https://nas.lan", 303),
        ("[fd00::1]:80", "http://[fd00::1]", 303),
        ("nas.lan:80", "https://nas.lan", 403),
        ("nas.lan:8080", "http://nas.lan", 403),
        ("nas.lan:", "null", 403),
    ],
)
def test_a_proxy_may_write_the_port_that_a_browser_leaves_out(run, host, origin, status):
    visitor = with_admin(run, host=host)
    fields = {"theme": "dark", **csrf(visitor)}
    assert visitor.submit("/theme", fields, headers={"origin": origin}).status == status


@pytest.mark.parametrize(("path", "page"), [("/queue", "/queue"), ("/settings/field", "/settings")])
def test_a_form_that_is_out_of_date_leads_back_to_its_page(run, path, page):
    answer = with_admin(run).submit(path, {"action": "retry"})

    assert answer.status == 403
    assert f'href="{page}">Load the page again</a>' in answer.text


@pytest.mark.spec("H-39")
def test_a_write_needs_the_value_of_our_own_form(run):
    visitor = with_admin(run)
    value = visitor.cookies["lyrsvc-csrf-token"]
    json = {"accept": "application/json"}
    without = dict(visitor.cookies)

    assert visitor.submit("/theme", {"theme": "dark"}, headers=json).json["error"] == "csrf"
    wrong = {"theme": "dark", "csrf_token": value[:-1] + ("0" if value[-1] != "0" else "1")}
    assert visitor.submit("/theme", wrong, headers=json).status == 403
    only_query = visitor.submit(f"/theme?csrf_token={value}", {"theme": "dark"}, headers=json)
    assert only_query.status == 403
    visitor.cookies = {"lyrsvc_session": without["lyrsvc_session"]}
    assert (
        visitor.submit("/theme", {"theme": "dark", "csrf_token": value}, headers=json).status == 403
    )
    forged = "0" * 32 + "." + "0" * 64
    visitor.cookies = {**without, "lyrsvc-csrf-token": forged}
    assert (
        visitor.submit("/theme", {"theme": "dark", "csrf_token": forged}, headers=json).status
        == 403
    )


@pytest.mark.seed("S-083")
def test_no_page_takes_a_form_that_is_posted_directly(run):
    written = [route.path for route in page_routes() if "POST" in route.methods]
    assert {"/queue", "/libraries", "/settings/field", "/settings/keys"} < set(written)
    signed_in = with_admin(run)
    values = ({}, {"csrf_token": ""}, {"csrf_token": "0" * 32 + "." + "0" * 64})
    before = run.rows("SELECT * FROM sessions"), run.rows("SELECT * FROM api_keys")

    for path in written:
        for visitor in (signed_in, run.visitor()):
            got = [visitor.submit(_filled(path), {"name": "x", **one}).status for one in values]
            is_account = path.startswith("/settings/account") and visitor is not signed_in
            assert got == ([303] * 3 if is_account else [403] * 3), path  # 303: sign in first

    assert before == (run.rows("SELECT * FROM sessions"), run.rows("SELECT * FROM api_keys"))


@pytest.mark.spec("H-40")
def test_two_tabs_and_a_long_open_one_stay_good_and_signing_in_changes_the_value(run, clock):
    from datetime import timedelta

    visitor = with_admin(run)
    first = visitor.cookies["lyrsvc-csrf-token"]
    visitor.get("/dashboard")
    visitor.get("/nothing")
    assert visitor.cookies["lyrsvc-csrf-token"] == first
    clock.moment += timedelta(hours=6)
    assert visitor.submit("/theme", {"theme": "dark", "csrf_token": first}).status == 303
    visitor.submit("/logout", {"csrf_token": first})
    visitor.get("/login")
    visitor.submit("/login", {"username": "ann", "password": GOOD, **csrf(visitor)})
    json = {"accept": "application/json"}
    assert (
        visitor.submit("/theme", {"theme": "light", "csrf_token": first}, headers=json).status
        == 403
    )
    assert visitor.submit("/theme", {"theme": "light", **csrf(visitor)}).status == 303


@pytest.mark.spec("H-41")
def test_an_expired_session_gets_401_in_scripts_and_the_form_in_browsers(run, clock):
    from datetime import timedelta

    visitor = with_admin(run, peer=STRANGER)
    fields = csrf(visitor)
    clock.moment += timedelta(days=7, seconds=1)
    scripted = visitor.submit("/logout", fields, headers={"x-requested-with": "lyrsvc"})
    assert (scripted.status, scripted.json["error"]) == (401, "unauthorized")
    answer = visitor.submit("/logout", fields)
    assert (answer.status, answer.header("location")) == (303, "/login?next=/dashboard")


@pytest.mark.spec("H-42")
@pytest.mark.seed("S-076")
def test_with_the_pages_off_they_do_not_exist_and_sessions_count_for_nothing(house):
    with house.running(LYRSVC_WEB_UI_ENABLED="true") as run:
        visitor = with_admin(run)
        cookies = dict(visitor.cookies)
    with house.running() as run:
        visitor = run.visitor(cookies=cookies)
        paths = (
            "/",
            "/dashboard",
            "/login",
            "/setup",
            "/settings",
            "/reports",
            "/static/x/app.css",
        )
        assert {visitor.get(path).status for path in paths} == {404}
        for route in page_routes():
            ask = visitor.get if "GET" in route.methods else visitor.submit
            assert ask(_filled(route.path)).status == 404, route.path
        assert visitor.submit("/login", {}).status == 404
        assert visitor.get("/api/v1/queue").status == 401
        assert run.visitor(scope="admin").get("/api/v1/queue").status == 200
        assert run.visitor(scope="webhook").post(HOOK, TEST_EVENT).status == 200
        assert visitor.get("/metrics").status == 200
