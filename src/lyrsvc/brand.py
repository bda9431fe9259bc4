"""Every name the outside world sees, written once.

Nothing is imported here: this is read before anything else.
"""

PROGRAM = "lyrsvc"
HOMEPAGE = "https://lyrsvc.example"

ENV_PREFIX = "LYRSVC_"
"""Prefix of the mechanical variable name of every setting."""
ENV_PREFIXES = ("LYRSVC_", "LYRSVCGO_")
"""Variables with these prefixes are ours; an unknown one is worth a warning."""

CONFIG_NAME = "config.toml"
DATABASE_NAME = "lyrsvcgo.db"
KEY_FILE_NAME = ".lyrsvcgo.key"
HOME_DIRECTORY = "lyrsvcgo-svc"
"""Name of our directory below the user's configuration and data directories."""

CONTAINER_DIRECTORY = "/config"
PACKAGE_STATE = "/var/lib/lyrsvcgo-svc"
PACKAGE_CONFIG = "/etc/lyrsvcgo-svc/config.toml"
SERVICE_USER = "lyrsvcgo-svc"

METRIC_PREFIX = "lyrsvcgo_"
SESSION_COOKIE = "lyrsvc_session"
CSRF_COOKIE = "lyrsvc-csrf-token"
API_KEY_PREFIX = "lyrsvc_"
PROVIDER_GROUP = "lyrsvc.providers"
"""Entry-point group of third-party lanes."""
THEME_COOKIE = "lyrsvc-theme"
MESSAGE_COOKIE = "lyrsvc-message"
"""What the last action came to, told on the next page and then forgotten."""
