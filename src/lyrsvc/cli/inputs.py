"""Gathering what settings depend on from the outside that the entry handed in."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lyrsvc import brand
from lyrsvc.core.setting import Section
from lyrsvc.providers.lane_registry import BUILTIN_NAMES
from lyrsvc.settings.loading import Inputs, Lanes
from lyrsvc.settings.sections import Db
from lyrsvc.settings.server_sections import Logging


def gather_inputs(
    environ: Mapping[str, str],
    working_directory: Path,
    *,
    flags: Mapping[str, Any],
    config: str | None,
    env_file: str | None,
) -> Inputs:
    """Make the inputs of the settings loader."""
    return Inputs(
        environ=environ,
        working_directory=working_directory,
        user=current_user(),
        lanes=Lanes(BUILTIN_NAMES, plugin_sections),
        flags=flags,
        config_flag=config,
        env_file_flag=env_file,
    )


def secluded_inputs(working_directory: Path, *, flags: Mapping[str, Any]) -> Inputs:
    """Make inputs that know nothing of the user's variables and files; flags still count.

    Warnings alone are logged unless a flag says otherwise.
    """
    environ = {Db.path.env[0]: brand.DATABASE_NAME, Logging.level.env[0]: "warn"}
    alone = gather_inputs(environ, working_directory, flags=flags, config=None, env_file="none")
    return alone._replace(file_text="")


def plugin_sections(wanted: Iterable[str]) -> dict[str, type[Section] | None]:
    """Load the wanted lanes that packages offer, and give the settings each declares."""
    from lyrsvc.providers.lane_registry import find_lanes, known_lanes

    names = {name.replace("_", "-") for name in wanted}
    offered = [name for name in known_lanes() if name in names]
    return {lane.name: getattr(lane.source, "Section", None) for lane in find_lanes(offered)}


def current_user() -> str:
    """Give the name of the user this process runs as, or its number."""
    import os

    if not hasattr(os, "geteuid"):
        return ""
    number = os.geteuid()
    if number == 0:
        return "root"
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
