"""Every setting of the server, its schedule, its trust and its logs."""

import re

from lyrsvc.core.host_names import is_host
from lyrsvc.core.setting import ALL_COMMANDS, Flag, Section, Tab, Tier, clamp, must, table
from lyrsvc.core.setting_kinds import (
    Choice,
    Cidrs,
    HostPort,
    Integer,
    Names,
    Pairs,
    PathName,
    Text,
    Toggle,
)

_HOSTS = must("host names or IP addresses", lambda hosts: all(map(is_host, hosts)))
_KEY = r"[!-+\--~]{1,512}"
_SERVE = ("serve",)


class ScanSchedule(Section):
    """When libraries are scanned, by the local clock; saved as a whole."""

    frequency = Choice(
        ("off", "hourly", "daily", "weekly"),
        "",
        "How often; blank = the deprecated interval.",
        env="LYRSVC_SCAN_SCHEDULE",
        tab=Tab.COMMON,
        tier=Tier.CAUTION,
        group="schedule",
    )
    at = Text(
        "",
        "Clock time `HH:MM`, needed for daily and weekly.",
        env="LYRSVC_SCAN_SCHEDULE_AT",
        check=must(
            "a clock time HH:MM between 00:00 and 23:59",
            lambda text: re.fullmatch(r"([01][0-9]|2[0-3]):[0-5][0-9]", text) is not None,
        ),
        tab=Tab.COMMON,
        tier=Tier.CAUTION,
        group="schedule",
    )
    day = Choice(
        ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
        "",
        "Day of the week, needed for weekly.",
        env="LYRSVC_SCAN_SCHEDULE_DAY",
        tab=Tab.COMMON,
        tier=Tier.CAUTION,
        group="schedule",
    )
    scan_on_start = Toggle(
        False,
        "Scan when the server starts.",
        env="LYRSVC_SCAN_SCHEDULE_ON_START",
        tab=Tab.COMMON,
        tier=Tier.CAUTION,
        group="schedule",
    )


class TrustedNetworks(Section):
    """Who is trusted without a password; loopback always is."""

    cidrs = Cidrs(
        (),
        "Networks that may see metrics and the pages without signing in.",
        env="LYRSVC_TRUSTED_CIDRS",
        tier=Tier.CRITICAL,
        group="trust",
    )
    trusted_proxies = Cidrs(
        (),
        "Reverse proxies whose forwarding headers are believed.",
        env="LYRSVC_TRUSTED_PROXIES",
        tier=Tier.CRITICAL,
        group="trust",
    )
    ui_access = Choice(
        ("full", "read", "off"),
        "full",
        "What a trusted network may do on the pages without signing in.",
        env="LYRSVC_TRUSTED_UI_ACCESS",
        tier=Tier.CRITICAL,
        group="trust",
    )


class Tls(Section):
    """The built-in TLS listener; saved as a whole."""

    cert_file = PathName(
        None,
        "Certificate chain, PEM.",
        env="LYRSVC_TLS_CERT_FILE",
        tier=Tier.CRITICAL,
        group="tls",
    )
    key_file = PathName(
        None,
        "Private key of the certificate, PEM.",
        env="LYRSVC_TLS_KEY_FILE",
        tier=Tier.CRITICAL,
        group="tls",
    )
    self_signed = Toggle(
        False,
        "Make and use a self-signed certificate.",
        env="LYRSVC_TLS_SELF_SIGNED",
        tier=Tier.CRITICAL,
        group="tls",
    )
    self_signed_hosts = Names(
        (),
        "Names and addresses of the self-signed certificate.",
        env="LYRSVC_TLS_SELF_SIGNED_HOSTS",
        check=_HOSTS,
        tier=Tier.CRITICAL,
        group="tls",
    )
    redirect_http = HostPort(
        "",
        "Second address whose plain HTTP requests are sent on to TLS.",
        env="LYRSVC_TLS_REDIRECT_HTTP",
        tier=Tier.CRITICAL,
        group="tls",
    )


class Server(Section):
    """The long-running service."""

    addr = HostPort(
        "127.0.0.1:3876",
        "Listen address; `:port` = every address.",
        env="LYRSVC_SERVER_ADDR",
        flag=Flag("--listen", _SERVE),
        tab=Tab.COMMON,
        tier=Tier.CAUTION,
    )
    base_path = Text(
        "",
        "Path below which everything is served, for reverse proxies.",
        env="LYRSVC_BASE_PATH",
        check=must(
            "empty or /name[/name] without a trailing slash",
            lambda text: re.fullmatch(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._~-]+)+", text) is not None,
        ),
        tier=Tier.CAUTION,
    )
    instance_name = Text(
        "lyrsvc",
        "Name of this instance, shown on the pages.",
        env="LYRSVC_INSTANCE_NAME",
        check=must(
            "1 to 64 printable characters", lambda text: len(text) <= 64 and text.isprintable()
        ),
    )
    max_body_bytes = Integer(
        1048576,
        "Largest request body.",
        unit="bytes",
        check=clamp(65536, 16777216),
        env="LYRSVC_MAX_BODY_BYTES",
        tier=Tier.CAUTION,
    )
    path_mappings = Pairs(
        (),
        "The music manager's paths and what they are called here.",
        env="LYRSVC_PATH_MAPPINGS",
        check=must(
            "absolute on the `to` side, each `from` once",
            lambda pairs: (
                all(re.match(r"/|[A-Za-z]:[\\/]", after) for _, after in pairs)
                and len({before.rstrip("/\\") for before, _ in pairs}) == len(pairs)
            ),
        ),
        tier=Tier.CAUTION,
    )
    worker_slots = Integer(
        2, "Tracks worked on at the same time.", check=clamp(1, 8), env="LYRSVC_WORKER_SLOTS"
    )
    sweep_interval_seconds = Integer(
        21600,
        "Seconds between two looks for work that was left over; 0 = off.",
        unit="s",
        check=clamp(0, 604800),
        env="LYRSVC_SWEEP_INTERVAL",
        tier=Tier.CAUTION,
    )
    allowed_hosts = Names(
        (),
        "Host names that requests may name; empty = any name of this machine.",
        env="LYRSVC_ALLOWED_HOSTS",
        check=_HOSTS,
        tier=Tier.CRITICAL,
    )
    web_ui_enabled = Toggle(
        False,
        "Serve the browser pages.",
        env="LYRSVC_WEB_UI_ENABLED",
        flag=Flag("--web-ui", _SERVE),
        tier=Tier.CAUTION,
    )
    webhook_api_keys = Names(
        (),
        "Keys that webhooks may use. A flag is visible in process lists: prefer the variable or "
        "`lyrsvc keys create`.",
        env="LYRSVC_WEBHOOK_API_KEY",
        flag=Flag("--webhook-api-key", _SERVE),
        check=must(
            "1 to 512 printable ASCII characters without comma or blank",
            lambda keys: all(re.fullmatch(_KEY, key) for key in keys),
        ),
        tab=Tab.COMMON,
        tier=Tier.CRITICAL,
        secret=True,
    )
    scan_schedule = table(ScanSchedule)
    scan_interval_seconds = Integer(
        900,
        "Seconds between two scans; 0 = scan once. Counts only while the schedule is blank.",
        unit="s",
        check=clamp(0, 31536000),
        env="LYRSVC_SCAN_INTERVAL",
        flag=Flag("--scan-interval", _SERVE),
        tier=Tier.CAUTION,
        deprecated="server.scan_schedule",
    )
    work_interval_seconds = Integer(
        0,
        "Seconds an idle worker rests; new work wakes it. 0 = `api.cooldown`, at least 15.",
        unit="s",
        check=clamp(0, 86400),
        env="LYRSVC_WORK_INTERVAL",
        flag=Flag("--work-interval", _SERVE),
        tier=Tier.CAUTION,
    )
    trusted_networks = table(TrustedNetworks)
    tls = table(Tls)


class Logging(Section):
    """What is logged, how and where."""

    level = Choice(
        ("debug", "info", "warn", "error"),
        "info",
        "Least important level that is logged.",
        also={"warning": "warn"},
        env="LYRSVC_LOG_LEVEL",
        flag=Flag("--log-level", ALL_COMMANDS),
        tab=Tab.COMMON,
    )
    format = Choice(
        ("text", "json"),
        "text",
        "Lines for people or objects for programs.",
        env="LYRSVC_LOG_FORMAT",
        flag=Flag("--log-format", ALL_COMMANDS),
    )
    file = PathName(None, "File that is logged to beside stderr.", env="LYRSVC_LOG_FILE")
    max_size_mb = Integer(
        10,
        "Size at which the file is rotated.",
        unit="MB",
        check=clamp(1, 10000),
        env="LYRSVC_LOG_MAX_SIZE_MB",
    )
    max_files = Integer(
        5, "Rotated files that are kept.", check=clamp(1, 10000), env="LYRSVC_LOG_MAX_FILES"
    )
    max_age_days = Integer(
        30,
        "Age at which a rotated file is removed.",
        unit="days",
        check=clamp(1, 10000),
        env="LYRSVC_LOG_MAX_AGE_DAYS",
    )
    compress = Toggle(
        True,
        "Compress rotated files.",
        env="LYRSVC_LOG_COMPRESS",
    )
