"""The line to a client: what is held leaves in one piece, and is never lost by an orderly end."""

import asyncio

import pytest

from lyrsvc.web.client_line import ClientLine


class Wire(asyncio.Transport):
    """A transport that notes what is written to it."""

    def __init__(self):
        super().__init__()
        self.sent = []
        self.closed = False

    def write(self, data):
        self.sent.append(bytes(data))

    def close(self):
        self.closed = True

    def is_closing(self):
        return self.closed


@pytest.fixture
def wire():
    return Wire()


@pytest.fixture
def line(wire):
    return ClientLine(wire, is_sending=lambda: False, clock=lambda: 0.0)


def test_what_is_held_leaves_in_one_piece_and_the_rest_at_once(wire, line):
    line.hold()
    line.write(b"head ")
    line.write(b"body")
    assert wire.sent == []
    line.release()
    line.write(b"more")
    assert wire.sent == [b"head body", b"more"]


@pytest.mark.parametrize("end", ["close", "hang_up"])
def test_what_is_held_is_sent_before_the_line_ends(wire, line, end):
    line.hold()
    line.write(b"head")
    getattr(line, end)()
    assert (wire.sent, wire.closed) == ([b"head"], True)


def test_nothing_is_written_to_a_line_that_ended_meanwhile(wire, line):
    line.hold()
    line.write(b"head")
    wire.close()
    line.release()
    assert wire.sent == []
