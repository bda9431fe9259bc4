"""What counts as a host."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.core.host_names import is_host, is_ipv4, is_ipv6, is_loopback


@pytest.mark.parametrize(
    "text", ["a", "a.b", "a-b.c", "a.", "1a", "10.0.0.1", "::1", "[::1]", "x" * 63, "2001:db8::1"]
)
def test_hosts(text):
    assert is_host(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", ".", "a..b", "-a", "a-", "a_b", "a b", "1.2.3", "1.2.3.256", "::g", "[::1"),
        *("x" * 64, ".".join(["x" * 60] * 5), "fe80::1%eth0", "01.2.3.4", "ä.example", "a\n"),
    ],
)
def test_no_hosts(text):
    assert not is_host(text)


@pytest.mark.parametrize(
    "text", ["localhost", "LOCALHOST", "127.0.0.1", "127.255.1.2", "::1", "[::1]", "0:0::1"]
)
def test_loopback(text):
    assert is_loopback(text)


@pytest.mark.parametrize(
    "text", ["", "127.0.0.256", "128.0.0.1", "::2", "x.localhost", "localhost.", "127.1", "0.0.0.0"]
)
def test_not_loopback(text):
    assert not is_loopback(text)


def test_a_long_name_is_judged_at_once():
    assert not is_host("a" * 100_000 + "!")
    assert not is_host("a." * 50_000 + "!")


@given(st.ip_addresses())
def test_every_address_is_a_host(address):
    assert is_host(str(address))
    assert is_ipv4(str(address)) is (address.version == 4)
    assert is_ipv6(str(address)) is (address.version == 6)
    assert is_loopback(str(address)) is address.is_loopback
