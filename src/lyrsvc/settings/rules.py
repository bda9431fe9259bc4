"""Rules that look at more than one setting, or past the settings at files."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from lyrsvc.settings.addresses import is_loopback_url
from lyrsvc.settings.environment_sections import Environment
from lyrsvc.settings.findings import Finding, Kind, fault, warning
from lyrsvc.settings.sections import Settings
from lyrsvc.settings.server_sections import ScanSchedule

WORK_INTERVAL_FLOOR_S = 15

_INTERVAL = "server.scan_interval_seconds"


class View(NamedTuple):
    """What a rule may look at."""

    settings: Settings
    sources: dict[str, str]
    lanes: Iterable[str]
    """Names of the lanes that find lyrics, plugins included."""
    file_path: Path | None
    file_secrets: bool
    """Whether the settings file itself holds a secret."""
    deprecated: Mapping[str, str]
    """What to use instead of each deprecated setting."""


def work_interval_s(settings: Settings) -> int:
    """Give the worker's poll interval: as set, else the pace of requests with a floor."""
    return settings.server.work_interval_seconds or max(
        settings.api.cooldown, WORK_INTERVAL_FLOOR_S
    )


def check_rules(view: View) -> Iterator[Finding]:
    """Give the findings of every rule."""
    for rule in RULES:
        yield from rule(view)


def drop_primary_from_fallbacks(values: dict[str, Any]) -> Iterator[Finding]:
    """Ask no lane twice: take the primary out of the lanes asked next, and say so."""
    path = "providers.fallback_order"
    primary = values["providers.primary"]
    if primary in values[path]:
        values[path] = tuple(name for name in values[path] if name != primary)
        yield warning(path, f'{path}: "{primary}" is the primary lane already; dropped')


def missing_of_schedule(schedule: ScanSchedule) -> tuple[str, ...]:
    """Name what a schedule still needs to be complete."""
    needs_at = schedule.frequency in ("daily", "weekly") and not schedule.at
    needs_day = schedule.frequency == "weekly" and not schedule.day
    wanted = {"at (HH:MM)": needs_at, "day (weekday name)": needs_day}
    return tuple(name for name, needed in wanted.items() if needed)


def _schedule_is_complete(view: View) -> Iterator[Finding]:
    schedule = view.settings.server.scan_schedule
    missing = missing_of_schedule(schedule)
    if missing:
        yield fault(
            "server.scan_schedule",
            f'server.scan_schedule: frequency "{schedule.frequency}" also needs '
            + " and ".join(missing),
        )


def _schedule_is_used(view: View) -> Iterator[Finding]:
    schedule = view.settings.server.scan_schedule
    for name, value in {"at": schedule.at, "day": schedule.day}.items():
        if value and not schedule.frequency:
            path = f"server.scan_schedule.{name}"
            text = f"{path} is ignored, because server.scan_schedule.frequency is not set"
            yield warning(path, text)


def _deprecated_is_told(view: View) -> Iterator[Finding]:
    for path, instead in view.deprecated.items():
        if view.sources[path] == "default":
            continue
        if path == _INTERVAL and view.settings.server.scan_schedule.frequency:
            yield warning(path, f"{path} is ignored, because server.scan_schedule.frequency is set")
        else:
            yield warning(path, f"{path} is deprecated; use {instead}")


def _lanes_are_known(view: View) -> Iterator[Finding]:
    known = list(view.lanes)
    listing = ", ".join(known)
    chosen = view.settings.providers
    if chosen.primary not in known:
        kind = Kind.USAGE if view.sources["providers.primary"] == "flag" else Kind.FAULT
        text = f'providers.primary: no lane "{chosen.primary}"; known: {listing}'
        yield Finding(kind, "providers.primary", text)
    for name in chosen.fallback_order:
        if name not in known:
            yield fault(
                "providers.fallback_order",
                f'providers.fallback_order: no lane "{name}"; known: {listing}',
            )


def _dump_is_readable(view: View) -> Iterator[Finding]:
    chosen = view.settings.providers
    if "lrclib-dump" not in (chosen.primary, *chosen.fallback_order):
        return
    path = chosen.lrclib_dump.path
    if path is None or not path.is_file() or not os.access(path, os.R_OK):
        shown = path or "(not set)"
        yield fault(
            "providers.lrclib_dump.path",
            f"providers.lrclib_dump.path: {shown} is no readable file; lane lrclib-dump needs it",
        )


def _open_catalogue_by_http(view: View) -> Iterator[Finding]:
    url = view.settings.providers.lrclib.base_url
    if url.lower().startswith("http:") and not is_loopback_url(url):
        yield warning(
            "providers.lrclib.base_url",
            "providers.lrclib.base_url: plain http can be read and changed on the way; use https",
        )


def _tls_fits_together(view: View) -> Iterator[Finding]:
    tls = view.settings.server.tls
    if (tls.cert_file is None) != (tls.key_file is None):
        yield fault(
            "server.tls",
            "server.tls: a certificate goes with its key: cert_file and key_file need each other",
        )
    if tls.self_signed and (tls.cert_file or tls.key_file):
        yield fault("server.tls", "server.tls: self_signed excludes cert_file and key_file")
    if tls.redirect_http and not (tls.self_signed or tls.cert_file):
        yield fault("server.tls", "server.tls: redirect_http needs TLS; set a pair or self_signed")
    if tls.cert_file and tls.key_file and not tls.self_signed:
        yield from _pair_is_loadable(tls.cert_file, tls.key_file)


def _pair_is_loadable(certificate: Path, key: Path) -> Iterator[Finding]:
    import ssl  # slow to import, and only needed for an own certificate

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(
            certificate, key, password=lambda: ""
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        yield fault(
            "server.tls",
            f"server.tls: {certificate} and {key} cannot be loaded as a PEM pair: "
            f"{reason or 'not a matching certificate and key'}",
        )


def _keys_are_long(view: View) -> Iterator[Finding]:
    if any(len(key) < 16 for key in view.settings.server.webhook_api_keys):
        yield warning(
            "server.webhook_api_keys",
            "server.webhook_api_keys: a key under 16 characters is easy to guess; "
            "make one with: lyrsvc keys create --name lidarr",
        )


def _zone_is_known(view: View) -> Iterator[Finding]:
    zone = view.settings.environment.tz.strip()
    if not zone:
        return
    from lyrsvc.settings.zones import read_zone  # only with TZ set

    if read_zone(zone) is None:
        name = Environment.tz.env[0]
        yield warning(name, f'{name}: no time zone "{zone}"; as if unset')


def _secrets_are_private(view: View) -> Iterator[Finding]:
    if not view.file_secrets or view.file_path is None or os.name != "posix":
        return
    try:
        mode = stat.S_IMODE(view.file_path.stat().st_mode)
    except OSError:
        return
    if mode & 0o044:
        yield warning(
            "", f"{view.file_path} holds a secret and is readable by others; chmod 600 it"
        )


RULES: tuple[Callable[[View], Iterator[Finding]], ...] = (
    _schedule_is_complete,
    _schedule_is_used,
    _deprecated_is_told,
    _lanes_are_known,
    _dump_is_readable,
    _open_catalogue_by_http,
    _tls_fits_together,
    _keys_are_long,
    _zone_is_known,
    _secrets_are_private,
)
