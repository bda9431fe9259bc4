"""Printing rows: a table on a terminal, tab-separated when piped, or one JSON document."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, TextIO

from lyrsvc.core.display import escape_controls

Row = Mapping[str, Any]


class Form(NamedTuple):
    """How rows are printed."""

    json: bool = False
    header: bool = False
    terminal: bool = False
    width: int = 80


class Out(Protocol):
    """Where rows are written to."""

    def write(self, text: str, /) -> object:
        """Write a text."""


class Through:
    """A stream on whose terminal something else is drawn: each text is written inside a context."""

    def __init__(self, out: TextIO, context: Callable[[], AbstractContextManager[None]]) -> None:
        self._out = out
        self._context = context

    def write(self, text: str, /) -> None:
        """Write a text, at once."""
        with self._context():
            self._out.write(text)
            self._out.flush()


def print_rows(out: Out, columns: Sequence[str], rows: Iterable[Row], form: Form) -> None:
    """Print rows in the wanted form; nothing is kept in memory but a sample."""
    if form.json:
        print_json_rows(out, rows)
    elif form.terminal:
        _print_table(out, columns, rows, form.width)
    else:
        if form.header:
            out.write("\t".join(columns) + "\n")
        for row in rows:
            out.write("\t".join(_cell(row.get(name)) for name in columns) + "\n")


def print_json_rows(out: Out, rows: Iterable[Row]) -> None:
    """Print an array, a row at a time."""
    opening = "["
    for row in rows:
        out.write(f"{opening}\n  {to_json(row)}")
        opening = ","
    out.write("[]\n" if opening == "[" else "\n]\n")


def to_json(row: Row) -> str:
    """Write one object; names that are no text carry their bytes beside them."""
    import json  # as all imports inside functions here: a plain listing does without

    return json.dumps(_jsonable(row), ensure_ascii=False)


def _jsonable(value: Any) -> Any:  # noqa: ANN401 - anything that JSON can hold
    if isinstance(value, Mapping):
        members: dict[str, Any] = {}
        for name, part in value.items():
            members[name] = _jsonable(part)
            if isinstance(part, str) and _undecodable(part):
                import base64

                raw = part.encode("utf-8", "surrogateescape")
                members[f"{name}_b64"] = base64.b64encode(raw).decode()
        return members
    if isinstance(value, list | tuple):
        return [_jsonable(part) for part in value]
    if isinstance(value, str) and _undecodable(value):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return value


def _undecodable(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)


def _print_table(out: Out, columns: Sequence[str], rows: Iterable[Row], width: int) -> None:
    from lyrsvc.cli.table import lay_out

    cells = ([_cell(row.get(name), local=_is_time(name)) for name in columns] for row in rows)
    for text in lay_out(columns, cells, width):
        out.write(text)


def _is_time(column: str) -> bool:
    return column.endswith("_at") or column == "last_scan"


def _cell(value: Any, *, local: bool = False) -> str:  # noqa: ANN401 - any column's value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    text = escape_controls(str(value))
    return _local_time(text) if local and text else text


def _local_time(text: str) -> str:
    from datetime import datetime

    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")
