"""``python -m lyrsvc``."""

from lyrsvc.cli.main import run

raise SystemExit(run())
