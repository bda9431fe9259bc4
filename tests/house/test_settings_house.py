"""Every setting is declared once, is what was promised, and is derived everywhere else."""

import ast
import subprocess
import sys
from collections.abc import Iterator

import pytest

from lyrsvc.core.setting import Clamp, Derived, Entry, Section, Tab
from lyrsvc.core.setting_kinds import Text
from lyrsvc.settings import reference
from lyrsvc.settings.registry import Registry, variables
from source_tree import modules, name

REGISTRY = Registry()
VOCAL = (
    "Singing", "Vocal music", "Choir", "A capella", "Chant", "Rapping",
    "Child singing", "Synthetic singing", "Yodeling", "Humming",
)  # fmt: skip

# path, names of variables in their order (the mechanical one is added), default, range, tab · tier
CONTRACT = """
api.token                            | PROVIDER_TOKEN LYRSVC_API_TOKEN       | ''         |              | C K
api.cooldown                         | LYRSVC_API_COOLDOWN LYRSVC_COOLDOWN   | 15         | 0..86400     | C S
api.circuit_backoff_base_seconds     | LYRSVC_API_CIRCUIT_BACKOFF_BASE       | 60         | 15..`api.circuit_open_duration` | A S
api.circuit_open_duration            | LYRSVC_API_CIRCUIT_OPEN_DURATION      | 1800       | 300..86400   | A S
api.miss_backoff_base_hours          | LYRSVC_MISS_BACKOFF_BASE_HOURS        | 168        | 1..8760      | A S
api.miss_backoff_cap_hours           | LYRSVC_MISS_BACKOFF_CAP_HOURS         | `api.miss_backoff_base_hours` | `api.miss_backoff_base_hours`..87600 | A S
api.max_miss_attempts                | LYRSVC_MAX_MISS_ATTEMPTS              | 15         | 0..1000      | A S
providers.primary                    | LYRSVC_PROVIDER_PRIMARY               | 'defaultprov' |           | C Ca
providers.fallback_order             | LYRSVC_PROVIDERS_FALLBACK_ORDER       | ()         |              | C Ca
providers.defaultprov.base_url       | LYRSVC_DEFAULTPROV_BASE_URL           | 'https://apic.musixmatch.com' | | A Ca
providers.defaultprov.app_id         | LYRSVC_DEFAULTPROV_APP_ID             | 'android-player-v1.0' |   | A Ca
providers.lrclib.base_url            | LYRSVC_LRCLIB_BASE_URL                | 'https://lrclib.net' |    | A Ca
providers.lrclib.cooldown_seconds    | LYRSVC_LRCLIB_COOLDOWN_SECONDS        | 1.0        | 0.2..3600    | A S
providers.lrclib_dump.path           | LYRSVC_LRCLIB_DUMP_PATH               | None       |              | A Ca
output.dir                           | LYRSVC_OUTPUT_DIR                     | `lyrics` beside the database | | A Ca
output.bilingual_output              | LYRSVC_BILINGUAL_OUTPUT               | False      |              | C S
output.translation_language          | LYRSVC_TRANSLATION_LANGUAGE           | 'en'       |              | C S
output.word_timing                   | LYRSVC_WORD_TIMING                    | 'off'      |              | A S
output.embedded_lyrics               | LYRSVC_EMBEDDED_LYRICS                | 'off'      |              | C S
scan.depth                           | LYRSVC_SCAN_DEPTH                     | 100        | 0..1000      | A S
scan.tag_workers                     | LYRSVC_SCAN_TAG_WORKERS               | 4          | 1..32        | A S
scan.missing_retention_days          | LYRSVC_SCAN_MISSING_RETENTION_DAYS    | 30         | 1..3650      | A S
enrichment.enabled                   | LYRSVC_ENRICHMENT_ENABLED             | True       |              | C S
guard.accepted_scripts               | LYRSVC_GUARD_ACCEPTED_SCRIPTS         | ()         |              | A S
guard.script_guard_threshold         | LYRSVC_GUARD_THRESHOLD                | 0.2        | 0.01..1      | A S
instrumental_detector.enabled        | LYRSVC_INSTRUMENTAL_DETECTOR_ENABLED  | False      |              | C S
instrumental_detector.classifier_url | LYRSVC_INSTRUMENTAL_DETECTOR_CLASSIFIER_URL | ''   |              | A Ca
instrumental_detector.ffmpeg_path    | LYRSVC_INSTRUMENTAL_DETECTOR_FFMPEG_PATH | None    |              | A Ca
instrumental_detector.ffprobe_path   | LYRSVC_INSTRUMENTAL_DETECTOR_FFPROBE_PATH | None   |              | A Ca
instrumental_detector.sample_duration_seconds | LYRSVC_INSTRUMENTAL_DETECTOR_SAMPLE_DURATION_SECONDS | 30 | 30..60 | A S
instrumental_detector.spread_samples | LYRSVC_INSTRUMENTAL_DETECTOR_SPREAD_SAMPLES | 6    | 0..30        | A S
instrumental_detector.min_confidence | LYRSVC_INSTRUMENTAL_DETECTOR_MIN_CONFIDENCE | 0.9  | 0.01..1      | A S
instrumental_detector.instrumental_classes | LYRSVC_INSTRUMENTAL_DETECTOR_CLASSES | ('Music', 'Musical instrument') | | A S
instrumental_detector.vocal_classes  | LYRSVC_INSTRUMENTAL_DETECTOR_VOCAL_CLASSES | VOCAL |              | A S
instrumental_detector.vocal_max_confidence | LYRSVC_INSTRUMENTAL_DETECTOR_VOCAL_MAX_CONFIDENCE | 0.015 | 0.001..1 | A S
instrumental_detector.speech_classes | LYRSVC_INSTRUMENTAL_DETECTOR_SPEECH_CLASSES | ('Speech',) |       | A S
instrumental_detector.speech_max_confidence | LYRSVC_INSTRUMENTAL_DETECTOR_SPEECH_MAX_CONFIDENCE | 0.2 | 0.001..1 | A S
instrumental_detector.cooldown_seconds | LYRSVC_INSTRUMENTAL_DETECTOR_COOLDOWN_SECONDS | 5 | 0..3600    | A S
realign.require_provenance           | LYRSVC_REALIGN_REQUIRE_PROVENANCE     | False      |              | A S
realign.cross_directory              | LYRSVC_REALIGN_CROSS_DIRECTORY        | False      |              | A Ca
realign.identity_keys                | LYRSVC_REALIGN_IDENTITY_KEYS          | ('mbid', 'isrc') |        | A S
realign.min_confidence               | LYRSVC_REALIGN_MIN_CONFIDENCE         | 0.75       | 0.01..1      | A S
realign.name_match                   | LYRSVC_REALIGN_NAME_MATCH             | False      |              | A Ca
realign.min_margin                   | LYRSVC_REALIGN_MIN_MARGIN             | 0.05       | 0..0.99      | A S
realign.enabled                      | LYRSVC_REALIGN_ENABLED                | False      |              | A Ca
realign.on_scan                      | LYRSVC_REALIGN_ON_SCAN                | False      |              | A Ca
realign.auto_apply_heuristic         | LYRSVC_REALIGN_AUTO_APPLY_HEURISTIC   | False      |              | A Ca
db.path                              | LYRSVC_DB_PATH                        | see Paths  |              | A Ca
secrets.key_file                     | LYRSVC_SECRETS_KEY_FILE               | `.lyrsvcgo.key` beside the database | | A K
queue.done_retention_days            | LYRSVC_QUEUE_DONE_RETENTION_DAYS      | 0          | 0..3650      | A Ca
history.retention_days               | LYRSVC_HISTORY_RETENTION_DAYS         | 365        | 7..3650      | A S
server.addr                          | LYRSVC_SERVER_ADDR                    | '127.0.0.1:3876' |        | C Ca
server.base_path                     | LYRSVC_BASE_PATH                      | ''         |              | A Ca
server.instance_name                 | LYRSVC_INSTANCE_NAME                  | 'lyrsvc'   |              | A S
server.max_body_bytes                | LYRSVC_MAX_BODY_BYTES                 | 1048576    | 65536..16777216 | A Ca
server.path_mappings                 | LYRSVC_PATH_MAPPINGS                  | ()         |              | A Ca
server.worker_slots                  | LYRSVC_WORKER_SLOTS                   | 2          | 1..8         | A S
server.sweep_interval_seconds        | LYRSVC_SWEEP_INTERVAL                 | 21600      | 0..604800    | A Ca
server.allowed_hosts                 | LYRSVC_ALLOWED_HOSTS                  | ()         |              | A K
server.web_ui_enabled                | LYRSVC_WEB_UI_ENABLED                 | False      |              | A Ca
server.webhook_api_keys              | LYRSVC_WEBHOOK_API_KEY                | ()         |              | C K
server.scan_schedule.frequency       | LYRSVC_SCAN_SCHEDULE                  | ''         |              | C Ca
server.scan_schedule.at              | LYRSVC_SCAN_SCHEDULE_AT               | ''         |              | C Ca
server.scan_schedule.day             | LYRSVC_SCAN_SCHEDULE_DAY              | ''         |              | C Ca
server.scan_schedule.scan_on_start   | LYRSVC_SCAN_SCHEDULE_ON_START         | False      |              | C Ca
server.scan_interval_seconds         | LYRSVC_SCAN_INTERVAL                  | 900        | 0..31536000  | A Ca
server.work_interval_seconds         | LYRSVC_WORK_INTERVAL                  | 0          | 0..86400     | A Ca
server.trusted_networks.cidrs        | LYRSVC_TRUSTED_CIDRS                  | ()         |              | A K
server.trusted_networks.trusted_proxies | LYRSVC_TRUSTED_PROXIES             | ()         |              | A K
server.trusted_networks.ui_access    | LYRSVC_TRUSTED_UI_ACCESS              | 'full'     |              | A K
server.tls.cert_file                 | LYRSVC_TLS_CERT_FILE                  | None       |              | A K
server.tls.key_file                  | LYRSVC_TLS_KEY_FILE                   | None       |              | A K
server.tls.self_signed               | LYRSVC_TLS_SELF_SIGNED                | False      |              | A K
server.tls.self_signed_hosts         | LYRSVC_TLS_SELF_SIGNED_HOSTS          | ()         |              | A K
server.tls.redirect_http             | LYRSVC_TLS_REDIRECT_HTTP              | ''         |              | A K
logging.level                        | LYRSVC_LOG_LEVEL                      | 'info'     |              | C S
logging.format                       | LYRSVC_LOG_FORMAT                     | 'text'     |              | A S
logging.file                         | LYRSVC_LOG_FILE                       | None       |              | A S
logging.max_size_mb                  | LYRSVC_LOG_MAX_SIZE_MB                | 10         | 1..10000     | A S
logging.max_files                    | LYRSVC_LOG_MAX_FILES                  | 5          | 1..10000     | A S
logging.max_age_days                 | LYRSVC_LOG_MAX_AGE_DAYS               | 30         | 1..10000     | A S
logging.compress                     | LYRSVC_LOG_COMPRESS                   | True       |              | A S
"""

ENVIRONMENT_ONLY = {
    "LYRSVCGO_WATCH_ENABLED": False,
    "LYRSVCGO_WATCH_DEBOUNCE_MS": 2000,
    "LYRSVCGO_WATCH_MAX_DIRS": 100000,
    "LYRSVC_CONFIG": None,
    "LYRSVC_DOCKER": False,
    "LYRSVC_MASTER_KEY": "",
    "LYRSVC_WEBAUTH_ADMIN_USER": "",
    "LYRSVC_WEBAUTH_ADMIN_PASSWORD": "",
    "TZ": "",
    "PUID": "1000",
    "PGID": "1000",
    "UMASK": "022",
    "NO_COLOR": "",
    "TERM": "",
    "COLUMNS": "",
}

FLAGS = {
    "api.token": ("-t", "--token", {"fetch", "serve"}),
    "api.cooldown": ("-c", "--cooldown", {"fetch", "serve"}),
    "providers.primary": ("", "--provider", {"fetch", "serve"}),
    "output.dir": ("-o", "--outdir", {"serve"}),
    "output.embedded_lyrics": ("", "--embedded-lyrics", {"fetch", "scan", "serve"}),
    "scan.depth": ("-d", "--depth", {"fetch", "scan", "serve"}),
    "db.path": ("", "--db", {"*"}),
    "server.addr": ("", "--listen", {"serve"}),
    "server.web_ui_enabled": ("", "--web-ui", {"serve"}),
    "server.webhook_api_keys": ("", "--webhook-api-key", {"serve"}),
    "server.scan_interval_seconds": ("", "--scan-interval", {"serve"}),
    "server.work_interval_seconds": ("", "--work-interval", {"serve"}),
    "logging.level": ("", "--log-level", {"*"}),
    "logging.format": ("", "--log-format", {"*"}),
}

SECRETS = {
    *("api.token", "server.webhook_api_keys"),
    *("environment.master_key", "environment.admin_password"),
}

MAY_NOT_KNOW_SETTINGS = (
    "core/",
    "store/",
    "services/",
    "providers/",
    "files/",
    "security/",
    "logs/",
)
"""Rooms below or beside the settings: a message may name a variable there, nothing may look one up."""


def rows() -> dict[str, tuple[str, ...]]:
    cells = (
        tuple(cell.strip() for cell in line.split("|")) for line in CONTRACT.split("\n") if line
    )
    return {first: rest for first, *rest in cells}


def in_file() -> list[Entry]:
    return [entry for entry in REGISTRY.entries if not entry.setting.env_only]


def test_the_file_knows_exactly_the_promised_settings() -> None:
    assert {entry.path for entry in in_file()} == set(rows())


@pytest.mark.parametrize("entry", in_file(), ids=lambda entry: entry.path)
def test_a_setting_has_its_promised_variables_default_range_tab_and_tier(entry: Entry) -> None:
    names, default, limits, shown = rows()[entry.path]
    setting = entry.setting
    mechanical = "LYRSVC_" + entry.path.upper().replace(".", "_")
    assert variables(entry) == tuple(dict.fromkeys([*names.split(), mechanical]))
    if isinstance(setting.default, Derived):
        assert setting.default.text == default
    else:
        assert setting.default == (VOCAL if default == "VOCAL" else ast.literal_eval(default))
    assert (setting.check.text() if isinstance(setting.check, Clamp) else "") == limits
    tab, tier = shown.split()
    assert setting.tab is {"C": Tab.COMMON, "A": Tab.ADVANCED}[tab]
    assert setting.tier.value == {"S": "safe", "Ca": "caution", "K": "critical"}[tier]
    assert setting.editable is (entry.path != "secrets.key_file")


def test_the_environment_alone_knows_exactly_the_promised_variables() -> None:
    found = {
        entry.key: entry.setting.default
        for entry in REGISTRY.entries
        if entry.setting.env_only and not entry.setting.internal
    }
    assert found == ENVIRONMENT_ONLY
    assert not any(e.setting.editable for e in REGISTRY.entries if e.setting.env_only)


def test_the_promised_flags_are_carried_by_the_promised_commands() -> None:
    found = {
        entry.path: (entry.setting.flag.short, entry.setting.flag.name, set(entry.setting.flag.on))
        for entry in REGISTRY.entries
        if entry.setting.flag
    }
    assert found == FLAGS


def test_exactly_the_promised_settings_are_secrets_with_file_twins() -> None:
    found = {entry.path for entry in REGISTRY.entries if entry.setting.secret}
    assert found == SECRETS
    twins = {entry.path for entry in REGISTRY.entries if entry.setting.file_twin}
    assert twins == SECRETS - {"environment.admin_password"}
    for path in ("api.token", "server.webhook_api_keys"):
        assert "visible in process lists" in REGISTRY.by_path[path].setting.help


def test_settings_that_depend_on_each_other_are_saved_together() -> None:
    groups: dict[str, set[str]] = {}
    for entry in REGISTRY.entries:
        if entry.setting.group:
            groups.setdefault(entry.setting.group, set()).add(entry.path)
    assert groups["schedule"] == {p for p in rows() if p.startswith("server.scan_schedule.")}
    assert groups["tls"] == {p for p in rows() if p.startswith("server.tls.")}
    assert groups["trust"] == {p for p in rows() if p.startswith("server.trusted_networks.")}
    assert {"providers.primary", "providers.fallback_order"} <= groups["providers"]
    assert {"providers.defaultprov.base_url", "providers.defaultprov.app_id"} <= groups["providers"]
    assert "api.miss_backoff_cap_hours" in groups["misses"]


def test_every_setting_has_help_and_every_section_a_description() -> None:
    for entry in REGISTRY.entries:
        assert entry.setting.help.strip().endswith("."), entry.path
    sections = [REGISTRY.root]
    for section in sections:
        assert section.__doc__
        sections += [m.section for m in vars(section).values() if hasattr(m, "section")]


def test_no_variable_means_two_things() -> None:
    owners: dict[str, set[str]] = {}
    for entry in REGISTRY.entries:
        for variable in variables(entry):
            owners.setdefault(variable, set()).add(entry.path)
            if entry.setting.file_twin:
                owners.setdefault(f"{variable}_FILE", set()).add(entry.path)
    assert {name: paths for name, paths in owners.items() if len(paths) > 1} == {}


def test_the_reference_page_mentions_every_setting() -> None:
    page = reference.markdown(REGISTRY)
    for entry in REGISTRY.entries:
        assert (f"| `{entry.key}` |" in page) is not entry.setting.internal, entry.path
        if not entry.setting.internal:
            assert all(f"`{variable}`" in page for variable in variables(entry))


def test_scripts_are_called_as_the_guard_calls_them() -> None:
    from lyrsvc.core.scripts import SCRIPT_NAMES
    from lyrsvc.settings.sections import Guard

    assert Guard.accepted_scripts.choices == tuple(SCRIPT_NAMES)


# -- one declaration: names of variables stand nowhere else -----------------------------------


def mentions(source: str, names: set[str]) -> Iterator[tuple[str, str]]:
    """Give every variable that stands in a string, with the string; docstrings do nothing."""
    tree = ast.parse(source)
    documentation = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) in documentation:
                continue
            found = names & set(_words(node.value))
            yield from ((variable, node.value) for variable in sorted(found))


def _words(text: str) -> list[str]:
    return "".join(c if c.isalnum() or c == "_" else " " for c in text).split()


def names_to_look_for() -> set[str]:
    return {
        variable
        for entry in REGISTRY.entries
        if not entry.setting.internal
        for variable in variables(entry)
    }


def test_only_declarations_hold_the_name_of_a_variable() -> None:
    found = {}
    for path in modules():
        room = name(path)
        if room.startswith("settings/") and room.endswith("sections.py"):
            continue
        for variable, text in mentions(path.read_text("utf-8"), names_to_look_for()):
            in_a_sentence = " " in text.strip()
            if not (room.startswith(MAY_NOT_KNOW_SETTINGS) and in_a_sentence):
                found.setdefault(room, set()).add(variable)
    assert found == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("x = environ['LYRSVC_DB_PATH']", ["LYRSVC_DB_PATH"]),
        ("x = f'set LYRSVC_DB_PATH={y}'", ["LYRSVC_DB_PATH"]),
        ("x = environ.get('TZ')", ["TZ"]),
        ("def f():\n    'Set TZ.'\n    return 'TZX'", []),
        ("x = 'LYRSVC_DB_PATH_OTHER'", []),
    ],
)
def test_a_mention_would_be_seen(source: str, found: list[str]) -> None:
    assert [variable for variable, _ in mentions(source, {"LYRSVC_DB_PATH", "TZ"})] == found


# -- speed ------------------------------------------------------------------------------------

LIGHT = """
import sys, time
from pathlib import Path
from lyrsvc.settings.loading import Inputs, Lanes, examine
loaded = examine(Inputs(
    environ={"HOME": "/nowhere", "LYRSVC_SERVER_ADDR": ":1", "LYRSVC_API_COOLDOWN": "3"},
    working_directory=Path("/"), user="me", env_file_flag="none",
    lanes=Lanes(("defaultprov", "lrclib", "lrclib-dump"), lambda wanted: {}),
))
assert loaded.findings == (), loaded.findings
print(*sys.modules)
"""

HEAVY = {
    *("ssl", "difflib", "json", "tomllib", "tomlkit", "zoneinfo", "hashlib"),
    *("dataclasses", "inspect", "logging", "socket", "subprocess", "tempfile", "secrets"),
    *("importlib.metadata", "argparse", "datetime", "unicodedata"),
}


def test_loading_settings_imports_nothing_heavy() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", "import sys; sys.path[:0] = " + repr(_paths()) + LIGHT],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) & HEAVY == set()


def _paths() -> list[str]:
    from source_tree import PACKAGE

    return [str(PACKAGE.parent)]


class Extra(Section):
    """One more section."""

    word = Text("", "A word.")


def test_a_setting_without_variables_of_its_own_has_the_mechanical_one() -> None:
    extended = REGISTRY.with_lanes({"extra": Extra})
    entry = extended.by_path["providers.extra.word"]
    assert variables(entry) == ("LYRSVC_PROVIDERS_EXTRA_WORD",)
