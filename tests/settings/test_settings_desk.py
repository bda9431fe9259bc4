"""Settings looked at and saved by a running service: all or nothing."""

import time
import tomllib

import pytest

from lyrsvc.core.errors import StoreError
from lyrsvc.settings.save_errors import (
    FileInvalid,
    SettingLocked,
    SettingsReadOnly,
    Stale,
    Unconfirmed,
    ValidationFailed,
)
from lyrsvc.settings.settings_desk import SecretKeeping, SettingsDesk

TOML = """\
# mine
[api]
cooldown = 20  # seconds

[mystery]
key = 1
"""


class Drawer:
    """The secret store: a dictionary that may be locked."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.fault: Exception | None = None

    def put(self, values):
        if self.fault:
            raise self.fault
        self.values.update(values)

    def forget(self, names):
        for name in names:
            self.values.pop(name, None)


@pytest.fixture
def drawer():
    return Drawer()


@pytest.fixture
def open_desk(machine, clock, drawer):
    def open_one(toml="", **more):
        machine.write(toml)
        secrets = SecretKeeping(put=drawer.put, forget=drawer.forget, names=lambda: drawer.values)
        return SettingsDesk(machine.examine(**more), clock=clock, secrets=secrets)

    return open_one


def one(desk, path):
    return next(view for view in desk.view().settings if view.path == path)


def refused(desk, kind, changes, **more):
    with pytest.raises(kind) as refusal:
        desk.save(changes, **more)
    return refusal.value


def test_a_setting_shows_running_saved_and_default(open_desk):
    desk = open_desk(TOML)
    view = one(desk, "api.cooldown")
    assert (view.value, view.running, view.default, view.source) == (20, 20, 15, "file")
    assert view.env[0] == "LYRSVC_API_COOLDOWN"
    assert (view.flag, view.tier, view.tab, view.type) == ("--cooldown", "safe", "common", "int")

    desk.save({"api.cooldown": 30})

    view = one(desk, "api.cooldown")
    assert (view.value, view.running) == (30, 20)


@pytest.mark.spec("H-43")
def test_a_save_keeps_everything_else_and_tells_what_waits(open_desk, machine):
    desk = open_desk(TOML)
    version = desk.view().version

    done = desk.save({"api.cooldown": 30, "logging.level": "debug"}, version=version)

    assert set(done.saved) == {"api.cooldown", "logging.level"}
    assert done.restart_pending == ("api.cooldown", "logging.level") == desk.pending()
    assert done.version == desk.view().version != version
    text = machine.config.read_text()
    assert text.startswith("# mine\n[api]\ncooldown = 30  # seconds\n\n[mystery]\nkey = 1\n")


@pytest.mark.spec("H-43")
def test_the_same_value_leaves_the_file_untouched(open_desk, machine):
    desk = open_desk(TOML)
    before = machine.config.stat()

    done = desk.save({"api.cooldown": 20})

    assert (done.saved, done.restart_pending) == ((), ())
    assert machine.config.stat().st_mtime_ns == before.st_mtime_ns


@pytest.mark.spec("H-43", "H-44")
@pytest.mark.parametrize(
    "changes",
    [
        {"api.cooldown": "twenty"},
        {"api.cooldown": -1},
        {"api.cooldown": 20.5},
        {"api.cooldown": [1]},
        {"api.cooldown": True},
        {"api.cooldown": 25, "server.addr": "127.0.0.1:99999"},
        {"server.scan_schedule.frequency": "weekly", "server.scan_schedule.at": "03:00"},
        {"providers.primary": "nobody"},
        {"guard.accepted_scripts": ["Klingon"]},
        {"guard.accepted_scripts": [None]},
        {"guard.accepted_scripts": {"a": 1}},
        {"server.path_mappings": [{"from": "/a"}]},
        {"api.nonsense": 1},
        {"": 1},
        {"secrets.key_file": "/tmp/key"},
        {"watcher.enabled": True},
    ],
)
def test_what_the_next_start_would_refuse_is_refused_and_named(open_desk, machine, changes):
    desk = open_desk(TOML)
    before = machine.config.read_bytes()

    refusal = refused(desk, ValidationFailed, changes)

    assert refusal.code == "validation_failed"
    named = [found.path for found in refusal.findings]
    assert any(path == name or path.startswith(f"{name}.") for path in changes for name in named)
    assert machine.config.read_bytes() == before
    assert not machine.examine().faults


@pytest.mark.spec("H-44")
@pytest.mark.parametrize(
    "changes",
    [
        {"server.tls.cert_file": "/nowhere/cert.pem"},
        {"server.trusted_networks.cidrs": ["10.0.0.0/99"]},
    ],
)
def test_critical_settings_are_validated_too(open_desk, machine, changes):
    desk = open_desk(TOML)

    refused(desk, ValidationFailed, changes, confirmed=tuple(changes))

    assert machine.config.read_text() == TOML


@pytest.mark.spec("H-45")
@pytest.mark.parametrize(
    ("more", "path", "winner"),
    [
        ({"env": {"LYRSVC_API_COOLDOWN": "7"}}, "api.cooldown", "LYRSVC_API_COOLDOWN"),
        ({"env": {"LYRSVC_API_COOLDOWN": "rubbish"}}, "api.cooldown", "LYRSVC_API_COOLDOWN"),
        ({"flags": {"server.addr": "127.0.0.1:1"}}, "server.addr", "--listen"),
        ({"env": {"PROVIDER_TOKEN_FILE": "{file}"}}, "api.token", "PROVIDER_TOKEN_FILE"),
    ],
)
def test_what_a_flag_or_variable_decides_is_locked(open_desk, machine, drawer, more, path, winner):
    token = machine.root / "token"
    token.write_text("a-secret-token")
    env = {name: text.format(file=token) for name, text in more.pop("env", {}).items()}
    desk = open_desk(TOML, env=env, **more)

    view = one(desk, path)
    assert (view.locked, view.locked_by) == (True, winner)
    refusal = refused(desk, SettingLocked, {path: 1}, confirmed=(path,))

    assert (refusal.code, refusal.locked_by) == ("locked", winner)
    assert machine.config.read_text() == TOML
    assert drawer.values == {}


@pytest.mark.spec("H-48")
def test_a_file_edited_by_hand_keeps_both_or_the_save_is_refused(open_desk, machine):
    desk = open_desk(TOML)
    version = desk.view().version
    machine.write(TOML.replace("[mystery]", '[logging]\nlevel = "warn"\n\n[mystery]'))

    desk.save({"api.cooldown": 30}, version=version)

    text = machine.config.read_text()
    assert "cooldown = 30" in text
    assert 'level = "warn"' in text
    refused(desk, Stale, {"api.cooldown": 31}, version=version)
    refused(desk, Stale, {"api.cooldown": 31}, version="0" * 64)
    assert machine.config.read_text() == text
    desk.save({"api.cooldown": 32}, version=desk.view().version)
    assert "cooldown = 32" in machine.config.read_text()


@pytest.mark.spec("H-48")
def test_a_critical_setting_needs_a_word_of_its_own(open_desk, machine):
    desk = open_desk(TOML)
    changes = {"server.tls.self_signed": True, "api.cooldown": 30}

    refusal = refused(desk, Unconfirmed, changes)

    assert refusal.paths == ("server.tls.self_signed",)
    assert "a mistake here can lock you out" in str(refusal)
    assert machine.config.read_text() == TOML
    assert set(desk.save(changes, confirmed=["server.tls.self_signed"]).saved) == set(changes)


def test_a_broken_file_is_not_made_worse(open_desk, machine):
    desk = open_desk(TOML)
    machine.write("[api\n")

    refusal = refused(desk, FileInvalid, {"api.cooldown": 30})

    assert "line 1, column" in str(refusal)
    assert machine.config.read_text() == "[api\n"
    assert desk.pending() == ()
    view = one(desk, "api.cooldown")
    assert (view.running, view.value) == (20, 20)


@pytest.mark.spec("H-46")
def test_a_file_nobody_may_write_is_left_alone_and_no_secret_is_stored(open_desk, machine, drawer):
    desk = open_desk('[api]\ntoken = "plain-old-token"\n')
    machine.config.chmod(0o400)
    before = machine.config.read_bytes()

    assert not desk.view().writable
    refused(desk, SettingsReadOnly, {"api.cooldown": 30})
    refused(desk, SettingsReadOnly, {"api.token": "new-token"}, confirmed=["api.token"])

    assert machine.config.read_bytes() == before
    assert drawer.values == {}


@pytest.mark.spec("H-50")
def test_a_secret_goes_to_the_store_and_leaves_the_file(open_desk, machine, drawer):
    desk = open_desk('[api]\ntoken = "plain-old-token"\ncooldown = 20\n')
    asked = str(refused(desk, Unconfirmed, {"api.token": "the-new-token"}))
    assert ("1 in the file" in asked, "stop what uses it" in asked) == (True, True)
    assert "lock you out" not in asked

    done = desk.save({"api.token": "  the-new-token "}, confirmed=["api.token"])

    assert done.saved == ("api.token",)
    assert (done.stored, done.forgotten) == (("provider_token",), ())
    assert drawer.values == {"provider_token": "the-new-token"}
    assert machine.config.read_text() == "[api]\ncooldown = 20\n"
    assert desk.pending() == ("api.token",)
    view = one(desk, "api.token")
    assert (view.value, view.running, view.default, view.set) == (None, None, None, True)
    assert "new-token" not in str(done)
    assert "plain-old" not in str(done)


def test_a_secret_is_stored_although_no_file_can_be_written(open_desk, machine, drawer):
    desk = open_desk("")
    machine.config.chmod(0o400)

    desk.save(
        {"server.webhook_api_keys": ["0123456789abcdef"]}, confirmed=["server.webhook_api_keys"]
    )

    assert drawer.values == {"webhook_api_key": "0123456789abcdef"}


def test_a_secret_can_be_forgotten(open_desk, machine, drawer):
    desk = open_desk('[api]\ntoken = "plain-old-token"\n')
    drawer.values["provider_token"] = "stored"

    done = desk.save({"api.token": None}, confirmed=["api.token"])

    assert (done.stored, done.forgotten) == ((), ("provider_token",))

    assert drawer.values == {}
    assert "plain-old-token" not in machine.config.read_text()
    assert not one(open_desk(machine.config.read_text()), "api.token").set


@pytest.mark.parametrize("value", ["", "   "])
def test_a_blank_secret_stays_as_it_is(open_desk, machine, drawer, value):
    text = '[api]\ntoken = "plain-old-token"\n'
    desk = open_desk(text)

    assert desk.save({"api.token": value}).saved == ()
    assert machine.config.read_text() == text
    assert drawer.values == {}


@pytest.mark.parametrize("value", ["two\nlines", ["a" * 20, "b" * 20], 7, [], {"a": 1}])
def test_what_cannot_be_a_secret_is_refused_without_being_repeated(open_desk, drawer, value):
    desk = open_desk("")

    refusal = refused(desk, ValidationFailed, {"api.token": value}, confirmed=["api.token"])

    assert "lines" not in str(refusal)
    assert drawer.values == {}


def test_a_key_that_cannot_be_one_is_refused_with_the_rule(open_desk):
    changes = {"server.webhook_api_keys": ["has blank, comma"]}
    refusal = refused(open_desk(""), ValidationFailed, changes, confirmed=[*changes])
    assert "without comma or blank" in str(refusal)
    assert "webhook_api_key " not in str(refusal), "nobody knows it by this name here"


def test_a_store_that_fails_leaves_the_plaintext_where_it_is(open_desk, machine, drawer):
    text = '[api]\ntoken = "plain-old-token"\n'
    desk = open_desk(text)
    drawer.fault = StoreError("the database is locked")

    refused(desk, StoreError, {"api.token": "the-new-token"}, confirmed=["api.token"])

    assert machine.config.read_text() == text
    assert desk.pending() == ()


def test_the_raw_view_knows_what_comes_from_the_store(open_desk, drawer):
    drawer.values |= {"provider_token": "stored", "webhook_api_key": "0123456789abcdef"}
    desk = open_desk("")
    raw = desk.raw()
    assert 'token = "[REDACTED]"  # store\n' in raw
    assert 'webhook_api_keys = ["[REDACTED]"]  # store\n' in raw
    assert not any(value in raw for value in drawer.values.values())

    desk.save({"api.token": None}, confirmed=["api.token"])
    assert 'token = "[REDACTED]"  # store\n' in desk.raw()
    assert 'token = ""  # default\n' in desk.raw(following=True)


def test_a_secret_stored_since_the_start_is_not_in_force_yet(open_desk):
    desk = open_desk("")
    desk.save({"api.token": "fresh"}, confirmed=["api.token"])
    assert 'token = ""  # default\n' in desk.raw()
    assert 'token = "[REDACTED]"  # store\n' in desk.raw(following=True)


@pytest.mark.spec("H-49")
@pytest.mark.parametrize(
    "toml",
    [
        '[api]\ntoken = "s3cret-token"',
        'api.token = "s3cret-token"',
        '"api"."token" = "s3cret-token"',
        'api = { token = "s3cret-token" }',
        '[api]\ntoken = """\ns3cret-token"""',
        '[server]\nwebhook_api_keys = ["s3cret-token", "s3cret-token-two"]',
        '[providers.lrclib]\nbase_url = "https://me:s3cret-token@lyrics.example"',
    ],
)
def test_however_a_secret_is_written_no_view_shows_it(open_desk, toml):
    desk = open_desk(toml)

    shown = str(desk.view())
    for text in (shown, desk.raw(), desk.raw(following=True)):
        assert "s3cret" not in text
    assert tomllib.loads(desk.raw())["api"]["cooldown"] == 15


def test_the_view_of_the_next_start_shows_what_is_saved(open_desk):
    desk = open_desk(TOML)
    desk.save({"api.cooldown": 44})

    assert tomllib.loads(desk.raw())["api"]["cooldown"] == 20
    assert tomllib.loads(desk.raw(following=True))["api"]["cooldown"] == 44


def test_a_save_by_another_process_is_noticed(open_desk, machine):
    desk = open_desk(TOML)
    before = desk.stamp()
    assert desk.pending() == ()

    machine.save({"api.cooldown": 33})

    assert desk.pending() == ("api.cooldown",)
    assert desk.stamp() != before


def test_no_setting_waits_for_a_start_that_would_fail(open_desk, machine):
    desk = open_desk(TOML)
    desk.save({"api.cooldown": 33, "api.token": "fresh"}, confirmed=("api.token",))
    assert desk.pending() == ("api.cooldown", "api.token")

    whole = machine.config.read_text()
    machine.config.write_text(f"{whole}broken = = 1\n")
    assert desk.pending() == ()
    assert len(desk.faults()) == 1

    machine.config.write_text(whole)
    assert desk.pending() == ("api.cooldown", "api.token")
    assert desk.faults() == ()


def test_blank_and_null_take_a_setting_out_of_the_file(open_desk, machine):
    desk = open_desk(TOML + '[logging]\nlevel = "debug"\n')

    desk.save({"api.cooldown": None, "logging.level": ""})

    assert "cooldown" not in machine.config.read_text()
    assert "level" not in machine.config.read_text()
    assert one(desk, "api.cooldown").value == 15


def test_thousands_of_odd_names_are_refused_quickly(open_desk):
    desk = open_desk(TOML)
    began = time.monotonic()

    refusal = refused(
        desk, ValidationFailed, {f"api.cool{n}": 1 for n in range(500)} | {"x" * 10**6: 1}
    )

    assert time.monotonic() - began < 2
    assert max(map(len, refusal.faults)) < 300
