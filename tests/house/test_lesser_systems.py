"""Not every system has what Linux has: the program must start and read music without it."""

import subprocess
import sys

from builders import minimal_flac
from source_tree import PACKAGE

LESS = """
import os, sys
import asyncio, multiprocessing, select, shutil, socket, ssl, subprocess, tarfile, tempfile
import apsw, cryptography, jinja2, msgspec, mutagen, rapidfuzz, urllib3, uvicorn

for name in (
    "O_NONBLOCK O_CLOEXEC O_NOCTTY O_NOFOLLOW O_DIRECTORY O_PATH pread fchmod fchown chown "
    "geteuid getuid statvfs nice sched_getaffinity fork"
).split():
    if hasattr(os, name):
        delattr(os, name)
del select.poll
for name in ("fcntl", "pwd", "grp", "resource", "termios", "inotify_simple", "uvloop"):
    sys.modules[name] = None
os.supports_dir_fd = set()
"""
"""What Windows lacks is taken away once the libraries, which know that, are loaded."""

IMPORT = """
import importlib

for module in sys.argv[1:]:
    importlib.import_module(module)
"""

READ = """
from lyrsvc.files.tags import read_tags
from lyrsvc.services.tag_pool import SMALL, TagPool

print(read_tags(sys.argv[1], enrich=True).title)
with TagPool(os.path.dirname(sys.argv[1]), enrich=True, workers=2, worth_s=0) as pool:
    for number in range(3 * SMALL):
        pool.ask(number, sys.argv[1])
    pool.flush()
    found = {}
    while len(found) < 3 * SMALL:
        found.update(pool.answers(wait_s=30))
    print(len({facts.title for facts in found.values()}))
"""


def run(code, *words):
    done = subprocess.run(
        [sys.executable, "-c", LESS + code, *words], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_module_can_be_loaded_where_the_system_offers_less():
    paths = [path.relative_to(PACKAGE.parent).with_suffix("") for path in PACKAGE.rglob("*.py")]
    names = [".".join(path.parts).removesuffix(".__init__") for path in paths]

    run(IMPORT, *sorted(name for name in names if not name.endswith("__main__")))


def test_tags_are_read_where_the_system_offers_less(tmp_path):
    song = minimal_flac(tmp_path / "song.flac", title="Weir", artist="The Tide")

    assert run(READ, str(song)).split() == ["Weir", "1"]
