"""An API key as others may see it: never its raw value, never its hash."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from lyrsvc.core.ptext import clean_text
from lyrsvc.core.scope import Scope, write_scopes

LONGEST_NAME: Final = 120
SHOWN_DIGITS: Final = 8
"""How much of a public id listings show, and the shortest part that may name a key."""

_ID_PART: Final = re.compile(r"[0-9a-f]{8,16}")


@dataclass(frozen=True, kw_only=True, slots=True)
class ApiKey:
    """A managed key."""

    public_id: str
    name: str
    scopes: frozenset[Scope]
    created_at: datetime
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None

    @property
    def short_id(self) -> str:
        """The part of the public id that listings show."""
        return self.public_id[:SHOWN_DIGITS]

    @property
    def scope_text(self) -> str:
        """The scopes, sorted and joined by commas."""
        return write_scopes(self.scopes)


def checked_name(text: str) -> str:
    """Give the name of a key as it is stored; ``ValueError`` when it is too long."""
    name = clean_text(text)
    if len(name) > LONGEST_NAME:
        raise ValueError(f"the name of a key may have at most {LONGEST_NAME} characters")
    return name


def id_part(text: str) -> str | None:
    """Read the beginning of a public id as a listing shows it; None when it cannot be one."""
    part = text.strip().removesuffix("…").lower()
    return part if _ID_PART.fullmatch(part) else None
