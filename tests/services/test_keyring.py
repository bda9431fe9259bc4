"""API keys: managed and static ones."""

import logging
import threading
from datetime import timedelta

import pytest

from lyrsvc.core.errors import NotFound, Refused, StoreError
from lyrsvc.core.scope import Scope
from lyrsvc.services import keyring as module
from lyrsvc.services.keyring import REVOKED, STATIC, Keyring, choose_static
from lyrsvc.store.database import Database


@pytest.fixture
def keyring(db, clock) -> Keyring:
    return Keyring(db, clock=clock)


def on_disk(db) -> bytes:
    from pathlib import Path

    path = Path(db.location)
    return b"".join(one.read_bytes() for one in path.parent.glob(f"{path.name}*"))


@pytest.mark.seed("S-085", "S-101")
def test_a_key_works_from_its_making_and_is_stored_only_as_a_hash(db, keyring, clock):
    made = keyring.create("lidarr")
    assert made.key.scopes == {Scope.WEBHOOK}
    assert (made.key.name, made.key.created_at, made.key.revoked_at) == (
        "lidarr",
        clock.now(),
        None,
    )
    found = keyring.check(made.raw)
    assert (found.key.public_id, found.key.name) == (made.key.public_id, "lidarr")
    assert found.key.actor == f"key:{made.key.public_id}"
    assert found.key.scopes == made.key.scopes
    assert made.raw.encode() not in on_disk(db)
    assert made.raw not in repr(made)


@pytest.mark.seed("S-100")
def test_scopes_are_those_the_key_was_made_with(keyring):
    made = keyring.create("", [Scope.ADMIN])
    found = keyring.check(made.raw).key
    assert Scope.ADMIN.satisfied_by(found.scopes)
    assert Scope.WEBHOOK.satisfied_by(found.scopes)
    assert not Scope.ADMIN.satisfied_by(keyring.check(keyring.create("x").raw).key.scopes)


@pytest.mark.parametrize(
    "raw", ["", "x", "lyrsvc_", "lyrsvc_" + "0" * 64, "lyrsvc_" + "0" * 5000, "\0", "\udc80", "ö"]
)
def test_what_nobody_knows_opens_nothing(keyring, raw):
    keyring.create("lidarr")
    found = keyring.check(raw)
    assert (found.key, found.reason) == (None, "unknown")


def test_a_key_in_other_letters_is_another_key(keyring):
    raw = keyring.create("x").raw
    for wrong in (raw.upper(), raw + " ", raw[:-1], raw.removeprefix("lyrsvc_")):
        assert keyring.check(wrong).key is None


@pytest.mark.seed("S-101")
def test_a_revoked_key_stops_working_at_once_in_every_process(db, keyring, clock):
    one, other = keyring.create("one"), keyring.create("other")
    with Database.open(db.location, create=False, clock=clock) as elsewhere:
        second = Keyring(elsewhere, clock=clock)
        assert second.check(one.raw).key is not None
        revoked = keyring.revoke(one.key.public_id)
        for ring in (keyring, second):
            assert (ring.check(one.raw).key, ring.check(one.raw).reason) == (None, "revoked")
            assert ring.check(other.raw).key is not None
        clock.advance(60)
        assert second.revoke_raw(one.raw).revoked_at == revoked.revoked_at


def test_a_key_is_revoked_by_a_part_of_its_id_when_only_one_begins_so(db, keyring):
    keys = [keyring.create(str(number)).key for number in range(3)]
    db.write(
        lambda tx: tx.run(
            "UPDATE api_keys SET public_id = :new WHERE public_id = :old",
            new=keys[0].public_id[:8] + ("0" * 8 if keys[0].public_id[8:] != "0" * 8 else "1" * 8),
            old=keys[1].public_id,
        )
    )
    with pytest.raises(Refused, match="2 keys begin with these digits"):
        keyring.revoke_part(keys[0].public_id[:8])
    assert keyring.revoke_part(keys[0].public_id).revoked_at
    assert keyring.revoke_part(f" {keys[2].public_id[:8].upper()}… ").public_id == keys[2].public_id
    for unknown in ("ffff", "zzzzzzzz", "%" * 8, "", "0" * 17):
        with pytest.raises(NotFound):
            keyring.revoke_part(unknown)
    assert [key.revoked_at is None for key in keyring.listing()].count(True) == 1


def test_unknown_keys_cannot_be_revoked_and_the_raw_value_is_not_repeated(keyring):
    with pytest.raises(NotFound) as refusal:
        keyring.revoke_raw("lyrsvc_" + "0" * 64)
    assert "000" not in str(refusal.value)
    with pytest.raises(NotFound):
        keyring.revoke("")


@pytest.mark.seed("S-122")
def test_static_keys_are_for_webhooks_and_never_stored(db, clock):
    ring = Keyring(db, clock=clock, static_keys=["first", "sécond"], static_source="SOME_VAR")
    for raw in ("first", "sécond"):
        assert ring.check(raw).key == STATIC
    assert not Scope.ADMIN.satisfied_by(STATIC.scopes)
    assert STATIC.actor == "key:static"
    assert ring.check("third").key is None
    assert ring.check("").key is None
    assert ring.listing() == []
    assert ring.static_sources == ("SOME_VAR", "SOME_VAR")
    assert "first" not in str(vars(ring))
    assert b"first" not in on_disk(db)
    with pytest.raises(Refused, match="SOME_VAR"):
        ring.revoke_raw("first")
    assert Keyring(db, clock=clock).check("first").key is None  # gone with the configuration


def test_managed_and_static_keys_work_side_by_side(db, clock, keyring):
    made = keyring.create("admin", [Scope.ADMIN])
    ring = Keyring(db, clock=clock, static_keys=[made.raw, "other"], static_source="x")
    assert ring.check(made.raw).key.scopes == {Scope.ADMIN}
    assert ring.check("other").key == STATIC


@pytest.mark.seed("S-101")
def test_a_revoked_key_stays_out_also_when_the_configuration_names_it(db, clock, keyring):
    made = keyring.create("lidarr")
    ring = Keyring(db, clock=clock, static_keys=[made.raw, "other"], static_source="x")
    keyring.revoke(made.key.public_id)
    assert ring.check(made.raw) == REVOKED
    assert ring.check("other").key == STATIC


def test_a_key_that_cannot_be_a_managed_one_costs_no_read(tmp_path, clock):
    db = Database.open(tmp_path / "x.db", create=True, clock=clock)
    ring = Keyring(db, clock=clock, static_keys=["static-key"])
    db.close()
    assert ring.check("static-key").key == STATIC
    assert ring.check("guess").key is None
    with pytest.raises(StoreError):
        ring.check("lyrsvc_" + "0" * 64)


def test_every_static_key_is_compared_whichever_fits(db, clock, monkeypatch):
    compared = []
    real = module.hmac.compare_digest
    monkeypatch.setattr(
        module.hmac, "compare_digest", lambda a, b: compared.append(b) or real(a, b)
    )
    ring = Keyring(db, clock=clock, static_keys=["one", "two", "three"])
    for raw in ("one", "three", "wrong"):
        compared.clear()
        ring.check(raw)
        assert len(compared) == 3


def test_a_name_that_is_too_long_is_refused_and_nothing_is_made(keyring):
    with pytest.raises(ValueError, match="at most 120"):
        keyring.create("x" * 121)
    assert keyring.listing() == []


# -- last use -----------------------------------------------------------------------------------


def last_used(keyring, made):
    (key,) = [key for key in keyring.listing() if key.public_id == made.key.public_id]
    return key.last_used_at


def test_the_last_use_is_written_off_the_request_path(keyring, clock):
    made = keyring.create("x")
    clock.advance(10)
    used_at = clock.now()
    keyring.check(made.raw)
    assert last_used(keyring, made) is None
    keyring.flush()
    assert last_used(keyring, made) == used_at


def test_the_last_use_is_written_at_most_once_a_minute(db, keyring, clock):
    made = keyring.create("x")
    seen = set()
    for _ in range(180):
        keyring.check(made.raw)
        keyring.flush()
        seen.add(last_used(keyring, made))
        clock.advance(1)
    assert len(seen) == 3


def test_a_wrong_or_revoked_key_is_not_used(keyring):
    made = keyring.create("x")
    keyring.revoke(made.key.public_id)
    keyring.check(made.raw)
    keyring.flush()
    assert last_used(keyring, made) is None


def test_what_cannot_be_written_now_is_written_later(db, keyring, clock, caplog, monkeypatch):
    made = keyring.create("x")
    keyring.check(made.raw)
    used_at = clock.now()

    def refuse(*_args, **_options):
        raise StoreError("busy")

    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(db, "write", refuse)
        keyring.flush()
    assert "the use of keys was not written down" in caplog.messages
    keyring.flush()
    assert last_used(keyring, made) == used_at


def test_many_threads_check_keys_at_once(keyring, clock):
    keys = [keyring.create(str(number)) for number in range(4)]
    wrong = []

    def check(made) -> None:
        for _ in range(50):
            if keyring.check(made.raw).key.public_id != made.key.public_id:
                wrong.append(made)
            keyring.flush()

    threads = [threading.Thread(target=check, args=(made,)) for made in keys]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    keyring.flush()
    assert wrong == []
    assert all(key.last_used_at == clock.now() for key in keyring.listing())


# -- which static keys count --------------------------------------------------------------------


@pytest.mark.seed("S-103")
@pytest.mark.parametrize(
    ("given", "source", "stored", "chosen"),
    [
        (("a", "b"), "flag", "s", (("a", "b"), "--webhook-api-key")),
        (("a",), "env:LYRSVC_WEBHOOK_API_KEY", "s", (("a",), "LYRSVC_WEBHOOK_API_KEY")),
        (("a",), "file", "s", (("a",), "server.webhook_api_keys")),
        ((), "default", "s", (("s",), "the secret store")),
        ((), "file", "s", (("s",), "the secret store")),
        ((), "default", None, ((), "")),
        ((), "default", "", ((), "")),
    ],
)
def test_the_stored_key_counts_only_when_nothing_higher_is_set(given, source, stored, chosen):
    asked = []
    assert choose_static(given, source, lambda: asked.append(1) or stored) == chosen
    assert bool(asked) is not bool(given)


def test_a_key_made_a_week_ago_still_works(keyring, clock):
    made = keyring.create("x")
    clock.moment += timedelta(days=4000)
    assert keyring.check(made.raw).key is not None
