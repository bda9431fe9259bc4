"""The detection decision: whether the classifier may be asked about an item, and who said so."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

from lyrsvc.core.errors import LyrsvcError


class DetectorDown(LyrsvcError):
    """The classifier cannot be asked now; nothing may be charged because of it.

    It is merely ``busy`` when it listens to another track: then nobody is to blame.
    """

    code = "detector_down"

    def __init__(self, message: str, *, until: datetime, busy: bool = False) -> None:
        super().__init__(message)
        self.until = until
        self.busy = busy


class ListeningStopped(LyrsvcError):
    """The program stops; the track is listened to another time."""

    code = "listening_stopped"


class DetectOrigin(StrEnum):
    """Where a decision comes from; the first that speaks counts."""

    EXPLICIT = "explicit"
    LIBRARY = "library"
    GLOBAL = "global"


def decide_detection(
    explicit: bool | None,  # noqa: FBT001 - it is the value itself
    libraries: Iterable[bool | None],
    *,
    default: bool,
) -> tuple[bool, DetectOrigin]:
    """Decide: explicit, else the libraries of the targets (on wins), else the global default."""
    if explicit is not None:
        return explicit, DetectOrigin.EXPLICIT
    overrides = [value for value in libraries if value is not None]
    if overrides:
        return any(overrides), DetectOrigin.LIBRARY
    return default, DetectOrigin.GLOBAL
