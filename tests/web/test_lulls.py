"""Reports wait for a lull of webhooks, and not for ever."""

import asyncio
import threading

import pytest

from lyrsvc.web import answering
from lyrsvc.web.answering import Switchboard
from lyrsvc.web.route import Room
from web_face import run_apart

LONG_S = 60.0


@pytest.fixture
def board():
    board = Switchboard((), max_body_bytes=1000)
    yield board
    board.close()


@pytest.fixture
def hook():
    """A webhook that takes until this is set."""
    hook = threading.Event()
    yield hook
    hook.set()


def read() -> str:
    return "read"


async def is_read(report: "asyncio.Task[str]", *, within_s: float) -> bool:
    done, _ = await asyncio.wait([report], timeout=within_s)
    return bool(done)


def test_without_webhooks_a_report_does_not_wait(board, monkeypatch):
    monkeypatch.setattr(answering, "LULL_S", LONG_S)

    async def scene() -> None:
        assert await asyncio.wait_for(board._run(Room.REPORT, read), LONG_S / 2) == "read"

    run_apart(scene())


def test_a_report_begins_when_the_last_webhook_has_been_answered_for_a_while(
    board, hook, monkeypatch
):
    monkeypatch.setattr(answering, "LONGEST_LULL_S", LONG_S)

    async def scene() -> None:
        webhook = asyncio.ensure_future(board._run(Room.WEBHOOK, hook.wait, LONG_S))
        report = asyncio.ensure_future(board._run(Room.REPORT, read))
        assert not await is_read(report, within_s=answering.LULL_S * 8)
        hook.set()
        await webhook
        assert await is_read(report, within_s=LONG_S / 2)

    run_apart(scene())


def test_webhooks_without_a_lull_put_a_report_off_for_a_moment_only(board, hook):
    async def scene() -> None:
        webhook = asyncio.ensure_future(board._run(Room.WEBHOOK, hook.wait, LONG_S))
        report = asyncio.ensure_future(board._run(Room.REPORT, read))
        assert await is_read(report, within_s=LONG_S / 2)
        assert not webhook.done()
        hook.set()
        await webhook

    run_apart(scene())


@pytest.mark.parametrize("room", [Room.ORDINARY, Room.PROBE])
def test_nobody_else_waits(board, hook, monkeypatch, room):
    monkeypatch.setattr(answering, "LONGEST_LULL_S", LONG_S)

    async def scene() -> None:
        webhook = asyncio.ensure_future(board._run(Room.WEBHOOK, hook.wait, LONG_S))
        assert await asyncio.wait_for(board._run(room, read), LONG_S / 2) == "read"
        hook.set()
        await webhook

    run_apart(scene())
