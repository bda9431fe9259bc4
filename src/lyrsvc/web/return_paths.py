"""Where a visitor may be sent after signing in: one of our own pages, nothing else."""

from typing import Final
from urllib.parse import unquote

HOME: Final = "/dashboard"
_NEVER: Final = ("/api/", "/static/", "/metrics", "/login", "/setup", "/logout", "/theme")


def safe_next(text: str) -> str:
    """Give the path when it leads to a page of ours, else the dashboard."""
    if not text.startswith("/") or text.startswith("//"):
        return HOME
    plain = unquote(text)
    if any(sign in text or sign in plain for sign in ("\\", "\r", "\n", "\0")):
        return HOME
    path = plain.partition("?")[0].partition("#")[0]
    if path == "/" or path.startswith("//") or path.startswith(_NEVER):
        return HOME
    return text if text.isascii() and text.isprintable() else HOME
