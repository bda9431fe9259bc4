"""The one set-up of logging."""

import gc
import io
import json
import logging
import sys
import threading
import warnings
from contextlib import contextmanager

import pytest

from lyrsvc.core.redaction import Redactor
from lyrsvc.logs.crashes import log_crashes
from lyrsvc.logs.notes import tell, tell_error
from lyrsvc.logs.setup import LogConfig, set_up

LOG = logging.getLogger("lyrsvc.worker")


@pytest.fixture
def start(clock):
    started = []

    def start(*, redactor=None, stream=None, quiet=False, also=(), **config):
        stream = stream or io.StringIO()
        logs = set_up(
            LogConfig(**config),
            redactor=redactor or Redactor(),
            stream=stream,
            clock=clock,
            quiet=quiet,
            also=also,
        )
        started.append(logs)
        logs.shown = lambda: stream.getvalue().splitlines()
        return logs

    yield start
    for logs in started:
        logs.close()


def ours():
    return [one for one in logging.getLogger().handlers if (one.name or "").startswith("lyrsvc:")]


@pytest.mark.parametrize(
    ("level", "written"),
    [
        ("debug", ["d", "i", "w", "e"]),
        ("info", ["i", "w", "e"]),
        ("warn", ["w", "e"]),
        ("warning", ["w", "e"]),
        ("error", ["e"]),
        ("ERROR", ["e"]),
    ],
)
def test_the_level_decides_what_is_written_to_console_and_file(start, tmp_path, level, written):
    path = tmp_path / "lyrsvc.log"
    logs = start(level=level, format="json", file=str(path))
    LOG.debug("d")
    LOG.info("i")
    LOG.warning("w")
    LOG.error("e")
    assert [json.loads(line)["msg"] for line in logs.shown()] == written
    assert path.read_text().splitlines() == logs.shown()


def test_libraries_are_heard_from_warnings_up_even_at_debug(start):
    logs = start(level="debug", format="json")
    logging.getLogger("uvicorn.access").info("GET /")
    logging.getLogger("urllib3.connectionpool").debug("Starting new connection")
    logging.getLogger("uvicorn.error").warning("slow")
    assert [json.loads(line)["logger"] for line in logs.shown()] == ["uvicorn.error"]


def test_handlers_a_library_brought_along_are_taken_from_it(start):
    own = io.StringIO()
    logger = logging.getLogger("uvicorn")
    logger.addHandler(logging.StreamHandler(own))
    logger.propagate = False
    logs = start()
    logger.warning("raw apikey=abc")
    assert own.getvalue() == ""
    assert logs.shown()[0].endswith("uvicorn raw apikey=[REDACTED]")


def test_quiet_keeps_everything_below_warnings_from_the_console_but_not_from_the_file(
    start, tmp_path
):
    path = tmp_path / "lyrsvc.log"
    logs = start(quiet=True, file=path)
    LOG.info("in the file")
    LOG.warning("everywhere")
    tell("a note")
    assert [line.split(" lyrsvc.worker ")[1] for line in logs.shown()] == ["everywhere"]
    assert len(path.read_text().splitlines()) == 3


@pytest.mark.parametrize("level", ["info", "error"])
def test_notes_are_sentences_behind_the_program_name_whatever_the_level(start, tmp_path, level):
    path = tmp_path / "lyrsvc.log"
    logs = start(level=level, file=path)
    tell_error("no library; add one apikey=abc\n")
    tell("100% done")
    assert logs.shown() == [
        "lyrsvc: no library; add one apikey=[REDACTED]",
        "lyrsvc: 100% done",
    ]
    assert " ERROR lyrsvc.notes no library; add one" in path.read_text()


def test_notes_are_records_in_json(start):
    logs = start(format="json", level="error")
    tell_error("no library; add one")
    tell("done")
    lines = [json.loads(line) for line in logs.shown()]
    assert [(line["level"], line["msg"]) for line in lines] == [
        ("error", "no library; add one"),
        ("info", "done"),
    ]


def test_a_second_set_up_replaces_the_first_and_lets_go_of_its_file(start, tmp_path):
    path = tmp_path / "lyrsvc.log"
    first = start(file=path)
    second = start(file=path)
    LOG.info("once")
    assert first.shown() == []
    assert len(second.shown()) == 1
    assert len(path.read_text().splitlines()) == 1
    assert len(ours()) == 2


def test_closing_leaves_no_trace(start):
    logs = start(level="debug")
    strangers = [one for one in logging.getLogger().handlers if one not in ours()]
    logs.close()
    logs.close()
    logs.reopen()
    assert ours() == []
    assert logging.getLogger().handlers == strangers
    assert logging.getLogger("lyrsvc").level == logging.NOTSET


@pytest.mark.parametrize("bad", ["file/below.log", "a\0b.log", "."])
def test_a_log_file_that_cannot_be_created_is_a_warning(start, tmp_path, bad):
    (tmp_path / "file").write_text("")
    logs = start(file=f"{tmp_path}/{bad}")
    LOG.info("still here")
    assert logs.file is None
    first, second = logs.shown()
    assert " WARN  lyrsvc.logs log file cannot be created; logging to stderr only file=" in first
    assert second.endswith("lyrsvc.worker still here")


def test_the_warning_about_the_file_respects_the_level(start, tmp_path):
    assert start(file=tmp_path, level="error").shown() == []


def test_reopen_reaches_the_file(start, tmp_path):
    path = tmp_path / "lyrsvc.log"
    logs = start(file=path)
    path.rename(tmp_path / "moved.log")
    logs.reopen()
    LOG.info("x")
    assert path.exists()


def test_further_handlers_get_every_record_in_the_same_format_and_stay_their_owners(start):
    class Memory(logging.Handler):
        closed = False

        def __init__(self):
            super().__init__()
            self.lines = []

        def emit(self, record):
            self.lines.append(self.format(record))

        def close(self):
            self.closed = True

    memory = Memory()
    logs = start(format="json", also=[memory])
    LOG.info("kept")
    assert memory.lines == logs.shown()
    start()
    LOG.info("not kept")
    assert len(memory.lines) == 1
    assert not memory.closed


def test_lines_pass_through_the_hook_of_a_progress_line(start):
    steps = []
    stream = io.StringIO()

    @contextmanager
    def through():
        steps.append(("erase", stream.getvalue()))
        yield
        steps.append(("redraw", stream.getvalue()[-5:]))

    logs = start(stream=stream)
    logs.draw_through(through)
    LOG.info("hello")
    logs.draw_through(None)
    LOG.info("unseen")
    assert steps == [("erase", ""), ("redraw", "ello\n")]


class Stream(io.TextIOWrapper):
    def __init__(self, encoding, errors="strict"):
        self.raw_bytes = io.BytesIO()
        super().__init__(self.raw_bytes, encoding=encoding, errors=errors)


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_streams_of_any_encoding_get_a_line_and_json_still_parses(start, form, encoding):
    stream = Stream(encoding)
    start(stream=stream, format=form)
    LOG.info("東京 \udce9 \ud83d")
    line = stream.raw_bytes.getvalue().decode(encoding)
    assert line.endswith("\n")
    if form == "json":
        assert json.loads(line)["msg"] == "東京 \ufffd \ufffd"
    else:
        assert (r"\u6771" if encoding != "utf-8" else "東京") in line


def test_a_missing_closed_or_broken_stream_harms_nobody(start, clock, capfd):
    closed = io.StringIO()
    closed.close()

    class Broken(io.StringIO):
        def write(self, _text):
            raise BrokenPipeError

    for stream in (closed, Broken()):
        start(stream=stream)
        LOG.error("lost")
    set_up(LogConfig(format="json"), redactor=Redactor(), stream=None, clock=clock)
    LOG.error("lost")
    assert capfd.readouterr() == ("", "")


def test_warnings_of_python_become_records(start):
    logs = start(format="json")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(False)
        logging.captureWarnings(True)
        warnings.warn("odd apikey=abc", stacklevel=1)
    [line] = [json.loads(line) for line in logs.shown()]
    assert line["logger"] == "py.warnings"
    assert "odd apikey=[REDACTED]" in line["msg"]


def test_a_dying_thread_is_an_error_line_without_the_secret(start, capfd):
    redactor = Redactor()
    redactor.register("hunter2x")
    logs = start(format="json", redactor=redactor)

    def die():
        int("hunter2x")

    class Careless:
        def __del__(self):
            int("hunter2x")

    undo = log_crashes()
    try:
        thread = threading.Thread(target=die, name="worker-1")
        thread.start()
        thread.join()
        quiet = threading.Thread(target=sys.exit)
        quiet.start()
        quiet.join()
        Careless()
        gc.collect()
    finally:
        undo()
    thread_line, destructor_line = [json.loads(line) for line in logs.shown()]
    assert (thread_line["msg"], thread_line["thread"]) == ("thread died", "worker-1")
    assert destructor_line["msg"] == "exception ignored"
    assert "hunter2x" not in str((thread_line, destructor_line))
    assert "ValueError" in thread_line["exc"]
    assert capfd.readouterr() == ("", "")


@pytest.mark.spec("C-53")
def test_a_secret_reaches_neither_console_nor_file(start, tmp_path):
    path = tmp_path / "lyrsvc.log"
    redactor = Redactor()
    logs = start(redactor=redactor, file=path, level="debug")
    redactor.register("hunter2x")
    try:
        raise ConnectionError("GET http://h/?usertoken=hunter2x&q=1 failed")  # noqa: TRY301
    except ConnectionError:
        LOG.exception("lane failed", extra={"artist": "hunter2x", "headers": {"Cookie": "zzz"}})
    tell_error("cannot ask http://me:hunter2x@h; try again")
    everything = "\n".join(logs.shown()) + path.read_text()
    assert "lane failed" in everything
    assert "hunter2x" not in everything
    assert "zzz" not in everything
