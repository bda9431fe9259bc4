"""The addresses of lists: filters, order and page live in them, and every link keeps the rest."""

from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.store.ordering import Order
from lyrsvc.web.list_links import SIZES, ListLinks, Pages, sort_links

ORDERS = {"priority": ("-priority", "id"), "title": ("title_key", "id")}


def links(*given):
    return ListLinks(address="/lyrics/queue", given=given)


def pages(page, total, page_size=50):
    return Pages(page=page, page_size=page_size, total=total, links=links(("q", "é & b")))


def test_a_link_keeps_what_was_chosen_and_begins_at_the_first_page():
    here = links(("status", "failed"), ("status", "done"), ("page", "7"), ("q", "a b&c"))

    assert here.to(sort="title") == ("/lyrics/queue?status=failed&status=done&q=a+b%26c&sort=title")
    assert here.to(status=None, q=None) == "/lyrics/queue"
    assert here.without("status") == "/lyrics/queue?q=a+b%26c"
    assert here.only("status") == (("status", "failed"), ("status", "done"))


def test_the_first_page_has_no_number_and_the_last_one_is_counted():
    some = pages(2, 101)

    assert (some.last, some.is_beyond) == (3, False)
    assert some.href(1) == "/lyrics/queue?q=%C3%A9+%26+b"
    assert some.href(3) == "/lyrics/queue?q=%C3%A9+%26+b&page=3"
    assert [size for size, _ in some.sizes] == list(SIZES) == [25, 50, 100, 200]


@given(st.integers(0, 10**7), st.integers(1, 500), st.integers(1, 10**6))
def test_a_page_is_beyond_exactly_when_there_are_rows_but_none_so_far_behind(total, size, page):
    some = pages(page, total, size)

    assert some.last >= 1
    assert (some.last - 1) * size < max(total, 1) <= max(some.last * size, 1)
    assert some.is_beyond == (0 < total <= (page - 1) * size)


def test_a_column_orders_by_it_then_turns_around_then_leads_back():
    here = links(("sort", "title"))

    first = sort_links(links(), ORDERS, Order(by="priority"), default="priority")
    second = sort_links(here, ORDERS, Order(by="title"), default="priority")
    third = sort_links(here, ORDERS, Order(by="title", descending=True), default="priority")

    assert (first["title"].href, first["title"].direction) == ("/lyrics/queue?sort=title", "none")
    assert (second["title"].href, second["title"].direction) == (
        "/lyrics/queue?sort=title&dir=desc",
        "ascending",
    )
    assert (third["title"].href, third["title"].direction) == ("/lyrics/queue", "descending")
    assert third["priority"].href == "/lyrics/queue"


def test_the_usual_order_turns_around_too():
    usual = sort_links(links(), ORDERS, Order(by="priority"), default="priority")["priority"]

    assert (usual.href, usual.direction) == ("/lyrics/queue?sort=priority&dir=asc", "descending")
