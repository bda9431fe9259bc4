"""The one writer of the settings file."""

import fcntl
import os
import stat

import pytest

from fakes import FakeClock
from lyrsvc.core.errors import ConfigError, Refused
from lyrsvc.settings.save_errors import (
    FileInvalid,
    SaveBusy,
    SettingsReadOnly,
    Stale,
    ValidationFailed,
)
from lyrsvc.settings.saving import (
    Change,
    file_state,
    save,
    undo_interrupted_save,
)

ODD = (
    "# mine\n[unknown]\nx = [1,\n 2] # two\n\n[server]\naddr = ':1' # here\n"
    "tls = { self_signed = false }\n\n# slow\n[api]\ncooldown = 10   # ten\n"
)


DAILY = '[server.scan_schedule]\nfrequency = "daily"\nat = "03:30"\n'


@pytest.mark.spec("C-15")
@pytest.mark.seed("S-080")
def test_a_save_changes_that_value_in_the_file_and_nothing_in_force(machine):
    machine.write(ODD)
    running = machine.examine()
    saved = machine.save({"api.cooldown": 20})
    assert machine.config.read_text() == ODD.replace("cooldown = 10 ", "cooldown = 20 ")
    assert saved.changes == (Change("api.cooldown", 10, 20),)
    assert saved.path == machine.config
    assert running.settings.api.cooldown == 10
    assert machine.examine().settings.api.cooldown == 20
    assert machine.left_overs() == []


@pytest.mark.spec("C-15")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o660])
def test_mode_and_owner_are_kept(machine, mode):
    machine.write(ODD)
    machine.config.chmod(mode)
    if os.geteuid() == 0:
        os.chown(machine.config, 12345, 23456)
    before = machine.config.stat()
    machine.save({"api.cooldown": 20})
    after = machine.config.stat()
    assert stat.S_IMODE(after.st_mode) == mode
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)
    assert after.st_ino != before.st_ino


def test_access_lists_and_labels_are_kept_where_there_are_any(machine):
    machine.write(ODD)
    try:
        os.setxattr(machine.config, "user.note", b"mine")
    except (OSError, AttributeError):
        pytest.skip("this filesystem has no extended attributes")
    machine.save({"api.cooldown": 20})
    assert os.getxattr(machine.config, "user.note") == b"mine"


def test_a_new_file_is_private_and_its_directory_is_made(machine):
    path = machine.root / "new" / "dir" / "x.toml"
    machine.save({"api.cooldown": 20}, config_flag=str(path))
    assert path.read_text() == "[api]\ncooldown = 20\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) & 0o007 == 0


def test_a_new_file_in_a_shared_directory_may_be_read_by_the_group(machine):
    shared = machine.root / "shared"
    shared.mkdir()
    shared.chmod(0o2770)
    machine.save({"api.cooldown": 20}, config_flag=str(shared / "x.toml"))
    assert stat.S_IMODE((shared / "x.toml").stat().st_mode) == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files in directories of others")
def test_a_new_file_of_root_belongs_to_whoever_has_the_directory(machine):
    theirs = machine.root / "theirs"
    theirs.mkdir()
    os.chown(theirs, 99, 100)
    machine.save({"api.cooldown": 20}, config_flag=str(theirs / "x.toml"))
    made = (theirs / "x.toml").stat()
    assert (made.st_uid, made.st_gid, stat.S_IMODE(made.st_mode)) == (99, 100, 0o600)


def test_no_directory_is_made_for_a_save_that_is_refused(machine):
    path = machine.root / "new" / "x.toml"
    with pytest.raises(ValidationFailed):
        machine.save({"api.cooldown": -1}, config_flag=str(path))
    assert not path.parent.exists()


@pytest.mark.spec("C-16")
@pytest.mark.seed("S-032")
@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"server.scan_schedule.frequency": "daily"}, "server.scan_schedule"),
        (
            {"server.scan_schedule.frequency": "weekly", "server.scan_schedule.at": "07:30"},
            "server.scan_schedule",
        ),
        ({"server.tls.cert_file": "/x.pem"}, "server.tls"),
        ({"server.tls.key_file": "/x.key"}, "server.tls"),
        ({"providers.primary": "nobody"}, "providers.primary"),
        ({"providers.primary": "detector"}, "providers.primary"),
        ({"providers.fallback_order": ["lrclib", "nobody"]}, "providers.fallback_order"),
        ({"server.trusted_networks.cidrs": ["10.0.0.0/99"]}, "server.trusted_networks.cidrs"),
        ({"server.addr": "nowhere"}, "server.addr"),
        ({"guard.accepted_scripts": ["Latn"]}, "guard.accepted_scripts"),
        ({"api.cooldown": "fast"}, "api.cooldown"),
        ({"api.cooldown": 86401}, "api.cooldown"),
        ({"scan.depth": 5, "api.cooldown": -1}, "api.cooldown"),
    ],
)
def test_what_the_next_start_would_refuse_is_refused_and_the_file_stays(machine, changes, named):
    machine.write(ODD)
    before = machine.config.stat()
    with pytest.raises(ValidationFailed) as caught:
        machine.save(changes)
    assert named in str(caught.value)
    assert any(found.path == named for found in caught.value.findings)
    assert machine.config.read_text() == ODD
    assert machine.config.stat().st_mtime_ns == before.st_mtime_ns
    assert machine.config.stat().st_ino == before.st_ino
    assert machine.left_overs() == []


@pytest.mark.seed("S-032")
@pytest.mark.parametrize(
    ("toml", "changes", "environ"),
    [
        ("", {"frequency": "daily"}, {"LYRSVC_SCAN_SCHEDULE": "off"}),
        ("", {"frequency": "weekly", "at": "03:30"}, {"LYRSVC_SCAN_SCHEDULE": "hourly"}),
        (DAILY, {"at": None}, {"LYRSVC_SCAN_SCHEDULE": "off"}),
        (DAILY, {"frequency": "weekly"}, {"LYRSVC_SCAN_SCHEDULE": "off"}),
    ],
)
def test_an_incomplete_schedule_is_refused_although_a_variable_hides_it(
    machine, toml, changes, environ
):
    machine.write(toml)
    named = {f"server.scan_schedule.{key}": value for key, value in changes.items()}
    with pytest.raises(ValidationFailed, match="also needs"):
        machine.save(named, environ)
    assert machine.config.read_text() == toml


@pytest.mark.seed("S-032")
@pytest.mark.parametrize(
    ("toml", "changes", "environ"),
    [
        ("", {"frequency": "daily"}, {"LYRSVC_SCAN_SCHEDULE_AT": "03:00"}),
        ("", {"frequency": "daily", "at": "04:00"}, {"LYRSVC_SCAN_SCHEDULE": "off"}),
        (DAILY, {"scan_on_start": True}, {"LYRSVC_SCAN_SCHEDULE": "off"}),
        ("", {"at": "04:00"}, {"LYRSVC_SCAN_SCHEDULE": "daily"}),
    ],
)
def test_a_schedule_that_a_variable_completes_or_hides_is_saved(machine, toml, changes, environ):
    machine.write(toml)
    named = {f"server.scan_schedule.{key}": value for key, value in changes.items()}
    assert len(machine.save(named, environ).changes) == len(changes)


def test_a_refused_range_is_told_without_what_loading_would_have_done(machine):
    with pytest.raises(ValidationFailed) as caught:
        machine.save({"api.cooldown": 99999})
    assert caught.value.faults == (f"api.cooldown in {machine.config}: 99999 is outside 0..86400",)


def test_every_refused_setting_is_named_at_once(machine):
    with pytest.raises(ValidationFailed) as caught:
        machine.save({"api.cooldown": -1, "scan.depth": 9999, "server.addr": "x"})
    assert len(caught.value.faults) == 3


def test_a_whole_schedule_can_be_saved(machine):
    machine.save(
        {
            "server.scan_schedule.frequency": "weekly",
            "server.scan_schedule.at": "07:30",
            "server.scan_schedule.day": "monday",
        }
    )
    assert machine.examine().faults == ()
    with pytest.raises(ValidationFailed):
        machine.save({"server.scan_schedule.day": None})


def test_a_value_that_pushes_another_one_out_of_its_range_is_refused(machine):
    machine.write("[api]\nmiss_backoff_base_hours = 100\nmiss_backoff_cap_hours = 200\n")
    with pytest.raises(ValidationFailed, match=r"api\.miss_backoff_cap_hours"):
        machine.save({"api.miss_backoff_base_hours": 300})
    machine.save({"api.miss_backoff_base_hours": 300, "api.miss_backoff_cap_hours": 400})


def test_an_old_value_out_of_range_does_not_block_other_saves(machine):
    machine.write("[api]\ncooldown = 999999\n")
    machine.save({"scan.depth": 5})
    assert machine.config.read_text() == "[api]\ncooldown = 999999\n\n[scan]\ndepth = 5\n"


@pytest.mark.parametrize("value", [99999999, "fast"])
def test_a_variable_does_not_hide_a_bad_value_from_the_save(machine, value):
    machine.write(ODD)
    for env, flags in (({"LYRSVC_API_COOLDOWN": "7"}, {}), ({}, {"api.cooldown": "7"})):
        with pytest.raises(ValidationFailed):
            machine.save({"api.cooldown": value}, env, flags)
    assert machine.config.read_text() == ODD


def test_a_hidden_setting_can_be_saved(machine):
    machine.save({"api.cooldown": 9}, {"LYRSVC_API_COOLDOWN": "7"})
    assert machine.config.read_text() == "[api]\ncooldown = 9\n"


@pytest.mark.spec("C-19")
@pytest.mark.seed("S-103")
def test_values_of_variables_and_flags_are_never_written(machine):
    env = {
        "PROVIDER_TOKEN": "env-token-123456",
        "LYRSVC_WEBHOOK_API_KEY": "env-key-0123456789",
        "LYRSVC_SCAN_DEPTH": "44",
        "LYRSVC_WEBAUTH_ADMIN_PASSWORD": "env-password",
    }
    (machine.cwd / ".env").write_text("LYRSVC_INSTANCE_NAME=from-env-file\n")
    flags = {"server.addr": ":4567", "api.token": "flag-token-123456"}
    machine.write(ODD)
    machine.save({"api.cooldown": 20}, env, flags, stored={"api.token": "stored-token-1"})
    assert machine.config.read_text() == ODD.replace("cooldown = 10 ", "cooldown = 20 ")


def test_without_a_change_the_file_is_not_touched(machine):
    machine.write(ODD.replace("10", "0xA"))
    os.utime(machine.config, ns=(1, 1))
    before = machine.config.stat()
    saved = machine.save({"api.cooldown": 10, "scan.depth": None})
    assert saved.changes == ()
    after = machine.config.stat()
    assert (after.st_mtime_ns, after.st_ino) == (1, before.st_ino)


def test_a_setting_can_be_taken_out_again(machine):
    machine.save({"api.cooldown": 20, "scan.depth": 4})
    saved = machine.save({"api.cooldown": None})
    assert saved.changes == (Change("api.cooldown", 20, None),)
    assert machine.config.read_text() == "[api]\n\n[scan]\ndepth = 4\n"


def test_a_secret_can_be_taken_out_and_is_never_reported(machine):
    machine.write("[api]\ntoken = 'tok-5ecret-012345'\ncooldown = 3\n")
    saved = machine.save({"api.token": None})
    assert saved.changes == (Change("api.token", "[REDACTED]", None),)
    assert machine.config.read_text() == "[api]\ncooldown = 3\n"


def test_only_what_changed_is_reported(machine):
    machine.write("[api]\ntoken = 'tok-5ecret-012345'\ncooldown = 3\n")
    changes = {"api.token": "tok-5ecret-012345", "api.cooldown": 3, "scan.depth": 4}
    saved = machine.save({**changes, "output.dir": None})
    assert saved.changes == (Change("scan.depth", None, 4),)


@pytest.mark.parametrize("text", ["[[[\n", "x = \n", "\x00"])
def test_a_broken_file_is_refused_with_line_and_column(machine, text):
    machine.write(text)
    with pytest.raises(FileInvalid, match=r"line \d+, column \d+"):
        machine.save({"api.cooldown": 20})
    assert machine.config.read_text() == text


def test_a_file_that_is_no_text_is_refused(machine):
    machine.config.write_bytes(b"\xff\xfe")
    with pytest.raises(Refused, match="not UTF-8"):
        machine.save({"api.cooldown": 20})
    assert machine.config.read_bytes() == b"\xff\xfe"


def test_an_unusual_place_is_refused_not_crashed_on(machine):
    machine.config.mkdir()
    with pytest.raises(Refused, match="Is a directory"):
        machine.save({"api.cooldown": 20})
    with pytest.raises(SettingsReadOnly, match="cannot make"):
        machine.save({"api.cooldown": 20}, config_flag="/dev/null/x.toml")
    machine.environ = {"LYRSVC_DOCKER": "false", "LYRSVC_DB_PATH": "/x/y.db"}
    with pytest.raises(Refused, match="--config"):
        machine.save({"api.cooldown": 20})


@pytest.mark.parametrize("text", [ODD, ODD.replace("\n", "\r\n"), "\ufeff" + ODD, ODD[:-1]])
def test_line_ends_marks_and_the_missing_last_break_survive(machine, text):
    machine.write(text)
    machine.save({"api.cooldown": 20})
    assert machine.config.read_bytes().decode() == text.replace("cooldown = 10", "cooldown = 20")


class TestStale:
    def test_a_value_that_somebody_changed_is_not_overwritten(self, machine):
        machine.write(ODD)
        with pytest.raises(Stale, match=r"api\.cooldown"):
            machine.save({"api.cooldown": 20}, seen={"api.cooldown": 11})
        assert machine.config.read_text() == ODD
        machine.save({"api.cooldown": 20}, seen={"api.cooldown": 10})
        machine.save({"scan.depth": 4}, seen={"scan.depth": None})

    def test_the_state_tells_version_and_writability(self, machine):
        nothing = file_state(machine.examine())
        assert nothing.writable is True
        machine.write(ODD)
        first = file_state(machine.examine())
        machine.save({"api.cooldown": 20})
        second = file_state(machine.examine())
        assert len({nothing.version, first.version, second.version}) == 3
        machine.config.chmod(0o444)
        assert file_state(machine.examine()).writable is False
        machine.environ = {"LYRSVC_DOCKER": "false", "LYRSVC_DB_PATH": "/x/y.db"}
        nowhere = file_state(machine.examine())
        assert nowhere == (nothing.version, False)


class TestLock:
    def test_a_second_writer_waits_and_then_names_the_first(self, machine):
        machine.write(ODD)
        clock = FakeClock()
        with (machine.config.parent / ".config.toml.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            lock.write("4711\n")
            lock.flush()
            with pytest.raises(SaveBusy, match="process 4711"):
                save(machine.inputs(), {"api.cooldown": 20}, clock=clock)
        assert 4.9 < sum(clock.waits) < 5.2
        assert machine.config.read_text() == ODD
        save(machine.inputs(), {"api.cooldown": 20}, clock=clock)

    def test_whoever_locks_the_file_itself_is_waited_for_too(self, machine):
        machine.write(ODD)
        with machine.config.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            with pytest.raises(SaveBusy):
                machine.save({"api.cooldown": 20})
        machine.save({"api.cooldown": 20})

    def test_a_stopping_program_does_not_wait(self, machine):
        machine.write(ODD)
        clock = FakeClock()
        clock.stopped = True
        with machine.config.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            with pytest.raises(SaveBusy):
                save(machine.inputs(), {"api.cooldown": 20}, clock=clock)
        assert len(clock.waits) == 1

    def test_a_planted_link_is_not_used_as_a_lock(self, machine):
        machine.write(ODD)
        victim = machine.root / "victim"
        victim.write_text("precious")
        (machine.config.parent / ".config.toml.lock").symlink_to(victim)
        machine.save({"api.cooldown": 20})
        assert victim.read_text() == "precious"
        (machine.config.parent / ".config.toml.lock").unlink()
        os.link(victim, machine.config.parent / ".config.toml.lock")
        machine.save({"api.cooldown": 21})
        assert victim.read_text() == "precious"

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
    def test_a_lock_made_by_root_belongs_to_the_owner_of_the_file(self, machine):
        machine.write(ODD)
        os.chown(machine.config, 12345, 23456)
        machine.config.chmod(0o660)
        machine.save({"api.cooldown": 20})
        lock = (machine.config.parent / ".config.toml.lock").stat()
        assert (lock.st_uid, lock.st_gid, stat.S_IMODE(lock.st_mode)) == (12345, 23456, 0o660)


class TestChangedMeanwhile:
    """Plugins are looked for while a candidate is validated: that is when somebody edits."""

    def inputs(self, machine, edit):
        machine.write(ODD + "[providers.song]\nx = 1\n")
        asked = []

        def offered(wanted):
            asked.append(wanted)
            edit(len(asked))
            return {}

        inputs = machine.inputs()
        return inputs._replace(lanes=inputs.lanes._replace(plugins=offered))

    def test_a_file_edited_between_reading_and_renaming_is_read_again(self, machine):
        def edit(number):
            if number == 3:
                with machine.config.open("a") as file:
                    file.write("# by hand\n")

        save(self.inputs(machine, edit), {"api.cooldown": 20}, clock=FakeClock())
        text = machine.config.read_text()
        assert "cooldown = 20 " in text
        assert "# by hand" in text
        assert machine.left_overs() == []

    def test_a_file_that_never_rests_is_given_up(self, machine):
        def edit(number):
            with machine.config.open("a") as file:
                file.write("# by hand\n")

        with pytest.raises(Refused, match="keeps changing"):
            save(self.inputs(machine, edit), {"api.cooldown": 20}, clock=FakeClock())
        assert "cooldown = 10 " in machine.config.read_text()
        assert machine.left_overs() == []


class TestRecovery:
    MARK = "0123456789abcdef"

    def copy(self, machine):
        return machine.config.with_name(f"config.toml.lyrsvc-save.{self.MARK}")

    def test_nothing_to_undo_is_nothing_to_say(self, machine):
        assert undo_interrupted_save(machine.inputs(), clock=FakeClock()) is None
        machine.write(ODD)
        assert undo_interrupted_save(machine.inputs(), clock=FakeClock()) is None
        assert not (machine.config.parent / ".config.toml.lock").exists()

    def test_a_copy_means_an_interrupted_save_and_the_old_bytes_come_back(self, machine):
        machine.write("[api]\ncooldown = 20\n[sc")
        self.copy(machine).write_text(ODD)
        told = undo_interrupted_save(machine.inputs(), clock=FakeClock())
        assert told == f"{machine.config}: an interrupted save was undone"
        assert machine.config.read_text() == ODD
        assert machine.left_overs() == []

    def test_the_next_save_undoes_it_too_and_says_so(self, machine):
        machine.write("[api]\ncooldown = 20\n[sc")
        self.copy(machine).write_text(ODD)
        saved = machine.save({"scan.depth": 4})
        assert saved.undone is not None
        assert machine.config.read_text() == ODD + "\n[scan]\ndepth = 4\n"

    def test_a_copy_beside_the_database_is_found_even_when_the_file_is_torn(self, machine):
        state = machine.root / "state"
        state.mkdir()
        old = f"[db]\npath = '{state}/x.db'\n[api]\ncooldown = 1\n"
        from lyrsvc.settings.save_target import Target

        target = Target(machine.config.resolve(), (state,))
        machine.write(f"[db]\npath = '{state}/x.db'\n[api]\ncooldown = 1\n\n[scan]\ndepth = 4\ndow")
        target.copy_of(target.draft_in(state)).write_text(old)
        assert undo_interrupted_save(machine.inputs(), clock=FakeClock()) is not None
        assert machine.config.read_text() == old

    def test_a_copy_of_another_file_beside_the_same_database_is_left_alone(self, machine):
        machine.write(ODD)
        state = machine.home / ".local/share/lyrsvcgo-svc"
        state.mkdir(parents=True)
        other = state / f"config.toml.lyrsvc-save.{self.MARK}"
        other.write_text("other")
        assert undo_interrupted_save(machine.inputs(), clock=FakeClock()) is None
        machine.save({"api.cooldown": 20})
        assert other.read_text() == "other"

    def test_what_cannot_be_undone_is_told_and_stays(self, machine):
        machine.write("[api]\ncooldown = 20\n[sc")
        self.copy(machine).write_text(ODD)
        with machine.config.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            told = undo_interrupted_save(machine.inputs(), clock=FakeClock())
        assert "could not be undone" in told
        assert self.copy(machine).read_text() == ODD

    def test_what_only_looks_like_ours_is_left_alone(self, machine):
        machine.write(ODD)
        names = (
            "config.toml.bak",
            "config.toml.lyrsvc-save.mine",
            "config.toml.lyrsvc-save",
            ".config.toml.swp",
            f"other.toml.lyrsvc-save.{self.MARK}",
            f".other.toml.{self.MARK}.lyrsvc-tmp",
        )
        for name in names:
            (machine.config.parent / name).write_text("mine")
        machine.save({"api.cooldown": 20})
        assert all((machine.config.parent / name).read_text() == "mine" for name in names)

    def test_a_planted_copy_is_not_believed(self, machine):
        machine.write(ODD)
        secret = machine.root / "secret"
        secret.write_text("root:x:0")
        self.copy(machine).symlink_to(secret)
        machine.save({"api.cooldown": 20})
        assert "root:x" not in machine.config.read_text()

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
    def test_root_does_not_believe_a_copy_of_somebody_who_may_not_write_the_file(self, machine):
        machine.write(ODD)
        self.copy(machine).write_text("[planted]\n")
        os.chown(self.copy(machine), 12345, 12345)
        assert undo_interrupted_save(machine.inputs(), clock=FakeClock()) is None
        assert machine.config.read_text() == ODD
        os.chown(machine.config, 12345, 12345)
        assert undo_interrupted_save(machine.inputs(), clock=FakeClock()) is not None


def test_what_the_writer_does_not_know_it_leaves_alone(machine):
    machine.write("[unknown]\nx = 1\n")
    machine.save({"api.cooldown": 3})
    assert machine.config.read_text() == "[unknown]\nx = 1\n\n[api]\ncooldown = 3\n"


def test_a_table_in_the_way_is_refused(machine):
    machine.write("api = 5\n")
    with pytest.raises(ConfigError, match="api is not a table"):
        machine.save({"api.cooldown": 3})
    assert machine.config.read_text() == "api = 5\n"
