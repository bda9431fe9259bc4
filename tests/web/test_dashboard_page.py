"""The dashboard: the queue, the lanes and what was finished last."""

import re
from datetime import timedelta

import pytest

from lyrsvc.web.dashboard_page import slices_of
from report_rows import fill
from service_runs import House

NOWHERE = "http://127.0.0.1:9"
UI = {"LYRSVC_WEB_UI_ENABLED": "true", "LYRSVC_PROVIDERS_PRIMARY": "lrclib"}
INSTRUMENTAL = "SELECT n FROM counts WHERE name = 'instrumental'"


@pytest.fixture
def house(tmp_path, clock):
    return House(tmp_path, clock, NOWHERE)


@pytest.fixture
def run(house):
    with house.running(**UI) as running:
        yield running


def text_of(html):
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


@pytest.mark.seed("S-078")
def test_tiles_show_every_status_and_lead_to_its_items(run):
    run.db.write(fill)
    page = run.visitor().get("/dashboard")
    counts = {
        row["status"]: row["n"]
        for row in run.rows("SELECT status, count(*) AS n FROM work_items GROUP BY status")
    }
    for status, number in counts.items():
        (shown,) = re.findall(
            rf'href="/queue\?status={status}">.*?tile-value">([\d,]+)<', page.text, re.DOTALL
        )
        assert int(shown.replace(",", "")) == number
    assert "doughnut" in page.text


@pytest.mark.seed("S-078")
def test_an_empty_queue_has_no_doughnut_and_says_what_to_do(run):
    page = run.visitor().get("/dashboard").text
    assert 'class="doughnut"' not in page
    assert "The queue is empty" in page
    assert "no data" in text_of(page)


@pytest.mark.seed("S-078")
def test_the_page_is_never_cached_and_changes_nothing(run):
    answer = run.visitor().get("/dashboard")
    assert answer.header("cache-control") == "no-store"
    forms = re.findall(r'<form[^>]*action="([^"]+)"', answer.text)
    assert set(forms) <= {"/theme", "/logout"}


@pytest.mark.spec("H-52")
@pytest.mark.seed("S-078")
@pytest.mark.parametrize(
    ("zone", "shown"), [("Europe/Prague", "CET"), ("", "UTC"), ("No/Where", "UTC")]
)
def test_moments_are_shown_in_the_operators_zone(house, zone, shown):
    with house.running(**UI, TZ=zone) as run:
        run.db.write(fill)
        page = run.visitor().get("/dashboard").text
        moments = re.findall(r"<time[^>]*>(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (\w+)</time>", page)
        assert moments
        assert {name for _, name in moments} <= {shown, "CEST" if shown == "CET" else shown}


@pytest.mark.seed("S-078")
def test_the_twenty_latest_completions_come_newest_first(run, clock):
    run.db.write(fill)
    page = run.visitor().get("/dashboard").text
    region = page.partition('data-region="recent"')[2].partition("</section>")[0]
    shown = re.findall(r'<time datetime="([^"]+)"', region)
    stored = [
        row["completed_at"][:19] + "Z"
        for row in run.rows(
            "SELECT completed_at FROM work_items WHERE status = 'done' "
            "ORDER BY completed_at DESC, id DESC LIMIT 20"
        )
    ]
    assert shown == stored


@pytest.mark.seed("S-078")
def test_lanes_show_hits_of_attempts_with_a_bar_and_instrumentals_are_counted(run):
    run.db.write(fill)
    page = run.visitor().get("/dashboard").text
    lanes = page.partition('data-region="lanes"')[2].partition("</section>")[0]
    tiles = re.findall(r'<li class="lane">.*?</li>', lanes, re.DOTALL)
    (tile,) = [tile for tile in tiles if "lrclib" in text_of(tile).lower().split()]
    assert 'class="lane-count">1/3<' in tile
    assert '<progress max="3" value="1"' in tile
    assert "33.3% hits" in text_of(tile)
    top = page.partition('data-region="tiles"')[2].partition("</section>")[0]
    (shown,) = re.findall(r'instrumental-inventory">.*?tile-value">(\d+)<', top, re.DOTALL)
    assert int(shown) == run.rows(INSTRUMENTAL)[0]["n"]
    recent = page.partition('data-region="recent"')[2].partition("</section>")[0]
    (row,) = [row for row in re.findall(r"<tr>.*?</tr>", recent) if "Tidewater" in row]
    cells = re.findall(r'<td data-label="(\w+)"[^>]*>(.*?)</td>', row)
    found = {name: text_of(cell) for name, cell in cells}
    assert (found["Artist"], found["Album"], found["Provider"]) == (
        "Artist 1",
        "Northern Pier",
        "lrclib",
    )
    assert "synced" in found["Result"].lower()


@pytest.mark.spec("H-54")
def test_names_are_shown_as_they_are_and_never_run(run, clock):
    run.enqueue("<script>alert(1)</script>", stem="odd")
    run.enqueue("long " * 100, 215.0, stem="long")
    clock.moment += timedelta(seconds=1)
    page = run.visitor().get("/dashboard").text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert '<bdi class="name">' in page
    assert "unsafe-" not in run.visitor().get("/dashboard").header("content-security-policy")


def test_slices_fill_the_ring_and_leave_out_what_is_not_there():
    slices = slices_of({"done": 1, "pending": 2, "failed": 1, "deferred": 0, "processing": 0})
    assert [one.status for one in slices if one.count] == [one.status for one in slices]
    assert sum(one.share for one in slices) == pytest.approx(1)
    assert sum(one.length for one in slices) == pytest.approx(2 * 3.141592653589793 * 42, abs=0.01)
    assert slices_of({"done": 0}) == ()


@pytest.mark.seed("S-076")
def test_the_root_leads_to_the_dashboard(run):
    answer = run.visitor().get("/")
    assert (answer.status, answer.header("location")) == (302, "/dashboard")
