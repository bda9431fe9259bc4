"""How far a long command is."""

import io
import logging
import os
import struct
import threading
import unicodedata
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes import FakeClock
from lyrsvc.cli.progress import Progress, ProgressLine, compose, is_wanted, terminal_width
from lyrsvc.core.display import display_width
from lyrsvc.core.redaction import Redactor
from lyrsvc.logs.setup import LogConfig, set_up

pty = pytest.importorskip("pty")
fcntl = pytest.importorskip("fcntl")
termios = pytest.importorskip("termios")

COUNTERS = {"synced": 3, "plain": 1, "miss": 2}
TITLES = ("宇多田ヒカル - 初恋.flac", "서태지와 아이들 - 난 알아요.mp3", "Sigur Rós - Untitled.ogg")


class Screen:
    """A terminal of the simplest kind: it wraps, returns and overwrites."""

    def __init__(self, columns):
        self.columns = columns
        self.rows = [{}]
        self.at = 0
        self.wraps = 0

    def feed(self, text):
        for one in text:
            if one == "\r":
                self.at = 0
            elif one == "\n":
                self.rows.append({})
            else:
                assert unicodedata.category(one) != "Cc"
                self._put(one)

    def _put(self, one):
        if unicodedata.combining(one):
            return
        columns = 2 if unicodedata.east_asian_width(one) in "WF" else 1
        if self.at + columns > self.columns:
            self.wraps += 1
            self.rows.append({})
            self.at = 0
        self.rows[-1][self.at] = one
        self.rows[-1].pop(self.at + 1, None) if columns == 2 else None
        self.at += columns

    def shown(self):
        return ["".join(one for _, one in sorted(row.items())).rstrip() for row in self.rows]


@contextmanager
def a_terminal(columns):
    """Open a real pseudo-terminal; give its stream and what reads the other side."""
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 25, columns, 0, 0))
    received = []

    def read():
        while True:
            try:
                data = os.read(outer, 65536)
            except OSError:  # the other side is closed
                return
            if not data:
                return
            received.append(data)

    reader = threading.Thread(target=read)
    reader.start()
    with os.fdopen(inner, "w", encoding="utf-8", newline="") as stream:
        yield stream, lambda: (stream.close(), reader.join(10), b"".join(received).decode())[2]
    reader.join(10)
    os.close(outer)


def a_line(clock, stream=None, *, columns=80, enabled=True, **options):
    return ProgressLine(stream or io.StringIO(), clock, enabled, width=lambda: columns, **options)


def last(stream):
    return stream.getvalue().rpartition("\r")[2]


@pytest.mark.spec("C-51")
@pytest.mark.parametrize("columns", [80, 20])
def test_on_a_terminal_it_is_one_line_that_never_wraps_and_is_gone_at_the_end(clock, columns):
    with a_terminal(columns) as (stream, received):
        assert terminal_width(stream) == columns
        with ProgressLine(stream, clock, stream.isatty()) as line:
            for done in range(60):
                line.update(done=done, total=340, counters=COUNTERS, current=TITLES[done % 3])
                clock.advance(0.2)
            line.countdown(14.2, "pacing of lane defaultprov: 待って")
        text = received()

    screen = Screen(columns)
    screen.feed(text)
    assert screen.wraps == 0
    assert screen.shown() == [""]
    assert "59/340" in text
    assert "宇" in text
    assert ("初恋" in text) is (columns == 80)


@pytest.mark.spec("C-51")
@pytest.mark.parametrize("columns", [80, 20])
def test_log_lines_and_notes_stand_whole_above_the_line(clock, columns):
    with a_terminal(columns) as (stream, received):
        logs = set_up(LogConfig(), redactor=Redactor(), stream=stream, clock=clock)
        with ProgressLine(stream, clock, True) as line:
            logs.draw_through(line.log_through)
            line.update(done=1, total=9, current=TITLES[0])
            logging.getLogger("lyrsvc.x").info("one")
            clock.advance(1)
            line.update(done=2, total=9, current=TITLES[1])
            logging.getLogger("lyrsvc.x").info("two")
            logs.draw_through(None)
        logs.close()
        text = received()

    screen = Screen(200)  # wide enough that only the log lines' own ends break
    screen.feed(text)
    first, second, rest = screen.shown()
    assert first.endswith(" INFO  lyrsvc.x one")
    assert second.endswith(" INFO  lyrsvc.x two")
    assert rest == ""


def test_the_line_shows_steps_counters_rate_time_left_and_current_file(clock):
    stream = io.StringIO()
    line = a_line(clock, stream, columns=100)
    line.update(done=0, total=340)
    clock.advance(100)
    line.update(done=40, total=340, counters=COUNTERS, current="a.flac")
    assert last(stream) == "40/340  3 synced 1 plain 2 miss  24.0/min  12:30 left  a.flac"


def test_a_scan_without_a_known_end_shows_files_so_far(clock):
    stream = io.StringIO()
    line = a_line(clock, stream)
    line.update(done=0)
    clock.advance(2)
    line.update(done=5000, current="a.flac")
    assert last(stream) == "5000 files  2500/s  a.flac"


def test_the_time_left_follows_the_pace_of_the_lane_that_is_waited_for(clock):
    stream = io.StringIO()
    a_line(clock, stream).update(done=10, total=250, pace_s=15)
    assert last(stream) == "10/250  1:00:00 left"


def test_resuming_in_the_middle_does_not_inflate_the_rate(clock):
    stream = io.StringIO()
    line = a_line(clock, stream)
    line.update(done=1000, total=2000)
    clock.advance(10)
    line.update(done=1050, total=2000)
    assert last(stream) == "1050/2000  5.0/s  3:10 left"


def test_a_countdown_shows_the_wait_and_its_reason_until_the_next_update(clock):
    stream = io.StringIO()
    line = a_line(clock, stream)
    line.update(done=10, total=250, pace_s=15, current="a.flac")
    line.countdown(14.2, "pacing lrclib")  # at once, though a line was just drawn
    assert last(stream) == "10/250  waiting 15 s: pacing lrclib  1:00:00 left"
    clock.advance(1)
    line.countdown(-1, "pacing lrclib")
    assert "waiting" not in last(stream)
    clock.advance(1)
    line.countdown(90, "breaker open")
    clock.advance(1)
    line.update(done=11, total=250, current="b.flac")
    assert last(stream).startswith("11/250")
    assert last(stream).endswith("b.flac")


def test_it_is_drawn_at_most_ten_times_in_any_second(clock):
    class Counting(io.StringIO):
        drawn = ()

        def write(self, text):
            self.drawn += (clock.monotonic(),)
            return super().write(text)

    stream = Counting()
    line = a_line(clock, stream)
    for step in range(3000):
        line.update(done=step, total=3000)
        line.countdown(step % 3, "pacing")
        with line.log_through():
            pass
        clock.advance(0.003)
    drawn = [
        moment
        for moment, text in zip(
            stream.drawn, stream.getvalue().split("\r" + " " * 79 + "\r")[1:], strict=False
        )
        if text
    ]
    assert len(drawn) > 50
    for moment in drawn:
        assert sum(moment <= other < moment + 1.0 for other in drawn) <= 10


def test_control_characters_in_names_are_shown_not_sent(clock):
    stream = io.StringIO()
    a_line(clock, stream).update(done=1, current="a\x1b[2Jb\r\nc\udce9.flac")
    assert last(stream) == r"1 files  a\x1b[2Jb\x0d\nc\xe9.flac"


def test_a_stream_without_unicode_gets_escapes_that_still_fit(clock):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", write_through=True)
    line = a_line(clock, stream, columns=30)
    line.update(done=1, current="東京の夜はふけて.flac")
    shown = raw.getvalue().decode().rpartition("\r")[2]
    assert shown.startswith(r"1 files  \u6771")
    assert shown.endswith("~")
    assert len(shown) == 29


@pytest.mark.parametrize("columns", [0, -5])
def test_an_unknown_width_counts_as_eighty(clock, columns):
    stream = io.StringIO()
    a_line(clock, stream, columns=columns).update(done=1, current="x" * 200)
    assert display_width(last(stream)) == 79


def test_what_matters_least_is_left_out_first():
    progress = Progress(
        done=12, total=340, counters=COUNTERS, rate=0.4, left_s=750, current="初恋 初恋 初恋"
    )
    assert compose(progress, 79) == (
        "12/340  3 synced 1 plain 2 miss  24.0/min  12:30 left  初恋 初恋 初恋"
    )
    assert compose(progress, 45) == "12/340  3 synced 1 plain 2 miss  12:30 left"
    assert compose(progress, 30) == "12/340  12:30 left  初恋 初恋…"
    assert compose(progress, 19) == "12/340  12:30 left"
    assert compose(progress, 10) == "12/340"
    assert compose(progress, 4) == "12/…"


def test_a_narrow_terminal_still_tells_that_it_waits():
    progress = Progress(done=12, total=340, wait_s=14, reason="pacing of lane defaultprov")
    assert compose(progress, 19) == "12/340  wait 14 s"


@given(
    st.integers(1, 120),
    st.builds(
        Progress,
        done=st.integers(0),
        total=st.none() | st.integers(0),
        counters=st.dictionaries(st.text(), st.integers(), max_size=4),
        current=st.text(st.characters(exclude_categories=())),
        rate=st.floats(0, 1e6),
        left_s=st.none() | st.floats(0, allow_infinity=False),
        wait_s=st.floats(0, 1e9),
        reason=st.text(),
    ),
)
def test_the_line_always_fits(columns, progress):
    line = compose(progress, columns)
    assert display_width(line) <= columns
    assert not any(unicodedata.category(one) in {"Cc", "Cs"} for one in line)


@pytest.mark.spec("C-51")
def test_piped_there_is_no_line_but_a_log_line_every_minute_and_a_summary(clock, caplog):
    stream = io.StringIO()
    with caplog.at_level(logging.INFO), a_line(clock, stream, enabled=False) as line:
        for done in range(150):
            line.update(done=done, total=200, counters={"synced": done}, current="a.flac")
            with line.log_through():
                clock.advance(1)
        line.countdown(9.6, "pacing")
    assert stream.getvalue() == ""
    assert caplog.messages == ["progress", "progress", "finished"]
    first, _, summary = [record.fields for record in caplog.records]
    assert first == {
        "done": 60, "total": 200, "counters": {"synced": 60}, "per_minute": 60.0, "left_s": 140,
        "current": "a.flac",
    }  # fmt: skip
    assert summary == {"done": 149, "total": 200, "counters": {"synced": 149}, "per_minute": 60.0}


def test_a_minute_of_waiting_is_reported_with_its_reason(clock, caplog):
    with caplog.at_level(logging.INFO), a_line(clock, enabled=False) as line:
        line.update(done=1)
        clock.advance(61)
        line.countdown(30, "breaker open")
    assert caplog.records[0].fields == {"done": 1, "wait_s": 30, "reason": "breaker open"}


def test_a_command_that_did_nothing_reports_nothing(clock, caplog):
    with caplog.at_level(logging.INFO), a_line(clock, enabled=False):
        pass
    assert caplog.messages == []


def test_closing_twice_and_late_updates_draw_nothing(clock):
    stream = io.StringIO()
    line = a_line(clock, stream)
    line.update(done=1)
    line.close()
    line.close()
    before = stream.getvalue()
    clock.advance(5)
    line.update(done=2)
    assert stream.getvalue() == before
    assert last(stream) == ""


def test_a_terminal_that_went_away_is_no_error(clock):
    stream = io.StringIO()
    line = a_line(clock, stream)
    line.update(done=1)
    stream.close()
    clock.advance(1)
    line.update(done=2)
    with line.log_through():
        pass
    line.close()


def test_a_line_is_wanted_only_on_a_terminal_and_when_nobody_asked_for_less():
    usual = {"term": "xterm", "quiet": False, "as_json": False}
    closed = io.StringIO()
    closed.close()
    with a_terminal(80) as (stream, received):
        assert is_wanted(stream, **usual)
        assert not is_wanted(stream, **usual | {"term": "dumb"})
        assert not is_wanted(stream, **usual | {"quiet": True})
        assert not is_wanted(stream, **usual | {"as_json": True})
        received()
    assert not is_wanted(io.StringIO(), **usual)
    assert not is_wanted(closed, **usual)
    assert not is_wanted(None, **usual)


def test_the_width_of_no_terminal_is_eighty():
    assert terminal_width(io.StringIO()) == 80


def test_many_threads_may_log_and_update_at_once():
    clock = FakeClock()
    stream = io.StringIO()
    logs = set_up(LogConfig(), redactor=Redactor(), stream=stream, clock=clock)
    line = a_line(clock, stream)
    logs.draw_through(line.log_through)

    def work(lane):
        for number in range(200):
            line.update(done=number, total=200)
            logging.getLogger("lyrsvc.x").info("step", extra={"lane": lane})
            clock.advance(0.05)

    threads = [threading.Thread(target=work, args=(lane,)) for lane in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    logs.close()
    line.close()
    assert not any(thread.is_alive() for thread in threads)
    assert stream.getvalue().count("lyrsvc.x step lane=") == 800
