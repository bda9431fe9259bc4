"""Placing many new wishes at once comes to the same as placing them one by one."""

from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakes import FakeClock
from lyrsvc.core.item import Priority
from lyrsvc.core.lyrics import Quality
from lyrsvc.core.merging import Effect
from lyrsvc.core.sidecar import FetchMode
from lyrsvc.core.waiting import RANDOM_BITS, TIER
from lyrsvc.core.wish import WishOrigin
from lyrsvc.services import enqueueing
from lyrsvc.services.enqueueing import Terms, enqueue
from lyrsvc.services.met_items import MetItems
from lyrsvc.store import counts, lyrics_cache
from lyrsvc.store.database import Database
from lyrsvc.store.lyrics_cache import CacheKey
from queue_cases import NOW, a_recording, a_webhook, a_wish, some_lyrics

ODD = "Ti\udce4de\0water"
# Some share the name of their file in the output directory, some look like its second one.
TITLES = ("Tidewater", "Tide/water", "Tidewater (2)", "Low Tide", "Ebb", "低い潮", "?!", ODD)


@st.composite
def wishes(draw):
    title = draw(st.sampled_from(TITLES))
    seconds = draw(st.sampled_from((None, 200, 200, 202, 300)))
    stem = draw(st.sampled_from(("a", "b", "c", "d", "e", "f", "g\udcff", None, None, None)))
    recording = a_recording(
        title,
        seconds,
        artists=draw(st.sampled_from(((), ("Quillon Marsh", "Ä\udcff")))),
        album_artist=draw(st.sampled_from(("", "Various Artists"))),
        isrcs=draw(st.sampled_from(((), ("GBAYE0000351", "GBAYE0000352")))),
        low_confidence=draw(st.booleans()),
    )
    return a_wish(
        stem=stem,
        recording=recording,
        origin=draw(st.sampled_from((WishOrigin.SCAN, WishOrigin.SCAN, WishOrigin.WEBHOOK))),
        mode=draw(st.sampled_from((FetchMode.NORMAL, FetchMode.NORMAL, FetchMode.UPGRADE))),
        detect=draw(st.sampled_from((None, True))),
        has_sidecar=draw(st.sampled_from((False, True))),
    )


def one_by_one(_tx, asked, _terms, _tally):
    return [None] * len(asked)


def hour_of(ready_key):
    """Give tier and hour of a place in the queue, without what was left to chance."""
    return ready_key // TIER, ready_key % TIER >> RANDOM_BITS


FATES = {
    "none": (),
    "found": ("status = 'done', outcome = 'synced', completed_at = updated_at", "done"),
    "given up": ("status = 'done', outcome = 'miss', completed_at = updated_at", "done"),
    "failed": ("status = 'failed', reason = 'timeout'", "pending"),
    "under way": ("status = 'processing', claimed_from = 'pending'", "pending"),
}


def befall(tx, fate):
    """Let something happen to the songs whose titles are even in length."""
    if FATES[fate]:
        change, target = FATES[fate]
        chosen = "length(title_key) % 2 = 0"
        tx.run(f"UPDATE work_items SET {change}, ready_key = NULL WHERE {chosen}")
        tx.run(
            f"""
            UPDATE work_targets SET status = :status
             WHERE item_id IN (SELECT id FROM work_items WHERE {chosen})
            """,
            status=target,
        )
        counts.correct(tx, now=NOW)


def placed_into(path, calls, monkeypatch, *, quickly):
    """Place the wishes of some calls; give what became of them and of the tables."""
    with monkeypatch.context() as patch, Database.open(path, create=True, clock=FakeClock()) as db:
        if not quickly:
            patch.setattr(enqueueing, "place_fresh", one_by_one)
            patch.setattr(MetItems, "foresee", lambda _self, _wishes: None)
        key = CacheKey(artist_key="quillon marsh", title_key="ebb", duration_ms=200_000)
        lyrics = some_lyrics(quality=Quality.UNSYNCED)
        db.write(lambda tx: lyrics_cache.keep(tx, key, lyrics, now=NOW))
        terms = Terms(now=NOW, chance=Random(1), output_dir="/out", provider_set_version=7)
        effects = []
        for call, fate in calls:
            placed = db.write(lambda tx, call=call: enqueue(tx, call, terms))
            effects.append([place.effect for place in placed])
            db.write(lambda tx, fate=fate: befall(tx, fate))
        with db.read() as tx:
            items = tx.all(
                "SELECT * FROM work_items ORDER BY artist_key, title_key, duration_bucket"
            )
            targets = tx.all(
                """
                SELECT t.*, i.title_key, i.duration_bucket
                  FROM work_targets t JOIN work_items i ON i.id = t.item_id ORDER BY t.out_hash
                """
            )
            kept, wrong = counts.read(tx), counts.differences(tx)
            history = tx.all(
                """
                SELECT h.*, i.artist_key, i.title_key, i.duration_bucket
                  FROM history h JOIN work_items i ON i.id = h.item_id
                 ORDER BY h.title, i.title_key, i.duration_bucket, h.event, h."by"
                """
            )
    assert wrong == {}
    for row in items:
        row["ready_key"] = row["ready_key"] and hour_of(row["ready_key"])
    for row in (*items, *targets, *history):
        del row["id"]
    for row in (*targets, *history):
        del row["item_id"]
    return effects, items, targets, kept, history


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    calls=st.lists(
        st.tuples(st.lists(wishes(), max_size=8), st.sampled_from(sorted(FATES))),
        min_size=1,
        max_size=3,
    )
)
def test_many_at_once_come_to_the_same_as_one_by_one(tmp_path_factory, monkeypatch, calls):
    place = tmp_path_factory.mktemp("queues")

    quick = placed_into(place / "quick.db", calls, monkeypatch, quickly=True)

    assert quick == placed_into(place / "slow.db", calls, monkeypatch, quickly=False)


def test_new_songs_are_made_with_as_many_statements_whatever_their_number(queue):
    def statements_for(number, make):
        asked = []

        class Counting:
            def __init__(self, tx):
                self._tx = tx

            def __getattr__(self, name):
                asked.append(name)
                return getattr(self._tx, name)

        wanted = [make(f"Song {number} {at}") for at in range(number)]
        terms = Terms(now=NOW, chance=Random(1), output_dir="/out")
        placed = queue.db.write(lambda tx: enqueue(Counting(tx), wanted, terms))
        assert {place.effect for place in placed} == {Effect.ENQUEUED}
        return asked

    assert len(statements_for(10, a_wish)) == len(statements_for(300, a_wish))
    asked = statements_for(3, a_webhook)
    assert len(asked) == len(statements_for(301, a_webhook)) <= 8


def test_a_wish_that_shares_its_stem_or_its_name_is_not_called_fresh(queue):
    terms = Terms(now=NOW, chance=Random(1), output_dir="/out")
    asked = [a_wish("A", stem="one"), a_wish("B", stem="one"), a_wish("C"), a_wish("C", stem="x")]

    placed = queue.db.write(lambda tx: enqueue(tx, [*asked, a_wish("D")], terms))

    assert [place.is_fresh for place in placed] == [False, False, False, False, True]


def test_new_songs_of_a_webhook_are_remembered(queue):
    terms = Terms(now=NOW, chance=Random(1), output_dir="/out")

    queue.db.write(lambda tx: enqueue(tx, [a_webhook("A"), a_webhook(ODD), a_wish("B")], terms))

    with queue.db.read() as tx:
        titles = [row["title"] for row in tx.all("SELECT title FROM history ORDER BY id")]
    assert titles == ["A", "Ti\ufffddewater"]


def test_keys_that_are_known_already_need_not_be_made_again(queue):
    terms = Terms(now=NOW, chance=Random(1), output_dir="/out")
    wish = a_wish("Tidewater", names=("somebody", "something"))

    (placed,) = queue.db.write(lambda tx: enqueue(tx, [wish], terms))

    item = queue.item(placed.item_id)
    assert (item.artist_key, item.title_key) == ("somebody", "something")
    assert item.priority == Priority.SCAN
