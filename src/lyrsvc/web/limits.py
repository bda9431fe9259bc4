"""How much, how many and how long a client may."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """The bounds of the transport; what is waited for is waited for that long."""

    connections: int = 512
    head_s: float = 10.0
    head_bytes: int = 16 * 1024
    header_lines: int = 100
    body_s: float = 15.0
    """From the end of the head to the end of the body."""
    idle_s: float = 60.0
    stalled_write_s: float = 15.0
    stalled_stream_s: float = 30.0
    """The same for an event stream."""
    handshake_s: float = 10.0
    goodbye_s: float = 2.0
    """How long a client may take to end TLS, and to read an answer given before it was done."""
    discarded_bytes: int = 8 * 1024 * 1024
    """What is read and thrown away meanwhile."""
    pipelined: int = 16
    evicted_after_s: float = 1.0
    """When no connection is free, one that has kept us waiting that long is given away."""
    room_s: float = 1.2
    """How long a client waits for such a place before it is turned away."""
    turned_away: int = 128
    """Clients beyond the last connection that are still told so."""
    stop_s: float = 9.0
    """How long requests may take to end once the program stops."""
