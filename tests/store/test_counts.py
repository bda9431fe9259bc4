"""Maintained counts: exact, compared, corrected."""

import pytest

from lyrsvc.core.item import DetectorFinding, Status
from lyrsvc.store import counts, history, meta
from lyrsvc.store.counts import Tally, names_of
from lyrsvc.store.history import Happening, Note
from queue_cases import NOW, Queue, a_webhook, a_wish, an_item


@pytest.fixture
def queue(db):
    return Queue(db)


def test_an_item_is_part_of_the_counts_it_shows(queue):
    assert list(names_of(an_item(ready_key=4))) == ["status.pending", "ready.pending"]
    failed = an_item(status=Status.FAILED, reason="network")
    assert list(names_of(failed)) == ["status.failed", "reason.failed.network"]
    processing = an_item(status=Status.PROCESSING, reason="network")
    assert list(names_of(processing)) == ["status.processing"]
    heard = an_item(status=Status.DONE, detector=DetectorFinding(verdict=True))
    assert list(names_of(heard)) == ["status.done", "instrumental"]


def test_counts_are_exact_after_every_step(queue):
    def right():
        assert queue.wrong_counts() == {}

    queue.enqueue(*(a_wish(f"Song {at}") for at in range(5)), a_webhook("Hook"))
    right()
    held = [queue.claim() for _ in range(5)]
    right()
    for step, item in zip(
        (queue.serve, queue.miss, queue.fail, queue.release, queue.serve), held, strict=True
    ):
        step(item)
        right()
    with queue.db.read() as tx:
        kept = counts.read(tx)
    assert (kept["status.done"], kept["status.deferred"], kept["status.failed"]) == (2, 1, 1)
    assert (kept["reason.failed.network"], kept["reason.deferred.not_found"]) == (1, 1)
    assert (kept["ready.pending"], kept["attempts.lrclib"], kept["attempt_hits.lrclib"]) == (
        2,
        4,
        2,
    )


def test_a_difference_is_found_corrected_and_told(queue):
    queue.enqueue(a_wish())
    queue.db.write(
        lambda tx: tx.run(
            "UPDATE counts SET n = 9 WHERE name IN ('status.pending', 'instrumental')"
        )
    )
    queue.db.write(lambda tx: tx.run("DELETE FROM counts WHERE name = 'ready.pending'"))
    wrong = {"instrumental": (9, 0), "ready.pending": (0, 1), "status.pending": (9, 1)}
    assert queue.wrong_counts() == wrong
    assert queue.db.write(lambda tx: counts.correct(tx, now=NOW)) == wrong
    assert queue.wrong_counts() == {}


def test_a_tally_writes_each_number_once(db):
    tally = Tally()
    for _ in range(3):
        tally.add("status.pending")
    tally.add("status.done", 2)
    tally.add("status.done", -2)
    db.write(lambda tx: tally.write(tx, now=NOW))
    db.write(lambda tx: tally.write(tx, now=NOW))
    with db.read() as tx:
        assert (counts.read(tx)["status.pending"], counts.read(tx)["status.done"]) == (3, 0)


def test_the_database_knows_its_provider_set(db):
    with db.read() as tx:
        assert meta.provider_set_version(tx) is None
    db.write(lambda tx: meta.set_provider_set_version(tx, 77, now=NOW))
    with db.read() as tx:
        assert meta.provider_set_version(tx) == 77


@pytest.mark.parametrize("event", Happening)
def test_every_event_of_the_history_can_be_written(db, event):
    note = Note(by="worker", destination="/music/x.lrc", lane="lrclib", library_id=3)
    db.write(lambda tx: history.add(tx, an_item(), event, note, now=NOW))
    with db.read() as tx:
        row = tx.first("SELECT * FROM history")
    assert (row["event"], row["by"], row["title"]) == (str(event), "worker", "Tidewater")
    assert (row["destination"], row["library_id"]) == ("/music/x.lrc", 3)
