"""Reading by position, within a budget."""

import io
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.files.byte_source import (
    WINDOW,
    BoundedFile,
    ByteSource,
    MemoryView,
    Truncated,
    Unreasonable,
)

DATA = bytes(range(256)) * 128


@pytest.fixture(scope="module")
def fd(tmp_path_factory):
    path = tmp_path_factory.mktemp("source") / "data"
    path.write_bytes(DATA)
    number = os.open(path, os.O_RDONLY)
    yield number
    os.close(number)


@given(
    reads=st.lists(st.tuples(st.integers(0, len(DATA) + 9), st.integers(0, 2 * WINDOW)), max_size=9)
)
def test_any_reads_in_any_order_give_the_bytes_of_the_file(fd, reads):
    source = ByteSource(fd, len(DATA))
    for at, length in reads:
        assert (
            source.peek(at, length) == MemoryView(DATA).peek(at, length) == DATA[at : at + length]
        )


@pytest.mark.parametrize(("at", "length"), [(len(DATA), 1), (len(DATA) - 3, 4), (-1, 1), (0, -1)])
def test_bytes_that_are_not_there_are_truncation(fd, at, length):
    for view in (ByteSource(fd, len(DATA)), MemoryView(DATA)):
        with pytest.raises(Truncated):
            view.read(at, length)


def test_a_file_that_shrank_while_it_was_read_is_truncated(fd):
    with pytest.raises(Truncated):
        ByteSource(fd, len(DATA) * 2).read(len(DATA), 5)


def test_the_budget_bounds_what_is_read(fd):
    source = ByteSource(fd, len(DATA), budget=3 * WINDOW)
    for at in range(0, 3 * WINDOW, WINDOW):
        source.read(at, 1)
    with pytest.raises(Unreasonable):
        source.read(3 * WINDOW, 1)
    assert source.again(WINDOW).read(0, 4) == DATA[:4]


def test_a_failure_of_the_disk_is_remembered():
    source = ByteSource(-1, 100)
    with pytest.raises(OSError, match="descriptor"):
        source.read(0, 1)
    assert source.failure is not None


@given(st.data())
def test_a_bounded_file_behaves_like_a_file(fd, data):
    ours, theirs = BoundedFile(ByteSource(fd, len(DATA)), "x"), io.BytesIO(DATA)
    for _ in range(6):
        whence = data.draw(st.sampled_from([os.SEEK_SET, os.SEEK_END]))
        offset = data.draw(st.integers(0, len(DATA))) * (-1 if whence else 1)
        assert ours.seek(offset, whence) == theirs.seek(offset, whence)
        size = data.draw(st.integers(-1, 3 * WINDOW))
        assert ours.read(size) == theirs.read(size)
        assert ours.tell() == theirs.tell()


def test_a_bounded_file_cannot_be_read_for_ever(fd):
    file = BoundedFile(ByteSource(fd, len(DATA)), "x")
    with pytest.raises(OSError, match="beginning"):
        file.seek(-1)
    assert file.readable()
    assert file.seekable()

    def endlessly() -> None:
        while True:
            file.seek(0)

    with pytest.raises(Unreasonable):
        endlessly()


@given(
    looks=st.lists(
        st.tuples(st.integers(-1, len(DATA) + 9), st.integers(1, 2 * WINDOW), st.booleans()),
        max_size=9,
    )
)
def test_looking_ahead_gives_what_was_asked_for_or_all_there_is(fd, looks):
    source = ByteSource(fd, len(DATA))
    for at, least, reads in looks:
        if reads:
            source.peek(at, least)
        for view in (source, MemoryView(DATA)) if at >= 0 else (source,):
            found = view.ahead(at, least)
            assert found == (DATA[at : at + len(found)] if at >= 0 else b"")
            assert len(found) >= min(least, len(DATA) - at) or at < 0


def test_the_beginning_is_read_from_disk_once(fd):
    source = ByteSource(fd, len(DATA), budget=2 * WINDOW)
    source.peek(0, 10)
    source.peek(2 * WINDOW, 10)
    assert source.peek(5, 10) == DATA[5:15]
    assert source.ahead(20, 4)[:4] == DATA[20:24]
