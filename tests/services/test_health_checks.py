"""The health list: each code appears when its cause does, and goes with it."""

import os
from datetime import timedelta

import pytest

from fakes import FakeClock, Scripted
from lyrsvc.core.errors import Miss, StorageFailed, StoreBusy, StoreError, Throttled
from lyrsvc.services import health_rules as rules
from lyrsvc.services.health_checks import CODES, ERROR, WARNING, HealthChecks, error, warning
from lyrsvc.services.lane_desk import LaneDesk
from lyrsvc.services.mounts import network_kind
from lyrsvc.services.pausing import Pause, PauseCause
from lyrsvc.services.root_probes import SILENT, RootProbes, RootState
from lyrsvc.services.watcher import WatchState
from lyrsvc.store import libraries, scan_runs
from service_runs import House
from worker_shop import Shop

MIB = 1024 * 1024


class Roots(RootProbes):
    """Disks that are as a test wants them."""

    def __init__(self, **state) -> None:
        super().__init__()
        whole = {"reachable": True, "writable": True, "free_bytes": 10**12}
        self.state = RootState(**{**whole, **state})

    def look(self, paths):
        return dict.fromkeys(paths, self.state)


def found(check):
    return [(entry.code, entry.level) for entry in check()]


def library(db, path, name="Music"):
    clock = FakeClock()
    return db.write(lambda tx: libraries.add(tx, name=name, path=path, now=clock.now()))


def test_entries_come_errors_first_and_are_looked_up_once_in_a_while(clock):
    looks = []

    def check():
        looks.append(1)
        yield warning("clock_jump", "a", "b")
        yield error("disk_low", "a", "b")
        yield error("no_provider", "a", "b")

    health = HealthChecks([check], clock=clock)

    assert [entry.code for entry in health.entries()] == ["no_provider", "disk_low", "clock_jump"]
    assert (health.count(ERROR), health.count(WARNING)) == (2, 1)
    assert looks == [1]
    clock.advance(5)
    health.entries()
    health.forget()
    health.entries()
    assert len(looks) == 3


def test_a_check_that_cannot_look_does_not_hide_the_others(clock):
    def broken():
        raise StoreError("the database is gone")

    health = HealthChecks([broken, lambda: [error("disk_low", "a", "b")]], clock=clock)

    assert [entry.code for entry in health.entries()] == ["disk_low"]


def test_a_lane_that_cannot_be_asked_and_one_that_is_closed(tmp_path, clock):
    shop = Shop(
        tmp_path, clock, Scripted("lrclib", Throttled(retry_after_s=600)), Scripted("b", Miss())
    )
    desk = LaneDesk(shop.db, shop.lanes, clock=clock)
    check = rules.check_lanes(desk)
    assert found(check) == []

    desk.test("lrclib")
    (entry,) = check()
    assert (entry.code, entry.level) == ("lane_closed", "warning")
    assert "lrclib" in entry.detail
    assert "2026-01-31 14:15:06 UTC" in entry.detail
    shop.close()


def test_no_lane_at_all_names_the_remedy(tmp_path, clock):
    shop = Shop(
        tmp_path, clock, Scripted("defaultprov", Miss()), active={"defaultprov": lambda: False}
    )

    (entry,) = rules.check_lanes(LaneDesk(shop.db, shop.lanes, clock=clock))()

    assert (entry.code, entry.level) == ("no_provider", "error")
    assert 'providers.primary = "lrclib"' in entry.remedy
    shop.close()


@pytest.mark.parametrize(
    ("state", "codes"),
    [
        ({}, []),
        ({"reachable": False}, [("library_missing", "error")]),
        ({"empty": True}, [("library_empty", "warning")]),
        ({"writable": False}, [("library_readonly", "error")]),
        ({"free_bytes": 499 * MIB}, [("disk_low", "warning")]),
        ({"free_bytes": 500 * MIB}, []),
        ({"free_bytes": None}, []),
    ],
)
def test_the_root_of_a_library(db, tmp_path, state, codes):
    library(db, tmp_path)

    assert found(rules.check_libraries(db, Roots(**state))) == codes


def test_a_root_that_does_not_answer_counts_as_missing(db, tmp_path):
    library(db, tmp_path)
    roots = Roots()
    roots.state = SILENT

    assert found(rules.check_libraries(db, roots)) == [("library_missing", "error")]


def test_real_roots_are_looked_at_on_disk(db, tmp_path):
    for name in ("full", "bare", "gone"):
        (tmp_path / name).mkdir()
        library(db, tmp_path / name, name)
    (tmp_path / "full" / "x").touch()
    (tmp_path / "gone").rmdir()

    entries = list(rules.check_libraries(db, RootProbes())())

    assert {(e.code, e.detail.split('"')[1]) for e in entries if e.code != "disk_low"} == {
        ("library_empty", "bare"),
        ("library_missing", "gone"),
    }


def test_a_silent_directory_is_not_waited_for_and_not_asked_twice(tmp_path):
    probes = RootProbes(wait_s=0.05, fresh_s=0)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    hung = probes._probe(str(tmp_path / "a"))
    hung.done.wait(5)
    hung.done.clear()  # as a share that never answers

    assert probes.look([tmp_path / "a"]) == {tmp_path / "a": SILENT}
    assert probes._probe(str(tmp_path / "a")) is hung
    assert not probes.look([pipe])[pipe].reachable


@pytest.mark.parametrize(("free", "codes"), [(499 * MIB, [("disk_low", "error")]), (10**12, [])])
def test_the_disk_of_the_database(tmp_path, free, codes):
    check = rules.check_database_place(tmp_path / "lyrsvc.db", Roots(free_bytes=free))

    assert found(check) == codes


MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:45 / /srv rw - nfs4 server:/export rw
31 30 0:46 / /srv/local\\040disk rw - ext4 /dev/sdb1 rw
32 22 0:47 / /win rw - cifs //server/share rw
"""


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("/var/lib", ""),
        ("/srv/state", "nfs4"),
        ("/srv/local disk/state", ""),
        ("/srvx", ""),
        ("/win", "cifs"),
    ],
)
def test_a_network_file_system_is_told_from_a_local_disk(tmp_path, place, kind):
    table = tmp_path / "mountinfo"
    table.write_text(MOUNTS)

    assert network_kind(place, table=table) == kind
    assert network_kind(place, table=tmp_path / "none") == ""


def test_a_key_file_others_may_read(tmp_path):
    key = tmp_path / "key"
    key.touch(0o600)
    check = rules.check_key_file(key)
    assert found(check) == []

    key.chmod(0o640)
    assert found(check) == [("key_file_permissions", "warning")]
    key.unlink()
    assert found(check) == found(rules.check_key_file(None)) == []


def test_marks_of_requests():
    marks = set()
    check = rules.check_marks(marks)
    assert found(check) == []
    marks.add("proxy_not_declared")
    assert found(check) == [("proxy_not_declared", "warning")]


def test_settings_that_wait_for_a_restart():
    pending = []
    check = rules.check_restart(lambda: pending, lambda: ())
    assert found(check) == []
    pending.append("api.cooldown")

    (entry,) = check()
    assert entry.code == "restart_pending"
    assert "api.cooldown" in entry.detail


def test_settings_that_the_next_start_would_refuse():
    faults = ["api.cooldown: must be a number", "line 3: broken"]
    (entry,) = rules.check_restart(lambda: ["db.path"], lambda: faults)()
    assert (entry.code, entry.level) == ("settings_invalid", "error")
    assert all(fault in entry.detail for fault in faults)
    assert "config check" in entry.remedy


def test_a_webhook_that_could_have_come_and_never_did(clock):
    assert found(rules.check_webhook(lambda: True, lambda: None)) == [
        ("webhook_never_received", "warning")
    ]
    assert found(rules.check_webhook(lambda: False, lambda: None)) == []
    assert found(rules.check_webhook(lambda: True, clock.now)) == []


def test_an_import_whose_files_are_nowhere_here():
    (entry,) = rules.check_webhook_paths(lambda: "/music/a.flac")()
    assert (entry.code, entry.level) == ("webhook_paths", "warning")
    assert "/music/a.flac" in entry.detail
    assert "server.path_mappings" in entry.remedy
    assert found(rules.check_webhook_paths(lambda: "")) == []


@pytest.mark.parametrize(("days", "level"), [(15, None), (13, "warning"), (-1, "error")])
def test_a_certificate_that_ends_soon(clock, days, level):
    check = rules.check_certificate(lambda: clock.now() + timedelta(days=days), clock=clock)

    assert found(check) == ([("tls_expiring", level)] if level else [])
    assert found(rules.check_certificate(lambda: None, clock=clock)) == []


def test_the_last_scan_of_each_library(db, tmp_path, clock):
    row = library(db, tmp_path)
    (tmp_path / "x.flac").touch()

    def scan(state, reason=""):
        run_id = db.write(
            lambda tx: scan_runs.begin(
                tx, row.id, started_by="user", scope="", mode="normal", now=clock.now()
            )
        )
        db.write(
            lambda tx: tx.run(
                "UPDATE scan_runs SET state = :s, reason = :r WHERE id = :id",
                s=state, r=reason, id=run_id,
            )
        )  # fmt: skip

    check = rules.check_scans(db, RootProbes())
    assert found(check) == []
    scan("failed", "root_unavailable")
    assert found(check) == [("scan_failed", "warning")]
    scan("done", "mass_missing")
    assert "accept-missing" in next(iter(check())).remedy
    scan("running")
    assert found(check) == [("scan_failed", "warning")]
    scan("done")
    assert found(check) == []


def test_a_scan_that_met_an_empty_root_is_not_told_beside_it(db, tmp_path, clock):
    root = tmp_path / "bare"
    root.mkdir()
    row = library(db, root)
    db.write(
        lambda tx: tx.run(
            "UPDATE scan_runs SET state = 'failed', reason = 'root_unavailable' WHERE id = :id",
            id=scan_runs.begin(
                tx, row.id, started_by="user", scope="", mode="normal", now=clock.now()
            ),
        )
    )
    probes = RootProbes()
    assert ("library_empty", "warning") in found(rules.check_libraries(db, probes))
    assert found(rules.check_scans(db, probes)) == []

    (root / "x.flac").touch()
    assert found(rules.check_scans(db, RootProbes())) == [("scan_failed", "warning")]


def test_a_clock_that_jumps_is_told_for_an_hour(clock):
    check = rules.check_clock(clock)
    clock.advance(86400)
    assert found(check) == []

    clock.moment -= timedelta(hours=3)
    assert found(check) == [("clock_jump", "warning")]
    clock.advance(3500)
    assert found(check) == [("clock_jump", "warning")]
    clock.advance(200)
    assert found(check) == []


@pytest.mark.parametrize(
    ("pause", "codes"),
    [
        (None, []),
        (Pause(PauseCause.THROTTLED), [("worker_paused", "warning")]),
        (Pause(PauseCause.LANES_CLOSED), [("worker_paused", "warning")]),
        (Pause(PauseCause.STORAGE), [("worker_paused", "error")]),
        (Pause(PauseCause.NO_LANE), []),
        (Pause(PauseCause.SHUTDOWN), []),
    ],
)
def test_a_worker_that_claims_nothing(pause, codes):
    assert found(rules.check_worker(lambda: pause)) == codes


@pytest.mark.parametrize(
    ("fault", "remedy"),
    [
        (StorageFailed("no room for the database x.db; free some space"), "free some space"),
        (StorageFailed("x.db was removed or replaced; restart"), "restart"),
        (StoreBusy("x.db is held by another process; try again"), "end the program that holds it"),
        (StorageFailed("x.db cannot be used"), "check the disk of the database"),
    ],
)
def test_a_worker_that_storage_keeps_from_work_names_what_helps(fault, remedy):
    (entry,) = rules.check_worker(lambda: Pause(PauseCause.STORAGE, fault=fault))()
    why = str(fault).split("; ")[0]
    assert entry.detail == f"nothing is claimed: the database cannot be written ({why})"
    assert entry.remedy == remedy


def test_a_watcher_that_does_not_see_everything():
    assert found(rules.check_watcher(None)) == []
    assert found(rules.check_watcher(lambda: WatchState.ON)) == []
    for state in (WatchState.DEGRADED, WatchState.OFF):
        assert found(rules.check_watcher(lambda state=state: state)) == [
            ("watcher_degraded", "warning")
        ]


def test_every_code_has_its_place_in_the_list():
    assert len(set(CODES)) == 18


@pytest.mark.parametrize("state", ["missing", "empty", "filled"])
def test_a_service_says_which_libraries_it_cannot_see(tmp_path, clock, caplog, state):
    root = tmp_path / "shelf"
    root.mkdir()
    if state == "filled":
        (root / "a").mkdir()
    house = House(tmp_path, clock, "http://127.0.0.1:9")
    with house.running() as run:
        library(run.db, root)
        if state == "missing":
            root.rmdir()
        run.service.warn_of_libraries()
    told = [text for text in caplog.messages if str(root) in text]
    assert len(told) == (state != "filled")
