import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.core.audio_windows import Window, spread_windows


def test_six_windows_of_an_hour_are_in_the_middle_of_their_shares():
    windows = spread_windows(3600, sample_s=30, count=6)
    assert windows == tuple(Window(300 + 600 * i - 2.5, 5.0) for i in range(6))


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_windows_are_one_at_the_start(count):
    assert spread_windows(300, sample_s=30, count=count) == (Window(0.0, 30.0),)


def test_a_track_no_longer_than_the_sample_is_heard_whole():
    assert spread_windows(30, sample_s=30, count=6) == (Window(0.0, 30.0),)
    assert spread_windows(12.5, sample_s=30, count=6) == (Window(0.0, 12.5),)


@pytest.mark.parametrize("unknown", [None, 0, -1])
def test_a_track_of_unknown_length_is_heard_from_its_start(unknown):
    assert spread_windows(unknown, sample_s=30, count=6) == (Window(0.0, 30.0),)


def test_a_window_is_never_shorter_than_a_second():
    assert {w.length_s for w in spread_windows(200, sample_s=30, count=30)} == {1.0}


@given(
    st.floats(min_value=0.01, max_value=1e6),
    st.integers(min_value=30, max_value=60),
    st.integers(min_value=0, max_value=30),
)
def test_windows_lie_inside_the_track_in_order_and_never_exceed_the_sample(length, sample_s, count):
    windows = spread_windows(length, sample_s=sample_s, count=count)
    starts = [w.start_s for w in windows]
    assert starts == sorted(starts)
    assert all(w.start_s >= 0 and w.start_s + w.length_s <= length + 1e-6 for w in windows)
    assert sum(w.length_s for w in windows) <= sample_s
