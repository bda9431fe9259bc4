"""What the log file still knows of an earlier run."""

import io
import logging

import pytest

from fakes import FakeClock
from lyrsvc.core.redaction import Redactor
from lyrsvc.logs import log_recall
from lyrsvc.logs.log_memory import LogMemory
from lyrsvc.logs.log_recall import recall_lines
from lyrsvc.logs.setup import LogConfig, set_up

LOG = logging.getLogger("lyrsvc.worker")


def write(path, form, *numbers):
    config = LogConfig(level="debug", format=form, file=path)
    logs = set_up(config, redactor=Redactor(), stream=io.StringIO(), clock=FakeClock())
    for number in numbers:
        LOG.warning("a song was found", extra={"number": number, "title": "two words"})
    logs.close()


@pytest.mark.parametrize("form", ["text", "json"])
def test_records_of_an_earlier_run_come_back(tmp_path, form):
    path = tmp_path / "lyrsvc.log"
    write(path, form, 1, 2)
    memory = LogMemory(Redactor(), earlier=recall_lines(path))
    newest, oldest = memory.lines(level=logging.WARNING)
    assert (newest.level_name, newest.logger) == ("warn", "lyrsvc.worker")
    assert newest.text == 'a song was found number=2 title="two words"'
    assert oldest.text.startswith("a song was found number=1")
    assert abs((newest.at - oldest.at).total_seconds()) < 60
    assert memory.lines(level=logging.ERROR) == []


def test_a_message_of_several_lines_comes_back_as_one(tmp_path):
    path = tmp_path / "lyrsvc.log"
    path.write_text(
        '{"time":"2026-01-01T00:00:00Z","level":"info","logger":"a","msg":"b\\nc"}\n' * 2
    )
    memory = LogMemory(Redactor(), earlier=recall_lines(path))
    assert [line.text for line in memory.lines()] == ["b\\nc", "b\\nc"]


def test_what_is_no_record_is_left_out(tmp_path):
    path = tmp_path / "lyrsvc.log"
    write(path, "text", 1)
    with path.open("ab") as file:
        file.write(b"Traceback\n\xff\xfe\n{broken\n{}\n[]\nno-moment INFO a b\n")
        file.write(b'{"time":"2026-01-01T00:00:00Z","level":"loud","logger":"a","msg":"b"}\n')
    assert [line.logger for line in recall_lines(path)] == ["lyrsvc.worker"]
    assert recall_lines(tmp_path / "gone.log") == []
    assert recall_lines(tmp_path) == []


def test_only_the_end_of_a_long_file_is_read(tmp_path, monkeypatch):
    path = tmp_path / "lyrsvc.log"
    write(path, "text", *range(100))
    assert [line.text.split()[4] for line in recall_lines(path, most=3)] == [
        "number=97",
        "number=98",
        "number=99",
    ]
    monkeypatch.setattr(log_recall, "_REACH_BYTES", 1000)
    found = recall_lines(path)
    assert 3 < len(found) < 20
    assert found[-1].text.split()[4] == "number=99"
