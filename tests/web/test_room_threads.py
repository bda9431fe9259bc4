"""The threads of a room: how many there are, which one works, and what becomes of failures."""

import asyncio
import contextvars
import threading

import pytest

from lyrsvc.web import room_threads
from lyrsvc.web.room_threads import RoomThreads
from served import wait_until
from web_face import run_apart


@pytest.fixture
def room():
    room = RoomThreads("room", 4)
    yield room
    room.close()


def me() -> int:
    return threading.get_ident()


async def crowd(room: RoomThreads, size: int) -> set[int]:
    """Have so many pieces of work going on at once; give the threads they were in."""
    together = threading.Barrier(size)

    def work() -> int:
        together.wait(20)
        return me()

    return set(await asyncio.gather(*(room.run(work) for _ in range(size))))


async def settled(room: RoomThreads, count: int) -> None:
    await asyncio.to_thread(wait_until, lambda: len(room._idle) == count, "threads to be idle")


def test_work_one_after_another_stays_in_the_thread_that_was_busy_last(room):
    async def scene() -> None:
        threads = await crowd(room, 4)
        assert len(threads) == len(room) == 4
        await settled(room, 4)
        used = set()
        for _ in range(40):
            used.add(await room.run(me))
            await settled(room, 4)
        assert len(used) == 1

    run_apart(scene())


def test_a_full_room_lets_work_wait_and_forgets_none_of_it(room):
    async def scene() -> None:
        answers = await asyncio.gather(*(room.run(lambda n=n: (n, me())) for n in range(500)))
        assert [number for number, _ in answers] == list(range(500))
        assert len({thread for _, thread in answers}) <= 4 == room._most

    run_apart(scene())


def test_threads_that_nobody_needs_end_and_come_again():
    room = RoomThreads("room", 4, idle_s=0.05)

    async def scene() -> None:
        assert len(await crowd(room, 4)) == 4
        await asyncio.to_thread(wait_until, lambda: len(room) == 0, "idle threads to end")
        assert len(await crowd(room, 4)) == 4

    run_apart(scene())
    room.close()


def test_work_given_while_threads_end_is_done_all_the_same():
    room = RoomThreads("room", 3, idle_s=0.001)

    async def scene() -> None:
        for number in range(100):
            assert await asyncio.wait_for(room.run(lambda n=number: n), 20) == number
            await asyncio.sleep(0.0005 * (number % 5))

    run_apart(scene())
    room.close()


class Stopped(BaseException):
    """Not an everyday error."""


@pytest.mark.parametrize("error", [ValueError("x"), Stopped("y")])
def test_what_work_raises_is_raised_where_it_is_waited_for(room, error):
    def fail() -> None:
        raise error

    async def scene() -> None:
        with pytest.raises(type(error)) as caught:
            await room.run(fail)
        assert caught.value is error

    run_apart(scene())


def test_an_error_that_no_future_takes_does_not_leave_its_caller_waiting(room):
    def fail() -> None:
        next(iter(()))

    async def scene() -> None:
        with pytest.raises(RuntimeError, match="StopIteration"):
            await asyncio.wait_for(room.run(fail), 20)

    run_apart(scene())


def test_work_sees_the_context_of_its_caller(room):
    name = contextvars.ContextVar("name", default="nobody")

    async def scene() -> None:
        name.set("a caller")
        assert await room.run(name.get) == "a caller"

    run_apart(scene())
    assert name.get() == "nobody"


def test_each_thread_begins_with_what_its_room_needs():
    begun = []
    room = RoomThreads("room", 2, begin=lambda: begun.append(me()))
    threads = run_apart(crowd(room, 2))
    assert set(begun) == threads
    assert len(begun) == 2
    room.close()


def test_work_whose_caller_went_away_before_it_began_is_not_done(room):
    done, held = [], threading.Event()

    async def scene() -> None:
        busy = [asyncio.ensure_future(room.run(held.wait, 20)) for _ in range(4)]
        late = asyncio.ensure_future(room.run(done.append, "late"))
        await asyncio.sleep(0)
        late.cancel()
        await asyncio.sleep(0)
        held.set()
        await asyncio.gather(*busy)
        await settled(room, 4)

    run_apart(scene())
    assert done == []


def test_a_closed_room_ends_its_threads_and_drops_what_waits(room):
    held = threading.Event()

    async def scene() -> None:
        busy = [asyncio.ensure_future(room.run(held.wait, 20)) for _ in range(4)]
        late = asyncio.ensure_future(room.run(me))
        await asyncio.sleep(0)
        room.close()
        with pytest.raises(RuntimeError, match="stopping"):
            await late
        with pytest.raises(RuntimeError, match="stopping"):
            await room.run(me)
        held.set()
        assert await asyncio.gather(*busy) == [True] * 4

    run_apart(scene())


def test_a_room_that_computes_keeps_to_its_usual_thread_however_many_wait(monkeypatch):
    monkeypatch.setattr(room_threads, "HELD_UP_S", 60.0)  # however slow this machine is
    room = RoomThreads("room", 4, usual=1)

    async def scene() -> None:
        threads = await asyncio.gather(*(room.run(me) for _ in range(200)))
        assert len(set(threads)) == len(room) == 1

    run_apart(scene())
    room.close()


def test_a_room_whose_threads_are_held_up_opens_more_until_it_is_full(monkeypatch):
    monkeypatch.setattr(room_threads, "HELD_UP_S", 0.01)
    room = RoomThreads("room", 4, usual=1)
    free = threading.Event()

    async def scene() -> None:
        assert len(await crowd(room, 4)) == 4  # each waits for all the others
        held = [asyncio.ensure_future(room.run(free.wait, 20)) for _ in range(4)]
        late = asyncio.ensure_future(room.run(me))
        await asyncio.sleep(0.1)
        assert not late.done()
        free.set()
        assert await asyncio.gather(*held) == [True] * 4
        assert await late
        assert len(room) == 4

    run_apart(scene())
    room.close()


def test_a_room_looks_after_those_that_wait_in_every_loop(monkeypatch):
    monkeypatch.setattr(room_threads, "HELD_UP_S", 0.01)
    room = RoomThreads("room", 2, usual=1)
    free = threading.Event()

    async def soon_over() -> None:
        late = asyncio.ensure_future(room.run(me))
        await asyncio.sleep(0)
        late.cancel()  # and with this loop whoever would have looked

    async def scene() -> None:
        held = asyncio.ensure_future(room.run(free.wait, 20))
        await asyncio.sleep(0)
        await asyncio.to_thread(run_apart, soon_over())
        assert await asyncio.wait_for(room.run(me), 20)
        assert not held.done()
        free.set()
        await held

    run_apart(scene())
    room.close()


def test_where_the_system_has_no_more_threads_those_that_are_there_do_the_work(room, monkeypatch):
    async def scene() -> None:
        first = await room.run(me)
        await settled(room, 1)
        held = threading.Event()
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", refuse)
            works = [asyncio.ensure_future(room.run(work)) for work in (held.wait, me, me)]
            await asyncio.sleep(0)
        held.set()
        assert await asyncio.gather(*works) == [True, first, first]

    run_apart(scene())


def refuse(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")
