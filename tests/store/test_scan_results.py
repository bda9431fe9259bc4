"""The inventory table and its directories."""

from pathlib import Path

import pytest

from lyrsvc.store import libraries, scan_dirs, scan_results


@pytest.fixture
def library(db, clock):
    return db.write(
        lambda tx: libraries.add(tx, name="Music", path=Path("/music"), now=clock.now())
    )


@pytest.mark.spec("E-31")
def test_the_gate_is_read_from_its_index_alone(db):
    with db.read() as tx:
        (plan,) = tx.all(f"EXPLAIN QUERY PLAN {scan_results.GATE}", dir=1)
    assert "USING COVERING INDEX ix_scan_gate (dir_id=?)" in plan["detail"]


def test_a_directory_is_written_once_with_all_it_lies_in(db, clock, library):
    def ensure(tx):
        return [
            scan_dirs.ensure(tx, library.id, paths, now=clock.now())
            for paths in (["a/b/c", "a/b"], ["a/b/c"], [])
        ]

    first, again, nothing = db.write(ensure)
    deepest, middle, root = first["a/b/c"], first["a/b"], first[""]

    assert again == first
    assert nothing == {}
    with db.read() as tx:
        assert [name for name, _, _ in scan_dirs.children(tx, root)] == ["a"]
        assert scan_dirs.children(tx, middle) == [("c", deepest, "")]
        assert scan_dirs.find(tx, library.id, "a/b") == (middle, "")
        assert scan_dirs.find(tx, library.id, "a/x") is None


def test_very_deep_directories_can_be_written(db, clock, library):
    deep = "/".join("d" * 1500)

    ids = db.write(lambda tx: scan_dirs.ensure(tx, library.id, [deep], now=clock.now()))
    dir_id = ids[deep]

    with db.read() as tx:
        assert scan_dirs.find(tx, library.id, deep) == (dir_id, "")
        assert scan_results.present_below(tx, 1) == []
