"""The table of sealed secrets."""

import pytest

from lyrsvc.store import secret_blobs
from lyrsvc.store.secret_blobs import SecretBlob

FIRST = SecretBlob(name="provider_token", ciphertext=b"\x01one\x00", key_check="aa")
SECOND = SecretBlob(name="provider_token", ciphertext=b"\x01two\xff", key_check="bb")


@pytest.fixture
def put(db, clock):
    return lambda blob: db.write(lambda tx: secret_blobs.put(tx, blob, now=clock.now()))


def got(db, name="provider_token"):
    with db.read() as tx:
        return secret_blobs.get(tx, name)


def test_a_blob_comes_back_as_it_was(db, put):
    assert got(db) is None
    put(FIRST)
    assert got(db) == FIRST
    assert got(db, "webhook_api_key") is None


def test_a_later_blob_takes_the_place_and_the_time_moves_on(db, put, clock):
    put(FIRST)
    clock.advance(60)
    put(SECOND)
    assert got(db) == SECOND
    with db.read() as tx:
        row = tx.first("SELECT created_at, updated_at FROM secrets")
        assert secret_blobs.names(tx) == [
            {"name": "provider_token", "updated_at": "2026-01-31T14:06:06.000Z"}
        ]
    assert row["created_at"] == "2026-01-31T14:05:06.000Z"


def test_names_come_sorted_with_their_keys(db, put):
    put(SecretBlob(name="webhook_api_key", ciphertext=b"w", key_check="ww"))
    put(FIRST)
    with db.read() as tx:
        assert secret_blobs.key_checks(tx) == {"provider_token": "aa", "webhook_api_key": "ww"}
        assert [row["name"] for row in secret_blobs.names(tx)] == [
            "provider_token",
            "webhook_api_key",
        ]


def test_a_blob_takes_only_the_place_it_was_meant_for(db, put, clock):
    def put_instead(blob, of):
        return db.write(lambda tx: secret_blobs.put_instead(tx, blob, of=of, now=clock.now()))

    assert not put_instead(FIRST, of=SECOND)
    assert got(db) is None
    assert put_instead(FIRST, of=None)
    assert not put_instead(SECOND, of=None)
    assert got(db) == FIRST
    assert put_instead(SECOND, of=FIRST)
    assert got(db) == SECOND


def test_only_the_very_blob_is_deleted(db, put):
    put(SECOND)
    assert not db.write(lambda tx: secret_blobs.delete(tx, FIRST))
    assert got(db) == SECOND
    assert db.write(lambda tx: secret_blobs.delete(tx, SECOND))
    assert got(db) is None
