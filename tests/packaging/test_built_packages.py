"""Real packages, installed to real systems and started by a real service manager.

Takes minutes: ``python3 dev.py test tests/packaging -m builds_packages``.
"""

import hashlib
import io
import re
import shutil
import struct
import subprocess
import tarfile
import zlib

import pytest

from devtools import search_paths
from devtools.workshop import Workshop
from lyrsvc import __version__
from small_roots import may_mount
from source_tree import ROOT

pytestmark = [
    pytest.mark.builds_packages,
    pytest.mark.skipif(not may_mount(), reason="needs root and the right to mount"),
]

SHOP = Workshop(ROOT)
UNIT = "lyrsvcgo-svc"
MACHINES = {"x86_64": 62, "aarch64": 183}


def one(dist, pattern: str):
    (found,) = dist.glob(pattern)
    return found


def install_deb(system, dist) -> subprocess.CompletedProcess[str]:
    shutil.copy(one(dist, "*.deb"), system.place / "lyrsvc.deb")
    done = system.run("dpkg", "-i", "/lyrsvc.deb")
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def check_installed(system) -> None:
    passwd = (system.place / "etc/passwd").read_text()
    user = re.search(
        r"^lyrsvcgo-svc:x:(\d+):(\d+):[^:]*:/var/lib/lyrsvcgo-svc:\S*nologin$", passwd, re.M
    )
    assert user
    state = (system.place / "var/lib/lyrsvcgo-svc").stat()
    assert (state.st_uid, state.st_gid, state.st_mode & 0o7777) == (
        int(user[1]),
        int(user[2]),
        0o750,
    )
    settings = (system.place / "etc/lyrsvcgo-svc").stat()
    assert (settings.st_uid, settings.st_gid) == (0, int(user[2]))
    assert settings.st_mode & 0o7777 == 0o2750
    assert (system.place / "usr/lib/systemd/system/lyrsvcgo-svc.service").is_file()
    assert (system.place / "etc/lyrsvcgo-svc/config.example.toml").is_file()
    wants = system.place / "etc/systemd/system/multi-user.target.wants"
    assert not (wants / "lyrsvcgo-svc.service").exists()


@pytest.mark.seed("S-114")
@pytest.mark.spec("C-61")
def test_the_deb_on_a_clean_system(dist, system) -> None:
    told = install_deb(system, dist).stdout
    assert "nothing is enabled or started" in told
    check_installed(system)
    version = system.run("lyrsvc", "--version")
    assert version.stdout.startswith(f"lyrsvc {__version__} (commit "), version.stderr
    assert system.run("dpkg", "--verify", "lyrsvc").stdout == ""
    assert system.run("dpkg", "--purge", "lyrsvc").returncode == 0
    assert (system.place / "var/lib/lyrsvcgo-svc").is_dir()
    assert "lyrsvcgo-svc:" in (system.place / "etc/passwd").read_text()
    assert not (system.place / "usr/lib/lyrsvc").exists()


STEPS = """
main_pid() { systemctl show -p MainPID --value lyrsvcgo-svc; }
ask() {
    exec 3<>/dev/tcp/127.0.0.1/3876 || return 1
    printf 'GET %s HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' "$1" >&3
    head -1 <&3
    exec 3>&-
}
mkdir -p /srv/music; chown lyrsvcgo-svc /srv/music
echo "== fresh"; systemctl is-enabled lyrsvcgo-svc; systemctl is-active lyrsvcgo-svc
echo "== verify"; systemd-analyze verify lyrsvcgo-svc.service 2>&1
echo "== start"; systemctl start lyrsvcgo-svc; echo $?; systemctl is-active lyrsvcgo-svc; ask /healthz
echo "== show"; systemctl show --all lyrsvcgo-svc
echo "== closed"; nsenter -t "$(main_pid)" -m touch /srv/music/x 2>&1; nsenter -t "$(main_pid)" -m touch /etc/lyrsvcgo-svc/x 2>&1
echo "== library"; lyrsvc library add /srv/music --name kept 2>&1
echo "== settings"; lyrsvc config set server.instance_name shelf >/dev/null 2>&1; stat -c '%a %U:%G' /etc/lyrsvcgo-svc/config.toml; setpriv --reuid lyrsvcgo-svc --regid lyrsvcgo-svc --clear-groups lyrsvc config get server.instance_name 2>/dev/null
echo "== owners"; find /var/lib/lyrsvcgo-svc ! -user lyrsvcgo-svc; [ -e ~root/.local ] || echo 'none of root'
mkdir -p /etc/systemd/system/lyrsvcgo-svc.service.d
cp /usr/share/lyrsvc/systemd/media-write.conf /etc/systemd/system/lyrsvcgo-svc.service.d/
systemctl daemon-reload; systemctl restart lyrsvcgo-svc
echo "== open"; nsenter -t "$(main_pid)" -m touch /srv/music/x 2>&1; ls /srv/music
before=$(main_pid)
echo "== upgrade running"; dpkg -i /lyrsvc.deb >/dev/null 2>&1; echo $?; systemctl is-active lyrsvcgo-svc; [ "$(main_pid)" != "$before" ] && echo renewed
journalctl -u lyrsvcgo-svc --no-pager -o cat | grep -c '"msg":"stopped"'
systemctl stop lyrsvcgo-svc
echo "== upgrade stopped"; dpkg -i /lyrsvc.deb >/dev/null 2>&1; echo $?; systemctl is-active lyrsvcgo-svc
systemctl enable --now lyrsvcgo-svc 2>/dev/null
echo "== remove"; dpkg -r lyrsvc 2>&1 | grep kept; systemctl is-active lyrsvcgo-svc; ls /etc/systemd/system/multi-user.target.wants | grep lyrsvc; ls /var/lib/lyrsvcgo-svc/lyrsvcgo.db; id -un lyrsvcgo-svc
echo "== again"; dpkg -i /lyrsvc.deb >/dev/null 2>&1; systemctl start lyrsvcgo-svc; systemctl is-active lyrsvcgo-svc; lyrsvc library list 2>/dev/null
echo 'nonsense =' >/etc/lyrsvcgo-svc/config.toml
echo "== bad settings"; systemctl restart lyrsvcgo-svc 2>/dev/null; sleep 31; systemctl is-failed lyrsvcgo-svc; systemctl show -p Result --value lyrsvcgo-svc
echo "== end"
"""


@pytest.mark.seed("S-114", "S-115", "S-116")
@pytest.mark.spec("C-62", "C-64")
def test_the_unit_on_a_booted_system(dist, system) -> None:
    install_deb(system, dist)
    told = system.boot(STEPS)
    assert "end" in told, (system.place / "steps.err").read_text()
    assert told["fresh"] == "disabled\ninactive"
    assert told["verify"] == ""
    assert told["start"].startswith("0\nactive\nHTTP/1.1 200")
    shown = dict(line.split("=", 1) for line in told["show"].splitlines() if "=" in line)
    assert shown["ProtectSystem"] == "strict"
    assert shown["ReadWritePaths"] == "/var/lib/lyrsvcgo-svc"
    assert shown["CapabilityBoundingSet"] == ""
    for name in (
        "PrivateTmp",
        "NoNewPrivileges",
        "ProtectHome",
        "PrivateDevices",
        "LockPersonality",
    ):
        assert shown[name] == "yes", name
    assert "LYRSVC_DB_PATH=/var/lib/lyrsvcgo-svc/lyrsvcgo.db" in shown["Environment"]
    assert "LYRSVC_LOG_FORMAT=json" in shown["Environment"]
    assert told["closed"].count("Read-only file system") == 2
    assert told["settings"] == "640 root:lyrsvcgo-svc\nshelf"
    assert told["owners"] == "none of root"
    assert told["open"] == "x"
    assert told["upgrade running"].splitlines()[:3] == ["0", "active", "renewed"]
    assert told["upgrade stopped"].splitlines() == ["0", "inactive"]
    removed = told["remove"].splitlines()
    assert "kept: state in /var/lib/lyrsvcgo-svc" in removed[0]
    assert removed[1:] == ["inactive", "/var/lib/lyrsvcgo-svc/lyrsvcgo.db", UNIT]
    assert told["again"].startswith("active\n")
    assert "kept" in told["again"]
    assert told["bad settings"].splitlines()[0] == "failed"


@pytest.mark.seed("S-114")
@pytest.mark.spec("C-61")
@pytest.mark.skipif(shutil.which("rpm") is None, reason="rpm is not installed")
def test_the_rpm_on_a_system_without_other_rpms(dist, system) -> None:
    package = one(dist, "*.rpm")
    shutil.copy(package, system.place / "lyrsvc.rpm")

    def rpm(*words: str) -> str:
        # Nothing provides the C library to rpm here, so only that is left unchecked.
        command = ["rpm", f"--root={system.place}", "--nodeps", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    assert "nothing is enabled or started" in rpm("-i", str(package))
    check_installed(system)
    assert system.run("lyrsvc", "--version").stdout.startswith(f"lyrsvc {__version__} ")
    assert rpm("-V", "lyrsvc") == ""
    rpm("-U", "--replacepkgs", str(package))
    check_installed(system)
    assert "kept: state" in rpm("-e", "lyrsvc")
    assert (system.place / "var/lib/lyrsvcgo-svc").is_dir()
    assert not (system.place / "usr/lib/lyrsvc").exists()
    asked = ["rpm", "-qp", "--requires", str(package)]
    needs = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.splitlines()
    other = [line for line in needs if not line.startswith("rpmlib(")]
    assert len(other) == 1
    assert re.fullmatch(r"libc\.so\.6\(GLIBC_2\.\d+\)\(64bit\)", other[0])


def test_no_binary_looks_for_libraries_where_it_was_built(dist, tmp_path) -> None:
    subprocess.run(["dpkg-deb", "-x", str(one(dist, "*.deb")), str(tmp_path)], check=True)
    files = [path for path in tmp_path.rglob("*") if path.is_file() and not path.is_symlink()]
    looked = {each for path in files for each in search_paths.search_paths(path.read_bytes())}
    assert {each for each in looked if not each.startswith("$ORIGIN")} == set()
    assert not any(path.stat().st_mode & 0o6002 for path in files)


@pytest.mark.seed("S-114")
@pytest.mark.parametrize("machine", MACHINES)
def test_the_apk_is_what_alpine_reads(dist, machine) -> None:
    control, data = streams(one(dist, f"*_{machine}.apk").read_bytes())
    head = unpacked(zlib.decompress(control, 31) + bytes(1024))
    assert next(iter(head)) == ".PKGINFO"
    steps = {".pre-install", ".post-install", ".post-upgrade", ".pre-deinstall", ".post-deinstall"}
    assert set(head) == {".PKGINFO", *steps}
    lines = head[".PKGINFO"][1].decode().splitlines()
    info = dict(line.split(" = ", 1) for line in lines if " = " in line)
    assert (info["pkgname"], info["arch"], info["depend"]) == ("lyrsvc", machine, "python3~3.12")
    assert info["datahash"] == hashlib.sha256(data).hexdigest()
    files = unpacked(zlib.decompress(data, 31))
    assert files["etc/init.d/lyrsvcgo-svc"][0] == 0o755
    assert files["usr/bin/lyrsvc"][0] == 0o755
    binaries = [name for name in files if re.search(r"\.so(\.|$)", name)]
    assert len(binaries) > 5
    for name in binaries:
        content = files[name][1]
        assert struct.unpack_from("<H", content, 18)[0] == MACHINES[machine], name
        assert b"libc.so.6\0" not in content, name
        assert b"libc.musl-" in content, name
        assert "cpython-312" in name or "abi3" in name or ".libs/" in name, name


def unpacked(archive: bytes) -> dict[str, tuple[int, bytes]]:
    """Give mode and content of every file of an archive."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return {
            member.name: (member.mode, tar.extractfile(member).read())
            for member in tar.getmembers()
            if member.isfile()
        }


def streams(content: bytes) -> list[bytes]:
    """Divide a file at the ends of its gzip streams."""
    found = []
    while content:
        reader = zlib.decompressobj(31)
        reader.decompress(content)
        found.append(content[: len(content) - len(reader.unused_data)])
        content = reader.unused_data
    return found


def test_sums_fit_and_archives_hold_the_source_alone(dist) -> None:
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=dist, check=True)
    assert one(dist, "*.whl").name == f"lyrsvc-{__version__}-py3-none-any.whl"
    with tarfile.open(one(dist, "*.tar.gz")) as tar:
        names = tar.getnames()
    assert any(name.endswith("/src/lyrsvc/_build.py") for name in names)
    assert not any("/build/" in name or "/dist/" in name for name in names)
