"""How much a scan writes at once: as much as the database manages in a moment."""

from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.services.scan_batches import (
    FEWEST,
    HELD_S,
    MOST,
    SHARED_HELD_S,
    Written,
    fitting,
)


@given(most=st.integers(FEWEST, MOST), rows=st.integers(0, MOST), seconds=st.floats(0, 60))
def test_a_batch_has_neither_too_few_rows_nor_too_many(most, rows, seconds):
    assert FEWEST <= fitting(most, Written(rows=rows, seconds=seconds)) <= MOST


def test_a_slow_database_gets_smaller_batches_at_once():
    assert fitting(400, Written(rows=400, seconds=HELD_S * 10)) == 40


def test_a_quick_database_gets_larger_batches_by_and_by():
    most = 100
    sizes = []
    for _ in range(5):
        most = fitting(most, Written(rows=most, seconds=most * HELD_S / MOST / 2))
        sizes.append(most)
    assert sizes == [150, 225, 337, 500, 500]


def test_a_batch_of_nothing_says_nothing():
    assert fitting(123, Written()) == 123


def test_while_others_wait_an_operation_is_shorter():
    alone = Written(rows=400, seconds=HELD_S)
    assert fitting(400, alone) == 400
    assert fitting(400, alone, held_s=SHARED_HELD_S) == 400 * SHARED_HELD_S / HELD_S
