"""The gate of a scan: what is opened, what is looked at, what is left alone."""

import pytest

from lyrsvc.core.keys import KEY_VERSION
from lyrsvc.core.scan_decision import Gate, ScanRules, judge, sidecar_bits, stamp_of
from lyrsvc.core.sidecar import FetchMode

STAMP = (10, 20, 30)
COLUMNS = (
    *("mtime_ns", "size", "inode", "sidecar", "enriched", "reader_version", "key_version"),
    *("missing_since_at", "status", "target_id", "embedded", "id"),
)


def row(**changed):
    known = dict(
        zip(COLUMNS, (*STAMP, 0, 1, 3, KEY_VERSION, None, "pending", 5, 0, 1), strict=True)
    )
    assert known.keys() >= changed.keys()
    return tuple({**known, **changed}.values())


def rules(**changed):
    return ScanRules(**{"enrich": True, "reader_version": 3, **changed})


def test_a_file_without_a_row_is_new():
    assert judge(None, STAMP, 0, rules()) is Gate.NEW


@pytest.mark.parametrize(
    ("stored", "given"),
    [
        ({"mtime_ns": 11}, {}),
        ({"size": 21}, {}),
        ({"inode": 31}, {}),
        ({"reader_version": 2}, {}),
        ({"enriched": 0}, {}),
        ({"mtime_ns": 11, "status": "done", "sidecar": 1}, {"enrich": False}),
    ],
)
def test_a_file_is_opened_when_it_or_the_reader_changed_or_more_is_wanted(stored, given):
    assert judge(row(**stored), STAMP, 0, rules(**given)) is Gate.CHANGED


@pytest.mark.parametrize(
    ("stored", "sidecar", "given"),
    [
        ({}, 0, {}),
        ({"status": "done", "target_id": None, "sidecar": 1}, 1, {}),
        ({"status": "done", "target_id": None}, 0, {}),
        ({"status": "failed"}, 0, {}),
        ({"status": "deferred", "target_id": None}, 0, {}),
        ({"enriched": 0}, 0, {"enrich": False}),
        ({"status": "done", "target_id": None, "embedded": 1}, 0, {"respect_embedded": True}),
        ({"status": "done", "sidecar": 1}, 1, {"detect": True}),
        ({"status": "done"}, 0, {"detect": True}),
    ],
)
def test_an_unchanged_file_is_left_alone(stored, sidecar, given):
    assert judge(row(**stored), STAMP, sidecar, rules(**given)) is Gate.SAME


@pytest.mark.parametrize(
    ("stored", "sidecar", "given"),
    [
        ({}, 1, {}),
        ({"sidecar": 1, "status": "done"}, 0, {}),
        ({"sidecar": 2, "status": "done"}, 3, {}),
        ({"missing_since_at": "2026"}, 0, {}),
        ({"key_version": KEY_VERSION - 1}, 0, {}),
        ({}, 0, {"enrich": False}),
        ({"status": "unreadable"}, 0, {}),
        ({"status": "unreadable", "target_id": None, "sidecar": 1}, 1, {}),
        ({"target_id": None}, 0, {}),
        ({"status": "done"}, 0, {"mode": FetchMode.UPDATE}),
        ({"status": "done", "target_id": None, "embedded": 2}, 0, {}),
        ({"target_id": None, "embedded": 1}, 0, {"respect_embedded": True}),
        ({"inode": 0}, 0, {}),
        ({}, 0, {"detect": True}),
        ({"status": "failed"}, 0, {"detect": False}),
        ({"status": "deferred"}, 0, {"detect": True}),
    ],
)
def test_a_row_is_looked_at_when_something_beside_the_audio_may_have_changed(
    stored, sidecar, given
):
    assert judge(row(**stored), STAMP, sidecar, rules(**given)) is Gate.LOOK


def test_an_inode_counts_only_where_both_sides_have_one():
    assert judge(row(inode=0), STAMP, 0, rules()) is not Gate.CHANGED
    assert judge(row(), (10, 20, 0), 0, rules()) is not Gate.CHANGED
    assert judge(row(inode=0), (10, 20, 0), 0, rules()) is Gate.SAME


@pytest.mark.parametrize(
    ("seen", "stored"),
    [
        ((1, 2, 3), (1, 2, 3)),
        ((1, 2, 2**64 - 1), (1, 2, -1)),
        ((2**63, 2, 2**63), (2**63 - 1, 2, -(2**63))),
        ((-(2**70), 2, 3), (-(2**63), 2, 3)),
    ],
)
def test_a_stamp_fits_the_columns(seen, stored):
    assert stamp_of(*seen) == stored


def test_the_sidecar_column_has_a_bit_for_each_extension():
    assert [
        sidecar_bits(*names) for names in (("a", None, None), (None, "b", None), ("a", "b", "c"))
    ] == [1, 2, 7]
