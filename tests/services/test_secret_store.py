"""The two stored secrets: whose they are, and what happens when the key is gone."""

import json
import logging

import pytest

from fakes import FakeClock
from lyrsvc.core.errors import ConfigError, NotFound, Refused
from lyrsvc.security.vault import SecretUnreadable
from lyrsvc.services.secret_store import Secret
from lyrsvc.store import secret_blobs
from secret_service import Service


@pytest.fixture
def service(tmp_path, clock) -> Service:
    return Service(tmp_path, None, clock)


@pytest.fixture
def db(service):
    with service.open() as db:
        yield db


@pytest.fixture
def secrets(service, db):
    return service.secrets(db)


@pytest.mark.seed("S-104")
def test_what_is_set_comes_back_and_never_stands_in_the_database(service, secrets):
    secrets.set("provider_token", "tok-plain-text-1234")
    secrets.set("webhook_api_key", "key-plain-text-5678")
    assert secrets.get("provider_token") == "tok-plain-text-1234"
    assert secrets.get("webhook_api_key") == "key-plain-text-5678"
    on_disk = service.bytes_on_disk
    assert service.database.with_name("lyrsvcgo.db-wal").stat().st_size > 0
    assert b"provider_token" in on_disk
    assert b"plain-text" not in on_disk
    assert b'"value"' not in on_disk


@pytest.mark.seed("S-098")
def test_there_are_two_names(secrets, service):
    for call in (
        lambda: secrets.set("password", "x"),
        lambda: secrets.get("password"),
        lambda: secrets.set_all({"provider_token": "x", "": "y"}),
    ):
        with pytest.raises(NotFound, match="known: provider_token, webhook_api_key"):
            call()
    assert secrets.listing() == []


def test_a_secret_that_is_not_there_is_none_and_no_key_is_made(secrets, service):
    assert secrets.get("provider_token") is None
    assert secrets.listing() == []
    assert not service.key_file.exists()


@pytest.mark.seed("S-094")
def test_the_listing_has_names_and_times_only(secrets, clock: FakeClock):
    secrets.set("webhook_api_key", "w")
    clock.advance(1)
    secrets.set("provider_token", "p")
    assert secrets.listing() == [
        {"name": "provider_token", "updated_at": "2026-01-31T14:05:07.000Z"},
        {"name": "webhook_api_key", "updated_at": "2026-01-31T14:05:06.000Z"},
    ]


def test_every_clear_value_is_kept_back_from_logs(service, db, secrets):
    secrets.set("webhook_api_key", "typed")
    secrets.keep_automatic("minted", identity="i")
    service.kept_back.clear()
    other = service.secrets(db)
    other.get("webhook_api_key")
    other.get("provider_token")
    assert service.kept_back == ["typed", "minted"]
    assert "minted" not in repr(other.read("provider_token"))


@pytest.mark.seed("S-109")
@pytest.mark.parametrize("loss", ["gone", "replaced"])
def test_a_lost_key_makes_secrets_unset_with_one_complaint_and_set_repairs_it(
    service, secrets, caplog, loss
):
    secrets.set_all({"provider_token": "old-1", "webhook_api_key": "old-2"})
    if loss == "gone":
        service.key_file.unlink()
    else:
        service.key_file.write_bytes(b"another key, also of 32 bytes...")
    with caplog.at_level(logging.ERROR):
        assert secrets.get("provider_token") is None
        assert secrets.get("provider_token") is None
    (record,) = caplog.records
    assert "lyrsvc secrets set provider_token" in record.getMessage()
    assert service.key_file.exists() is (loss == "replaced")

    secrets.set("provider_token", "new-1")
    assert secrets.get("provider_token") == "new-1"
    assert secrets.sealed_otherwise() == ["webhook_api_key"]
    secrets.set("webhook_api_key", "new-2")
    assert secrets.get("webhook_api_key") == "new-2"
    assert secrets.sealed_otherwise() == []


@pytest.mark.seed("S-105")
def test_a_broken_key_file_is_no_reason_to_go_on_without_one(service, secrets):
    secrets.set("provider_token", "hush")
    before = service.rows
    service.key_file.write_bytes(b"x" * 31)
    for call in (
        lambda: secrets.set("provider_token", "later"),
        lambda: secrets.get("provider_token"),
        lambda: secrets.keep_automatic("later", identity="i"),
    ):
        with pytest.raises(ConfigError, match="31 bytes"):
            call()
    assert service.key_file.read_bytes() == b"x" * 31
    assert service.rows == before


def test_rows_cannot_be_swapped(service, db, secrets, caplog):
    secrets.set("webhook_api_key", "key-1")
    with db.read() as tx:
        row = secret_blobs.get(tx, "webhook_api_key")
    stolen = secret_blobs.SecretBlob(
        name="provider_token", ciphertext=row.ciphertext, key_check=row.key_check
    )
    db.write(lambda tx: secret_blobs.put(tx, stolen, now=service.clock.now()))
    assert secrets.get("provider_token") is None
    assert "it is damaged" in caplog.text


@pytest.mark.parametrize(
    "content", ["hush", "[]", "{}", '{"value": 1}', '{"value":"a","identity":2}']
)
def test_a_content_of_another_shape_is_damaged(service, db, secrets, content):
    sealed = secrets._vault.seal("provider_token", content)
    blob = secret_blobs.SecretBlob(name="provider_token", **sealed._asdict())
    db.write(lambda tx: secret_blobs.put(tx, blob, now=service.clock.now()))
    with pytest.raises(SecretUnreadable):
        secrets.look("provider_token")


def test_the_operators_secret_and_an_automatic_one_are_told_apart(secrets):
    secrets.keep_automatic("minted", identity="pair")
    assert secrets.read("provider_token") == Secret("minted", "pair")
    assert secrets.read("provider_token").automatic
    secrets.keep_automatic("minted again", identity="other")
    assert secrets.read("provider_token") == Secret("minted again", "other")
    secrets.set("provider_token", "mine")
    assert secrets.read("provider_token") == Secret("mine")
    assert not secrets.read("provider_token").automatic


@pytest.mark.seed("S-011")
def test_an_automatic_token_never_replaces_the_operators(secrets):
    secrets.set("provider_token", "mine")
    with pytest.raises(
        Refused, match=r"may be the operator's; .* clear api\.token on the settings"
    ):
        secrets.keep_automatic("minted", identity="i")
    assert secrets.get("provider_token") == "mine"
    secrets.discard_automatic()
    assert secrets.get("provider_token") == "mine"


@pytest.mark.seed("S-011")
def test_a_token_the_operator_stores_in_the_very_moment_is_not_lost(service, db, secrets):
    """The row changes after it was looked at, but before the new token is written."""
    secrets.keep_automatic("minted", identity="i")
    other = service.secrets(db)
    vault, seal = secrets._vault, secrets._vault.seal

    class Slow:
        def __getattr__(self, name):
            return getattr(vault, name)

        def seal(self, name, text):
            other.set("provider_token", "mine")
            return seal(name, text)

    secrets._vault = Slow()
    with pytest.raises(Refused):
        secrets.keep_automatic("minted again", identity="i")
    assert other.get("provider_token") == "mine"


def test_an_automatic_token_never_replaces_one_that_cannot_be_read(service, secrets):
    secrets.keep_automatic("minted", identity="i")
    key = service.key_file.read_bytes()
    service.key_file.unlink()
    with pytest.raises(Refused):
        secrets.keep_automatic("minted again", identity="i")
    secrets.discard_automatic()
    assert not service.key_file.exists()
    service.key_file.write_bytes(key)
    assert secrets.get("provider_token") == "minted"


def test_no_second_key_is_made_by_itself_while_secrets_wait_for_the_first(service, secrets):
    secrets.set("webhook_api_key", "w")
    service.key_file.unlink()
    with pytest.raises(Refused, match="key of the stored secrets is gone"):
        secrets.keep_automatic("minted", identity="i")
    assert not service.key_file.exists()


def test_an_automatic_token_can_be_discarded(secrets):
    secrets.discard_automatic()
    secrets.keep_automatic("minted", identity="i")
    secrets.discard_automatic()
    assert secrets.read("provider_token") is None


def test_the_sealed_content_is_a_small_object(secrets):
    secrets.keep_automatic("minted", identity="pair")
    with secrets._db.read() as tx:
        blob = secret_blobs.get(tx, "provider_token")
    sealed = type(secrets._vault.seal("provider_token", ""))(blob.ciphertext, blob.key_check)
    content = json.loads(secrets._vault.open("provider_token", sealed))
    assert content == {"value": "minted", "identity": "pair"}


def test_secrets_can_be_forgotten_whoever_stored_them(secrets):
    secrets.set("webhook_api_key", "key-plain-text-5678")
    secrets.keep_automatic("tok-plain-text-1234", identity="me")

    secrets.forget(["provider_token", "webhook_api_key"])
    secrets.forget(["provider_token"])

    assert secrets.listing() == []
    with pytest.raises(NotFound):
        secrets.forget(["password"])
