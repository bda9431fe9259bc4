"""Lists of values inside a statement: one question about many rows at once."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

MOST: Final = 500
"""Rows to ask about at once; engines bound the parameters of a statement."""
WANTED: Final = "{wanted}"
"""Stands in a statement for the rows behind ``VALUES``."""
_LEAST: Final = 4


def questions(sql: str, rows: Sequence[tuple[Any, ...]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give the statements that ask about all rows, each with its parameters.

    The last row of each is repeated until a round number is reached: so there are few
    different statements, and each is prepared once. An answer may come more than once.
    """
    for at in range(0, len(rows), MOST):
        portion = rows[at : at + MOST]
        size = max(_LEAST, 1 << (len(portion) - 1).bit_length())
        width = len(portion[0])
        values = [value for row in portion for value in row]
        values += portion[-1] * (size - len(portion))
        yield _filled(sql, size, width), dict(zip(_names(size * width), values, strict=True))


@lru_cache(maxsize=64)
def _filled(sql: str, rows: int, width: int) -> str:
    marks = [f":{name}" for name in _names(rows * width)]
    portions = (", ".join(marks[at : at + width]) for at in range(0, len(marks), width))
    return sql.replace(WANTED, ", ".join(f"({each})" for each in portions))


@lru_cache(maxsize=32)
def _names(count: int) -> tuple[str, ...]:
    return tuple(f"v{number}" for number in range(count))
