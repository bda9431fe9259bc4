"""The five reports say what the rows say."""

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lyrsvc.core.errors import Refused
from lyrsvc.store import counts
from lyrsvc.store.completions import (
    DASHBOARD_ROWS,
    OutcomeFilter,
    outcomes_page,
    recent_outcomes,
)
from lyrsvc.store.instrumentals import (
    InstrumentalFilter,
    instrumental_inventory,
    instrumentals_page,
)
from lyrsvc.store.measuring import take_metrics
from lyrsvc.store.queue_listing import STATUSES
from lyrsvc.store.reporting import failure_analysis, provider_effectiveness, queue_summary
from report_rows import DONE, NOW, ask, fill, ids, insert_item


@pytest.fixture
def filled(db):
    db.write(fill)
    return db


# Queue summary


@pytest.mark.seed("S-084")
def test_the_summary_counts_every_status_and_all_of_them(filled):
    lines = ask(filled, queue_summary)

    assert [(line.status, line.count) for line in lines] == [
        ("pending", 1),
        ("processing", 1),
        ("done", 5),
        ("failed", 3),
        ("deferred", 3),
        ("total", 13),
    ]


def test_the_summary_of_a_fresh_database_is_all_zero(db):
    lines = ask(db, queue_summary)

    assert [line.status for line in lines] == [*STATUSES, "total"]
    assert {line.count for line in lines} == {0}


def test_the_summary_of_a_library_counts_each_item_with_a_target_there_once(filled):
    def summary(library):
        lines = ask(filled, queue_summary, library_id=library)
        return {line.status: line.count for line in lines if line.count}

    assert summary(1) == {"done": 3, "failed": 1, "total": 4}
    assert summary(2) == {"done": 2, "failed": 1, "deferred": 1, "total": 4}
    assert summary(3) == {}


# Recent outcomes


@pytest.mark.seed("S-084")
def test_recent_outcomes_come_newest_first_and_the_id_breaks_ties(filled):
    rows = ask(filled, recent_outcomes, limit=DASHBOARD_ROWS)

    assert ids(rows) == [3, 2, 1, 4, 5]
    newest = rows[0]
    assert (newest.artist, newest.title, newest.album) == ("Artist 3", "Ember", "Rock & Roll")
    assert (newest.completed_at, newest.lane) == (NOW, "detector")


def test_a_completion_shows_its_result_class_and_the_outcome_as_a_detail(filled):
    rows = ask(filled, recent_outcomes)

    assert [(row.result, row.outcome, row.lane) for row in rows] == [
        ("unsynced-or-instrumental", "instrumental", "detector"),
        ("unsynced-or-instrumental", "unsynced", "defaultprov"),
        ("synced", "synced", "lrclib"),
        ("miss", "miss", ""),
        ("miss", "rejected", ""),
    ]


def test_an_item_that_was_opened_again_is_no_recent_outcome(filled):
    filled.write(
        lambda tx: tx.run("UPDATE work_items SET status = 'pending', ready_key = 5 WHERE id = 2")
    )
    assert ids(ask(filled, recent_outcomes)) == [3, 1, 4, 5]


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        ({"result": "synced"}, [1]),
        ({"result": "unsynced-or-instrumental"}, [3, 2]),
        ({"result": "miss"}, [4, 5]),
        ({"lane": "lrclib"}, [1]),
        ({"lane": ""}, [4, 5]),
        ({"lane": "nobody"}, []),
        ({"library_id": 1}, [3, 2, 1]),
        ({"library_id": 2}, [3, 1]),
        ({"library_id": 3}, []),
        ({"since": NOW}, [3, 2]),
        ({"until": NOW}, [1, 4, 5]),
        ({"since": NOW - timedelta(days=2), "until": NOW}, [1, 4]),
        ({"since": NOW, "until": NOW}, []),
        ({"library_id": 2, "since": NOW}, [3]),
        ({"result": "miss", "since": NOW - timedelta(days=3)}, [4]),
        ({"text": "TIDE"}, [1]),
        ({"text": "artist 3"}, [3]),
        ({"text": "cafe"}, [2]),
        ({"text": "CAFÉ  noir"}, [2]),
        ({"text": "northern"}, [1]),
        ({"text": "rock and roll"}, [3]),
        ({"text": "Rock & R"}, [3]),
        ({"text": "dont"}, [4]),
        ({"text": "don’t"}, [4]),
        ({"text": "б"}, []),
        ({"text": "%"}, []),
        ({"text": "_"}, []),
        ({"text": "\\"}, []),
        ({"text": "' OR 1=1 --"}, []),
        ({"text": "x" * 70_000}, []),
        ({"text": " \0'"}, [3, 2, 1, 4, 5]),
        ({"text": "artist", "result": "miss", "lane": "", "until": NOW}, [4, 5]),
    ],
)
def test_a_filter_of_outcomes_means_the_same_for_page_and_stream(filled, which, expected):
    which = OutcomeFilter(**which)
    page = ask(filled, outcomes_page, which)

    assert ids(ask(filled, recent_outcomes, which)) == expected
    assert ids(page.rows) == expected
    assert page.total == len(expected)


def test_an_unknown_result_class_is_refused(filled):
    with pytest.raises(Refused, match='no result class "instrumental"; use one of synced, '):
        ask(filled, outcomes_page, OutcomeFilter(result="instrumental"))


@pytest.mark.parametrize("which", [OutcomeFilter(), OutcomeFilter(text="artist")])
def test_pages_of_outcomes_follow_each_other_without_gap_or_repetition(filled, which):
    pages = [ask(filled, outcomes_page, which, page=n, page_size=2) for n in range(1, 5)]

    assert [ids(page.rows) for page in pages] == [[3, 2], [1, 4], [5], []]
    assert {page.total for page in pages} == {5}


@pytest.mark.parametrize("which", [OutcomeFilter(), OutcomeFilter(text="artist")])
@pytest.mark.parametrize(("page", "expected"), [(0, [3, 2]), (-7, [3, 2]), (10**30, [])])
def test_a_page_of_any_number_is_answered(filled, which, page, expected):
    found = ask(filled, outcomes_page, which, page=page, page_size=2)

    assert (ids(found.rows), found.total) == (expected, 5)


@pytest.mark.parametrize("which", [{}, {"result": "miss"}, {"library_id": 1}, {"text": "artist"}])
def test_the_stream_of_outcomes_continues_after_any_row(filled, which):
    which = OutcomeFilter(**which)
    whole = ask(filled, recent_outcomes, which)
    for place, row in enumerate(whole):
        assert ask(filled, recent_outcomes, which, after=row) == whole[place + 1 :]
        assert (
            ask(filled, recent_outcomes, which, after=row, limit=1)
            == (whole[place + 1 : place + 2])
        )


@settings(
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(moments=st.lists(st.integers(0, 3), max_size=12), size=st.integers(1, 5))
def test_paging_by_number_and_by_row_give_every_completion_once(db, moments, size):
    def replace_all(tx):
        tx.run("DELETE FROM work_items")
        for number, seconds in enumerate(moments, start=1):
            done_at = NOW + timedelta(seconds=seconds)
            insert_item(tx, number, {**DONE, "completed_at": done_at}, title=f"T{number}")
        counts.correct(tx, now=NOW)

    db.write(replace_all)
    numbers = range(1, len(moments) + 1)
    newest_first = sorted(numbers, key=lambda n: (moments[n - 1], n), reverse=True)
    numbered = [
        row
        for page in range(1, len(moments) // size + 2)
        for row in ask(db, outcomes_page, page=page, page_size=size).rows
    ]
    keyed, after = [], None
    while rows := ask(db, recent_outcomes, limit=size, after=after):
        keyed += rows
        after = rows[-1]
    assert ids(numbered) == ids(keyed) == newest_first


# Provider effectiveness


@pytest.mark.seed("S-084", "S-125")
def test_a_hit_is_the_winning_lane_and_a_miss_any_other_that_was_tried(filled):
    records = ask(filled, provider_effectiveness, lanes=("lrclib", "quiet", "defaultprov"))

    assert [(r.lane, r.hits, r.misses, r.attempts) for r in records] == [
        ("lrclib", 1, 2, 3),
        ("quiet", 0, 0, 0),
        ("defaultprov", 1, 2, 3),
    ]
    assert [r.hit_rate for r in records] == [pytest.approx(1 / 3), None, pytest.approx(1 / 3)]


def test_lanes_that_are_no_longer_configured_follow_by_name(filled):
    assert [r.lane for r in ask(filled, provider_effectiveness)] == ["defaultprov", "lrclib"]
    lanes = [r.lane for r in ask(filled, provider_effectiveness, lanes=("new", "lrclib", "new"))]
    assert lanes == ["new", "lrclib", "defaultprov"]


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ({"since": NOW}, {"defaultprov": (1, 0), "lrclib": (0, 0)}),
        ({"until": NOW}, {"defaultprov": (0, 2), "lrclib": (1, 2)}),
        ({"since": NOW - timedelta(days=3)}, {"defaultprov": (1, 2), "lrclib": (1, 1)}),
        ({"since": NOW + timedelta(days=1)}, {"lrclib": (0, 0)}),
    ],
)
def test_effectiveness_can_be_narrowed_to_a_time(filled, time, expected):
    records = ask(filled, provider_effectiveness, lanes=("lrclib",), **time)

    assert {r.lane: (r.hits, r.misses) for r in records} == expected


@pytest.mark.seed("S-125")
def test_clearing_done_items_takes_nothing_from_the_lanes(filled):
    before = ask(filled, provider_effectiveness)

    def clear(tx):
        tx.run("DELETE FROM work_items WHERE status = 'done'")
        counts.correct(tx, now=NOW)

    filled.write(clear)
    assert ask(filled, provider_effectiveness) == before
    assert ask(filled, outcomes_page).total == 0


# Instrumental inventory


@pytest.mark.seed("S-084")
def test_the_inventory_names_every_file_of_every_confirmed_item(filled):
    rows = ask(filled, instrumental_inventory)

    assert [(r.id, r.title, r.source_path, r.origin, r.library_id) for r in rows] == [
        (3, "Ember", "/music/rock/c.flac", "library", 1),
        (3, "Ember", "/music/jazz/caf\udce9.flac", "library", 2),
        (11, "Quiet Field", "", "explicit", None),
        (13, "Old Debt", "", "global", None),
    ]


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        ({"library_id": 2}, [3]),
        ({"library_id": 9}, []),
        ({"origin": "explicit"}, [11]),
        ({"origin": "library"}, [3, 3]),
        ({"origin": "global"}, [13]),
        ({"text": "quiet"}, [11]),
        ({"text": "rock and roll"}, [3, 3]),
        ({"text": "tidewater"}, []),
        ({"text": "artist 1", "origin": "explicit"}, [11]),
    ],
)
def test_a_filter_of_the_inventory_means_the_same_for_page_and_stream(filled, which, expected):
    which = InstrumentalFilter(**which)
    page = ask(filled, instrumentals_page, which)

    assert ids(ask(filled, instrumental_inventory, which)) == expected
    assert ids(page.rows) == expected
    assert page.total == len(expected)


def test_an_unknown_origin_is_refused(filled):
    with pytest.raises(Refused, match='no detection origin "x\'"'):
        ask(filled, instrumentals_page, InstrumentalFilter(origin="x'"))


def test_the_inventory_has_pages(filled):
    pages = [ask(filled, instrumentals_page, page=n, page_size=3) for n in (1, 2, 3)]

    assert [ids(page.rows) for page in pages] == [[3, 3, 11], [13], []]
    assert {page.total for page in pages} == {4}


# Failure analysis


@pytest.mark.seed("S-084")
def test_failures_are_grouped_by_status_and_reason_the_most_frequent_first(filled):
    assert [(g.status, g.reason, g.count) for g in ask(filled, failure_analysis)] == [
        ("deferred", "not_found", 2),
        ("failed", "network", 2),
        ("deferred", "no_lyrics", 1),
        ("failed", "disk_full", 1),
    ]


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        ({"status": "failed"}, [("network", 2), ("disk_full", 1)]),
        ({"library_id": 2}, [("not_found", 1), ("network", 1)]),
        ({"library_id": 1, "status": "failed"}, [("disk_full", 1)]),
        ({"library_id": 1, "status": "deferred"}, []),
    ],
)
def test_failures_can_be_narrowed(filled, which, expected):
    assert [(g.reason, g.count) for g in ask(filled, failure_analysis, **which)] == expected


def test_done_items_have_no_failure_analysis(filled):
    with pytest.raises(Refused, match='"done" items have no reasons; use failed or deferred'):
        ask(filled, failure_analysis, status="done")


def test_items_without_a_reason_are_counted_as_unknown(filled):
    def forget(tx):
        tx.run("UPDATE work_items SET reason = '' WHERE id = 8")
        counts.correct(tx, now=NOW)

    filled.write(forget)
    failed = {g.reason: g.count for g in ask(filled, failure_analysis, status="failed")}
    assert failed == {"network": 1, "disk_full": 1, "unknown": 1}
    here = ask(filled, failure_analysis, status="failed", library_id=2)
    assert [(g.reason, g.count) for g in here] == [("unknown", 1)]
    assert ask(filled, take_metrics, lanes=(), now=NOW).queue_failures == failed
