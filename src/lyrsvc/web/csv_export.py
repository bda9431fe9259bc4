"""Rows as CSV, piece by piece: RFC 4180, UTF-8 with a mark that spreadsheets recognise.

A cell that a spreadsheet would take for a formula is made plain text by an apostrophe.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

from lyrsvc.web.replies import Reply

CSV_TYPE: Final = "text/csv; charset=utf-8"
_MARK: Final = "\ufeff"
_FORMULA_SIGNS: Final = ("=", "+", "-", "@", "\t", "\r")

Cell = str | int | None


def csv_reply(
    columns: Sequence[str], pieces: Iterator[Sequence[Sequence[Cell]]], *, filename: str
) -> Reply:
    """Give the answer that streams all rows.

    The first piece is read here, so that a database that cannot be read is still told.
    """
    first = next(pieces, ())
    lines = chain([_MARK + _lines([columns])], map(_lines, chain([first], pieces)))
    return Reply(
        pieces=(piece.encode() for piece in lines),
        content_type=CSV_TYPE,
        headers={"Content-Disposition": f'attachment; filename="{filename}"'},
    )


def neutral(cell: Cell) -> str | int:
    """Give a cell that no spreadsheet runs."""
    if cell is None:
        return ""
    if isinstance(cell, str) and cell.startswith(_FORMULA_SIGNS):
        return f"'{cell}"
    return cell


def _lines(rows: Iterable[Sequence[Cell]]) -> str:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\r\n").writerows(
        [neutral(cell) for cell in row] for row in rows
    )
    return out.getvalue()
