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


def csv_reply(columns: Sequence[str], pieces: Iterator[str], *, filename: str) -> Reply:
    """Give the answer that streams all lines.

    The first piece is read here, so that a database that cannot be read is still told.
    """
    head = _MARK + csv_lines([columns]) + next(pieces, "")
    return Reply(
        pieces=(piece.encode() for piece in chain([head], pieces)),
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


def csv_lines(rows: Iterable[Sequence[Cell]]) -> str:
    """Write rows as lines, each row at once: of many, only their text is held."""
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\r\n").writerows(
        [neutral(cell) for cell in row] for row in rows
    )
    return out.getvalue()
