"""A page in any order holds the rows that sorting everything would put there."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lyrsvc.store import sorted_pages
from lyrsvc.store.ordering import Key
from lyrsvc.store.sorted_pages import Sought, sorted_page
from query_plans import plans_of
from report_rows import ask

ROWS = 400
FILL = """
    WITH RECURSIVE numbers (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM numbers WHERE n < :rows)
    INSERT INTO work_items (id, artist_key, title_key, duration_bucket, priority, due_at, status,
                            created_at, updated_at)
    SELECT n * (1 + n % 3), 'artist ' || (n * 7 % 40), 'title ' || (n * 13 % 90), n, n % 3,
           CASE WHEN n % 5 THEN '2026-01-' || (n % 28 + 10) END,
           CASE WHEN n % 4 THEN 'pending' ELSE 'failed' END, '', ''
      FROM numbers
     WHERE true
        ON CONFLICT DO NOTHING
"""
WHERE = {"everything": "1 = 1", "some": "i.status = :status", "few": "i.id < 9", "none": "1 = 0"}
KEYS = st.tuples(
    st.lists(
        st.tuples(
            st.sampled_from(["artist_key", "title_key", "priority", "due_at IS NULL", "due_at"]),
            st.booleans(),
        ),
        max_size=3,
    ),
    st.booleans(),
).map(lambda made: (*(Key(*one) for one in made[0]), Key("i.id", falls=made[1])))


@pytest.fixture
def filled(db, monkeypatch):
    db.write(lambda tx: tx.run(FILL, rows=ROWS))
    monkeypatch.setattr(sorted_pages, "SHORT", 0)
    return db


def sought(name):
    return Sought(table="work_items", alias="i", where=WHERE[name], params={"status": "pending"})


def all_ids(tx, where, keys):
    terms = ", ".join(f"{key.column}{' DESC' if key.falls else ''}" for key in keys)
    sql = f"SELECT i.id FROM work_items i WHERE {where} ORDER BY {terms}"
    return [row_id for (row_id,) in tx.tuples(sql, status="pending")]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(
    name=st.sampled_from(sorted(WHERE)),
    keys=KEYS,
    sample=st.sampled_from([1, 7, 60, 400, 5_000]),
    deviations=st.sampled_from([(0,), (1, 2), (3, 9)]),
    place=st.fixed_dictionaries({"limit": st.integers(1, 60), "offset": st.integers(0, 450)}),
    known=st.booleans(),
)
def test_a_page_is_a_piece_of_all_rows_sorted(filled, name, keys, sample, deviations, place, known):
    with pytest.MonkeyPatch.context() as patch, filled.read() as tx:
        patch.setattr(sorted_pages, "SAMPLE", sample)
        patch.setattr(sorted_pages, "DEVIATIONS", deviations)
        expected = all_ids(tx, WHERE[name], keys)
        total = len(expected) if known else None
        found = sorted_page(tx, sought(name), keys, place, total=total)

    assert found.total == len(expected)
    assert found.ids == expected[place["offset"] :][: place["limit"]]


def test_a_deep_page_sorts_few_rows_and_looks_at_each_once(filled, monkeypatch):
    monkeypatch.setattr(sorted_pages, "SAMPLE", 200)
    keys = (Key("title_key", falls=False), Key("i.id", falls=False))
    asked = []

    class Listening:
        def __init__(self, tx):
            self._tx = tx

        def __getattr__(self, name):
            def ask_and_note(sql, **params):
                asked.append(params)
                return getattr(self._tx, name)(sql, **params)

            return ask_and_note

    place = {"limit": 5, "offset": 40}
    ask(filled, lambda tx: sorted_page(Listening(tx), sought("everything"), keys, place))
    plans = plans_of(filled, lambda tx: sorted_page(tx, sought("everything"), keys, place))

    assert len(asked) == len(plans) == 4  # the newest row, a sample, the pass, the sort
    assert asked[-1]["inside"].count(",") < ROWS / 2
    assert not any("TEMP B-TREE" in line for line in plans[2]), plans


def test_a_short_table_is_sorted_without_a_sample(filled, monkeypatch):
    monkeypatch.setattr(sorted_pages, "SHORT", 20_000)
    keys = (Key("title_key", falls=False), Key("i.id", falls=False))
    place = {"limit": 5, "offset": 40}

    assert len(plans_of(filled, lambda tx: sorted_page(tx, sought("everything"), keys, place))) == 3
