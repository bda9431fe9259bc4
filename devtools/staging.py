"""Lay out the tree of a native package: every file once, with its place, mode and format.

Nothing here needs a packaging tool, so the result can be looked at without any.
"""

import gzip
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from devtools.reference_pages import Page

KINDS = ("deb", "rpm", "apk")
SYSTEMD = ("deb", "rpm")
OPENRC = ("apk",)
ACCOUNT = "lyrsvcgo-svc"
SETTINGS = f"/etc/{ACCOUNT}"
PROGRAM = "/usr/lib/lyrsvc"
INCLUDE = "# include shared.sh\n"

PAGES = (
    Page("lyrsvc.1", ("-m", "lyrsvc.cli.man_page")),
    Page("config.example.toml", ("-m", "lyrsvc", "config", "docs", "--format", "toml")),
    Page("lyrsvc.bash", ("-m", "lyrsvc", "completion", "bash")),
    Page("_lyrsvc", ("-m", "lyrsvc", "completion", "zsh")),
    Page("lyrsvc.fish", ("-m", "lyrsvc", "completion", "fish")),
)
"""What the program prints about itself; they are staged under these names."""


@dataclass(frozen=True)
class Item:
    """A file of the package and where it comes from: the checkout, or a page of the program."""

    place: str
    source: str
    mode: int = 0o644
    kinds: tuple[str, ...] = KINDS
    type: str = ""
    """What the package manager is told: ``config`` is never overwritten when it was edited."""


_SHARE = "/usr/share/lyrsvc"
_SHELLS = "/usr/share"
ITEMS = (
    Item(
        f"/usr/lib/systemd/system/{ACCOUNT}.service",
        f"packaging/systemd/{ACCOUNT}.service",
        kinds=SYSTEMD,
    ),
    Item(f"{_SHARE}/systemd/media-write.conf", "packaging/systemd/media-write.conf", kinds=SYSTEMD),
    Item(
        f"{_SHARE}/systemd/settings-write.conf",
        "packaging/systemd/settings-write.conf",
        kinds=SYSTEMD,
    ),
    Item(f"/etc/init.d/{ACCOUNT}", f"packaging/openrc/{ACCOUNT}.initd", 0o755, OPENRC),
    Item(f"/etc/conf.d/{ACCOUNT}", f"packaging/openrc/{ACCOUNT}.confd", 0o644, OPENRC, "config"),
    Item(
        f"/etc/logrotate.d/{ACCOUNT}",
        f"packaging/openrc/{ACCOUNT}.logrotate",
        kinds=OPENRC,
        type="config",
    ),
    Item("/usr/bin/lyrsvc", "packaging/native/program/lyrsvc", 0o755, OPENRC),
    Item(f"{SETTINGS}/config.example.toml", "config.example.toml", type="config"),
    Item(f"{_SHELLS}/bash-completion/completions/lyrsvc", "lyrsvc.bash"),
    Item(f"{_SHELLS}/zsh/site-functions/_lyrsvc", "_lyrsvc"),
    Item(f"{_SHELLS}/fish/vendor_completions.d/lyrsvc.fish", "lyrsvc.fish"),
    Item("/usr/share/man/man1/lyrsvc.1.gz", "lyrsvc.1"),
    Item("/usr/share/doc/lyrsvc/copyright", "packaging/native/copyright"),
    Item("/usr/share/doc/lyrsvc/README.md", "README.md"),
    Item("/usr/share/doc/lyrsvc/CHANGELOG.md", "CHANGELOG.md"),
    Item(f"{_SHARE}/lidarr-rename-hook.sh", "packaging/lidarr-rename-hook.sh", 0o755),
    Item(f"{_SHARE}/grafana/lyrsvc.json", "packaging/grafana/lyrsvc.json"),
    Item(f"{_SHARE}/prometheus/lyrsvc.rules.yml", "packaging/prometheus/lyrsvc.rules.yml"),
    Item(f"{_SHARE}/fail2ban/filter.d/lyrsvc.conf", "packaging/fail2ban/filter.d/lyrsvc.conf"),
    Item(f"{_SHARE}/fail2ban/jail.d/lyrsvc.conf", "packaging/fail2ban/jail.d/lyrsvc.conf"),
    Item(f"{_SHARE}/proxy/nginx.conf", "packaging/proxy/nginx.conf"),
    Item(f"{_SHARE}/proxy/Caddyfile", "packaging/proxy/Caddyfile"),
    Item(f"{_SHARE}/proxy/traefik.yaml", "packaging/proxy/traefik.yaml"),
)


def lay_out(kind: str, checkout: Path, pages: Path, program: Path, room: Path) -> None:
    """Fill a room with the package's tree, its scripts and its manifest.

    ``program`` is the tree that becomes ``/usr/lib/lyrsvc``; ``pages`` holds the rendered pages.
    """
    shutil.rmtree(room, ignore_errors=True)
    root = room / "root"
    for item in _items(kind):
        source = pages / item.source
        target = root / item.place.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        content = (source if source.exists() else checkout / item.source).read_bytes()
        target.write_bytes(gzip.compress(content, mtime=0) if target.suffix == ".gz" else content)
        target.chmod(item.mode)
    tree = root / PROGRAM.lstrip("/")
    shutil.copytree(program, tree, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    _level_modes(tree)
    if kind in SYSTEMD:
        link = root / "usr" / "bin" / "lyrsvc"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to("../lib/lyrsvc/lyrsvc")
    for name, text in scripts(checkout).items():
        script = room / "scripts" / name
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(text, "utf-8", newline="\n")
        script.chmod(0o755)
    head = (checkout / "packaging" / "nfpm.yaml").read_text("utf-8")
    (room / "nfpm.yaml").write_text(head + _contents(kind, root), "utf-8", newline="\n")


def scripts(checkout: Path) -> Mapping[str, str]:
    """Give every maintainer script, complete, by format and name."""
    native = checkout / "packaging" / "native"
    shared = (native / "shared.sh").read_text("utf-8")
    return {
        f"{kind}/{path.name}": path.read_text("utf-8").replace(INCLUDE, shared)
        for kind in KINDS
        for path in sorted((native / kind).iterdir())
    }


def _items(kind: str) -> Iterator[Item]:
    return (item for item in ITEMS if kind in item.kinds)


def _contents(kind: str, root: Path) -> str:
    """Write the list of contents; directories that other packages own are left to them."""
    entries: list[dict[str, object]] = [
        {
            "dst": item.place,
            "src": f"root{item.place}",
            **({"type": item.type} if item.type else {}),
            "file_info": {"mode": item.mode, "owner": "root", "group": "root"},
        }
        for item in _items(kind)
    ]
    entries.append({"dst": PROGRAM, "src": f"root{PROGRAM}", "type": "tree"})
    entries.append({"dst": "/usr/share/lyrsvc", "type": "dir", "file_info": {"mode": 0o755}})
    link = root / "usr" / "bin" / "lyrsvc"
    if link.is_symlink():
        entries.append({"dst": "/usr/bin/lyrsvc", "src": "../lib/lyrsvc/lyrsvc", "type": "symlink"})
    if kind == "rpm":  # which sets owner and mode again with every upgrade
        owner = {"mode": 0o2750, "owner": "root", "group": ACCOUNT}
        entries.append({"dst": SETTINGS, "type": "dir", "file_info": owner})
    # Every JSON value is a YAML value.
    return "\ncontents:\n" + "".join(f"  - {json.dumps(entry)}\n" for entry in entries)


def _level_modes(tree: Path) -> None:
    """Make modes depend on what a file is, not on who built it."""
    tree.chmod(0o755)
    for path in tree.rglob("*"):
        if not path.is_symlink():
            runs = path.is_dir() or (path.parent == tree and path.stat().st_mode & 0o100)
            path.chmod(0o755 if runs else 0o644)
