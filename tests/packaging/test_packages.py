"""The small parts of making packages: version, floor, sums, list of parts, clean binaries."""

import hashlib
import json
import shutil
import struct
import subprocess
import sys

import pytest

import dev
from devtools import Refusal, package_lock, packages, search_paths
from devtools.workshop import PACKAGE_LOCK, Workshop
from lyrsvc import __version__
from source_tree import ROOT

DEBUG, RUNPATH = 21, 29


def test_the_version_is_the_programs_own() -> None:
    assert packages.version_of(ROOT) == __version__


def test_a_release_needs_its_version_and_its_changes(tmp_path) -> None:
    (tmp_path / "src/lyrsvc").mkdir(parents=True)
    (tmp_path / "src/lyrsvc/__init__.py").write_text('__version__ = "1.4.2"\n')
    (tmp_path / "CHANGELOG.md").write_text("## [Unreleased]\n## [1.4.2] - 2026-01-31\n")
    packages.check_release(tmp_path, "v1.4.2")
    with pytest.raises(Refusal, match=r"the tag is v1\.4\.3, but the version is 1\.4\.2"):
        packages.check_release(tmp_path, "v1.4.3")
    (tmp_path / "CHANGELOG.md").write_text("## [1.4.20]\n")
    with pytest.raises(Refusal, match=r"no section for 1\.4\.2"):
        packages.check_release(tmp_path, "v1.4.2")


def test_an_unknown_format_is_a_usage_error(capsys) -> None:
    assert dev.main(["package", "msi"]) == 2
    assert "deb, rpm, apk" in capsys.readouterr().err


def test_the_floor_is_the_newest_symbol_of_any_binary(tmp_path) -> None:
    (tmp_path / "a.so").write_bytes(b"\x7fELF..GLIBC_2.9\0GLIBC_2.28\0GLIBC_PRIVATE\0")
    (tmp_path / "b.so").write_bytes(b"\x7fELF..GLIBC_2.4\0")
    (tmp_path / "notes.txt").write_bytes(b"GLIBC_2.99")
    assert packages.glibc_floor(tmp_path) == "2.28"
    (tmp_path / "a.so").unlink()
    (tmp_path / "b.so").unlink()
    with pytest.raises(Refusal):
        packages.glibc_floor(tmp_path)


def test_sums_can_be_checked(tmp_path) -> None:
    (tmp_path / "b").write_bytes(b"two")
    (tmp_path / "a").write_bytes(b"one")
    text = packages.checksums(tmp_path)
    assert text.splitlines()[0] == f"{hashlib.sha256(b'one').hexdigest()}  a"
    (tmp_path / packages.CHECKSUMS).write_text(text)
    assert packages.checksums(tmp_path) == text
    if shutil.which("sha256sum"):
        subprocess.run(["sha256sum", "-c", packages.CHECKSUMS], cwd=tmp_path, check=True)


def test_the_list_of_parts_names_every_locked_package() -> None:
    parts = json.loads(packages.parts_list(ROOT))
    names = {part["name"] for part in parts["components"]}
    assert {"apsw", "cryptography", "jinja2", "uvicorn"} <= names
    assert all(part["version"] for part in parts["components"])
    assert parts["metadata"]["component"]["version"] == __version__


def test_the_lock_of_the_tools_is_fresh() -> None:
    assert package_lock.complaint(ROOT) is None


def test_a_changed_list_of_tools_is_noticed(tmp_path) -> None:
    for name in (PACKAGE_LOCK, "requirements-dev.lock", package_lock.TOOLS):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    assert package_lock.complaint(tmp_path) is None
    (tmp_path / package_lock.TOOLS).write_text("nfpm>=99\n")
    assert "was made from other tools" in package_lock.complaint(tmp_path)
    (tmp_path / PACKAGE_LOCK).unlink()
    assert "is missing" in package_lock.complaint(tmp_path)


def test_the_workshop_stays_inside_what_is_not_committed() -> None:
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    shop = Workshop(ROOT)
    for place in (shop.venv, shop.build, shop.dist):
        assert f"{place.relative_to(ROOT).parts[0]}/" in ignored


@pytest.mark.skipif(sys.platform != "linux", reason="binaries of Linux")
def test_a_search_path_of_the_builder_is_taken_out_and_the_program_still_runs(tmp_path) -> None:
    program = tmp_path / "program"
    shutil.copy(shutil.which("true"), program)
    plant_search_path(program)
    (planted,) = search_paths.search_paths(program.read_bytes())
    assert planted
    assert not planted.startswith("$ORIGIN")
    (tmp_path / "notes").write_text("no binary")
    (tmp_path / "link").symlink_to("nowhere")

    assert search_paths.clean(tmp_path) == 1

    assert search_paths.search_paths(program.read_bytes()) == []
    assert search_paths.clean(tmp_path) == 0
    subprocess.run([program], check=True)


def plant_search_path(program) -> None:
    """Turn an entry that only debuggers need into a search path, named like the first string."""
    content = bytearray(program.read_bytes())
    start, size = search_paths._dynamic(bytes(content))
    for place in range(start, start + size, 16):
        if struct.unpack_from("<q", content, place)[0] == DEBUG:
            struct.pack_into("<qQ", content, place, RUNPATH, 1)
            break
    else:
        raise AssertionError("the program has no entry to turn")
    program.write_bytes(bytes(content))
