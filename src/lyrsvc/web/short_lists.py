"""Lists short enough to be kept whole: libraries, lanes, tasks, health."""

from collections.abc import Callable, Iterable
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from lyrsvc.web.shapes import Page, PageNumber, PageSize

T = TypeVar("T")


class ShortListQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What a short list understands."""

    page: PageNumber = 1
    page_size: PageSize = 50
    q: Annotated[str, Meta(max_length=1000, description="Text to look for; not its case.")] = ""


def short_page(items: Iterable[T], query: ShortListQuery, *, text: Callable[[T], str]) -> Page[T]:
    """Give one page of what holds the text that is looked for."""
    wanted = query.q.casefold()
    found = [item for item in items if wanted in text(item).casefold()]
    begin = (query.page - 1) * query.page_size
    return Page(
        items=found[begin : begin + query.page_size],
        page=query.page,
        page_size=query.page_size,
        total=len(found),
    )
