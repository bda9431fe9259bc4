"""Load over loopback: many connections of one client process, each answer timed."""

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

Make = Callable[[int], bytes]
"""Gives the bytes of the request with this number."""


@dataclass
class Timed:
    """What a load came to; times in seconds."""

    times: list[float] = field(default_factory=list)
    statuses: dict[int, int] = field(default_factory=dict)
    took: float = 0.0
    size: int = 0
    """The bytes of the last answer, its head left out."""

    @property
    def rate(self) -> float:
        return len(self.times) / self.took if self.took else 0.0

    def at(self, share: float) -> float:
        """Give the time within which this share of the answers came, in milliseconds."""
        ordered = sorted(self.times)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000

    @property
    def failures(self) -> int:
        return sum(number for status, number in self.statuses.items() if status >= 400)


def request(method: str, path: str, *, key: str = "", body: bytes = b"") -> bytes:
    """Write a request."""
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n"
    if key:
        head += f"Authorization: Bearer {key}\r\n"
    if body:
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + body


def repeating(asked: bytes) -> Make:
    """Give the same request whatever its number."""
    return lambda _: asked


def hammer(address: str, make: Make, *, count: int, connections: int) -> Timed:
    """Send so many requests as fast as the answers come."""
    return asyncio.run(_hammer(address, make, count, connections))


def stream(address: str, make: Make, *, rate: float, seconds: float, connections: int) -> Timed:
    """Send requests at a fixed rate, whether or not answers come in time.

    Each is timed from the moment it should have been sent, so a stall is not hidden.
    """
    return asyncio.run(_stream(address, make, rate, seconds, connections))


async def _hammer(address: str, make: Make, count: int, connections: int) -> Timed:
    result, numbers = Timed(), iter(range(count))
    begun = time.perf_counter()
    await asyncio.gather(*(_work(address, make, numbers, result) for _ in range(connections)))
    result.took = time.perf_counter() - begun
    return result


async def _work(address: str, make: Make, numbers: Iterator[int], result: Timed) -> None:
    reader, writer = await _connect(address)
    for number in numbers:
        begun = time.perf_counter()
        writer.write(make(number))
        note(result, *await _answer(reader), time.perf_counter() - begun)
    writer.close()


async def _stream(address: str, make: Make, rate: float, seconds: float, connections: int) -> Timed:
    result = Timed()
    idle: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
    for _ in range(connections):
        idle.put_nowait(await _connect(address))
    begun, tasks = time.perf_counter(), []

    async def one(number: int, due: float) -> None:
        wire = await idle.get()
        wire[1].write(make(number))
        try:
            status, size = await _answer(wire[0])
        except (OSError, asyncio.IncompleteReadError):  # cut off: a failure like any other
            status, size, wire = 0, 0, await _connect(address)
        note(result, status, size, time.perf_counter() - due)
        idle.put_nowait(wire)

    for number in range(int(rate * seconds)):
        due = begun + number / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        tasks.append(asyncio.ensure_future(one(number, due)))
    await asyncio.gather(*tasks)
    result.took = time.perf_counter() - begun
    return result


def note(result: Timed, status: int, size: int, seconds: float) -> None:
    """Write one answer down."""
    result.size = size
    result.times.append(seconds)
    result.statuses[status] = result.statuses.get(status, 0) + 1


async def _connect(address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, _, port = address.rpartition(":")
    return await asyncio.open_connection(host, int(port))


async def _answer(reader: asyncio.StreamReader) -> tuple[int, int]:
    head = await reader.readuntil(b"\r\n\r\n")
    status = int(head[9:12])
    length = next(
        int(line[15:])
        for line in head.split(b"\r\n")
        if line.lower().startswith(b"content-length:")
    )
    await reader.readexactly(length)
    return status, length
