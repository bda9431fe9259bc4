"""Which new file is a vanished one under another name: a decision over facts.

A pair must be unique on both sides. Inode, size and time tell the very same file;
failing that the recording id does, or the ISRC with the same length. Files that took
each other's names are told by the first alone.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

CLOSE_MS: Final = 2000


class FileFacts(NamedTuple):
    """What one row says of the file it stands for."""

    row_id: int
    inode: int
    size: int
    mtime_ns: int
    mbid: str
    isrc: str
    duration_ms: int


def pair_up(gone: Iterable[FileFacts], new: Iterable[FileFacts]) -> list[tuple[int, int]]:
    """Give pairs of row ids: the vanished one and the new one that is the same file."""
    left, right = list(gone), list(new)
    pairs: list[tuple[int, int]] = []
    for key, agrees in ((_same_file, _always), (_mbid, _always), (_isrc, _close)):
        found = _unique_pairs(left, right, key, agrees)
        pairs += found
        taken = {row_id for pair in found for row_id in pair}
        left = [facts for facts in left if facts.row_id not in taken]
        right = [facts for facts in right if facts.row_id not in taken]
    return pairs


def in_order(moves: Mapping[str, str]) -> list[list[tuple[str, str]]]:
    """Give moves in groups, each in an order in which a place is left before it is taken.

    In a ring the first move leads to where the last one begins; nothing can come first there.
    """
    before = {new: old for old, new in moves.items()}
    ends = [old for old, new in moves.items() if new not in moves]
    groups: list[list[tuple[str, str]]] = []
    done: set[str] = set()
    for end in [*ends, *moves]:  # what no end leads to is a ring
        group: list[tuple[str, str]] = []
        old: str | None = end
        while old is not None and old not in done:
            done.add(old)
            group.append((old, moves[old]))
            old = before.get(old)
        if group:
            groups.append(group)
    return groups


def is_ring(group: Sequence[tuple[Hashable, Hashable]]) -> bool:
    """Tell whether every place of a group is taken again."""
    return group[0][1] == group[-1][0]


def _unique_pairs(
    left: list[FileFacts],
    right: list[FileFacts],
    key: Callable[[FileFacts], Hashable | None],
    agrees: Callable[[FileFacts, FileFacts], bool],
) -> list[tuple[int, int]]:
    many: dict[Hashable, tuple[list[FileFacts], list[FileFacts]]] = defaultdict(lambda: ([], []))
    for side, group in enumerate((left, right)):
        for facts in group:
            if (name := key(facts)) is not None:
                many[name][side].append(facts)
    return [
        (some[0].row_id, others[0].row_id)
        for some, others in many.values()
        if len(some) == len(others) == 1 and agrees(some[0], others[0])
    ]


def _same_file(facts: FileFacts) -> Hashable | None:
    return (facts.inode, facts.size, facts.mtime_ns) if facts.inode and facts.size else None


def _mbid(facts: FileFacts) -> Hashable | None:
    return facts.mbid or None


def _isrc(facts: FileFacts) -> Hashable | None:
    return facts.isrc.partition(",")[0] or None


def _always(_one: FileFacts, _other: FileFacts) -> bool:
    return True


def _close(one: FileFacts, other: FileFacts) -> bool:
    if not one.duration_ms or not other.duration_ms:
        return False
    return abs(one.duration_ms - other.duration_ms) <= CLOSE_MS
