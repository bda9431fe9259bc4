"""The page of API keys, as a browser without script sees it."""

import re

import pytest

from lyrsvc.core.scope import Scope
from lyrsvc.security.key_minting import digest_of
from lyrsvc.services.first_admin import SetupForm
from plain_browser import Page, PlainBrowser
from service_runs import House

NOWHERE = "http://127.0.0.1:9"
STRANGER = "203.0.113.9"
CSRF = "lyrsvc-csrf-token"
KEYS = "/settings/keys"
UI = {"LYRSVC_WEB_UI_ENABLED": "true"}


@pytest.fixture
def house(tmp_path, clock):
    return House(tmp_path, clock, NOWHERE)


@pytest.fixture
def run(house):
    with house.running(**UI) as running:
        yield running


@pytest.fixture
def visit(run):
    return PlainBrowser(run.visitor())


def creating(page):
    return next(form for form in page.forms if form.action == KEYS)


def revoking(page, key):
    return page.form_with("id", key.public_id)


def make(run, name="lidarr", *scopes):
    return run.service.access.keyring.create(name, [Scope(scope) for scope in scopes])


@pytest.mark.seed("S-082")
@pytest.mark.spec("H-53")
def test_a_new_key_is_shown_once_with_webhook_chosen_beforehand(run, visit):
    page = visit.open(KEYS)
    assert "No keys yet" in page.text
    form = creating(page)
    assert form.named("scope") == ["webhook"]
    made = visit.press(form, name="lidarr")
    raw = made.ids["made-key"]["value"]
    assert re.fullmatch("lyrsvc_[0-9a-f]{64}", raw)
    assert "readonly" in made.ids["made-key"]
    assert (
        run.visitor()
        .post("/api/v1/webhooks/lidarr", {"eventType": "Test"}, headers={"x-api-key": raw})
        .status
        == 200
    )
    (key,) = run.service.access.keyring.listing()
    assert (key.name, key.scopes) == ("lidarr", {Scope.WEBHOOK})
    again = visit.open(KEYS)
    assert raw not in again.answer.text
    assert "made-key" not in again.ids


@pytest.mark.seed("S-082", "S-085")
def test_the_list_is_masked(run, visit, clock):
    named, other = make(run), make(run, "", "admin", "webhook")
    run.service.access.keyring.revoke(other.key.public_id)
    page = visit.open(KEYS)
    for made in (named, other):
        assert f"{made.key.short_id}…" in page.text
        assert made.key.public_id not in page.text
        assert made.raw not in page.answer.text
        assert digest_of(made.raw) not in page.answer.text
    assert "(unnamed)" in page.text
    assert "admin, webhook" in page.text
    assert page.text.count("Active") == 1
    assert "Revoked " + f"{clock.now():%Y-%m-%d %H:%M:%S} UTC" in page.text
    assert "never" in page.text


@pytest.mark.seed("S-082", "S-085")
@pytest.mark.spec("H-53")
def test_revoking_asks_once_and_works_at_once(run, visit):
    made = make(run)
    asked = visit.press(revoking(visit.open(KEYS), made.key))
    assert "Revoke this key?" in asked.text
    assert "stops working at once" in asked.text
    assert run.service.access.keyring.check(made.raw).key is not None
    done = visit.press(revoking(asked, made.key))
    assert "Revoked: lidarr." in done.text
    assert run.service.access.keyring.check(made.raw).key is None
    assert made.key.public_id not in done.answer.text


def test_a_revoke_form_without_a_question_is_an_answer(run, visit):
    made = make(run)
    visit.open(KEYS)
    fields = {"id": made.key.public_id, "csrf_token": visit.visitor.cookies[CSRF]}
    answer = visit.visitor.submit("/settings/keys/revoke", fields)
    assert (answer.status, answer.header("location")) == (303, KEYS)
    (key,) = run.service.access.keyring.listing()
    first = key.revoked_at
    run.house.clock.advance(60)
    assert visit.visitor.submit("/settings/keys/revoke", fields).status == 303
    assert run.service.access.keyring.listing()[0].revoked_at == first


@pytest.mark.parametrize("given", ["", "0" * 16, "../x", "short"])
def test_an_id_nobody_has_is_not_found(run, visit, given):
    make(run)
    visit.open(KEYS)
    token = visit.visitor.cookies[CSRF]
    for more in ({}, {"ask": "yes"}):
        fields = {"id": given, "csrf_token": token, **more}
        assert visit.visitor.submit("/settings/keys/revoke", fields).status == 404
    assert run.service.access.keyring.listing()[0].revoked_at is None


def test_a_short_id_is_not_enough_to_revoke(run, visit):
    made = make(run)
    visit.open(KEYS)
    fields = {"id": made.key.short_id, "csrf_token": visit.visitor.cookies[CSRF]}
    assert visit.visitor.submit("/settings/keys/revoke", fields).status == 404


@pytest.mark.parametrize(
    ("scopes", "kept"),
    [([], {"webhook"}), (["admin"], {"admin"}), (["webhook", "admin"], {"webhook", "admin"})],
)
def test_scopes_are_as_chosen_and_none_means_webhook(run, visit, scopes, kept):
    visit.press(creating(visit.open(KEYS)), name="x", scope=scopes)
    (key,) = run.service.access.keyring.listing()
    assert key.scopes == kept


@pytest.mark.parametrize(
    ("typed", "why"),
    [({"name": "n" * 121}, "at most 120 characters"), ({"scope": ["root"]}, "not one of")],
)
def test_a_bad_form_makes_no_key_and_says_why(run, visit, typed, why):
    page = visit.press(creating(visit.open(KEYS)), **typed)
    assert page.answer.status == 400
    assert why in page.text
    assert run.service.access.keyring.listing() == []
    if "name" in typed:
        assert page.ids["name"]["aria-invalid"] == "true"
        assert page.ids["name"]["value"] == typed["name"]
        assert page.ids["name"]["aria-describedby"] in page.ids


@pytest.mark.spec("H-54")
@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", "שלום " * 20, "\u202eevil", "x" * 120]
)
def test_any_name_is_escaped_and_readable(run, visit, name):
    made = visit.press(creating(visit.open(KEYS)), name=name)
    assert made.answer.status == 200
    for page in (made, visit.open(KEYS)):
        assert "<script>alert" not in page.answer.text
        assert run.service.access.keyring.listing()[0].name in page.answer.text.replace(
            "&lt;", "<"
        ).replace("&gt;", ">")


def test_static_keys_have_a_line_each_and_nothing_to_press(house):
    with house.running(
        LYRSVC_WEBHOOK_API_KEY="static-key-number-one,static-key-number-two", **UI
    ) as run:
        page = PlainBrowser(run.visitor()).open(KEYS)
        assert page.text.count("static, from LYRSVC_WEBHOOK_API_KEY") == 2
        assert "static-key-number" not in page.answer.text
        assert not any(form.action.endswith("revoke") for form in page.forms)


@pytest.mark.parametrize(
    ("visitor", "address"),
    [
        ({}, "http://localhost:3876"),
        ({"scheme": "https", "host": "music.example"}, "https://music.example"),
        ({"host": '"><b>'}, "http://localhost"),
    ],
)
def test_the_address_for_lidarr_is_the_one_the_browser_uses_without_a_key(run, visitor, address):
    if visitor.get("host", "localhost").startswith("localhost"):
        page = PlainBrowser(run.visitor(**visitor)).open(KEYS)
    else:
        page = signed_in(run, **visitor).open(KEYS)
    assert f"{address}/api/v1/webhooks/lidarr" in page.text
    assert "apikey" not in page.answer.text


def test_behind_a_declared_proxy_the_address_is_the_proxys(house):
    environ = {"LYRSVC_TRUSTED_PROXIES": "192.0.2.1", "LYRSVC_BASE_PATH": "/lyrics"}
    headers = {
        "x-forwarded-for": STRANGER,
        "x-forwarded-proto": "https",
        "x-forwarded-host": "music.example",
    }
    with house.running(**environ, **UI) as run:
        page = signed_in(run, peer="192.0.2.1", headers=headers).open("/lyrics" + KEYS)
        assert "https://music.example/lyrics/api/v1/webhooks/lidarr" in page.text


@pytest.mark.spec("H-39")
@pytest.mark.seed("S-083")
def test_a_key_is_neither_made_nor_revoked_by_a_foreign_form(run):
    made = make(run)
    visitor = run.visitor()
    visitor.get(KEYS)
    token = visitor.cookies[CSRF]
    for route, fields in ((KEYS, {"name": "evil"}), (f"{KEYS}/revoke", {"id": made.key.public_id})):
        for sent, headers, query in (
            (fields, {}, ""),
            (fields, {}, f"?csrf_token={token}"),
            ({**fields, "csrf_token": "x"}, {}, ""),
            ({**fields, "csrf_token": token}, {"origin": "https://evil.example"}, ""),
            ({**fields, "csrf_token": token}, {"origin": "null"}, ""),
            ({**fields, "csrf_token": token}, {"sec-fetch-site": "cross-site"}, ""),
        ):
            assert visitor.submit(route + query, sent, headers=headers).status == 403
    (key,) = run.service.access.keyring.listing()
    assert key.revoked_at is None


@pytest.mark.spec("H-32")
def test_a_network_that_may_only_look_can_make_no_key(house):
    with house.running(LYRSVC_TRUSTED_UI_ACCESS="read", **UI) as run:
        made, _ = make(run), signed_in(run)
        visitor = run.visitor()
        page = Page(visitor.get(KEYS))
        assert "may only look" in page.text
        assert not any(form.action.startswith(KEYS) for form in page.forms)
        fields = {"id": made.key.public_id, "csrf_token": visitor.cookies[CSRF]}
        assert visitor.submit(f"{KEYS}/revoke", fields).status == 401
        assert run.service.access.keyring.listing()[0].revoked_at is None


def test_making_and_revoking_are_audited_without_the_key(run, visit):
    made = visit.press(creating(visit.open(KEYS)), name="lidarr")
    raw = made.ids["made-key"]["value"]
    key = run.service.access.keyring.listing()[0]
    visit.press(visit.press(revoking(visit.open(KEYS), key)).form_with("id", key.public_id))
    told = run.rows("SELECT event, actor, data FROM audit_log ORDER BY id")
    assert [row["event"] for row in told] == ["key.created", "key.revoked"]
    assert {row["actor"] for row in told} == {"trusted-network"}
    assert raw not in str(told)


def signed_in(run, **more):
    password = "correct horse battery"
    form = SetupForm(username="Ann", password=password, confirm=password)
    admin = run.service.access.first_admin.set_up(form, client=STRANGER).admin
    token, _ = run.service.access.sessions.open(admin, client=STRANGER, user_agent="test")
    return PlainBrowser(run.visitor(cookies={"lyrsvc_session": token}, **more))
