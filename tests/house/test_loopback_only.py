"""No test talks to the world."""

import socket

import pytest

FAR = ("192.0.2.1", 9)


@pytest.mark.parametrize(
    "reach",
    [
        lambda s: s.connect(FAR),
        lambda s: s.connect_ex(FAR),
        lambda s: s.connect(("example.org", 9)),
    ],
)
def test_a_connection_to_another_machine_fails_the_test(reach) -> None:
    with socket.socket() as sock, pytest.raises(pytest.fail.Exception, match="only loopback"):
        reach(sock)


def test_a_datagram_to_another_machine_fails_the_test() -> None:
    kind = socket.SOCK_DGRAM
    with (
        socket.socket(type=kind) as sock,
        pytest.raises(pytest.fail.Exception, match="only loopback"),
    ):
        sock.sendto(b"x", FAR)


def test_a_name_is_not_looked_up() -> None:
    with pytest.raises(pytest.fail.Exception, match="address of"):
        socket.create_connection(("lyrics.example.org", 80))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.8.9.1"])
def test_loopback_is_open(host: str) -> None:
    with socket.create_server(("0.0.0.0", 0)) as server:
        port = server.getsockname()[1]
        socket.create_connection((host, port)).close()
        peer, address = server.accept()
        peer.close()
    assert address[0].startswith("127.")
