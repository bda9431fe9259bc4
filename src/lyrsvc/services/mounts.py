"""What is mounted where, and of what kind, as Linux tells it; elsewhere nobody knows."""

import os
import re
from pathlib import Path
from typing import Final, NamedTuple

MOUNT_TABLE: Final = Path("/proc/self/mountinfo")
NETWORK: Final = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ncpfs", "9p", "ceph", "glusterfs"),
        *("fuse.sshfs", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "davfs", "fuse.davfs"),
        *("lustre", "ocfs2", "gfs2", "beegfs", "moosefs", "fuse.mfs"),
    }
)


class Mount(NamedTuple):
    """One mount; ``number`` and ``device`` tell it from another one at the same place."""

    number: str
    device: str
    place: str
    kind: str


def all_mounts(*, table: Path = MOUNT_TABLE) -> list[Mount]:
    """List what is mounted; of several at one place the last one lies on top."""
    try:
        lines = table.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return []
    mounts: list[Mount] = []
    for line in lines:
        head, _, tail = line.partition(" - ")
        fields, kind = head.split(" "), tail.split(" ")[0]
        if len(fields) >= 5 and kind:
            mounts.append(Mount(fields[0], fields[2], _plain(fields[4]), kind))
    return mounts


def network_kind(place: Path, *, table: Path = MOUNT_TABLE) -> str:
    """Name the network file system a place lies on; empty for a local disk."""
    path = os.path.realpath(place)
    best, kind = "", ""
    for mount in all_mounts(table=table):
        inside = path == mount.place or path.startswith(mount.place.rstrip("/") + "/")
        if inside and len(mount.place) >= len(best):
            best, kind = mount.place, mount.kind
    return kind if kind in NETWORK else ""


def _plain(escaped: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), escaped)
