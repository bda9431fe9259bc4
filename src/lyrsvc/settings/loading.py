"""From what was handed in to loaded settings, or to the list of everything that is wrong."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

from lyrsvc import brand
from lyrsvc.core.errors import ConfigError, UsageError
from lyrsvc.core.setting import Section, fill
from lyrsvc.settings import dotenv, locations
from lyrsvc.settings.addresses import user_info
from lyrsvc.settings.config_text import ConfigText, read_config, understand
from lyrsvc.settings.findings import Finding, Kind, fault, warning
from lyrsvc.settings.registry import Registry
from lyrsvc.settings.resolving import Resolution, Sources, locked_by, resolve, written_at
from lyrsvc.settings.rules import View, check_rules, drop_primary_from_fallbacks
from lyrsvc.settings.sections import Db, Settings
from lyrsvc.settings.unknowns import PASSWORD, PASSWORD_FILE, unknown_keys, unknown_variables
from lyrsvc.settings.whole_files import read_whole

_NO_ENV_FILE = "none"
_LANE_VARIABLES = f"{brand.ENV_PREFIX}PROVIDERS_"


class Lanes(NamedTuple):
    """The lanes there are: names of the built-in ones, and how to find those of plugins."""

    builtin: tuple[str, ...]
    plugins: Callable[[Iterable[str]], Mapping[str, type[Section] | None]]
    """Gives the settings section of each wanted lane that a package offers."""


class Inputs(NamedTuple):
    """Everything settings depend on, handed in by the entry."""

    environ: Mapping[str, str]
    working_directory: Path
    user: str
    lanes: Lanes
    flags: Mapping[str, Any] = {}
    config_flag: str | None = None
    env_file_flag: str | None = None
    stored: Mapping[str, str] = {}
    file_text: str | None = None
    """A candidate to examine instead of what stands in the file."""
    root: type[Section] = Settings
    """Where the declarations begin."""


class Loaded(NamedTuple):
    """Settings as they are in force, where each value came from, and what was found."""

    settings: Settings
    registry: Registry
    resolution: Resolution
    findings: tuple[Finding, ...]
    environ: Mapping[str, str]
    config_path: Path | None
    config_named: bool
    inputs: Inputs
    sources: Sources

    def source(self, path: str) -> str:
        """Give ``flag``, ``env:NAME``, ``file``, ``store`` or ``default``."""
        return self.resolution.sources[path]

    def locked(self, path: str) -> bool:
        """Tell whether a flag or variable hides what the file says."""
        return self.locked_by(path) is not None

    def locked_by(self, path: str) -> str | None:
        """Name the flag or variable that hides what the file says; a rejected value hides, too."""
        return locked_by(self.registry.by_path[path], self.sources)

    @property
    def warnings(self) -> tuple[str, ...]:
        """List what is odd but not fatal."""
        return tuple(found.text for found in self.findings if not found.fatal)

    @property
    def faults(self) -> tuple[str, ...]:
        """List what makes the program end."""
        return tuple(found.text for found in self.findings if found.fatal)

    def secrets(self) -> Iterator[str]:
        """Give every secret value, so that it can be kept out of logs; passwords in URLs, too."""
        for entry in self.registry.entries:
            value = self.resolution.values[entry.path]
            if entry.setting.kind == "url":
                yield from filter(None, (user_info(value), user_info(value).partition(":")[2]))
            elif entry.setting.secret:
                yield from filter(None, (value,) if isinstance(value, str) else value)


def load(inputs: Inputs) -> Loaded:
    """Load the settings, or raise with every fault at once."""
    loaded = examine(inputs)
    fail_on_faults(loaded)
    return loaded


def fail_on_faults(loaded: Loaded) -> None:
    """Raise when something is wrong, naming everything that is."""
    if not loaded.faults:
        return
    if all(found.kind is Kind.USAGE for found in loaded.findings if found.fatal):
        raise UsageError("; ".join(loaded.faults))
    raise ConfigError(loaded.faults)


def examine(inputs: Inputs) -> Loaded:
    """Load the settings and keep what is wrong as findings."""
    env_file = _read_env_file(inputs)
    registry = Registry(inputs.root)
    draft = _resolve(inputs, registry, env_file)
    lanes, plugins, about_plugins = _find_plugins(inputs.lanes, draft)
    if plugins:
        draft = _resolve(inputs, registry.with_lanes(plugins), env_file)
    findings = [*draft.findings, *about_plugins, *drop_primary_from_fallbacks(draft.values)]
    settings = cast("Settings", fill(draft.registry.root, draft.values))
    if settings.db.path is None:
        findings.append(
            fault("db.path", f"there is no home directory for the database; set {Db.path.env[0]}")
        )
    findings += check_rules(_view(draft, settings, lanes))
    return Loaded(
        settings=settings,
        registry=draft.registry,
        resolution=draft.resolution,
        findings=tuple(findings),
        environ=draft.sources.environ,
        config_path=draft.place.path,
        config_named=draft.place.named,
        inputs=inputs,
        sources=draft.sources,
    )


class _EnvFile(NamedTuple):
    text: str
    name: str
    findings: tuple[Finding, ...]


class _Draft(NamedTuple):
    """Settings on their way: every value, but no rule looked at yet."""

    registry: Registry
    sources: Sources
    place: locations.ConfigPlace
    resolution: Resolution
    findings: tuple[Finding, ...]

    @property
    def values(self) -> dict[str, Any]:
        return self.resolution.values


def circumstances(inputs: Inputs, environ: Mapping[str, str]) -> locations.Circumstances:
    """Gather what decides about paths."""
    return locations.Circumstances(
        environ=environ,
        config_flag=inputs.config_flag,
        database_flag=inputs.flags.get("db.path"),
        working_directory=inputs.working_directory,
        user=inputs.user,
        exists=os.path.exists,
    )


def _resolve(inputs: Inputs, registry: Registry, env_file: _EnvFile) -> _Draft:
    found = dotenv.read_dotenv(env_file.text, env_file.name, registry)
    environ = dotenv.filled(inputs.environ, found.variables)
    here = circumstances(inputs, environ)
    place = locations.config_place(here)
    config = _config(inputs, place)
    sources = Sources(
        flags=inputs.flags,
        environ=environ,
        file=config.document,
        file_path=place.path,
        stored=inputs.stored,
        working_directory=inputs.working_directory,
        home=locations.home_of(environ),
        database=locations.database_place(here),
    )
    resolution = resolve(registry, sources)
    findings = (
        *_password_file(inputs),
        *env_file.findings,
        *found.findings,
        *config.findings,
        *resolution.findings,
        *unknown_keys(config.document, place.path, registry),
        *unknown_variables(environ, registry),
    )
    return _Draft(registry, sources, place, resolution, findings)


def _password_file(inputs: Inputs) -> Iterator[Finding]:
    if inputs.environ.get(PASSWORD_FILE, "").strip():
        yield warning("", f"{PASSWORD_FILE} is never read; use {PASSWORD}")


def _read_env_file(inputs: Inputs) -> _EnvFile:
    """Read the file of variables; only one that was asked for has to be there."""
    named = (inputs.env_file_flag or "").strip()
    if named == _NO_ENV_FILE:
        return _EnvFile("", "", ())
    home = locations.home_of(inputs.environ)
    path = locations.absolute(named or ".env", inputs.working_directory, home)
    try:
        return _EnvFile(read_whole(path).decode("utf-8"), str(path), ())
    except (OSError, UnicodeDecodeError) as error:
        if not named and isinstance(error, FileNotFoundError):
            return _EnvFile("", "", ())
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        if named:
            return _EnvFile("", "", (fault("", f"--env-file: cannot read {path}: {reason}"),))
        return _EnvFile("", "", (warning("", f"cannot read {path}: {reason}; ignored"),))


def _config(inputs: Inputs, place: locations.ConfigPlace) -> ConfigText:
    if inputs.file_text is not None:
        return understand(inputs.file_text, place.path)
    if place.path is None:
        return ConfigText({})
    missing = f"no settings file at {place.path}, which {place.named_by} names; create it"
    return read_config(place.path, missing=missing if place.named else "")


def _find_plugins(
    lanes: Lanes, draft: _Draft
) -> tuple[tuple[str, ...], dict[str, type[Section]], list[Finding]]:
    """Look for plugin lanes, but only where something names a lane that is not built in."""
    wanted = _strange_lanes(lanes, draft)
    if not wanted:
        return lanes.builtin, {}, []
    try:
        plugins = lanes.plugins(sorted(wanted))
        sections = {name: section for name, section in plugins.items() if section is not None}
        draft.registry.with_lanes(sections)
    except ConfigError as error:
        return lanes.builtin, {}, [fault("providers", text) for text in error.faults]
    return (*lanes.builtin, *plugins), sections, []


def _strange_lanes(lanes: Lanes, draft: _Draft) -> set[str]:
    """Collect what may be a plugin's name: chosen lanes, tables and beginnings of variables."""
    written = draft.sources.file.get("providers")
    parts = written.items() if isinstance(written, dict) else ()
    own = {name.replace("-", "_") for name in lanes.builtin}
    wanted = {draft.values["providers.primary"], *draft.values["providers.fallback_order"]}
    wanted -= set(lanes.builtin)
    wanted |= {name for name, part in parts if isinstance(part, dict) and name not in own}
    for found in draft.findings:
        if found.kind is Kind.UNKNOWN and found.path.startswith(_LANE_VARIABLES):
            words = found.path.removeprefix(_LANE_VARIABLES).lower().split("_")
            wanted |= {"_".join(words[:count]) for count in range(1, len(words))} - own
    return wanted


def _view(draft: _Draft, settings: Settings, lanes: tuple[str, ...]) -> View:
    return View(
        settings=settings,
        sources=draft.resolution.sources,
        lanes=lanes,
        file_path=draft.place.path,
        file_secrets=any(
            entry.setting.secret and written_at(draft.sources.file, entry.path)
            for entry in draft.registry.entries
        ),
        deprecated={
            entry.path: entry.setting.deprecated
            for entry in draft.registry.entries
            if entry.setting.deprecated
        },
    )
