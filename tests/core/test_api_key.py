"""Keys as others may see them, and what their scopes allow."""

from datetime import UTC, datetime

import pytest

from lyrsvc.cli import access_table
from lyrsvc.core.api_key import ApiKey, checked_name, id_part
from lyrsvc.core.scope import SCOPES, Scope, read_scopes, write_scopes


@pytest.mark.seed("S-100")
@pytest.mark.parametrize(
    ("needed", "scopes", "passes"),
    [
        (Scope.WEBHOOK, {Scope.WEBHOOK}, True),
        (Scope.WEBHOOK, {Scope.ADMIN}, True),
        (Scope.ADMIN, {Scope.ADMIN}, True),
        (Scope.ADMIN, {Scope.WEBHOOK}, False),
        (Scope.ADMIN, {Scope.WEBHOOK, Scope.ADMIN}, True),
        (Scope.WEBHOOK, set(), False),
        (Scope.ADMIN, set(), False),
    ],
)
def test_admin_satisfies_every_requirement_and_webhook_its_own(needed, scopes, passes):
    assert needed.satisfied_by(scopes) is passes


def test_no_scope_means_webhook_and_an_unknown_one_is_named():
    assert read_scopes([]) == {Scope.WEBHOOK}
    assert read_scopes(["webhook", "admin", "admin"]) == {Scope.ADMIN, Scope.WEBHOOK}
    with pytest.raises(ValueError, match='"root" is not one of admin, webhook'):
        read_scopes(["admin", "root"])


def test_scopes_are_written_sorted():
    assert write_scopes([Scope.WEBHOOK, Scope.ADMIN]) == "admin,webhook"


def test_the_command_line_knows_the_same_scopes():
    assert access_table.SCOPES == SCOPES


def test_listings_show_eight_digits_of_the_id():
    key = ApiKey(
        public_id="0123456789abcdef",
        name="",
        scopes=frozenset({Scope.ADMIN}),
        created_at=datetime(2026, 1, 31, tzinfo=UTC),
    )
    assert (key.short_id, key.scope_text) == ("01234567", "admin")


def test_a_name_may_be_empty_or_odd_but_not_long():
    assert checked_name("") == ""
    assert checked_name("a\tb\0\udc80") == "a\tb\ufffd"
    assert checked_name("ö" * 120) == "ö" * 120
    with pytest.raises(ValueError, match="at most 120"):
        checked_name("x" * 121)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("01234567", "01234567"),
        (" 01234567… ", "01234567"),
        ("0123456789ABCDEF", "0123456789abcdef"),
        ("0123456", None),
        ("0123456789abcdef0", None),
        ("0123456%", None),
        ("", None),
    ],
)
def test_the_beginning_of_an_id_is_read_as_a_listing_shows_it(text, part):
    assert id_part(text) == part
