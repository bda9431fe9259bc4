"""The settings whose last source is the encrypted store, and what a value for it must be."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from lyrsvc.core.setting import Check, Place
from lyrsvc.settings.registry import Registry

SECRET_SETTINGS: Final[Mapping[str, str]] = {
    "provider_token": "api.token",
    "webhook_api_key": "server.webhook_api_keys",
}
"""The setting that each stored secret is the last source of."""


def checked_secret(registry: Registry, name: str, text: str) -> str:
    """Give the value as its setting will read it, or raise ``ValueError``; it is never repeated."""
    setting = registry.by_path[SECRET_SETTINGS[name]].setting
    value = setting.from_text(text, Place(Path("/"), None))
    values = (value,) if isinstance(value, str) else value
    fits = len(values) == 1 and values[0].isprintable()
    if not fits or (isinstance(setting.check, Check) and not setting.check.holds(value)):
        raise ValueError(f"the value of {name} must be {secret_wish(registry, name)}")
    return str(values[0])


def secret_wish(registry: Registry, name: str) -> str:
    """Say what a value must be."""
    check = registry.by_path[SECRET_SETTINGS[name]].setting.check
    rule = check.wish if isinstance(check, Check) else "printable characters"
    return f"one value in one line: {rule}"
