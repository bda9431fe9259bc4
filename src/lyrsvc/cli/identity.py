"""Working as the owner of the database, so that no file of it ends up owned by root."""

import os
from pathlib import Path

from lyrsvc.core.errors import Refused


def is_root() -> bool:
    """Tell whether this process may become anybody."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def would_leave_traces(directory: Path) -> bool:
    """Tell whether files this process makes there would be root's in another user's directory."""
    try:
        return is_root() and directory.stat().st_uid != 0
    except OSError:
        return False


def become_owner(directory: Path) -> None:
    """Become the user and group that a directory belongs to, unless it is missing or root's.

    Whoever is not root any more stays who it is; a root without the power to is refused.
    """
    try:
        owner = directory.stat()
    except OSError:
        return
    if owner.st_uid == 0 or not is_root():
        return
    try:
        os.setgroups(_groups_of(owner.st_uid, owner.st_gid))
        os.setgid(owner.st_gid)
        os.setuid(owner.st_uid)
    except PermissionError as error:
        raise Refused(
            f"{directory} belongs to user {owner.st_uid}, and this root may not become that user; "
            f"run this as user {owner.st_uid}"
        ) from error


def _groups_of(user: int, group: int) -> list[int]:
    import pwd

    try:
        return os.getgrouplist(pwd.getpwuid(user).pw_name, group)
    except KeyError:
        return [group]
