"""A build knows its commit and its day; a checkout knows neither."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from source_tree import PACKAGE, ROOT

MODULE = "lyrsvc/_build.py"


@pytest.fixture
def project(tmp_path) -> Path:
    """A small project with the real hook and the real build settings."""
    root = tmp_path / "project"
    (root / "src" / "lyrsvc").mkdir(parents=True)
    for name in ("pyproject.toml", "hatch_build.py", "LICENSE", "src/lyrsvc/__init__.py"):
        (root / name).write_bytes((ROOT / name).read_bytes())
    (root / "README.md").write_text("# lyrsvc\n")
    return root


def build(root: Path, target: str, **environ: str) -> Path:
    out = root.parent / f"out-{target}"
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(out)],
        cwd=root,
        env=os.environ | environ,
        check=True,
        capture_output=True,
    )
    (artifact,) = out.iterdir()
    return artifact


def stamp_of(wheel: Path) -> dict[str, str]:
    values: dict[str, str] = {}
    with zipfile.ZipFile(wheel) as archive:
        exec(archive.read(MODULE), values)
    return {name: values[name] for name in ("COMMIT", "BUILT")}


def test_a_wheel_carries_the_commit_and_the_day(project) -> None:
    wheel = build(project, "wheel", LYRSVC_BUILD_COMMIT="a" * 40, SOURCE_DATE_EPOCH="1769817600")
    assert stamp_of(wheel) == {"COMMIT": "a" * 7, "BUILT": "2026-01-31"}
    assert not (project / "src" / MODULE).exists()


def test_the_commit_comes_from_the_repository(project) -> None:
    def git(*words: str) -> str:
        names = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        done = subprocess.run(
            ["git", *names, *words], cwd=project, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "x")
    assert stamp_of(build(project, "wheel"))["COMMIT"] == git("rev-parse", "--short=7", "HEAD")
    (project / "README.md").write_text("changed\n")
    assert stamp_of(build(project, "wheel"))["COMMIT"].endswith("-dirty")


def test_a_wheel_made_from_a_source_archive_keeps_its_commit(project, tmp_path) -> None:
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    archive = build(project, "sdist", LYRSVC_BUILD_COMMIT="abc1234", SOURCE_DATE_EPOCH="0")
    subprocess.run(["tar", "-xzf", str(archive), "-C", str(unpacked)], check=True)
    (root,) = unpacked.iterdir()
    assert stamp_of(build(root, "wheel")) == {"COMMIT": "abc1234", "BUILT": "1970-01-01"}


def test_a_build_without_any_repository_says_so(project) -> None:
    assert stamp_of(build(project, "wheel"))["COMMIT"] == "unknown"


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is no checkout")
def test_a_checkout_has_no_stamp() -> None:
    assert not (PACKAGE / "_build.py").exists()
