"""Which lanes there are: the built-in ones, and those other packages offer.

A package offers a lane through an entry point whose name is the lane's name and
whose object is ``make(settings, env) -> provider``. It is loaded only when an
operator names it.
"""

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from lyrsvc import brand
from lyrsvc.core.errors import ConfigError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from lyrsvc.core.ports import Provider, Tokens

    Make = Callable[[Mapping[str, Any], "HouseEnv"], Provider]

NAME: Final = re.compile(r"[a-z][a-z0-9-]{1,31}")
RESERVED: Final = frozenset({"detector", "embedded"})
"""Labels that stand for something other than a provider."""


class Env:
    """What every lane may know about the program it runs in."""

    def __init__(self, *, version: str, user_agent: str) -> None:
        self.version = version
        self.user_agent = user_agent


class HouseEnv(Env):
    """What only the built-in lanes are told."""

    def __init__(
        self,
        *,
        version: str,
        user_agent: str,
        tokens: "Tokens",
        word_timing: bool = False,
        translation_language: str | None = None,
    ) -> None:
        super().__init__(version=version, user_agent=user_agent)
        self.tokens = tokens
        self.word_timing = word_timing
        self.translation_language = translation_language


class Lane:
    """The one declaration of a lane.

    ``make`` takes the values of the lane's settings section and gives the
    provider; ``source`` is what a ``Section`` of settings may be read from.
    ``from_end`` makes the wait count from the end of the last answer.
    """

    def __init__(
        self,
        *,
        name: str,
        make: "Make",
        needs_token: bool = False,
        from_end: bool = False,
        source: object = None,
    ) -> None:
        self.name = name
        self.make = make
        self.needs_token = needs_token
        self.from_end = from_end
        self.source = source


def _make_defaultprov(settings: Mapping[str, Any], env: HouseEnv) -> "Provider":
    from lyrsvc.providers.defaultprov import DefaultProv

    return DefaultProv(
        base_url=settings["base_url"],
        app_id=settings["app_id"],
        tokens=env.tokens,
        word_timing=env.word_timing,
        translation_language=env.translation_language,
    )


def _make_lrclib(settings: Mapping[str, Any], _env: HouseEnv) -> "Provider":
    from lyrsvc.providers.lrclib import Lrclib

    return Lrclib(base_url=settings["base_url"])


def _make_lrclib_dump(settings: Mapping[str, Any], _env: HouseEnv) -> "Provider":

    from pathlib import Path

    from lyrsvc.providers.lrclib_dump import LrclibDump

    return LrclibDump(path=Path(settings["path"]))


BUILTIN: Final = (
    Lane(name="defaultprov", make=_make_defaultprov, needs_token=True),
    Lane(name="lrclib", make=_make_lrclib, from_end=True),
    Lane(name="lrclib-dump", make=_make_lrclib_dump),
)


def known_lanes() -> tuple[str, ...]:
    """Name every lane that could be used: built in first, then what is installed."""
    offered = sorted(point.name for point in _offered() if point.name not in BUILTIN_NAMES)
    return tuple(dict.fromkeys([*BUILTIN_NAMES, *offered]))


def find_lanes(names: Iterable[str]) -> tuple[Lane, ...]:
    """Give the declarations of the named lanes in their order; every fault is told at once."""
    offered = _offered()
    lanes: list[Lane] = []
    faults: list[str] = []
    for name in dict.fromkeys(names):
        try:
            lanes.append(_find(name, [point for point in offered if point.name == name]))
        except ConfigError as error:
            faults += error.faults
    if faults:
        raise ConfigError(faults)
    return tuple(lanes)


def _find(name: str, offers: Sequence["EntryPoint"]) -> Lane:
    built_in = next((lane for lane in BUILTIN if lane.name == name), None)
    if offers and (built_in or name in RESERVED):
        raise _fault(name, f"is built in and cannot be replaced by {_distribution(offers[0])}")
    if built_in:
        return built_in
    if not offers:
        raise _fault(
            name,
            "is not known; no installed package offers it in the entry-point group "
            f"{brand.PROVIDER_GROUP}",
        )
    if not NAME.fullmatch(name):
        raise _fault(name, f"is no lane name; {_distribution(offers[0])} must choose another")
    if len({_distribution(point) for point in offers}) > 1:
        packages = " and ".join(sorted({_distribution(point) for point in offers}))
        raise _fault(name, f"is offered by {packages}; uninstall one of them")
    return _load(name, offers[0])


def _load(name: str, point: "EntryPoint") -> Lane:
    from lyrsvc.providers.stranger import Stranger

    package = _distribution(point)
    try:
        make = point.load()
    except Exception as error:
        raise _fault(name, f"of {package} cannot be loaded: {type(error).__name__}") from error
    if not callable(make):
        raise _fault(name, f"of {package} is not callable; it must be make(settings, env)")

    def make_stranger(settings: Mapping[str, Any], env: HouseEnv) -> "Provider":
        known = Env(version=env.version, user_agent=env.user_agent)
        try:
            provider = make(settings, known)
        except Exception as error:
            raise _fault(name, f"of {package} cannot be made: {type(error).__name__}") from error
        if getattr(provider, "name", None) != name:
            raise _fault(name, f"of {package} calls itself by another name")
        return Stranger(provider)

    return Lane(
        name=name,
        make=make_stranger,
        needs_token=bool(getattr(make, "needs_token", False)),
        source=_section_holder(make),
    )


def _section_holder(make: object) -> object:
    """Give what may carry the lane's ``Section``: the maker itself, else its module."""
    if hasattr(make, "Section"):
        return make
    return sys.modules.get(getattr(make, "__module__", ""), make)


def _offered() -> "Sequence[EntryPoint]":
    from importlib.metadata import entry_points  # costs start-up time

    return tuple(entry_points(group=brand.PROVIDER_GROUP))


def _distribution(point: "EntryPoint") -> str:
    return point.dist.name if point.dist else "an unnamed package"


def _fault(name: str, what: str) -> ConfigError:
    return ConfigError([f"lane {name} {what}"])


BUILTIN_NAMES: Final = tuple(lane.name for lane in BUILTIN)
