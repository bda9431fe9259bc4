"""A webhook's body as an event: what the music manager says happened.

Nothing of the body is trusted: a member of the wrong type counts as absent, and what
is no single JSON object is refused. Paths are kept as they were sent.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NoReturn

from lyrsvc.core.errors import LyrsvcError
from lyrsvc.core.ptext import clean_text

LONGEST_NAME: Final = 1000
"""Characters of an artist, title or album that are kept."""
LONGEST_EVENT: Final = 64

_BOM: Final = b"\xef\xbb\xbf"


class InvalidPayload(LyrsvcError):
    """The body is not one JSON object."""

    code = "invalid_payload"


class EventKind(StrEnum):
    """The events that are known, by the name they are answered with."""

    TEST = "Test"
    DOWNLOAD = "Download"
    RETAG = "Retag"
    RENAME = "Rename"
    ARTIST_DELETE = "ArtistDelete"
    ALBUM_DELETE = "AlbumDelete"
    DELETE = "Delete"
    UNUSED = "unused"
    UNKNOWN = "unknown"


UNUSED: Final = (
    *("Grab", "DownloadFailure", "ImportFailure", "ArtistAdd"),
    *("Health", "HealthRestored", "ApplicationUpdate"),
)
"""Events that are known and of no use here."""

_ALIASES: Final = {"AlbumDownload": EventKind.DOWNLOAD, "TrackRetag": EventKind.RETAG}
_KINDS: Final[Mapping[str, tuple[EventKind, str]]] = {
    **{
        str(kind).lower(): (kind, str(kind))
        for kind in EventKind
        if kind not in (EventKind.UNUSED, EventKind.UNKNOWN)
    },
    **{name.lower(): (kind, str(kind)) for name, kind in _ALIASES.items()},
    **{name.lower(): (EventKind.UNUSED, name) for name in UNUSED},
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One event; what it does not say is blank.

    ``titles`` and ``files`` keep the order and number of the lists they come from.
    ``renamed`` holds pairs of old and new path. ``files_deleted`` is the boolean of a
    delete, ``deleted`` the list of an upgrade.
    """

    kind: EventKind
    name: str = ""
    instance: str = ""
    artist: str = ""
    artist_path: str = ""
    album: str = ""
    titles: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    retagged: str = ""
    renamed: tuple[tuple[str, str], ...] = ()
    is_upgrade: bool = False
    deleted: tuple[str, ...] = ()
    files_deleted: bool = False


def read_event(body: bytes) -> Event:
    """Read a body, or raise ``InvalidPayload``."""
    root = _Object(_decode(body))
    kind, name = _kind(root)
    artist, album = root.object("artist"), root.object("album")
    return Event(
        kind=kind,
        name=name,
        instance=root.text("instanceName"),
        artist=artist.name("name") or artist.name("artistName"),
        artist_path=artist.text("path"),
        album=album.name("title"),
        titles=tuple(track.name("title") for track in _either(root, "tracks", "track")),
        files=tuple(file.text("path") for file in _either(root, "trackFiles", "trackFile")),
        retagged=root.object("trackFile").text("path"),
        renamed=tuple(
            (file.text("previousPath"), file.text("path"))
            for file in root.objects("renamedTrackFiles")
        ),
        is_upgrade=root.truth("isUpgrade"),
        deleted=tuple(file.text("path") for file in root.objects("deletedFiles")),
        files_deleted=root.truth("deletedFiles"),
    )


def _decode(body: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(
            body.removeprefix(_BOM).decode("utf-8"),
            parse_int=_Number,
            parse_float=_Number,
            parse_constant=_refuse,
        )
    except UnicodeDecodeError as fault:
        raise InvalidPayload("the body is not UTF-8 text") from fault
    except RecursionError as fault:
        raise InvalidPayload("the body is nested too deeply") from fault
    except ValueError as fault:
        raise InvalidPayload("the body is not JSON") from fault
    if not isinstance(value, dict):
        raise InvalidPayload("the body is not a JSON object")
    return value


class _Number(str):
    """A number as it was written, so that none is too large and no digit is lost."""

    __slots__ = ()


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _kind(root: "_Object") -> tuple[EventKind, str]:
    given = root.text("eventType").strip()
    if given:
        shown = "".join(filter(str.isprintable, given))[:LONGEST_EVENT]
        return _KINDS.get(given.lower(), (EventKind.UNKNOWN, shown))
    if root.has_list("tracks") or root.has_object("track") or root.has_list("trackFiles"):
        return EventKind.DOWNLOAD, str(EventKind.DOWNLOAD)
    return EventKind.UNKNOWN, ""


def _either(root: "_Object", plural: str, singular: str) -> Sequence["_Object"]:
    if root.has_list(plural):
        return root.objects(plural)
    return [root.object(singular)] if root.has_object(singular) else []


class _Object:
    """A JSON object, asked for members of a type; none is ever missing."""

    __slots__ = ("_folded", "_members")

    def __init__(self, members: Mapping[str, Any]) -> None:
        self._members = members
        self._folded: dict[str, Any] | None = None

    def name(self, member: str) -> str:
        """Give a name of something; a number counts as text."""
        found = self._find(member, lambda value: isinstance(value, str))
        return clean_text(found or "")[:LONGEST_NAME].strip()

    def text(self, member: str) -> str:
        found = self._find(member, _is_text)
        return found or ""

    def truth(self, member: str) -> bool:
        return self._find(member, lambda value: isinstance(value, bool)) is True

    def object(self, member: str) -> "_Object":
        return _Object(self._find(member, _is_object) or {})

    def objects(self, member: str) -> list["_Object"]:
        """Give the objects of a list; what is none stands there as an empty one."""
        found = self._find(member, _is_list) or []
        return [_Object(each if isinstance(each, dict) else {}) for each in found]

    def has_list(self, member: str) -> bool:
        return self._find(member, _is_list) is not None

    def has_object(self, member: str) -> bool:
        return self._find(member, _is_object) is not None

    def _find(self, member: str, fits: Callable[[Any], bool]) -> Any:  # noqa: ANN401 - JSON
        """Give a member by its exact name, else by its name in any case."""
        if member in self._members:
            value = self._members[member]
        else:
            if self._folded is None:
                self._folded = {name.lower(): each for name, each in self._members.items()}
            value = self._folded.get(member.lower())
        return value if fits(value) else None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not isinstance(value, _Number)


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _is_list(value: object) -> bool:
    return isinstance(value, list)
