"""What a service holds after a large piece of work is over."""

import subprocess
import sys

import pytest

HASHES = """
import re, sys, threading
from pathlib import Path
from lyrsvc.daemon import give_memory_back
from lyrsvc.security.passwords import Passwords

def held_kib():
    return int(re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

give_memory_back()
passwords, before = Passwords(), held_kib()
for _ in range(2):
    thread = threading.Thread(target=lambda: [passwords.hash("a password") for _ in range(3)])
    thread.start()
    thread.join()
print(held_kib() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_memory_of_a_password_hash_goes_back_to_the_system():
    told = subprocess.run(
        [sys.executable, "-c", HASHES], capture_output=True, text=True, check=True
    )
    assert int(told.stdout) < 8 * 1024
