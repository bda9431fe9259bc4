"""The log file: rotated, compressed, never torn."""

import gzip
import json
import logging
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import threading
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from fakes import FakeClock
from lyrsvc.core.redaction import Redactor
from lyrsvc.logs.formats import JsonFormat
from lyrsvc.logs.old_logs import FilePlan, find_old_logs, name_old_log
from lyrsvc.logs.rotation import RotatingFile

OLD_NAME = re.compile(r"lyrsvc-\d{8}T\d{9}Z\.log(\.gz)?")
TESTS = Path(__file__).parents[1]

posix_only = pytest.mark.skipif(os.name != "posix", reason="needs POSIX files")


class LogFile:
    """A handler on a file under test, with what it complained about."""

    def __init__(self, path, clock, *, guest=False, **plan):
        self.complaints = []
        plan = {"max_bytes": 1000, "max_files": 50, "max_age_days": 30, "compress": True} | plan
        self.handler = RotatingFile(
            FilePlan(path=path, **plan),
            clock=clock,
            warn=lambda what, why: self.complaints.append((what, why)),
            guest=guest,
        )
        self.handler.setFormatter(logging.Formatter("%(message)s"))
        self.path = path

    def write(self, *messages):
        for message in messages:
            self.handler.handle(logging.LogRecord("lyrsvc.x", 20, "", 0, message, (), None))

    def old(self):
        return [old.path for old in find_old_logs(self.path)]


@pytest.fixture
def log_file(tmp_path, clock):
    opened = []

    def make(path=None, **plan):
        one = LogFile(path or tmp_path / "logs" / "lyrsvc.log", plan.pop("clock", clock), **plan)
        opened.append(one)
        one.handler.open()
        return one

    yield make
    for one in opened:
        one.handler.close()


def lines_of(path):
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    assert text == "" or text.endswith("\n")
    return text.splitlines()


@posix_only
def test_directory_and_file_are_private(log_file, tmp_path):
    before = os.umask(0)
    try:
        one = log_file(tmp_path / "a" / "b" / "lyrsvc.log", max_bytes=10)
        one.write("first line", "second line")
        one.handler.close()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o750
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o750
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "a" / "b").iterdir()} == {
        0o600
    }


def test_the_file_is_rotated_when_the_next_line_would_pass_the_limit(log_file, clock):
    one = log_file(max_bytes=20, compress=False)
    one.write("123456789", "123456789")
    assert one.old() == []
    one.write("x")
    assert lines_of(one.path) == ["x"]
    [old] = one.old()
    assert lines_of(old) == ["123456789"] * 2
    assert old.name == "lyrsvc-20260131T140506000Z.log"


def test_a_line_longer_than_the_limit_is_written_whole(log_file):
    one = log_file(max_bytes=10, compress=False)
    one.write("y" * 50, "z" * 50)
    assert lines_of(one.path) == ["z" * 50]
    assert [lines_of(old) for old in one.old()] == [["y" * 50]]


def test_rotated_files_are_compressed_and_in_order_even_within_one_moment(log_file):
    one = log_file(max_bytes=30)
    one.write(*(f"line {number:04}" for number in range(100)))
    one.handler.close()
    old = one.old()
    assert len(old) > 20
    assert all(OLD_NAME.fullmatch(path.name) and path.suffix == ".gz" for path in old)
    written = [line for path in [*old, one.path] for line in lines_of(path)]
    assert written == [f"line {number:04}" for number in range(100)]
    assert not list(one.path.parent.glob("*.tmp"))


def test_no_more_than_max_files_are_kept_and_the_newest_stay(log_file):
    one = log_file(max_bytes=10, max_files=3)
    one.write(*(f"line {number:04}" for number in range(20)))
    one.handler.close()
    assert [lines_of(path) for path in one.old()] == [["line 0016"], ["line 0017"], ["line 0018"]]


def test_a_clock_that_is_set_back_does_not_make_the_newest_the_oldest(log_file, clock):
    one = log_file(max_bytes=10, max_files=2, compress=False)
    one.write("line 1", "line 2")
    clock.moment -= timedelta(hours=1)
    one.write("line 3", "line 4")
    one.handler.close()
    assert [lines_of(path) for path in one.old()] == [["line 2"], ["line 3"]]


def test_files_older_than_max_age_days_go_and_strangers_stay(log_file, clock):
    one = log_file(max_bytes=10, max_age_days=30, compress=False)
    one.write("line 1", "line 2")
    stranger = one.path.with_name("lyrsvc-notes.log")
    stranger.write_text("mine")
    impossible = one.path.with_name("lyrsvc-20269931T140506000Z.log")
    impossible.write_text("no date")
    clock.advance(timedelta(days=31).total_seconds())
    one.write("line 3")
    one.handler.close()
    assert [lines_of(path) for path in one.old()] == [["line 2"]]
    assert stranger.exists()
    assert impossible.exists()


def test_a_file_whose_own_time_is_too_old_goes_as_well(log_file, clock):
    one = log_file(max_bytes=10, compress=False)
    one.write("line 1", "line 2")
    [old] = one.old()
    os.utime(old, (0, 0))
    one.write("line 3")
    one.handler.close()
    assert [lines_of(path) for path in one.old()] == [["line 2"]]


def test_age_is_looked_at_every_day_even_without_rotation(log_file, clock):
    one = log_file(max_bytes=10, compress=False)
    one.write("line 1", "line 2")
    one.path.write_text("")
    clock.advance(timedelta(days=31).total_seconds())
    one.write("x")
    one.handler.close()
    assert one.old() == []


def test_what_a_killed_process_left_is_finished_by_the_next(log_file, tmp_path):
    first = log_file(max_bytes=10, compress=False)
    first.write("line 1", "line 2")
    first.handler.close()
    [raw] = first.old()
    left_over = raw.with_name(raw.name + ".gz.tmp")
    left_over.write_bytes(b"half")
    with first.path.open("a") as file:
        file.write("cut off in mid-li")

    second = log_file(max_bytes=1000)
    second.write("line 3")
    second.handler.close()

    assert lines_of(second.path) == ["line 2", "cut off in mid-li", "line 3"]
    assert [path.suffix for path in second.old()] == [".gz"]
    assert not left_over.exists()


def test_names_without_the_usual_ending_work_as_well(log_file, tmp_path):
    one = log_file(tmp_path / "out.txt", max_bytes=5)
    one.write("line 1", "line 2")
    one.handler.close()
    [old] = one.old()
    assert re.fullmatch(r"out\.txt-\d{8}T\d{9}Z\.log\.gz", old.name)


@posix_only
def test_a_symbolic_link_is_followed_and_stays_a_link(log_file, tmp_path):
    real = tmp_path / "real.log"
    link = tmp_path / "link.log"
    link.symlink_to(real)
    one = log_file(link, max_bytes=5, compress=False)
    one.write("line 1", "line 2")
    assert link.is_symlink()
    assert lines_of(real) == ["line 2"]


def test_a_second_writer_passes_its_records_by_and_says_so_once(log_file, clock):
    first = log_file()
    second = log_file()
    assert second.complaints == []  # a command that logs nothing complains of nothing
    second.write("lost 1", "lost 2")
    first.write("kept")
    assert lines_of(first.path) == ["kept"]
    assert [what for what, _ in second.complaints] == [
        "log file is written by another process; its lines are on stderr only"
    ]


def test_a_guest_leaves_the_file_to_its_writer_without_a_word(log_file, clock):
    first = log_file()
    guest = log_file(guest=True)
    guest.write("on stderr")
    first.write("kept")
    assert lines_of(first.path) == ["kept"]
    assert guest.complaints == []


def test_a_guest_that_meets_nobody_writes_and_tells_of_a_disk_that_refuses(log_file):
    guest = log_file(guest=True)
    guest.write("mine")
    assert lines_of(guest.path) == ["mine"]
    guest.handler.reopen()
    guest.path.unlink()
    guest.path.mkdir()
    guest.handler.reopen()
    guest.write("lost")
    assert len(guest.complaints) == 1


def test_the_second_writer_takes_over_when_the_first_is_gone(log_file, clock):
    first = log_file()
    second = log_file()
    first.handler.close()
    second.write("too early")
    clock.advance(31)
    second.write("mine now")
    assert lines_of(second.path) == ["mine now"]


@posix_only
def test_a_forked_child_leaves_the_file_to_its_parent(log_file):
    one = log_file()
    child = os.fork()
    if not child:
        one.write("from the child")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    one.write("from the parent")
    assert lines_of(one.path) == ["from the parent"]


@posix_only
def test_reopen_follows_a_file_that_was_moved_away(log_file, tmp_path):
    one = log_file()
    one.write("before")
    moved = one.path.rename(tmp_path / "moved.log")
    one.write("still there")
    one.handler.reopen()
    assert one.path.exists()
    one.write("after")
    assert lines_of(moved) == ["before", "still there"]
    assert lines_of(one.path) == ["after"]


@posix_only
def test_a_signal_in_the_middle_of_a_line_reopens_before_the_next(log_file, tmp_path):
    one = log_file()

    class Interrupting(logging.Formatter):
        def format(self, record):
            if record.msg == "interrupted":
                one.path.rename(tmp_path / "moved.log")
                signal.raise_signal(signal.SIGHUP)
            return super().format(record)

    one.handler.setFormatter(Interrupting("%(message)s"))
    before = signal.signal(signal.SIGHUP, lambda *_: one.handler.reopen())
    try:
        one.write("interrupted", "next")
    finally:
        signal.signal(signal.SIGHUP, before)
    assert lines_of(tmp_path / "moved.log") == ["interrupted"]
    assert lines_of(one.path) == ["next"]


def test_reopening_while_another_thread_writes_waits_for_the_next_line(log_file, tmp_path):
    one = log_file()
    one.write("before")
    with one.handler.lock:
        thread = threading.Thread(target=one.handler.reopen)
        thread.start()
        thread.join(10)
        assert not thread.is_alive()
    one.path.rename(tmp_path / "moved.log")
    one.write("after")
    assert lines_of(one.path) == ["after"]


@posix_only
@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="root may write anywhere")
def test_a_directory_that_refuses_rotation_keeps_the_line(log_file):
    one = log_file(max_bytes=10, compress=False)
    one.write("line 1")
    one.path.parent.chmod(0o500)
    try:
        one.write("line 2", "line 3")
    finally:
        one.path.parent.chmod(0o700)
    assert lines_of(one.path) == ["line 1", "line 2", "line 3"]
    assert len(one.complaints) == 1


def test_a_rotation_that_fails_keeps_the_line_and_is_tried_again_later(
    log_file, clock, monkeypatch
):
    one = log_file(max_bytes=10, compress=False)
    one.write("line 1")
    nowhere = one.path.parent / "missing" / "old.log"
    monkeypatch.setattr(
        "lyrsvc.logs.rotation.name_old_log", lambda _path, moment: (nowhere, moment)
    )
    one.write("line 2", "line 3")
    monkeypatch.undo()
    assert lines_of(one.path) == ["line 1", "line 2", "line 3"]
    assert len(one.complaints) == 1
    clock.advance(31)
    one.write("line 4")
    assert lines_of(one.path) == ["line 4"]


@posix_only
@pytest.mark.parametrize("what", ["file", "directory"])
def test_a_log_that_is_deleted_is_begun_anew_with_the_next_line(log_file, what):
    log = log_file()
    log.write("one")
    if what == "file":
        log.path.unlink()
    else:
        shutil.rmtree(log.path.parent)
    log.write("two", "three")
    assert log.path.read_text() == "two\nthree\n"
    assert log.complaints == []


def test_a_removed_directory_is_made_again_after_reopen(log_file):
    one = log_file()
    one.write("before")
    for path in one.path.parent.iterdir():
        path.unlink()
    one.path.parent.rmdir()
    one.handler.reopen()
    one.write("after")
    assert lines_of(one.path) == ["after"]


@pytest.mark.parametrize("kind", ["directory", "below a file"])
def test_a_path_that_can_hold_no_log_is_refused_when_opened(tmp_path, clock, kind):
    (tmp_path / "file").write_text("")
    path = tmp_path if kind == "directory" else tmp_path / "file" / "lyrsvc.log"
    one = LogFile(path, clock)
    with pytest.raises(OSError, match=r"directory|regular|exists"):
        one.handler.open()


def test_writing_after_close_opens_again_rather_than_failing(log_file, clock):
    one = log_file()
    one.handler.close()
    one.handler.close()
    clock.advance(31)
    one.write("late")
    assert lines_of(one.path) == ["late"]


def test_many_threads_tear_no_line_while_the_file_is_rotated(log_file):
    one = log_file(max_bytes=2000, max_files=10_000)

    def write(lane):
        one.write(*(f"{lane}-{number:03} {'x' * 40}" for number in range(150)))

    threads = [threading.Thread(target=write, args=(lane,)) for lane in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    one.handler.close()
    written = [line for path in [*one.old(), one.path] for line in lines_of(path)]
    assert sorted(written) == sorted(
        f"{lane}-{number:03} {'x' * 40}" for lane in range(4) for number in range(150)
    )


def test_tidying_that_fails_is_told_and_costs_no_line(log_file):
    one = log_file(max_bytes=10)
    one.path.with_name("lyrsvc-x.log.gz.tmp").mkdir()
    one.write("line 1", "line 2")
    one.handler.close()
    assert [what for what, _ in one.complaints] == ["old log files cannot be tidied up"]
    assert [lines_of(path) for path in [*one.old(), one.path]] == [["line 1"], ["line 2"]]


def test_the_end_does_not_wait_for_ever_and_leaves_the_file_to_the_next(log_file, monkeypatch):
    monkeypatch.setattr("lyrsvc.logs.old_logs.LAST_WAIT_S", 0)
    one = log_file(max_bytes=10)
    one.write(os.urandom(8_000_000).hex())
    one.write("line 2")
    one.handler.close()
    for thread in threading.enumerate():
        if thread.name == "log-tidier":
            thread.join(30)
    assert [path.suffix for path in one.old()] == [".log"]
    assert not list(one.path.parent.glob("*.tmp"))
    assert one.complaints == []


def test_a_compression_that_is_given_up_leaves_the_file_as_it_was(log_file):
    one = log_file(max_bytes=10, compress=False)
    one.write("line 1", "line 2")
    one.handler.close()
    [raw] = one.old()
    with pytest.raises(InterruptedError):
        one.handler._tidier._compress(raw)
    assert one.old() == [raw]
    assert lines_of(raw) == ["line 1"]
    assert not list(one.path.parent.glob("*.tmp"))


def test_a_disk_that_refuses_to_reopen_is_told_once_and_recovers(log_file, tmp_path):
    one = log_file()
    one.path.unlink()
    one.path.mkdir()
    one.handler.reopen()
    one.write("lost")
    one.path.rmdir()
    one.write("back")
    assert lines_of(one.path) == ["back"]
    assert len(one.complaints) == 1


PROCESS = """
import logging, sys, time
from datetime import UTC, datetime
from lyrsvc.core.redaction import Redactor
from lyrsvc.logs.setup import LogConfig, set_up

class Clock:
    def now(self): return datetime.now(UTC)
    monotonic = staticmethod(time.monotonic)

name, path = sys.argv[1:]
config = LogConfig(format="json", file=path, max_size_mb=1, max_files=20)
logs = set_up(config, redactor=Redactor(), stream=sys.stderr, clock=Clock())
print("ready", flush=True)
sys.stdin.readline()
for number in range(2500):
    logging.getLogger("lyrsvc." + name).info("line", extra={"number": number, "filler": "é" * 450})
print("done", flush=True)
sys.stdin.readline()
"""


@posix_only
@pytest.mark.spec("C-54")
def test_two_processes_lose_and_tear_no_line_over_several_rotations(tmp_path):
    path = tmp_path / "logs" / "lyrsvc.log"
    errors = {name: tmp_path / f"{name}.stderr" for name in ("one", "two")}
    with ExitStack() as running:
        runs = [
            running.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", PROCESS, name, str(path)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=running.enter_context(error.open("wb")),
                    text=True,
                )
            )
            for name, error in errors.items()
        ]
        for said in ("ready", "done"):
            for run in runs:
                assert run.stdout.readline().strip() == said
            for run in runs:
                run.stdin.write("go on\n")
                run.stdin.flush()
    assert [run.returncode for run in runs] == [0, 0]

    old = [old.path for old in find_old_logs(path)]
    filed = [json.loads(line) for one in [*old, path] for line in lines_of(one)]
    shown = {
        name: [json.loads(line) for line in error.read_text().splitlines()]
        for name, error in errors.items()
    }
    assert len(old) >= 2
    assert all(one.suffix == ".gz" for one in old)
    assert max(len(gzip.decompress(one.read_bytes())) for one in old) <= 1024 * 1024
    for name, lines in shown.items():
        numbers = [line["number"] for line in lines if line["logger"] == f"lyrsvc.{name}"]
        assert numbers == list(range(2500))
    [writer] = {line["logger"] for line in filed}
    assert [line["number"] for line in filed] == list(range(2500))
    other = next(name for name in shown if f"lyrsvc.{name}" != writer)
    warnings = [line["msg"] for line in shown[other] if line["level"] == "warn"]
    assert warnings == ["log file is written by another process; its lines are on stderr only"]


FULL_DISK = """
import logging, resource, sys
from fakes import FakeClock
from lyrsvc.core.redaction import Redactor
from lyrsvc.logs.setup import LogConfig, set_up

resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
set_up(LogConfig(file=sys.argv[1]), redactor=Redactor(), stream=sys.stderr, clock=FakeClock())
for number in range(1000):
    logging.getLogger("lyrsvc").info("line", extra={"number": number, "filler": "x" * 100})
"""


@posix_only
def test_a_full_disk_leaves_whole_lines_and_one_warning(tmp_path):
    path = tmp_path / "lyrsvc.log"
    run = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(path)],
        capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(TESTS)}, check=True,
    )  # fmt: skip
    shown = run.stderr.splitlines()
    assert "Traceback" not in run.stderr
    assert sum(" WARN  lyrsvc.logs log file cannot be written;" in line for line in shown) == 1
    assert sum(" INFO  lyrsvc line number=" in line for line in shown) == 1000
    filed = lines_of(path)
    assert 200 < len(filed) < 1000
    assert all(line.endswith("x" * 100) for line in filed)


def test_the_handler_writes_the_real_formats(log_file):
    one = log_file()
    one.handler.setFormatter(JsonFormat(Redactor()))
    one.write("caf\udce9 東京")
    [line] = lines_of(one.path)
    assert json.loads(line)["msg"] == "caf\ufffd 東京"


def test_a_fresh_clock_is_all_the_names_depend_on(tmp_path):
    moment = FakeClock().moment
    path = tmp_path / "lyrsvc.log"
    first, _ = name_old_log(path, moment)
    first.with_name(first.name + ".gz").write_bytes(b"")
    second, told = name_old_log(path, moment)
    assert second.name == "lyrsvc-20260131T140506001Z.log"
    assert told == moment + timedelta(milliseconds=1)
