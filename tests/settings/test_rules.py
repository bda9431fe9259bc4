"""Rules about several settings, and about the files they name."""

from datetime import UTC, datetime, timedelta

import pytest

from lyrsvc.core.schedule import plan_text
from lyrsvc.settings.rules import missing_of_schedule
from lyrsvc.surveying import scan_plan


class TestSchedule:
    @pytest.mark.parametrize(
        ("frequency", "at", "day", "missing"),
        [
            ("", "", "", ()),
            ("off", "", "", ()),
            ("hourly", "", "", ()),
            ("daily", "", "", ("at (HH:MM)",)),
            ("daily", "07:30", "", ()),
            ("weekly", "", "", ("at (HH:MM)", "day (weekday name)")),
            ("weekly", "07:30", "", ("day (weekday name)",)),
            ("weekly", "", "friday", ("at (HH:MM)",)),
            ("weekly", "07:30", "Friday", ()),
        ],
    )
    def test_daily_needs_a_time_and_weekly_a_day_too(self, machine, frequency, at, day, missing):
        loaded = machine.examine(
            f"[server.scan_schedule]\nfrequency = '{frequency}'\nat = '{at}'\nday = '{day}'\n"
        )
        assert missing_of_schedule(loaded.settings.server.scan_schedule) == missing
        assert len(loaded.faults) == bool(missing)
        assert all(name in loaded.faults[0] for name in missing)

    def test_parts_may_come_from_different_sources(self, machine):
        env = {"LYRSVC_SCAN_SCHEDULE_AT": "04:00"}
        loaded = machine.examine("[server.scan_schedule]\nfrequency = 'daily'\n", env)
        assert loaded.faults == ()
        assert plan_text(scan_plan(loaded.settings)) == "daily at 04:00"

    @pytest.mark.parametrize(
        ("toml", "text"),
        [
            ("", "every 15 min"),
            ("frequency = 'off'", "off"),
            ("frequency = 'hourly'", "hourly"),
            ("frequency = 'weekly'\nat = '04:00'\nday = 'Monday'", "every monday at 04:00"),
        ],
    )
    def test_it_can_be_told_in_words(self, machine, toml, text):
        loaded = machine.examine(f"[server.scan_schedule]\n{toml}\n")
        assert plan_text(scan_plan(loaded.settings)) == text

    def test_what_a_schedule_without_frequency_ignores_is_warned_about(self, machine):
        toml = "[server.scan_schedule]\nat = '04:00'\nday = 'friday'\n"
        assert machine.examine(toml).warnings == tuple(
            f"server.scan_schedule.{name} is ignored, because "
            "server.scan_schedule.frequency is not set"
            for name in ("at", "day")
        )
        assert machine.examine(f"{toml}frequency = 'hourly'\n").warnings == ()
        assert machine.examine("[server.scan_schedule]\nat = ''\n").warnings == ()

    def test_the_old_interval_is_warned_about_only_when_somebody_set_it(self, machine):
        assert machine.examine("").warnings == ()
        old = "[server]\nscan_interval_seconds = 900\n"
        assert machine.examine(old).warnings == (
            "server.scan_interval_seconds is deprecated; use server.scan_schedule",
        )
        assert machine.examine(old + "[server.scan_schedule]\nfrequency = 'off'\n").warnings == (
            "server.scan_interval_seconds is ignored, because "
            "server.scan_schedule.frequency is set",
        )


class TestLanes:
    def test_an_unknown_primary_is_fatal_and_the_known_ones_are_named(self, machine):
        for name in ("detector", "nobody", "LRCLIB"):
            [fault] = machine.examine("", {"LYRSVC_PROVIDER_PRIMARY": name}).faults
            assert fault == (
                f'providers.primary: no lane "{name}"; known: defaultprov, lrclib, lrclib-dump'
            )

    def test_unknown_fallbacks_are_all_named(self, machine):
        loaded = machine.examine('[providers]\nfallback_order = ["a", "lrclib", "b"]\n')
        assert len(loaded.faults) == 2

    def test_the_primary_is_dropped_from_the_fallbacks_with_a_warning(self, machine):
        toml = '[providers]\nprimary = "lrclib"\nfallback_order = ["defaultprov", "lrclib"]\n'
        loaded = machine.examine(toml)
        assert loaded.settings.providers.fallback_order == ("defaultprov",)
        assert loaded.resolution.values["providers.fallback_order"] == ("defaultprov",)
        [text] = loaded.warnings
        assert '"lrclib" is the primary lane already; dropped' in text

    def test_a_dump_lane_needs_its_file(self, machine):
        toml = (
            '[providers]\nfallback_order = ["lrclib-dump"]\n[providers.lrclib_dump]\npath = "d"\n'
        )
        assert "(not set)" in machine.examine(toml.replace("path =", "# path =")).faults[0]
        assert "is no readable file" in machine.examine(toml).faults[0]
        (machine.config.parent / "d").mkdir()
        assert "is no readable file" in machine.examine(toml).faults[0]
        (machine.config.parent / "d").rmdir()
        (machine.config.parent / "d").write_bytes(b"x")
        assert machine.examine(toml).faults == ()
        assert machine.examine('[providers.lrclib_dump]\npath = "gone"\n').faults == ()


class TestTls:
    @pytest.fixture
    def pair(self, machine):
        return make_pair(machine.root, "one")

    def test_a_good_pair_is_fine(self, machine, pair):
        certificate, key = pair
        toml = f"[server.tls]\ncert_file = '{certificate}'\nkey_file = '{key}'\n"
        assert machine.examine(toml + "redirect_http = ':80'\n").findings == ()

    @pytest.mark.parametrize(
        ("toml", "text"),
        [
            ("cert_file = '{0}'", "cert_file and key_file need each other"),
            ("key_file = '{1}'", "cert_file and key_file need each other"),
            ("cert_file = '{0}'\nkey_file = '{1}'\nself_signed = true", "self_signed excludes"),
            ("redirect_http = ':80'", "redirect_http needs TLS"),
            ("cert_file = '/gone'\nkey_file = '{1}'", "No such file"),
            ("cert_file = '{1}'\nkey_file = '{0}'", "cannot be loaded as a PEM pair"),
            ("cert_file = '{0}'\nkey_file = '{2}'", "cannot be loaded as a PEM pair"),
        ],
    )
    def test_what_does_not_fit_together_is_fatal(self, machine, pair, toml, text):
        _, other_key = make_pair(machine.root, "two")
        loaded = machine.examine("[server.tls]\n" + toml.format(*pair, other_key) + "\n")
        [fault] = loaded.faults
        assert text in fault

    def test_an_encrypted_key_does_not_ask_for_a_password(self, machine, pair):
        key = make_pair(machine.root, "locked", password=b"secret")[1]
        certificate = machine.root / "locked.pem"
        toml = f"[server.tls]\ncert_file = '{certificate}'\nkey_file = '{key}'\n"
        [fault] = machine.examine(toml).faults
        assert "cannot be loaded" in fault

    def test_a_self_signed_certificate_needs_nothing_else(self, machine):
        toml = "[server.tls]\nself_signed = true\nredirect_http = '[::]:80'\n"
        assert machine.examine(toml).findings == ()


@pytest.mark.parametrize(
    ("zone", "warned"),
    [
        ("Europe/Berlin", 0),
        ("UTC", 0),
        (":Europe/Berlin", 0),
        (" ", 0),
        ("JST-9", 0),
        ("Mars/Olympus", 1),
        ("../../etc/passwd", 1),
        ("/etc/passwd", 1),
        ("/etc/no/such/zone", 1),
        ("Europe", 1),
        ("a\0b", 1),
    ],
)
def test_an_unknown_zone_is_warned_about(machine, zone, warned):
    loaded = machine.examine("", {"TZ": zone})
    assert loaded.faults == ()
    assert len(loaded.warnings) == warned


def make_pair(directory, name, password=None):
    """Make a certificate and its key, as an operator would have them."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    start = datetime(2026, 1, 1, tzinfo=UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=365))
        .sign(key, hashes.SHA256())
    )
    hiding = (
        serialization.BestAvailableEncryption(password)
        if password
        else serialization.NoEncryption()
    )
    paths = directory / f"{name}.pem", directory / f"{name}.key"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, hiding)
    )
    return paths
