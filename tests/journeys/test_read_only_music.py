"""Music that may not be written to, as the hardened unit shows it to the service."""

import json
import subprocess
import sys

import pytest

from builders import minimal_flac
from lyrsvc.demo.stand_in import StandIn
from served import Served, wait_until
from small_roots import needs_root
from source_tree import ROOT

pytestmark = needs_root

ARTIST, TITLE = "The Quiet Ferrymen", "Lanterns on the Weir"
UNIT = ROOT / "packaging" / "systemd" / "lyrsvcgo-svc.service"
DROP_IN = "/etc/systemd/system/lyrsvcgo-svc.service.d/media-write.conf"

# What ProtectSystem=strict does to whatever is not in ReadWritePaths; the unit is installed.
AS_THE_UNIT = """
mount --bind "$1" "$1"
mount -o remount,bind,ro "$1"
mount -t tmpfs none /run
mkdir -p /run/systemd/system
cp "$2" /run/systemd/system/
shift 2
exec "$@"
"""


@pytest.fixture
def upstream():
    with StandIn() as stand_in:
        yield stand_in


@pytest.fixture
def music(tmp_path):
    music = tmp_path / "music"
    music.mkdir()
    minimal_flac(music / "one.flac", seconds=38, title=TITLE, artist=ARTIST)
    return music


@pytest.fixture
def below(music) -> tuple[str, ...]:
    return ("unshare", "--mount", "sh", "-ec", AS_THE_UNIT, "sh", str(music), str(UNIT))


def asked(upstream) -> list[str]:
    return [call.path for call in upstream.requests]


@pytest.mark.seed("S-115")
@pytest.mark.spec("C-63")
def test_an_item_waits_unasked_until_the_drop_in_opens_its_music(
    tmp_path, upstream, music, below
) -> None:
    environ = {
        "LYRSVC_DB_PATH": str(tmp_path / "state" / "x.db"),
        "LYRSVC_LRCLIB_BASE_URL": upstream.url,
        "LYRSVC_LRCLIB_COOLDOWN_SECONDS": "0",
        "LYRSVC_PROVIDER_PRIMARY": "lrclib",
        "LYRSVC_SCAN_SCHEDULE": "off",
        "LYRSVC_WORK_INTERVAL": "1",
    }
    with Served(tmp_path, environ, below=below) as served:
        served.run("library", "add", str(music))
        served.run("scan")
        wait_until(
            lambda: "read_only" in served.run("queue", "failed").stdout, "it is refused", limit_s=60
        )
        assert served.stop() == 0
    (warning,) = [line for line in served.log.splitlines() if "cannot write in" in line]
    assert " WARN " in warning
    assert f"cannot write in {music}: read-only for this process" in warning
    assert f"put [Service] ReadWritePaths={music} into {DROP_IN}" in warning
    assert asked(upstream) == []
    (item,) = json.loads(served.run("queue", "failed", "--json").stdout)
    assert item["due_at"]  # it is tried again by itself

    with Served(tmp_path, environ) as served:
        assert served.run("queue", "retry", str(item["id"])).returncode == 0
        wait_until((music / "one.lrc").exists, "the sidecar", limit_s=60)
        assert served.stop() == 0
    assert len(asked(upstream)) == 1


def test_a_directory_is_not_asked_for_when_nothing_can_be_written(
    tmp_path, upstream, music, below
) -> None:
    command = [*below, sys.executable, "-m", "lyrsvc", str(music), "--provider", "lrclib"]
    environ = {"HOME": str(tmp_path), "LYRSVC_LRCLIB_BASE_URL": upstream.url}
    path = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    done = subprocess.run(
        command, env=path | environ, capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 1
    assert "read-only file system" in done.stdout + done.stderr
    assert asked(upstream) == []
