"""Admins and their sessions."""

import threading
from datetime import timedelta

import pytest

from access_parts import Desk
from lyrsvc.core.account import Admin, Session
from lyrsvc.store import accounts
from lyrsvc.store.accounts import Credentials
from query_plans import plans_of

DAY = timedelta(days=1)


@pytest.fixture
def desk(db, clock) -> Desk:
    return Desk(db, clock)


@pytest.fixture
def add_session(db, clock):
    def add(admin: Admin, name: str, days: float = 7) -> Session:
        session = Session(
            token_hash=name,
            admin=admin,
            created_at=clock.now(),
            expires_at=clock.now() + days * DAY,
            last_address="192.0.2.7",
            user_agent="x",
        )
        db.write(lambda tx: accounts.add_session(tx, session))
        return session

    return add


def ask(db, question):
    with db.read() as tx:
        return question(tx)


def test_only_the_first_admin_can_be_made(db, desk, clock):
    assert not ask(db, accounts.has_admin)
    admin = desk.add_admin("Ada")
    late = Credentials(Admin(id="2", username="Bob"), "hash")
    assert not db.write(lambda tx: accounts.add_first(tx, late, now=clock.now()))
    assert ask(db, accounts.has_admin)
    assert ask(db, accounts.all_admins) == [admin]


def test_of_many_at_once_one_is_the_first(db, clock):
    made = []

    def make(number: int) -> None:
        admin = Credentials(Admin(id=str(number), username=f"admin {number}"), "hash")
        if db.write(lambda tx: accounts.add_first(tx, admin, now=clock.now())):
            made.append(number)

    threads = [threading.Thread(target=make, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert len(ask(db, accounts.all_admins)) == 1


def test_an_admin_is_found_by_name_whatever_the_case(db, desk):
    admin = desk.add_admin("Ädä")
    for name in ("ädä", " ÄDÄ ", "a\u0308da\u0308"):
        assert ask(db, lambda tx, n=name: accounts.find_admin(tx, n)).admin == admin
    assert ask(db, lambda tx: accounts.find_admin(tx, "ada")) is None
    assert ask(db, lambda tx: accounts.get_admin(tx, admin.id)).admin == admin
    assert ask(db, lambda tx: accounts.get_admin(tx, "?")) is None


def test_credentials_do_not_show_the_hash(db, desk):
    desk.add_admin()
    found = ask(db, lambda tx: accounts.find_admin(tx, "ada"))
    assert "scrypt" in found.password_hash
    assert "scrypt" not in repr(found)


def test_a_hash_is_replaced_only_while_it_is_the_expected_one(db, desk, clock):
    admin = desk.add_admin()
    old = ask(db, lambda tx: accounts.get_admin(tx, admin.id)).password_hash

    def replace(expected: str, new: str) -> bool:
        return db.write(
            lambda tx: accounts.replace_hash(tx, admin.id, old=expected, new=new, now=clock.now())
        )

    assert replace(old, "new")
    assert not replace(old, "newer")
    assert ask(db, lambda tx: accounts.get_admin(tx, admin.id)).password_hash == "new"


def test_a_session_is_found_until_it_ends(db, desk, clock, add_session):
    session = add_session(desk.add_admin(), "t")

    def find(days: float = 0):
        now = clock.now() + days * DAY
        return ask(
            db, lambda tx: accounts.find_session(tx, "t", now=now, latest=now + timedelta(days=8))
        )

    assert find() == session
    assert find(6.9999) == session
    assert find(7) is None
    assert find(-2) is None  # made by a clock that ran ahead


def test_a_session_is_one_read_by_primary_key(db, desk, clock, add_session):
    add_session(desk.add_admin(), "t")
    now = clock.now()
    (plan,) = plans_of(db, lambda tx: accounts.find_session(tx, "t", now=now, latest=now + DAY))
    assert [line.partition(" USING")[0] for line in plan] == ["SEARCH s", "SEARCH a"]


def test_sessions_are_listed_and_ended_one_by_one_or_all_others(db, desk, clock, add_session):
    ada = desk.add_admin()
    desk.add_second_admin("Bob")
    bob = Admin(id="Bob", username="Bob")
    for name in ("one", "two", "three"):
        add_session(ada, name)
        clock.advance(1)
    add_session(bob, "bobs")
    found = ask(db, lambda tx: accounts.list_sessions(tx, ada.id, now=clock.now()))
    assert [session.token_hash for session in found] == ["three", "two", "one"]
    assert not db.write(lambda tx: accounts.delete_session_of(tx, "bobs", admin_id=ada.id))
    assert db.write(lambda tx: accounts.delete_session_of(tx, "two", admin_id=ada.id))
    assert db.write(lambda tx: accounts.delete_other_sessions(tx, "one", admin_id=ada.id)) == 1
    assert {row["token_hash"] for row in desk.rows("sessions")} == {"one", "bobs"}
    assert db.write(lambda tx: accounts.delete_session(tx, "bobs"))
    assert not db.write(lambda tx: accounts.delete_session(tx, "bobs"))


@pytest.mark.seed("S-095")
def test_ending_all_sessions_counts_those_that_were_alive(db, desk, clock, add_session):
    admin = desk.add_admin()
    add_session(admin, "short", days=1)
    add_session(admin, "long")
    later = clock.now() + 2 * DAY
    assert db.write(lambda tx: accounts.delete_all_sessions(tx, now=later)) == 1
    assert desk.rows("sessions") == []


def test_sessions_go_with_their_admin(db, desk, add_session):
    add_session(desk.add_admin(), "t")
    db.write(lambda tx: tx.run("DELETE FROM admins"))
    assert desk.rows("sessions") == []
