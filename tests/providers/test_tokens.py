"""The credential: whose it is decides whether it may be replaced."""

import logging
import threading

import pytest

from lyrsvc.core.errors import IdentityRefused, StorageFailed, Throttled
from lyrsvc.providers.tokens import AutomaticToken, OperatorToken, is_placeholder


@pytest.mark.parametrize("token", ["0" * 56, "a", "UpgradeOnlyUpgradeOnly", "UpgradeOnly"])
def test_a_placeholder_is_known(token):
    assert is_placeholder(token)


@pytest.mark.parametrize("token", ["2609aa11bb22", "00000001", "upgrade", ""])
def test_a_real_token_is_no_placeholder(token):
    assert not is_placeholder(token)


def test_an_operators_token_is_never_minted_over_and_its_source_is_named():
    token = OperatorToken("mine", "PROVIDER_TOKEN")
    minted: list[int] = []

    with pytest.raises(IdentityRefused) as caught:
        token.renew("mine", lambda: minted.append(1) or "new")

    assert "PROVIDER_TOKEN" in str(caught.value)
    assert "portal API key is not a user token" in str(caught.value)
    assert "mine" not in str(caught.value)
    assert (token.current(), minted) == ("mine", [])


def test_a_finished_token_is_replaced_and_stored_at_once():
    stored: list[str] = []
    token = AutomaticToken("old", stored.append)

    assert token.renew("old", lambda: "new") == "new"
    assert (token.current(), stored) == ("new", ["new"])


def test_a_token_that_was_replaced_meanwhile_is_not_minted_again():
    token = AutomaticToken("new", lambda _: None)

    assert token.renew("old", pytest.fail) == "new"


@pytest.mark.spec("P-08")
def test_threads_with_the_same_finished_token_share_one_mint():
    token = AutomaticToken("old", lambda _: None)
    minted: list[int] = []
    all_here = threading.Barrier(8)
    got: list[str] = []

    def mint():
        minted.append(1)
        return "new"

    def work():
        all_here.wait()
        got.append(token.renew("old", mint))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (minted, got) == ([1], ["new"] * 8)


def test_threads_that_wait_for_a_mint_share_its_failure_too():
    token = AutomaticToken("old", lambda _: None)
    minted: list[int] = []
    flying, may_land = threading.Event(), threading.Event()
    caught: list[Throttled] = []

    def mint():
        minted.append(1)
        flying.set()
        may_land.wait(5)
        raise Throttled("no")

    def work():
        try:
            token.renew("old", mint)
        except Throttled as error:
            caught.append(error)

    pilot = threading.Thread(target=work)
    pilot.start()
    flying.wait(5)
    passenger = threading.Thread(target=work)
    passenger.start()
    while not token._flight._condition._waiters:  # the passenger is on board
        pass
    may_land.set()
    pilot.join()
    passenger.join()

    assert (minted, len(caught), token.current()) == ([1], 2, "old")
    assert token.renew("old", lambda: "later") == "later"


def test_a_token_that_cannot_be_stored_serves_this_run(caplog):
    def fail(_):
        raise StorageFailed("disk full")

    token = AutomaticToken(None, fail)

    with caplog.at_level(logging.ERROR):
        token.put("s3cr3t-value")

    assert token.current() == "s3cr3t-value"
    assert "store" in caplog.text
    assert "s3cr3t-value" not in caplog.text
