"""Changing a password on the page."""

from dataclasses import replace

import apsw
import pytest

from access_parts import PASSWORD, VISITOR, Desk
from lyrsvc.services.account_changes import Changed, Invalid, PasswordForm
from lyrsvc.services.sign_in import Busy, Denied, Locked, SignedIn

NEW = "  battery stäple "


@pytest.fixture
def desk(db, clock) -> Desk:
    return Desk(db, clock)


@pytest.fixture
def admin(desk):
    return desk.add_admin()


@pytest.fixture
def access(desk, admin):
    return desk.access()


def form(**fields: str) -> PasswordForm:
    return replace(PasswordForm(current=PASSWORD, new=NEW, confirm=NEW), **fields)


def test_the_new_password_counts_and_every_session_but_the_new_one_is_over(desk, access, admin):
    old = [access.sign_in.sign_in("Ada", PASSWORD, VISITOR) for _ in range(2)]
    desk.told.clear()
    done = access.account.change_password(admin, form(), VISITOR)
    assert isinstance(done, Changed)
    assert done.sessions_ended == 2
    assert [access.session_of(one.token) for one in old] == [None, None]
    assert access.session_of(done.token) == done.session
    assert isinstance(access.sign_in.sign_in("Ada", PASSWORD, VISITOR), Denied)
    assert isinstance(access.sign_in.sign_in("Ada", NEW, VISITOR), SignedIn)
    entry = desk.told[0]
    assert (entry.event, entry.actor) == ("auth.password.changed", "user:Ada")
    assert entry.data == {"user": "Ada", "sessions_ended": 2}
    assert NEW not in repr(done) + str(desk.told) + repr(form())


@pytest.mark.parametrize(
    ("fields", "faulty"),
    [
        ({"new": "1234567", "confirm": "1234567"}, {"new"}),
        ({"confirm": "another one"}, {"confirm"}),
        ({"new": "short", "confirm": "other"}, {"new", "confirm"}),
        ({"new": "x" * 1025, "confirm": "x" * 1025}, {"new"}),
    ],
)
def test_a_bad_new_password_is_explained_field_by_field(desk, access, admin, fields, faulty):
    before = desk.rows("admins")
    done = access.account.change_password(admin, form(**fields), VISITOR)
    assert isinstance(done, Invalid)
    assert set(done.faults) == faulty
    assert desk.rows("admins") == before
    assert desk.told == []


def test_a_wrong_present_password_changes_nothing_and_counts_as_a_guess(desk, access, admin, clock):
    before = desk.rows("admins")
    for _ in range(10):
        done = access.account.change_password(admin, form(current="wrong horse"), VISITOR)
        assert isinstance(done, Denied)
        clock.advance(10)
    assert isinstance(access.account.change_password(admin, form(), VISITOR), Locked)
    assert isinstance(access.sign_in.sign_in("Ada", PASSWORD, VISITOR), Locked)
    assert desk.rows("admins") == before


def test_the_hashing_budget_is_shared_with_signing_in(access, admin):
    for number in range(20):
        access.sign_in.sign_in("x", "x", replace(VISITOR, client=f"10.0.0.{number}"))
    assert isinstance(access.account.change_password(admin, form(), VISITOR), Busy)


@pytest.mark.spec("C-45")
@pytest.mark.seed("S-095")
@pytest.mark.parametrize("when", ["BEFORE DELETE", "BEFORE INSERT"])
def test_a_fault_between_hash_and_sign_out_undoes_both(db, desk, access, admin, when):
    signed_in = access.sign_in.sign_in("Ada", PASSWORD, VISITOR)
    before = desk.rows("admins"), desk.rows("sessions")
    db.write(
        lambda tx: tx.run(
            f"CREATE TRIGGER fault {when} ON sessions BEGIN SELECT RAISE(ABORT, 'fault'); END"
        )
    )
    with pytest.raises(apsw.ConstraintError, match="fault"):
        access.account.change_password(admin, form(), VISITOR)
    assert (desk.rows("admins"), desk.rows("sessions")) == before
    assert access.session_of(signed_in.token) is not None


def test_an_account_that_is_gone_is_denied(db, access, admin):
    db.write(lambda tx: tx.run("DELETE FROM admins"))
    assert isinstance(access.account.change_password(admin, form(), VISITOR), Denied)


def test_a_password_changed_meanwhile_elsewhere_stands(db, desk, access, admin, monkeypatch):
    prepare = access.sessions.prepare

    def change_meanwhile(*args, **options):
        db.write(lambda tx: tx.run("UPDATE admins SET password_hash = 'changed'"))
        return prepare(*args, **options)

    monkeypatch.setattr(access.sessions, "prepare", change_meanwhile)
    assert isinstance(access.account.change_password(admin, form(), VISITOR), Denied)
    assert desk.rows("admins")[0]["password_hash"] == "changed"
    assert desk.rows("sessions") == []
