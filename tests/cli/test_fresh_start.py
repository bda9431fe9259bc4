"""A service begins once more, with memory that its threads do not hoard."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lyrsvc.cli import fresh_start
from lyrsvc.cli.fresh_start import BEGUN, NO_HOARDS, TUNABLES, begin_anew
from served import Served

HOARDS = """
import ctypes, os, sys, threading
from lyrsvc.cli.fresh_start import begin_anew

if sys.argv[1] == "anew":
    begin_anew(os.environ, sys.orig_argv)

class Info(ctypes.Structure):
    _fields_ = [(str(number), ctypes.c_size_t) for number in range(10)]

libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Info

def used_kib():
    return getattr(libc.mallinfo2(), "7") // 1024

def churn():
    pieces = [bytes(size) for size in range(520, 960, 16) for _ in range(7)]
    del pieces
    done.wait()
    over.wait()

done, over = threading.Barrier(31), threading.Event()
before = used_kib()
threads = [threading.Thread(target=churn) for _ in range(30)]
for thread in threads:
    thread.start()
done.wait()
print(used_kib() - before, os.getpid(), sorted(set(os.environ) & {"GLIBC_TUNABLES", "LEFT_ALONE"}))
over.set()
"""
ENVIRON = {"PATH": os.environ["PATH"]}


class Begun(Exception):
    """Stands for the end of this process."""


@pytest.fixture
def begun(monkeypatch):
    """What the process was replaced by."""
    calls = []

    def execve(program, command, environ):
        calls.append((program, command, environ))
        raise Begun

    monkeypatch.setattr(os, "execve", execve)
    monkeypatch.setattr(os, "confstr", lambda _: "glibc 2.36")
    return calls


COMMAND = ["python3", "-m", "lyrsvc", "serve"]


def test_the_same_program_begins_once_more_and_only_once(begun):
    environ = {"HOME": "/home/me"}
    with pytest.raises(Begun):
        begin_anew(environ, COMMAND)
    ((program, command, given),) = begun
    assert (program, command) == (sys.executable, [sys.executable, "-m", "lyrsvc", "serve"])
    assert given == {"HOME": "/home/me", TUNABLES: NO_HOARDS, BEGUN: ""}

    begin_anew(given, COMMAND)
    assert given == environ  # children know nothing of it
    assert len(begun) == 1


def test_other_tunables_are_kept(begun):
    environ = {TUNABLES: "glibc.malloc.check=1"}
    with pytest.raises(Begun):
        begin_anew(environ, COMMAND)
    given = begun[0][2]
    assert given[TUNABLES] == f"glibc.malloc.check=1:{NO_HOARDS}"
    begin_anew(given, COMMAND)
    assert given == environ


def test_where_the_library_takes_the_variable_away_it_does_not_begin_for_ever(begun):
    begin_anew({BEGUN: ""}, COMMAND)
    assert begun == []


@pytest.mark.parametrize("tunables", ["glibc.malloc.tcache_count=3", NO_HOARDS])
def test_whoever_has_set_it_is_left_alone(begun, tunables):
    environ = {TUNABLES: tunables}
    begin_anew(environ, COMMAND)
    assert (begun, environ) == ([], {TUNABLES: tunables})


def test_nothing_happens_where_it_is_of_no_use(begun, monkeypatch):
    monkeypatch.setattr(os, "confstr", lambda _: None)
    begin_anew({}, COMMAND)
    monkeypatch.delattr(os, "confstr")
    begin_anew({}, COMMAND)
    monkeypatch.setattr(os, "confstr", lambda _: "glibc 2.36", raising=False)
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    begin_anew({}, COMMAND)
    monkeypatch.setattr(sys, "frozen", False)
    monkeypatch.setattr(sys, "executable", "")
    begin_anew({}, COMMAND)
    assert begun == []


def test_a_program_that_cannot_be_begun_again_goes_on(monkeypatch):
    monkeypatch.setattr(os, "confstr", lambda _: "glibc 2.36")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    environ = {}
    begin_anew(environ, COMMAND)
    assert environ == {}


@pytest.mark.skipif(not fresh_start._can_be_told(), reason="needs glibc")
def test_threads_keep_no_freed_memory_for_themselves():
    def held(word: str) -> int:
        command = [sys.executable, "-c", HOARDS, word]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRON)
        told, _ = process.communicate()
        assert process.returncode == 0
        kib, pid, left = told.split(maxsplit=2)
        assert int(pid) == process.pid  # a manager of services knows it by its number
        assert left.strip() == "[]"
        return int(kib)

    assert held("anew") < held("as ever") // 4


@pytest.mark.skipif(not fresh_start._can_be_told(), reason="needs glibc")
def test_a_service_has_begun_anew(tmp_path):
    environ = {"LYRSVC_DB_PATH": str(tmp_path / "x.db"), "LYRSVC_SCAN_SCHEDULE": "off"}
    with Served(tmp_path, environ) as served:
        first = Path(f"/proc/{served._process.pid}/environ").read_bytes()
        assert f"{TUNABLES}={NO_HOARDS}".encode() in first.split(b"\0")
        assert served.get("/healthz")[0] == 200
        assert served.stop() == 0
    assert BEGUN not in served.log
