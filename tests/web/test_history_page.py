"""The history as a page."""

from datetime import timedelta

import pytest

from fakes import FakeClock
from lyrsvc.core.item import Result
from lyrsvc.store import history
from lyrsvc.store.history import Happening, Note
from plain_browser import PlainBrowser
from queue_cases import an_item
from report_rows import NOW, fill
from service_runs import House

DAY = timedelta(days=1)


def add_past(tx):
    rows = [
        (1, Happening.ENQUEUED, Note(by="webhook", library_id=1)),
        (
            1,
            Happening.WRITTEN,
            Note(
                by="worker",
                lane="lrclib",
                outcome=Result.SYNCED,
                destination="/music/<i>a</i>.lrc",
                library_id=1,
            ),
        ),
        (6, Happening.MISS, Note(by="worker", reason="not_found", library_id=2)),
        (77, Happening.RETRIED, Note(by="user:ann")),
    ]
    for days, (number, event, note) in enumerate(rows):
        item = an_item(id=number, artist="Björk", title=f"Jóga {number}", album="Homogenic")
        history.add(tx, item, event, note, now=NOW + days * DAY)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    house = House(tmp_path_factory.mktemp("history"), FakeClock(), "http://127.0.0.1:9")
    with house.running(LYRSVC_WEB_UI_ENABLED="true", TZ="Europe/Prague") as running:
        running.db.write(fill)
        running.db.write(add_past)
        yield PlainBrowser(running.visitor())


def titles(page):
    assert page.answer.status == 200, page.answer.text
    return [part[:6].strip() for part in page.text.split(" Jóga ")[1:]]


def test_the_newest_comes_first_with_everything_there_is_to_know(browser):
    page = browser.open("/history")

    assert [one.split()[0] for one in titles(page)] == ["77", "6", "1", "1"]
    for words in ("Retried", "user:ann", "No lyrics", "Not in any catalogue", "Written", "Synced"):
        assert words in page.text
    assert "/music/<i>a</i>.lrc" in page.text
    assert "<i>" not in page.answer.text
    assert "2026-02-03 15:05:06 CET" in page.text


def test_rows_lead_to_their_item_while_it_is_in_the_queue(browser):
    links = [given.get("href") for tag, given in browser.open("/history").elements if tag == "a"]

    assert links.count("/queue/1") == 2
    assert links.count("/queue/6") == 1
    assert "/queue/77" not in links


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("event=miss", 1),
        ("lane=lrclib", 1),
        ("library=1", 2),
        ("since=2026-02-01", 3),
        ("until=2026-02-01", 1),
        ("since=2026-02-01&until=2026-02-02", 1),
        ("q=joga+6", 1),
        ("event=&lane=&library=&since=&until=&q=", 4),
        ("page=2&page_size=3", 1),
    ],
)
def test_filters_and_pages(browser, query, expected):
    assert len(titles(browser.open(f"/history?{query}"))) == expected


def test_the_filters_show_what_is_chosen(browser):
    page = browser.open("/history?event=miss&since=2026-02-01&until=2026-03-01T00:00:00Z&dir=asc")
    (form,) = [form for form in page.forms if form.method == "get"]

    assert dict(form.fields) == {
        "dir": "asc",
        "q": "",
        "event": "miss",
        "lane": "",
        "library": "",
        "since": "2026-02-01",
        "until": "2026-03-01T00:00:00Z",
    }
    assert page.ids["filter-since"]["type"] == "date"
    assert page.ids["filter-until"]["type"] == "text"


def test_what_cannot_be_a_moment_is_told(browser):
    page = browser.open("/history?since=yesterday")

    assert page.answer.status == 400
    assert "2026-01-31T14:05:06Z" in page.text


def test_nothing_matches_and_nothing_happened_are_told_apart(browser, tmp_path):
    assert "Nothing matches" in browser.open("/history?q=zzz").text
    house = House(tmp_path, FakeClock(), "http://127.0.0.1:9")
    with house.running(LYRSVC_WEB_UI_ENABLED="true") as running:
        assert "Nothing happened yet" in PlainBrowser(running.visitor()).open("/history").text


def test_the_page_changes_nothing(browser):
    answer = browser.visitor.submit("/history", {"action": "clear"})

    assert answer.status == 405


def test_a_filtered_page_behind_the_last_leads_back(browser):
    page = browser.open("/history?event=miss&page=9")

    assert "This page is empty" in page.text
    assert "/history?event=miss" in [given.get("href") for _, given in page.elements]
