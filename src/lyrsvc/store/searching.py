"""Text in artist, title or album, where accents and case do not matter.

Names are stored as match keys beside what is displayed. Items and the history keep the
keys of their three names in one column, so that a text is looked for once in each row.
"""

from typing import Final

from lyrsvc.core.keys import match_key
from lyrsvc.core.ptext import to_ptext

LONGEST_TEXT: Final = 1_000
"""No name is longer; a database refuses patterns of any length."""

NOTHING: Final = "1 = 0"

# The other credit is nearly always the same, and comparing is cheaper than searching.
_IN_FILE: Final = r"""
    (s.title_key LIKE :pattern ESCAPE '\' OR s.artist_key LIKE :pattern ESCAPE '\'
     OR s.album_key LIKE :pattern ESCAPE '\'
     OR (s.alt_artist_key <> s.artist_key AND s.alt_artist_key LIKE :pattern ESCAPE '\')
     OR (s.title_key = '' AND s.name LIKE :name ESCAPE '\'))"""


def search_keys(artist_key: str, title_key: str, album: str) -> str:
    """Give what a column ``search_keys`` holds; no text that is asked for spans its lines."""
    return f"{artist_key}\n{title_key}\n{match_key(album)}"


def text_condition(text: str, *, column: str) -> tuple[str, dict[str, str]]:
    """Give the condition on a column of match keys that the text occurs, and its parameter.

    A text that is empty as a match key occurs everywhere.
    """
    return _condition(text, rf"{column} LIKE :pattern ESCAPE '\'")


def file_condition(text: str) -> tuple[str, dict[str, str]]:
    """Give the same condition on the names of ``scan_results s``.

    A file without a title is shown, and found, by its own name.
    """
    condition, params = _condition(text, _IN_FILE)
    return condition, params and params | {"name": f"%{_escaped(to_ptext(text.strip()))}%"}


def _condition(text: str, condition: str) -> tuple[str, dict[str, str]]:
    key = match_key(text)
    if not key:
        return "", {}
    if len(key) > LONGEST_TEXT:
        return NOTHING, {}
    return condition, {"pattern": f"%{_escaped(key)}%"}


def _escaped(key: str) -> str:
    return key.replace("\\", "\\\\").replace("%", r"\%").replace("_", r"\_")
