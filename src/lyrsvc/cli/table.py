"""Laying rows out on a terminal: one line each where they fit, else several; only names are cut."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, zip_longest
from typing import Final, NamedTuple

from lyrsvc.core.display import display_width, fit, fit_end, wrap

_SAMPLE: Final = 200
"""Rows that are looked at to choose the widths; the rest streams through."""
_GAP: Final = "  "
_INDENT: Final = "  "
"""Before the second and every further line of a row."""

_PATHS: Final = frozenset({"source_path", "destination", "old_path", "new_path", "track"})
_NAMES: Final = _PATHS | {"artist", "title", "album", "name", "library"}
"""Columns that may be cut; those of paths lose their beginning."""
_SHORTEST_NAME: Final = 10
_FAIR_NAME: Final = 20
"""What a name gets at least once a row has several lines anyway."""
_SENTENCES: Final = {
    "detail": 40, "remedy": 40, "value": 20, "source": 20, "reason": 20, "shows": 20,
}  # fmt: skip
"""Columns whose text goes on below, and the width under which that would be hard to read.

All others hold what says nothing, or cannot be copied, when it is torn: a word, a number, a time,
a place where something was put.
"""


class _Layout(NamedTuple):
    """The columns of each line of a row, and how wide each column is."""

    lines: list[list[int]]
    widths: list[int]


def lay_out(columns: Sequence[str], rows: Iterable[list[str]], width: int) -> Iterator[str]:
    """Give the header, then each row, as the text of their lines."""
    stream = iter(rows)
    sample = list(islice(stream, _SAMPLE))
    needs = [max(map(display_width, column)) for column in zip(columns, *sample, strict=True)]
    layout = _layout(columns, needs, width)
    for cells in chain([list(columns)], sample, stream):
        if _outgrow(columns, needs, cells):
            layout = _layout(columns, needs, width)
        yield "".join(f"{fit(line, width)}\n" for line in _lines(columns, cells, layout))


def _outgrow(columns: Sequence[str], needs: list[int], cells: list[str]) -> bool:
    """Make room for a word or number that is longer than all in the sample; tell if one was."""
    grown = False
    for at, cell in enumerate(cells):
        if columns[at] not in _NAMES and columns[at] not in _SENTENCES:
            need = display_width(cell)
            if need > needs[at]:
                needs[at], grown = need, True
    return grown


def _layout(columns: Sequence[str], needs: list[int], width: int) -> _Layout:
    every = list(range(len(columns)))
    least = [_least(columns[at], needs[at], _SHORTEST_NAME) for at in every]
    lines = [every]
    room = width
    if _total(least) > width:
        room = max(width - len(_INDENT), 1)
        least = [min(_least(columns[at], needs[at], _FAIR_NAME), room) for at in every]
        lines = _fold(least, room)
    widths = list(needs)
    for line in lines:
        _narrow(line, widths, least, room)
    return _Layout(lines, widths)


def _least(column: str, need: int, name: int) -> int:
    least = name if column in _NAMES else _SENTENCES.get(column, need)
    return min(max(least, len(column)), need)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _fold(least: list[int], room: int) -> list[list[int]]:
    lines: list[list[int]] = [[]]
    for at in range(len(least)):
        if lines[-1] and _total([least[one] for one in [*lines[-1], at]]) > room:
            lines.append([])
        lines[-1].append(at)
    return lines


def _narrow(line: list[int], widths: list[int], least: list[int], room: int) -> None:
    """Let the widest columns of a line yield first, until it fits."""
    while _total([widths[at] for at in line]) > room:
        yielding = [at for at in line if widths[at] > least[at]]
        if not yielding:
            return
        widths[max(yielding, key=widths.__getitem__)] -= 1


def _lines(columns: Sequence[str], cells: list[str], layout: _Layout) -> Iterator[str]:
    for number, line in enumerate(layout.lines):
        if number and not any(cells[at] for at in line):
            continue
        indent = _INDENT if number else ""
        widths = [layout.widths[at] for at in line]
        pieces = [_pieces(columns[at], cells[at], layout.widths[at]) for at in line]
        for parts in zip_longest(*pieces, fillvalue=""):
            yield (indent + _GAP.join(map(_padded, parts, widths))).rstrip()


def _pieces(column: str, cell: str, width: int) -> list[str]:
    if column in _PATHS:
        return [fit_end(cell, width)]
    return [fit(cell, width)] if column in _NAMES else wrap(cell, width)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - display_width(text))
