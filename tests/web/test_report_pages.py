"""The five reports as pages and downloads: they say the same, and what a direct count says."""

import csv
import io

import pytest

from fakes import FakeClock
from lyrsvc.store import counts
from lyrsvc.web.navigation import MENU
from lyrsvc.web.report_views import REPORTS
from plain_browser import PlainBrowser
from report_rows import DONE, NOW, fill, insert_item
from service_runs import House

KEYS = [report.key for report in REPORTS]
FORMULA = "=cmd|' /C calc'!A0"
SCRIPT = "<script>alert(1)</script>"


def add_odd_titles(tx):
    for number, title in enumerate((FORMULA, SCRIPT, "مرحبا"), 20):
        done = {**DONE, "lane": "lrclib", "outcome": "synced", "completed_at": NOW}
        insert_item(tx, number, done, title=title, album=SCRIPT)
    counts.correct(tx, now=NOW)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    house = House(tmp_path_factory.mktemp("reports"), FakeClock(), "http://127.0.0.1:9")
    with house.running(LYRSVC_WEB_UI_ENABLED="true") as running:
        running.db.write(fill)
        running.db.write(add_odd_titles)
        yield running


@pytest.fixture(scope="module")
def browser(run):
    return PlainBrowser(run.visitor())


def csv_rows(browser, key, query=""):
    answer = browser.visitor.get(f"/reports/{key}.csv{query}")
    assert answer.status == 200, answer.text
    return list(csv.DictReader(io.StringIO(answer.body.decode("utf-8-sig"), newline="")))


def json_rows(browser, key, query=""):
    answer = browser.visitor.get(f"/reports/{key}.json{query}")
    assert answer.status == 200, answer.text
    return answer.json


def table_rows(page):
    return max(sum(tag == "tr" for tag, _ in page.elements) - 1, 0)


def test_the_menu_and_the_overview_name_the_declared_reports(browser):
    (group,) = [group for group in MENU if group.title == "Reports"]
    assert [entry.path for entry in group.entries] == [f"/reports/{key}" for key in KEYS]

    page = browser.open("/reports")
    links = [given.get("href") for tag, given in page.elements if tag == "a"]
    for report in REPORTS:
        assert report.title in page.text
        assert report.lead in page.text
        assert {f"/reports/{report.key}", f"/reports/{report.key}.csv"} <= set(links)


@pytest.mark.seed("S-084")
@pytest.mark.parametrize("key", KEYS)
def test_a_report_is_a_live_page_that_nobody_stores(browser, key):
    page = browser.open(f"/reports/{key}")

    assert page.answer.status == 200
    assert page.answer.header("cache-control") == "no-store"
    assert "As of 2026-01-31 14:05:06 UTC" in page.text
    assert [form.action for form in page.forms if form.method == "post"] == ["/theme"]


@pytest.mark.spec("H-51")
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("query", ["", "?page=2&page_size=2", "?page_size=2"])
def test_page_json_and_the_api_show_the_same_rows(run, browser, key, query):
    shown = json_rows(browser, key, query)
    api = run.visitor(scope="admin").get(f"/api/v1/reports/{key}{query}").json

    assert shown == api
    page = browser.open(f"/reports/{key}{query}")
    assert table_rows(page) == len(shown["items"])
    for row in shown["items"]:
        names = [row[column] for column in ("artist", "title", "source_path") if column in row]
        numbers = [f"{row[column]:,}" for column in ("count", "hits", "misses") if column in row]
        assert all(text in page.text for text in (*names, *numbers))


@pytest.mark.spec("H-51")
@pytest.mark.parametrize(
    ("key", "query", "number"),
    [
        ("queue-summary", "?library=2", 6),
        ("recent-outcomes", "?result=miss", 2),
        ("recent-outcomes", "?lane=lrclib&since=2026-01-31", 4),
        ("recent-outcomes", "?q=CAFE", 1),
        ("recent-outcomes", "?until=2026-01-30&library=", 2),
        ("provider-effectiveness", "?since=2026-01-31", 2),
        ("instrumental-inventory", "?library=1", 1),
        ("instrumental-inventory", "?origin=explicit", 1),
        ("failure-analysis", "?status=failed", 2),
        ("failure-analysis", "?library=2", 2),
    ],
)
def test_a_filter_narrows_page_csv_and_json_alike(browser, key, query, number):
    page, told = browser.open(f"/reports/{key}{query}"), json_rows(browser, key, query)

    assert table_rows(page) == len(told["items"]) == told["total"] == number
    assert len(csv_rows(browser, key, query)) == number


def test_the_links_to_downloads_carry_the_filters(browser):
    page = browser.open("/reports/recent-outcomes?result=synced&page=2&page_size=1&q=")
    links = [given.get("href") for tag, given in page.elements if tag == "a"]

    assert "/reports/recent-outcomes.csv?result=synced" in links
    assert "/reports/recent-outcomes.json?result=synced&page=2&page_size=1" in links


def test_a_csv_is_a_file_with_every_page_and_no_formula(browser):
    answer = browser.visitor.get("/reports/recent-outcomes.csv?page_size=1&page=2")
    rows = csv_rows(browser, "recent-outcomes", "?page_size=1&page=2")

    assert answer.header("content-disposition") == (
        'attachment; filename="lyrsvc-recent-outcomes-20260131.csv"'
    )
    assert answer.header("content-type") == "text/csv; charset=utf-8"
    assert len(rows) == 8
    assert f"'{FORMULA}" in [row["title"] for row in rows]


@pytest.mark.spec("H-51")
def test_counts_equal_a_direct_count_and_lead_to_the_rows_behind_them(run, browser):
    page = browser.open("/reports/failure-analysis")
    links = [given["href"] for tag, given in page.elements if tag == "a"]
    behind = [link for link in links if link.startswith("/queue?status=")]

    assert behind == [
        "/queue?status=deferred&reason=not_found",
        "/queue?status=failed&reason=network",
        "/queue?status=deferred&reason=no_lyrics",
        "/queue?status=failed&reason=disk_full",
    ]
    for row, link in zip(json_rows(browser, "failure-analysis")["items"], behind, strict=True):
        (direct,) = run.rows(
            "SELECT count(*) AS n FROM work_items "
            f"WHERE status = '{row['status']}' AND reason = '{row['reason']}'"
        )
        items = browser.open(link)
        assert row["count"] == direct["n"] == table_rows(items)


def test_a_summary_of_a_library_leads_to_the_items_of_that_library(browser):
    page = browser.open("/reports/queue-summary?library=2")
    links = [given["href"] for tag, given in page.elements if tag == "a"]

    assert "/queue?status=failed&library=2" in links
    assert "/queue?library=2" in links  # the total
    assert "/queue?status=pending&library=2" not in links  # there is none


def test_hit_rates_are_written_as_everywhere(browser):
    text = browser.open("/reports/provider-effectiveness").text

    assert "33.3%" in text
    assert "may differ" in text


@pytest.mark.spec("H-54")
@pytest.mark.parametrize("key", KEYS)
def test_names_are_escaped_and_set_apart_by_direction(browser, key):
    assert SCRIPT not in browser.open(f"/reports/{key}").answer.text
    outcomes = browser.open("/reports/recent-outcomes")
    assert SCRIPT in outcomes.text
    assert '<bdi class="name">مرحبا</bdi>' in outcomes.answer.text


def test_the_filters_of_a_page_are_those_of_its_query(browser):
    def names(key):
        page = browser.open(f"/reports/{key}")
        return [name for form in page.forms if form.method == "get" for name, _ in form.fields]

    assert {key: names(key) for key in KEYS} == {
        "queue-summary": ["library"],
        "recent-outcomes": ["q", "result", "lane", "library", "since", "until"],
        "provider-effectiveness": ["since", "until"],
        "instrumental-inventory": ["q", "library", "origin"],
        "failure-analysis": ["status", "library"],
    }


@pytest.mark.parametrize(
    "path", ["/reports/nope", "/reports/nope.csv", "/reports/nope.json", "/reports/.csv"]
)
def test_an_unknown_report_is_not_found(browser, path):
    assert browser.visitor.get(path).status == 404


@pytest.mark.parametrize("query", ["status=done", "library=x", "page_size=0", "colour=red"])
def test_a_bad_filter_is_a_bad_request(browser, query):
    for form in ("", ".csv", ".json"):
        assert browser.visitor.get(f"/reports/failure-analysis{form}?{query}").status == 400


def test_strangers_see_no_report(run):
    stranger = run.visitor(peer="203.0.113.9")

    for path in ("/reports", *(f"/reports/{key}{form}" for key in KEYS for form in ("", ".csv"))):
        answer = stranger.get(path)
        assert (answer.status, answer.header("location")) == (303, "/setup")


def test_an_empty_service_has_something_to_say_in_every_report(tmp_path):
    house = House(tmp_path, FakeClock(), "http://127.0.0.1:9")
    with house.running(LYRSVC_WEB_UI_ENABLED="true") as running:
        browser = PlainBrowser(running.visitor())
        assert table_rows(browser.open("/reports/queue-summary")) == 6
        assert "Nothing to report yet" in browser.open("/reports/recent-outcomes").text
        assert "No instrumental track" in browser.open("/reports/instrumental-inventory").text
        assert "No failures" in browser.open("/reports/failure-analysis").text
        assert "–" in browser.open("/reports/provider-effectiveness").text
