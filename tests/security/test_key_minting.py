"""Keys and tokens: random, and kept only as digests."""

import hashlib
import re

import pytest

from lyrsvc.core.redaction import REDACTED, Redactor
from lyrsvc.security.key_minting import (
    digest_of,
    is_managed_form,
    is_token_form,
    mint_id,
    mint_key,
    mint_token,
)


def test_a_managed_key_has_its_form_and_an_id_that_tells_nothing_of_it():
    minted = mint_key()
    assert re.fullmatch(r"lyrsvc_[0-9a-f]{64}", minted.raw)
    assert re.fullmatch(r"[0-9a-f]{16}", minted.public_id)
    assert minted.public_id not in minted.raw
    assert minted.digest == hashlib.sha256(minted.raw.encode()).hexdigest()
    assert is_managed_form(minted.raw)


def test_no_two_are_the_same():
    assert len({mint_key().raw for _ in range(100)}) == 100
    assert len({mint_token() for _ in range(100)}) == 100
    assert len({mint_id() for _ in range(100)}) == 100


def test_a_key_is_neither_shown_by_its_object_nor_by_a_log_line():
    minted = mint_key()
    assert minted.raw not in repr(minted)
    assert Redactor().clean(f"got {minted.raw}") == f"got {REDACTED}"


@pytest.mark.parametrize(
    "text",
    ["", "x", "lyrsvc_", "lyrsvc_" + "0" * 63, "lyrsvc_" + "0" * 65, "lyrsvc_" + "A" * 64,
     "lyrsvc_" + "0" * 64 + "\n", "LYRSVC_" + "0" * 64, "lyrsvc_" + "٠" * 64],
)  # fmt: skip
def test_what_cannot_be_a_managed_key_is_told_at_once(text):
    assert not is_managed_form(text)


def test_a_session_token_holds_32_random_bytes():
    token = mint_token()
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", token)
    assert is_token_form(token)
    assert not any(map(is_token_form, ("", token + "=", token[1:], token + "\n", "é" * 43)))


def test_any_text_has_a_digest():
    assert len(digest_of("\ud800 ö \0")) == 64
