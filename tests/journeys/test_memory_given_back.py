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

GAPS = """
import re, threading
from pathlib import Path
from lyrsvc.daemon import close_gaps, give_memory_back

def held_kib():
    return int(re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

give_memory_back()
before = held_kib()
blocks = [bytes(4096) for _ in range(10_000)]
kept = blocks[::100]
del blocks
held = held_kib() - before
stop = threading.Event()
loop = threading.Thread(target=close_gaps, args=[stop], kwargs={"every_s": 0.01})
loop.start()
for _ in range(1000):
    if held_kib() - before < held // 4:
        break
    stop.wait(0.02)
stop.set()
loop.join()
print(held, held_kib() - before, len(kept))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_between_blocks_in_use_goes_back_to_the_system():
    told = subprocess.run([sys.executable, "-c", GAPS], capture_output=True, text=True, check=True)
    held, left, _ = map(int, told.stdout.split())
    assert held > 20 * 1024
    assert left < held // 4


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_memory_of_a_password_hash_goes_back_to_the_system():
    told = subprocess.run(
        [sys.executable, "-c", HASHES], capture_output=True, text=True, check=True
    )
    assert int(told.stdout) < 8 * 1024
