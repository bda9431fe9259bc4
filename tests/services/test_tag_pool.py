"""Reading tags: in this process, in others, and in spite of what gets stuck."""

import os
import resource
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from builders import minimal_flac
from lyrsvc.core.recording import Recording
from lyrsvc.core.scan_facts import Embedded, TagFacts, Unreadable, describe
from lyrsvc.services.tag_channels import Died, ProcessChannel, Stuck, ThreadChannel, ask
from lyrsvc.services.tag_pool import MOST_STUCK, SMALL, TagPool
from lyrsvc.services.tag_reading import read_facts


def make(folder: Path, number: int) -> list[str]:
    return [
        str(minimal_flac(folder / f"{at}.flac", title=f"Song {at}", artist="Quillon Marsh"))
        for at in range(number)
    ]


def drain(pool):
    pool.flush()
    found = {}
    while not pool.is_idle:
        found.update(pool.answers(wait_s=5))
    return found


@pytest.mark.parametrize("worth_s", [0.0, 60.0])
@pytest.mark.parametrize("number", [1, 40, SMALL * 3])
def test_every_file_is_answered_once_whoever_reads_it(tmp_path, number, worth_s):
    paths = make(tmp_path, number)

    with TagPool(str(tmp_path), enrich=True, workers=2, worth_s=worth_s) as pool:
        for path in paths:
            pool.ask(path, path)
        found = drain(pool)

    assert {path: facts.title for path, facts in found.items()} == {
        path: f"Song {at}" for at, path in enumerate(paths)
    }


def test_a_process_reads_the_same_as_this_one(tmp_path):
    odd = os.fsdecode(b"odd\xff\nname.flac")
    minimal_flac(
        tmp_path / odd,
        title="Ärger\U0001f600",
        artists=["A", "B"],
        artist="A; B",
        isrc=["GBAYE0000351", "GBAYE0000352"],
        lyrics="[00:01.00]one\n[00:02.00]two",
    )
    (tmp_path / "empty.flac").touch()
    (tmp_path / "noise.mp3").write_bytes(os.urandom(3000))
    paths = [str(tmp_path / name) for name in (odd, "empty.flac", "noise.mp3", "missing.flac")]
    channel = ProcessChannel(str(tmp_path), enrich=True)
    try:
        answers = ask(channel, paths, wait_s=30)
    finally:
        channel.close()

    assert answers == [read_facts(path, str(tmp_path), enrich=True) for path in paths]
    assert isinstance(answers[0], TagFacts)
    assert answers[0].embedded == Embedded.SYNCED
    assert [answer.reason for answer in answers[1:]] == ["empty_file", "bad_container", "io_error"]


def test_a_process_is_heard_when_more_files_are_open_than_select_can_count(tmp_path):
    (path,) = make(tmp_path, 1)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(before[1], 4096), before[1]))
    try:
        with ExitStack() as opened:
            for _ in range(1100):
                opened.enter_context(Path(os.devnull).open("rb"))
            channel = ProcessChannel(str(tmp_path), enrich=True)
            opened.callback(channel.close)
            (found,) = ask(channel, [path], wait_s=30)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert found.title == "Song 0"


def test_a_process_that_was_killed_says_so(tmp_path):
    channel = ProcessChannel(str(tmp_path), enrich=True)
    channel.kill()
    with pytest.raises((Died, ValueError)):
        ask(channel, ["x"], wait_s=5)


def test_a_thread_that_takes_too_long_is_stuck():
    gate = threading.Event()
    channel = ThreadChannel(lambda path: gate.wait(10) or Unreadable("x", path))
    with pytest.raises(Stuck):
        ask(channel, ["x"], wait_s=0.01)
    gate.set()
    channel.close()


class Reader:
    """Reads at once, but for names it gets stuck on."""

    def __init__(self):
        self.gate = threading.Event()

    def __call__(self, path: str):
        if "stuck" in path:
            self.gate.wait(30)
        return describe(Recording(title=path, artist="Marsh"))


@pytest.fixture
def reader():
    reader = Reader()
    yield reader
    reader.gate.set()


def test_a_file_that_takes_too_long_costs_its_reader_and_no_other_file(reader):
    with TagPool("/", enrich=True, workers=1, timeout_s=0.05, read=reader) as pool:
        for name in ("a", "stuck", "b"):
            pool.ask(name, name)
        found = drain(pool)

    assert found["stuck"].reason == "tag_timeout"
    assert (found["a"].title, found["b"].title) == ("a", "b")
    assert not pool.is_broken


def test_too_many_stuck_readers_end_it(reader):
    with TagPool("/", enrich=True, workers=1, timeout_s=0.02, read=reader) as pool:
        for number in range(MOST_STUCK + 2):
            pool.ask(number, f"stuck {number}")
        found = drain(pool)

    assert pool.is_broken
    assert {facts.reason for facts in found.values()} == {"tag_timeout"}
    assert len(found) == MOST_STUCK + 2


def test_whatever_a_reader_raises_is_an_answer(tmp_path, monkeypatch):
    def fail(*_args, **_options):
        raise RuntimeError("boom")

    monkeypatch.setattr("lyrsvc.services.tag_reading.read_tags", fail)

    facts = read_facts(str(tmp_path / "x.flac"), str(tmp_path), enrich=True)

    assert facts.reason == "bad_container"
    assert "boom" not in facts.text


def test_without_an_interpreter_to_start_files_are_read_here(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.executable", "")
    paths = make(tmp_path, SMALL * 2)
    with TagPool(str(tmp_path), enrich=True, workers=2, worth_s=0) as pool:
        for path in paths:
            pool.ask(path, path)
        assert len(drain(pool)) == SMALL * 2


def test_no_process_is_left_behind(tmp_path):
    paths = make(tmp_path, SMALL * 2)
    others = set(_children())
    with TagPool(str(tmp_path), enrich=True, workers=2, worth_s=0) as pool:
        for path in paths:
            pool.ask(path, path)
        drain(pool)
        started = set(_children()) - others
    assert started
    assert not started & set(_children())


def _children() -> list[str]:
    """Give the processes whose parent this one is."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[1] == str(os.getpid()) and fields[0] != "Z":
            found.append(stat.parent.name)
    return found


class Slow:
    """A channel that notes what it was sent before it had answered."""

    def __init__(self):
        self.sent, self.most = [], 0

    def send(self, paths):
        self.sent.append(list(paths))
        self.most = max(self.most, len(self.sent))

    def receive(self, *, wait_s):
        return [describe(Recording(title=path, artist="Marsh")) for path in self.sent.pop(0)]

    def takes_more(self, paths):
        return "long" not in paths[0]

    def close(self):
        pass


@pytest.mark.parametrize(("name", "most"), [("short", 2), ("long", 1)])
def test_a_reader_has_its_next_files_before_it_has_answered_unless_they_are_too_many(name, most):
    channel = Slow()
    pool = TagPool("/", enrich=True, workers=1, worth_s=0)
    pool._open_process = lambda: channel
    pool._open_thread = Slow
    pool._is_relieved.set()
    with pool:
        for number in range(SMALL * 4):
            pool.ask(number, f"{name} {number}")
        found = drain(pool)

    assert {number: facts.title for number, facts in found.items()} == {
        number: f"{name} {number}" for number in range(SMALL * 4)
    }
    assert channel.most == most


def test_long_paths_are_not_sent_ahead(tmp_path):
    channel = ProcessChannel(str(tmp_path), enrich=True)
    try:
        assert channel.takes_more(["/music/x.flac"] * 32)
        assert not channel.takes_more(["/" + "x" * 4000] * 32)
        many = [f"/{number:04}{'x' * 4000}" for number in range(64)]
        assert [facts.reason for facts in ask(channel, many, wait_s=30)] == ["io_error"] * 64
    finally:
        channel.close()


def test_a_file_that_kills_its_reader_costs_no_other_file(tmp_path):
    """The chunk that was sent ahead is read by the next reader."""

    class Dying(Slow):
        def receive(self, *, wait_s):
            if any("deadly" in path for path in self.sent[0]):
                raise Died
            return super().receive(wait_s=wait_s)

    pool = TagPool(str(tmp_path), enrich=True, workers=1, worth_s=0)
    pool._open_process = pool._open_thread = Dying
    with pool:
        for number in range(SMALL * 3):
            name = "deadly" if number == SMALL * 2 else f"song {number}"
            pool.ask(number, name)
        found = drain(pool)

    assert len(found) == SMALL * 3
    assert [facts.reason for facts in found.values() if isinstance(facts, Unreadable)] == [
        "bad_container"
    ]


def test_readers_that_wait_for_the_disk_get_company(tmp_path):
    paths = make(tmp_path, SMALL * 6)
    pool = TagPool(str(tmp_path), enrich=True, workers=4, worth_s=0)
    pool._useful = 1
    with pool:
        for path in paths[: SMALL * 3]:
            pool.ask(path, path)
        first = drain(pool)
        assert len(pool._threads) == 2
        pool._useful = pool._most  # what a channel that waits brings about
        for path in paths[SMALL * 3 :]:
            pool.ask(path, path)
        second = drain(pool)
        assert len(pool._threads) == 5
    assert len(first) + len(second) == len(paths)
