"""The account page: password and sessions."""

import pytest

from lyrsvc.services.first_admin import SetupForm
from lyrsvc.services.sign_in import SignedIn
from lyrsvc.services.sign_in import Visitor as Asking
from plain_browser import Page, PlainBrowser
from service_runs import House

NOWHERE = "http://127.0.0.1:9"
STRANGER = "203.0.113.9"
OLD, NEW = "correct horse battery", "staple of the new kind"
SESSION, CSRF = "lyrsvc_session", "lyrsvc-csrf-token"
ACCOUNT = "/settings/account"
UI = {"LYRSVC_WEB_UI_ENABLED": "true"}


@pytest.fixture
def house(tmp_path, clock):
    return House(tmp_path, clock, NOWHERE)


@pytest.fixture
def run(house):
    with house.running(**UI) as running:
        yield running


@pytest.fixture
def admin(run):
    form = SetupForm(username="Ann", password=OLD, confirm=OLD)
    return run.service.access.first_admin.set_up(form, client=STRANGER).admin


@pytest.fixture
def visit(run, admin):
    return another(run, admin, agent="Own/1.0")


def another(run, admin, *, client=STRANGER, agent="Other/1.0"):
    token, _ = run.service.access.sessions.open(admin, client=client, user_agent=agent)
    return PlainBrowser(run.visitor(peer=STRANGER, cookies={SESSION: token}))


def changing(page):
    return page.form_with("action", "password")


def change(visit, current=OLD, new=NEW, confirm=None):
    confirm = new if confirm is None else confirm
    form = changing(visit.open(ACCOUNT))
    return visit.press(form, current=current, new=new, confirm=confirm)


@pytest.mark.spec("H-42")
def test_another_password_ends_every_other_session_and_keeps_this_browser(run, admin, visit):
    other = another(run, admin)
    assert other.open(ACCOUNT).answer.status == 200
    before = visit.visitor.cookies[SESSION]
    page = change(visit)
    assert "The password was changed. 1 other session was ended." in page.text
    assert visit.visitor.cookies[SESSION] != before
    assert page.answer.status == 200
    answer = other.visitor.get(ACCOUNT)
    assert (answer.status, answer.header("location")) == (303, f"/login?next={ACCOUNT}")
    assert other.visitor.get("/settings", headers={"accept": "application/json"}).status == 401
    sign_in = run.service.access.sign_in
    asking = Asking(client="198.51.100.4")
    assert isinstance(sign_in.sign_in("Ann", NEW, asking), SignedIn)
    assert not isinstance(sign_in.sign_in("Ann", OLD, asking), SignedIn)


@pytest.mark.spec("H-40")
def test_the_form_value_of_the_old_session_is_refused_after_the_change(run, visit):
    old_form = changing(visit.open(ACCOUNT))
    change(visit)
    page = visit.press(old_form, current=NEW, new="yet another one", confirm="yet another one")
    assert page.answer.status == 403


@pytest.mark.parametrize(
    ("typed", "field", "why"),
    [
        ({"current": "wrong password"}, "current", "This password is wrong."),
        ({"new": "seven77"}, "new", "at least 8 characters"),
        ({"new": "x" * 1025}, "new", "at most 1024 bytes"),
        ({"confirm": "something else"}, "confirm", "not the same"),
    ],
)
def test_a_change_that_is_refused_says_why_beside_the_field(run, visit, typed, field, why):
    page = change(visit, **typed)
    assert page.answer.status == 400
    assert "The password was not changed." in page.text
    assert why in page.text_of(page.ids[field]["aria-describedby"])
    assert page.ids[field]["aria-invalid"] == "true"
    for name in ("current", "new", "confirm"):
        assert "value" not in page.ids[name]
    for text in (OLD, NEW, *typed.values()):
        assert text not in page.answer.text
    assert "The password was changed" in change(visit).text


def test_guessing_the_present_password_is_throttled_like_signing_in(run, visit):
    form = changing(visit.open(ACCOUNT))
    for _ in range(10):
        run.service.access.sign_in.sign_in("Ann", "wrong one", Asking(client=STRANGER))
    page = visit.press(form, current=OLD, new=NEW, confirm=NEW)
    assert page.answer.status == 429
    assert int(page.answer.header("retry-after")) > 0
    assert "Too many failed attempts" in page.text


def test_sessions_are_listed_and_the_own_is_marked(run, admin, visit):
    another(run, admin, client="2001:db8::7", agent="<b>Agent</b> " + "x" * 300)
    page = visit.open(ACCOUNT)
    assert page.text.count("This browser") == 1
    assert "Own/1.0" in page.text
    assert "2001:db8::7" in page.text
    assert "<b>Agent" not in page.answer.text
    assert "Signed in as Ann" in page.text
    own = visit.visitor.cookies[SESSION]
    assert own not in page.answer.text


@pytest.mark.spec("H-53")
def test_one_session_is_ended_after_a_question(run, admin, visit):
    other = another(run, admin, client="198.51.100.9")
    form = next(f for f in visit.open(ACCOUNT).forms if f.named("action") == ["revoke"])
    asked = visit.press(form)
    assert "The browser at 198.51.100.9 is signed out at once." in asked.text
    assert other.open(ACCOUNT).answer.status == 200
    done = visit.press(asked.form_with("action", "revoke"))
    assert "The session was ended." in done.text
    assert other.visitor.get(ACCOUNT).status == 303
    assert visit.open(ACCOUNT).answer.status == 200
    assert "This session had ended already." in visit.press(form).text


def test_all_other_sessions_are_ended_after_a_question(run, admin, visit):
    others = [another(run, admin) for _ in range(3)]
    form = visit.open(ACCOUNT).form_with("action", "revoke-others")
    asked = visit.press(form)
    assert all(one.visitor.get(ACCOUNT).status == 200 for one in others)
    done = visit.press(asked.form_with("action", "revoke-others"))
    assert "3 other sessions were ended." in done.text
    assert all(one.visitor.get(ACCOUNT).status == 303 for one in others)
    told = run.rows("SELECT event, actor FROM audit_log WHERE event = 'session.revoked'")
    assert told == [{"event": "session.revoked", "actor": "user:Ann"}]
    assert not any("revoke-others" in f.named("action") for f in done.forms)


def test_the_own_session_is_not_ended_here(run, visit):
    visit.open(ACCOUNT)
    (session,) = run.rows("SELECT token_hash FROM sessions")
    fields = {
        "action": "revoke",
        "id": session["token_hash"],
        "csrf_token": visit.visitor.cookies[CSRF],
    }
    assert visit.visitor.submit(ACCOUNT, fields).status == 400
    assert visit.open(ACCOUNT).answer.status == 200


def test_an_action_nobody_knows_is_refused(run, visit):
    visit.open(ACCOUNT)
    fields = {"action": "delete", "csrf_token": visit.visitor.cookies[CSRF]}
    assert visit.visitor.submit(ACCOUNT, fields).status == 400


def test_the_account_needs_a_session_and_trust_is_none(run, admin):
    trusted = run.visitor()
    assert trusted.get("/settings").status == 200
    answer = trusted.get(ACCOUNT)
    assert (answer.status, answer.header("location")) == (303, f"/login?next={ACCOUNT}")
    fields = {"csrf_token": trusted.cookies[CSRF], "current": OLD, "new": NEW, "confirm": NEW}
    assert trusted.submit(ACCOUNT, fields).status == 303
    json = {"accept": "application/json"}
    assert trusted.submit(ACCOUNT, fields, headers=json).status == 401
    assert run.rows("SELECT count(*) AS number FROM sessions") == [{"number": 0}]


@pytest.mark.spec("H-39")
@pytest.mark.seed("S-083")
def test_a_foreign_form_changes_no_password(run, visit):
    visit.open(ACCOUNT)
    token = visit.visitor.cookies[CSRF]
    good = {"action": "password", "current": OLD, "new": NEW, "confirm": NEW}
    for fields, headers in (
        (good, {}),
        ({**good, "csrf_token": token[:-1]}, {}),
        ({**good, "csrf_token": token}, {"origin": "http://evil.example"}),
        ({**good, "csrf_token": token}, {"sec-fetch-site": "same-site"}),
    ):
        answer = visit.visitor.submit(ACCOUNT, fields, headers=headers)
        assert answer.status == 403
        assert "Not allowed" in Page(answer).text
    assert "The password was changed" in change(visit).text
