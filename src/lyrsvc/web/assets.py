"""The style sheet, the script and the pictures: addresses that change with their content."""

import hashlib
from functools import cache
from importlib.resources import files
from typing import Final

from lyrsvc.web.exchange import Exchange
from lyrsvc.web.gates import ANYONE
from lyrsvc.web.problems import Problem
from lyrsvc.web.replies import Reply
from lyrsvc.web.route import Room, page

_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_FOR_EVER: Final = {"Cache-Control": "public, max-age=31536000, immutable"}


@cache
def contents() -> dict[str, bytes]:
    """Give every file that is served, by name."""
    return {
        entry.name: entry.read_bytes()
        for entry in files("lyrsvc.web").joinpath("static").iterdir()
        if entry.is_file() and f".{entry.name.rpartition('.')[2]}" in _TYPES
    }


@cache
def address(name: str) -> str:
    """Give the path of a file below the base path."""
    return f"/static/{_digest(name)}/{name}"


def serve_asset(exchange: Exchange, digest: str, name: str) -> Reply:  # noqa: ARG001
    """Serve one file; only under the address of its present content."""
    if name not in contents() or digest != _digest(name):
        raise Problem("not_found", "there is nothing at this address")
    kind = _TYPES[f".{name.rpartition('.')[2]}"]
    return Reply(text=contents()[name], content_type=kind, headers=_FOR_EVER)


@cache
def _digest(name: str) -> str:
    return hashlib.sha256(contents()[name]).hexdigest()[:16]


ROUTES: Final = (page("/static/{digest}/{name}", ANYONE, serve_asset, room=Room.INSTANT),)
