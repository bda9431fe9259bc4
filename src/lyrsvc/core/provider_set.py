"""The provider set: which lanes, in which order and under which rules, judge a track."""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256

from lyrsvc.core.judging import RULES_VERSION


def provider_set_version(lanes: Sequence[str], *, rules_version: int = RULES_VERSION) -> int:
    """Give the number of a set: 31 bits over the active lanes in order and the guards' rules."""
    return _number("\n".join((*lanes, f"rules {rules_version}")))


@lru_cache(maxsize=8)
def _number(text: str) -> int:
    return int.from_bytes(sha256(text.encode()).digest()[:4]) >> 1
