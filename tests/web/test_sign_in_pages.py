"""Signing in, setting up, signing out, and the theme."""

import logging
import threading

import pytest

from lyrsvc.core.errors import ConfigError
from lyrsvc.serving import prepare
from service_runs import House

NOWHERE = "http://127.0.0.1:9"
GOOD = "correct horse battery"
STRANGER = "203.0.113.9"
SESSION, CSRF = "lyrsvc_session", "lyrsvc-csrf-token"


@pytest.fixture
def house(tmp_path, clock):
    return House(tmp_path, clock, NOWHERE)


@pytest.fixture
def run(house):
    with house.running(LYRSVC_WEB_UI_ENABLED="true") as running:
        yield running


def csrf(visitor):
    return {"csrf_token": visitor.cookies.get(CSRF, "")}


def set_up(visitor, **fields):
    visitor.get("/setup")
    asked = {"username": "Ann", "password": GOOD, "confirm": GOOD, **csrf(visitor), **fields}
    return visitor.submit("/setup", asked)


def sign_in(visitor, password=GOOD, username="ann", **fields):
    visitor.get("/login")
    return visitor.submit(
        "/login", {"username": username, "password": password, **csrf(visitor), **fields}
    )


@pytest.mark.spec("H-37")
@pytest.mark.seed("S-077")
def test_setup_is_open_to_anybody_until_there_is_an_admin(run):
    stranger = run.visitor(peer=STRANGER)
    assert stranger.get("/dashboard").header("location") == "/setup"
    assert stranger.get("/setup").status == 200
    answer = set_up(stranger)
    assert (answer.status, answer.header("location")) == (303, "/dashboard")
    assert stranger.get("/dashboard").status == 200
    other = run.visitor(peer=STRANGER)
    assert other.get("/setup").header("location") == "/login"
    other.get("/login")
    assert set_up(other).status == 404


def test_a_stranger_at_the_setup_page_is_warned_of_once_a_minute(run, clock, caplog):
    def told():
        lines = [line for line in caplog.records if "set-up page" in line.getMessage()]
        rows = run.rows("SELECT client FROM audit_log WHERE event = 'setup.opened'")
        return [(line.levelname, line.client) for line in lines], [row["client"] for row in rows]

    run.visitor().get("/setup")
    assert told() == ([], [])
    stranger = run.visitor(peer=STRANGER)
    for _ in range(5):
        stranger.get("/setup")
    assert told() == ([("WARNING", STRANGER)], [STRANGER])
    clock.advance(61)
    stranger.get("/setup")
    assert told() == ([("WARNING", STRANGER)] * 2, [STRANGER] * 2)
    set_up(stranger)
    clock.advance(61)
    stranger.get("/setup")
    assert told() == ([("WARNING", STRANGER)] * 2, [STRANGER] * 2)


@pytest.mark.spec("H-37")
def test_two_set_ups_at_once_make_one_admin(run):
    visitors = [run.visitor(peer=STRANGER), run.visitor(peer="203.0.113.10")]
    for visitor in visitors:
        visitor.get("/setup")
    answers = []

    def post(visitor, name):
        fields = {"username": name, "password": GOOD, "confirm": GOOD, **csrf(visitor)}
        answers.append(visitor.submit("/setup", fields))

    threads = [
        threading.Thread(target=post, args=(one, name))
        for one, name in zip(visitors, ("ann", "bob"), strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(str(one.header("location")) for one in answers) in (
        ["/dashboard", "/login"],
        ["/dashboard", "None"],
    )
    assert len(run.rows("SELECT id FROM admins")) == 1


@pytest.mark.spec("H-37")
@pytest.mark.parametrize(
    ("password", "status"),
    [("1234567", 400), ("12345678", 303), ("äöüßäöüß", 303), ("äöüß", 400), ("e\u0301" * 7, 400)],
)
def test_a_password_has_at_least_eight_characters(run, password, status):
    answer = set_up(run.visitor(), password=password, confirm=password)
    assert answer.status == status
    if status == 400:
        assert "The password must have at least 8 characters." in answer.text
        assert password not in answer.text


def test_what_is_wrong_with_the_set_up_is_said_field_by_field(run):
    answer = set_up(run.visitor(), username="  ", confirm="else", webhook_api_key="a,b")
    assert answer.status == 400
    for words in ("user name must not be empty", "not the same", "webhook_api_key"):
        assert words in answer.text
    assert run.rows("SELECT id FROM admins") == []


def test_secrets_given_with_the_set_up_go_to_the_encrypted_store(run):
    set_up(run.visitor(), provider_token="tok-123456", webhook_api_key="hook-key-1")
    assert run.service.secrets.get("provider_token") == "tok-123456"
    assert run.service.secrets.get("webhook_api_key") == "hook-key-1"
    stored = run.rows("SELECT name, ciphertext FROM secrets")
    assert all(b"tok-123456" not in row["ciphertext"] for row in stored)


@pytest.mark.spec("H-33")
def test_ten_wrong_passwords_lock_the_network_they_come_from(run):
    set_up(run.visitor())
    guesser, other = run.visitor(peer=STRANGER), run.visitor(peer="203.0.113.77")
    for _ in range(10):
        answer = sign_in(guesser, "wrong")
        assert answer.status == 401
        assert "wrong" in answer.text
    assert run.waits == [1.0, 2.0, 4.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0]
    locked = sign_in(guesser)
    assert locked.status == 429
    assert 0 < int(locked.header("retry-after")) <= 900
    assert sign_in(other).header("location") == "/dashboard"


@pytest.mark.spec("H-33")
def test_two_addresses_of_one_ipv6_network_share_the_lock(run):
    set_up(run.visitor())
    one, two = run.visitor(peer="2001:db8::1"), run.visitor(peer="2001:db8::ffff")
    for _ in range(10):
        sign_in(one, "wrong")
    assert sign_in(two).status == 429
    assert sign_in(run.visitor(peer="2001:db8:0:1::1")).status == 303


def test_a_failed_sign_in_repeats_the_name_and_never_the_password(run):
    set_up(run.visitor())
    answer = sign_in(run.visitor(), "my-secret-guess", username='"><b>ann')
    assert answer.status == 401
    assert "my-secret-guess" not in answer.text
    assert "&#34;&gt;&lt;b&gt;ann" in answer.text


@pytest.mark.spec("H-36")
@pytest.mark.parametrize(
    "wanted",
    [
        "//evil.example",
        "/\\evil.example",
        "https:evil.example",
        "/x\r\nSet-Cookie: a=b",
        "evil",
        "/%0d%0aX: y",
        "/%5c%5cevil",
        "/api/v1/queue",
        "/logout",
        "/%2fevil.example",
        "/login",
        "",
    ],
)
def test_after_signing_in_only_a_page_of_ours_comes(run, wanted):
    set_up(run.visitor())
    answer = sign_in(run.visitor(), next=wanted)
    assert (answer.status, answer.header("location")) == (303, "/dashboard")


def test_after_signing_in_the_wanted_page_comes(run):
    set_up(run.visitor())
    visitor = run.visitor(peer=STRANGER)
    assert (
        visitor.get("/queue?status=failed").header("location")
        == "/login?next=/queue%3Fstatus%3Dfailed"
    )
    assert (
        sign_in(visitor, next="/queue?status=failed").header("location") == "/queue?status=failed"
    )


@pytest.mark.spec("H-35")
@pytest.mark.seed("S-107")
@pytest.mark.parametrize(
    ("visitor", "secure"),
    [
        ({}, False),
        ({"scheme": "https"}, True),
        (
            {
                "peer": "10.9.9.9",
                "headers": {"x-forwarded-for": STRANGER, "x-forwarded-proto": "HTTPS"},
            },
            True,
        ),
        (
            {
                "peer": "10.9.9.9",
                "headers": {"x-forwarded-for": STRANGER, "x-forwarded-proto": "http"},
            },
            False,
        ),
        ({"headers": {"x-forwarded-proto": "https"}}, False),
        ({"peer": "192.168.7.7", "headers": {"x-forwarded-proto": "https"}}, False),
        ({"peer": "192.168.7.7"}, False),
        ({"peer": STRANGER, "headers": {"x-forwarded-proto": "https"}}, False),
    ],
)
def test_cookies_are_secure_exactly_over_tls(house, visitor, secure):
    environ = {"LYRSVC_TRUSTED_PROXIES": "10.9.9.9", "LYRSVC_TRUSTED_CIDRS": "192.168.7.0/24"}
    with house.running(LYRSVC_WEB_UI_ENABLED="true", **environ) as run:
        session, token = set_up(run.visitor(**visitor)).all("set-cookie")
    tail = "; Path=/; SameSite=Lax" + ("; Secure" if secure else "")
    assert session.startswith(f"{SESSION}=")
    assert session.partition("; ")[2] == f"HttpOnly; Max-Age=604800{tail}"
    assert token.startswith(f"{CSRF}=")
    assert token.partition("; ")[2] == f"HttpOnly; Max-Age=43200{tail}"


def test_signing_out_ends_the_session_and_clears_the_cookie(run):
    visitor = run.visitor(peer=STRANGER)
    set_up(visitor)
    token = visitor.cookies[SESSION]
    answer = visitor.submit("/logout", csrf(visitor))
    assert answer.header("location") == "/login"
    assert SESSION not in visitor.cookies
    visitor.cookies[SESSION] = token
    assert visitor.get("/dashboard").header("location") == "/login?next=/dashboard"
    assert run.rows("SELECT * FROM sessions") == []


def test_signing_in_again_ends_the_old_session_of_the_browser(run):
    visitor = run.visitor(peer=STRANGER)
    set_up(visitor)
    old = visitor.cookies[SESSION]
    visitor.submit("/login", {"username": "ann", "password": GOOD, **csrf(visitor)})
    assert visitor.cookies[SESSION] != old
    assert len(run.rows("SELECT * FROM sessions")) == 1


@pytest.mark.spec("H-42")
def test_a_password_changed_elsewhere_ends_every_session_at_once(run):
    visitor = run.visitor(peer=STRANGER)
    set_up(visitor)
    assert visitor.get("/dashboard").status == 200
    run.db.write(lambda tx: tx.run("DELETE FROM sessions"))
    assert visitor.get("/dashboard").status == 303


@pytest.mark.spec("H-38")
@pytest.mark.seed("S-106")
def test_the_environment_makes_the_first_admin_before_anybody_is_heard(house, caplog):
    environ = {
        "LYRSVC_WEB_UI_ENABLED": "true",
        "LYRSVC_WEBAUTH_ADMIN_USER": "root",
        "LYRSVC_WEBAUTH_ADMIN_PASSWORD": "from-the-environment",
    }
    caplog.set_level(logging.DEBUG)
    with house.running(**environ) as run:
        prepare(run.service)
        visitor = run.visitor(peer=STRANGER)
        assert visitor.get("/setup").header("location") == "/login"
        assert sign_in(visitor, "from-the-environment", username="root").status == 303
    with house.running(**{**environ, "LYRSVC_WEBAUTH_ADMIN_PASSWORD": "another-password"}) as run:
        prepare(run.service)
        assert "admin set-password" in caplog.text
        assert sign_in(run.visitor(), "another-password", username="root").status == 401
    assert "from-the-environment" not in caplog.text
    assert "another-password" not in caplog.text


@pytest.mark.spec("H-38")
@pytest.mark.seed("S-106")
@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"LYRSVC_WEBAUTH_ADMIN_USER": "root"}, "needs both"),
        ({"LYRSVC_WEBAUTH_ADMIN_PASSWORD": GOOD}, "needs both"),
        (
            {
                "LYRSVC_WEBAUTH_ADMIN_USER": "root",
                "LYRSVC_WEBAUTH_ADMIN_PASSWORD": GOOD,
                "LYRSVC_WEB_UI_ENABLED": "false",
            },
            "server.web_ui_enabled",
        ),
    ],
)
def test_a_bootstrap_that_cannot_be_is_warned_of(house, caplog, environ, words):
    with house.running(**{"LYRSVC_WEB_UI_ENABLED": "true", **environ}) as run:
        prepare(run.service)
        assert words in caplog.text
        assert run.rows("SELECT * FROM admins") == []


@pytest.mark.spec("H-38")
@pytest.mark.seed("S-106")
def test_a_short_bootstrap_password_is_fatal(house):
    environ = {
        "LYRSVC_WEB_UI_ENABLED": "true",
        "LYRSVC_WEBAUTH_ADMIN_USER": "root",
        "LYRSVC_WEBAUTH_ADMIN_PASSWORD": "1234567",
    }
    with house.running(**environ) as run, pytest.raises(ConfigError, match="8 characters"):
        prepare(run.service)


def test_the_theme_is_remembered_and_the_page_follows_it(run):
    visitor = run.visitor()
    assert "data-theme" not in visitor.get("/setup").text
    answer = visitor.submit("/theme", {"theme": "dark", "next": "/queue", **csrf(visitor)})
    assert answer.header("location") == "/queue"
    assert 'data-theme="dark"' in visitor.get("/setup").text
    json = {"accept": "application/json"}
    assert visitor.submit("/theme", {"theme": "pink", **csrf(visitor)}, headers=json).status == 400
