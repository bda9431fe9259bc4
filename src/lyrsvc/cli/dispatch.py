"""Which command a command line means, found before any of its words is read."""

from lyrsvc.cli.command import Command
from lyrsvc.cli.commands import BY_NAME, TOP_LEVEL

LEGACY = "fetch"
"""Command that takes lines without a command word."""
_SONG_FLAGS = ("--from", "--artist", "--title")
"""Flags that name songs, so that no word needs to."""


class Line:
    """A command line, divided: the command (if any) and the words that are left for it.

    group  the first word, when a command of that group was wanted but not named
    asks   ``help`` or ``version`` when asked for before a command
    """

    def __init__(
        self, command: Command | None, rest: list[str], *, group: str = "", asks: str = ""
    ) -> None:
        self.command = command
        self.rest = rest
        self.group = group
        self.asks = asks


def divide(argv: list[str], valued: frozenset[str]) -> Line:
    """Find the command; ``valued`` are the flags whose value is the next word."""
    positions = _word_positions(argv, valued)
    before = argv[: positions[0]] if positions else argv
    asks = _asks(before)
    if positions and argv[positions[0]] in TOP_LEVEL:
        return _named(argv, positions, asks)
    if "--serve" in before:
        at = before.index("--serve")
        return Line(BY_NAME["serve"], argv[:at] + argv[at + 1 :], asks=asks)
    names_songs = positions or any(word.partition("=")[0] in _SONG_FLAGS for word in argv)
    return Line(BY_NAME.get(LEGACY) if names_songs else None, list(argv), asks=asks)


def _named(argv: list[str], positions: list[int], asks: str) -> Line:
    first = argv[positions[0]]
    second = argv[positions[1]] if len(positions) > 1 else ""
    if f"{first} {second}" in BY_NAME:
        return Line(BY_NAME[f"{first} {second}"], _without(argv, positions[:2]), asks=asks)
    if first in BY_NAME:
        return Line(BY_NAME[first], _without(argv, positions[:1]), asks=asks)
    return Line(None, _without(argv, positions[:1]), group=first, asks=asks)


def _word_positions(argv: list[str], valued: frozenset[str]) -> list[int]:
    """Find the words that are neither flags nor values of flags."""
    positions: list[int] = []
    skip = False
    for at, word in enumerate(argv):
        if skip:
            skip = False
        elif word == "--":
            positions += range(at + 1, len(argv))
            break
        elif word.startswith("-") and word != "-":
            skip = word in valued
        else:
            positions.append(at)
    return positions


def _asks(words: list[str]) -> str:
    for word in words:
        if word in ("-V", "--version"):
            return "version"
        if word in ("-h", "--help"):
            return "help"
    return ""


def _without(argv: list[str], positions: list[int]) -> list[str]:
    return [word for at, word in enumerate(argv) if at not in positions]
