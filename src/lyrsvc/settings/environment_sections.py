"""Settings that come from the environment alone."""

import re

from lyrsvc.core.setting import Section, Setting, Tab, Tier, clamp, must
from lyrsvc.core.setting_kinds import Integer, PathName, Text, Toggle


class Watcher(Section):
    """The filesystem watcher."""

    enabled = Toggle(
        False,
        "Scan directories as soon as files in them change.",
        env="LYRSVCGO_WATCH_ENABLED",
        tier=Tier.CAUTION,
        env_only=True,
    )
    debounce_ms = Integer(
        2000,
        "Quiet time after the last event before a directory is scanned.",
        unit="ms",
        check=clamp(100, 600000),
        env="LYRSVCGO_WATCH_DEBOUNCE_MS",
        tier=Tier.CAUTION,
        env_only=True,
    )
    max_dirs = Integer(
        100000,
        "Most directories that may be watched; more is a fatal error at start.",
        check=must("at least 1", lambda number: number >= 1),
        env="LYRSVCGO_WATCH_MAX_DIRS",
        tier=Tier.CAUTION,
        env_only=True,
    )


class Environment(Section):
    """Names that only make sense before the settings file is read, or that others define."""

    config = PathName(
        None, "Settings file, when `--config` does not name one.", env="LYRSVC_CONFIG",
        tab=Tab.NONE, env_only=True,
    )  # fmt: skip
    docker = Toggle(
        False,
        "Set by the container image: settings and database live under `/config`.",
        env="LYRSVC_DOCKER",
        tab=Tab.NONE,
        tier=Tier.CAUTION,
        env_only=True,
    )
    master_key = Text(
        "",
        "Key of the secret store: base64 of 32 random bytes; no key file is used then.",
        env="LYRSVC_MASTER_KEY",
        check=must(
            "standard base64 of exactly 32 bytes; make one with: openssl rand -base64 32",
            lambda text: re.fullmatch(r"[A-Za-z0-9+/]{43}=", text) is not None,
        ),
        tab=Tab.NONE,
        tier=Tier.CRITICAL,
        secret=True,
        env_only=True,
    )
    admin_user = Text(
        "", "Name of the first admin.", env="LYRSVC_WEBAUTH_ADMIN_USER", tab=Tab.NONE, env_only=True
    )
    admin_password = Setting[str](
        "",
        "Password of the first admin, at least 8 characters; never read from a file.",
        env="LYRSVC_WEBAUTH_ADMIN_PASSWORD",
        tab=Tab.NONE,
        tier=Tier.CRITICAL,
        secret=True,
        file_twin=False,
        env_only=True,
    )
    tz = Text(
        "", "Zone of the schedule's clock and of times on the pages.", env="TZ", tab=Tab.NONE,
        env_only=True,
    )  # fmt: skip
    puid = Text("1000", "User id the container runs as.", env="PUID", tab=Tab.NONE, env_only=True)
    pgid = Text("1000", "Group id the container runs as.", env="PGID", tab=Tab.NONE, env_only=True)
    umask = Text(
        "022", "Mode bits the container takes away.", env="UMASK", tab=Tab.NONE, env_only=True
    )
    no_color = Text("", "No colour on the terminal.", env="NO_COLOR", tab=Tab.NONE, env_only=True)
    term = Text(
        "", "Kind of terminal; `dumb` = no progress line.", env="TERM", tab=Tab.NONE, env_only=True
    )
    columns = Text("", "Width of the terminal.", env="COLUMNS", tab=Tab.NONE, env_only=True)
    complete_shell = Text(
        "", "Set by the completion scripts.", env="LYRSVC_COMPLETE_SHELL", internal=True,
        tab=Tab.NONE, env_only=True,
    )  # fmt: skip
    complete_descriptions = Text(
        "", "Set by the completion scripts.", env="LYRSVC_COMPLETE_DESCRIPTIONS", internal=True,
        tab=Tab.NONE, env_only=True,
    )  # fmt: skip
