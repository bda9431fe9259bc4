"""Signing in: name and password in, a session out."""

import threading
from dataclasses import replace

import pytest

from access_parts import CHEAP, PASSWORD, VISITOR, Desk
from lyrsvc.core.errors import StoreError
from lyrsvc.security import passwords as passwords_module
from lyrsvc.security.passwords import Cost
from lyrsvc.services.sign_in import Busy, Denied, Locked, SignedIn, Visitor
from lyrsvc.store import accounts


@pytest.fixture
def desk(db, clock) -> Desk:
    desk = Desk(db, clock)
    desk.add_admin()
    return desk


@pytest.fixture
def access(desk):
    return desk.access()


def test_the_right_password_opens_a_session(desk, access, clock):
    done = access.sign_in.sign_in(" aDa ", PASSWORD, VISITOR)
    assert isinstance(done, SignedIn)
    assert access.session_of(done.token) == done.session
    assert (done.session.username, done.session.last_address) == ("Ada", "192.0.2.7")
    assert done.token not in repr(done)
    (entry,) = desk.told
    assert (entry.event, entry.actor, entry.client) == ("auth.login.ok", "user:Ada", "192.0.2.7")
    assert entry.data == {"user": "Ada"}


@pytest.mark.parametrize(
    ("name", "password"),
    [
        ("Ada", "wrong horse"),
        ("Ada", ""),
        ("Ada", PASSWORD + " "),
        ("Ada", "x" * 100_000),
        ("Ada", "\udc80"),
        ("Bob", PASSWORD),
        ("", ""),
        ("x" * 100_000, PASSWORD),
        ("\udc80\0", PASSWORD),
    ],
)
def test_anything_else_is_denied_in_the_same_words_at_the_same_price(
    desk, access, name, password, monkeypatch
):
    paid = []
    run = passwords_module._run
    monkeypatch.setattr(passwords_module, "_run", lambda *a: paid.append(a[2]) or run(*a))
    assert access.sign_in.sign_in(name, password, VISITOR) == Denied(0)
    assert paid == [CHEAP]
    assert desk.rows("sessions") == []
    (entry,) = desk.told
    assert (entry.event, entry.outcome) == ("auth.login.failed", "failed")
    assert (entry.client, entry.data["reason"]) == ("192.0.2.7", "credentials")


def test_a_password_is_in_no_audit_entry(desk, access):
    access.sign_in.sign_in("Ada", "my-wrong-password", VISITOR)
    access.sign_in.sign_in("Ada", PASSWORD, VISITOR)
    assert "my-wrong-password" not in str(desk.told)
    assert PASSWORD not in str(desk.told)


def test_an_older_session_of_the_browser_ends(access):
    first = access.sign_in.sign_in("Ada", PASSWORD, VISITOR)
    other = access.sign_in.sign_in("Ada", PASSWORD, VISITOR)
    again = access.sign_in.sign_in("Ada", PASSWORD, replace(VISITOR, old_token=first.token))
    alive = [access.session_of(one.token) is not None for one in (first, other, again)]
    assert alive == [False, True, True]


def test_a_failure_leaves_the_older_session_alone(access):
    first = access.sign_in.sign_in("Ada", PASSWORD, VISITOR)
    access.sign_in.sign_in("Ada", "wrong horse", replace(VISITOR, old_token=first.token))
    assert access.session_of(first.token) is not None


def test_the_tenth_failure_locks_the_client_out_whatever_the_password(desk, access, clock):
    delays = []
    for _ in range(10):
        delays.append(access.sign_in.sign_in("Ada", "wrong horse", VISITOR).delay_s)
        clock.advance(10)
    assert delays == [0, 1, 2, 4, 8, 8, 8, 8, 8, 8]
    assert desk.events == ["auth.login.failed"] * 10 + ["auth.login.locked"]
    locked = access.sign_in.sign_in("Ada", PASSWORD, VISITOR)
    assert locked == Locked(890)
    assert len(desk.told) == 11
    elsewhere = Visitor(client="192.0.2.8")
    assert isinstance(access.sign_in.sign_in("Ada", PASSWORD, elsewhere), SignedIn)
    clock.advance(890)
    assert isinstance(access.sign_in.sign_in("Ada", PASSWORD, VISITOR), SignedIn)


def test_while_locked_the_credentials_are_not_looked_at(db, desk, access, clock, monkeypatch):
    for _ in range(10):
        access.sign_in.sign_in("Ada", "wrong horse", VISITOR)
        clock.advance(10)
    monkeypatch.setattr(db, "read", None)
    assert isinstance(access.sign_in.sign_in("Ada", PASSWORD, VISITOR), Locked)


def test_success_forgives_the_failures_before(access, clock):
    for _ in range(3):
        for _ in range(9):
            assert isinstance(access.sign_in.sign_in("Ada", "wrong horse", VISITOR), Denied)
            clock.advance(10)
        assert isinstance(access.sign_in.sign_in("Ada", PASSWORD, VISITOR), SignedIn)


def test_too_many_hashes_make_busy_which_is_no_failure(desk, access, clock):
    clients = [Visitor(client=f"10.0.0.{number}") for number in range(40)]
    outcomes = [access.sign_in.sign_in("Ada", "wrong horse", one) for one in clients]
    assert outcomes == [Denied(0)] * 20 + [Busy(2)] * 20
    assert len(desk.told) == 20
    clock.advance(10)
    again = [access.sign_in.sign_in("Ada", "wrong horse", one) for one in clients[20:]]
    assert again == [Denied(0)] * 20


def test_a_store_that_cannot_be_asked_is_no_failure_of_the_client(db, desk, access, monkeypatch):
    def refuse(*_args, **_options):
        raise StoreError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(db, "read", refuse)
        for _ in range(15):
            with pytest.raises(StoreError):
                access.sign_in.sign_in("Ada", PASSWORD, VISITOR)
    with monkeypatch.context() as patch:
        patch.setattr(db, "write", refuse)
        with pytest.raises(StoreError):
            access.sign_in.sign_in("Ada", PASSWORD, VISITOR)
    assert access.sign_in.sign_in("Ada", "wrong horse", VISITOR) == Denied(0)
    assert desk.events == ["auth.login.failed"]


def test_a_hash_of_other_parameters_is_made_anew_at_sign_in(desk, db):
    dearer = desk.access(cost=Cost(ln=2, r=1, p=1))
    assert isinstance(dearer.sign_in.sign_in("Ada", PASSWORD, VISITOR), SignedIn)
    (row,) = desk.rows("admins")
    assert row["password_hash"].startswith("$scrypt$ln=2,r=1,p=1$")
    before = row
    assert isinstance(dearer.sign_in.sign_in("Ada", PASSWORD, VISITOR), SignedIn)
    assert desk.rows("admins") == [before]


def test_a_wrong_password_changes_no_hash(desk):
    before = desk.rows("admins")
    dearer = desk.access(cost=Cost(ln=2, r=1, p=1))
    assert isinstance(dearer.sign_in.sign_in("Ada", "wrong horse", VISITOR), Denied)
    assert desk.rows("admins") == before


@pytest.mark.parametrize("cost", [CHEAP, Cost(ln=2, r=1, p=1)])
def test_a_password_changed_while_the_old_one_is_checked_wins(db, desk, clock, monkeypatch, cost):
    """Nobody signs in with a password that is gone, and no old hash comes back."""
    access = desk.access(cost=cost)
    run = passwords_module._run

    def change_meanwhile(*args):
        monkeypatch.setattr(passwords_module, "_run", run)
        db.write(lambda tx: tx.run("UPDATE admins SET password_hash = 'changed'"))
        return run(*args)

    monkeypatch.setattr(passwords_module, "_run", change_meanwhile)
    assert access.sign_in.sign_in("Ada", PASSWORD, VISITOR) == Denied(0)
    assert desk.rows("sessions") == []
    assert desk.rows("admins")[0]["password_hash"] == "changed"


def test_of_fifty_wrong_ones_at_once_ten_are_looked_at(desk, access, monkeypatch):
    paid = []
    run = passwords_module._run
    monkeypatch.setattr(passwords_module, "_run", lambda *a: paid.append(1) or run(*a))
    start, outcomes = threading.Barrier(50), []

    def come() -> None:
        start.wait()
        outcomes.append(access.sign_in.sign_in("Ada", "wrong horse", VISITOR))

    threads = [threading.Thread(target=come) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Whoever found no place for a hash was not counted, and left room for another.
    looked_at = [one for one in outcomes if isinstance(one, Denied)]
    assert len(looked_at) <= 10
    assert len(paid) == len(looked_at)
    assert {type(one) for one in outcomes} <= {Denied, Locked, Busy}
    if not any(isinstance(one, Busy) for one in outcomes):
        assert sorted(one.delay_s for one in looked_at) == [0, 1, 2, 4, 8, 8, 8, 8, 8, 8]


def test_an_admin_who_is_gone_cannot_sign_in(db, desk, access):
    db.write(lambda tx: tx.run("DELETE FROM admins"))
    assert access.sign_in.sign_in("Ada", PASSWORD, VISITOR) == Denied(0)
    with db.read() as tx:
        assert not accounts.has_admin(tx)
