"""Lists of values inside a statement: one question about many rows at once."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

MOST: Final = 500
"""Rows to ask about at once; engines bound the parameters of a statement."""
_LEAST: Final = 8


def in_portions(rows: Sequence[tuple[Any, ...]]) -> Iterator[Sequence[tuple[Any, ...]]]:
    """Divide rows so that each portion fits into one statement."""
    for at in range(0, len(rows), MOST):
        yield rows[at : at + MOST]


def listed(rows: Sequence[tuple[Any, ...]]) -> tuple[str, dict[str, Any]]:
    """Give what stands behind ``VALUES`` for these rows, and its parameters.

    The last row is repeated until a round number is reached: so there are few different
    statements, and each of them is prepared once. An answer may come more than once.
    """
    size = max(_LEAST, 1 << (len(rows) - 1).bit_length())
    values = [value for row in (*rows, *(rows[-1],) * (size - len(rows))) for value in row]
    text, names = _parameters(size, len(rows[0]))
    return text, dict(zip(names, values, strict=True))


@lru_cache(maxsize=32)
def _parameters(rows: int, width: int) -> tuple[str, tuple[str, ...]]:
    names = tuple(f"v{number}" for number in range(rows * width))
    marks = [f":{name}" for name in names]
    portions = (", ".join(marks[at : at + width]) for at in range(0, len(marks), width))
    return ", ".join(f"({each})" for each in portions), names
