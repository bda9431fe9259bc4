"""The real program for a bench: a service with a stand-in for the catalogue, or one command."""

import subprocess
import sys
import time
from pathlib import Path

from _lyrics_server import LyricsServer
from served import Served

LIMIT_S = 60.0
"""What has not happened by then never will."""


class running:
    """A service on loopback and an admin's key, for as long as the block runs."""

    def __init__(self, home: Path, upstream: LyricsServer, *, pace_s: int, **environ: str) -> None:
        self._served = Served(
            home,
            {
                "LYRSVC_DB_PATH": str(home / "state" / "lyrsvcgo.db"),
                "LYRSVC_PROVIDERS_PRIMARY": "lrclib",
                "LYRSVC_LRCLIB_BASE_URL": upstream.url,
                "LYRSVC_LRCLIB_COOLDOWN_SECONDS": str(pace_s),
                "LYRSVC_SCAN_SCHEDULE": "off",
                "LYRSVC_WEB_UI_ENABLED": "true",
                "LYRSVC_OUTPUT_DIR": str(home / "out"),
                **environ,
            },
        )

    def __enter__(self) -> tuple[Served, str]:
        self._served.__enter__()
        words = ("keys", "create", "--name", f"k{time.monotonic_ns()}", "--scope", "admin")
        return self._served, self._served.run(*words).stdout.strip()

    def __exit__(self, *_: object) -> None:
        self._served.__exit__()


def lyrsvc(environ: dict[str, str], *words: str) -> None:
    """Run a command to its end."""
    subprocess.run(
        [sys.executable, "-m", "lyrsvc", *words],
        env=environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
