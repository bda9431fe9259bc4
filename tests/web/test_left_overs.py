"""What is left of a request once it is answered: nothing that only a search for garbage finds.

Such a search comes late when little is going on, and what it finds lies scattered between
what stays.
"""

import gc
import weakref

import pytest
from jinja2.runtime import Context

from lyrsvc.web.room_threads import RoomThreads
from lyrsvc.web.transport import HttpConnection
from raw_http import HOST, running
from served import wait_until
from web_face import run_apart
from web_runs import serving_run


@pytest.fixture(autouse=True)
def without_search():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def count(kind: type) -> int:
    return sum(isinstance(each, kind) for each in gc.get_objects())


@pytest.mark.parametrize("path", ["/hello", "/nothing", "/refuse"])
def test_a_connection_that_has_ended_is_gone(path):
    with running() as house:
        before = count(HttpConnection)
        for _ in range(5):
            with house.dial() as client:
                client.get(path)
            with house.dial() as client:
                client.say(b"nonsense\r\n\r\n")
                client.hear()
            with house.dial() as client:
                client.say(b"POST /echo HTTP/1.1\r\n" + HOST + b"Content-Length: 9\r\n\r\nhalf")
        wait_until(lambda: count(HttpConnection) == before, "the connections to be gone")


def test_a_page_that_was_sent_is_gone(tmp_path):
    with serving_run(tmp_path, LYRSVC_WEB_UI_ENABLED="true") as run:
        visitor = run.visitor()
        pages = ("/dashboard", "/queue", "/libraries", "/settings", "/reports/queue-summary")
        for path in pages:  # what templates share stays
            assert visitor.get(path).status == 200
        gc.collect()
        before = count(Context)
        for path in pages:
            assert visitor.get(path).status == 200
        assert count(Context) == before


def test_an_error_that_was_told_is_gone():
    class BrokenError(Exception):
        pass

    told: list[weakref.ref[BaseException]] = []

    def breaks() -> None:
        raise BrokenError

    async def scene() -> None:
        room = RoomThreads("room", 1)
        for _ in range(3):
            try:
                await room.run(breaks)
            except BrokenError as error:
                told.append(weakref.ref(error))
        room.close()

    run_apart(scene())
    wait_until(lambda: [error() for error in told] == [None] * 3, "the errors to be gone")
