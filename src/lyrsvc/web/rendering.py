"""Templates become pages: the frame around every one, numbers and moments as people read them."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from lyrsvc import __version__, brand
from lyrsvc.settings.zones import shown_zone
from lyrsvc.web import assets, page_messages
from lyrsvc.web.gates import page_of
from lyrsvc.web.identity_kinds import IdentityKind
from lyrsvc.web.navigation import Banner, NavGroup, banners_of, navigation_of
from lyrsvc.web.origins import csrf_cookie, csrf_of
from lyrsvc.web.page_messages import Message
from lyrsvc.web.replies import Reply

if TYPE_CHECKING:
    from lyrsvc.web.exchange import Exchange

HTML: Final = "text/html; charset=utf-8"
THEMES: Final = ("auto", "light", "dark")

_STAMP: Final = re.compile(r"\b(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:Z| UTC)\b", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Frame:
    """What stands around a page's own content."""

    base: str
    here: str
    instance: str
    version: str
    theme: str
    csrf: str
    user: str
    nav: Sequence[NavGroup] = ()
    banners: Sequence[Banner] = ()
    message: Message | None = None


class _Template(Template):
    """A template that leaves nothing behind for the search for garbage."""

    def render(self, **values: Any) -> str:  # noqa: ANN401 - as inherited
        context = self.new_context(values)
        try:
            return self.environment.concat(self.root_render_func(context))
        except Exception:  # noqa: BLE001 - raised again, told by the lines of the template
            self.environment.handle_exception()
        finally:
            context.vars.clear()  # its macros refer to the context that refers to them


class _Environment(Environment):
    template_class = _Template


def show(
    exchange: "Exchange",
    template: str,
    *,
    title: str,
    status: int = 200,
    cookies: Sequence[str] = (),
    **context: Any,  # noqa: ANN401 - whatever the template names
) -> Reply:
    """Render a page inside the frame."""
    return _page(
        exchange,
        template,
        framed=True,
        title=title,
        status=status,
        cookies=cookies,
        context=context,
    )


def show_door(
    exchange: "Exchange",
    template: str,
    *,
    title: str,
    status: int = 200,
    delay_s: float = 0.0,
    headers: dict[str, str] | None = None,
    **context: Any,  # noqa: ANN401 - whatever the template names
) -> Reply:
    """Render a page for visitors who are not in yet: no menu, nothing about the service."""
    return _page(
        exchange,
        template,
        framed=False,
        title=title,
        status=status,
        context=context,
        delay_s=delay_s,
        headers=headers or {},
    )


def _page(
    exchange: "Exchange",
    template: str,
    *,
    framed: bool,
    title: str,
    context: dict[str, Any],
    **reply: Any,  # noqa: ANN401 - handed on
) -> Reply:
    settings = exchange.service.settings
    csrf = csrf_of(exchange, exchange.identity.session)
    message = page_messages.read(exchange)
    frame = Frame(
        base=exchange.base_path,
        here=page_of(exchange),
        instance=settings.server.instance_name,
        version=__version__,
        theme=theme_of(exchange),
        csrf=csrf,
        user=exchange.identity.name if exchange.identity.kind is IdentityKind.SESSION else "",
        nav=navigation_of(exchange) if framed else (),
        banners=banners_of(exchange) if framed else (),
        message=message,
    )
    page = environment(exchange.base_path, settings.environment.tz).get_template(template)
    field = Markup('<input type="hidden" name="csrf_token" value="{}">').format(csrf)
    text = page.render(title=title, frame=frame, csrf_field=lambda: field, **context)
    cookies = [*reply.pop("cookies", ()), csrf_cookie(exchange, csrf)]
    if message is not None:
        cookies.append(page_messages.forget(exchange))
    return Reply(text=text, content_type=HTML, cookies=cookies, **reply)


def theme_of(exchange: "Exchange") -> str:
    """Give the theme the visitor chose; the system's unless one was."""
    chosen = exchange.cookies.get(brand.THEME_COOKIE, "")
    return chosen if chosen in THEMES else THEMES[0]


@cache
def environment(base: str, tz: str) -> Environment:
    """Give the templates as this installation shows them: its addresses, its time zone."""
    zone = shown_zone(tz)
    env = _Environment(
        loader=PackageLoader("lyrsvc.web", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.globals["url"] = lambda path: base + path
    env.globals["asset"] = lambda name: base + assets.address(name)
    env.filters["moment"] = lambda at: _moment(at, zone)
    env.filters["iso"] = _iso
    env.filters["instant"] = _instant
    env.filters["number"] = lambda number: f"{number:,}"
    env.filters["size"] = shown_size
    env.filters["span"] = shown_span
    return env


def shown_here(exchange: "Exchange", text: str) -> str:
    """Write the moments that a sentence names in the zone that pages have."""
    zone = shown_zone(exchange.service.settings.environment.tz)

    def here(found: re.Match[str]) -> str:
        with suppress(ValueError):  # digits that only look like one
            return _moment(datetime.fromisoformat(f"{found[1]}T{found[2]}Z"), zone)
        return found[0]

    return _STAMP.sub(here, text)


def shown_size(size: int) -> str:
    """Write a number of bytes as people say it."""
    amount = float(size)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{size} bytes" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"


def shown_span(seconds: float) -> str:
    """Write a span of time in its two largest units."""
    left = int(seconds)
    parts: list[str] = []
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        number, left = divmod(left, length)
        if number or (unit == "s" and not parts):
            parts.append(f"{number} {unit}")
    return " ".join(parts[:2])


def _moment(at: datetime, zone: tzinfo) -> str:
    return at.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S %Z")


def _instant(text: str | None) -> datetime | None:
    """Read a moment in the form that JSON has."""
    return datetime.fromisoformat(text) if text else None


def _iso(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
