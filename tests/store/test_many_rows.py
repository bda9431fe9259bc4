"""Many rows at once: inserted, numbered and asked about with few statements."""

import pytest

from lyrsvc.core.errors import StorageFailed
from lyrsvc.core.ptext import path_hash
from lyrsvc.store import fresh_items, libraries, scan_dirs
from lyrsvc.store.fresh_items import Wanted
from lyrsvc.store.sqlite_link import PORTIONS
from lyrsvc.store.value_lists import MOST, questions
from query_plans import plans_of

COLUMNS = ("name", "n", "created_at", "updated_at")


def rows(number):
    return [(f"row.{at:04}", at, "now", "now") for at in range(number)]


@pytest.mark.parametrize("number", [0, 1, 3, max(PORTIONS), 2 * max(PORTIONS) + 23])
def test_every_row_is_inserted_whatever_their_number(db, number):
    db.write(lambda tx: tx.insert_rows("counts", COLUMNS, rows(number)))

    with db.read() as tx:
        found = tx.tuples("SELECT name, n FROM counts WHERE name LIKE 'row.%' ORDER BY name")
    assert found == [(name, n) for name, n, *_ in rows(number)]


def test_rows_that_cannot_be_inserted_leave_no_trace(db):
    def insert(tx):
        tx.insert_rows("counts", COLUMNS, rows(100))
        tx.insert_rows("counts", COLUMNS, rows(1))

    with pytest.raises(Exception, match="UNIQUE"):
        db.write(insert)
    with db.read() as tx:
        assert tx.value("SELECT count(*) FROM counts WHERE name LIKE 'row.%'") == 0


def test_ids_that_were_set_aside_are_never_used_again(db, clock):
    def add(tx, name):
        return libraries.add(tx, name=name, path=f"/{name}", now=clock.now()).id

    def add_with(tx, ids):
        moment = "2026-01-01T00:00:00.000Z"
        columns = ("id", "name", "name_key", "path", "path_hash", "created_at", "updated_at")
        found = [(each, str(each), str(each), "/", str(each), moment, moment) for each in ids]
        tx.insert_rows("libraries", columns, found)

    def number(tx):
        first = add(tx, "a")
        ids, others = map(list, tx.next_ids(3, "libraries", "work_items"))
        assert others == [1, 2, 3]
        assert ids == [first + 1, first + 2, first + 3]
        add_with(tx, ids)
        tx.run("DELETE FROM libraries WHERE id = :id", id=ids[-1])
        return ids, list(*tx.next_ids(1, "libraries")), add(tx, "b")

    ids, then, new = db.write(number)

    assert then == [new] == [ids[-1] + 1]


@pytest.mark.parametrize("number", [0, 1, 4, 5, 100, 500, 501])
def test_a_list_of_values_holds_every_row(db, number):
    rows = [(f"a{at}", at) for at in range(number)]
    question = "WITH w (a, b) AS (VALUES {wanted}) SELECT DISTINCT a, b FROM w"
    with db.read() as tx:
        found = [
            row for sql, params in questions(question, rows) for row in tx.tuples(sql, **params)
        ]
    assert sorted(found) == sorted(rows)


def test_there_are_few_different_lists_of_values():
    question = "VALUES {wanted}"
    texts = {
        sql for number in range(1, MOST + 1) for sql, _ in questions(question, [("x",)] * number)
    }
    assert len(texts) <= 8
    asked = [
        set(params.values())
        for _, params in questions(question, [(at,) for at in range(2 * MOST + 1)])
    ]
    assert [len(each) for each in asked] == [MOST, MOST, 1]


@pytest.mark.spec("E-31")
@pytest.mark.parametrize(
    ("question", "indexes"),
    [
        (
            lambda tx: fresh_items.meet(tx, [Wanted("a", "b", "c")] * 9),
            ("ux_items_key", "work_targets", "lyrics_cache"),
        ),
        (lambda tx: scan_dirs._known(tx, 1, {"a": path_hash("a")}), ("scan_dirs",)),
    ],
)
def test_what_is_there_already_is_looked_up_by_an_index(db, question, indexes):
    (plan,) = plans_of(db, question)

    lines = [line for line in plan if line.startswith("SEARCH")]
    for line, index in zip(lines, indexes, strict=True):
        assert "INDEX" in line
        assert index in line
    assert not any(f"SCAN {table}" in line for line in plan for table in "itdc")


def test_a_disk_without_room_is_told_as_such(db):
    def insert(tx):
        pages = tx.value("PRAGMA page_count")
        tx.run(f"PRAGMA max_page_count = {pages}")
        tx.insert_rows("counts", COLUMNS, [(name * 99, *rest) for name, *rest in rows(500)])

    with pytest.raises(StorageFailed):
        db.write(insert)
