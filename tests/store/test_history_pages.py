"""The history, read by pages."""

from datetime import timedelta

import pytest

from lyrsvc.core.item import Result
from lyrsvc.store import history
from lyrsvc.store.history import Happening, Note
from lyrsvc.store.history_pages import HistoryFilter, history_page, of_item
from lyrsvc.store.ordering import Order
from query_plans import plans_of
from queue_cases import NOW, an_item
from report_rows import ask

HOUR = timedelta(hours=1)


@pytest.fixture
def past(db):
    def write(tx):
        tracks = [
            (1, Happening.ENQUEUED, Note(by="webhook", library_id=1)),
            (1, Happening.WRITTEN, Note(by="worker", lane="lrclib", outcome=Result.SYNCED,
                                        destination="/music/a.lrc", library_id=1)),
            (2, Happening.MISS, Note(by="worker", reason="not_found", library_id=2)),
            (2, Happening.RETRIED, Note(by="user:somebody")),
        ]  # fmt: skip
        for hours, (number, event, note) in enumerate(tracks):
            names = (
                {"artist": "Björk", "title": "Jóga", "album": "Homogenic"} if number == 2 else {}
            )
            history.add(tx, an_item(id=number, **names), event, note, now=NOW + hours * HOUR)

    db.write(write)
    return db


def events(db, **which):
    found = ask(db, history_page, HistoryFilter(**which))
    assert found.total == len(found.rows)
    return [row["event"] for row in found.rows]


def test_the_newest_comes_first(past):
    assert events(past) == ["retried", "miss", "written", "enqueued"]


def test_a_row_says_what_happened_where_and_through_whom(past):
    row = ask(past, history_page, HistoryFilter(event="written")).rows[0]

    assert row == {
        "id": 2,
        "at": "2026-01-31T15:05:06.000Z",
        "item_id": 1,
        "event": "written",
        "artist": "Quillon Marsh",
        "title": "Tidewater",
        "album": "",
        "lane": "lrclib",
        "result": "synced",
        "outcome": "synced",
        "reason": None,
        "destination": "/music/a.lrc",
        "by": "worker",
    }


def test_filters(past):
    assert events(past, event="miss") == ["miss"]
    assert events(past, lane="lrclib") == ["written"]
    assert events(past, library_id=1) == ["written", "enqueued"]
    assert events(past, since=NOW + HOUR, until=NOW + 2 * HOUR) == ["written"]
    assert events(past, since=NOW + 9 * HOUR) == []


@pytest.mark.parametrize("text", ["bjork", "JOGA", "hómogenic"])
def test_text_is_found_whatever_its_accents(past, text):
    assert events(past, text=text) == ["retried", "miss"]


def test_signs_of_patterns_are_plain_text(past):
    assert events(past, text="%") == []
    assert events(past, text="_") == []


def test_pages_and_the_other_direction(past):
    def page(number, **order):
        found = ask(past, history_page, HistoryFilter(), Order(**order), page=number, page_size=3)
        return [row["id"] for row in found.rows], found.total

    assert page(2, by="at") == ([1], 4)
    assert page(1, by="at", descending=False) == ([1, 2, 3], 4)
    assert page(9, by="id") == ([], 4)


def test_an_item_has_its_own_past(past):
    with past.read() as tx:
        assert [row["event"] for row in of_item(tx, 2)] == ["retried", "miss"]
        assert [row["event"] for row in of_item(tx, 2, limit=1)] == ["retried"]
        assert of_item(tx, 9) == []


def test_the_newest_rows_are_walked_along_their_index(past):
    count, walk, _ = plans_of(past, lambda tx: history_page(tx, page_size=1))

    assert any("ix_history_at" in line for line in walk)
    assert not any("TEMP B-TREE" in line for line in walk)
    assert any("COVERING INDEX" in line for line in count)


@pytest.mark.parametrize(
    "which", [{"event": "miss"}, {"lane": "lrclib"}, {"library_id": 1}, {"since": NOW}]
)
def test_what_narrows_beside_text_is_found_in_the_index_alone(past, which):
    plans = plans_of(past, lambda tx: history_page(tx, HistoryFilter(**which)))

    for plan in plans[:2]:
        assert any("USING COVERING INDEX ix_history_at" in line for line in plan), plan
        assert not any("TEMP B-TREE" in line for line in plan), plan
