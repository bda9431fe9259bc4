"""Settings as a program or page sees them: running, saved, default, and who decides."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from lyrsvc.core.setting import Derived, Entry, Setting, Tab
from lyrsvc.settings.addresses import without_user_info
from lyrsvc.settings.loading import Loaded
from lyrsvc.settings.registry import variables


class SettingView(NamedTuple):
    """One setting; the three values are as TOML holds them, and None for a secret.

    ``value`` is what the next start would use. ``set`` says whether a secret has a value.
    """

    path: str
    value: Any
    running: Any
    default: Any
    source: str
    env: tuple[str, ...]
    flag: str | None
    locked: bool
    locked_by: str | None
    tier: str
    tab: str | None
    type: str
    unit: str
    help: str
    choices: tuple[str, ...]
    editable: bool
    secret: bool
    set: bool


def view_all(
    running: Loaded, following: Loaded, *, stored: Collection[str] = ()
) -> Iterator[SettingView]:
    """Show every setting; ``stored`` are paths of secrets the encrypted store has a value for."""
    for entry in running.registry.entries:
        if not entry.setting.internal:
            yield _view(entry, running, following, stored)


def _view(entry: Entry, running: Loaded, following: Loaded, stored: Collection[str]) -> SettingView:
    setting, path = entry.setting, entry.path
    value = running.resolution.values[path]
    saved = following.resolution.values.get(path, value)
    locked_by = running.locked_by(path)
    is_stored = path in stored
    source = running.source(path)
    return SettingView(
        path=path,
        value=_shown(setting, saved),
        running=_shown(setting, value),
        default=_shown(setting, _default(setting, running.resolution.values)),
        source="store" if is_stored and source == "default" else source.partition(":")[0],
        env=variables(entry),
        flag=setting.flag.name if setting.flag else None,
        locked=locked_by is not None,
        locked_by=locked_by,
        tier=setting.tier.value,
        tab=None if setting.tab is Tab.NONE else setting.tab.value.lower(),
        type=setting.kind,
        unit=setting.unit,
        help=setting.help,
        choices=setting.choices,
        editable=setting.editable,
        secret=setting.secret,
        set=bool(value) or is_stored if setting.secret else True,
    )


def _shown(setting: Setting[Any], value: Any) -> Any:  # noqa: ANN401 - any setting's value
    """Give a value without anything secret in it."""
    if setting.secret or value is None:
        return None
    return _without_passwords(setting.to_toml(value))


def _without_passwords(value: Any) -> Any:  # noqa: ANN401 - any TOML value
    if isinstance(value, str):
        return without_user_info(value)
    if isinstance(value, list):
        return [_without_passwords(one) for one in value]
    if isinstance(value, dict):
        return {name: _without_passwords(one) for name, one in value.items()}
    return value


def _default(setting: Setting[Any], known: Mapping[str, Any]) -> Any:  # noqa: ANN401
    default = setting.default
    if not isinstance(default, Derived):
        return default
    try:
        return default.of({"database": known.get("db.path"), **known})
    except (AttributeError, TypeError, KeyError):
        return setting.blank
