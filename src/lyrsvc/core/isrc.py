"""The ISRC: the code of a recording, in the one form it is compared in."""

import re
from collections.abc import Iterable
from typing import Final

_FORM: Final = re.compile(r"[A-Z]{2}[A-Z0-9]{3}[0-9]{7}")
_DIVIDERS: Final = re.compile(r"[\0;,/|]")
_FILLING: Final = re.compile(r"[-\s]")


def read_isrcs(values: Iterable[str]) -> tuple[str, ...]:
    """Give the valid codes among the values, each once, in their order."""
    codes: dict[str, None] = {}
    for value in values:
        if _FORM.fullmatch(value):
            codes[value] = None
            continue
        for part in _DIVIDERS.split(value):
            code = _FILLING.sub("", part).upper()
            if _FORM.fullmatch(code):
                codes[code] = None
    return tuple(codes)
