"""The HTTP application: one table of routes, plain functions behind it."""

from collections.abc import Callable
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lyrsvc.core.errors import LyrsvcError
from lyrsvc.runtime import Runtime


class Call(NamedTuple):
    """One request, with the wired parts a handler may use."""

    request: Request
    runtime: Runtime


Handler = Callable[[Call], Response]


def health(_: Call) -> Response:
    """Answer as long as requests are answered at all."""
    return JSONResponse({"status": "ok"})


def ready(call: Call) -> Response:
    """Answer 200 while the database can be read; say nothing about why it cannot."""
    try:
        call.runtime.db.check_reachable()
    except LyrsvcError:
        return JSONResponse({"status": "unavailable"}, status_code=503)
    return JSONResponse({"status": "ok"})


ROUTES: tuple[tuple[str, str, Handler], ...] = (
    ("GET", "/healthz", health),
    ("GET", "/readyz", ready),
)


def create_app(runtime: Runtime) -> Starlette:
    """Make the application out of the table."""

    def endpoint(handler: Handler) -> Callable[[Request], object]:
        async def answer(request: Request) -> Response:
            return await run_in_threadpool(handler, Call(request, runtime))

        return answer

    base = runtime.settings.server.base_path
    return Starlette(
        routes=[
            Route(base + path, endpoint(handler), methods=[method])
            for method, path, handler in ROUTES
        ]
    )
