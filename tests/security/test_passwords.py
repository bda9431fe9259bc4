"""Passwords are hashed with scrypt, and the stored text says how."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.security import passwords as module
from lyrsvc.security.passwords import Cost, Passwords

CHEAP = Cost(ln=1, r=1, p=1)


@pytest.fixture
def passwords() -> Passwords:
    return Passwords(CHEAP)


def test_the_real_parameters_cost_16_mib_and_are_stored_with_the_hash():
    passwords = Passwords()
    stored = passwords.hash("päss wörd")
    assert re.fullmatch(r"\$scrypt\$ln=14,r=8,p=5\$[\w+/]{22}\$[\w+/]{43}", stored)
    assert Cost().memory == 16 * 1024 * 1024
    assert passwords.verify("päss wörd", stored)
    assert not passwords.verify("pass word", stored)
    assert not passwords.needs_rehash(stored)


def test_the_hash_is_the_one_the_standard_describes():
    # RFC 7914, section 12, third vector: N = 16384, r = 8, p = 1, first 32 of 64 bytes.
    made = module._run(b"pleaseletmein", b"SodiumChloride", Cost(ln=14, r=8, p=1))
    assert made.hex() == "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_what_was_hashed_is_verified_and_nothing_longer_is(password):
    passwords = Passwords(CHEAP)
    stored = passwords.hash(password)
    assert passwords.verify(password, stored)
    assert not passwords.verify(password + "x", stored)


def test_two_hashes_of_one_password_differ(passwords):
    assert passwords.hash("12345678") != passwords.hash("12345678")


def test_letters_may_be_composed_either_way(passwords):
    assert passwords.verify("pa\u0308ssword", passwords.hash("pässword"))


@pytest.mark.parametrize(
    "stored",
    [
        None,
        "",
        "plaintext",
        "$scrypt$ln=1,r=1,p=1$AAAA$BBBB",
        "$scrypt$ln=0,r=1,p=1$" + "A" * 22 + "$" + "A" * 43,
        "$scrypt$ln=17,r=8,p=1$" + "A" * 22 + "$" + "A" * 43,  # 128 MiB
        "$scrypt$ln=1,r=1,p=999$" + "A" * 22 + "$" + "A" * 43,
        "$scrypt$ln=1,r=0,p=1$" + "A" * 22 + "$" + "A" * 43,
        "$argon2id$v=19$m=1,t=1,p=1$AAAA$BBBB",
    ],
)
def test_without_a_usable_hash_nothing_is_right_but_one_hash_is_paid(
    passwords, stored, monkeypatch
):
    paid = []
    run = module._run
    monkeypatch.setattr(module, "_run", lambda *args: paid.append(args[2]) or run(*args))
    assert passwords.verify("12345678", stored) is False
    assert paid == [CHEAP]


def test_parameters_up_to_64_mib_are_obeyed():
    assert Cost(ln=16, r=8, p=1).acceptable
    assert not Cost(ln=17, r=8, p=1).acceptable
    assert not Cost(ln=16, r=9, p=1).acceptable


def test_what_is_no_text_is_never_right_and_never_hashed(passwords):
    stored = passwords.hash("")
    assert not passwords.verify("\ud800", stored)
    with pytest.raises(ValueError, match="no text"):
        passwords.hash("\ud800")


def test_a_hash_of_other_parameters_is_verified_and_wants_to_be_made_anew(passwords):
    old = Passwords(Cost(ln=2, r=1, p=1)).hash("12345678")
    assert passwords.verify("12345678", old)
    assert passwords.needs_rehash(old)
    assert passwords.needs_rehash("garbage")
    assert not passwords.needs_rehash(passwords.hash("12345678"))
