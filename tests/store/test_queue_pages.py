"""Pages of the queue hold exactly the items they should, in the order asked for."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lyrsvc.core.errors import Refused
from lyrsvc.core.keys import match_key
from lyrsvc.store import counts, fresh_items, sorted_pages, work_items
from lyrsvc.store.fresh_items import FreshItem, FreshTarget
from lyrsvc.store.ordering import Order
from lyrsvc.store.queue_listing import RESULT_CLASSES, STATUSES, list_items
from lyrsvc.store.queue_pages import ORDERS, QueueFilter, next_items, queue_page
from lyrsvc.store.upcoming import up_next
from query_plans import plans_of
from queue_cases import an_item
from report_rows import ALBUMS, ITEMS, NOW, TARGETS, TITLES, ask, fill, insert_item

LIBRARY_OF = {(item, library) for item, library, _ in TARGETS}


@pytest.fixture
def filled(db):
    db.write(fill)
    return db


def page(db, *, by="priority", descending=None, number=1, size=500, **which):
    order = Order(by=by, descending=descending)
    return ask(db, queue_page, QueueFilter(**which), order, page=number, page_size=size)


def ids(found):
    return [row["id"] for row in found.rows]


def fits(number, which):
    item = ITEMS[number]
    names = (f"artist {number}", TITLES[number], ALBUMS.get(number, ""))
    reason = item.get("reason", "")
    troubled = item["status"] in ("failed", "deferred")
    return (
        (not which.statuses or item["status"] in which.statuses)
        and which.lane in (None, item.get("lane", ""))
        and (
            which.reason in (None, reason)
            or (which.reason == "unknown" and troubled and not reason)
        )
        and which.result in (None, RESULT_CLASSES.get(item.get("outcome")))
        and (which.library_id is None or (number, which.library_id) in LIBRARY_OF)
        and any(match_key(which.text) in match_key(name) for name in names)
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(
    which=st.builds(
        QueueFilter,
        statuses=st.lists(st.sampled_from(STATUSES), max_size=3).map(tuple),
        library_id=st.sampled_from([None, None, 1, 2, 9]),
        lane=st.sampled_from([None, None, "lrclib", "detector", "none"]),
        reason=st.sampled_from([None, None, "network", "not_found", "unknown", "x"]),
        result=st.sampled_from([None, None, *RESULT_CLASSES.values()]),
        text=st.sampled_from(["", "", "ARTIST 1", "cafe", "rock & roll", "dont", "%", "б", "_"]),
    ),
    by=st.sampled_from(sorted(ORDERS)),
    descending=st.sampled_from([None, True, False]),
    size=st.integers(1, 20),
)
def test_pages_put_together_are_all_items_that_fit_each_once(filled, which, by, descending, size):
    expected = {number for number in ITEMS if fits(number, which)}
    order = Order(by=by, descending=descending)
    seen = []
    for number in range(1, len(ITEMS) + 2):
        found = ask(filled, queue_page, which, order, page=number, page_size=size)
        assert found.total == len(expected)
        seen += ids(found)

    assert len(seen) == len(set(seen))
    assert set(seen) == expected


def test_without_a_wish_the_order_is_that_of_queue_list(filled):
    with filled.read() as tx:
        listed = [row["id"] for row in list_items(tx)]

    assert ids(page(filled)) == listed
    assert ids(page(filled, descending=False)) == listed[::-1]


@pytest.mark.parametrize("by", ["id", "artist", "title"])
def test_a_direction_turns_the_whole_order_around(filled, by):
    rising = ids(page(filled, by=by))

    assert ids(page(filled, by=by, descending=True)) == rising[::-1]
    assert ids(page(filled, by=by, descending=False)) == rising


def test_items_without_a_moment_come_last_whichever_way(filled):
    rising = page(filled, by="due_at").rows
    falling = page(filled, by="due_at", descending=True).rows
    moments = [row["due_at"] for row in rising if row["due_at"]]

    assert moments == sorted(moments)
    assert [row["due_at"] for row in falling if row["due_at"]] == moments[::-1]
    for rows in (rising, falling):
        assert [row["due_at"] is None for row in rows] == sorted(
            row["due_at"] is None for row in rows
        )


def test_what_was_completed_last_comes_first(filled):
    assert ids(page(filled, by="completed_at", statuses=("done",))) == [3, 2, 1, 4, 5]
    assert ids(page(filled, by="completed_at"))[:5] == [3, 2, 1, 4, 5]


def test_artists_are_ordered_by_their_keys_not_by_their_letters(db):
    db.write(lambda tx: insert_item(tx, 1, {"status": "pending"}))
    for number, name in ((2, "Ärzte"), (3, "aha"), (4, "Zoo")):
        names = {"artist": name, "artist_key": match_key(name)}
        db.write(lambda tx, n=number, c=names: insert_item(tx, n, {"status": "pending", **c}))
    db.write(lambda tx: counts.correct(tx, now=NOW))
    found = page(db, by="artist")

    assert [row["artist"] for row in found.rows] == ["aha", "Artist 1", "Ärzte", "Zoo"]


def test_a_status_named_twice_counts_once(filled):
    found = page(filled, statuses=("failed", "failed"))

    assert (len(found.rows), found.total) == (3, 3)


@pytest.mark.parametrize("by", sorted(ORDERS))
@pytest.mark.parametrize("which", [{}, {"statuses": ("done",)}, {"library_id": 1}, {"text": "a"}])
def test_pages_deep_in_a_long_queue_are_the_same(filled, monkeypatch, by, which):
    def pages():
        return [ids(page(filled, by=by, number=n, size=2, **which)) for n in range(1, 8)]

    short = pages()
    monkeypatch.setattr(sorted_pages, "SHORT", 0)
    monkeypatch.setattr(sorted_pages, "SAMPLE", 6)
    monkeypatch.setattr(sorted_pages, "DEVIATIONS", (0, 1))

    assert pages() == short


def test_items_come_with_their_targets(filled):
    (row,) = page(filled, text="tidewater").rows

    assert [target["source_path"] for target in row["targets"]] == [
        "/music/rock/a.flac",
        "/music/jazz/a.flac",
    ]


@pytest.mark.parametrize("which", [{"statuses": ("bogus",)}, {"result": "bogus"}, {"by": "bogus"}])
def test_a_name_that_does_not_exist_is_refused(filled, which):
    with pytest.raises(Refused):
        page(filled, **which)


def test_a_page_far_behind_the_end_is_empty_and_still_counts(filled):
    found = page(filled, number=2**31, size=500)

    assert (found.rows, found.total) == ([], 13)


@pytest.mark.parametrize(
    ("which", "by", "index"),
    [
        ({}, "priority", "ix_items_list"),
        ({"statuses": ("done",)}, "priority", "ix_items_list"),
        ({"statuses": ("failed", "deferred")}, "priority", "ix_items_list"),
        ({}, "artist", "ux_items_key"),
        ({"statuses": ("done",)}, "completed_at", "ix_items_done"),
        ({}, "id", "PRIMARY KEY"),
    ],
)
def test_the_usual_pages_are_walked_along_an_index(filled, which, by, index):
    plans = plans_of(
        filled, lambda tx: queue_page(tx, QueueFilter(**which), Order(by=by), page_size=2)
    )
    walk = next(plan for plan in plans if not any("counts" in line for line in plan))

    assert any(index in line for line in walk)
    assert not any("TEMP B-TREE" in line for line in walk)


# Up next


def test_the_next_items_come_in_the_order_of_claims_and_none_is_claimed(filled):
    rows = ask(filled, next_items, limit=50, now=NOW)
    with filled.read() as tx:
        plain = [item.id for item in up_next(tx, limit=50)]

    assert plain == [10, 11, 7]
    assert [row["id"] for row in rows][:3] == [10, 11, 7]
    assert [row["id"] for row in rows] == [10, 11, 7, 9]  # 9 is due, no claim has lined it up yet
    assert [row["status"] for row in rows] == ["failed", "pending", "deferred", "failed"]
    assert len(ask(filled, next_items, limit=2, now=NOW)) == 2


# Text is found however an item came to be


def test_an_item_is_found_by_its_album_and_by_the_next_one_when_that_changed(db):
    before = an_item(album="Café del Mar")
    after = replace(before, album="Don't & Won't")
    tally = counts.Tally()

    db.write(lambda tx: work_items.insert(tx, before, tally, now=NOW))
    assert [page(db, text=text).total for text in ("cafe DEL", "marsh", "wont")] == [1, 1, 0]
    db.write(lambda tx: work_items.save(tx, before, after, tally, now=NOW))
    assert [page(db, text=text).total for text in ("cafe", "dont and wont", "tide")] == [0, 1, 1]
    assert page(db, text="marsh tide").total == 0  # no text spans two names


def test_a_new_item_of_a_scan_is_found_by_each_of_its_names(db):
    keys = {"artist_key": "bjork", "title_key": "joga", "artist": "Björk", "title": "Jóga"}
    empty = {"artists": "[]", "album_artist": "", "isrc": "", "mbid": "", "detect_origin": ""}
    numbers = dict.fromkeys(set(FreshItem._fields) - {*keys, *empty, "album"}, 1)
    item = FreshItem(**keys, **empty, **numbers, album="Homogénic")
    paths = dict.fromkeys(("source_path", "source_hash", "out_dir", "out_stem", "out_hash"), "x")
    target = FreshTarget(**paths, library_id=None, origin="metadata", duration_ms=0, mode="normal")

    db.write(lambda tx: fresh_items.insert(tx, [item], [target], counts.Tally(), now=NOW))
    found = [page(db, text=text).total for text in ("BJÖRK", "joga", "homogenic", "x")]
    assert found == [1, 1, 1, 0]
