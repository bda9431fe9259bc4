"""The five reports over HTTP: JSON and CSV say the same, and what a direct count says."""

import csv
import io
import threading

import pytest

from fakes import FakeClock
from lyrsvc.core.errors import StoreBusy, StoreLate
from lyrsvc.store import counts
from lyrsvc.web import csv_export, report_views
from lyrsvc.web.csv_export import neutral
from report_rows import DONE, NOW, fill, insert_item
from service_runs import House

URL = "/api/v1/reports"
KEYS = [report.key for report in report_views.REPORTS]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    house = House(tmp_path_factory.mktemp("reports"), FakeClock(), "http://127.0.0.1:9")
    with house.running() as running:
        running.db.write(fill)
        running.db.write(add_odd_titles)
        yield running


def add_odd_titles(tx):
    for number, title in enumerate(ODD_TITLES, 20):
        done = {**DONE, "lane": "lrclib", "outcome": "synced", "completed_at": NOW}
        insert_item(tx, number, done, title=title, album="<script>alert(1)</script>")
    counts.correct(tx, now=NOW)


ODD_TITLES = [
    "=cmd|' /C calc'!A0",
    "+1",
    "-1",
    "@SUM(A1)",
    "\tx",
    "\rx",
    'a "b", c',
    "l1\nl2",
    "مرحبا",
]


@pytest.fixture(scope="module")
def admin(run):
    return run.visitor(scope="admin")


def rows(admin, key, query=""):
    answer = admin.get(f"{URL}/{key}?page_size=500&{query}")
    assert answer.status == 200, answer.text
    return answer.json["items"]


def csv_rows(admin, key, query=""):
    answer = admin.get(f"{URL}/{key}?format=csv&{query}")
    assert answer.status == 200, answer.text
    text = answer.body.decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline="")))


@pytest.mark.seed("S-084")
def test_the_summary_counts_every_status_with_zeros_and_all(admin, run):
    found = {row["status"]: row["count"] for row in rows(admin, "queue-summary")}
    direct = run.rows("SELECT status, count(*) AS n FROM work_items GROUP BY status")

    assert list(found) == ["pending", "processing", "done", "failed", "deferred", "total"]
    assert {row["status"]: row["n"] for row in direct}.items() <= found.items()
    assert found["total"] == sum(row["n"] for row in direct)
    assert {row["status"]: row["count"] for row in rows(admin, "queue-summary", "library=2")} == {
        "pending": 0,
        "processing": 0,
        "done": 2,
        "failed": 1,
        "deferred": 1,
        "total": 4,
    }


@pytest.mark.seed("S-084")
def test_outcomes_come_newest_first_and_pages_join(admin):
    whole = rows(admin, "recent-outcomes")
    parts = []
    for page in range(1, 6):
        answer = admin.get(f"{URL}/recent-outcomes?page={page}&page_size=3").json
        assert (answer["total"], answer["page"], answer["page_size"]) == (len(whole), page, 3)
        parts += answer["items"]

    assert parts == whole
    moments = [row["completed_at"] for row in whole]
    assert moments == sorted(moments, reverse=True)
    assert whole[-1] == {
        "artist": "Artist 5",
        "title": "Wrong Words",
        "album": "",
        "completed_at": "2024-12-27T14:05:06Z",
        "lane": "",
        "result": "miss",
        "outcome": "rejected",
    }


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ("result=miss", ["Nothing Known", "Wrong Words"]),
        ("lane=detector", ["Ember"]),
        ("library=2", ["Ember", "Tidewater"]),
        ("q=cafe+noir", ["Saltgrass"]),
        ("until=2026-01-30", ["Nothing Known", "Wrong Words"]),
        ("since=2026-01-31T13:05:06Z&until=2026-01-31T13:05:07Z", ["Tidewater"]),
    ],
)
def test_outcomes_are_filtered(admin, query, titles):
    assert [row["title"] for row in rows(admin, "recent-outcomes", query)] == titles
    assert [row["title"] for row in csv_rows(admin, "recent-outcomes", query)] == titles


@pytest.mark.seed("S-084")
def test_lanes_fare_as_their_attempts_say_and_configured_ones_are_always_there(admin, run):
    found = rows(admin, "provider-effectiveness")

    assert found == [
        {"lane": "defaultprov", "hits": 1, "misses": 2, "hit_rate": "33.3%"},
        {"lane": "lrclib", "hits": 1, "misses": 2, "hit_rate": "33.3%"},
    ]
    later = rows(admin, "provider-effectiveness", "since=2030-01-01")
    assert later == [
        {"lane": lane, "hits": 0, "misses": 0, "hit_rate": "–"}
        for lane in run.service.lane_desk.names
    ]
    assert len(later) > 0


@pytest.mark.seed("S-084")
def test_confirmed_instrumentals_have_a_line_for_every_file(admin):
    found = [
        (row["id"], row["source_path"], row["origin"])
        for row in rows(admin, "instrumental-inventory")
    ]

    assert found == [
        (3, "/music/rock/c.flac", "library"),
        (3, "/music/jazz/caf\ufffd.flac", "library"),
        (11, "", "explicit"),
        (13, "", "global"),
    ]
    assert [row["id"] for row in rows(admin, "instrumental-inventory", "origin=global")] == [13]
    assert [row["id"] for row in rows(admin, "instrumental-inventory", "library=2")] == [3]


@pytest.mark.seed("S-084")
def test_failures_are_counted_by_reason_the_most_frequent_first(admin):
    found = [
        (row["status"], row["reason"], row["count"]) for row in rows(admin, "failure-analysis")
    ]

    assert found == [
        ("deferred", "not_found", 2),
        ("failed", "network", 2),
        ("deferred", "no_lyrics", 1),
        ("failed", "disk_full", 1),
    ]
    assert [row["status"] for row in rows(admin, "failure-analysis", "status=failed")] == [
        "failed"
    ] * 2
    assert rows(admin, "failure-analysis", "library=2&status=failed") == [
        {"status": "failed", "reason": "network", "count": 1}
    ]


@pytest.mark.spec("H-51")
@pytest.mark.parametrize("key", KEYS)
def test_json_and_csv_agree(admin, key):
    def shown(row):
        return {name: str(neutral(value)) for name, value in row.items()}

    assert csv_rows(admin, key) == [shown(row) for row in rows(admin, key)]


@pytest.mark.parametrize("key", KEYS)
def test_a_report_says_what_it_is(admin, key):
    body = admin.get(f"{URL}/{key}").json

    assert set(body) == {"report", "generated_at", "columns", "items", "page", "page_size", "total"}
    assert (body["report"], body["generated_at"]) == (key, "2026-01-31T14:05:06Z")
    assert all(set(row) == set(body["columns"]) for row in body["items"])


@pytest.mark.spec("H-51")
def test_every_piece_of_a_csv_is_made_where_reports_are(admin, monkeypatch):
    monkeypatch.setattr(report_views, "PIECE", 2)
    made_in = []
    real = csv_export.csv_lines

    def noted(rows):
        made_in.append(threading.current_thread().name)
        return real(rows)

    monkeypatch.setattr(report_views, "csv_lines", noted)
    assert len(csv_rows(admin, "recent-outcomes")) > 4
    assert len(made_in) > 3
    assert {name.rpartition("_")[0] for name in made_in} == {"web-report"}


def test_a_csv_is_a_download_that_no_spreadsheet_runs(admin):
    answer = admin.get(f"{URL}/recent-outcomes?format=csv")

    assert answer.header("content-type") == "text/csv; charset=utf-8"
    assert answer.header("content-disposition") == (
        'attachment; filename="lyrsvc-recent-outcomes-20260131.csv"'
    )
    assert answer.header("cache-control") == "no-store"
    assert answer.body.startswith(
        b"\xef\xbb\xbfartist,title,album,completed_at,lane,result,outcome\r\n"
    )
    assert answer.body.endswith(b"\r\n")
    titles = [row["title"] for row in csv_rows(admin, "recent-outcomes", "lane=lrclib")]
    assert titles[:-1] == [
        "مرحبا",
        "l1\nl2",
        'a "b", c',
        "'\rx",
        "'\tx",
        "'@SUM(A1)",
        "'-1",
        "'+1",
        "'=cmd|' /C calc'!A0",
    ]


def test_all_rows_are_exported_piece_by_piece(admin, monkeypatch):
    whole = csv_rows(admin, "recent-outcomes"), csv_rows(admin, "instrumental-inventory")
    for size in (1, 2, 3, 4, 7, 14):
        monkeypatch.setattr(report_views, "PIECE", size)
        assert csv_rows(admin, "recent-outcomes") == whole[0]
        assert csv_rows(admin, "instrumental-inventory") == whole[1]


def test_exports_that_are_taken_slowly_keep_nobody_from_the_database(run, monkeypatch):
    monkeypatch.setattr(report_views, "PIECE", 2)
    query = report_views.OutcomesQuery(format="csv")
    slow = [report_views.RECENT_OUTCOMES.pieces(run.service, query) for _ in range(6)]

    assert all(next(export).count("\r\n") == 2 for export in slow)
    with run.db.read(deadline_s=0.5) as tx:
        assert tx.value("SELECT count(*) FROM work_items") > 0


def test_asking_for_the_head_of_an_export_sends_none_of_it(admin):
    answer = admin.ask("HEAD", f"{URL}/recent-outcomes?format=csv")

    assert (answer.status, answer.body) == (200, b"")
    assert answer.header("content-type") == "text/csv; charset=utf-8"


def test_an_export_that_breaks_is_cut_off_and_does_not_look_whole(admin, monkeypatch):
    monkeypatch.setattr(report_views, "PIECE", 2)
    real, asked = report_views.recent_outcomes, []

    def breaking(*args, **options):
        asked.append(options)
        if len(asked) > 2:
            raise StoreBusy("held by another process")
        return real(*args, **options)

    monkeypatch.setattr(report_views, "recent_outcomes", breaking)
    with pytest.raises(StoreBusy):
        admin.get(f"{URL}/recent-outcomes?format=csv")


def test_a_database_that_cannot_be_read_is_told_before_anything_is_sent(admin, monkeypatch):
    def breaking(*_args, **_options):
        raise StoreLate("too long")

    monkeypatch.setattr(report_views, "recent_outcomes", breaking)
    answer = admin.get(f"{URL}/recent-outcomes?format=csv")

    assert (answer.status, answer.json["error"]) == (503, "timeout")
    assert answer.header("retry-after") == "5"


def test_a_report_nobody_knows_is_not_found(admin):
    assert admin.get(f"{URL}/bogus").status == 404
    assert admin.get(URL).status == 404
    assert admin.post(f"{URL}/queue-summary", {}).status == 405


@pytest.mark.parametrize(
    "path",
    [
        "queue-summary?lane=lrclib",
        "queue-summary?format=xml",
        "recent-outcomes?origin=global",
        "recent-outcomes?since=never",
        "provider-effectiveness?q=x",
        "instrumental-inventory?origin=bogus",
        "failure-analysis?status=done",
        "failure-analysis?page_size=501",
    ],
)
@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_filter_of_another_report_or_a_bad_value_is_named(admin, path, form):
    suffix = "" if "format=" in path else f"&format={form}"
    answer = admin.get(f"{URL}/{path}{suffix}")

    assert (answer.status, answer.json["error"]) == (400, "invalid_request")
    assert answer.json["detail"].startswith(path.partition("?")[2].partition("=")[0])


def test_only_an_admin_key_opens_reports(run):
    assert run.visitor().get(f"{URL}/queue-summary").status == 401
    assert run.visitor(scope="webhook").get(f"{URL}/queue-summary").status == 403
