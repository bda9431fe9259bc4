"""Servers below HTTP: they say whatever bytes a test wants to be said."""

import re
import socket
import threading
from collections.abc import Callable
from contextlib import suppress


class RawServers:
    """Servers that play a function on every raw connection, once the request was read."""

    def __init__(self) -> None:
        self._listeners: list[socket.socket] = []
        self._threads: list[threading.Thread] = []

    def __call__(self, play: Callable[[socket.socket], None]) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        self._listeners.append(listener)
        self._run(self._accept, play, listener)
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    def close(self) -> None:
        """End every thread before its socket's number goes to another socket.

        A call that waits in the kernel is begun again, by number, when a signal disturbs it:
        a forgotten ``accept`` then takes the clients of whoever has the number by now.
        """
        for listener in self._listeners:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
            assert not thread.is_alive()
        for listener in self._listeners:
            listener.close()

    def _run(self, work, *args) -> None:
        thread = threading.Thread(target=work, args=args)
        self._threads.append(thread)
        thread.start()

    def _accept(self, play, listener) -> None:
        with suppress(OSError):
            while True:
                self._run(self._answer, play, listener.accept()[0])

    def _answer(self, play, conn) -> None:
        with conn, suppress(OSError):
            conn.settimeout(5)
            seen = b""
            while not is_whole(seen):
                if not (part := conn.recv(65536)):
                    return
                seen += part
            play(conn)
            conn.shutdown(socket.SHUT_WR)


def is_whole(request: bytes) -> bool:
    """Tell whether head and body of a request have come."""
    head, _, body = request.partition(b"\r\n\r\n")
    declared = re.search(rb"(?i)content-length: *(\d+)", head)
    return b"\r\n\r\n" in request and len(body) >= int(declared[1] if declared else 0)
