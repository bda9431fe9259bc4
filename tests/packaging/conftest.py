"""Packages laid out without any packaging tool; those that are really built, only when asked for."""

import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from devtools import reference_pages, staging
from devtools.workshop import Workshop
from source_tree import ROOT
from whole_systems import WholeSystem, make_debian

BUILDS = "builds_packages"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"{BUILDS}: builds or installs real packages; runs only with -m {BUILDS}"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes minutes, unless the marker is named on the command line."""
    if BUILDS in config.option.markexpr:
        return
    slow = [item for item in items if item.get_closest_marker(BUILDS)]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in slow]


@pytest.fixture(scope="session")
def pages(tmp_path_factory) -> Path:
    """What the program prints about itself, as packages carry it."""
    place = tmp_path_factory.mktemp("pages")
    here = SimpleNamespace(python=sys.executable)
    for page in staging.PAGES:
        (place / page.path).write_text(reference_pages.render(here, page), "utf-8")
    return place


@pytest.fixture(scope="session")
def rooms(tmp_path_factory, pages) -> dict[str, Path]:
    """The room of each format, around a program of one line."""
    program = tmp_path_factory.mktemp("program")
    (program / "lyrsvc").write_text("#!/bin/sh\necho lyrsvc 0.0.0\n")
    (program / "lyrsvc").chmod(0o700)
    (program / "_internal").mkdir(mode=0o700)
    (program / "_internal" / "library.so").write_text("x")
    (program / "_internal" / "library.so").chmod(0o600)
    place = tmp_path_factory.mktemp("rooms")
    for kind in staging.KINDS:
        staging.lay_out(kind, ROOT, pages, program, place / kind)
    return {kind: place / kind for kind in staging.KINDS}


@pytest.fixture(scope="session")
def dist():
    """Everything a release hands out, built now."""
    subprocess.run([sys.executable, str(ROOT / "dev.py"), "package"], check=True)
    return Workshop(ROOT).dist


@pytest.fixture(scope="session")
def debian():
    for tool in ("debootstrap", "systemd-nspawn"):
        if shutil.which(tool) is None:
            pytest.skip(f"not installed: {tool}")
    place = Workshop(ROOT).build / "debian"
    make_debian(place)
    return place


@pytest.fixture
def system(debian, tmp_path):
    return WholeSystem(debian, tmp_path / "system")
