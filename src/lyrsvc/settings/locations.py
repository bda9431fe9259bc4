"""Where the settings file and the database are: the first row of the table that applies."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from lyrsvc import brand
from lyrsvc.core.setting_kinds import Toggle
from lyrsvc.settings.environment_sections import Environment
from lyrsvc.settings.sections import Db

_PACKAGE_STATE = Path(brand.PACKAGE_STATE)
_PACKAGE_DATABASE = _PACKAGE_STATE / brand.DATABASE_NAME
_PACKAGE_USERS = ("root", brand.SERVICE_USER)
_PACKAGE_CONFIG = Path(brand.PACKAGE_CONFIG)
_CONTAINER = Path(brand.CONTAINER_DIRECTORY)
_CONFIG_VARIABLE = Environment.config.env[0]
_DATABASE_VARIABLE = Db.path.env[0]
_CONTAINER_VARIABLE = Environment.docker.env[0]
_CONFIG_FLAG = "--config"
_HOMES = ("HOME", "USERPROFILE")


class Circumstances(NamedTuple):
    """What decides about paths, handed in."""

    environ: Mapping[str, str]
    config_flag: str | None
    database_flag: str | None
    working_directory: Path
    user: str
    exists: Callable[[str | Path], bool]


class ConfigPlace(NamedTuple):
    """The settings file; ``named`` when somebody asked for exactly this one."""

    path: Path | None
    named: bool
    named_by: str = ""
    """The flag or variable that named it."""


def home_of(environ: Mapping[str, str]) -> Path | None:
    """Give the home (on Windows the profile) directory, or None when there is none."""
    names = (environ.get(name, "").strip() for name in _HOMES)
    return next((Path(name) for name in names if Path(name).is_absolute()), None)


def absolute(name: str, working_directory: Path, home: Path | None) -> Path:
    """Give a named file as everybody finds it: ``~`` is the home, others start where we stand."""
    if home is not None and (name == "~" or name.startswith("~/")):
        return home / name[2:]
    return working_directory / name


def in_container(here: Circumstances) -> bool:
    """Tell whether the container's paths are in force."""
    said = here.environ.get(_CONTAINER_VARIABLE, "").strip().lower()
    if said:
        return said in Toggle.YES
    return home_of(here.environ) is None and here.exists(Path("/.dockerenv"))


def config_place(here: Circumstances) -> ConfigPlace:
    """Decide about the settings file."""
    by_flag = (here.config_flag or "").strip()
    given = by_flag or here.environ.get(_CONFIG_VARIABLE, "").strip()
    if given:
        named_by = _CONFIG_FLAG if by_flag else _CONFIG_VARIABLE
        return ConfigPlace(_absolute(given, here), named=True, named_by=named_by)
    if in_container(here):
        return ConfigPlace(_CONTAINER / brand.CONFIG_NAME, named=False)
    if _named_database(here) == _PACKAGE_DATABASE or _uses_package(here):
        return ConfigPlace(_PACKAGE_CONFIG, named=False)
    home = home_of(here.environ)
    base = _xdg(here, "XDG_CONFIG_HOME", home and home / ".config")
    return ConfigPlace(base and base / brand.HOME_DIRECTORY / brand.CONFIG_NAME, named=False)


def database_place(here: Circumstances) -> Path | None:
    """Decide about the database when neither flag, variable nor file names it."""
    if in_container(here):
        return _CONTAINER / brand.DATABASE_NAME
    if _uses_package(here):
        return _PACKAGE_DATABASE
    home = home_of(here.environ)
    base = _xdg(here, "XDG_DATA_HOME", home and home / ".local" / "share")
    return base and base / brand.HOME_DIRECTORY / brand.DATABASE_NAME


def uses_package_by_itself(here: Circumstances) -> bool:
    """Tell whether the installed service's files were chosen because they are there."""
    return not in_container(here) and _uses_package(here)


def misses_package(here: Circumstances) -> str:
    """Tell what to do where a service is installed but its files are not used: it never ran."""
    if in_container(here) or not _may_use_package(here) or not here.exists(_PACKAGE_STATE):
        return ""
    if here.exists(_PACKAGE_DATABASE):
        return ""
    return f"start it first, or set {_DATABASE_VARIABLE}={_PACKAGE_DATABASE}"


def overlooks_package(here: Circumstances) -> bool:
    """Tell whether a service is installed, but whoever asks would begin with files of their own."""
    if in_container(here) or here.user in _PACKAGE_USERS or _names_place(here):
        return False
    own = database_place(here)
    return here.exists(_PACKAGE_STATE) and not (own and here.exists(own))


def _uses_package(here: Circumstances) -> bool:
    return _may_use_package(here) and here.exists(_PACKAGE_DATABASE)


def _may_use_package(here: Circumstances) -> bool:
    return here.user in _PACKAGE_USERS and not _names_place(here)


def _names_place(here: Circumstances) -> bool:
    given = (here.config_flag or here.environ.get(_CONFIG_VARIABLE, "")).strip()
    return bool(given) or _named_database(here) is not None


def _named_database(here: Circumstances) -> Path | None:
    given = (here.database_flag or "").strip() or here.environ.get(_DATABASE_VARIABLE, "").strip()
    return _absolute(given, here) if given else None


def _absolute(name: str, here: Circumstances) -> Path:
    return absolute(name, here.working_directory, home_of(here.environ))


def _xdg(here: Circumstances, name: str, otherwise: Path | None) -> Path | None:
    """Take an absolute XDG directory; a relative one is invalid by its own standard."""
    given = here.environ.get(name, "").strip()
    return Path(given) if given and Path(given).is_absolute() else otherwise
