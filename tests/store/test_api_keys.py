"""The table of managed keys."""

from datetime import timedelta

import apsw
import pytest

from lyrsvc.core.api_key import ApiKey
from lyrsvc.core.scope import Scope
from lyrsvc.store import api_keys
from query_plans import plans_of


@pytest.fixture
def add(db, clock):
    def store(public_id: str, digest: str = "", **fields) -> ApiKey:
        key = ApiKey(
            public_id=public_id,
            name=fields.pop("name", "a key"),
            scopes=fields.pop("scopes", frozenset({Scope.WEBHOOK})),
            created_at=clock.now(),
        )
        db.write(lambda tx: api_keys.add(tx, key, digest=digest or f"digest of {public_id}"))
        clock.advance(1)
        return key

    return store


def ask(db, question):
    with db.read() as tx:
        return question(tx)


@pytest.mark.seed("S-085")
def test_a_key_comes_back_as_it_was_stored(db, add):
    key = add("0" * 16, name="tab\tö", scopes=frozenset(Scope))
    assert ask(db, lambda tx: api_keys.find(tx, digest=f"digest of {key.public_id}")) == key
    assert ask(db, lambda tx: api_keys.find(tx, digest="another")) is None
    with db.read() as tx:
        assert tx.value("SELECT scopes FROM api_keys") == "admin,webhook"


def test_a_digest_and_an_id_are_stored_once(db, add):
    add("0" * 16, "d")
    with pytest.raises(apsw.ConstraintError):
        add("1" * 16, "d")
    with pytest.raises(apsw.ConstraintError):
        add("0" * 16, "e")


def test_a_key_is_found_by_digest_and_by_part_of_its_id_without_a_scan(db, add):
    add("0" * 16)
    for question in (
        lambda tx: api_keys.find(tx, digest="d"),
        lambda tx: api_keys.find_by_part(tx, "0" * 8),
    ):
        ((line,),) = plans_of(db, question)
        assert line.startswith("SEARCH api_keys USING INDEX")


def test_a_part_finds_exactly_the_ids_that_begin_so(db, add):
    ids = ["abcdef0000000000", "abcdef00ffffffff", "abcdef0100000000", "ffffffffffffffff"]
    for one in ids:
        add(one)
    found = {
        part: [key.public_id for key in ask(db, lambda tx, p=part: api_keys.find_by_part(tx, p))]
        for part in ("abcdef00", "abcdef01", "ffffffff", "abcdef0000000000", "00000000")
    }
    assert found == {
        "abcdef00": ids[:2],
        "abcdef01": ids[2:3],
        "ffffffff": ids[3:],
        "abcdef0000000000": ids[:1],
        "00000000": [],
    }


def test_keys_are_listed_the_oldest_first(db, add):
    keys = [add(name * 16) for name in "b0f"]
    assert ask(db, api_keys.all_keys) == keys


@pytest.mark.seed("S-101")
def test_revoking_again_keeps_the_first_time(db, add, clock):
    add("0" * 16)
    first = clock.now()
    for _ in range(2):
        key = db.write(lambda tx: api_keys.revoke(tx, "0" * 16, now=clock.now()))
        assert key.revoked_at == first
        clock.advance(60)
    assert ask(db, lambda tx: tx.value("SELECT updated_at FROM api_keys")).startswith(
        first.isoformat()[:19]
    )
    assert db.write(lambda tx: api_keys.revoke(tx, "1" * 16, now=clock.now())) is None


def test_the_last_use_is_never_put_back(db, add, clock):
    add("0" * 16)
    late = clock.now()
    for at in (late, late - timedelta(hours=1)):
        db.write(lambda tx, at=at: api_keys.note_used(tx, {"0" * 16: at, "unknown": at}))
    (key,) = ask(db, api_keys.all_keys)
    assert key.last_used_at == late


def test_a_scope_of_a_later_program_counts_for_nothing(db, add):
    add("0" * 16)
    db.write(lambda tx: tx.run("UPDATE api_keys SET scopes = 'root,webhook'"))
    (key,) = ask(db, api_keys.all_keys)
    assert key.scopes == {Scope.WEBHOOK}
