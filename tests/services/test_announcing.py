"""The hub of events: nothing is missed, nobody is waited for."""

import threading

import pytest

from fakes import FakeClock
from lyrsvc.services.announcing import (
    MOST_STREAMS,
    MOST_UNSENT,
    OUTCOMES_A_SECOND,
    REMEMBERED,
    Announcer,
    TooManyStreams,
)
from lyrsvc.services.noticing import Noticer, Sight


@pytest.fixture
def announcer(clock: FakeClock) -> Announcer:
    return Announcer(clock=clock)


def listen(announcer, **more):
    return announcer.open(wake=more.pop("wake", lambda: None), **more)


def test_events_reach_everybody_in_order_with_rising_ids(announcer):
    streams = [listen(announcer), listen(announcer)]

    announcer.tell("lane", 1)
    announcer.tell("task", 2)

    for stream in streams:
        news = stream.take()
        assert [(one.event, one.data) for one in news] == [("lane", 1), ("task", 2)]
        (start, first), (again, second) = (one.id.split("-") for one in news)
        assert start == again
        assert int(second) == int(first) + 1
        assert stream.take() == []


@pytest.mark.spec("H-55")
def test_whoever_comes_back_misses_nothing(announcer):
    stream = listen(announcer)
    announcer.tell("lane", 0)
    last_id = stream.take()[-1].id
    stream.close()
    for number in range(1, 6):
        announcer.tell("lane", number)

    again = listen(announcer, last_id=last_id)
    announcer.tell("lane", 6)

    assert again.resumes
    assert [one.data for one in again.take()] == [1, 2, 3, 4, 5, 6]


def test_what_is_remembered_is_as_it_was_when_it_was_told(announcer):
    stream = listen(announcer)
    last_id = stream.last_id
    counts = {"pending": 1}
    announcer.tell("queue", counts)
    counts["pending"] = 2

    (told,) = listen(announcer, last_id=last_id).take()
    assert (told.event, told.data) == ("queue", {"pending": 1})
    assert told.id == stream.take()[0].id


def test_more_than_a_hundred_missed_events_are_replayed_too(announcer):
    stream = listen(announcer)
    last_id = stream.last_id
    stream.close()
    for number in range(REMEMBERED):
        announcer.tell("lane", number)

    again = listen(announcer, last_id=last_id)

    assert [one.data for one in again.take()] == list(range(REMEMBERED))
    assert not again.ended


@pytest.mark.parametrize(
    "last_id", ["nonsense", "1-1", "-", "{start}-999999", "{start}-x", "{start}-"]
)
def test_an_id_nobody_knows_asks_for_a_fresh_start(announcer, last_id):
    start = listen(announcer).last_id.partition("-")[0]
    announcer.tell("lane", 1)

    stream = listen(announcer, last_id=last_id.format(start=start))

    assert not stream.resumes
    assert stream.take() == []


def test_an_event_that_fell_out_of_memory_asks_for_a_fresh_start(announcer):
    first = listen(announcer)
    last_id = first.last_id
    first.close()
    for number in range(REMEMBERED + 1):
        announcer.tell("lane", number)

    assert not listen(announcer, last_id=last_id).resumes


@pytest.mark.spec("H-55")
def test_the_twenty_first_listener_is_refused_until_one_leaves(announcer):
    streams = [listen(announcer) for _ in range(MOST_STREAMS)]

    with pytest.raises(TooManyStreams):
        listen(announcer)
    streams[3].close()
    streams[3].close()

    assert listen(announcer)
    assert announcer.listeners == MOST_STREAMS


@pytest.mark.spec("H-55")
def test_a_listener_that_takes_nothing_is_let_go_and_the_others_stay(announcer):
    woken = []
    slow, quick = listen(announcer, wake=lambda: woken.append(1)), listen(announcer)

    for number in range(MOST_UNSENT + 1):
        announcer.tell("lane", number)
        quick.take()

    assert slow.ended
    assert not quick.ended
    assert announcer.listeners == 1
    assert len(woken) == MOST_UNSENT + 1  # the last time to see that it is over


def test_of_very_many_outcomes_in_a_second_twenty_are_told(announcer, clock):
    stream = listen(announcer)

    for number in range(50):
        announcer.tell_outcome(number)
    assert [one.data for one in stream.take()] == list(range(OUTCOMES_A_SECOND))
    clock.advance(1.0)
    announcer.tell_outcome("later")

    assert [one.data for one in stream.take()] == ["later"]


def test_many_threads_tell_and_every_id_is_used_once(announcer):
    stream = listen(announcer)
    threads = [
        threading.Thread(target=lambda: [announcer.tell("lane", n) for n in range(10)])
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    ids = [int(one.id.partition("-")[2]) for one in stream.take()]
    assert sorted(ids) == list(range(1, 81))


@pytest.mark.spec("H-55")
def test_ids_rise_on_every_stream_also_when_two_tell_at_once(announcer):
    """Whoever saw the later one of two and comes back would never be told the earlier one."""
    is_told, may_go_on = threading.Event(), threading.Event()

    def hold_up() -> None:
        if not is_told.is_set():
            is_told.set()
            may_go_on.wait(30)

    listen(announcer, wake=hold_up)
    behind = listen(announcer)
    first = threading.Thread(target=announcer.tell, args=("lane", 1))
    second = threading.Thread(target=announcer.tell, args=("lane", 2))
    first.start()
    assert is_told.wait(30)
    second.start()
    second.join(0.2)
    may_go_on.set()
    for thread in (first, second):
        thread.join(30)

    assert [one.data for one in behind.take()] == [1, 2]


def test_at_the_end_every_stream_ends_and_none_begins(announcer):
    stream = listen(announcer)

    announcer.close()

    assert stream.ended
    with pytest.raises(TooManyStreams):
        listen(announcer)


class Shelf:
    """A source of things that somebody else changes."""

    def __init__(self) -> None:
        self.things: dict[object, object] = {}
        self.looks = 0

    def __call__(self):
        self.looks += 1
        return {key: Sight(thing, (key, thing)) for key, thing in self.things.items()}


def test_what_changes_is_told_once_and_the_first_look_tells_nothing(announcer):
    shelf = Shelf()
    shelf.things = {"a": 1, "b": 1}
    noticer = Noticer(announcer, {"lane": shelf})
    stream = listen(announcer)

    noticer.look()
    assert stream.take() == []
    shelf.things |= {"b": 2, "c": 1}
    noticer.look()
    noticer.look()

    assert [one.data for one in stream.take()] == [("b", 2), ("c", 1)]


def test_what_changed_while_nobody_listened_is_told_to_whoever_comes_back(announcer):
    shelf = Shelf()
    shelf.things = {"a": 1}
    noticer = Noticer(announcer, {"lane": shelf})
    first = listen(announcer)
    noticer.look()
    first.close()
    shelf.things["a"] = 2

    again = listen(announcer, last_id=first.last_id)
    noticer.look()

    assert [one.data for one in again.take()] == [("a", 2)]


def test_nothing_is_looked_at_while_nobody_listens_and_much_while_somebody_does(clock):
    shelf, looked = Shelf(), threading.Event()
    announcer = Announcer(clock=clock, on_first=lambda: noticer.start())

    def source():
        found = shelf()
        if shelf.looks > 2:
            looked.set()
        return found

    noticer = Noticer(announcer, {"lane": source}, every_s=0.001)
    assert shelf.looks == 0

    stream = listen(announcer)
    assert looked.wait(5)
    stream.close()
    noticer.close()

    before = shelf.looks
    assert not announcer.listeners
    assert shelf.looks - before <= 1


def test_a_source_that_fails_does_not_silence_the_others(announcer):
    shelf = Shelf()

    def broken():
        raise OSError("gone")

    noticer = Noticer(announcer, {"health": broken, "lane": shelf})
    stream = listen(announcer)
    noticer.look()
    shelf.things["a"] = 1
    noticer.look()

    assert [one.event for one in stream.take()] == ["lane"]


def test_when_the_program_stops_the_streams_end(clock):
    stopping = threading.Event()
    announcer = Announcer(clock=clock, on_first=lambda: noticer.start())
    ended = threading.Event()
    noticer = Noticer(announcer, {}, is_stopping=stopping.is_set, every_s=0.001)
    stream = announcer.open(wake=lambda: ended.set() if stream.ended else None)

    stopping.set()

    assert ended.wait(5)
