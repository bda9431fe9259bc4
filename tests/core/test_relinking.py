"""Moves of files that took each other's names, in an order in which they can be made."""

from lyrsvc.core.relinking import in_order, is_ring


def test_the_last_of_a_row_moves_first():
    (group,) = in_order({"1": "2", "3": "4", "2": "3"})

    assert group == [("3", "4"), ("2", "3"), ("1", "2")]
    assert not is_ring(group)


def test_in_a_ring_the_first_move_leads_to_where_the_last_begins():
    (group,) = in_order({"a": "b", "b": "c", "c": "a"})

    assert sorted(group) == [("a", "b"), ("b", "c"), ("c", "a")]
    assert is_ring(group)
    assert all(group[at][0] == group[at + 1][1] for at in range(2))


def test_groups_have_nothing_to_do_with_each_other():
    groups = in_order({"a": "b", "b": "a", "1": "2"})

    assert sorted(len(group) for group in groups) == [1, 2]
    assert [is_ring(group) for group in groups] == [False, True]
