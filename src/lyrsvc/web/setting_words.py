"""Settings in words: labels, values and sources as people read them."""

from collections.abc import Mapping
from typing import Any, Final

from lyrsvc.core.setting import Check, Clamp, Setting

SOURCES: Final = {
    "flag": "command line",
    "env": "environment",
    "file": "settings file",
    "store": "encrypted store",
    "default": "default",
}
"""How the page calls the places a value may come from."""

_SPELLED: Final = {
    "addr": "address",
    "api": "API",
    "cidrs": "CIDRs",
    "db": "database",
    "dir": "directory",
    "http": "HTTP",
    "id": "ID",
    "isrc": "ISRC",
    "json": "JSON",
    "lrclib": "LRCLIB",
    "mb": "MB",
    "mbid": "MBID",
    "tls": "TLS",
    "ui": "UI",
    "url": "URL",
}
_UNIT_WORDS: Final = {
    "s": "seconds",
    "ms": "ms",
    "h": "hours",
    "days": "days",
    "MB": "mb",
    "bytes": "bytes",
}
"""How the name of a setting ends that says its unit, which the page shows beside the number."""


def label_of(path: str, unit: str = "") -> str:
    """Make a label of the last part of a path."""
    name = path.rpartition(".")[2]
    if unit and name != _UNIT_WORDS.get(unit):
        name = name.removesuffix(f"_{_UNIT_WORDS.get(unit, unit)}")
    return spelled(name.replace("_", " ").replace("-", " "))


def spelled(words: str) -> str:
    """Write words as in a heading: a capital first, abbreviations in their own way."""
    text = " ".join(_SPELLED.get(word.lower(), word) for word in words.split(" "))
    return text[:1].upper() + text[1:]


def value_text(value: Any, unit: str = "") -> str:  # noqa: ANN401 - any TOML value
    """Write a value as a sentence would hold it."""
    match value:
        case None | "":
            return "not set"
        case bool():
            return "on" if value else "off"
        case list():
            return ", ".join(_entry_text(one) for one in value) or "none"
        case dict():
            return _entry_text(value)
        case float():
            value = repr(value).removesuffix(".0")
    return f"{value} {unit}" if unit else str(value)


def limits_text(setting: Setting[Any], known: Mapping[str, Any]) -> str:
    """Say what a value must be, when the declaration says so."""
    match setting.check:
        case Clamp() as check:
            low, high = check.bounds(known)
            return f"{low} to {high}"
        case Check() as check:
            return check.wish
    return ""


def _entry_text(entry: Any) -> str:  # noqa: ANN401 - one entry of a TOML list
    match entry:
        case {"from": before, "to": after}:
            return f"{before} → {after}"
        case dict():
            return ", ".join(f"{name} {value}" for name, value in entry.items())
    return str(entry)
