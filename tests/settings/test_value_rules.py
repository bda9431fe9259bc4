"""Absent or zero, must and clamp, types, unknown names, and every fault at once."""

import pytest

from lyrsvc.core.errors import ConfigError, UsageError
from lyrsvc.settings.loading import load


@pytest.mark.spec("C-07")
def test_a_value_out_of_range_is_moved_and_told_and_zero_and_false_are_kept(machine):
    loaded = machine.examine(
        "[api]\ncooldown = -5\nmax_miss_attempts = 0\n[logging]\ncompress = false\n"
    )
    assert loaded.settings.api.cooldown == 0
    assert loaded.settings.api.max_miss_attempts == 0
    assert loaded.settings.logging.compress is False
    assert loaded.faults == ()
    [text] = loaded.warnings
    assert text == f"api.cooldown in {machine.config}: -5 is outside 0..86400; 0 is used"


@pytest.mark.parametrize(
    ("toml", "env", "flags", "text"),
    [
        (
            "",
            {"LYRSVC_COOLDOWN": "99999999999999999999999999"},
            {},
            "api.cooldown from LYRSVC_COOLDOWN: 9223372036854775807 is outside 0..86400; "
            "86400 is used",
        ),
        (
            "",
            {},
            {"scan.depth": "2000"},
            "scan.depth from --depth: 2000 is outside 0..1000; 1000 is used",
        ),
        (
            "",
            {"LYRSVC_MAX_BODY_BYTES": "1"},
            {},
            "server.max_body_bytes from LYRSVC_MAX_BODY_BYTES: 1 is outside 65536..16777216; "
            "65536 is used",
        ),
        (
            "",
            {"LYRSVCGO_WATCH_DEBOUNCE_MS": "5"},
            {},
            "LYRSVCGO_WATCH_DEBOUNCE_MS: 5 is outside 100..600000; 100 is used",
        ),
        (
            "",
            {"LYRSVC_GUARD_THRESHOLD": "1.5"},
            {},
            "guard.script_guard_threshold from LYRSVC_GUARD_THRESHOLD: 1.5 is outside 0.01..1; "
            "1 is used",
        ),
    ],
)
def test_a_moved_value_names_setting_source_and_both_values(machine, toml, env, flags, text):
    loaded = machine.examine(toml, env, flags)
    assert loaded.warnings == (text,)
    assert loaded.faults == ()


def test_huge_numbers_of_a_file_are_moved_like_any_other(machine):
    loaded = machine.examine(
        f"[api]\ncooldown = {'9' * 400}\n[scan]\ndepth = 0x{'f' * 5000}\n"
        f"[providers.lrclib]\ncooldown_seconds = {'9' * 400}\n"
    )
    assert loaded.faults == ()
    assert loaded.settings.api.cooldown == 86400
    assert loaded.settings.scan.depth == 1000
    assert loaded.settings.providers.lrclib.cooldown_seconds == 3600
    assert len(loaded.warnings) == 3


@pytest.mark.parametrize("text", ["inf", "-inf", "nan", "1e999"])
def test_a_number_that_is_none_is_a_fault(machine, text):
    [fault] = machine.examine(f"[realign]\nmin_margin = {text}\n").faults
    assert "must be a finite number" in fault


def test_numbers_may_be_written_as_toml_allows(machine):
    for written in ("1_000", "0x3e8", "0o1750", "0b1111101000", "+1000"):
        assert machine.value("api.cooldown", f"[api]\ncooldown = {written}\n") == 1000
    assert machine.value("api.cooldown", "", {"LYRSVC_API_COOLDOWN": " +5 "}) == 5


@pytest.mark.parametrize("text", ["1_000", "0x10", "5s", "1.5", "", "１５", "--5", "9" * 1000])
def test_a_safe_variable_that_is_no_number_gives_way_to_the_file_with_a_warning(machine, text):
    loaded = machine.examine("[api]\ncooldown = 33\n", {"LYRSVC_API_COOLDOWN": text})
    assert loaded.settings.api.cooldown == 33
    assert loaded.source("api.cooldown") == "file"
    assert loaded.faults == ()
    if text:
        [warning] = loaded.warnings
        assert warning.startswith("api.cooldown from LYRSVC_API_COOLDOWN: must be a whole number")
        assert warning.endswith("; the variable is not used")
        assert len(warning) < 200


def test_a_safe_variable_gives_way_to_its_own_alias_first(machine):
    env = {"LYRSVC_API_COOLDOWN": "x", "LYRSVC_COOLDOWN": "8"}
    loaded = machine.examine("[api]\ncooldown = 33\n", env)
    assert loaded.settings.api.cooldown == 8
    assert len(loaded.warnings) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("LYRSVC_SERVER_ADDR", "nowhere"),
        ("LYRSVC_TRUSTED_CIDRS", "10.0.0.0/8,500.1.1.1"),
        ("LYRSVC_SCAN_SCHEDULE", "fortnightly"),
        ("LYRSVC_SCAN_SCHEDULE_AT", "7:30"),
        ("LYRSVC_WEB_UI_ENABLED", "maybe"),
        ("LYRSVC_PATH_MAPPINGS", "/a"),
        ("LYRSVC_DOCKER", "perhaps"),
        ("LYRSVC_ALLOWED_HOSTS", "a b"),
        ("LYRSVC_DEFAULTPROV_APP_ID", "with blank"),
    ],
)
def test_a_caution_or_critical_variable_that_does_not_fit_is_fatal(machine, name, text):
    loaded = machine.examine("", {name: text})
    [fault] = loaded.faults
    assert name in fault
    assert "must be" in fault


def test_a_flag_that_does_not_fit_is_a_usage_error(machine):
    with pytest.raises(UsageError, match=r"api\.cooldown from --cooldown: must be a whole number"):
        load(machine.inputs({}, {"api.cooldown": "soon"}))


@pytest.mark.spec("C-06")
def test_every_fault_is_told_in_one_run(machine):
    machine.write(
        '[api]\ncooldown = "fast"\n'
        '[output]\nword_timing = "sometimes"\n'
        '[server.trusted_networks]\ncidrs = ["10.0.0.0/8", "300.1.1.1/8"]\n'
        "[logging]\nlevel = 3\n"
    )
    with pytest.raises(ConfigError) as caught:
        load(machine.inputs({}, {"scan.depth": "deep"}))
    faults = caught.value.faults
    assert len(faults) == 5
    for name in (
        *("api.cooldown", "output.word_timing", "server.trusted_networks.cidrs"),
        *("logging.level", "--depth"),
    ):
        assert sum(name in fault for fault in faults) == 1


@pytest.mark.parametrize(
    ("toml", "text"),
    [
        ("[api]\ncooldown = '15'", "api.cooldown in {}: wanted a whole number, found a string"),
        ("[api]\ncooldown = 15.0", "api.cooldown in {}: wanted a whole number, found a number"),
        (
            "[api]\ncooldown = true",
            "api.cooldown in {}: wanted a whole number, found true or false",
        ),
        ("[api.cooldown]\nx = 1", "api.cooldown in {}: wanted a whole number, found a table"),
        ("[enrichment]\nenabled = 1", "enrichment.enabled in {}: wanted true or false, found"),
        ("[enrichment]\nenabled = 'true'", "enrichment.enabled in {}: wanted true or false, found"),
        ("[api]\ntoken = 12345678", "api.token in {}: wanted a string, found a whole number"),
        ("[api]\ntoken = ['x']", "api.token in {}: wanted a string, found a list"),
        ("[server]\nallowed_hosts = 'a'", "server.allowed_hosts in {}: wanted a list of strings"),
        ("[server]\nallowed_hosts = [1]", "server.allowed_hosts in {}: wanted a list of strings"),
        (
            "[server.scan_schedule]\nat = 07:30:00",
            "server.scan_schedule.at in {}: wanted a string, found a date or time",
        ),
        ("[server.path_mappings]\nfrom = 'a'", "server.path_mappings in {}: wanted a list of tab"),
        ("api = 5", "api in {}: wanted a table, found a whole number"),
        ("server.tls = 'on'", "server.tls in {}: wanted a table, found a string"),
        ("[[api]]\ncooldown = 5", "api in {}: wanted a table, found a list"),
        ("api = ''", "api in {}: wanted a table, found a string"),
        ("[db]\npath = 3", "db.path in {}: wanted a string, found a whole number"),
    ],
)
def test_a_value_of_the_wrong_type_is_fatal_and_names_both_types(machine, toml, text):
    [fault] = machine.examine(toml).faults
    assert fault.startswith(text.format(machine.config))


@pytest.mark.parametrize(
    "toml",
    [
        "[api]\ncooldown = 20\n",
        "api.cooldown = 20\n",
        "api = { cooldown = 20 }\n",
        '["api"]\n"cooldown" = 20\n',
        "[api]\r\ncooldown = 20\r\n",
        "\ufeff[api]\ncooldown = 20",
        "[unknown_before]\n[api]\ncooldown = 20\n",
    ],
)
def test_a_setting_may_be_written_in_any_toml_form(machine, toml):
    assert machine.value("api.cooldown", toml) == 20


class TestBlankOrAbsent:
    def test_a_blank_text_counts_as_absent(self, machine):
        toml = (
            '[logging]\nlevel = ""\nfile = " "\n[server]\ninstance_name = ""\naddr = ""\n'
            '[server.scan_schedule]\nfrequency = ""\nat = ""\nday = " "\n'
            '[instrumental_detector]\nclassifier_url = ""\nffmpeg_path = ""\n[db]\npath = ""\n'
        )
        loaded = machine.examine(toml)
        assert loaded.findings == ()
        assert set(loaded.resolution.sources.values()) == {"default"}
        assert loaded.settings.instrumental_detector.ffmpeg_path is None

    def test_an_empty_list_is_kept_except_where_it_means_the_default(self, machine):
        loaded = machine.examine(
            "[realign]\nidentity_keys = []\n"
            "[instrumental_detector]\ninstrumental_classes = []\nvocal_classes = []\n"
        )
        assert loaded.findings == ()
        assert loaded.settings.realign.identity_keys == ()
        assert loaded.source("realign.identity_keys") == "file"
        detector = loaded.settings.instrumental_detector
        assert detector.instrumental_classes == ("Music", "Musical instrument")
        assert detector.vocal_classes == ()
        assert loaded.source("instrumental_detector.instrumental_classes") == "default"


class TestSyntax:
    def test_an_error_names_line_and_column(self, machine):
        [fault] = machine.examine("[api]\ncooldown = 5\ntoken = x\n").faults
        assert fault.startswith(f"{machine.config}: ")
        assert "(at line 3, column 9)" in fault

    def test_an_error_at_the_end_names_line_and_column_too(self, machine):
        for toml in ("[api]\ncooldown =", "[api]\r\nx = [1,\r\n", "[api]\ntoken = '''x"):
            [fault] = machine.examine(toml).faults
            assert "line " in fault
            assert "column " in fault
        [fault] = machine.examine("[api]\ncooldown = [1,").faults
        assert "(at line 2, column 15)" in fault

    @pytest.mark.parametrize(
        "toml",
        [
            f"x = {'1' * 5000}\n",
            f"x = {'[' * 5000}{']' * 5000}\n",
            "x = '\x00'\n",
            "[api]\ncooldown = 1\ncooldown = 2\n",
            "a\rb = 1",
        ],
    )
    def test_no_text_brings_the_loader_down(self, machine, toml):
        [fault] = machine.examine(toml).faults
        assert str(machine.config) in fault

    def test_a_broken_file_is_told_together_with_other_faults(self, machine):
        loaded = machine.examine("[[[\n", {"LYRSVC_SERVER_ADDR": "nowhere"})
        assert len(loaded.faults) == 2

    def test_a_file_that_is_no_text_is_fatal(self, machine):
        machine.config.write_bytes(b"\xff\xfe[api]")
        [fault] = machine.examine().faults
        assert fault == f"cannot read {machine.config}: not UTF-8 text; save it as UTF-8"

    def test_a_directory_in_its_place_is_fatal(self, machine):
        machine.config.mkdir()
        [fault] = machine.examine().faults
        assert fault.endswith("Is a directory; name another file with --config")


class TestUnknownNames:
    @pytest.mark.spec("C-05")
    def test_unknown_keys_and_variables_are_told_with_the_nearest_name(self, machine):
        loaded = machine.examine(
            '[servr]\naddr = ":1"\n[api]\ncooldwn = 3\n', {"LYRSVC_API_COOLDWN": "3"}
        )
        assert loaded.faults == ()
        assert loaded.warnings == (
            f'unknown setting "servr" in {machine.config}; did you mean "server"?',
            f'unknown setting "api.cooldwn" in {machine.config}; did you mean "api.cooldown"?',
            'unknown variable "LYRSVC_API_COOLDWN"; did you mean "LYRSVC_API_COOLDOWN"?',
        )

    @pytest.mark.parametrize(
        ("toml", "meant"),
        [
            ("cooldown = 3", "api.cooldown"),
            ("[server]\ncooldown = 3", "api.cooldown"),
            ("[logs]\nlevel = 'info'", "logging.level"),
            ("level = 'info'", "logging.level"),
            ("[detector]\nclassifier_url = 'http://x'", "instrumental_detector"),
            ("[API]\nCooldown = 3", "api"),
            ("[server]\nschedule = 'daily'", "server.scan_schedule"),
            ("[server.scan_schedule]\ntime = '07:00'", "server.scan_schedule"),
            ("[server.tls]\ncert = 'x'", "server.tls.cert_file"),
            ("[providers]\nfallback = []", "providers.fallback_order"),
            ("[providers.lrclib]\nurl = 'x'", "providers.lrclib.base_url"),
            ("[server]\nwebhook_api_key = 'x'", "server.webhook_api_keys"),
            ("'api.cooldown' = 3", "api.cooldown"),
            ("[providers.lrclib-dump]\npath = 'x'", "providers.lrclib_dump"),
        ],
    )
    def test_the_nearest_name_is_found_by_spelling_or_by_its_last_part(self, machine, toml, meant):
        loaded = machine.examine(toml)
        assert loaded.faults == ()
        [text] = loaded.warnings
        assert f'did you mean "{meant}' in text

    @pytest.mark.parametrize(
        ("name", "meant"),
        [
            ("LYRSVC_WEBHOOK_API_KEYS", "LYRSVC_WEBHOOK_API_KEY"),
            ("LYRSVC_WATCH_ENABLED", "LYRSVCGO_WATCH_ENABLED"),
            ("LYRSVCGO_WATCH_DEBOUNCE", "LYRSVCGO_WATCH_DEBOUNCE_MS"),
            ("LYRSVC_api_cooldown", "LYRSVC_API_COOLDOWN"),
            ("LYRSVC_MASTER_KEYFILE", "LYRSVC_MASTER_KEY_FILE"),
            ("LYRSVC_LOGLEVEL", "LYRSVC_LOG_LEVEL"),
        ],
    )
    def test_the_nearest_variable_is_found(self, machine, name, meant):
        [text] = machine.examine("", {name: "1"}).warnings
        assert text == f'unknown variable "{name}"; did you mean "{meant}"?'

    def test_a_name_like_nothing_gets_no_advice(self, machine):
        loaded = machine.examine("zzz = 1\n", {"LYRSVC_QQQQQQQQ": "1"})
        assert [text.count("did you mean") for text in loaded.warnings] == [0, 0]

    def test_blank_and_foreign_variables_are_nobodys_business(self, machine):
        assert machine.examine("", {"LYRSVC_TYPO": "", "OTHER_TYPO": "1"}).findings == ()

    def test_variables_of_the_completion_scripts_are_known(self, machine):
        env = {"LYRSVC_COMPLETE_SHELL": "zsh", "LYRSVC_COMPLETE_DESCRIPTIONS": "1"}
        assert machine.examine("", env).findings == ()


class TestPaths:
    def test_a_relative_path_starts_at_its_source(self, machine):
        detector = machine.examine("[instrumental_detector]\nffmpeg_path = 'bin/ffmpeg'\n")
        assert detector.settings.instrumental_detector.ffmpeg_path == (
            machine.config.parent / "bin" / "ffmpeg"
        )
        env = {"LYRSVC_INSTRUMENTAL_DETECTOR_FFMPEG_PATH": "bin/ffmpeg"}
        detector = machine.examine("", env).settings.instrumental_detector
        assert detector.ffmpeg_path == machine.cwd / "bin" / "ffmpeg"
        loaded = machine.examine("", {}, {"db.path": "state/x.db"})
        assert loaded.settings.db.path == machine.cwd / "state" / "x.db"

    def test_a_tilde_is_the_home(self, machine):
        assert machine.value("logging.file", "[logging]\nfile = '~/x.log'\n") == (
            machine.home / "x.log"
        )
        assert machine.value("logging.file", "", {"LYRSVC_LOG_FILE": "~"}) == machine.home

    def test_a_tilde_without_a_home_is_told(self, machine):
        machine.environ = {"LYRSVC_DB_PATH": "/x/y.db"}
        loaded = machine.examine(None, {"LYRSVC_OUTPUT_DIR": "~/x"})
        [fault] = loaded.faults
        assert "no home directory" in fault


class TestUrls:
    @pytest.mark.parametrize(
        "url",
        [
            "https://mirror.example",
            "https://mirror.example/",
            "http://127.0.0.1:8000",
            "http://localhost:1/x/y",
            "http://[::1]:8000",
            "HTTPS://Mirror.Example:443/base",
            "https://user:pass@mirror.example",
        ],
    )
    def test_these_are_addresses(self, machine, url):
        env = {"LYRSVC_DEFAULTPROV_BASE_URL": url, "LYRSVC_LRCLIB_BASE_URL": url}
        loaded = machine.examine("", env)
        assert loaded.findings == ()
        assert loaded.settings.providers.defaultprov.base_url == url.rstrip("/")

    @pytest.mark.parametrize(
        "url",
        [
            "mirror.example",
            "ftp://mirror.example",
            "https://",
            "https:///x",
            "https://a b",
            "https://x:99999",
            "https://x:0",
            "https://x?q=1",
            "https://x#f",
            "https://[::::]",
            "https://[::1",
            "https://a\\b",
            "https://a\x00b",
            "file:///etc/passwd",
        ],
    )
    def test_these_are_not(self, machine, url):
        from lyrsvc.settings.toml_values import toml_value

        loaded = machine.examine(f"[providers.lrclib]\nbase_url = {toml_value(url)}\n")
        [fault] = loaded.faults
        assert "must be an http or https URL with a host and without ? or #" in fault

    @pytest.mark.parametrize(
        "url",
        [
            "http://mirror.example",
            "http://127.0.0.999",
            "http://127.0.0.1.evil.example",
            "http://localhost.evil.example",
            "http://x.localhost",
            "http://10.0.0.1",
            "http://localhost@evil.example",
            "http://[::2]",
        ],
    )
    def test_a_token_never_travels_in_clear_beyond_loopback(self, machine, url):
        [fault] = machine.examine("", {"LYRSVC_DEFAULTPROV_BASE_URL": url}).faults
        assert "https URL" in fault

    def test_the_open_catalogue_in_clear_is_a_warning(self, machine):
        loaded = machine.examine("", {"LYRSVC_LRCLIB_BASE_URL": "http://mirror.example"})
        assert loaded.faults == ()
        [text] = loaded.warnings
        assert "use https" in text

    @pytest.mark.parametrize(
        "url",
        [
            "https://me:hunter22@mirror.example?x",
            "https://me:hunt@er22@mirror.example/?",
            "https://me:hunter22/@mirror.example",
            "me:hunter22@mirror.example",
            "https:/me:hunter22@mirror.example",
        ],
    )
    def test_a_refused_address_never_shows_its_password(self, machine, url):
        loaded = machine.examine(f"[providers.lrclib]\nbase_url = '{url}'\n")
        [fault] = loaded.faults
        assert "er22" not in fault
        assert "[REDACTED]@mirror.example" in fault

    def test_no_pause_at_all_is_for_loopback_catalogues_only(self, machine):
        path = "providers.lrclib.cooldown_seconds"
        local = '[providers.lrclib]\nbase_url = "http://127.0.0.1:1"\ncooldown_seconds = '
        assert machine.value(path, local + "0\n") == 0
        assert machine.value(path, local + "0.1\n") == 0.2
        assert machine.value(path, "[providers.lrclib]\ncooldown_seconds = 0\n") == 0.2


class TestAddresses:
    @pytest.mark.parametrize(
        "text",
        ["127.0.0.1:3876", ":50705", "[::]:80", "[::1]:0", "[fe80::1%eth0]:1", "my_host:65535"],
    )
    def test_listen_addresses(self, machine, text):
        assert machine.value("server.addr", f"[server]\naddr = '{text}'\n") == text

    @pytest.mark.parametrize(
        "text",
        [
            *("3876", "host", "host:", "host:65536", "::1:80", "[::1]", "[zz]:80", "a/b:80"),
            *("999.1.1.1:80", "300:80", "host:8o", "-x:80", "a b:80", "[::1:80", "host:+1"),
        ],
    )
    def test_what_is_none(self, machine, text):
        [fault] = machine.examine(f"[server]\naddr = '{text}'\n").faults
        assert "must be host:port" in fault

    def test_networks_are_normalised_and_a_bare_address_is_a_network_of_one(self, machine):
        env = {"LYRSVC_TRUSTED_CIDRS": "192.168.1.7/24, 10.0.0.1,::1 ,FE80::/10,10.0.0.1/32"}
        assert machine.value("server.trusted_networks.cidrs", "", env) == (
            *("192.168.1.0/24", "10.0.0.1/32", "::1/128", "fe80::/10"),
        )

    @pytest.mark.parametrize(
        "text", ["10.0.0.0/33", "10.0.0", "x", "10", "fe80::1%eth0", "1.2.3.4/"]
    )
    def test_what_is_no_network(self, machine, text):
        toml = f"[server.trusted_networks]\ntrusted_proxies = ['{text}']\n"
        [fault] = machine.examine(toml).faults
        assert "server.trusted_networks.trusted_proxies" in fault
        assert f'"{text}"' in fault

    def test_hosts_are_names_or_addresses(self, machine):
        good = ["a", "a.example", "A-1.example.", "10.0.0.1", "::1", "[::1]", "x" * 63]
        toml = f"[server]\nallowed_hosts = {good}\n"
        assert machine.value("server.allowed_hosts", toml) == tuple(good)

    @pytest.mark.parametrize(
        "host",
        ["a b", "-a", "a-", "a..b", "a:80", "999.1.1.1", "*.example", "x" * 64, "a" * 40 + "!"],
    )
    def test_what_is_no_host(self, machine, host):
        toml = f"[server.tls]\nself_signed_hosts = ['{host}']\n"
        [fault] = machine.examine(toml).faults
        assert "must be host names or IP addresses" in fault


class TestPathMappings:
    TABLES = (
        "[[server.path_mappings]]\nfrom = '/music'\nto = '/data/music'\n"
        "[[server.path_mappings]]\nfrom = 'D:\\Music'\nto = '/data/d'\n"
    )

    def test_they_are_tables_in_the_file_and_pairs_in_the_variable(self, machine):
        path = "server.path_mappings"
        wanted = (("/music", "/data/music"), ("D:\\Music", "/data/d"))
        assert machine.value(path, self.TABLES) == wanted
        inline = (
            "[server]\npath_mappings = [{from = '/music', to = '/data/music'},"
            "{from = 'D:\\Music', to = '/data/d'}]\n"
        )
        assert machine.value(path, inline) == wanted
        env = {"LYRSVC_PATH_MAPPINGS": "/music=/data/music, D:\\Music = /data/d,"}
        assert machine.value(path, "", env) == wanted

    @pytest.mark.parametrize(
        "toml",
        [
            "[[server.path_mappings]]\nfrom = '/a'\n",
            "[[server.path_mappings]]\nfrom = '/a'\nto = '/b'\nmore = 1\n",
            "[[server.path_mappings]]\nfrom = '/a'\nto = 3\n",
            "[[server.path_mappings]]\nfrom = '/a'\nto = 'relative'\n",
            "[[server.path_mappings]]\nfrom = ' '\nto = '/b'\n",
            "[server]\npath_mappings = [{from='/a', to='/b'}, {from='/a/', to='/c'}]\n",
            "[server]\npath_mappings = ['/a=/b']\n",
        ],
    )
    def test_halves_relative_targets_and_repetitions_are_refused(self, machine, toml):
        [fault] = machine.examine(toml).faults
        assert "server.path_mappings" in fault


@pytest.mark.parametrize(
    ("toml", "path", "wish"),
    [
        ("[output]\ntranslation_language = 'EN'", "output.translation_language", "two-letter"),
        ("[output]\ntranslation_language = 'eng'", "output.translation_language", "two-letter"),
        ("[server]\nbase_path = 'x'", "server.base_path", "/name"),
        ("[server]\nbase_path = '/x/'", "server.base_path", "/name"),
        ("[server]\nbase_path = '/'", "server.base_path", "/name"),
        ("[server]\nbase_path = '/x/../y'", "server.base_path", "/name"),
        ("[server]\nbase_path = '/x y'", "server.base_path", "/name"),
        (f"[server]\ninstance_name = '{'x' * 65}'", "server.instance_name", "64 printable"),
        ('[server]\ninstance_name = "a\\u0007b"', "server.instance_name", "64 printable"),
        ("[server.scan_schedule]\nat = '24:00'", "server.scan_schedule.at", "HH:MM"),
        ("[server.scan_schedule]\nat = '7:30'", "server.scan_schedule.at", "HH:MM"),
        ("[server.scan_schedule]\nat = '０7:30'", "server.scan_schedule.at", "HH:MM"),
        ("[server.scan_schedule]\nday = 'Mon'", "server.scan_schedule.day", "monday"),
        ("[guard]\naccepted_scripts = ['Latn']", "guard.accepted_scripts", "Latin, Han, Kana"),
        ("[realign]\nidentity_keys = ['mbid', 'upc']", "realign.identity_keys", "mbid, isrc"),
        ("[logging]\nformat = 'xml'", "logging.format", "text, json"),
        (
            "[server.trusted_networks]\nui_access = 'all'",
            "server.trusted_networks.ui_access",
            "off",
        ),
        ("[providers.defaultprov]\napp_id = 'a b'", "providers.defaultprov.app_id", "1 to 64"),
    ],
)
def test_a_must_of_the_file_is_fatal_and_says_what_is_wanted(machine, toml, path, wish):
    [fault] = machine.examine(toml + "\n").faults
    assert fault.startswith(f"{path} in {machine.config}: must be ")
    assert wish in fault


@pytest.mark.parametrize(
    ("toml", "path", "value"),
    [
        ("[server]\nbase_path = '/a/b-c_d.e~f'", "server.base_path", "/a/b-c_d.e~f"),
        ("[server.scan_schedule]\nday = 'SunDay'", "server.scan_schedule.day", "sunday"),
        ("[guard]\naccepted_scripts = ['cyrillic', 'LATIN']", "guard.accepted_scripts", ("Cyrillic", "Latin")),
        ("[realign]\nidentity_keys = ['ISRC']", "realign.identity_keys", ("isrc",)),
        ("[server]\ninstance_name = ' Müsik '", "server.instance_name", "Müsik"),
    ],
)  # fmt: skip
def test_what_is_allowed_is_taken(machine, toml, path, value):
    assert machine.value(path, toml + "\n") == value


def test_bounds_that_follow_from_other_settings_follow_them(machine):
    loaded = machine.examine(
        "[api]\ncircuit_open_duration = 400\ncircuit_backoff_base_seconds = 500\n"
        "miss_backoff_base_hours = 200\nmiss_backoff_cap_hours = 100\n"
    )
    assert loaded.settings.api.circuit_backoff_base_seconds == 400
    assert loaded.settings.api.miss_backoff_cap_hours == 200
    assert any("500 is outside 15..400; 400 is used" in text for text in loaded.warnings)
    assert any("100 is outside 200..87600; 200 is used" in text for text in loaded.warnings)
    assert machine.value("api.miss_backoff_cap_hours", "[api]\nmiss_backoff_base_hours = 9\n") == 9


@pytest.mark.parametrize("word", ["true", "1", "YES", "On", "t", " True "])
def test_words_for_on(machine, word):
    env = {"LYRSVC_BILINGUAL_OUTPUT": word}
    assert machine.value("output.bilingual_output", "", env) is True


@pytest.mark.parametrize("word", ["false", "0", "NO", "Off", "f"])
def test_words_for_off(machine, word):
    env = {"LYRSVC_ENRICHMENT_ENABLED": word}
    assert machine.value("enrichment.enabled", "", env) is False
