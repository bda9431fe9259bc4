"""Paths and foreign text in a form that every database column can hold.

A file name is bytes, a column is text. ``ptext`` keeps valid UTF-8 readable and
turns each undecodable byte into a mark and two hex digits, so that the exact
bytes come back. Texts in Python's own form (undecodable bytes as lone
surrogates) and raw bytes are both taken.
"""

import os

_MARK = "\uf8ff"
_FIRST_ESCAPED = 0xDC00
_HEX = frozenset("0123456789abcdef")


def to_ptext(path: str | bytes) -> str:
    """Give the reversible text form of a path."""
    text = path if isinstance(path, str) else path.decode("utf-8", "surrogateescape")
    if text.isascii():
        return text
    if _MARK in text:
        text = text.replace(_MARK, _MARK + _MARK)
    if _is_utf8(text):
        return text
    return "".join(_escape(character) for character in text)


def from_ptext(text: str) -> str:
    """Give the path back as Python's file functions take it."""
    return text if _MARK not in text else os.fsdecode(bytes_from_ptext(text))


def bytes_from_ptext(text: str) -> bytes:
    """Give the raw bytes of the path; refuse what ``to_ptext`` never makes."""
    head, *rest = text.split(_MARK)
    parts = [head.encode()]
    doubled = False
    for index, piece in enumerate(rest):
        if doubled:
            parts.append(piece.encode())
            doubled = False
        elif not piece and index + 1 < len(rest):
            parts.append(_MARK.encode())
            doubled = True
        elif len(piece) >= 2 and _HEX.issuperset(piece[:2]):
            parts.append(bytes.fromhex(piece[:2]) + piece[2:].encode())
        else:
            raise ValueError("not the text form of a path")
    return b"".join(parts)


def path_hash(path: str | bytes) -> str:
    """Give the BLAKE2b-128 of the raw path bytes, as 32 hex digits."""
    from hashlib import blake2b  # costs start-up time that listings need not pay

    return blake2b(os.fsencode(path), digest_size=16).hexdigest()


def clean_text(text: str) -> str:
    """Give text that is valid UTF-8: without NUL, lone surrogates as U+FFFD."""
    if "\0" in text:
        text = text.replace("\0", "")
    if text.isascii() or _is_utf8(text):
        return text
    return "".join("\ufffd" if "\ud800" <= letter <= "\udfff" else letter for letter in text)


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _escape(character: str) -> str:
    if not "\ud800" <= character <= "\udfff":
        return character
    byte = ord(character) - _FIRST_ESCAPED
    if not 0x80 <= byte <= 0xFF:
        raise ValueError("the path holds a surrogate that stands for no byte")
    return f"{_MARK}{byte:02x}"
