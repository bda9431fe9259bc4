"""One request being answered: what was sent, who sent it, and the wired parts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from lyrsvc import brand
from lyrsvc.core.networks import Standing
from lyrsvc.web.identity_kinds import ANONYMOUS, Identity

if TYPE_CHECKING:
    from lyrsvc.serving import Service


class Form:
    """The fields of a posted form, each with every value it was sent with."""

    def __init__(self, pairs: Sequence[tuple[str, str]] = ()) -> None:
        self.values: dict[str, list[str]] = {}
        for name, value in pairs:
            self.values.setdefault(name, []).append(value)

    def get(self, name: str, default: str = "") -> str:
        """Give the first value of a field."""
        return self.values.get(name, [default])[0]

    def all(self, name: str) -> list[str]:
        """Give every value of a field."""
        return self.values.get(name, [])

    def __contains__(self, name: str) -> bool:
        return name in self.values


@dataclass(kw_only=True)
class Exchange:
    """One request; ``path`` is without the base path, header names are lower case."""

    service: "Service"
    method: str
    path: str
    query_string: str
    headers: tuple[tuple[str, str], ...]
    standing: Standing
    request_id: str
    base_path: str
    is_whole: bool = False
    """Whether nothing more of it has to be waited for."""
    params: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    identity: Identity = ANONYMOUS
    form: Form = field(default_factory=Form)

    def header(self, name: str, default: str = "") -> str:
        """Give the first value of a header; the name in lower case."""
        return next((value for key, value in self.headers if key == name), default)

    def url(self, path: str) -> str:
        """Give the address of one of our own paths, for links and redirects."""
        return self.base_path + path

    @property
    def writes(self) -> bool:
        """Whether the method may change anything."""
        return self.method not in ("GET", "HEAD")

    @property
    def query_pairs(self) -> list[tuple[str, str]]:
        """Every query parameter in the order sent, blank ones included."""
        return read_pairs(self.query_string)

    @property
    def cookies(self) -> dict[str, str]:
        """The cookies the browser sent; what cannot be read counts as absent."""
        found: dict[str, str] = {}
        for name, value in self.headers:
            if name == "cookie":
                for part in value.split(";"):
                    key, equals, text = part.strip().partition("=")
                    if equals and key not in found:
                        found[key] = text.strip('"')
        return found

    def cookie(  # the attributes are the same wherever a cookie is set or cleared
        self, name: str, value: str, *, max_age_s: int
    ) -> str:
        """Write a ``Set-Cookie`` value with the attributes every cookie of ours has."""
        jar: SimpleCookie = SimpleCookie()
        jar[name] = value
        jar[name]["path"] = self.base_path or "/"
        jar[name]["max-age"] = max_age_s
        jar[name]["httponly"] = True
        jar[name]["samesite"] = "Lax"
        if self.standing.secure:
            jar[name]["secure"] = True
        return jar[name].OutputString()

    @property
    def session_token(self) -> str:
        """The session the browser claims to have."""
        return self.cookies.get(brand.SESSION_COOKIE, "")

    @property
    def wants_json(self) -> bool:
        """Whether a program asks rather than a browser showing pages."""
        accept = self.header("accept")
        return self.header("x-requested-with") != "" or (
            "application/json" in accept and "text/html" not in accept
        )


def read_pairs(text: str) -> list[tuple[str, str]]:
    """Read ``name=value&…``; bytes that are no UTF-8 are replaced."""
    return parse_qsl(text, keep_blank_values=True, encoding="utf-8", errors="replace")
