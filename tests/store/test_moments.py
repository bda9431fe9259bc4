"""Moments in columns."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.store.database import from_db, to_db

MOMENTS = st.datetimes(timezones=st.just(UTC))


def test_a_moment_is_utc_text_with_milliseconds():
    berlin = timezone(timedelta(hours=1))

    assert to_db(datetime(2026, 1, 31, 15, 5, 6, 123_999, berlin)) == "2026-01-31T14:05:06.123Z"
    assert to_db(datetime(1, 1, 1, tzinfo=UTC)) == "0001-01-01T00:00:00.000Z"


@given(MOMENTS)
def test_a_moment_comes_back_to_the_millisecond(moment):
    back = from_db(to_db(moment))

    assert timedelta(0) <= moment - back < timedelta(milliseconds=1)
    assert back.tzinfo is UTC
    assert to_db(back) == to_db(moment)


@given(MOMENTS, MOMENTS)
def test_text_order_is_time_order(one, other):
    assert len(to_db(one)) == 24
    if to_db(one) < to_db(other):
        assert one < other


def test_nothing_stays_nothing():
    assert to_db(None) is None
    assert from_db(None) is None


def test_a_moment_without_a_zone_is_refused():
    with pytest.raises(ValueError, match="time zone"):
        to_db(datetime(2026, 1, 31, tzinfo=UTC).replace(tzinfo=None))
