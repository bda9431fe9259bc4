"""Flag, variable, ``.env``, file, store, default: one of them wins, and says so."""

import pytest

from lyrsvc.settings.rules import work_interval_s


@pytest.mark.spec("C-01")
def test_the_strongest_source_wins_and_is_named(machine):
    ladder = [
        ({}, {}, "", 15, "default"),
        ({}, {}, "[api]\ncooldown = 16", 16, "file"),
        ({"LYRSVC_COOLDOWN": "17"}, {}, None, 17, "env:LYRSVC_COOLDOWN"),
        ({"LYRSVC_API_COOLDOWN": "18"}, {}, None, 18, "env:LYRSVC_API_COOLDOWN"),
        ({}, {"api.cooldown": "19"}, None, 19, "flag"),
    ]
    env, flags, toml = {}, {}, ""
    for more_env, more_flags, text, value, source in ladder:
        env |= more_env
        flags |= more_flags
        toml = text if text is not None else toml
        loaded = machine.examine(toml, env, flags)
        assert (loaded.settings.api.cooldown, loaded.source("api.cooldown")) == (value, source)
        assert loaded.findings == ()


@pytest.mark.spec("C-02")
@pytest.mark.seed("S-102")
def test_the_token_is_taken_from_the_first_of_its_five_places(machine):
    machine.write('[api]\ntoken = "from-the-file"\n')
    before = machine.config.read_bytes()
    env = {"PROVIDER_TOKEN": "from-provider", "LYRSVC_API_TOKEN": "from-alias"}
    flags = {"api.token": "from-the-flag"}
    stored = {"api.token": "from-the-store"}
    seen = []

    def look():
        loaded = machine.examine(None, env, flags, stored=stored)
        assert loaded.faults == ()
        seen.append((loaded.settings.api.token, loaded.source("api.token")))

    look()
    flags.clear()
    look()
    del env["PROVIDER_TOKEN"]
    look()
    env.clear()
    look()
    assert machine.config.read_bytes() == before
    machine.config.unlink()
    look()
    stored.clear()
    look()

    assert seen == [
        ("from-the-flag", "flag"),
        ("from-provider", "env:PROVIDER_TOKEN"),
        ("from-alias", "env:LYRSVC_API_TOKEN"),
        ("from-the-file", "file"),
        ("from-the-store", "store"),
        ("", "default"),
    ]


@pytest.mark.seed("S-103", "S-122")
def test_webhook_keys_come_as_a_whole_from_the_first_of_their_places(machine):
    path = "server.webhook_api_keys"
    toml = '[server]\nwebhook_api_keys = ["file-key-0123456789", "file-key-9876543210"]\n'
    env = {"LYRSVC_WEBHOOK_API_KEY": "env-key-0123456789, env-key-9876543210"}
    flags = {path: ["flag-key-0123456789,flag-key-9876543210", "flag-key-5555555555"]}
    stored = {path: "store-key-0123456789"}
    all_of_them = machine.examine(toml, env, flags, stored=stored)
    assert all_of_them.settings.server.webhook_api_keys == (
        *("flag-key-0123456789", "flag-key-9876543210", "flag-key-5555555555"),
    )
    assert machine.value(path, toml, env, stored=stored) == (
        *("env-key-0123456789", "env-key-9876543210"),
    )
    assert machine.value(path, toml, stored=stored) == (
        *("file-key-0123456789", "file-key-9876543210"),
    )
    assert machine.value(path, "", stored=stored) == ("store-key-0123456789",)
    assert machine.value(path, "") == ()


def test_a_blank_token_variable_gives_way_to_its_alias(machine):
    env = {"PROVIDER_TOKEN": "  ", "LYRSVC_API_TOKEN": " spaced \n"}
    loaded = machine.examine(None, env)
    assert loaded.settings.api.token == "spaced"
    assert loaded.source("api.token") == "env:LYRSVC_API_TOKEN"


def test_every_setting_of_the_file_answers_to_its_mechanical_name_last(machine):
    mechanical = {"LYRSVC_SERVER_TLS_SELF_SIGNED_HOSTS": "a.example"}
    assert machine.value("server.tls.self_signed_hosts", "", mechanical) == ("a.example",)
    both = {"LYRSVC_PROVIDERS_PRIMARY": "lrclib", "LYRSVC_PROVIDER_PRIMARY": "defaultprov"}
    assert machine.value("providers.primary", "", both) == "defaultprov"


def test_a_list_replaces_the_weaker_one_instead_of_joining_it(machine):
    toml = '[server]\nallowed_hosts = ["a.example", "b.example"]\n'
    env = {"LYRSVC_ALLOWED_HOSTS": "c.example"}
    assert machine.value("server.allowed_hosts", toml, env) == ("c.example",)


def test_a_list_variable_is_trimmed_and_loses_blanks_and_repetitions(machine):
    env = {"LYRSVC_ALLOWED_HOSTS": " b.example ,, a.example,b.example, ,a.example"}
    assert machine.value("server.allowed_hosts", "", env) == ("b.example", "a.example")


def test_a_comma_alone_is_an_empty_list_and_a_blank_one_is_absent(machine):
    toml = '[server]\nallowed_hosts = ["a.example"]\n'
    assert machine.value("server.allowed_hosts", toml, {"LYRSVC_ALLOWED_HOSTS": ","}) == ()
    assert machine.value("server.allowed_hosts", toml, {"LYRSVC_ALLOWED_HOSTS": " "}) == (
        "a.example",
    )


def test_a_blank_flag_counts_as_absent(machine):
    env = {"PROVIDER_TOKEN": "abcdef"}
    loaded = machine.examine(None, env, {"api.token": " ", "server.webhook_api_keys": [""]})
    assert loaded.settings.api.token == "abcdef"
    assert loaded.source("server.webhook_api_keys") == "default"


def test_a_flag_of_two_words_turns_a_switch_on_and_off(machine):
    toml = "[server]\nweb_ui_enabled = true\n"
    assert machine.value("server.web_ui_enabled", toml, {}, {"server.web_ui_enabled": False}) is (
        False
    )
    assert machine.value("server.web_ui_enabled", "", {}, {"server.web_ui_enabled": True}) is True


@pytest.mark.seed("S-035")
def test_the_worker_poll_interval_follows_flag_variable_file_and_the_cooldown(machine):
    path = "server.work_interval_seconds"
    toml = "[server]\nwork_interval_seconds = 40\n[api]\ncooldown = 90\n"
    env = {"LYRSVC_WORK_INTERVAL": "30"}

    def interval(toml, env=None, flags=None):
        return work_interval_s(machine.examine(toml, env, flags).settings)

    assert interval(toml, env, {path: "3"}) == 3
    assert interval(toml, env) == 30
    assert interval(toml) == 40
    assert interval("[api]\ncooldown = 90\n") == 90
    assert interval("[api]\ncooldown = 2\n") == 15
    assert interval("") == 15


@pytest.mark.seed("S-036")
@pytest.mark.spec("C-22")
def test_the_watcher_is_off_and_listens_to_its_variables_alone(machine):
    watcher = machine.examine("").settings.watcher
    assert (watcher.enabled, watcher.debounce_ms, watcher.max_dirs) == (False, 2000, 100000)
    env = {
        "LYRSVCGO_WATCH_ENABLED": "yes",
        "LYRSVCGO_WATCH_DEBOUNCE_MS": "500",
        "LYRSVCGO_WATCH_MAX_DIRS": "7",
    }
    watcher = machine.examine("", env).settings.watcher
    assert (watcher.enabled, watcher.debounce_ms, watcher.max_dirs) == (True, 500, 7)

    loaded = machine.examine("[watcher]\nenabled = true\ndebounce = 3\n")
    assert loaded.settings.watcher.enabled is False
    assert loaded.faults == ()
    assert [("LYRSVCGO_WATCH_ENABLED" in text) for text in loaded.warnings] == [True, True]


@pytest.mark.parametrize("toml", ["[watcher]\n", "watcher = true\n", "[[watcher]]\nenabled=true"])
def test_any_watcher_key_in_the_file_is_warned_about_with_the_variables(machine, toml):
    loaded = machine.examine(toml)
    assert loaded.faults == ()
    [text] = loaded.warnings
    assert "LYRSVCGO_WATCH_ENABLED" in text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("LYRSVCGO_WATCH_ENABLED", "perhaps"),
        ("LYRSVCGO_WATCH_DEBOUNCE_MS", "soon"),
        ("LYRSVCGO_WATCH_MAX_DIRS", "many"),
        ("LYRSVCGO_WATCH_MAX_DIRS", "0"),
    ],
)
def test_a_watcher_variable_that_makes_no_sense_is_fatal(machine, name, text):
    [fault] = machine.examine("", {name: text}).faults
    assert fault.startswith(f"{name}: must be")


@pytest.mark.seed("S-067")
def test_enrichment_is_on_and_detection_off_until_file_or_variable_say_otherwise(machine):
    def both(toml="", env=None):
        settings = machine.examine(toml, env).settings
        return settings.enrichment.enabled, settings.instrumental_detector.enabled

    toml = "[enrichment]\nenabled = false\n[instrumental_detector]\nenabled = true\n"
    env = {
        "LYRSVC_ENRICHMENT_ENABLED": "true",
        "LYRSVC_INSTRUMENTAL_DETECTOR_ENABLED": "false",
    }
    assert both() == (True, False)
    assert both(toml) == (False, True)
    assert both(toml, env) == (True, False)


@pytest.mark.seed("S-087")
def test_the_pages_are_off_and_the_variable_overrides_the_file(machine):
    path = "server.web_ui_enabled"
    on = "[server]\nweb_ui_enabled = true\n"
    assert machine.value(path, "") is False
    assert machine.value(path, on) is True
    assert machine.value(path, on, {"LYRSVC_WEB_UI_ENABLED": "off"}) is False
    assert machine.value(path, "", {"LYRSVC_WEB_UI_ENABLED": "1"}) is True


@pytest.mark.seed("S-118")
def test_log_level_and_format_have_their_variables(machine):
    env = {"LYRSVC_LOG_LEVEL": "warning", "LYRSVC_LOG_FORMAT": "JSON"}
    logging = machine.examine("", env).settings.logging
    assert (logging.level, logging.format) == ("warn", "json")
    assert machine.value("logging.level", '[logging]\nlevel = "INFO"\n') == "info"


@pytest.mark.seed("S-127")
def test_the_database_variable_sets_the_location(machine):
    loaded = machine.examine("", {"LYRSVC_DB_PATH": "/srv/state/x.db"})
    assert str(loaded.settings.db.path) == "/srv/state/x.db"
    assert str(loaded.settings.secrets.key_file) == "/srv/state/.lyrsvcgo.key"
    assert str(loaded.settings.output.dir) == "/srv/state/lyrics"


class TestLocked:
    def test_a_flag_or_variable_locks_and_is_named(self, machine):
        env = {"LYRSVC_LOG_LEVEL": "debug", "PROVIDER_TOKEN_FILE": "/no/such/file"}
        loaded = machine.examine("", env, {"server.addr": "127.0.0.1:0"})
        assert loaded.locked_by("server.addr") == "--listen"
        assert loaded.locked_by("logging.level") == "LYRSVC_LOG_LEVEL"
        assert loaded.locked_by("api.token") == "PROVIDER_TOKEN_FILE"
        assert loaded.locked_by("api.cooldown") is None
        assert loaded.locked("server.addr") is True
        assert loaded.locked("api.cooldown") is False

    def test_a_rejected_variable_locks_all_the_same(self, machine):
        loaded = machine.examine("", {"LYRSVC_API_COOLDOWN": "soon"})
        assert loaded.source("api.cooldown") == "default"
        assert loaded.locked_by("api.cooldown") == "LYRSVC_API_COOLDOWN"

    def test_a_variable_of_the_env_file_locks_and_a_blank_one_does_not(self, machine):
        (machine.cwd / ".env").write_text("LYRSVC_SCAN_DEPTH=3\nLYRSVC_API_COOLDOWN=\n")
        loaded = machine.examine("")
        assert loaded.locked_by("scan.depth") == "LYRSVC_SCAN_DEPTH"
        assert loaded.locked_by("api.cooldown") is None


def test_loaded_settings_cannot_be_changed(machine):
    settings = machine.examine("").settings
    with pytest.raises(AttributeError, match="read once"):
        settings.api.cooldown = 3


def test_secrets_are_listed_for_the_redactor_and_passwords_in_urls_too(machine):
    toml = '[providers.lrclib]\nbase_url = "https://me:hunter22@mirror.example"\n'
    env = {
        "PROVIDER_TOKEN": "token-value",
        "LYRSVC_WEBHOOK_API_KEY": "key-number-one-123,key-number-two-456",
        "LYRSVC_WEBAUTH_ADMIN_PASSWORD": " spaces kept ",
    }
    assert set(machine.examine(toml, env).secrets()) == {
        "token-value",
        "key-number-one-123",
        "key-number-two-456",
        " spaces kept ",
        "me:hunter22",
        "hunter22",
    }
