"""What people read about settings, made from the declarations: documentation, example, views."""

from collections.abc import Collection, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from lyrsvc import brand
from lyrsvc.core.redaction import REDACTED
from lyrsvc.core.setting import Check, Clamp, Derived, Entry, Section, Setting, Tab, Table
from lyrsvc.core.setting_kinds import Pairs
from lyrsvc.settings.addresses import without_user_info
from lyrsvc.settings.environment_sections import Environment
from lyrsvc.settings.loading import Loaded
from lyrsvc.settings.registry import Registry, variables
from lyrsvc.settings.sections import Db
from lyrsvc.settings.toml_values import toml_value

NOT_SET = "(not set)"

_CONTAINER = f"{brand.CONTAINER_DIRECTORY}/"

_INTRODUCTION = f"""# Configuration

Every setting, generated from its declaration. A value comes from the first of: command-line
flag, environment variable, `.env` file, settings file, secret store (two secrets only), default.
Every setting of the file also answers to `{brand.ENV_PREFIX}` + its path in capitals, dots as
underscores.
Secrets marked with † can also be read from a file named by the variable with `_FILE` added.

A change to the file applies at the next restart. `lyrsvc config list` shows the values in force
and where each comes from; `lyrsvc config check` names everything that is wrong.
"""

_PATHS = f"""## Paths

| Situation | Settings file | Database |
|---|---|---|
| named by flag or variable | `--config`, `{Environment.config.env[0]}` |\
 `--db`, `{Db.path.env[0]}`, `db.path` |
| container (`{Environment.docker.env[0]}=true`) | `{_CONTAINER}{brand.CONFIG_NAME}` |\
 `{_CONTAINER}{brand.DATABASE_NAME}` |
| native package | `{brand.PACKAGE_CONFIG}` | `{brand.PACKAGE_STATE}/{brand.DATABASE_NAME}` |
| otherwise | `~/.config/{brand.HOME_DIRECTORY}/{brand.CONFIG_NAME}` |\
 `~/.local/share/{brand.HOME_DIRECTORY}/{brand.DATABASE_NAME}` |

`XDG_CONFIG_HOME` and `XDG_DATA_HOME` replace `~/.config` and `~/.local/share`. On Windows the
profile directory is the home; a background service should name both files explicitly.
"""


def shown(entry: Entry, value: Any, *, reveal: bool = False) -> str:  # noqa: ANN401
    """Write a value for people; secrets only when told to."""
    text = entry.setting.show(value)
    if not text:
        return NOT_SET if entry.setting.secret else ""
    if entry.setting.secret and not reveal:
        return REDACTED
    return text if reveal else without_user_info(text)


def markdown(registry: Registry) -> str:
    """Write the reference page."""
    parts = [_INTRODUCTION]
    for name, group in _by_table(registry):
        members = [entry for entry in group if not entry.setting.internal]
        title = f"Environment only: {name}" if members[0].setting.env_only else f"`[{name}]`"
        parts.append(f"## {title}\n\n{section_text(registry, name)}\n")
        parts.append(
            "| Setting | Variables | Flag | Type · default | Check | Tab · tier | Meaning |"
        )
        parts.append("|---|---|---|---|---|---|---|")
        parts += [_row(entry) for entry in members]
        parts.append("")
    return "\n".join(parts) + "\n" + _PATHS


def example(registry: Registry) -> str:
    """Write the example file: every setting with its default, commented out."""
    lines = [
        "## Settings of lyrsvc. Every line shows its default; remove the # to change it.",
        "## What each means in full: docs/configuration.md. After a change: lyrsvc config check",
    ]
    defaults = _defaults(registry)
    for name, group in _by_table(registry):
        members = [e for e in group if not (e.setting.env_only or e.setting.deprecated)]
        if members:
            lines += ["", f"[{name}]"]
        for entry in members:
            lines.append(f"## {entry.setting.help}{_limits(entry)}")
            key = entry.path.rpartition(".")[2]
            lines.append(f"# {key} = {toml_value(defaults[entry.path])}")
    return "\n".join(lines) + "\n"


def effective_toml(loaded: Loaded, *, stored: Collection[str] = ()) -> str:
    """Write the settings in force as valid TOML, secrets hidden, each with its source.

    ``stored`` are paths of secrets that the encrypted store has a value for.
    """
    lines: list[str] = []
    for name, group in _by_table(loaded.registry):
        members = [entry for entry in group if not entry.setting.env_only]
        if members:
            lines += ["", f"[{name}]"] if lines else [f"[{name}]"]
        for entry in members:
            source = loaded.source(entry.path)
            is_stored = source == "default" and entry.path in stored
            written = _effective(entry, loaded.resolution.values[entry.path], is_stored=is_stored)
            key = entry.path.rpartition(".")[2]
            lines.append(f"{key} = {toml_value(written)}  # {'store' if is_stored else source}")
    return "\n".join(lines) + "\n"


def _effective(entry: Entry, value: Any, *, is_stored: bool) -> Any:  # noqa: ANN401
    """Give a value as TOML holds it, without anything secret; the store holds one of each."""
    written = entry.setting.to_toml(value)
    if entry.setting.secret and (value or is_stored):
        return [REDACTED] * (len(value) or 1) if isinstance(value, tuple) else REDACTED
    if isinstance(written, str):
        return without_user_info(written)
    if isinstance(written, list):
        return [without_user_info(w) if isinstance(w, str) else w for w in written]
    return written


def section_text(registry: Registry, name: str) -> str:
    """Give what a table of the settings file is about."""
    section: type[Section] = registry.root
    for part in name.split("."):
        member = vars(section)[part]
        section = member.section if isinstance(member, Table) else section
    return (section.__doc__ or "").strip()


def _by_table(registry: Registry) -> Iterator[tuple[str, list[Entry]]]:
    """Group the settings by table; a table's own settings come before those of its tables."""
    ordered: dict[str, list[Entry]] = {}
    for name, group in groupby(registry.entries, key=lambda entry: entry.path.rpartition(".")[0]):
        ordered.setdefault(name, []).extend(group)
    yield from ordered.items()


def _row(entry: Entry) -> str:
    setting = entry.setting
    mark = "†" if setting.file_twin else ""
    names = ", ".join(f"`{name}`{mark}" for name in variables(entry))
    flag = setting.flag
    flags = " ".join(f"`{name}`" for name in (flag.short, flag.name) if name) if flag else ""
    on = "" if flag is None or flag.on == ("*",) else f" ({', '.join(flag.on)})"
    unit = f" {setting.unit}" if setting.unit else ""
    kind = f"{setting.kind}{unit} · {_default_text(setting)}"
    tab = "–" if setting.tab is Tab.NONE else setting.tab.value
    name = f"`{entry.key}`"
    cells = (name, names, flags + on, kind, _check_text(setting), f"{tab} · {setting.tier.value}")
    return "| " + " | ".join(_cell(text) for text in (*cells, _meaning(setting))) + " |"


def _meaning(setting: Setting[Any]) -> str:
    old = f" Deprecated: use `{setting.deprecated}`." if setting.deprecated else ""
    return setting.help + old


def _default_text(setting: Setting[Any]) -> str:
    if isinstance(setting.default, Derived):
        return setting.default.text
    text = setting.show(setting.default)
    return f"`{text}`" if text else "unset" if setting.secret else "empty"


def _check_text(setting: Setting[Any]) -> str:
    parts = [", ".join(f"`{word}`" for word in setting.choices)] if setting.kind != "bool" else []
    if isinstance(setting.check, Clamp):
        parts.append(setting.check.text())
    elif isinstance(setting.check, Check):
        parts.append(setting.check.wish)
    return "; ".join(filter(None, parts))


def _limits(entry: Entry) -> str:
    text = _check_text(entry.setting).replace("`", "")
    unit = f" Unit: {entry.setting.unit}." if entry.setting.unit else ""
    return unit + (f" Allowed: {text}." if text else "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _defaults(registry: Registry) -> dict[str, Any]:
    """Give the default of each setting as it may stand in the file; paths stay blank."""
    known: dict[str, Any] = {"database": None}
    written = {}
    for entry in registry.entries:
        default = entry.setting.default
        if isinstance(default, Derived):
            blank_path = entry.setting.kind == "path"
            default = Path("lyrsvc") if blank_path else default.of(known)
            written[entry.path] = "" if blank_path else entry.setting.to_toml(default)
        else:
            written[entry.path] = entry.setting.to_toml(default)
        known[entry.path] = default
        if isinstance(entry.setting, Pairs):
            written[entry.path] = []
    return written
