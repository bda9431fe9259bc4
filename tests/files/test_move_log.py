"""The backup of moves."""

import fcntl
import json
import os
import stat

import pytest

from lyrsvc.core.errors import Refused
from lyrsvc.files.move_log import BadLine, LoggedMove, MoveLog, read_moves, rotate


def a_move(number=1, **fields):
    known = {
        "old_path": f"/music/{number}.lrc",
        "new_path": f"/music/new {number}.lrc",
        "library_id": 1,
        "method": "exact",
    }
    return LoggedMove(**{**known, **fields})


@pytest.mark.seed("S-047")
def test_a_line_holds_the_four_keys_in_plain_ascii(tmp_path):
    path = tmp_path / "backup.jsonl"
    odd = a_move(old_path=os.fsdecode(b"/music/\xff\xfe.lrc"), new_path="/music/J\u00f3ga\n.lrc")
    with MoveLog(path) as log:
        assert not log.is_used
        assert not path.exists()
        log.append(odd)

    text = path.read_bytes()
    assert text.isascii()
    assert list(json.loads(text)) == ["old_path", "new_path", "library_id", "method"]
    assert list(read_moves(path)) == [odd]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_did_not_come_about_is_taken_back(tmp_path):
    path = tmp_path / "backup.jsonl"
    with MoveLog(path) as log:
        assert log.append(a_move(1)) == 0
        length = log.append(a_move(2))
        log.append(a_move(3))
        log.take_back(length)
        log.append(a_move(4))
    assert list(read_moves(path)) == [a_move(1), a_move(4)]


def test_a_line_that_a_crash_cut_off_does_not_swallow_the_next(tmp_path):
    path = tmp_path / "backup.jsonl"
    with MoveLog(path) as log:
        log.append(a_move(1))
    with path.open("ab") as file:
        file.write(b'{"old_path": "/mu')
    assert list(read_moves(path))[1] == BadLine(2, "it was cut off before its move", True)

    with MoveLog(path) as log:
        log.append(a_move(2))

    first, torn, second = read_moves(path)
    assert (first, second) == (a_move(1), a_move(2))
    assert isinstance(torn, BadLine)


@pytest.mark.parametrize("what", ["text", "directory", "link", "missing", "json"])
def test_what_is_no_backup_is_refused_and_left_alone(tmp_path, what):
    path = tmp_path / "backup.jsonl"
    if what in ("text", "json"):
        path.write_text("dear diary" if what == "text" else '{"a": 1}\n')
    elif what == "directory":
        path.mkdir()
    elif what == "link":
        (tmp_path / "real").write_text("")
        path.symlink_to(tmp_path / "real")
    else:
        path = tmp_path / "nowhere" / "backup.jsonl"

    with MoveLog(path) as log, pytest.raises(Refused, match="cannot open the backup"):
        log.append(a_move())

    assert what != "text" or path.read_text() == "dear diary"
    assert not (tmp_path / "nowhere").exists()


def test_a_backup_that_another_process_writes_is_refused(tmp_path):
    path = tmp_path / "backup.jsonl"
    with path.open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with MoveLog(path) as log, pytest.raises(Refused, match="another process writes it"):
            log.append(a_move())
        waits = iter([False, False])

        def wait():
            if not next(waits, True):
                return False
            fcntl.flock(other, fcntl.LOCK_UN)
            return False

        with MoveLog(path, wait=wait) as log:
            log.append(a_move())
    assert list(read_moves(path)) == [a_move()]


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "[]",
        '{"old_path": 1, "new_path": "/x"}',
        '{"old_path": "a", "new_path": "/b"}',
        '{"old_path": "/a\\u0000", "new_path": "/b"}',
        '{"old_path": "\\ud800", "new_path": "/b"}',
    ],
)
def test_bad_lines_are_told_and_the_others_go_on(tmp_path, line):
    path = tmp_path / "backup.jsonl"
    with MoveLog(path) as log:
        log.append(a_move(1))
    with path.open("a") as file:
        file.write(line + "\n")
    with MoveLog(path) as log:
        log.append(a_move(2))
    first, bad, second = read_moves(path)
    assert (first, second) == (a_move(1), a_move(2))
    assert isinstance(bad, BadLine)
    assert (bad.number, bad.is_cut_off) == (2, False)


def test_a_large_backup_is_put_aside_and_few_are_kept(tmp_path):
    path = tmp_path / "serve.jsonl"
    for number in range(8):
        with MoveLog(path) as log:
            log.append(a_move(number))
        rotate(path, largest=10, kept=5)
    names = sorted(each.name for each in tmp_path.iterdir())
    assert names == [f"serve.jsonl.{number}" for number in range(1, 6)]
    assert list(read_moves(tmp_path / "serve.jsonl.1")) == [a_move(7)]
    assert list(read_moves(tmp_path / "serve.jsonl.5")) == [a_move(3)]
    rotate(path, largest=10, kept=5)


def test_a_backup_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(Refused, match="cannot read"):
        list(read_moves(tmp_path / "nowhere"))


def test_blank_lines_tell_of_nothing(tmp_path):
    path = tmp_path / "backup.jsonl"
    with MoveLog(path) as log:
        log.append(a_move(1))
        log.append(a_move(2))
    first, second = path.read_text().splitlines()
    path.write_text(f"{first}\n\n{second}\n \n\n")

    assert list(read_moves(path)) == [a_move(1), a_move(2)]
