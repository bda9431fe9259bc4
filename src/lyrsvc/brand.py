"""Every name the outside world sees, written once."""

from typing import Final

PROGRAM: Final = "lyrsvc"
HOMEPAGE: Final = "https://lyrsvc.example"

ENV_PREFIX: Final = "LYRSVC_"
"""Prefix of the mechanical variable name of every setting."""
ENV_PREFIXES: Final = ("LYRSVC_", "LYRSVCGO_")
"""Variables with these prefixes are ours; an unknown one is worth a warning."""

CONFIG_NAME: Final = "config.toml"
DATABASE_NAME: Final = "lyrsvcgo.db"
KEY_FILE_NAME: Final = ".lyrsvcgo.key"
HOME_DIRECTORY: Final = "lyrsvcgo-svc"
"""Name of our directory below the user's configuration and data directories."""

CONTAINER_DIRECTORY: Final = "/config"
PACKAGE_STATE: Final = "/var/lib/lyrsvcgo-svc"
PACKAGE_CONFIG: Final = "/etc/lyrsvcgo-svc/config.toml"
SERVICE_USER: Final = "lyrsvcgo-svc"

METRIC_PREFIX: Final = "lyrsvcgo_"
SESSION_COOKIE: Final = "lyrsvc_session"
CSRF_COOKIE: Final = "lyrsvc-csrf-token"
API_KEY_PREFIX: Final = "lyrsvc_"
PROVIDER_GROUP: Final = "lyrsvc.providers"
"""Entry-point group of third-party lanes."""
