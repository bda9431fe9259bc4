"""An interrupt ends a command with one exit code, wherever it strikes."""

import signal
import subprocess
import sys

import pytest

STRUCK_WHILE_A_TEXT_IS_EXECUTED = """
import os, signal
from lyrsvc.cli.interrupts import EXIT_INTERRUPTED, ending_politely, listen_for_interrupts
listen_for_interrupts()
with ending_politely():
    try:
        exec("os.kill(os.getpid(), {number}); signal.pause()")
    except KeyboardInterrupt:
        raise SystemExit(EXIT_INTERRUPTED)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_amid_an_import_still_ends_with_the_exit_code(number):
    script = STRUCK_WHILE_A_TEXT_IS_EXECUTED.format(number=int(number))
    done = subprocess.run([sys.executable, "-c", script], timeout=60, check=False)
    assert done.returncode == 130


STRUCK_WHILE_LOADING = """
import os, signal, sys
from importlib.abc import MetaPathFinder
class Strike(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "lyrsvc.cli.running":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Strike())
sys.argv = ["lyrsvc", "queue", "list"]
from lyrsvc.cli.main import run
run()
"""


def test_an_interrupt_while_the_program_is_loaded_leaves_no_traceback():
    done = subprocess.run(
        [sys.executable, "-c", STRUCK_WHILE_LOADING],
        timeout=60,
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (130, "")
