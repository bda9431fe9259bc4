"""Ports that nobody listens on."""

import socket
from contextlib import suppress
from random import Random


def free_port() -> int:
    """Find one below those that the system gives away by itself.

    One of those another test may be given meanwhile; and whoever asks whether somebody
    listens there may be given it too, and be connected with itself.
    """
    for port in Random().sample(range(12_000, 32_000), 200):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no port is free")
