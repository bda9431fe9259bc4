"""Stock and metrics say what the rows say, and how the reports are answered."""

from datetime import timedelta

import pytest

from lyrsvc.store import counts
from lyrsvc.store.completions import OutcomeFilter, outcomes_page, recent_outcomes
from lyrsvc.store.instrumentals import InstrumentalFilter, instrumentals_page
from lyrsvc.store.measuring import oldest_due, take_metrics
from lyrsvc.store.queue_listing import STATUSES
from lyrsvc.store.reporting import failure_analysis, provider_effectiveness, queue_summary
from lyrsvc.store.stock_taking import take_stock
from lyrsvc.store.upcoming import up_next
from query_plans import plans_of
from report_rows import NOW, ask, fill, ids, insert

BY_ROW = "SEARCH i USING INTEGER PRIMARY KEY (rowid=?)"


@pytest.fixture
def filled(db):
    db.write(fill)
    return db


def test_the_stock_is_what_is_there(filled):
    stock = ask(filled, take_stock)

    assert stock.statuses == {
        "pending": 1,
        "processing": 1,
        "done": 5,
        "failed": 3,
        "deferred": 3,
    }
    assert stock.total == 13
    assert (stock.due, stock.backing_off, stock.cooling_down) == (3, 2, 2)
    assert (stock.instrumental, stock.wanted_missing, stock.wanted_unsynced) == (3, 2, 1)
    assert stock.files == {1: 5}


@pytest.mark.spec("E-68")
def test_a_fresh_database_measures_five_statuses_and_the_configured_lanes_at_zero(db):
    metrics = ask(db, take_metrics, lanes=("lrclib", "defaultprov"), now=NOW)

    assert metrics.queue_items == dict.fromkeys(STATUSES, 0)
    assert metrics.queue_failures == {}
    assert metrics.provider_hits == {"defaultprov": 0, "lrclib": 0}
    assert metrics.provider_misses == {"defaultprov": 0, "lrclib": 0}
    assert metrics.lane_closed == {"defaultprov": False, "lrclib": False}
    assert metrics.instrumental_tracks == 0
    assert metrics.oldest_due_at is None
    assert metrics.last_scans == {}


def test_metrics_say_what_the_rows_say(filled):
    def add_lanes(tx):
        insert(tx, "lane_counters", {"lane": "retired", "hits": 7, "misses": 9})
        insert(tx, "lane_counters", {"lane": "lrclib", "hits": 3, "misses": 2})
        for lane, state in (("lrclib", "closed"), ("defaultprov", "probing"), ("dump", "ready")):
            insert(tx, "lane_state", {"lane": lane, "state": state})

    filled.write(add_lanes)
    lanes = ("defaultprov", "lrclib", "dump", "detector")
    metrics = ask(filled, take_metrics, lanes=lanes, now=NOW)

    assert metrics.queue_items == ask(filled, take_stock).statuses
    assert metrics.queue_failures == {"disk_full": 1, "network": 2}
    assert metrics.provider_hits == {
        "defaultprov": 0,
        "detector": 0,
        "dump": 0,
        "lrclib": 3,
        "retired": 7,
    }
    assert metrics.provider_misses == {
        "defaultprov": 0,
        "detector": 0,
        "dump": 0,
        "lrclib": 2,
        "retired": 9,
    }
    assert metrics.lane_closed == {
        "defaultprov": True,
        "detector": False,
        "dump": False,
        "lrclib": True,
    }
    assert metrics.instrumental_tracks == 3
    assert metrics.oldest_due_at == NOW - timedelta(hours=2)
    assert metrics.last_scans == {1: NOW, 2: None}


@pytest.mark.spec("E-68")
def test_no_path_or_text_ever_becomes_a_reason(filled):
    def spoil(tx):
        tx.run("UPDATE work_items SET reason = '/music/secret.flac: denied' WHERE id = 8")
        tx.run("UPDATE work_items SET reason = 'not_found' WHERE id = 9")
        counts.correct(tx, now=NOW)

    filled.write(spoil)
    metrics = ask(filled, take_metrics, lanes=(), now=NOW)
    assert metrics.queue_failures == {"disk_full": 1, "unknown": 2}


def test_an_item_that_waits_to_be_promoted_is_due_and_one_in_the_future_is_not(filled):
    def leave(*numbers):
        marks = ", ".join(map(str, numbers))
        filled.write(lambda tx: tx.run(f"DELETE FROM work_items WHERE id NOT IN ({marks})"))
        return ask(filled, oldest_due, now=NOW)

    assert leave(6, 8, 9, 12, 13) == NOW - timedelta(minutes=5)
    assert leave(6, 8, 12, 13) is None


def test_what_comes_next(filled):
    assert [(row.id, row.status) for row in ask(filled, up_next)] == [
        (10, "failed"),
        (11, "pending"),
        (7, "deferred"),
    ]
    assert ids(ask(filled, up_next, limit=2)) == [10, 11]


def test_everything_is_read_in_one_state(filled):
    with filled.read() as tx:
        before = take_stock(tx)
        filled.write(lambda tx: tx.run("DELETE FROM work_items"))
        filled.write(lambda tx: counts.correct(tx, now=NOW))
        assert take_stock(tx) == before
        assert outcomes_page(tx).total == 5
        assert take_metrics(tx, lanes=(), now=NOW).instrumental_tracks == 3


# Plans

UNFILTERED = {
    "summary": queue_summary,
    "effectiveness": provider_effectiveness,
    "failures": failure_analysis,
    "stock": take_stock,
}


@pytest.mark.parametrize("question", UNFILTERED.values(), ids=UNFILTERED)
def test_unfiltered_counts_read_the_maintained_ones_alone(filled, question):
    for plan in plans_of(filled, question):
        assert plan == ["SCAN counts"]


@pytest.mark.spec("E-31")
@pytest.mark.parametrize(
    "question",
    [
        lambda tx: recent_outcomes(tx, limit=20),
        lambda tx: recent_outcomes(tx, limit=20, after=next(recent_outcomes(tx, limit=1))),
        lambda tx: recent_outcomes(tx, OutcomeFilter(lane="lrclib"), limit=20),
        lambda tx: recent_outcomes(tx, OutcomeFilter(library_id=1), limit=20),
        lambda tx: outcomes_page(tx, OutcomeFilter(since=NOW), page=900),
    ],
)
def test_recent_outcomes_walk_their_index_and_sort_nothing(filled, question):
    for plan in plans_of(filled, question):
        assert any("ix_items_done" in line for line in plan), plan
        assert not any("TEMP B-TREE" in line or line == "SCAN i" for line in plan), plan


@pytest.mark.parametrize(
    "which",
    [{"lane": "lrclib"}, {"lane": "lrclib", "since": NOW}, {"result": "miss"}, {"until": NOW}],
)
def test_outcomes_by_lane_class_and_time_are_counted_and_found_in_their_index(filled, which):
    plans = plans_of(filled, lambda tx: outcomes_page(tx, OutcomeFilter(**which)))

    for plan in plans[:2]:
        assert "USING COVERING INDEX ix_items_done" in plan[0], plan
        assert not any("TEMP B-TREE" in line for line in plan), plan


@pytest.mark.parametrize("which", [{"text": "cafe"}, {"text": "cafe", "library_id": 1}])
def test_outcomes_by_text_are_met_as_they_lie_and_once(filled, which):
    plans = plans_of(filled, lambda tx: outcomes_page(tx, OutcomeFilter(**which)))

    assert not any("ix_items_" in line for plan in plans for line in plan), plans
    assert plans[1][0] == (BY_ROW if "library_id" in which else "SCAN i")
    assert all(plan[0] == BY_ROW for plan in plans[2:]), plans  # of what was found


def test_the_failures_of_a_library_are_counted_without_a_row_of_item_or_target(filled):
    for plan in plans_of(filled, lambda tx: failure_analysis(tx, library_id=1)):
        assert "SEARCH i USING COVERING INDEX ix_items_status (status=?)" in plan, plan
        assert any("COVERING INDEX ix_targets_item (item_id=?)" in line for line in plan), plan


def test_the_summary_of_a_library_reads_its_items_once_in_the_order_of_their_ids(filled):
    (plan,) = plans_of(filled, lambda tx: queue_summary(tx, library_id=1))

    assert "SEARCH work_targets USING COVERING INDEX ix_targets_lib (library_id=?)" in plan
    assert BY_ROW in plan
    assert not any("TEMP B-TREE" in line for line in plan), plan


@pytest.mark.parametrize("since", [None, NOW])
def test_lanes_of_a_time_are_counted_in_their_index(filled, since):
    (plan,) = plans_of(filled, lambda tx: provider_effectiveness(tx, since=since, until=NOW))

    assert plan == ["SCAN lane_attempts USING COVERING INDEX ix_attempts_lane"]


@pytest.mark.parametrize("which", [{}, {"library_id": 1}, {"origin": "global"}, {"text": "a"}])
def test_the_inventory_reads_only_confirmed_items(filled, which):
    for plan in plans_of(filled, lambda tx: instrumentals_page(tx, InstrumentalFilter(**which))):
        assert "ix_items_instr" in plan[0], plan
        assert not any("SCAN t" in line for line in plan), plan


def test_metrics_walk_no_long_table(filled):
    plans = plans_of(filled, lambda tx: take_metrics(tx, lanes=("lrclib",), now=NOW))

    assert plans == [
        ["SCAN counts"],
        ["SCAN lane_counters"],
        ["SCAN lane_state"],
        ["SEARCH work_items USING INDEX ix_items_due"],
        ["SEARCH work_items USING INDEX ix_items_wait (due_at<?)"],
        ["SCAN libraries"],
    ]


def test_what_comes_next_is_read_from_the_index_of_claims(filled):
    for plan in plans_of(filled, up_next):
        assert plan == ["SEARCH work_items USING INDEX ix_items_ready (route=? AND ready_key>?)"]
