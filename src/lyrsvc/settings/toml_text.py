"""Where keys and values stand in a TOML text, so that one can be changed and no other touched.

The text has been read by the real parser before: what is looked at here is
valid, and only places are wanted.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

Path = tuple[str, ...]

_BLANKS: Final = re.compile(r"[ \t]*")
_BETWEEN: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_PART: Final = r"""(?:[A-Za-z0-9_-]+|"(?:\\.|[^"\\\n])*"|'[^'\n]*')"""
_KEY: Final = re.compile(rf"{_PART}(?:[ \t]*\.[ \t]*{_PART})*")
_SCALAR: Final = re.compile(
    r"""
      \"{3}(?:\\.|[^\\])*?\"{3,5}
    | '{3}.*?'{3,5}
    | "(?:\\.|[^"\\\n])*"
    | '[^'\n]*'
    | [0-9]{4}-[0-9]{2}-[0-9]{2}[ ][0-9]{2}:[^\s,\]}\#]+
    | [^\s,\]}\#]+
    """,
    re.VERBOSE | re.DOTALL,
)


class Header(NamedTuple):
    """A line ``[table]`` or ``[[array of tables]]``."""

    path: Path
    start: int
    end: int
    many: bool


class Pair(NamedTuple):
    """A key and its value; ``path`` begins at the root, ``own`` at the table or inline table."""

    path: Path
    own: Path
    start: int
    value: int
    end: int
    header: Header
    inline: bool


class InlineTable(NamedTuple):
    """A table between braces: where it begins, where its last member ends, where it ends."""

    path: Path
    start: int
    filled: int
    end: int


class Outline(NamedTuple):
    """Everything that stands in a text, in its order; the first header is the root's."""

    headers: list[Header]
    pairs: list[Pair]
    inline_tables: list[InlineTable]


def outline(text: str) -> Outline:
    """Find all headers, keys and inline tables."""
    found = Outline([Header((), 0, 0, many=False)], [], [])
    at = _after(_BETWEEN, text, 0)
    while at < len(text):
        if text[at] == "[":
            at = _read_header(text, at, found)
        else:
            at = _read_pair(text, at, found, found.headers[-1].path, inline=False)
        at = _after(_BETWEEN, text, at)
    return found


def line_end(text: str, at: int) -> int:
    """Give the end of the line, its line break included."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def _read_header(text: str, at: int, found: Outline) -> int:
    many = text.startswith("[[", at)
    start = _after(_BLANKS, text, at + (2 if many else 1))
    end = _after(_KEY, text, start)
    close = _after(_BLANKS, text, end) + (2 if many else 1)
    found.headers.append(Header(_parts(text[start:end]), at, close, many))
    return close


def _read_pair(text: str, at: int, found: Outline, table: Path, *, inline: bool) -> int:
    key_end = _after(_KEY, text, at)
    value = _after(_BLANKS, text, _after(_BLANKS, text, key_end) + 1)
    own = _parts(text[at:key_end])
    place = len(found.pairs)
    end = _read_value(text, value, found, (*table, *own))
    header = found.headers[-1]
    found.pairs.insert(place, Pair((*table, *own), own, at, value, end, header, inline))
    return end


def _read_value(text: str, at: int, found: Outline | None, path: Path) -> int:
    if text[at] == "[":
        return _read_array(text, at)
    if text[at] == "{":
        return _read_inline_table(text, at, found, path)
    return _after(_SCALAR, text, at)


def _read_array(text: str, at: int) -> int:
    at = _after(_BETWEEN, text, at + 1)
    while text[at] != "]":
        at = at + 1 if text[at] == "," else _read_value(text, at, None, ())
        at = _after(_BETWEEN, text, at)
    return at + 1


def _read_inline_table(text: str, start: int, found: Outline | None, path: Path) -> int:
    """Note the members as well, unless the table is an array's."""
    members = found or Outline([Header((), 0, 0, many=False)], [], [])
    filled = start + 1
    at = _after(_BETWEEN, text, filled)
    while text[at] != "}":
        if text[at] == ",":
            at += 1
        else:
            at = filled = _read_pair(text, at, members, path, inline=True)
        at = _after(_BETWEEN, text, at)
    members.inline_tables.append(InlineTable(path, start, filled, at + 1))
    return at + 1


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    if match is None:
        raise ValueError(f"no TOML at {at}")
    return match.end()


def _parts(key: str) -> Path:
    """Divide a dotted key; quotes and escapes are the parser's business."""
    import tomllib

    return tuple(_names(tomllib.loads(f"{key} = 0")))


def _names(document: dict[str, object]) -> Iterator[str]:
    for name, value in document.items():
        yield name
        if isinstance(value, dict):
            yield from _names(value)
