"""The MusicBrainz id of a recording, in the one form it is compared in."""

import re
from collections.abc import Iterable
from typing import Final

_FORM: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def read_mbid(values: Iterable[str]) -> str | None:
    """Give the first valid id among the values."""
    cleaned = (value.strip(" \t\r\n\0").lower() for value in values)
    return next(filter(_FORM.fullmatch, cleaned), None)
