"""A visitor of the HTTP application, in this process: any peer, any header, any cookie.

``with House(...).running(...) as run: run.visitor(scope="admin")`` (``service_runs``) gives one
that holds a key.
"""

import asyncio
import base64
import json
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any, TypeVar
from urllib.parse import urlencode

from lyrsvc.web.answer_watch import WHOLE

T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name.lower()), None)

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key == name.lower()]


@dataclass
class Visitor:
    """Calls the application; keeps its cookies like a browser does."""

    app: Any
    peer: str = "127.0.0.1"
    host: str = "localhost:3876"
    http_version: str = "1.1"
    scheme: str = "http"
    is_whole: bool = False
    """Whether the server tells that the request came in whole."""
    key: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, **more: Any) -> Answer:
        return self.ask("GET", path, **more)

    def post(self, path: str, body: Any = None, **more: Any) -> Answer:
        return self.ask("POST", path, body, **more)

    def patch(self, path: str, body: Any = None, **more: Any) -> Answer:
        return self.ask("PATCH", path, body, **more)

    def delete(self, path: str, body: Any = None, **more: Any) -> Answer:
        return self.ask("DELETE", path, body, **more)

    def submit(self, path: str, fields: Any = (), **more: Any) -> Answer:
        """Post a form."""
        headers = {"content-type": "application/x-www-form-urlencoded", **more.pop("headers", {})}
        return self.ask(
            "POST", path, urlencode(fields, doseq=True).encode(), headers=headers, **more
        )

    def ask(
        self, method: str, path: str, body: Any = None, *, headers: dict[str, str] | None = None
    ) -> Answer:
        """Send one request; anything but bytes is sent as JSON."""
        sent = {"host": self.host, **self.headers, **(headers or {})}
        if self.key and "authorization" not in sent and "x-api-key" not in sent:
            sent["authorization"] = f"Bearer {self.key}"
        if self.cookies:
            sent["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        raw = (
            b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        )
        if raw and "content-length" not in sent:
            sent["content-length"] = str(len(raw))
        answer = run_apart(self._call(method, path, sent, raw))
        self._remember(answer)
        return answer

    async def _call(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        where, _, query = path.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": where,
            "query_string": query.encode(),
            "headers": [
                (k.lower().encode("latin-1"), v.encode("latin-1")) for k, v in headers.items()
            ],
            "client": (self.peer, 51234),
            "scheme": self.scheme,
            "http_version": self.http_version,
            "extensions": {WHOLE: {}} if self.is_whole else {},
        }
        sent: list[dict[str, Any]] = []
        asked = False

        async def receive() -> dict[str, Any]:
            nonlocal asked
            if asked:
                await asyncio.sleep(3600)
            asked = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        start = sent[0]
        return Answer(
            start["status"],
            tuple((k.decode("latin-1"), v.decode("latin-1")) for k, v in start["headers"]),
            b"".join(message.get("body", b"") for message in sent[1:]),
        )

    def _remember(self, answer: Answer) -> None:
        for line in answer.all("set-cookie"):
            jar = SimpleCookie(line)
            for name, morsel in jar.items():
                if morsel["max-age"] == "0":
                    self.cookies.pop(name, None)
                else:
                    self.cookies[name] = morsel.value


def run_apart(work: Coroutine[Any, Any, T]) -> T:
    """Run in a thread of its own: a browser's driver may hold the loop of this one."""
    with ThreadPoolExecutor(1) as apart:
        return apart.submit(asyncio.run, work).result()


def basic(user: str, password: str) -> dict[str, str]:
    """Give the header of Basic credentials."""
    raw = base64.b64encode(f"{user}:{password}".encode()).decode()
    return {"authorization": f"Basic {raw}"}
