r"""Texts read through their escaping: ``%41``, ``\u0041``, ``\x41``, ``\"``.

A secret in a URL or in a quoted text is spelled differently, in more ways than
can be listed. So the text is decoded instead, and what is found in the decoded
text is traced back to where it stands in the original.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

DEPTH: Final = 2
"""How many layers of escaping are looked through."""


class View(NamedTuple):
    """A decoded text; ``starts[i]`` is where its character ``i`` stands in the original."""

    text: str
    starts: Sequence[int]

    def source(self, start: int, end: int) -> tuple[int, int]:
        """Trace a stretch of this view back to the original."""
        return self.starts[start], self.starts[end]


def decoded_views(text: str) -> Iterator[View]:
    """Give the text itself, then every different reading of it."""
    layer = [View(text, range(len(text) + 1))]
    seen = {text}
    yield layer[0]
    for _ in range(DEPTH):
        layer = [
            view
            for outer in layer
            for marker, pattern, decode in _DECODERS
            if marker in outer.text and (view := _read(outer, pattern, decode)).text not in seen
        ]
        seen.update(view.text for view in layer)
        yield from layer


Piece = tuple[str, int]
"""A decoded character and how many characters it took in the source."""


def _read(outer: View, pattern: str, decode: Callable[[str], list[Piece]]) -> View:
    text: list[str] = []
    starts: list[int] = []
    done = 0
    for match in re.finditer(pattern, outer.text):
        text.append(outer.text[done : match.start()])
        starts.extend(outer.starts[done : match.start()])
        at = match.start()
        for character, length in decode(match[0]):
            text.append(character)
            starts.append(outer.starts[at])
            at += length
        done = match.end()
    if not done:
        return outer
    text.append(outer.text[done:])
    starts.extend(outer.starts[done:])
    return View("".join(text), starts)


def _percent(run: str) -> list[Piece]:
    raw = bytes.fromhex(run.replace("%", ""))
    characters = raw.decode("utf-8", "surrogateescape")
    return [(one, 3 * len(one.encode("utf-8", "surrogateescape"))) for one in characters]


def _backslash(sequence: str) -> list[Piece]:
    kind = sequence[1]
    if kind == "x" and len(sequence) > 2:
        return _bytes(sequence)
    if kind in "uU" and len(sequence) > 2:
        code = bytes.fromhex(sequence.lower().replace("\\u", ""))
        if kind == "U":
            number = int.from_bytes(code)
            return [(chr(number) if number < 0x110000 else "\ufffd", len(sequence))]
        return [(code.decode("utf-16-be", "surrogatepass"), len(sequence))]
    return [(_LETTERS.get(kind, kind), len(sequence))]


def _bytes(run: str) -> list[Piece]:
    raw = bytes.fromhex(run.replace("\\x", ""))
    try:
        characters = raw.decode("utf-8")
    except UnicodeDecodeError:
        return [(chr(byte), 4) for byte in raw]
    return [(one, 4 * len(one.encode("utf-8"))) for one in characters]


_LETTERS: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_DECODERS: Final = (
    ("%", r"(?:%[0-9A-Fa-f]{2})+", _percent),
    (
        "\\",
        r"(?s)(?:\\x[0-9A-Fa-f]{2})+"
        r"|\\u[dD][89abAB][0-9A-Fa-f]{2}\\u[dD][c-fC-F][0-9A-Fa-f]{2}"
        r"|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}|\\[^xuU]",
        _backslash,
    ),
)
