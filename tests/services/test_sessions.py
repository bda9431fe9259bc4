"""Sessions: a token in the browser, its digest in the store."""

import re

import pytest

from access_parts import Desk
from lyrsvc.core.errors import StoreError
from lyrsvc.services.sessions import Sessions
from lyrsvc.store.database import Database

DAY_S = 24 * 3600


@pytest.fixture
def desk(db, clock) -> Desk:
    return Desk(db, clock)


@pytest.fixture
def admin(desk):
    return desk.add_admin()


@pytest.fixture
def sessions(db, clock) -> Sessions:
    return Sessions(db, clock=clock)


@pytest.fixture
def sign_in(sessions, admin):
    def open_one(agent: str = "Browser/1.0") -> str:
        token, _session = sessions.open(admin, client="192.0.2.7", user_agent=agent)
        return token

    return open_one


def test_a_session_holds_for_seven_days_and_is_not_made_longer_by_use(sessions, sign_in, clock):
    token = sign_in()
    for _ in range(7):
        assert sessions.check(token).username == "Ada"
        clock.advance(DAY_S - 1)
    clock.advance(6)
    assert sessions.check(token) is not None
    clock.advance(1)
    assert sessions.check(token) is None


def test_only_the_digest_of_the_token_is_stored(desk, sessions, sign_in, clock):
    token = sign_in("Firefox\n" + "x" * 300)
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", token)
    (row,) = desk.rows("sessions")
    assert token not in str(row)
    session = sessions.check(token)
    assert row["token_hash"] == session.token_hash
    assert len(session.user_agent) == 200
    assert "\n" not in session.user_agent
    assert (session.last_address, session.created_at) == ("192.0.2.7", clock.now())


@pytest.mark.parametrize("token", ["", "x", "0" * 43, "0" * 10_000, "\udc80" * 43, "' OR 1=1 --"])
def test_a_token_nobody_gave_opens_nothing(sessions, sign_in, token):
    sign_in()
    assert sessions.check(token) is None
    assert sessions.close(token) is False


def test_the_digest_is_no_token(sessions, sign_in):
    session = sessions.check(sign_in())
    assert sessions.check(session.token_hash) is None
    assert sessions.check(session.token_hash[:43]) is None


def test_nonsense_costs_no_read(tmp_path, clock):
    db = Database.open(tmp_path / "x.db", create=True, clock=clock)
    db.close()
    assert Sessions(db, clock=clock).check("nonsense") is None


def test_a_session_made_while_the_clock_ran_ahead_is_not_believed(sessions, sign_in, clock):
    token = sign_in()
    clock.moment = clock.moment.replace(year=clock.moment.year - 1)
    assert sessions.check(token) is None


def test_a_clock_that_is_put_right_by_an_hour_signs_nobody_out(sessions, sign_in, clock):
    token = sign_in()
    clock.advance(-3600)
    assert sessions.check(token) is not None


def test_signing_out_ends_one_session(sessions, sign_in):
    one, other = sign_in(), sign_in()
    assert sessions.close(one) is True
    assert sessions.close(one) is False
    assert sessions.check(one) is None
    assert sessions.check(other) is not None


def test_sessions_are_listed_and_revoked(sessions, sign_in, admin, clock):
    tokens = []
    for number in range(3):
        tokens.append(sign_in(f"agent {number}"))
        clock.advance(1)
    mine = sessions.check(tokens[1])
    assert [s.user_agent for s in sessions.listing(admin)] == ["agent 2", "agent 1", "agent 0"]
    assert sessions.revoke(sessions.check(tokens[0]).token_hash, admin=admin)
    assert not sessions.revoke("unknown", admin=admin)
    assert sessions.revoke_others(mine) == 1
    assert [sessions.check(token) is not None for token in tokens] == [False, True, False]


def test_a_session_that_is_over_is_not_listed_and_purged(desk, sessions, sign_in, admin, clock):
    sign_in()
    clock.advance(4 * DAY_S)
    sign_in()
    clock.advance(4 * DAY_S)
    assert len(sessions.listing(admin)) == 1
    assert len(desk.rows("sessions")) == 2
    assert sessions.purge() == 1
    assert sessions.purge() == 0
    assert len(desk.rows("sessions")) == 1


def test_another_address_is_written_down_later_and_only_when_it_changes(
    db, sessions, sign_in, clock, monkeypatch
):
    token = sign_in()
    writes = []
    real = db.write
    monkeypatch.setattr(db, "write", lambda *args, **kw: writes.append(1) or real(*args, **kw))
    sessions.check(token, client="192.0.2.7")
    sessions.flush()
    assert writes == []
    sessions.check(token, client="198.51.100.9")
    sessions.check(token, client="203.0.113.1")
    assert sessions.check(token).last_address == "192.0.2.7"
    sessions.flush()
    assert sessions.check(token).last_address == "203.0.113.1"
    sessions.check(token, client="203.0.113.1")
    sessions.flush()
    assert writes == [1]


def test_sessions_survive_a_restart(db, sign_in, clock):
    token = sign_in()
    with Database.open(db.location, create=False, clock=clock) as again:
        assert Sessions(again, clock=clock).check(token) is not None


def test_an_address_that_cannot_be_written_now_is_written_later(
    db, desk, sign_in, clock, monkeypatch
):
    access = desk.access()
    token = sign_in()
    access.session_of(token, client="198.51.100.9")

    def refuse(*_args, **_options):
        raise StoreError("busy")

    with monkeypatch.context() as patch:
        patch.setattr(db, "write", refuse)
        access.flush()
    access.flush()
    assert access.session_of(token).last_address == "198.51.100.9"
    assert access.session_of("") is None


def test_addresses_wait_in_bounded_memory(sessions):
    for number in range(2000):
        sessions._note_move(f"session {number}", "192.0.2.7")
    assert len(sessions._moved) == 1000
