"""Reading tags: in this process, in others, and in spite of what gets stuck."""

import os
import threading
from pathlib import Path

import pytest

from builders import minimal_flac
from lyrsvc.core.recording import Recording
from lyrsvc.core.scan_facts import Embedded, TagFacts, Unreadable, describe
from lyrsvc.services.tag_channels import Died, ProcessChannel, Stuck, ThreadChannel
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
        answers = channel.ask(paths, wait_s=30)
    finally:
        channel.close()

    assert answers == [read_facts(path, str(tmp_path), enrich=True) for path in paths]
    assert isinstance(answers[0], TagFacts)
    assert answers[0].embedded == Embedded.SYNCED
    assert [answer.reason for answer in answers[1:]] == ["empty_file", "bad_container", "io_error"]


def test_a_process_that_was_killed_says_so(tmp_path):
    channel = ProcessChannel(str(tmp_path), enrich=True)
    channel.kill()
    with pytest.raises((Died, ValueError)):
        channel.ask(["x"], wait_s=5)


def test_a_thread_that_takes_too_long_is_stuck():
    gate = threading.Event()
    channel = ThreadChannel(lambda path: gate.wait(10) or Unreadable("x", path))
    with pytest.raises(Stuck):
        channel.ask(["x"], wait_s=0.01)
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
    with TagPool(str(tmp_path), enrich=True, workers=2, worth_s=0) as pool:
        for path in paths:
            pool.ask(path, path)
        drain(pool)
        started = _children()
    assert started
    assert not set(started) & set(_children())


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
