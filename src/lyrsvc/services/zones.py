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
    if (named := _named(name)) is not None:
        return named
    with suppress(ValueError, OSError), machine.open("rb") as file:
        return ZoneInfo.from_file(file, key=_key_of(machine))
    return LibraryZone()


def shown_zone(name: str) -> tzinfo:
    """Give the zone moments are shown in: the one ``TZ`` names, else UTC."""
    return _named(name) or UTC


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


def _named(name: str) -> ZoneInfo | None:
    """Read ``TZ`` as the C library does: the name of a zone, or else a rule."""
    wanted = name.strip().removeprefix(":")
    if wanted:
        with suppress(KeyError, ValueError, OSError):
            return ZoneInfo(wanted)
    return rule_zone(wanted)


def _local(moment: datetime) -> datetime:
    return moment.astimezone()


def _key_of(machine: Path) -> str | None:
    """Name the zone that a link such as ``/etc/localtime`` points to."""
    _, found, key = str(machine.resolve()).partition("/zoneinfo/")
    return key if found else None
