"""What kind of file system a place lies on, as Linux tells it; elsewhere nobody knows."""

import os
import re
from pathlib import Path
from typing import Final

MOUNT_TABLE: Final = Path("/proc/self/mountinfo")
NETWORK: Final = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ncpfs", "9p", "ceph", "glusterfs"),
        *("fuse.sshfs", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "davfs", "fuse.davfs"),
        *("lustre", "ocfs2", "gfs2", "beegfs", "moosefs", "fuse.mfs"),
    }
)


def network_kind(place: Path, *, table: Path = MOUNT_TABLE) -> str:
    """Name the network file system a place lies on; empty for a local disk."""
    try:
        lines = table.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return ""
    kind = _kind_at(os.path.realpath(place), lines)
    return kind if kind in NETWORK else ""


def _kind_at(path: str, lines: list[str]) -> str:
    """Find the innermost mount; of several at one place the last one lies on top."""
    best, kind = "", ""
    for line in lines:
        head, _, tail = line.partition(" - ")
        fields, more = head.split(" "), tail.split(" ")
        if len(fields) < 5 or not more[0]:
            continue
        mount = _plain(fields[4])
        inside = path == mount or path.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(best):
            best, kind = mount, more[0]
    return kind


def _plain(escaped: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), escaped)
