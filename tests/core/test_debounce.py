"""Directories wait for their quiet period, once each, whatever happens."""

from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.core.debounce import Debounce, above, topmost

ROOT = "/m"


def waiting(**options) -> Debounce:
    return Debounce(**{"quiet_s": 2.0, **options})


def test_a_directory_is_due_when_its_quiet_period_is_over():
    debounce = waiting()
    assert debounce.next_due_at() is None
    debounce.touch("/m/a", ROOT, 10.0)
    assert debounce.next_due_at() == 12.0
    assert debounce.take_due(11.9) == []
    assert debounce.take_due(12.0) == ["/m/a"]
    assert len(debounce) == 0


def test_every_event_restarts_the_timer():
    debounce = waiting()
    for second in range(10):
        debounce.touch("/m/a", ROOT, float(second))
        assert debounce.take_due(float(second)) == []
    assert debounce.take_due(10.9) == []
    assert debounce.take_due(11.0) == ["/m/a"]


def test_steady_events_do_not_hold_a_directory_back_for_ever():
    debounce = waiting(longest_s=5.0)
    moment = 0.0
    while not (due := debounce.take_due(moment)):
        debounce.touch("/m/a", ROOT, moment)
        moment += 1.0
    assert (due, moment) == (["/m/a"], 5.0)


def test_a_waiting_directory_stands_for_those_below_it():
    debounce = waiting()
    debounce.touch("/m/a", ROOT, 0.0)
    debounce.touch("/m/a/b/c", ROOT, 1.5)
    assert len(debounce) == 1
    assert debounce.take_due(2.0) == []  # the event below restarted its timer
    assert debounce.take_due(3.5) == ["/m/a"]


def test_one_that_comes_later_takes_those_below_it_in():
    debounce = waiting(longest_s=3.0)
    debounce.touch("/m/a/b", ROOT, 0.0)
    debounce.touch("/m/a/c", ROOT, 1.0)
    debounce.touch("/m/a", ROOT, 1.5)
    debounce.touch("/m/ab", ROOT, 1.6)
    assert debounce.take_due(2.0) == []
    assert debounce.take_due(3.0) == ["/m/a"]  # as old as the oldest it stands for
    assert debounce.take_due(4.0) == ["/m/ab"]


def test_a_directory_of_another_root_is_not_taken_in():
    debounce = waiting()
    debounce.touch("/m", ROOT, 0.0)
    debounce.touch("/m/inner/x", "/m/inner", 0.5)
    assert debounce.take_due(9.0) == ["/m", "/m/inner/x"]


def test_too_many_directories_become_their_roots():
    debounce = waiting(most=3)
    assert all(debounce.touch(f"/m/{n}", ROOT, float(n)) for n in range(2))
    assert debounce.touch("/n/0", "/n", 2.0)
    assert not debounce.touch("/o/0", "/o", 3.0)
    assert len(debounce) == 3
    assert debounce.touch("/m/7", ROOT, 4.0)
    assert debounce.take_due(9.0) == ["/n", "/o", "/m"]


def test_the_root_of_the_one_too_many_may_wait_already():
    debounce = waiting(most=1)
    debounce.touch("/m/1", ROOT, 0.0)
    assert not debounce.touch("/m/2", ROOT, 1.0)
    assert debounce.take_due(3.0) == ["/m"]


def test_a_storm_is_held_in_one_place():
    debounce = waiting()
    for number in range(200_000):
        debounce.touch("/m/a", ROOT, number / 1e6)
    assert len(debounce) == 1


def test_the_topmost_are_those_below_no_other_of_the_same_root():
    pairs = [
        ("/m/a/b", "/m"),
        ("/m/a", "/m"),
        ("/m/ab", "/m"),
        ("/m/a/i", "/m/a/i"),
        ("/m/a", "/m"),
    ]
    assert topmost(pairs) == ["/m/a", "/m/ab", "/m/a/i"]


def test_above_ends_with_the_root():
    assert list(above("/m/a/b", "/m")) == ["/m/a", "/m"]
    assert list(above("/m", "/m")) == []


names = st.lists(st.sampled_from("abc"), max_size=3).map(lambda parts: "/".join([ROOT, *parts]))


@given(st.lists(st.tuples(names, st.floats(0, 1)), min_size=1, max_size=30))
def test_every_event_is_followed_by_a_scan_that_covers_it(events):
    debounce = waiting(quiet_s=0.7, longest_s=4.0)
    now, uncovered = 0.0, []
    for directory, pause in events:
        now += pause
        taken = debounce.take_due(now)
        uncovered = [one for one in uncovered if not covered(one, taken)]
        debounce.touch(directory, ROOT, now)
        uncovered.append(directory)
    taken = debounce.take_due(now + 0.7)
    assert [one for one in uncovered if not covered(one, taken)] == []
    assert len(debounce) == 0
    assert all(not covered(one, [other]) for one in taken for other in taken if one != other)


def covered(directory: str, scanned: list[str]) -> bool:
    return any(directory == one or directory.startswith(f"{one}/") for one in scanned)
