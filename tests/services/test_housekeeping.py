"""Old rows go, everything else stays."""

from datetime import timedelta

import pytest

from fakes import FakeClock
from lyrsvc.services.housekeeping import EVERY_S, Housekeeper, Keeping
from lyrsvc.store.database import Database, to_db


@pytest.fixture
def db(tmp_path, clock):
    with Database.open(tmp_path / "x.db", create=True, clock=clock) as database:
        yield database


def count(db: Database, table: str) -> int:
    with db.read() as tx:
        return tx.value(f"SELECT count(*) FROM {table}")


def insert(db: Database, table: str, rows: list[dict]) -> None:
    names = ", ".join(f'"{name}"' for name in rows[0])
    marks = ", ".join(f":{name}" for name in rows[0])
    db.write(lambda tx: tx.many(f"INSERT INTO {table} ({names}) VALUES ({marks})", rows))


def moments(clock: FakeClock, *days: float) -> list[str]:
    return [to_db(clock.now() - timedelta(days=number)) for number in days]


def test_history_and_audit_are_kept_as_long_as_set(db, clock):
    insert(db, "history", [{"at": at, "event": "written"} for at in moments(clock, 1, 9, 11, 400)])
    insert(db, "audit_log", [{"at": at, "event": "x"} for at in moments(clock, 1, 9, 11, 400)])
    gone = Housekeeper(db, clock=clock, keeping=Keeping(history=timedelta(days=10))).forget()
    assert (gone["history"], gone["audit"]) == (2, 2)
    assert (count(db, "history"), count(db, "audit_log")) == (2, 2)


def test_more_than_a_chunk_goes_in_one_round(db, clock):
    (old,) = moments(clock, 500)
    insert(db, "history", [{"at": old, "event": "written"} for _ in range(2500)])
    assert Housekeeper(db, clock=clock, keeping=Keeping()).forget()["history"] == 2500


def item(number: int, done_at: str | None) -> dict:
    return {
        "id": number,
        "artist_key": f"a{number}",
        "title_key": f"t{number}",
        "duration_bucket": 0,
        "status": "done" if done_at else "pending",
        "completed_at": done_at,
        "outcome": "synced" if done_at else "",
        "due_at": None if done_at else "2026-01-01T00:00:00.000Z",
        "created_at": "2026-01-01T00:00:00.000Z",
        "updated_at": "2026-01-01T00:00:00.000Z",
    }


def test_finished_items_are_kept_for_ever_unless_told_otherwise(db, clock):
    insert(db, "work_items", [item(at, moment) for at, moment in enumerate(moments(clock, 1, 40))])
    insert(db, "work_items", [item(9, None)])
    assert "items" not in Housekeeper(db, clock=clock, keeping=Keeping()).forget()
    assert count(db, "work_items") == 3
    keeping = Keeping(done_items=timedelta(days=30))
    assert Housekeeper(db, clock=clock, keeping=keeping).forget()["items"] == 1
    assert count(db, "work_items") == 2


def test_attempts_of_items_that_are_gone_go_after_a_year(db, clock):
    insert(db, "work_items", [item(1, None)])
    old, young = moments(clock, 400, 10)
    rows = [(1, old), (2, old), (3, young)]
    insert(
        db,
        "lane_attempts",
        [
            {"queue_id": number, "lane": "lrclib", "hit": 0, "attempted_at": at}
            for number, at in rows
        ],
    )
    assert Housekeeper(db, clock=clock, keeping=Keeping()).forget()["attempts"] == 1
    assert count(db, "lane_attempts") == 2


def test_the_newest_runs_of_each_library_stay(db, clock):
    for number in (1, 2):
        insert(
            db,
            "libraries",
            [
                {
                    "id": number,
                    "name": f"L{number}",
                    "name_key": f"l{number}",
                    "path": f"/l{number}",
                    "path_hash": str(number),
                    "created_at": "x",
                    "updated_at": "x",
                }
            ],
        )
    (at,) = moments(clock, 1)
    runs = [{"library_id": 1, "started_by": "cli", "started_at": at, "state": "done"}] * 203
    insert(db, "scan_runs", runs)
    insert(db, "scan_runs", [{**runs[0], "library_id": 2}])
    assert Housekeeper(db, clock=clock, keeping=Keeping()).forget()["runs"] == 3
    assert count(db, "scan_runs") == 201


def test_the_rounds_come_every_hour_and_sweeps_when_due(db, clock):
    (old,) = moments(clock, 500)
    insert(db, "history", [{"at": old, "event": "written"}])
    keeper = Housekeeper(db, clock=clock, keeping=Keeping(sweep_every=timedelta(hours=2)))
    waits = clock.wait
    clock.wait = lambda seconds: waits(seconds) or len(clock.waits) > 3
    keeper.run()
    assert clock.waits == [EVERY_S] * 4
    assert count(db, "history") == 0


class Rounds(FakeClock):
    """A clock that stops the program after so many waits."""

    def __init__(self, rounds: int) -> None:
        super().__init__()
        self.left = rounds

    def wait(self, seconds: float) -> bool:
        self.left -= 1
        super().wait(seconds)
        return self.left < 0


def test_rounds_are_told_by_name_and_their_moments_are_known(tmp_path):
    clock = Rounds(3)
    told = []
    with Database.open(tmp_path / "y.db", create=True, clock=clock) as db:

        def record(name, work):
            told.append((name, keeper.next_round_at, keeper.next_sweep_at))
            return work()

        keeper = Housekeeper(
            db, clock=clock, keeping=Keeping(sweep_every=timedelta(hours=2)), record=record
        )
        start = clock.now()
        assert (keeper.next_round_at, keeper.next_sweep_at) == (None, None)
        keeper.run()

        def hour(number):
            return start + timedelta(seconds=number * EVERY_S)

        assert [name for name, _, _ in told] == ["retention", "retention", "sweep", "retention"]
        assert [at for _, at, _ in told] == [hour(1), hour(2), hour(2), hour(3)]
        assert [at for _, _, at in told] == [hour(2), hour(2), hour(2), hour(4)]
        never = Housekeeper(db, clock=clock, keeping=Keeping(sweep_every=None))
        never.run()
        assert never.next_sweep_at is None
