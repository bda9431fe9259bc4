"""Every setting of finding, judging and writing lyrics, and the root that joins all sections.

The order matters in one respect: a default or bound that follows from another
setting stands after it.
"""

import re

from lyrsvc import brand
from lyrsvc.core.setting import (
    ALL_COMMANDS,
    Derived,
    Flag,
    Section,
    Tab,
    Tier,
    clamp,
    must,
    same_as,
    table,
)
from lyrsvc.core.setting_kinds import (
    Choice,
    Decimal,
    Integer,
    Names,
    PathName,
    Text,
    Toggle,
    Url,
    Words,
)
from lyrsvc.settings.addresses import is_loopback_url
from lyrsvc.settings.environment_sections import Environment, Watcher
from lyrsvc.settings.server_sections import Logging, Server

_LOOKING_UP = ("fetch", "serve")
_SCRIPTS = (
    "Latin", "Han", "Kana", "Hangul", "Cyrillic", "Greek",
    "Arabic", "Hebrew", "Thai", "Devanagari", "Other",
)  # fmt: skip


class Api(Section):
    """The default provider: its token, its pace, and the patience after misses and refusals."""

    token = Text(
        "",
        "Token of the default lyrics provider. A flag is visible in process lists: prefer the "
        "variable or `lyrsvc secrets set provider_token`.",
        env=("PROVIDER_TOKEN", "LYRSVC_API_TOKEN"),
        flag=Flag("--token", _LOOKING_UP, "-t"),
        tab=Tab.COMMON,
        tier=Tier.CRITICAL,
        secret=True,
    )
    cooldown = Integer(
        15,
        "Seconds between two requests to the default provider.",
        unit="s",
        check=clamp(0, 86400),
        env=("LYRSVC_API_COOLDOWN", "LYRSVC_COOLDOWN"),
        flag=Flag("--cooldown", _LOOKING_UP, "-c"),
        tab=Tab.COMMON,
    )
    circuit_open_duration = Integer(
        1800,
        "Longest rest of a lane that signals rate limiting.",
        unit="s",
        check=clamp(300, 86400),
        env="LYRSVC_API_CIRCUIT_OPEN_DURATION",
    )
    circuit_backoff_base_seconds = Integer(
        60,
        "First rest of a lane that signals rate limiting; it doubles up to the longest rest.",
        unit="s",
        check=clamp(15, same_as("api.circuit_open_duration")),
        env="LYRSVC_API_CIRCUIT_BACKOFF_BASE",
    )
    miss_backoff_base_hours = Integer(
        168,
        "Hours until a track without lyrics is checked again.",
        unit="h",
        check=clamp(1, 8760),
        env="LYRSVC_MISS_BACKOFF_BASE_HOURS",
        group="misses",
    )
    miss_backoff_cap_hours = Integer(
        same_as("api.miss_backoff_base_hours"),
        "Longest wait after a miss; larger than the base, it makes the wait double each time.",
        unit="h",
        check=clamp(same_as("api.miss_backoff_base_hours"), 87600),
        env="LYRSVC_MISS_BACKOFF_CAP_HOURS",
        group="misses",
    )
    max_miss_attempts = Integer(
        15,
        "Misses after which a track is no longer checked; 0 = never give up.",
        check=clamp(0, 1000),
        env="LYRSVC_MAX_MISS_ATTEMPTS",
        group="misses",
    )


class DefaultProv(Section):
    """The default provider's address and client identity; they belong together."""

    base_url = Url(
        "https://apic.musixmatch.com",
        "Address of the default provider.",
        env="LYRSVC_DEFAULTPROV_BASE_URL",
        check=must(
            "an https URL (http only for loopback, because the token travels with it)",
            lambda url: url.lower().startswith("https:") or is_loopback_url(url),
        ),
        tier=Tier.CAUTION,
        group="providers",
    )
    app_id = Text(
        "android-player-v1.0",
        "Client identity that goes with the address.",
        env="LYRSVC_DEFAULTPROV_APP_ID",
        check=must(
            "1 to 64 characters of A-Z a-z 0-9 . _ -",
            lambda text: re.fullmatch(r"[A-Za-z0-9._-]{1,64}", text) is not None,
        ),
        tier=Tier.CAUTION,
        group="providers",
    )


class LrcLib(Section):
    """The open catalogue; needs no token."""

    base_url = Url(
        "https://lrclib.net",
        "Address of the catalogue or of a mirror.",
        env="LYRSVC_LRCLIB_BASE_URL",
        tier=Tier.CAUTION,
        group="providers",
    )
    cooldown_seconds = Decimal(
        1.0,
        "Seconds between two requests; 0 is allowed for a loopback address.",
        unit="s",
        check=clamp(
            0.2,
            3600,
            excused=lambda value, known: (
                value == 0 and is_loopback_url(known["providers.lrclib.base_url"])
            ),
        ),
        env="LYRSVC_LRCLIB_COOLDOWN_SECONDS",
    )


class LrcLibDump(Section):
    """A local copy of the open catalogue's published database."""

    path = PathName(
        None,
        "Unpacked SQLite file of the published dump, for lane `lrclib-dump`.",
        env="LYRSVC_LRCLIB_DUMP_PATH",
        tier=Tier.CAUTION,
        group="providers",
    )


class Providers(Section):
    """Which lanes are asked, and in which order."""

    primary = Text(
        "defaultprov",
        "Lane that is asked first.",
        env="LYRSVC_PROVIDER_PRIMARY",
        flag=Flag("--provider", _LOOKING_UP),
        offers="lane",
        tab=Tab.COMMON,
        tier=Tier.CAUTION,
        group="providers",
    )
    fallback_order = Names(
        (),
        "Lanes asked next, in this order, while no synced lyrics were found.",
        env="LYRSVC_PROVIDERS_FALLBACK_ORDER",
        offers="lane",
        tab=Tab.COMMON,
        tier=Tier.CAUTION,
        group="providers",
    )
    defaultprov = table(DefaultProv)
    lrclib = table(LrcLib)
    lrclib_dump = table(LrcLibDump)


class Output(Section):
    """What is written, and where when there is no audio file to write beside."""

    dir = PathName(
        Derived("`lyrics` beside the database", lambda known: known["db.path"].parent / "lyrics"),
        "Where serve writes lyrics that belong to no file it knows.",
        env="LYRSVC_OUTPUT_DIR",
        flag=Flag("--outdir", ("serve",), "-o"),
        tier=Tier.CAUTION,
    )
    bilingual_output = Toggle(
        False,
        "Write a translation under each line when there is one.",
        env="LYRSVC_BILINGUAL_OUTPUT",
        tab=Tab.COMMON,
    )
    translation_language = Text(
        "en",
        "Language of the translation.",
        env="LYRSVC_TRANSLATION_LANGUAGE",
        check=must(
            "a two-letter lower-case code such as en",
            lambda text: re.fullmatch(r"[a-z]{2}", text) is not None,
        ),
        tab=Tab.COMMON,
    )
    word_timing = Choice(
        ("off", "sibling", "inline"),
        "off",
        "Word timing: none, in an `.elrc` beside the `.lrc`, or inside the `.lrc`.",
        env="LYRSVC_WORD_TIMING",
    )
    embedded_lyrics = Choice(
        ("off", "respect", "extract"),
        "off",
        "Lyrics inside the audio file: ignored, reason to skip the track, or source of the file.",
        env="LYRSVC_EMBEDDED_LYRICS",
        flag=Flag("--embedded-lyrics", ("fetch", "scan", "serve")),
        tab=Tab.COMMON,
    )


class Scan(Section):
    """How libraries are walked."""

    depth = Integer(
        100,
        "Levels of directories below the root; 0 = only the root.",
        check=clamp(0, 1000),
        env="LYRSVC_SCAN_DEPTH",
        flag=Flag("--depth", ("fetch", "scan", "serve"), "-d"),
    )
    tag_workers = Integer(
        4,
        "Files whose tags are read at the same time.",
        check=clamp(1, 32),
        env="LYRSVC_SCAN_TAG_WORKERS",
    )
    missing_retention_days = Integer(
        30,
        "Days after which the row of a vanished file is removed.",
        unit="days",
        check=clamp(1, 3650),
        env="LYRSVC_SCAN_MISSING_RETENTION_DAYS",
    )


class Enrichment(Section):
    """Reading ISRC, MusicBrainz recording id and length, as one unit."""

    enabled = Toggle(
        True,
        "Read ISRC, MusicBrainz id and length from the tags and use them to match.",
        env="LYRSVC_ENRICHMENT_ENABLED",
        tab=Tab.COMMON,
    )


class Guard(Section):
    """The script guard: rejects lyrics in a script that is not wanted."""

    accepted_scripts = Words(
        _SCRIPTS,
        (),
        "Scripts that lyrics may be written in; empty = every script.",
        env="LYRSVC_GUARD_ACCEPTED_SCRIPTS",
    )
    script_guard_threshold = Decimal(
        0.20,
        "Share of letters in other scripts above which lyrics are rejected.",
        check=clamp(0.01, 1),
        env="LYRSVC_GUARD_THRESHOLD",
    )


class InstrumentalDetector(Section):
    """Listening whether a track without lyrics is instrumental."""

    enabled = Toggle(
        False,
        "Ask the classifier about tracks that no provider knows, unless a library says otherwise.",
        env="LYRSVC_INSTRUMENTAL_DETECTOR_ENABLED",
        tab=Tab.COMMON,
    )
    classifier_url = Url("", "Address of the classifier; empty = no detection.", tier=Tier.CAUTION)
    ffmpeg_path = PathName(None, "The ffmpeg program; empty = look on `PATH`.", tier=Tier.CAUTION)
    ffprobe_path = PathName(None, "The ffprobe program; empty = look on `PATH`.", tier=Tier.CAUTION)
    sample_duration_seconds = Integer(
        30, "Seconds of audio that are sampled.", unit="s", check=clamp(30, 60)
    )
    spread_samples = Integer(
        6, "Windows the sample is spread over; below 2 = one window.", check=clamp(0, 30)
    )
    min_confidence = Decimal(
        0.90, "How sure the classifier must be that there is music.", check=clamp(0.01, 1)
    )
    instrumental_classes = Names(
        ("Music", "Musical instrument"),
        "Classes that mean music; empty = the default.",
        env="LYRSVC_INSTRUMENTAL_DETECTOR_CLASSES",
        empty_is_absent=True,
    )
    vocal_classes = Names(
        (
            "Singing", "Vocal music", "Choir", "A capella", "Chant", "Rapping",
            "Child singing", "Synthetic singing", "Yodeling", "Humming",
        ),
        "Classes that mean a singing voice.",
    )  # fmt: skip
    vocal_max_confidence = Decimal(
        0.015, "Share of singing from which a track is not instrumental.", check=clamp(0.001, 1)
    )
    speech_classes = Names(("Speech",), "Classes that mean speech.")
    speech_max_confidence = Decimal(
        0.20, "Share of speech from which a track is not instrumental.", check=clamp(0.001, 1)
    )
    cooldown_seconds = Integer(
        5, "Seconds between two classifications.", unit="s", check=clamp(0, 3600)
    )


class Realign(Section):
    """Re-attaching sidecars whose audio file was renamed."""

    require_provenance = Toggle(False, "Apply only exact matches.")
    cross_directory = Toggle(
        False,
        "Let an exact match move a sidecar to another directory.",
        tier=Tier.CAUTION,
    )
    identity_keys = Words(
        ("mbid", "isrc"), ("mbid", "isrc"), "Ids of the exact tier, in the order they are tried."
    )
    min_confidence = Decimal(
        0.75, "Similarity of titles from which a name match counts.", check=clamp(0.01, 1)
    )
    name_match = Toggle(
        False,
        "Match several orphans of one directory by name.",
        tier=Tier.CAUTION,
    )
    min_margin = Decimal(
        0.05, "Lead over the next best title that a name match needs.", check=clamp(0, 0.99)
    )
    enabled = Toggle(False, "Realign by itself while serving.", tier=Tier.CAUTION)
    on_scan = Toggle(False, "Realign after each scan.", tier=Tier.CAUTION)
    auto_apply_heuristic = Toggle(
        False,
        "Let realigning by itself also apply name matches.",
        tier=Tier.CAUTION,
    )


class Db(Section):
    """The database."""

    path = PathName(
        Derived("see Paths", lambda known: known["database"]),
        "Database file.",
        env="LYRSVC_DB_PATH",
        flag=Flag("--db", ALL_COMMANDS),
        tier=Tier.CAUTION,
    )


class Secrets(Section):
    """Where the key of the encrypted secrets is kept."""

    key_file = PathName(
        Derived(
            "`.lyrsvcgo.key` beside the database",
            lambda known: known["db.path"].parent / brand.KEY_FILE_NAME,
        ),
        "File with the 32-byte key of the secret store; made when missing.",
        env="LYRSVC_SECRETS_KEY_FILE",
        tier=Tier.CRITICAL,
        editable=False,
    )


class Queue(Section):
    """The work queue."""

    done_retention_days = Integer(
        0,
        "Days after which finished items are removed; 0 = keep them.",
        unit="days",
        check=clamp(0, 3650),
        env="LYRSVC_QUEUE_DONE_RETENTION_DAYS",
        tier=Tier.CAUTION,
    )


class History(Section):
    """What happened, for the history and audit pages."""

    retention_days = Integer(
        365,
        "Days that history and audit rows are kept.",
        unit="days",
        check=clamp(7, 3650),
        env="LYRSVC_HISTORY_RETENTION_DAYS",
    )


class Settings(Section):
    """All settings."""

    db = table(Db)
    api = table(Api)
    providers = table(Providers)
    output = table(Output)
    scan = table(Scan)
    enrichment = table(Enrichment)
    guard = table(Guard)
    instrumental_detector = table(InstrumentalDetector)
    realign = table(Realign)
    secrets = table(Secrets)
    queue = table(Queue)
    history = table(History)
    server = table(Server)
    logging = table(Logging)
    watcher = table(Watcher)
    environment = table(Environment)
