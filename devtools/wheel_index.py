"""Fetch one wheel through the package index that pip's own settings name.

Only for a Python without any pip. The caller checks the content against a pinned hash.
"""

import configparser
import os
import ssl
import sys
import urllib.request
from base64 import b64encode
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from urllib.error import URLError
from urllib.parse import unquote, urldefrag, urljoin, urlsplit, urlunsplit

TIMEOUT_S = 60
SECTIONS = ("global", "install")


def fetch(project: str, filename: str) -> bytes | None:
    """Give the file's content, or None when no configured place has it."""
    settings = pip_settings(os.environ)
    for folder in settings.get("find-links", "").split():
        local = Path(folder.removeprefix("file://")) / filename
        if local.is_file():
            return local.read_bytes()
    for index in index_urls(settings):
        try:
            return _from_index(index, project, filename, settings)
        except (URLError, OSError, LookupError) as error:
            print(f"dev.py: no {filename} from the index: {error}", file=sys.stderr)
    return None


def index_urls(settings: Mapping[str, str]) -> list[str]:
    """List the configured indexes, the main one first."""
    if settings.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        return []
    return [*settings.get("index-url", "").split(), *settings.get("extra-index-url", "").split()]


def pip_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Read pip's settings the way pip does: files first, then variables."""
    settings: dict[str, str] = {}
    for path in _settings_files(environ):
        parser = configparser.RawConfigParser()
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError):
            continue
        for section in SECTIONS:
            if parser.has_section(section):
                settings.update((k.replace("_", "-"), v) for k, v in parser.items(section))
    for name, value in environ.items():
        if name.startswith("PIP_") and value:
            settings[name.removeprefix("PIP_").lower().replace("_", "-")] = value
    return settings


def _settings_files(environ: Mapping[str, str]) -> Iterator[Path]:
    named = environ.get("PIP_CONFIG_FILE", "")
    if named == os.devnull:
        return
    for folder in environ.get("XDG_CONFIG_DIRS", "/etc/xdg").split(os.pathsep):
        yield Path(folder) / "pip" / "pip.conf"
    yield Path("/etc/pip.conf")
    home = Path(environ.get("HOME", "/nonexistent"))
    yield home / ".pip" / "pip.conf"
    yield Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "pip" / "pip.conf"
    yield Path(sys.prefix) / "pip.conf"
    if named:
        yield Path(named)


def _from_index(index: str, project: str, filename: str, settings: Mapping[str, str]) -> bytes:
    page_url = f"{index.rstrip('/')}/{project}/"
    links = _Links()
    links.feed(_get(page_url, index, settings).decode("utf-8", "replace"))
    for href in links.found:
        url = urldefrag(urljoin(page_url, href)).url
        if unquote(urlsplit(url).path).rsplit("/", 1)[-1] == filename:
            return _get(url, index, settings)
    raise LookupError("the project's page does not list it")


def _get(url: str, index: str, settings: Mapping[str, str]) -> bytes:
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    request = urllib.request.Request(  # noqa: S310 - the operator's own index
        urlunsplit(parts._replace(netloc=host)), headers={"Accept": "text/html, */*;q=0.1"}
    )
    credential, _, index_host = urlsplit(index).netloc.rpartition("@")
    if credential and host == index_host:
        request.add_header(
            "Authorization", f"Basic {b64encode(unquote(credential).encode()).decode()}"
        )
    context = ssl.create_default_context(cafile=settings.get("cert") or None)
    if {host, parts.hostname} & set(settings.get("trusted-host", "").split()):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    with urllib.request.urlopen(request, timeout=TIMEOUT_S, context=context) as reply:  # noqa: S310
        content: bytes = reply.read()
    return content


class _Links(HTMLParser):
    """Collects where the anchors of a page lead."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the target of one anchor."""
        self.found += [value for name, value in attrs if tag == "a" and name == "href" and value]
