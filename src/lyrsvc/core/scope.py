"""What an API key may be used for."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final


class Scope(StrEnum):
    """The scopes of keys, which are also what routes require."""

    ADMIN = "admin"
    WEBHOOK = "webhook"

    def satisfied_by(self, scopes: Iterable["Scope"]) -> bool:
        """Tell whether a key with these scopes may pass; admin satisfies every requirement."""
        return bool({self, Scope.ADMIN}.intersection(scopes))


SCOPES: Final = tuple(str(scope) for scope in Scope)
DEFAULT_SCOPES: Final = frozenset({Scope.WEBHOOK})


def read_scopes(names: Iterable[str]) -> frozenset[Scope]:
    """Read the names of scopes, none meaning webhook; ``ValueError`` for one nobody knows."""
    found = set()
    for name in names:
        if name not in SCOPES:
            raise ValueError(f'scope "{name}" is not one of {", ".join(SCOPES)}')
        found.add(Scope(name))
    return frozenset(found) or DEFAULT_SCOPES


def write_scopes(scopes: Iterable[Scope]) -> str:
    """Write scopes as columns and listings hold them: sorted, joined by commas."""
    return ",".join(sorted(scopes))
