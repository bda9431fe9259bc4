"""Time zones written as a rule, such as ``JST-9``: what ``TZ`` may also hold."""

import io
import re
import struct
from typing import Final
from zoneinfo import ZoneInfo

_RULE: Final = re.compile(
    r"""
    (?:[A-Za-z]{3,}|<[A-Za-z0-9+-]{3,}>)      # standard time
    [+-]?\d{1,3}(?::\d\d){0,2}                # and its distance to the west of UTC
    (?:
        (?:[A-Za-z]{3,}|<[A-Za-z0-9+-]{3,}>)  # summer time
        (?:[+-]?\d{1,3}(?::\d\d){0,2})?
        (?:,[JM]?\d[\d.]*(?:/[+-]?[\d:]+)?){2}
    )?
    """,
    re.VERBOSE | re.ASCII,
)
_HEAD: Final = struct.Struct(">4sc15x6l")
_KIND: Final = struct.pack(">lBB", 0, 0, 0) + b"UTC\0"


def rule_zone(text: str) -> ZoneInfo | None:
    """Give the zone that a POSIX rule describes; None when it is none.

    Only a zone file may hold such a rule, so one is made up that holds nothing else.
    """
    if not _RULE.fullmatch(text):
        return None
    block = _HEAD.pack(b"TZif", b"2", 0, 0, 0, 0, 1, 4) + _KIND
    try:
        return ZoneInfo.from_file(io.BytesIO(block * 2 + f"\n{text}\n".encode()), key=text)
    except ValueError:
        return None
