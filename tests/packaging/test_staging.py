"""The tree of each package: what lies where, with which mode, and what nfpm is told."""

import gzip
import json
import shutil
import subprocess
import tomllib

import pytest

from devtools import staging
from lyrsvc import brand
from source_tree import ROOT

SYSTEMD = ("deb", "rpm")
EVERYWHERE = {
    "etc/lyrsvcgo-svc/config.example.toml": 0o644,
    "usr/share/bash-completion/completions/lyrsvc": 0o644,
    "usr/share/zsh/site-functions/_lyrsvc": 0o644,
    "usr/share/fish/vendor_completions.d/lyrsvc.fish": 0o644,
    "usr/share/man/man1/lyrsvc.1.gz": 0o644,
    "usr/share/lyrsvc/lidarr-rename-hook.sh": 0o755,
    "usr/share/lyrsvc/grafana/lyrsvc.json": 0o644,
    "usr/share/lyrsvc/prometheus/lyrsvc.rules.yml": 0o644,
    "usr/lib/lyrsvc/lyrsvc": 0o755,
    "usr/lib/lyrsvc/_internal": 0o755,
    "usr/lib/lyrsvc/_internal/library.so": 0o644,
}
WITH_SYSTEMD = {
    "usr/lib/systemd/system/lyrsvcgo-svc.service": 0o644,
    "usr/share/lyrsvc/systemd/media-write.conf": 0o644,
    "usr/share/lyrsvc/systemd/settings-write.conf": 0o644,
}
WITH_OPENRC = {
    "etc/init.d/lyrsvcgo-svc": 0o755,
    "etc/conf.d/lyrsvcgo-svc": 0o644,
    "etc/logrotate.d/lyrsvcgo-svc": 0o644,
    "usr/bin/lyrsvc": 0o755,
}


@pytest.mark.seed("S-114")
@pytest.mark.spec("C-65")
@pytest.mark.parametrize("kind", staging.KINDS)
def test_every_file_has_its_place_and_mode(rooms, kind) -> None:
    root = rooms[kind] / "root"
    wanted = EVERYWHERE | (WITH_SYSTEMD if kind in SYSTEMD else WITH_OPENRC)
    assert {name: (root / name).lstat().st_mode & 0o7777 for name in wanted} == wanted
    other = WITH_OPENRC if kind in SYSTEMD else WITH_SYSTEMD
    assert [n for n in other if n != "usr/bin/lyrsvc" and (root / n).exists()] == []
    if kind in SYSTEMD:
        assert (root / "usr/bin/lyrsvc").resolve() == (root / "usr/lib/lyrsvc/lyrsvc").resolve()


@pytest.mark.seed("S-114")
def test_the_example_is_the_generated_one(rooms) -> None:
    text = (rooms["deb"] / "root/etc/lyrsvcgo-svc/config.example.toml").read_text("utf-8")
    assert text == (ROOT / "config.example.toml").read_text("utf-8")
    tomllib.loads(text)


def contents(room) -> list[dict]:
    _, _, listed = (room / "nfpm.yaml").read_text("utf-8").partition("\ncontents:\n")
    return [json.loads(line.removeprefix("  - ")) for line in listed.splitlines()]


@pytest.mark.parametrize("kind", staging.KINDS)
def test_the_manifest_lists_exactly_what_is_staged(rooms, kind) -> None:
    room = rooms[kind]
    listed = contents(room)
    files = {
        entry["src"] for entry in listed if entry.get("type") not in ("tree", "dir", "symlink")
    }
    assert all((room / name).is_file() for name in files)
    staged = {
        path.relative_to(room).as_posix()
        for path in (room / "root").rglob("*")
        if (path.is_file() and not path.is_symlink())
        and not path.is_relative_to(room / "root/usr/lib/lyrsvc")
    }
    assert files == staged
    owned = [entry["dst"] for entry in listed if entry.get("type") == "dir"]
    assert set(owned) <= {"/usr/share/lyrsvc", "/etc/lyrsvcgo-svc"}  # the rest has other owners


@pytest.mark.parametrize("kind", staging.KINDS)
def test_every_script_that_the_manifest_names_is_there(rooms, kind) -> None:
    yaml = pytest.importorskip("yaml")
    manifest = yaml.safe_load((rooms[kind] / "nfpm.yaml").read_text("utf-8"))
    named = [
        *manifest["overrides"][kind]["scripts"].values(),
        *manifest.get(kind, {}).get("scripts", {}).values(),
    ]
    assert {
        f"scripts/{kind}/{path.name}" for path in (rooms[kind] / "scripts" / kind).iterdir()
    } == set(named)


def test_scripts_are_complete_and_speak_plain_sh(rooms) -> None:
    for name, text in staging.scripts(ROOT).items():
        assert staging.INCLUDE not in text, name
        assert "make_account()" in text, name
        for shell in ("dash", "bash", "busybox"):
            if shutil.which(shell):
                words = [shell, *(["sh"] if shell == "busybox" else []), "-n"]
                subprocess.run([*words, str(rooms["deb"] / "scripts" / name)], check=True)


def test_names_are_those_of_the_program() -> None:
    shared = (ROOT / "packaging/native/shared.sh").read_text("utf-8")
    assert f"ACCOUNT={brand.SERVICE_USER}\n" in shared
    assert f"STATE={brand.PACKAGE_STATE}\n" in shared
    assert f"SETTINGS={brand.PACKAGE_CONFIG.rpartition('/')[0]}\n" in shared
    assert brand.SERVICE_USER == staging.ACCOUNT


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_the_manual_page_is_clean_and_names_every_command(rooms) -> None:
    from lyrsvc.cli.commands import COMMANDS

    page = gzip.decompress((rooms["deb"] / "root/usr/share/man/man1/lyrsvc.1.gz").read_bytes())
    words = ["groff", "-man", "-Tascii", "-ww", "-rLL=200n", "-P-cbou"]
    done = subprocess.run(words, input=page, capture_output=True, check=True)
    assert done.stderr == b""
    shown = done.stdout.decode()
    assert [command.name for command in COMMANDS if f"lyrsvc {command.name}" not in shown] == []
    assert "--provider" in shown
