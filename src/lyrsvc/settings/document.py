"""Editing the settings file: only the named keys change, everything else stays as it stands."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from lyrsvc.core.errors import ConfigError
from lyrsvc.settings.config_text import BOM, BrokenToml, parse
from lyrsvc.settings.resolving import written_at
from lyrsvc.settings.save_errors import FileInvalid
from lyrsvc.settings.toml_text import Header, Outline, Pair, Path, line_end, outline
from lyrsvc.settings.toml_values import toml_value

Changes = Mapping[str, Any]
"""New TOML values by path; None removes the key."""


def edit(text: str, changes: Changes) -> str:
    """Give the text with the changed keys; comments, order, quotes and line ends stay.

    Each edited text is read again and must mean exactly the old settings with
    the change; an unusual file can be refused, but not be harmed.
    """
    mark = BOM if text.startswith(BOM) else ""
    body = text.removeprefix(BOM)
    for path, value in changes.items():
        body = _edit_one(body, path, value)
    return mark + body


def read(text: str) -> dict[str, Any]:
    """Read the settings file, or refuse to work on a broken one."""
    try:
        return parse(text)
    except BrokenToml as error:
        raise FileInvalid([f"the settings file is broken: {error}"]) from error


def exact(value: Any) -> object:  # noqa: ANN401 - any TOML value
    """Give a value that equals only what means the same: 1 is not true, and NaN is NaN.

    Empty tables do not count: the last key of a table may take it along.
    """
    if isinstance(value, Mapping):
        parts = {key: exact(part) for key, part in value.items()}
        return {key: part for key, part in parts.items() if part != {}}
    if isinstance(value, list):
        return [exact(part) for part in value]
    return type(value).__name__, repr(value)


def _edit_one(text: str, path: str, value: object) -> str:
    before = read(text)
    now = written_at(before, path)
    if now is None if value is None else exact(now) == exact(value):
        return text
    parts = tuple(path.split("."))
    wanted = exact(_applied(before, parts, value))
    for candidate in _candidates(text, parts, value):
        if _means(candidate, wanted):
            return candidate
    raise ConfigError([f"{path}: the settings file is written in a way that cannot be edited"])


def _means(text: str, wanted: object) -> bool:
    try:
        return exact(parse(text)) == wanted
    except BrokenToml:
        return False


def _candidates(text: str, parts: Path, value: object) -> Iterator[str]:
    """Give edited texts, the least intrusive first; the parser chooses."""
    there = outline(text)
    pair = next((pair for pair in there.pairs if pair.path == parts), None)
    if pair is not None and value is not None:
        yield text[: pair.value] + _like(text[pair.value : pair.end], value) + text[pair.end :]
        return
    bare = text
    if pair is not None:
        bare = _without_member(text, pair) if pair.inline else _without_line(text, pair.start)
    elif any(header.path[: len(parts)] == parts for header in there.headers):
        bare = _without_tables(text, there, parts)
    if value is None:
        yield bare
        return
    yield from _with_pair(bare, parts, value)


def _with_pair(text: str, parts: Path, value: object) -> Iterator[str]:
    """Add a missing key: beside its siblings, else in a new table at the end."""
    there = outline(text)
    table, written = parts[:-1], toml_value(value)
    yield from _in_inline_table(text, there, parts, written)
    line = f"{_dotted(parts[-1:])} = {written}"
    for header in there.headers:
        if header.path == table and not header.many:
            yield _below(text, _end_of(there, header), line)
    yield from _beside_dotted(text, there, parts, written)
    yield _with_table(text, table, line)


def _in_inline_table(text: str, there: Outline, parts: Path, written: str) -> Iterator[str]:
    for inline in sorted(there.inline_tables, key=lambda found: -len(found.path)):
        if inline.path == parts[: len(inline.path)]:
            member = f"{_dotted(parts[len(inline.path) :])} = {written}"
            if inline.filled > inline.start + 1:
                yield f"{text[: inline.filled]}, {member}{text[inline.filled :]}"
            else:
                yield f"{text[: inline.start]}{{ {member} }}{text[inline.end :]}"


def _beside_dotted(text: str, there: Outline, parts: Path, written: str) -> Iterator[str]:
    """Add the key as a dotted one below the last key that shares its table in that form."""
    for depth in range(len(parts) - 1, 0, -1):
        kin = [
            pair
            for pair in there.pairs
            if pair.path[:depth] == parts[:depth]
            and len(pair.header.path) < depth < len(pair.path)
            and not pair.inline
        ]
        if kin:
            own = _dotted(parts[len(kin[-1].header.path) :])
            yield _below(text, kin[-1], f"{own} = {written}")


def _below(text: str, above: Header | Pair, line: str) -> str:
    """Insert a line below a statement, indented alike."""
    end = _line_break(text)
    at = line_end(text, above.end)
    line = text[text.rfind("\n", 0, above.start) + 1 : above.start] + line
    if not text[:at].endswith("\n"):  # the last line has no end of its own
        return text[:at] + end + line + text[at:]
    return text[:at] + line + end + text[at:]


def _with_table(text: str, table: Path, line: str) -> str:
    end = _line_break(text)
    start = text if not text or text.endswith("\n") else text + end
    gap = end if start.strip() else ""
    return f"{start}{gap}[{_dotted(table)}]{end}{line}{end}"


def _end_of(there: Outline, header: Header) -> Header | Pair:
    """Give a table's last key, or its header."""
    own = [pair for pair in there.pairs if pair.header == header and not pair.inline]
    return own[-1] if own else header


def _without_line(text: str, start: int) -> str:
    """Take out the statement that begins here; a comment behind it stays."""
    there = outline(text)
    ends = [pair.end for pair in there.pairs if pair.start == start]
    ends += [header.end for header in there.headers if header.start == start and header.path]
    line_start = text.rfind("\n", 0, start) + 1
    stop = line_end(text, ends[0])
    comment = text[ends[0] : stop].strip()
    kept = text[line_start:start] + text[ends[0] : stop].lstrip(" \t") if comment else ""
    return text[:line_start] + kept + text[stop:]


def _without_member(text: str, pair: Pair) -> str:
    """Take a member out of an inline table, and one comma with it."""
    after = re.compile(r"[ \t]*,[ \t]*").match(text, pair.end)
    if after:
        return text[: pair.start] + text[after.end() :]
    before = re.search(r"[ \t]*,[ \t]*$", text[: pair.start])
    return text[: before.start() if before else pair.start] + text[pair.end :]


def _without_tables(text: str, there: Outline, path: Path) -> str:
    """Take out an array of tables: its headers and the keys below them."""
    gone = [header for header in there.headers if header.path[: len(path)] == path]
    starts = [header.start for header in gone]
    starts += [pair.start for pair in there.pairs if pair.header in gone and not pair.inline]
    for start in sorted(starts, reverse=True):
        text = _without_line(text, start)
    return text


def _applied(document: Mapping[str, Any], parts: Path, value: object) -> dict[str, Any]:
    """Give the document with one value changed; tables on the way are made."""
    name, deeper = parts[0], parts[1:]
    if deeper:
        inside = document.get(name, {})
        if not isinstance(inside, Mapping):
            raise ConfigError([f"{name} is not a table in the settings file"])
        return {**document, name: _applied(inside, deeper, value)}
    others = {key: part for key, part in document.items() if key != name}
    return others if value is None else {**others, name: value}


def _like(old: str, value: object) -> str:
    """Write a value; a text between single quotes keeps them where it can."""
    plain = isinstance(value, str) and value.isprintable() and "'" not in value
    if plain and old.startswith("'") and not old.startswith("'''"):
        return f"'{value}'"
    return toml_value(value)


def _dotted(parts: Path) -> str:
    return ".".join(p if re.fullmatch(r"[A-Za-z0-9_-]+", p) else toml_value(p) for p in parts)


def _line_break(text: str) -> str:
    """Give the line break that the text uses first."""
    return "\r\n" if re.match(r"[^\n]*\r\n", text) else "\n"
