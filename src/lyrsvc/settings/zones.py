"""The zone of the schedule's clock: the operator's, else the machine's."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from lyrsvc.core.posix_zone import rule_zone

MACHINE_ZONE: Final = Path("/etc/localtime")


def find_zone(name: str, *, machine: Path = MACHINE_ZONE) -> tzinfo:
    """Give the zone ``TZ`` names; the machine's own when it is blank or unknown."""
    if (named := read_zone(name)) is not None:
        return named
    with suppress(ValueError, OSError):
        return _zone_of_file(machine)
    return LibraryZone()


def shown_zone(name: str) -> tzinfo:
    """Give the zone moments are shown in: the one ``TZ`` names, else UTC."""
    return read_zone(name) or UTC


def read_zone(name: str) -> ZoneInfo | None:
    """Read ``TZ`` as the C library does: the name of a zone, the path of its file, or a rule."""
    wanted = name.strip().removeprefix(":")
    with suppress(KeyError, ValueError, OSError):
        path = Path(wanted)
        if path.is_absolute() and path.is_file():
            return _zone_of_file(path, name=wanted)
        if wanted:
            return ZoneInfo(wanted)
    return rule_zone(wanted)


class LibraryZone(tzinfo):
    """The zone as the C library knows it, for machines that keep it nowhere else."""

    def utcoffset(self, moment: datetime | None) -> timedelta | None:
        """Give the distance to UTC at a local time, its ``fold`` respected."""
        return None if moment is None else _local(moment.replace(tzinfo=None)).utcoffset()

    def dst(self, moment: datetime | None) -> timedelta | None:  # noqa: ARG002 - it is tzinfo's
        """Give nothing: the C library does not tell it reliably."""
        return None

    def tzname(self, moment: datetime | None) -> str | None:
        """Give the abbreviation at a local time."""
        return None if moment is None else _local(moment.replace(tzinfo=None)).tzname()

    def fromutc(self, moment: datetime) -> datetime:
        """Give the local time of a moment; the second of two equal ones has ``fold`` 1."""
        here = _local(moment.replace(tzinfo=UTC))
        first = here.replace(tzinfo=self, fold=0)
        return first if first.utcoffset() == here.utcoffset() else first.replace(fold=1)


def _local(moment: datetime) -> datetime:
    return moment.astimezone()


def _zone_of_file(path: Path, *, name: str | None = None) -> ZoneInfo:
    """Read a zone; its name is that of the file a link such as ``/etc/localtime`` points to."""
    _, found, key = str(path.resolve()).partition("/zoneinfo/")
    with path.open("rb") as file:
        return ZoneInfo.from_file(file, key=key if found else name)
