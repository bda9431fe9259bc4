"""What a guard says about a candidate."""

from dataclasses import dataclass
from enum import StrEnum


class Decision(StrEnum):
    """What may be written of a candidate."""

    ACCEPT = "accept"
    UNSYNCED_ONLY = "accept_unsynced_only"
    REJECT = "reject"


class Evidence(StrEnum):
    """How strong the match is, as shown to users."""

    EXACT = "exact"
    STRONG = "strong"
    FAIR = "fair"
    NONE = "none"


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """The strictest decision of all guards, and the reason code that led to it.

    The relations are those of the match guard (``equal``, ``close``, …); they
    are kept as evidence. ``delta_s`` is None when a length is unknown; the title
    or the artist is literal when it is spelled as asked, case and accents aside.
    """

    decision: Decision
    reason: str
    evidence: Evidence = Evidence.NONE
    title: str = ""
    artist: str = ""
    version: str = ""
    delta_s: float | None = None
    album_equal: bool = False
    title_literal: bool = False
    artist_literal: bool = False

    @property
    def accepted(self) -> bool:
        """Tell whether the timing may be used too."""
        return self.decision is Decision.ACCEPT

    @property
    def rejected(self) -> bool:
        """Tell whether nothing of the candidate may be used."""
        return self.decision is Decision.REJECT
