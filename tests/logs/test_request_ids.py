"""The id that ties lines together."""

import contextvars
import threading

import pytest

from lyrsvc.logs.request_ids import accepted, current_request_id, new_request_id, serving


def test_an_id_has_sixteen_characters_and_is_never_the_same():
    ids = {new_request_id() for _ in range(100)}
    assert len(ids) == 100
    assert all(len(one) == 16 and accepted(one) for one in ids)


@pytest.mark.parametrize("one", ["a", "A-b_c.9", "x" * 64])
def test_an_id_of_a_client_may_have_letters_digits_dots_dashes(one):
    assert accepted(one)


@pytest.mark.parametrize("one", ["", "x" * 65, "a b", "a\n", "ä", "a/b", "a;b", "\u0661"])
def test_any_other_id_of_a_client_is_refused(one):
    assert not accepted(one)


def test_the_id_holds_for_its_context_alone():
    seen = []
    with serving("outer"):
        with serving("inner"):
            assert current_request_id() == "inner"
        assert current_request_id() == "outer"
        for run in (contextvars.copy_context().run, lambda call: call()):
            thread = threading.Thread(target=run, args=(lambda: seen.append(current_request_id()),))
            thread.start()
            thread.join()
    assert current_request_id() == ""
    assert seen == ["outer", ""]
