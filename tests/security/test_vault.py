"""AES-256-GCM: what is sealed comes back, and nothing else does."""

import base64
import subprocess
import sys
from itertools import count

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.security.master_key import MasterKey
from lyrsvc.security.vault import (
    DAMAGED,
    NO_KEY,
    WRONG_KEY,
    Sealed,
    SecretUnreadable,
    Vault,
    key_check,
)
from source_tree import PACKAGE, modules, name

KEY = bytes(range(32))


def vault_of(key: bytes) -> Vault:
    text = base64.b64encode(key).decode()
    return Vault(MasterKey(text=text, file=PACKAGE / "no" / "such.key"))


VAULT = vault_of(KEY)


def why(vault: Vault, sealed: Sealed, secret: str = "provider_token") -> str:
    with pytest.raises(SecretUnreadable) as caught:
        vault.open(secret, sealed)
    return caught.value.why


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_what_is_sealed_comes_back(text):
    assert VAULT.open("provider_token", VAULT.seal("provider_token", text)) == text


@pytest.mark.seed("S-104")
def test_the_form_is_version_nonce_ciphertext_and_tag_of_aes_256_gcm():
    blob, check = VAULT.seal("provider_token", "hush")
    assert blob[:1] == b"\x01"
    assert len(blob) == 1 + 12 + len("hush") + 16
    clear = AESGCM(KEY).decrypt(blob[1:13], blob[13:], b"lyrsvc:secret:provider_token")
    assert clear == b"hush"
    assert check == key_check(KEY)
    assert len(check) == 16


def test_no_two_sealings_are_alike():
    assert len({VAULT.seal("provider_token", "hush").ciphertext for _ in range(100)}) == 100


def test_a_row_cannot_be_swapped_for_another():
    sealed = VAULT.seal("webhook_api_key", "hush")
    assert why(VAULT, sealed, "provider_token") == DAMAGED


def test_every_changed_byte_is_noticed():
    blob, check = VAULT.seal("provider_token", "hush")
    for at in range(len(blob)):
        changed = bytes(byte ^ 1 if index == at else byte for index, byte in zip(count(), blob))
        assert why(VAULT, Sealed(changed, check)) == DAMAGED


@pytest.mark.parametrize("blob", [b"", b"\x01", b"\x01" + bytes(27), b"\x02" + bytes(60)])
def test_what_was_never_sealed_is_damaged(blob):
    assert why(VAULT, Sealed(blob, key_check(KEY))) == DAMAGED


@pytest.mark.seed("S-109")
def test_a_wrong_key_is_told_from_a_damaged_row():
    sealed = VAULT.seal("provider_token", "hush")
    assert why(vault_of(b"o" * 32), sealed) == WRONG_KEY


def test_a_damaged_key_check_alone_harms_nothing():
    sealed = VAULT.seal("provider_token", "hush")
    assert VAULT.open("provider_token", sealed._replace(key_check="?")) == "hush"


def test_opening_never_makes_a_key(tmp_path):
    sealed = VAULT.seal("provider_token", "hush")
    vault = Vault(MasterKey(text="", file=tmp_path / "key"))
    assert not vault.has_key()
    assert not vault.opens(sealed.key_check)
    assert why(vault, sealed) == NO_KEY
    assert list(tmp_path.iterdir()) == []
    vault.seal("provider_token", "hush")
    assert vault.has_key()
    assert not vault.opens(sealed.key_check)


def test_the_complaint_names_the_remedy_and_no_secret():
    with pytest.raises(SecretUnreadable) as caught:
        vault_of(b"o" * 32).open("provider_token", VAULT.seal("provider_token", "hush-hush"))
    assert "lyrsvc secrets set provider_token" in str(caught.value)
    assert "hush" not in str(caught.value)


def test_cryptography_is_used_where_secrets_and_certificates_are_and_loaded_when_needed():
    users = {name(path) for path in modules() if "cryptography" in path.read_text("utf-8")}
    assert users == {"security/vault.py", "security/certificates.py", "security/self_signed.py"}
    script = (
        f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r}); "
        "import lyrsvc.security.vault; sys.exit('cryptography' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
