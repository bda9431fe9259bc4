"""Scripts for other programs, for those who have only this one at hand."""

from pathlib import Path
from typing import Final

from lyrsvc.cli.call import Call

SCRIPT: Final = Path(__file__).with_name("lidarr-rename-hook.sh")
_SIGNS: Final = frozenset(
    {"lidarr_eventtype", "lidarr_trackfile_paths", "lidarr_trackfile_previouspaths"}
)


def lidarr_rename(call: Call) -> int:
    """Print the rename hook; called by Lidarr itself, be the hook."""
    if any(name.lower() in _SIGNS for name in call.world.environ):
        return _run(call)
    call.world.stdout.write(SCRIPT.read_text("utf-8"))
    return 0


def _run(call: Call) -> int:
    """Run the script with the variables that Lidarr has set, however they are spelled."""
    import subprocess

    environ = dict(call.world.environ)
    for name, value in call.world.environ.items():
        if name.lower() in _SIGNS:
            environ.setdefault(name.lower(), value)
    done = subprocess.run(  # noqa: S603 - our own script
        ["/bin/sh", str(SCRIPT)],
        env=environ,
        check=False,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )
    call.world.stdout.write(done.stdout)
    call.world.stderr.write(done.stderr)
    return done.returncode
