"""Where music cannot be written: the warning, and what helps there.

The mount, the packaged unit, the container's ids or plain permissions: which of them it is
can only be told from the error and from what is installed here.
"""

import logging
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Final

from lyrsvc import brand
from lyrsvc.core.display import escape_controls
from lyrsvc.core.errors import FileFault

UNIT: Final = f"{brand.SERVICE_USER}.service"
UNIT_PLACES: Final = tuple(
    Path(place, "systemd", "system") for place in ("/etc", "/run", "/usr/lib", "/lib")
)
DROP_IN: Final = Path("/etc/systemd/system", f"{UNIT}.d", "media-write.conf")

_CAUSES: Final = {
    "read_only": "read-only for this process",
    "write_denied": "permission denied",
    "disk_full": "no space left",
}
_LOG = logging.getLogger("lyrsvc.worker")


class WriteRefusals:
    """Warns once of each library that refuses files; the items themselves name every file."""

    def __init__(
        self, *, in_container: bool = False, unit_places: Sequence[Path] = UNIT_PLACES
    ) -> None:
        self._in_container = in_container
        self._unit_places = unit_places
        self._told: set[tuple[Path, str]] = set()
        self._lock = Lock()

    def warn(self, root: Path, directory: Path, fault: FileFault) -> None:
        """Name the directory that refuses, and what opens its library."""
        cause = _CAUSES.get(fault.reason)
        with self._lock:
            if cause is None or (root, fault.reason) in self._told:
                return
            self._told.add((root, fault.reason))
        remedy = write_remedy(
            fault.reason,
            root,
            directory=directory,
            in_container=self._in_container,
            unit_places=self._unit_places,
        )
        shown = escape_controls(str(directory))
        _LOG.warning("cannot write in %s: %s; %s", shown, cause, remedy)


def write_remedy(
    reason: str,
    root: Path,
    *,
    directory: Path | None = None,
    in_container: bool,
    unit_places: Sequence[Path] = UNIT_PLACES,
) -> str:
    """Name what helps against a refusal below a library's root, in ``directory`` if not there."""
    if reason == "read_only":
        if in_container:
            return "mount it writable (without :ro)"
        if has_unit(unit_places):
            return f"mount it writable; when the unit keeps it read-only, {opening_in_unit(root)}"
        return "mount it writable"
    if reason == "disk_full":
        return "free some space or raise the quota"
    if in_container:
        return _ids_remedy(directory or root)
    shown = escape_controls(str(directory or root))
    return f"give the service's user write access, for example: chmod g+w {shown} and add its group"


def opening_in_unit(root: Path) -> str:
    """Say how the packaged unit is made to let a library be written."""
    shown = escape_controls(str(root))
    if len(shown.split()) > 1:
        shown = f'"{shown}"'
    return (
        f"put [Service] ReadWritePaths={shown} into {DROP_IN} "
        f"(template: /usr/share/{brand.PROGRAM}/systemd/media-write.conf), then: "
        f"systemctl daemon-reload && systemctl restart {brand.SERVICE_USER}"
    )


def has_unit(places: Sequence[Path]) -> bool:
    """Tell whether the packaged unit is installed."""
    return any((place / UNIT).exists() for place in places)


def _ids_remedy(directory: Path) -> str:
    try:
        owner = directory.stat()
    except OSError:
        return "set PUID and PGID to the owner of the directory"
    return f"set PUID={owner.st_uid} and PGID={owner.st_gid}, the owner of the directory"
