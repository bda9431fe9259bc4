"""Commands work as the owner of the files they touch."""

import os
import subprocess
import sys

import pytest

SWITCH_TWICE = """
import os, sys
from pathlib import Path
from lyrsvc.cli.identity import become_owner
for place in sys.argv[1:]:
    become_owner(Path(place))
print(os.getuid(), os.getgid(), os.getgroups())
"""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
def test_who_has_become_the_owner_once_stays_it(tmp_path) -> None:
    """In a container the settings' directory comes first and the database's second."""
    first, second = tmp_path / "config", tmp_path / "data"
    for place, user in ((first, 4321), (second, 1234)):
        place.mkdir()
        os.chown(place, user, user)
    for parent in (tmp_path, *tmp_path.parents[:2]):
        parent.chmod(0o755)
    command = [sys.executable, "-c", SWITCH_TWICE]
    for places in ([first], [first, first], [first, second]):
        done = subprocess.run([*command, *places], capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr) == ("4321 4321 [4321]\n", "")
