"""Who a request acts for, once a gate has let it through."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class IdentityKind(StrEnum):
    """How somebody proved who they are."""

    ANONYMOUS = "anonymous"
    KEY = "key"
    SESSION = "session"
    TRUSTED = "trusted-network"


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """Who acts; ``actor`` is how audit lines name them, ``session`` the hash of a session."""

    kind: IdentityKind
    actor: str
    name: str = ""
    session: str = ""


ANONYMOUS: Final = Identity(kind=IdentityKind.ANONYMOUS, actor="anonymous")
TRUSTED: Final = Identity(kind=IdentityKind.TRUSTED, actor="trusted-network")
