"""The version line; commit and date are baked into built packages."""

from importlib import import_module

from lyrsvc import __version__, brand


def version_text() -> str:
    """Give ``lyrsvc 1.2.3 (commit abc1234, built 2026-01-31)``."""
    try:
        build = import_module("lyrsvc._build")
    except ImportError:
        return f"{brand.PROGRAM} {__version__} (source checkout)"
    return f"{brand.PROGRAM} {__version__} (commit {build.COMMIT}, built {build.BUILT})"
