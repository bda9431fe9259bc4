"""Take the builder's own directories out of the library search paths of binaries.

An interpreter that was built in somebody's home looks for its libraries there, wherever it is
copied. In a package that path is at best useless; whoever owns it on the target could plant code.
"""

import struct
from collections.abc import Iterator
from pathlib import Path

_MAGIC = b"\x7fELF\x02\x01"
"""64-bit and little-endian: amd64 and arm64."""
_LOAD, _DYNAMIC = 1, 2
_END, _STRINGS, _RPATH, _RUNPATH = 0, 5, 15, 29
_ENTRY = struct.Struct("<qQ")
_SEGMENT = struct.Struct("<IIQQQQQQ")


def clean(tree: Path) -> int:
    """Remove every search path that does not start at the binary itself; count the binaries."""
    return sum(_clean_file(path) for path in sorted(tree.rglob("*")) if not path.is_symlink())


def search_paths(content: bytes) -> list[str]:
    """List the search paths of a binary; none for other files."""
    return [path for tag, path in _entries(content) if tag in (_RPATH, _RUNPATH)]


def _clean_file(path: Path) -> bool:
    if not path.is_file():
        return False
    content = path.read_bytes()
    if all(_stays_inside(each) for each in search_paths(content)):
        return False
    start, size = _dynamic(content)
    table = content[start : start + size]
    kept = b"".join(
        _ENTRY.pack(tag, value)
        for tag, value in _ENTRY.iter_unpack(table)
        if tag not in (_RPATH, _RUNPATH) or _stays_inside(_string(content, value))
    )
    path.write_bytes(content[:start] + kept.ljust(size, b"\0") + content[start + size :])
    return True


def _stays_inside(search_path: str) -> bool:
    return all(part.startswith("$ORIGIN") for part in search_path.split(":"))


def _entries(content: bytes) -> Iterator[tuple[int, str]]:
    start, size = _dynamic(content)
    for tag, value in _ENTRY.iter_unpack(content[start : start + size]):
        if tag == _END:
            return
        if tag in (_RPATH, _RUNPATH):
            yield tag, _string(content, value)


def _segments(content: bytes) -> Iterator[tuple[int, ...]]:
    if not content.startswith(_MAGIC):
        return
    (offset,) = struct.unpack_from("<Q", content, 32)
    size, count = struct.unpack_from("<HH", content, 54)
    for number in range(count):
        yield _SEGMENT.unpack_from(content, offset + number * size)


def _dynamic(content: bytes) -> tuple[int, int]:
    """Find the dynamic table: where it lies in the file, and how long it is."""
    for kind, _, offset, _, _, size, *_ in _segments(content):
        if kind == _DYNAMIC:
            return offset, size - size % _ENTRY.size
    return 0, 0


def _string(content: bytes, index: int) -> str:
    start, size = _dynamic(content)
    table = dict(_ENTRY.iter_unpack(content[start : start + size]))
    address = table[_STRINGS]
    for kind, _, offset, virtual, _, length, *_ in _segments(content):
        if kind == _LOAD and virtual <= address < virtual + length:
            begin = address - virtual + offset + index
            return content[begin : content.index(b"\0", begin)].decode("utf-8", "replace")
    return ""
