"""The state of ``serve`` and ``run``: a database and a settings file in ``.state/``.

What the operator says by flag, variable, ``.env`` or settings file always wins, so ours is
written into a settings file of its own and exported only where nobody has spoken.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devtools.environment import Environment

SETTINGS_TEXT = """\
# Settings of `python3 dev.py serve` and `run`; yours to edit.

[db]
path = "lyrsvcgo.db"  # beside this file

[providers]
primary = "lrclib"  # the open lane, it needs no token

[server]
web_ui_enabled = true
"""
DEFAULT_ADDRESS = "127.0.0.1:3876"
ANY_HOST = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - only read


@dataclass(frozen=True)
class Setting:
    """A setting by its dotted name and its variables."""

    path: str
    names: tuple[str, ...]


DATABASE = Setting("db.path", ("LYRSVC_DB_PATH",))
PRIMARY = Setting("providers.primary", ("LYRSVC_PROVIDER_PRIMARY", "LYRSVC_PROVIDERS_PRIMARY"))
WEB_UI = Setting("server.web_ui_enabled", ("LYRSVC_WEB_UI_ENABLED", "LYRSVC_SERVER_WEB_UI_ENABLED"))
ADDRESS = Setting("server.addr", ("LYRSVC_SERVER_ADDR",))
BASE_PATH = Setting("server.base_path", ("LYRSVC_BASE_PATH", "LYRSVC_SERVER_BASE_PATH"))
CERTIFICATE = Setting(
    "server.tls.cert_file", ("LYRSVC_TLS_CERT_FILE", "LYRSVC_SERVER_TLS_CERT_FILE")
)
SELF_SIGNED = Setting(
    "server.tls.self_signed", ("LYRSVC_TLS_SELF_SIGNED", "LYRSVC_SERVER_TLS_SELF_SIGNED")
)


@dataclass(frozen=True)
class Setup:
    """What a start gets: its variables, its settings file and the address it will listen on."""

    environ: dict[str, str]
    settings: Path
    url: str


def prepare(
    env: Environment, words: Sequence[str], environ: Mapping[str, str], here: Path
) -> Setup:
    """Fill in what the operator has left open."""
    said = {**_env_file(words, here), **{name: v for name, v in environ.items() if v}}
    named = flag_value(words, "--config") or said.get("LYRSVC_CONFIG")
    settings = Path(named) if named else _own_settings(env)
    content = _read(here / settings)
    filled = dict(environ)
    if not named:
        filled["LYRSVC_CONFIG"] = str(settings)
    ours = {DATABASE: str(env.root / ".state" / "lyrsvcgo.db"), PRIMARY: "lrclib", WEB_UI: "true"}
    for setting, value in ours.items():
        if answer(setting, said, content) is None:
            filled[setting.names[0]] = value
    return Setup(filled, settings, _url(words, said, content))


def welcome(setup: Setup) -> str:
    """Tell where the service will be and what to do first."""
    # A port of 0 lets the system choose; the service tells which in its first lines.
    url = re.sub(r":0(?=/|$)", ":PORT", setup.url)
    return "\n".join(
        [
            f"lyrsvc will be at   {url}/  (Ctrl-C ends it)",
            f"first of all        {url}/setup  makes the admin account",
            f"is it up?           {url}/healthz",
            "add your music      python3 dev.py run library add /path/to/music",
            f"settings            {setup.settings}",
        ]
    )


def flag_value(words: Sequence[str], flag: str) -> str | None:
    """Find the value of a flag, given as one word or as two; the last one counts."""
    value = None
    for number, word in enumerate(words):
        if word == "--":
            break
        if word == flag and number + 1 < len(words):
            value = words[number + 1]
        elif word.startswith(f"{flag}="):
            value = word.partition("=")[2]
    return value


def answer(setting: Setting, said: Mapping[str, str], content: Mapping[str, Any]) -> str | None:
    """Give what variables or the settings file say about a setting; None for silence."""
    for name in setting.names:
        if said.get(name):
            return said[name]
    value: Any = content
    for part in setting.path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return None if value is None or value == "" else str(value)


def _own_settings(env: Environment) -> Path:
    path = env.root / ".state" / "config.toml"
    path.parent.mkdir(mode=0o750, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(SETTINGS_TEXT)
    except FileExistsError:
        pass  # the operator's by now
    return path


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError):  # the program itself says what is wrong with it
        return {}


def _env_file(words: Sequence[str], here: Path) -> dict[str, str]:
    named = flag_value(words, "--env-file")
    if named == "none":
        return {}
    try:
        lines = (here / (named or ".env")).read_text("utf-8").splitlines()
    except (OSError, ValueError):
        return {}
    said = {}
    for line in lines:
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if equals and not name.startswith("#"):
            said[name.strip()] = value.strip().strip("'\"")
    return said


def _url(words: Sequence[str], said: Mapping[str, str], content: Mapping[str, Any]) -> str:
    address = flag_value(words, "--listen") or answer(ADDRESS, said, content) or DEFAULT_ADDRESS
    host, _, port = address.rpartition(":")
    secure = answer(CERTIFICATE, said, content) or _is_true(answer(SELF_SIGNED, said, content))
    base = answer(BASE_PATH, said, content) or ""
    return f"{'https' if secure else 'http'}://{ANY_HOST.get(host, host)}:{port}{base}"


def _is_true(text: str | None) -> bool:
    return (text or "").lower() in ("true", "1", "yes", "on", "t")
