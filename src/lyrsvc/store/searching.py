"""Text in artist, title or album of work items, where accents and case do not matter.

Artist and title are stored as match keys too, the album only as it is displayed.
The key of an album in plain letters is its lower-case form, which SQL can compare;
the others are few, and are compared here.
"""

from typing import TYPE_CHECKING, Any, Final

from lyrsvc.core.keys import match_key

if TYPE_CHECKING:
    from lyrsvc.store.transaction import Tx

MOST_ALBUMS: Final = 30_000
LONGEST_TEXT: Final = 1_000
"""No name is longer; a database refuses patterns of any length."""

NOTHING: Final = "1 = 0"

_ODD_ALBUMS: Final = """
    SELECT DISTINCT i.album
      FROM work_items i
     WHERE (octet_length(i.album) <> length(i.album) OR i.album LIKE '%''%'
            OR i.album LIKE '%&%' OR i.album LIKE '%`%' OR i.album LIKE '%  %')
       AND """
_IN_NAMES: Final = (
    r"i.artist_key LIKE :pattern ESCAPE '\' OR i.title_key LIKE :pattern ESCAPE '\' "
    r"OR lower(i.album) LIKE :pattern ESCAPE '\'"
)


def text_condition(tx: "Tx", text: str, *, among: str) -> tuple[str, dict[str, Any]]:
    """Give the condition on ``work_items i`` that the text occurs, and its parameters.

    ``among`` is the condition that the items fulfil anyway; it says where to look.
    A text that is empty as a match key occurs everywhere.
    """
    key = match_key(text)
    if not key:
        return "", {}
    if len(key) > LONGEST_TEXT:
        return NOTHING, {}
    params: dict[str, Any] = {"pattern": _pattern(key)}
    odd = _odd_albums(tx, key, among)
    if not odd:
        return f"({_IN_NAMES})", params
    params |= {f"album_{number}": album for number, album in enumerate(odd)}
    names = ", ".join(f":album_{number}" for number in range(len(odd)))
    return f"({_IN_NAMES} OR i.album IN ({names}))", params


def key_pattern(text: str) -> str:
    """Give the pattern that finds a text in columns of match keys; empty when it is everywhere.

    No name holds the pattern of a text that is longer than any.
    """
    key = match_key(text)
    return _pattern(key[:LONGEST_TEXT]) if key else ""


def _pattern(key: str) -> str:
    return f"%{_escaped(key)}%"


def _odd_albums(tx: "Tx", key: str, among: str) -> list[str]:
    found = (row["album"] for row in tx.each(_ODD_ALBUMS + among))
    return [album for album in found if key in match_key(album)][:MOST_ALBUMS]


def _escaped(key: str) -> str:
    return key.replace("\\", "\\\\").replace("%", r"\%").replace("_", r"\_")
