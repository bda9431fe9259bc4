"""What the scan and its reading processes say to each other.

A message is marshalled, the quickest form that both ends know: the other process runs
this very interpreter with this very code. Its length stands before it.
"""

import marshal
import struct
from typing import Any, Final

_LENGTH: Final = struct.Struct(">I")
LENGTH_SIZE: Final = _LENGTH.size


def packed(value: Any) -> bytes:  # noqa: ANN401 - whatever is made of plain values
    """Give a message with its length before it."""
    message = marshal.dumps(value)
    return _LENGTH.pack(len(message)) + message


def length_of(head: bytes) -> int:
    """Give how many bytes follow."""
    (length,) = _LENGTH.unpack(head)
    return int(length)


def unpacked(message: bytes) -> Any:  # noqa: ANN401 - as above
    """Give what a message says."""
    return marshal.loads(message)  # noqa: S302 - from our own process
