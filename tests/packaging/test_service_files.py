"""What starts the service: the systemd unit with its drop-ins, and the OpenRC script."""

import configparser
import re
import shutil
import subprocess

import pytest

from devtools.state import DEFAULT_ADDRESS
from lyrsvc import brand
from source_tree import ROOT

UNIT = ROOT / "packaging/systemd/lyrsvcgo-svc.service"
DATABASE = f"{brand.PACKAGE_STATE}/{brand.DATABASE_NAME}"

SEED = {
    "User": "lyrsvcgo-svc",
    "Group": "lyrsvcgo-svc",
    "ProtectSystem": "strict",
    "ReadWritePaths": "/var/lib/lyrsvcgo-svc",
    "PrivateTmp": "true",
    "NoNewPrivileges": "true",
}
OURS = {
    "Type": "notify",
    "WorkingDirectory": "/var/lib/lyrsvcgo-svc",
    "StateDirectory": "lyrsvcgo-svc",
    "StateDirectoryMode": "0750",
    "UMask": "0022",
    "EnvironmentFile": "-/etc/lyrsvcgo-svc/environment",
    "ExecStart": "/usr/bin/lyrsvc serve",
    "Restart": "on-failure",
    "RestartSec": "5s",
    "TimeoutStartSec": "30min",
    "TimeoutStopSec": "20s",
    "RestrictAddressFamilies": "AF_UNIX AF_INET AF_INET6 AF_NETLINK",
    "SystemCallArchitectures": "native",
    "SystemCallFilter": "@system-service",
    "CapabilityBoundingSet": "",
    **dict.fromkeys(
        [
            "ProtectHome",
            "PrivateDevices",
            "ProtectKernelTunables",
            "ProtectKernelModules",
            "ProtectKernelLogs",
            "ProtectControlGroups",
            "ProtectClock",
            "ProtectHostname",
            "RestrictNamespaces",
            "RestrictRealtime",
            "RestrictSUIDSGID",
            "LockPersonality",
        ],
        "true",
    ),
}


class Several(dict):
    """Keeps the values of a key that stands more than once."""

    def __setitem__(self, key, value) -> None:
        if isinstance(value, list) and key in self:
            self[key].extend(value)
        else:
            super().__setitem__(key, value)


def read(path):
    parser = configparser.RawConfigParser(strict=False, dict_type=Several)
    parser.optionxform = str
    parser.read(path)
    return {name: dict(parser.items(name)) for name in parser.sections()}


@pytest.mark.seed("S-115")
@pytest.mark.spec("C-62")
def test_the_unit_is_hardened_and_sets_both_variables() -> None:
    unit = read(UNIT)
    service = unit["Service"]
    environment = service.pop("Environment").split("\n")
    assert environment == [f"LYRSVC_DB_PATH={DATABASE}", "LYRSVC_LOG_FORMAT=json"]
    assert service == SEED | OURS
    assert unit["Install"] == {"WantedBy": "multi-user.target"}
    assert unit["Unit"] == {
        "Description": "Lyrics sidecar service",
        "After": "network-online.target",
        "Wants": "network-online.target",
        "StartLimitIntervalSec": "300",
        "StartLimitBurst": "5",
    }


@pytest.mark.spec("C-62")
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
@pytest.mark.parametrize("drop_in", ["", "media-write.conf", "settings-write.conf"])
def test_systemd_has_no_complaint(tmp_path, drop_in) -> None:
    unit = tmp_path / UNIT.name
    program = shutil.which("true")  # verify insists that the program is there
    unit.write_text(UNIT.read_text().replace("/usr/bin/lyrsvc", program))
    if drop_in:
        place = tmp_path / f"{UNIT.name}.d"
        place.mkdir()
        text = (UNIT.parent / drop_in).read_text().replace("\n#", "\n")
        lines = [line.partition("  #")[0] for line in text.splitlines()]
        (place / drop_in).write_text("\n".join(lines[lines.index("[Service]") :]) + "\n")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_drop_ins_say_where_they_go() -> None:
    media = (UNIT.parent / "media-write.conf").read_text()
    assert "/etc/systemd/system/lyrsvcgo-svc.service.d/media-write.conf" in media.splitlines()[0]
    assert read(UNIT.parent / "media-write.conf") == {"Service": {"ReadWritePaths": "/srv/music"}}
    settings = read(UNIT.parent / "settings-write.conf")
    assert settings == {"Service": {}}  # all of it is commented out


def test_the_openrc_script_does_the_same() -> None:
    script = (ROOT / "packaging/openrc/lyrsvcgo-svc.initd").read_text()
    assert script.startswith("#!/sbin/openrc-run\n")
    assigned = dict(
        line.split("=", 1) for line in script.splitlines() if line[:1].isalpha() and "=" in line
    )
    assert assigned["supervisor"] == '"supervise-daemon"'
    assert assigned["command_user"] == '"lyrsvcgo-svc:lyrsvcgo-svc"'
    assert assigned["umask"] == '"022"'
    assert (assigned["respawn_delay"], assigned["respawn_max"]) == ("5", "5")
    assert assigned["export LYRSVC_DB_PATH"] == f'"${{LYRSVC_DB_PATH:-{DATABASE}}}"'
    assert assigned["export LYRSVC_LOG_FORMAT"] == '"${LYRSVC_LOG_FORMAT:-json}"'
    assert "    need net\n" in script
    assert "checkpath --directory --owner lyrsvcgo-svc:lyrsvcgo-svc --mode 0750" in script


def test_the_log_that_openrc_keeps_open_is_rotated_without_a_new_file() -> None:
    script = (ROOT / "packaging/openrc/lyrsvcgo-svc.initd").read_text()
    rules = (ROOT / "packaging/openrc/lyrsvcgo-svc.logrotate").read_text()
    (log,) = re.findall(r"^(/\S+) \{$", rules, re.MULTILINE)
    assert f'error_log="${{LYRSVC_OUTPUT_LOG:-{log}}}"' in script
    assert {"copytruncate", "missingok", "rotate"} <= set(rules.split())


def test_examples_name_the_real_port() -> None:
    port = DEFAULT_ADDRESS.rpartition(":")[2]
    for name in ("nginx.conf", "Caddyfile"):
        assert f"127.0.0.1:{port}" in (ROOT / "packaging/proxy" / name).read_text()
