"""What happens to a system when a package comes, is renewed and goes."""

import os
import shutil

import pytest

from small_roots import SmallRoot, needs_root

pytestmark = [needs_root, pytest.mark.needs_tool("busybox")]

UNIT = "lyrsvcgo-svc.service"
LOGGING = '#!/bin/sh\necho "{name} $*" >>/calls\nexit {code}\n'
ADDUSER = """#!/bin/sh
# Alpine's: the home, the shell and the group are given by letters.
while [ $# -gt 1 ]; do
    case $1 in
        -h) home=$2; shift ;; -s) shell=$2; shift ;; -G) group=$2; shift ;; -g) shift ;;
    esac
    shift
done
gid=$(sed -n "s/^$group:x:\\([0-9]*\\):.*/\\1/p" /etc/group)
echo "$1:x:101:$gid:lyrsvc:$home:$shell" >>/etc/passwd
"""
ADDGROUP = """#!/bin/sh
[ "$1" = -S ] || exit 1
echo "$2:x:102:" >>/etc/group
"""


class System:
    """A system that packages are installed to, and the calls its service manager has got."""

    def __init__(self, box: SmallRoot, kind: str, room, *, manager: str = "runs") -> None:
        self.box = box
        self.kind = kind
        shutil.copytree(room / "root", box.place, symlinks=True, dirs_exist_ok=True)
        shutil.copytree(room / "scripts", box.place / "scripts")
        code = 1 if manager == "fails" else 0
        if kind == "apk":
            box.write("usr/sbin/adduser", ADDUSER, 0o755)
            box.write("usr/sbin/addgroup", ADDGROUP, 0o755)
            box.write("usr/bin/python3", LOGGING.format(name="python3", code=0), 0o755)
            names = ("rc-service", "rc-update")
        else:
            box.add_program("useradd")
            box.add_program("groupadd")
            names = ("systemctl",)
            if manager != "offline":
                (box.place / "run/systemd/system").mkdir(parents=True)
        if manager != "missing":
            for name in names:
                box.write(f"usr/bin/{name}", LOGGING.format(name=name, code=code), 0o755)

    def run(self, script: str, *words: str) -> str:
        done = self.box.run("/bin/sh", f"/scripts/{self.kind}/{script}", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def calls(self) -> list[str]:
        """Give the calls since the last time."""
        path = self.box.place / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return [line for line in lines if not line.startswith("python3 ")]

    def line(self, table: str) -> list[str]:
        lines = (self.box.place / "etc" / table).read_text().splitlines()
        (found,) = [line for line in lines if line.startswith("lyrsvcgo-svc:")]
        return found.split(":")

    def stands_as_installed(self) -> None:
        user, group = self.line("passwd"), self.line("group")
        assert user[3] == group[2]
        assert user[5] == "/var/lib/lyrsvcgo-svc"
        assert user[6].endswith(("nologin", "/bin/false"))
        state = (self.box.place / "var/lib/lyrsvcgo-svc").stat()
        assert (state.st_uid, state.st_gid) == (int(user[2]), int(group[2]))
        assert state.st_mode & 0o7777 == 0o750
        settings = (self.box.place / "etc/lyrsvcgo-svc").stat()
        assert (settings.st_uid, settings.st_gid) == (0, int(group[2]))
        assert settings.st_mode & 0o7777 == 0o2750


INSTALL = {
    "deb": [("postinst", "configure", "")],
    "rpm": [("pre", "1"), ("post", "1"), ("posttrans", "1")],
    "apk": [("pre-install", "1.0"), ("post-install", "1.0")],
}
UPGRADE = {
    "deb": [
        ("prerm", "upgrade", "2.0"),
        ("postrm", "upgrade", "2.0"),
        ("postinst", "configure", "1.0"),
    ],
    "rpm": [("pre", "2"), ("post", "2"), ("preun", "1"), ("postun", "1"), ("posttrans", "2")],
    "apk": [("post-upgrade", "2.0", "1.0")],
}
REMOVE = {
    "deb": [("prerm", "remove"), ("postrm", "remove")],
    "rpm": [("preun", "0"), ("postun", "0")],
    "apk": [("pre-deinstall", "1.0"), ("post-deinstall", "1.0")],
}
KINDS = list(INSTALL)


@pytest.fixture
def system(tmp_path, rooms):
    def system(kind: str, **more) -> System:
        return System(SmallRoot(tmp_path / "root"), kind, rooms[kind], **more)

    return system


def go_through(system: System, steps) -> str:
    return "".join(system.run(*step) for step in steps[system.kind])


@pytest.mark.seed("S-114")
@pytest.mark.spec("C-65")
@pytest.mark.parametrize("kind", KINDS)
def test_installing_makes_user_and_directories_and_starts_nothing(system, kind) -> None:
    here = system(kind)
    told = go_through(here, INSTALL)
    here.stands_as_installed()
    assert "nothing is enabled or started" in told
    assert all(f"\n  {number}. " in told for number in (1, 2, 3))
    harmless = {"systemctl daemon-reload", f"systemctl try-restart {UNIT}"}
    assert set(here.calls()) <= (harmless if kind == "rpm" else {"systemctl daemon-reload"})


@pytest.mark.seed("S-114")
@pytest.mark.spec("C-65")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("manager", ["offline", "missing", "fails"])
def test_a_missing_or_failing_service_manager_is_tolerated(system, kind, manager) -> None:
    here = system(kind, manager=manager)
    for steps in (INSTALL, UPGRADE, REMOVE, INSTALL):
        go_through(here, steps)
        here.stands_as_installed()
    if manager == "offline" and kind != "apk":
        assert set(here.calls()) == {f"systemctl --no-reload --quiet disable {UNIT}"}


@pytest.mark.spec("C-64")
@pytest.mark.parametrize("kind", KINDS)
def test_an_upgrade_stops_nothing_and_restarts_only_what_ran(system, kind) -> None:
    here = system(kind)
    go_through(here, INSTALL)
    here.calls()
    go_through(here, UPGRADE)
    calls = here.calls()
    restart = (
        "rc-service --quiet --ifstarted lyrsvcgo-svc restart"
        if kind == "apk"
        else f"systemctl try-restart {UNIT}"
    )
    assert calls.count(restart) == 1
    assert calls[-1] == restart  # when the new files are in place
    assert {call for call in calls if call != restart} <= {"systemctl daemon-reload"}


@pytest.mark.seed("S-114")
@pytest.mark.spec("C-64")
@pytest.mark.parametrize("kind", KINDS)
def test_removal_stops_and_disables_but_keeps_state_user_and_settings(system, kind) -> None:
    here = system(kind)
    go_through(here, INSTALL)
    state = here.box.place / "var/lib/lyrsvcgo-svc/lyrsvcgo.db"
    state.write_text("rows")
    settings = here.box.place / "etc/lyrsvcgo-svc/config.toml"
    settings.write_text("[api]\n")
    here.calls()
    told = go_through(here, REMOVE)
    if kind == "deb":
        told += here.run("postrm", "purge")
    calls = here.calls()
    if kind == "apk":
        assert calls == [
            "rc-service --quiet --ifstarted lyrsvcgo-svc stop",
            "rc-update --quiet --all del lyrsvcgo-svc",
        ]
    else:
        assert calls[:2] == [
            f"systemctl stop {UNIT}",
            f"systemctl --no-reload --quiet disable {UNIT}",
        ]
        assert set(calls[2:]) == {"systemctl daemon-reload"}
    assert "/var/lib/lyrsvcgo-svc" in told
    assert (state.read_text(), settings.read_text()) == ("rows", "[api]\n")
    here.stands_as_installed()


@pytest.mark.spec("C-64")
@pytest.mark.parametrize("kind", KINDS)
def test_a_reinstall_takes_over_what_was_kept(system, kind) -> None:
    here = system(kind)
    go_through(here, INSTALL)
    user = here.line("passwd")
    state = here.box.place / "var/lib/lyrsvcgo-svc/lyrsvcgo.db"
    state.write_text("rows")
    os.chown(state, int(user[2]), int(user[3]))
    go_through(here, REMOVE)
    go_through(here, INSTALL)
    assert here.line("passwd") == user
    assert state.read_text() == "rows"
    here.stands_as_installed()
