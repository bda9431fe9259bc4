"""Values that prove a write comes from one of our own pages."""

import hashlib
import hmac
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.security.csrf import ANONYMOUS, Csrf

KEY = bytes(range(32))


@pytest.fixture
def csrf() -> Csrf:
    return Csrf(KEY)


def test_a_value_is_a_nonce_and_its_hmac_with_the_session(csrf):
    value = csrf.mint("session-1")
    nonce, seal = re.fullmatch(r"([0-9a-f]{32})\.([0-9a-f]{64})", value).groups()
    assert seal == hmac.new(KEY, f"{nonce}session-1".encode(), hashlib.sha256).hexdigest()
    assert csrf.mint("session-1") != value


def test_cookie_and_form_must_agree_and_be_genuine(csrf):
    value, other = csrf.mint(), csrf.mint()
    assert csrf.accepts(value, value)
    assert not csrf.accepts(value, other)
    assert not csrf.accepts(value, "")
    assert not csrf.accepts("", value)
    assert not csrf.accepts("", "")
    forged = "0" * 32 + "." + "0" * 64
    assert not csrf.accepts(forged, forged)


def test_a_value_of_one_session_is_worth_nothing_in_another(csrf):
    anonymous, signed_in = csrf.mint(), csrf.mint("session-1")
    assert csrf.accepts(anonymous, anonymous, ANONYMOUS)
    assert not csrf.accepts(anonymous, anonymous, "session-1")
    assert not csrf.accepts(signed_in, signed_in)
    assert not csrf.accepts(signed_in, signed_in, "session-2")


def test_a_value_survives_a_restart_with_the_same_key_only(csrf):
    value = csrf.mint("s")
    assert Csrf(KEY).is_genuine(value, "s")
    assert not Csrf(bytes(32)).is_genuine(value, "s")


def test_a_page_load_keeps_a_good_value_so_that_the_first_tab_goes_on(csrf):
    first = csrf.renewed("", "s")
    assert csrf.renewed(first, "s") == first
    rotated = csrf.renewed(first, "after-sign-in")
    assert rotated != first
    assert csrf.is_genuine(rotated, "after-sign-in")
    assert not csrf.accepts(first, first, "after-sign-in")


@given(st.text(max_size=120), st.text(max_size=120))
def test_no_text_breaks_the_check(cookie, carried):
    assert Csrf(KEY).accepts(cookie, carried) is False
    assert Csrf(KEY).accepts("\ud800", "\ud800", "\udfff") is False


@given(st.integers(0, 96), st.sampled_from("0123456789abcdef.xA\n"))
def test_a_value_with_one_other_sign_is_refused(at, sign):
    csrf = Csrf(KEY)
    value = csrf.mint("s")
    changed = value[:at] + sign + value[at + 1 :]
    assert csrf.is_genuine(changed, "s") is (changed == value)
