"""Writing a value as TOML."""

from collections.abc import Mapping
from typing import Any


def toml_value(value: Any) -> str:  # noqa: ANN401 - any TOML value
    """Write one TOML value; what no TOML text can hold becomes a replacement character."""
    import json

    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{k} = {toml_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(toml_value(part) for part in value) + "]"
    if isinstance(value, str):
        sound = value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        return json.dumps(sound, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)
