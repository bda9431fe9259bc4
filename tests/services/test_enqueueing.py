"""Wishes: what they make, what they join, and that asking twice changes nothing."""

from dataclasses import replace
from pathlib import Path

import pytest

from fakes import FakeClock
from lyrsvc.core.errors import StorageFailed
from lyrsvc.core.item import (
    Priority,
    Result,
    Route,
    Status,
    TargetOrigin,
    TargetResult,
    TargetStatus,
)
from lyrsvc.core.lyrics import Quality
from lyrsvc.core.merging import Effect
from lyrsvc.core.sidecar import FetchMode, Kind
from lyrsvc.core.waiting import WaitPolicy
from lyrsvc.core.wish import WishOrigin
from lyrsvc.services.enqueueing import Enqueuer, enqueue
from lyrsvc.store import libraries, lyrics_cache
from lyrsvc.store.transaction import Tx
from queue_cases import NOW, Queue, a_recording, a_spot, a_webhook, a_wish, cache_key, some_lyrics


def store_lyrics(queue, seconds=200, quality=Quality.SYNCED, title="Tidewater"):
    key = cache_key(a_recording(title, seconds))
    queue.db.write(
        lambda tx: lyrics_cache.keep(tx, key, some_lyrics(quality=quality), now=queue.now)
    )


def finish(queue, *wishes, kind=Kind.LRC):
    """Enqueue and serve."""
    placed = queue.enqueue(*wishes)
    while item := queue.claim():
        queue.serve(item, kind)
    return placed[0].item_id


def give_up(queue, *wishes):
    """Enqueue, and let the only miss be the last."""
    placed = queue.enqueue(*wishes)
    before, queue.policy = queue.policy, WaitPolicy(max_misses=1)
    queue.miss(queue.claim())
    queue.policy = before
    return placed[0].item_id


@pytest.mark.seed("S-050")
def test_t1_a_new_recording_becomes_an_item_with_everything_stamped(queue):
    wish = a_wish(
        recording=a_recording(
            album="Northern Pier",
            album_artist="Quillon Marsh",
            artists=("Quillon Marsh", "Ada Fenn"),
            isrcs=("GBAYE0601498", "USRC17607839"),
            mbid="0b1e",
        ),
        stem="song",
    )
    queue.version = 77
    placed = queue.enqueue(wish)[0]
    item = queue.item(placed.item_id)
    assert placed.effect is Effect.ENQUEUED
    assert (item.artist, item.title, item.album) == ("Quillon Marsh", "Tidewater", "Northern Pier")
    assert (item.artist_key, item.title_key, item.duration_bucket) == (
        "quillon marsh",
        "tidewater",
        40,
    )
    assert (item.isrc, item.mbid, item.duration_ms) == (
        "GBAYE0601498,USRC17607839",
        "0b1e",
        200_000,
    )
    assert (item.status, item.priority, item.due_at) == (Status.PENDING, Priority.SCAN, NOW)
    assert (item.provider_set_version, item.detect_instrumental, item.detect_origin) == (
        77,
        False,
        "global",
    )
    assert (item.route, item.ready_key is not None) == (Route.REMOTE, True)
    target = queue.targets(item.id)[0]
    assert (target.id, target.source_path, target.out_dir, target.out_stem) == (
        placed.target_id,
        "/music/song.flac",
        "/music",
        "song",
    )
    assert item.recording == replace(wish.recording, source_path=None)


def test_the_same_wishes_twice_create_nothing_twice(queue):
    wishes = [
        a_wish(),
        a_wish(stem="copy"),
        a_wish("Other", 90),
        a_webhook("Third", None, stem=None),
        a_webhook("Fourth"),
    ]
    first = queue.enqueue(*wishes)
    rows = (queue.items(), [queue.targets(item.id) for item in queue.items()])
    queue.advance(hours=2)
    second = queue.enqueue(*wishes)
    assert (queue.items(), [queue.targets(item.id) for item in queue.items()]) == rows
    assert [one.item_id for one in second] == [one.item_id for one in first]
    assert {one.effect for one in second} == {Effect.REFRESHED}


@pytest.mark.parametrize(
    "recording",
    [
        a_recording(""),
        a_recording(" \t"),
        a_recording("\u200b"),
        a_recording(artist=""),
        a_recording(artist="\u00ad"),
    ],
)
def test_a_recording_without_artist_or_title_is_skipped_and_the_others_go_on(queue, recording):
    placed = queue.enqueue(a_wish(recording=recording), a_wish())
    assert [one.effect for one in placed] == [Effect.SKIPPED, Effect.ENQUEUED]
    assert placed[0].item_id is None


def test_names_with_nul_and_lone_surrogates_are_stored_clean(queue):
    queue.enqueue(a_wish(recording=a_recording("Tide\0water \ud800", album="\udcff")))
    item = queue.items()[0]
    assert (item.title, item.album) == ("Tidewater \ufffd", "\ufffd")


def test_paths_that_are_no_text_come_back_byte_for_byte(queue):
    stem = b"caf\xe9 \xef\xa3\xbf".decode("utf-8", "surrogateescape")
    queue.enqueue(a_wish(stem=stem))
    assert queue.targets(1)[0].out_stem == stem
    assert queue.enqueue(a_wish(stem=stem))[0].target_id == 1


@pytest.mark.spec("E-05")
def test_two_files_of_one_recording_are_one_item_with_two_targets(queue):
    queue.enqueue(a_wish(stem="one"), a_wish(stem="two"))
    assert len(queue.items()) == 1
    item = queue.claim()
    assert queue.claim() is None
    queue.serve(item)
    assert [target.result for target in queue.targets(item.id)] == [TargetResult.WRITTEN] * 2


@pytest.mark.spec("E-06")
def test_a_third_copy_after_done_goes_the_local_route_and_changes_no_counter(queue):
    store_lyrics(queue)
    item_id = finish(queue, a_wish(stem="one"), a_wish(stem="two"))
    with queue.db.read() as tx:
        before = tx.all("SELECT * FROM lane_counters")
    placed = queue.enqueue(a_wish(stem="three"))[0]
    assert (placed.effect, placed.item_id) == (Effect.ENQUEUED, item_id)
    item = queue.claim(Route.LOCAL)
    assert (item.id, item.was_served) == (item_id, True)
    assert [t.out_stem for t in queue.targets(item_id) if t.is_open] == ["three"]
    from lyrsvc.core.settling import Ending
    from queue_cases import a_report, served

    target = queue.targets(item_id)[2]
    outcome = served(from_cache=True, attempts=())
    queue.settle(item, Ending(outcome=outcome), a_report(target))
    after = queue.item(item_id)
    assert (after.status, after.from_cache, after.lane) == (Status.DONE, True, "lrclib")
    with queue.db.read() as tx:
        assert tx.all("SELECT * FROM lane_counters") == before


@pytest.mark.spec("E-07")
def test_one_title_at_two_lengths_is_two_items_and_a_webhook_boosts_both(queue):
    queue.enqueue(a_wish(seconds=180), a_wish(seconds=300))
    assert [item.duration_bucket for item in queue.items()] == [36, 60]
    for wish in (a_webhook(seconds=None, stem=None), a_webhook(seconds=180)):
        queue.advance(minutes=1)
        queue.enqueue(wish)
        assert [item.priority for item in queue.items()] == [10, 10]


@pytest.mark.spec("E-08")
def test_a_webhook_without_length_for_a_known_title_makes_no_twin(queue):
    queue.enqueue(a_wish(seconds=180), a_wish(seconds=300))
    for item in (queue.claim(), queue.claim()):
        queue.fail(item)
    queue.advance(seconds=5)
    placed = queue.enqueue(a_webhook(seconds=None, stem=None))[0]
    items = queue.items()
    assert (len(items), placed.effect) == (2, Effect.REFRESHED)
    assert {(item.priority, item.due_at) for item in items} == {(10, queue.now)}
    assert queue.count("work_targets") == 2


def test_a_file_without_length_becomes_a_target_of_a_known_title(queue):
    queue.enqueue(a_wish(seconds=180))
    placed = queue.enqueue(a_wish(seconds=None, stem="no length"))[0]
    assert (placed.item_id, len(queue.targets(1))) == (1, 2)


def test_without_a_file_an_unknown_title_gets_a_target_in_the_output_directory(queue):
    placed = queue.enqueue(a_webhook("Unknown", None, stem=None))[0]
    item, target = queue.item(placed.item_id), queue.targets(placed.item_id)[0]
    assert (item.duration_bucket, item.priority) == (0, 10)
    assert (target.origin, target.source_path) == (TargetOrigin.METADATA, "")
    assert (target.out_dir, target.out_stem) == ("/out", "Quillon Marsh - Unknown")


def test_a_name_that_another_item_owns_gets_a_number(queue):
    for title in ("What?", "What", "What:"):
        queue.enqueue(a_webhook(title, None, stem=None))
    stems = [queue.targets(item.id)[0].out_stem for item in queue.items()]
    assert stems == [
        "Quillon Marsh - What",
        "Quillon Marsh - What (2)",
        "Quillon Marsh - What (3)",
    ]


def test_files_of_one_stem_share_a_target_and_the_first_name_gives_the_metadata(queue):
    flac = a_wish(stem=None)
    flac = replace(flac, spot=a_spot("x", source_path="/music/x.flac"))
    mp3 = replace(a_wish("Other Tags", stem=None), spot=a_spot("x", source_path="/music/x.mp3"))
    first, second = queue.enqueue(flac, mp3)
    assert (second.item_id, second.target_id) == (first.item_id, first.target_id)
    assert (len(queue.items()), queue.items()[0].title) == (1, "Tidewater")
    assert queue.targets(1)[0].source_path == "/music/x.flac"


def test_a_file_with_new_tags_moves_to_its_new_item_and_the_old_one_goes(queue):
    first = queue.enqueue(a_wish("Old Title", stem="x"))[0]
    second = queue.enqueue(a_wish("New Title", stem="x"))[0]
    assert [item.title for item in queue.items()] == ["New Title"]
    assert second.item_id != first.item_id
    assert [target.out_stem for target in queue.targets(second.item_id)] == ["x"]


def test_an_item_with_other_targets_survives_the_move_of_one(queue):
    queue.enqueue(a_wish("Old Title", stem="x"), a_wish("Old Title", stem="y"))
    placed = queue.enqueue(a_wish("New Title", stem="x"))[0]
    assert [item.title for item in queue.items()] == ["Old Title", "New Title"]
    assert [target.out_stem for target in queue.targets(1)] == ["y"]
    assert [target.out_stem for target in queue.targets(placed.item_id)] == ["x"]


def test_a_target_of_an_item_under_way_stays_where_it_is(queue):
    queue.enqueue(a_wish("Old Title", stem="x"))
    item = queue.claim()
    placed = queue.enqueue(a_wish("New Title", stem="x"))[0]
    assert (placed.item_id, len(queue.items())) == (item.id, 1)


def test_a_finished_item_stays_when_its_file_gets_new_tags(queue):
    item_id = finish(queue, a_wish("Old Title", stem="x"))
    placed = queue.enqueue(a_wish("New Title", stem="x"))[0]
    assert queue.item(item_id).status is Status.DONE
    assert (queue.targets(item_id), len(queue.targets(placed.item_id))) == ([], 1)


@pytest.mark.spec("E-09")
@pytest.mark.seed("S-054", "S-055")
def test_a_failed_item_keeps_its_backoff_in_a_scan_and_is_next_after_a_webhook(queue):
    queue.enqueue(a_wish(), *(a_wish(f"Other {at}") for at in range(10)))
    for _ in range(11):
        item = queue.claim()
        if item.title == "Tidewater":
            queue.fail(item)
        else:
            queue.release(item)
    failed = next(item for item in queue.items() if item.title == "Tidewater")
    queue.advance(seconds=10)

    queue.enqueue(a_wish())
    queue.enqueue(a_wish(mode=FetchMode.UPDATE, stem="elsewhere"))
    after = queue.item(failed.id)
    assert (after.due_at, after.attempts, after.status) == (failed.due_at, 1, Status.FAILED)

    queue.enqueue(a_webhook())
    boosted = queue.item(failed.id)
    assert (boosted.due_at, boosted.attempts, boosted.status) == (queue.now, 0, Status.FAILED)
    assert queue.claim().id == failed.id


@pytest.mark.seed("S-055", "S-054")
@pytest.mark.parametrize("length", [200, 260])
def test_a_failed_track_whose_length_is_found_out_keeps_its_backoff(queue, length):
    queue.enqueue(a_wish(seconds=None if length == 200 else 200, stem="song"))
    failed = queue.item(queue.fail(queue.claim()).item.id)
    queue.advance(seconds=10)

    queue.enqueue(a_wish(seconds=length, stem="song"))
    (item,) = queue.items()
    assert (item.id, item.status, item.attempts) == (failed.id, Status.FAILED, 1)
    assert (item.due_at, item.reason, item.ready_key) == (failed.due_at, failed.reason, None)
    assert (item.duration_bucket, item.duration_ms) == (length // 5, length * 1000)
    assert [target.duration_ms for target in queue.targets(item.id)] == [length * 1000]
    assert queue.claim() is None

    queue.enqueue(a_webhook(stem="song"))
    assert queue.claim().id == failed.id


@pytest.mark.seed("S-055")
def test_a_file_that_is_another_track_now_does_not_inherit_a_backoff(queue):
    queue.enqueue(a_wish(stem="song"))
    queue.fail(queue.claim())
    queue.enqueue(a_wish("Salt & Iron", stem="song"))
    (item,) = queue.items()
    assert (item.title, item.status, item.attempts) == ("Salt & Iron", Status.PENDING, 0)


def test_a_webhook_during_the_attempt_runs_it_again_when_it_fails(queue):
    queue.enqueue(a_wish())
    item = queue.claim()
    queue.enqueue(a_webhook())
    queue.fail(item)
    again = queue.claim()
    assert (again.id, again.priority, again.claimed_from) == (item.id, 10, Status.FAILED)
    queue.fail(again)
    assert queue.claim() is None


def test_a_copy_found_during_the_attempt_is_looked_after_next(queue):
    queue.enqueue(a_wish(stem="one"))
    item = queue.claim()
    queue.enqueue(a_wish(stem="two"))
    assert queue.item(item.id).rerun
    store_lyrics(queue)
    queue.settle(item, *_served_first(queue, item))
    after = queue.item(item.id)
    assert (after.status, after.route, after.rerun) == (Status.PENDING, Route.LOCAL, False)
    again = queue.claim(Route.LOCAL)
    queue.serve(again)
    assert queue.item(item.id).status is Status.DONE


def _served_first(queue, item):
    from lyrsvc.core.settling import Ending
    from queue_cases import a_report, served

    outcome = served()
    return Ending(outcome=outcome, attempts=outcome.attempts), a_report(queue.targets(item.id)[0])


@pytest.mark.spec("E-14")
def test_a_call_is_all_or_nothing(queue):

    wishes = [a_webhook(f"Song {at}") for at in range(500)]
    terms = queue.terms

    def with_a_fault(tx):
        class Faulty:
            def __getattr__(self, name):
                return getattr(tx, name)

            def insert_rows(self, table, columns, rows):
                if table == "history":
                    tx.insert_rows(table, columns, rows[:400])
                    raise StorageFailed("no room")
                tx.insert_rows(table, columns, rows)

        return enqueue(Faulty(), wishes, terms)

    with pytest.raises(StorageFailed):
        queue.db.write(with_a_fault)
    assert [queue.count(t) for t in ("work_items", "work_targets", "history")] == [0, 0, 0]
    assert queue.wrong_counts() == {}

    placed = queue.enqueue(*wishes)
    queue.enqueue(*wishes)
    assert queue.count("work_items") == queue.count("work_targets") == 500
    assert {one.effect for one in placed} == {Effect.ENQUEUED}


def test_the_worker_is_woken_after_the_commit(queue):
    seen = []

    def wake():
        seen.append(queue.count("work_items"))

    enqueuer = Enqueuer(
        queue.db, clock=FakeClock(), terms=lambda now: replace(queue.terms, now=now), wake=wake
    )
    assert enqueuer.enqueue([a_webhook()])[0].effect is Effect.ENQUEUED
    assert seen == [1]


@pytest.mark.seed("S-057")
def test_the_detection_decision_is_stamped_and_decided_anew_while_not_under_way(queue):
    def add(name, detect):
        return queue.db.write(
            lambda tx: (
                libraries.add(
                    tx, name=name, path=Path("/" + name), now=NOW, detect_instrumental=detect
                ).id
            )
        )

    on, off, silent = add("on", True), add("off", False), add("silent", None)

    def decided(library_id, stem, **fields):
        wish = replace(a_wish(**fields), spot=a_spot(stem, library_id=library_id))
        item = queue.item(queue.enqueue(wish)[0].item_id)
        return item.detect_instrumental, item.detect_origin

    queue.detect_default = True
    assert decided(silent, "a") == (True, "global")
    assert decided(off, "b") == (False, "library")
    assert decided(on, "c") == (True, "library")
    assert decided(on, "c", detect=False) == (False, "explicit")
    queue.claim()
    assert decided(on, "c", detect=True) == (False, "explicit")


def test_an_upgrade_opens_a_finished_item_and_only_synced_lyrics_of_the_cache_count(queue):
    item_id = finish(queue, a_wish(), kind=Kind.TXT)
    store_lyrics(queue, quality=Quality.UNSYNCED)
    queue.enqueue(a_wish(mode=FetchMode.UPGRADE, has_sidecar=True))
    item = queue.item(item_id)
    assert (item.status, item.route, item.outcome) == (
        Status.PENDING,
        Route.REMOTE,
        Result.UNSYNCED,
    )
    queue.serve(queue.claim(), Kind.TXT)
    store_lyrics(queue, quality=Quality.SYNCED)
    queue.enqueue(a_wish(mode=FetchMode.UPGRADE, has_sidecar=True))
    assert queue.item(item_id).route is Route.LOCAL
    queue.serve(queue.claim())
    queue.enqueue(a_wish(mode=FetchMode.UPDATE, has_sidecar=True))
    assert queue.item(item_id).route is Route.REMOTE


def test_a_vanished_sidecar_opens_its_own_target_only(queue):
    item_id = finish(queue, a_wish(stem="one"), a_wish(stem="two"))
    assert queue.enqueue(a_wish(stem="one", has_sidecar=True))[0].effect is Effect.ALREADY_DONE
    placed = queue.enqueue(a_wish(stem="one", has_sidecar=False))[0]
    assert placed.effect is Effect.ENQUEUED
    assert [t.status for t in queue.targets(item_id)] == [TargetStatus.PENDING, TargetStatus.DONE]


def test_a_copy_of_a_song_that_was_given_up_is_a_miss_too_and_nothing_is_asked(queue):
    item_id = give_up(queue, a_wish(stem="one"))
    placed = queue.enqueue(a_wish(stem="two"), a_wish(stem="three", mode=FetchMode.UPGRADE))
    assert {(one.item_id, one.effect) for one in placed} == {(item_id, Effect.ALREADY_DONE)}
    assert [t.result for t in queue.targets(item_id)] == [TargetResult.MISS] * 3
    assert queue.claim() is None


@pytest.mark.parametrize(
    ("wish", "misses"),
    [(a_webhook(stem="one"), 1), (a_wish(stem="one", mode=FetchMode.UPDATE), 0)],
)
def test_a_song_that_was_given_up_is_sought_again_for_all_its_files(queue, wish, misses):
    item_id = give_up(queue, a_wish(stem="one"), a_wish(stem="two"))
    assert queue.enqueue(wish)[0].effect is Effect.ENQUEUED
    item = queue.item(item_id)
    assert (item.status, item.misses) == (Status.PENDING, misses)
    assert all(target.is_open for target in queue.targets(item_id))


def test_the_provider_set_is_stamped_when_an_item_comes_due_not_when_a_scan_meets_it(queue):
    queue.enqueue(a_wish())
    queue.miss(queue.claim())
    queue.version = 2
    queue.enqueue(a_wish())
    assert queue.items()[0].provider_set_version == 1
    queue.enqueue(a_webhook())
    assert queue.items()[0].provider_set_version == 2


def test_what_people_asked_for_is_in_the_history(queue):
    finish(queue, a_webhook())
    queue.enqueue(a_wish("Scanned"))
    queue.enqueue(a_wish(origin=WishOrigin.SEARCH, mode=FetchMode.UPGRADE, has_sidecar=True))
    with queue.db.read() as tx:
        rows = tx.all('SELECT event, "by", title FROM history ORDER BY id')
    assert [(row["event"], row["by"]) for row in rows] == [
        ("enqueued", "webhook"),
        ("written", "worker"),
        ("enqueued", "search"),
    ]


def test_a_sibling_under_way_is_hurried_too(queue):
    queue.enqueue(a_wish(seconds=180), a_wish(seconds=300))
    item = queue.claim()
    other = 300 if item.duration_bucket == 36 else 180
    queue.enqueue(a_webhook(seconds=other))
    assert queue.item(item.id).boosted


def test_a_parked_target_is_taken_over_by_the_file_that_replaced_it(queue):
    from lyrsvc.core.settling import Ending
    from queue_cases import an_end

    mp3 = replace(a_wish(seconds=204), spot=a_spot("x", source_path="/music/x.mp3"))
    queue.enqueue(mp3)
    item = queue.claim()
    gone = an_end(1, TargetResult.NONE, status=TargetStatus.PARKED, kind=None)
    queue.settle(item, Ending(outcome=None, targets=(gone,)))
    assert queue.item(item.id).due_at is None
    flac = replace(a_wish(seconds=206), spot=a_spot("x", source_path="/music/x.flac"))
    placed = queue.enqueue(flac)[0]
    assert [i.id for i in queue.items()] == [placed.item_id]
    target = queue.targets(placed.item_id)[0]
    assert (target.source_path, target.status) == ("/music/x.flac", TargetStatus.PENDING)


def test_wishes_of_two_threads_at_once_make_one_item(queue):
    import threading

    def wish():
        for at in range(20):
            queue.enqueue(a_wish(f"Song {at}"), a_webhook(f"Song {at}", None, stem=None))

    threads = [threading.Thread(target=wish) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert queue.count("work_items") == 20
    assert isinstance(queue, Queue)


def test_a_file_whose_length_becomes_known_moves_and_its_first_item_goes(queue):
    queue.enqueue(a_wish(seconds=None, stem="x"))
    placed = queue.enqueue(a_webhook(seconds=180, stem="x"))[0]
    items = queue.items()
    assert [(item.id, item.duration_bucket) for item in items] == [(placed.item_id, 36)]
    assert items[0].priority == Priority.WEBHOOK


def test_another_copy_costs_the_same_however_many_there_are(queue, monkeypatch):
    def rows_read_by(wishes):
        read = []
        with monkeypatch.context() as patch:
            real = Tx.all
            patch.setattr(
                Tx, "all", lambda tx, sql, **params: _noted(real(tx, sql, **params), read)
            )
            queue.enqueue(*wishes)
        return sum(read)

    def copies(first, number):
        return [
            a_wish(spot=a_spot(f"{at:05} Tidewater", source_path=f"/music/{at:05}.flac"))
            for at in range(first, first + number)
        ]

    queue.enqueue(*copies(0, 2))
    few = rows_read_by(copies(10, 5))
    queue.enqueue(*copies(100, 400))
    many = rows_read_by(copies(1000, 5))
    assert 0 < many <= few + 5
    assert len(queue.targets(1)) == 412


def _noted(rows, read):
    read.append(len(rows))
    return rows
