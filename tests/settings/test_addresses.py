"""What an address in a setting means."""

import pytest

from lyrsvc.settings.addresses import (
    split_address,
    url_host,
    user_info,
    without_anything_before_at,
    without_user_info,
)


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:3876", "127.0.0.1", 3876),
        (":80", "", 80),
        ("[::1]:0", "::1", 0),
        ("[fe80::1%eth0]:1", "fe80::1%eth0", 1),
    ],
)
def test_a_listen_address_is_divided(text, host, port):
    assert split_address(text) == (host, port)


@pytest.mark.parametrize(
    ("url", "host", "info", "shown"),
    [
        ("https://a.example/x@y", "a.example", "", "https://a.example/x@y"),
        ("https://me:pw@a:1/x", "a", "me:pw", "https://[REDACTED]@a:1/x"),
        ("https://me:p@w@a", "a", "me:p@w", "https://[REDACTED]@a"),
        ("http://[::1]:8", "[::1]", "", "http://[::1]:8"),
        ("plain text", "plain text", "", "plain text"),
    ],
)
def test_user_info_is_found_and_hidden(url, host, info, shown):
    assert url_host(url) == host
    assert user_info(url) == info
    assert without_user_info(url) == shown


def test_in_a_broken_url_everything_before_the_last_at_is_hidden():
    assert without_anything_before_at("x/y:z@w@host/p") == "[REDACTED]@host/p"
    assert without_anything_before_at("host") == "host"
