"""Settings over HTTP: what is in force, what is saved, and saving."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from lyrsvc.core.errors import ConfigError, LyrsvcError, Refused
from lyrsvc.settings.findings import Finding
from lyrsvc.settings.save_errors import (
    DiskFailed,
    FileInvalid,
    SaveBusy,
    SettingLocked,
    SettingsReadOnly,
    Stale,
    Unconfirmed,
    ValidationFailed,
)
from lyrsvc.settings.setting_views import SettingView
from lyrsvc.settings.settings_desk import SavedSettings
from lyrsvc.web.audit_notes import audited
from lyrsvc.web.exchange import Exchange
from lyrsvc.web.gates import API
from lyrsvc.web.problems import STATUS_OF, Problem
from lyrsvc.web.replies import Reply
from lyrsvc.web.route import get, patch

CHANGED: Final = "changed"
"""What is told of a secret instead of its value."""

MOST_NAMED: Final = 10

REFUSALS: Final = (
    "validation_failed",
    "locked",
    "stale",
    "file_invalid",
    "confirmation_required",
    "settings_read_only",
    "busy",
)


class Setting(msgspec.Struct):
    """One setting; of a secret only whether it is set.

    ``running`` is in force, ``value`` is what the next start will use.
    """

    path: str
    value: Any
    running: Any
    default: Any
    source: Literal["flag", "env", "file", "store", "default"]
    env: list[str]
    flag: str | None
    locked: bool
    locked_by: str | None
    tier: Literal["safe", "caution", "critical"]
    tab: Literal["common", "advanced"] | None
    type: str
    unit: str | None
    help: str
    choices: list[str]
    editable: bool
    secret: bool
    set: bool


class SettingList(msgspec.Struct):
    """Every setting; ``version`` is the SHA-256 of the file they were read from."""

    version: str
    writable: bool
    settings: list[Setting]


class SettingChanges(msgspec.Struct, forbid_unknown_fields=True):
    """What to save, all or nothing; null takes a setting out of the file.

    ``version`` is the one that was seen, ``confirm`` names critical settings on purpose.
    """

    changes: Annotated[dict[str, Any], Meta(max_length=500)]
    version: Annotated[str, Meta(max_length=128)] | None = None
    confirm: Annotated[list[str], Meta(max_length=500)] = []


class SettingsSaved(msgspec.Struct):
    """What was saved, what waits for a restart, and the version of the file now."""

    saved: list[str]
    restart_pending: list[str]
    version: str


class RawQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which settings to write down: those in force, or those of the next start."""

    view: Literal["running", "next"] = "running"


def list_settings(exchange: Exchange) -> SettingList:
    """List every setting with its value, its source and what may be done to it."""
    found = exchange.service.settings_desk.view()
    return SettingList(
        version=found.version,
        writable=found.writable,
        settings=[setting_of(view) for view in found.settings],
    )


def save_settings(exchange: Exchange, body: SettingChanges) -> SettingsSaved:
    """Save settings, all or nothing; they are in force from the next start on."""
    done = save_changes(exchange, body.changes, version=body.version, confirmed=tuple(body.confirm))
    return SettingsSaved(
        saved=list(done.saved),
        restart_pending=list(done.restart_pending),
        version=done.version,
    )


def show_raw(exchange: Exchange, query: RawQuery) -> Reply:
    """Write the effective settings as TOML, secrets hidden, each with its source."""
    text = exchange.service.settings_desk.raw(following=query.view == "next")
    return Reply(text=text, content_type="text/plain; charset=utf-8")


def save_changes(
    exchange: Exchange,
    changes: dict[str, Any],
    *,
    version: str | None,
    confirmed: tuple[str, ...],
) -> SavedSettings:
    """Save for whoever asks, JSON or form; a refusal is told in the words of HTTP."""
    desk = exchange.service.settings_desk
    try:
        done = desk.save(changes, version=version, confirmed=confirmed)
    except LyrsvcError as error:
        problem = refusal_of(error, exchange)
        if problem is None:
            raise
        raise problem from error
    _write_down(exchange, done)
    exchange.service.health.forget()
    return done


def refusal_of(error: LyrsvcError, exchange: Exchange) -> Problem | None:
    """Say why a save was refused; no path of the file system is named."""
    match error:
        case SettingLocked():
            return Problem("locked", str(error), extra={"locked_by": error.locked_by})
        case Unconfirmed():
            extra = {"confirm": list(error.paths)}
            return Problem("confirmation_required", str(error), extra=extra)
        case ValidationFailed():
            return _invalid(error, exchange)
    told = next((problem for kind, problem in _REFUSALS.items() if isinstance(error, kind)), None)
    if told is None:
        return None
    code, detail = told
    retry = {"Retry-After": "5"} if STATUS_OF[code] == 503 else {}
    return Problem(code, detail or str(error), headers=retry)


_REFUSALS: Final[Mapping[type[LyrsvcError], tuple[str, str]]] = {
    FileInvalid: ("file_invalid", ""),
    SaveBusy: ("busy", "somebody else is saving settings; try again"),
    SettingsReadOnly: (
        "settings_read_only",
        "the settings file cannot be written; make it writable for the service",
    ),
    DiskFailed: ("unavailable", "the disk of the settings file is full or fails; try again"),
    Stale: ("stale", ""),
    Refused: (
        "file_invalid",
        "the settings file cannot be used as it is; see: lyrsvc config check",
    ),
    ConfigError: ("unavailable", "the secret store cannot be used; see the log"),
}
"""Code and sentence of each refusal; without a sentence its own is told."""


def setting_of(view: SettingView) -> Setting:
    """Give the shape of a setting."""
    parts = view._asdict()
    return Setting(
        **{
            **parts,
            "env": list(view.env),
            "choices": list(view.choices),
            "unit": view.unit or None,
        }
    )


def _write_down(exchange: Exchange, done: SavedSettings) -> None:
    values = {change.path: (change.old, change.new) for change in done.changes}
    secret = exchange.service.settings_desk.secret_paths
    for path in done.saved:
        old, new = (CHANGED, CHANGED) if path in secret else values[path]
        audited(exchange, "setting.changed", setting=path, old=old, new=new)
    for name in done.stored:
        audited(exchange, "secret.stored", name=name)


def _invalid(error: ValidationFailed, exchange: Exchange) -> Problem:
    config = exchange.service.loaded.config_path
    fields: dict[str, str] = {}
    for found, text in zip(error.findings, error.faults, strict=True):
        if config is not None:  # where it lies is nobody's business
            text = text.replace(f" in {config}", "").replace(f"{config.parent}/", "")
        fields.setdefault(found.path, _without_name(found, text))
    names = ", ".join(name for name in [*fields][:MOST_NAMED] if name) or "the file"
    more = ", …" if len(fields) > MOST_NAMED else ""
    return Problem("validation_failed", f"not saved: {names}{more}", extra={"fields": fields})


def _without_name(found: Finding, sentence: str) -> str:
    return sentence.removeprefix(f"{found.path}: ")


ROUTES: Final = (
    get("/api/v1/settings", API, list_settings),
    patch("/api/v1/settings", API, save_settings, refusals=REFUSALS),
    get("/api/v1/settings/raw", API, show_raw, media=("text/plain",)),
)
