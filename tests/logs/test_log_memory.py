"""The records behind the log page."""

import logging
from datetime import UTC, datetime

import pytest

from lyrsvc.core.redaction import Redactor
from lyrsvc.logs.log_memory import SHEET, LogMemory


@pytest.fixture
def redactor():
    return Redactor()


@pytest.fixture
def memory(redactor):
    memory = LogMemory(redactor, kept=5)
    logger = logging.getLogger("lyrsvc.test_log_memory")
    logger.addHandler(memory)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    yield memory
    logger.removeHandler(memory)


LOG = logging.getLogger("lyrsvc.test_log_memory")


def test_the_newest_come_first_and_old_ones_are_forgotten(memory):
    for number in range(8):
        LOG.info("record", extra={"number": number})

    assert [line.text for line in memory.lines()] == [f"record number={n}" for n in (7, 6, 5, 4, 3)]
    assert [line.text for line in memory.lines(limit=2)] == ["record number=7", "record number=6"]


def test_as_many_are_kept_as_are_to_be_over_many_sheets(redactor):
    memory = LogMemory(redactor, kept=250)
    for number in range(1, 1000):
        memory.emit(LOG.makeRecord("lyrsvc.x", 20, "", 0, f"né {number}", (), None))
        held = [int(line.text.split()[1]) for line in memory.lines()]
        assert held == list(range(number, max(0, number - 250), -1))
    assert [line.text for line in memory.lines(text="NÉ 75", limit=1)] == ["né 759"]
    assert memory.lines(text="né 749") == []  # one more than are kept


def test_a_name_that_is_no_text_and_an_empty_message_are_kept(memory):
    for sheet in range(SHEET):
        LOG.info("song", extra={"path": f"{sheet} \udcff.flac"})
    LOG.info("")
    empty, song = memory.lines(limit=2)
    assert empty.logger == "lyrsvc.test_log_memory"
    assert song.text.startswith(f'song path="{SHEET - 1} ')


def test_a_record_has_time_level_logger_and_its_whole_line(memory):
    LOG.warning("the disk is full", extra={"path": "/data/a b"})

    (line,) = memory.lines()
    assert (line.level_name, line.logger) == ("warn", "lyrsvc.test_log_memory")
    assert line.text == 'the disk is full path="/data/a b"'
    assert line.line.endswith(f"WARN  lyrsvc.test_log_memory {line.text}")
    assert line.at.tzinfo is not None


def test_records_are_chosen_by_level_and_by_text_in_any_case(memory):
    LOG.debug("Quiet")
    LOG.info("Écho")
    LOG.error("loud écho")

    assert [line.text for line in memory.lines(level=logging.INFO)] == ["loud écho", "Écho"]
    assert [line.text for line in memory.lines(text="ÉCHO")] == ["loud écho", "Écho"]
    assert memory.lines(text="nowhere") == []


def test_no_secret_is_kept(memory, redactor):
    redactor.register("open-sesame")
    LOG.info("opened with open-sesame", extra={"token": "abcdefgh", "why": "?apikey=0123456789"})
    try:
        int("open-sesame again")
    except ValueError:
        LOG.exception("broke")

    whole = " ".join(line.line for line in memory.lines())
    assert "sesame" not in whole
    assert "abcdefgh" not in whole
    assert "0123456789" not in whole
    assert whole.count("[REDACTED]") >= 4


def test_a_secret_in_the_head_of_a_line_hides_no_record(memory, redactor):
    redactor.register("lyrsvc.test_log_memory")
    redactor.register(f"{datetime.now(UTC):%Y-%m-}")
    LOG.warning("told")

    (line,) = memory.lines(level=logging.WARNING)
    assert line.line.count("[REDACTED]") == 2
    assert (line.level_name, line.text) == ("warn", "told")


def test_a_record_of_several_lines_stays_one_line(memory):
    LOG.info("first\nsecond")

    (line,) = memory.lines()
    assert "\n" not in line.line


def test_a_very_long_record_is_cut(memory):
    LOG.info("x" * 100_000)

    (line,) = memory.lines()
    assert len(line.line) == 8192
    assert line.line.endswith("x…")
