"""A wish: lyrics are wanted for a recording, perhaps beside a certain file."""

from dataclasses import dataclass
from enum import StrEnum

from lyrsvc.core.item import Priority, TargetOrigin
from lyrsvc.core.recording import Recording
from lyrsvc.core.sidecar import FetchMode


class WishOrigin(StrEnum):
    """Who wishes."""

    SCAN = "scan"
    WEBHOOK = "webhook"
    SEARCH = "search"

    @property
    def urgent(self) -> bool:
        """Tell whether somebody is waiting, so that waits are cut short."""
        return self is not WishOrigin.SCAN


@dataclass(frozen=True, kw_only=True, slots=True)
class Spot:
    """Where a sidecar is wanted; paths are as Python's file functions take them."""

    out_dir: str
    out_stem: str
    source_path: str = ""
    library_id: int | None = None
    origin: TargetOrigin = TargetOrigin.INVENTORY


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """What is asked of the queue.

    ``has_sidecar`` says whether a sidecar stands at the spot now, or without a spot at
    the places the queue knows; None is not known. ``priority`` None means that of the
    origin. ``detect`` is the explicit detection decision of a command line. ``names``
    are the match keys of identifying artist and title, where they are known already.
    ``at_hand`` says that the words came into the file's own tags, to be written out.
    ``by`` is who wishes, for the history; by default the origin.
    """

    recording: Recording
    spot: Spot | None = None
    origin: WishOrigin = WishOrigin.SCAN
    mode: FetchMode = FetchMode.NORMAL
    priority: int | None = None
    detect: bool | None = None
    has_sidecar: bool | None = None
    names: tuple[str, str] | None = None
    at_hand: bool = False
    by: str = ""

    @property
    def urgency(self) -> int:
        """Give the priority the item is to have at least."""
        if self.priority is not None:
            return self.priority
        return Priority.WEBHOOK if self.origin.urgent else Priority.SCAN
