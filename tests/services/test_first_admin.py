"""The first admin, from the set-up page or from the environment."""

import logging
import threading

import pytest

from access_parts import VISITOR, Desk
from lyrsvc.core.errors import ConfigError
from lyrsvc.services.first_admin import Bootstrap, Created, Invalid, SetupForm, TooLate
from lyrsvc.services.sign_in import Busy, SignedIn
from lyrsvc.settings.environment_sections import Environment
from lyrsvc.settings.server_sections import Server

HERE = "203.0.113.5"
SECRET = " bootstrap pässword "


@pytest.fixture
def desk(db, clock) -> Desk:
    return Desk(db, clock)


@pytest.fixture
def access(desk):
    return desk.access()


def form(username: str = " Ada ", password: str = SECRET, confirm: str | None = None) -> SetupForm:
    return SetupForm(
        username=username, password=password, confirm=password if confirm is None else confirm
    )


def test_the_first_visitor_makes_the_admin(desk, access):
    assert not access.has_admin()
    done = access.first_admin.set_up(form(), client=HERE)
    assert isinstance(done, Created)
    assert done.admin.username == "Ada"
    assert access.has_admin()
    (entry,) = desk.told
    assert (entry.event, entry.actor, entry.client) == ("admin.created", "user:Ada", HERE)
    assert (entry.data["user"], entry.data["by"]) == ("Ada", "setup")
    assert SECRET not in str(desk.told) + repr(form())
    assert isinstance(access.sign_in.sign_in("ada", SECRET, VISITOR), SignedIn)
    token, session = access.sessions.open(done.admin, client=HERE, user_agent="x")
    assert access.session_of(token) == session


def test_afterwards_nobody_is_the_first(desk, access):
    access.first_admin.set_up(form(), client=HERE)
    before = desk.rows("admins")
    assert access.first_admin.set_up(form("Eve"), client=HERE) == TooLate()
    assert access.first_admin.set_up(form("", "", "x"), client=HERE) == TooLate()
    assert desk.rows("admins") == before


def test_of_many_at_once_one_is_made(desk, access):
    start, outcomes = threading.Barrier(10), []

    def come(number: int) -> None:
        start.wait()
        outcomes.append(access.first_admin.set_up(form(f"admin {number}"), client=HERE))

    threads = [threading.Thread(target=come, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (made,) = [one for one in outcomes if isinstance(one, Created)]
    assert {type(one) for one in outcomes} <= {Created, TooLate, Busy}
    (row,) = desk.rows("admins")
    assert row["id"] == made.admin.id
    assert desk.events == ["admin.created"]


@pytest.mark.parametrize(
    ("wrong", "faulty"),
    [
        (form(username="  "), {"username"}),
        (form(username="x" * 65), {"username"}),
        (form(password="1234567"), {"password"}),
        (form(password="öäüß"), {"password"}),
        (form(confirm="other"), {"confirm"}),
        (form("", "", "x"), {"username", "password", "confirm"}),
    ],
)
def test_a_wrong_form_is_explained_field_by_field(desk, access, wrong, faulty):
    done = access.first_admin.set_up(wrong, client=HERE)
    assert isinstance(done, Invalid)
    assert set(done.faults) == faulty
    assert all(sentence.startswith("the ") for sentence in done.faults.values())
    assert not access.has_admin()


def test_eight_letters_of_two_bytes_are_enough(access):
    assert isinstance(access.first_admin.set_up(form(password="öäüßöäüß"), client=HERE), Created)


def test_hashing_for_the_set_up_is_bounded(access):
    for number in range(20):
        access.sign_in.sign_in("x", "x", VISITOR.__class__(client=f"10.0.0.{number}"))
    assert access.first_admin.set_up(form(), client=HERE) == Busy(2)
    assert not access.has_admin()


# -- from the environment -----------------------------------------------------------------------


def given(user: str = "Ada", password: str = SECRET, *, ui: bool = True) -> Bootstrap:
    return Bootstrap(user=user, password=password, ui_enabled=ui)


@pytest.fixture
def warnings(caplog):
    caplog.set_level(logging.WARNING, logger="lyrsvc.first_admin")
    return lambda: caplog.messages


def test_the_names_are_those_of_the_settings():
    named = (*Environment.admin_user.env, *Environment.admin_password.env)
    assert named == ("LYRSVC_WEBAUTH_ADMIN_USER", "LYRSVC_WEBAUTH_ADMIN_PASSWORD")
    assert "LYRSVC_WEB_UI_ENABLED" in Server.web_ui_enabled.env


@pytest.mark.seed("S-106")
def test_both_variables_make_the_first_admin(desk, access, warnings):
    made = access.first_admin.bootstrap(given(" Ada "))
    assert made.admin.username == "Ada"
    assert isinstance(access.sign_in.sign_in("Ada", SECRET, VISITOR), SignedIn)
    assert warnings() == []
    assert desk.told[0].data["by"] == "environment"
    assert SECRET not in str(desk.told) + repr(given())


def test_without_variables_nothing_happens(access, warnings):
    assert access.first_admin.bootstrap(given("", "")) is None
    assert access.first_admin.bootstrap(given("  ", "", ui=False)) is None
    assert warnings() == []
    assert not access.has_admin()


@pytest.mark.seed("S-106")
@pytest.mark.parametrize(("user", "password"), [("Ada", SECRET), ("Ada", ""), ("", "short")])
def test_with_the_pages_off_they_are_ignored_and_the_setting_is_named(
    access, warnings, user, password
):
    assert access.first_admin.bootstrap(given(user, password, ui=False)) is None
    (line,) = warnings()
    assert "server.web_ui_enabled" in line
    assert "LYRSVC_WEB_UI_ENABLED" in line
    assert not access.has_admin()


@pytest.mark.seed("S-106")
@pytest.mark.parametrize(
    ("user", "password", "missing"),
    [
        ("Ada", "", "without LYRSVC_WEBAUTH_ADMIN_PASSWORD"),
        ("", SECRET, "without LYRSVC_WEBAUTH_ADMIN_USER"),
        ("  ", "short", "without LYRSVC_WEBAUTH_ADMIN_USER"),
    ],
)
def test_one_variable_alone_is_warned_about(access, warnings, user, password, missing):
    assert access.first_admin.bootstrap(given(user, password)) is None
    (line,) = warnings()
    assert missing in line
    assert not access.has_admin()


@pytest.mark.seed("S-106")
@pytest.mark.parametrize("password", ["1234567", "öäüß", "x" * 1025, "1234567\udc80", "12345678\n"])
@pytest.mark.parametrize("exists", [False, True])
def test_a_password_that_cannot_be_used_is_fatal_and_not_shown(desk, access, password, exists):
    if exists:
        desk.add_admin()
    with pytest.raises(ConfigError, match="ADMIN_PASSWORD cannot be used: the password") as error:
        access.first_admin.bootstrap(given(password=password))
    assert password not in str(error.value)
    assert access.has_admin() is exists


@pytest.mark.seed("S-106")
def test_an_admin_who_exists_is_never_changed(desk, access, warnings):
    desk.add_admin("Ada")
    before = desk.rows("admins")
    for user in ("Ada", "Eve"):
        assert access.first_admin.bootstrap(given(user)) is None
    assert len(warnings()) == 2
    assert all("lyrsvc admin set-password" in line for line in warnings())
    assert all(SECRET not in line for line in warnings())
    assert desk.rows("admins") == before


def test_a_name_that_cannot_be_used_is_warned_about(access, warnings):
    assert access.first_admin.bootstrap(given("x" * 65)) is None
    assert "LYRSVC_WEBAUTH_ADMIN_USER" in warnings()[0]
    assert not access.has_admin()
