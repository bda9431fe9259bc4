"""How an attempt ends: one test for each row of the table, and for what may come between."""

from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest

from lyrsvc.core.item import (
    DetectorFinding,
    Event,
    Priority,
    Result,
    Route,
    Status,
    TargetOrigin,
    TargetResult,
    TargetStatus,
)
from lyrsvc.core.lyrics import Quality
from lyrsvc.core.outcome import Answer
from lyrsvc.core.releasing import expire, release
from lyrsvc.core.resume import Detected, Found, Partial, fresh_answers
from lyrsvc.core.settling import Ending, settle, short_text
from lyrsvc.core.sidecar import FetchMode, Kind
from queue_cases import (
    HOUR,
    NOW,
    a_moment,
    a_target,
    an_attempt,
    an_end,
    an_item,
    broken,
    missed,
    served,
    still_open,
)

FOUND = Found(cache_id=4, lane="lrclib", answers=(an_attempt(),), fetched_at=NOW)


def a_claimed(**fields):
    return an_item(status=Status.PROCESSING, **fields)


def test_t3_served_items_are_done_with_lane_and_result():
    item = a_claimed(
        attempts=3, misses=2, reason="network", resume=FOUND, claimed_from=Status.FAILED
    )
    end = settle(item, [a_target()], Ending(outcome=served(), targets=(an_end(1),)), a_moment())
    after = end.item
    assert end.event is Event.SERVE
    assert (after.status, after.outcome, after.lane) == (Status.DONE, Result.SYNCED, "lrclib")
    assert (after.attempts, after.misses, after.reason, after.resume) == (0, 0, "", None)
    assert (after.completed_at, after.fetched_at, after.due_at) == (NOW, NOW, None)
    assert (after.lease_owner, after.lease_until_at, after.claimed_from) == ("", None, None)
    assert (end.targets[0].status, end.targets[0].settled_at) == (TargetStatus.DONE, NOW)


@pytest.mark.seed("S-058")
@pytest.mark.parametrize(
    ("kind", "quality", "result"),
    [
        (Kind.TXT, Quality.UNSYNCED, Result.UNSYNCED),
        (Kind.MARKER, Quality.INSTRUMENTAL, Result.INSTRUMENTAL),
    ],
)
def test_t3_a_txt_is_a_success(kind, quality, result):
    ending = Ending(outcome=served(quality=quality), targets=(an_end(1, kind=kind),))
    after = settle(a_claimed(), [a_target()], ending, a_moment()).item
    assert (after.status, after.outcome) == (Status.DONE, result)


def test_t3_the_best_of_several_files_names_the_result():
    ends = (an_end(1, kind=Kind.TXT), an_end(2, kind=Kind.LRC))
    ending = Ending(outcome=served(), targets=ends)
    after = settle(a_claimed(), [a_target(), a_target(id=2)], ending, a_moment()).item
    assert after.outcome is Result.SYNCED


def test_t3_files_that_were_there_speak_for_themselves_and_no_lane_served():
    ending = Ending(outcome=None, targets=(an_end(1, TargetResult.PRESENT, kind=Kind.TXT),))
    after = settle(a_claimed(), [a_target()], ending, a_moment()).item
    assert (after.status, after.outcome, after.lane) == (Status.DONE, Result.UNSYNCED, "")
    assert (after.from_cache, after.fetched_at) == (False, None)


def test_t3_needs_one_settled_target_the_others_may_be_parked():
    ends = (an_end(1), an_end(2, TargetResult.NONE, status=TargetStatus.PARKED, kind=None))
    ending = Ending(outcome=served(from_cache=True), targets=ends)
    end = settle(a_claimed(), [a_target(), a_target(id=2)], ending, a_moment())
    assert (end.event, end.item.from_cache) == (Event.SERVE, True)
    assert end.targets[1].status is TargetStatus.PARKED


@pytest.mark.seed("S-052")
def test_t4_a_hard_error_fails_the_item_and_backs_off():
    item = a_claimed(attempts=2, misses=3)
    attempts = (an_attempt(answer=Answer.TRANSIENT, reason="dns"),)
    end = settle(item, [a_target()], Ending(outcome=broken(attempts=attempts)), a_moment())
    after = end.item
    assert (end.event, after.status, after.attempts, after.misses) == (
        Event.FAIL,
        Status.FAILED,
        3,
        3,
    )
    assert (after.reason, after.reason_detail, after.reason_text) == ("network", "dns", "no route")
    assert timedelta(seconds=216) <= after.due_at - NOW <= timedelta(seconds=264)
    assert (after.resume, after.route, after.ready_key) == (None, Route.REMOTE, None)


def test_t4_a_write_that_failed_is_tried_again_from_the_cache_and_credits_no_lane_twice():
    item = a_claimed(resume=FOUND)
    ends = (
        an_end(1),
        an_end(2, TargetResult.NONE, status=TargetStatus.FAILED, reason="write_denied"),
    )
    ending = Ending(outcome=served(), targets=ends, text="cannot write in /music")
    end = settle(item, [a_target(), a_target(id=2)], ending, a_moment())
    assert (end.event, end.item.reason, end.item.route) == (
        Event.FAIL,
        "write_denied",
        Route.LOCAL,
    )
    assert end.item.resume == replace(FOUND, answers=())
    assert [t.status for t in end.targets] == [TargetStatus.DONE, TargetStatus.FAILED]


def test_t4_what_the_detector_found_is_kept_for_the_next_write():
    item = a_claimed(resume=Detected(version="v", answers=(an_attempt(),)))
    ends = (an_end(1, TargetResult.NONE, status=TargetStatus.FAILED, reason="disk_full"),)
    end = settle(item, [a_target()], Ending(outcome=served(), targets=ends), a_moment())
    assert (end.item.resume, end.item.route) == (Detected(version="v"), Route.LOCAL)


@pytest.mark.spec("E-11")
@pytest.mark.seed("S-052")
def test_t5_a_miss_is_deferred_and_checked_again_after_the_cooldown():
    item = a_claimed(attempts=4, misses=1, resume=Partial(releases=2))
    end = settle(item, [a_target()], Ending(outcome=missed(), targets=(still_open(1),)), a_moment())
    after = end.item
    assert (end.event, after.status, after.misses, after.attempts) == (
        Event.MISS,
        Status.DEFERRED,
        2,
        0,
    )
    assert (after.priority, after.due_at) == (Priority.RECHECK, NOW + 168 * HOUR)
    assert (after.reason, after.resume, after.completed_at) == ("not_found", None, None)
    assert end.targets[0].status is TargetStatus.PENDING


@pytest.mark.spec("E-11")
@pytest.mark.parametrize(
    ("rejected", "result", "target_result"),
    [(False, Result.MISS, TargetResult.MISS), (True, Result.REJECTED, TargetResult.REJECTED)],
)
def test_t6_the_last_miss_gives_up(rejected, result, target_result):
    outcome = missed("rejected_match", detail="other_song", rejected=rejected)
    ending = Ending(outcome=outcome, targets=(still_open(1),))
    end = settle(a_claimed(misses=14), [a_target()], ending, a_moment())
    after = end.item
    assert (end.event, after.status, after.outcome) == (Event.RETIRE, Status.DONE, result)
    assert (after.misses, after.completed_at, after.lane) == (15, NOW, "")
    assert (end.targets[0].status, end.targets[0].result) == (TargetStatus.DONE, target_result)


@pytest.mark.spec("E-11")
def test_t6_never_happens_when_misses_are_never_enough():
    ending = Ending(outcome=missed(), targets=(still_open(1),))
    end = settle(a_claimed(misses=999), [a_target()], ending, a_moment(max_misses=0))
    assert end.event is Event.MISS


def test_t7_a_skipped_lane_releases_the_item_uncharged_and_the_other_answers_are_kept():
    item = a_claimed(claimed_from=Status.DEFERRED, misses=3, attempts=1)
    answers = (
        an_attempt("defaultprov", Answer.MISS, reason="not_found"),
        an_attempt("lrclib", Answer.SKIPPED),
    )
    given = release(item, a_moment(), until=NOW + 2 * HOUR, attempts=answers)
    assert (given.status, given.misses, given.attempts) == (Status.DEFERRED, 3, 1)
    assert (given.due_at, given.lease_owner, given.ready_key) == (NOW + 2 * HOUR, "", None)
    assert set(fresh_answers(given.resume, NOW + HOUR)) == {"defaultprov"}
    assert fresh_answers(given.resume, NOW + 24 * HOUR) == {}
    assert fresh_answers(given.resume, NOW - HOUR) == {}


def test_t7_each_release_in_a_row_waits_longer():
    item = a_claimed()
    waits = []
    for _ in range(12):
        given = release(item, a_moment(), until=NOW)
        waits.append((given.due_at - NOW).total_seconds())
        item = replace(given, status=Status.PROCESSING, claimed_from=given.status)
    assert 60 <= waits[0] <= 66
    assert 120 <= waits[1] <= 132
    assert 21600 <= waits[11] <= 23760


def test_t7_a_release_without_a_lane_to_wait_for_leaves_it_due():
    item = a_claimed(due_at=NOW - HOUR, resume=FOUND)
    given = release(item, a_moment(), route=Route.REMOTE)
    assert (given.status, given.due_at, given.resume) == (Status.PENDING, NOW - HOUR, FOUND)
    assert given.ready_key is not None
    assert given.route is Route.REMOTE


def test_t7_stored_lyrics_outlast_a_release():
    given = release(a_claimed(resume=FOUND), a_moment(), until=NOW + HOUR, attempts=())
    assert given.resume == FOUND


@pytest.mark.parametrize("status", [Status.PENDING, Status.FAILED, Status.DEFERRED])
def test_t8_an_expired_lease_returns_the_item_as_it_was(status):
    item = a_claimed(claimed_from=status, attempts=2, misses=5, resume=FOUND, due_at=NOW - HOUR)
    back = expire(item, now=NOW, chance=Random(1))
    assert (back.status, back.attempts, back.misses, back.resume) == (status, 2, 5, FOUND)
    assert (back.due_at, back.lease_until_at) == (NOW - HOUR, None)
    assert back.ready_key is not None


def test_t9_what_came_meanwhile_is_run_again_at_once():
    item = a_claimed(rerun=True)
    ending = Ending(outcome=served(), targets=(an_end(1),))
    end = settle(item, [a_target(), a_target(id=2)], ending, a_moment())
    assert (end.event, end.item.status, end.item.due_at) == (Event.RERUN, Status.PENDING, NOW)
    assert (end.item.rerun, end.item.resume) == (False, None)
    assert (end.item.outcome, end.item.completed_at) == (Result.SYNCED, NOW)
    assert end.item.ready_key is not None


@pytest.mark.parametrize(("others", "event"), [((), Event.PARK), ((a_target(id=2),), Event.RERUN)])
def test_what_was_found_for_a_file_that_is_gone_is_kept_and_credits_no_lane_twice(others, event):
    gone = an_end(1, TargetResult.GONE, status=TargetStatus.PARKED)
    ending = Ending(outcome=served(), targets=(gone,), attempts=FOUND.answers)
    item = a_claimed(rerun=bool(others), resume=FOUND)
    end = settle(item, [a_target(), *others], ending, a_moment())
    assert (end.event, end.item.resume) == (event, replace(FOUND, answers=()))


def test_t9_a_target_that_was_moved_since_its_audio_was_missed_is_gone_through_again():
    moved = a_target(source_path="/music/new.flac")
    gone = an_end(1, TargetResult.GONE, status=TargetStatus.PARKED)
    ending = Ending(outcome=None, targets=(replace(gone, gone_from="/music/old.flac"),))
    end = settle(a_claimed(), [moved], ending, a_moment())
    assert (end.event, end.targets) == (Event.RERUN, (moved,))
    assert end.item.ready_key is not None

    ending = Ending(outcome=None, targets=(replace(gone, gone_from="/music/new.flac"),))
    assert settle(a_claimed(), [moved], ending, a_moment()).event is Event.PARK


def test_t9_a_mode_raised_meanwhile_leaves_the_target_open():
    raised = a_target(mode=FetchMode.UPDATE)
    ending = Ending(outcome=served(), targets=(an_end(1),))
    end = settle(a_claimed(rerun=True), [raised], ending, a_moment())
    assert (end.event, end.targets) == (Event.RERUN, (raised,))


def test_t9_an_item_that_would_be_given_up_but_was_asked_for_is_tried_once_more():
    item = a_claimed(misses=14, rerun=True, boosted=True, priority=10)
    ending = Ending(outcome=missed(), targets=(still_open(1),))
    end = settle(item, [a_target()], ending, a_moment())
    assert (end.event, end.item.misses, end.item.due_at) == (Event.RERUN, 15, NOW)


@pytest.mark.parametrize(
    ("outcome", "ends"),
    [
        (missed(), (still_open(1, FetchMode.UPGRADE),)),
        (
            served(quality=Quality.UNSYNCED),
            (an_end(1, TargetResult.KEPT, kind=Kind.TXT, mode=FetchMode.UPGRADE),),
        ),
    ],
)
def test_t10_an_upgrade_that_found_nothing_better_changes_nothing(outcome, ends):
    earlier = NOW - 48 * HOUR
    item = a_claimed(
        outcome=Result.UNSYNCED, lane="defaultprov", completed_at=earlier, fetched_at=earlier
    )
    target = a_target(mode=FetchMode.UPGRADE)
    end = settle(item, [target], Ending(outcome=outcome, targets=ends), a_moment())
    after = end.item
    assert (end.event, after.status, after.misses) == (Event.KEEP, Status.DONE, 0)
    assert (after.outcome, after.lane, after.completed_at) == (
        Result.UNSYNCED,
        "defaultprov",
        earlier,
    )
    assert (end.targets[0].status, end.targets[0].result) == (
        TargetStatus.DONE,
        TargetResult.KEPT,
    )


def test_a_new_copy_of_a_served_song_that_misses_is_deferred_and_the_upgrade_beside_it_kept():
    item = a_claimed(outcome=Result.UNSYNCED, completed_at=NOW - HOUR, lane="lrclib")
    stand = [a_target(mode=FetchMode.UPGRADE), a_target(id=2)]
    ends = (still_open(1, FetchMode.UPGRADE), still_open(2))
    end = settle(item, stand, Ending(outcome=missed(), targets=ends), a_moment())
    assert (end.event, end.item.completed_at, end.item.outcome) == (Event.MISS, None, Result.NONE)
    assert [t.result for t in end.targets] == [TargetResult.KEPT, TargetResult.NONE]


def test_t21_an_item_whose_audio_is_all_gone_is_parked_where_it_was():
    item = a_claimed(claimed_from=Status.FAILED, attempts=2)
    ends = (an_end(1, TargetResult.NONE, status=TargetStatus.PARKED, kind=None),)
    end = settle(item, [a_target()], Ending(outcome=None, targets=ends), a_moment())
    after = end.item
    assert (end.event, after.status, after.attempts) == (Event.PARK, Status.FAILED, 2)
    assert (after.due_at, after.ready_key) == (None, None)


@pytest.mark.parametrize("outcome", [broken(), missed()])
def test_a_webhook_during_the_attempt_makes_a_failed_or_deferred_item_due_now(outcome):
    item = a_claimed(rerun=True, boosted=True, priority=10)
    ending = Ending(outcome=outcome, targets=(still_open(1),))
    after = settle(item, [a_target()], ending, a_moment()).item
    assert (after.due_at, after.priority, after.boosted) == (NOW, 10, False)
    assert after.ready_key is not None


def test_a_target_whose_library_was_removed_meanwhile_goes_and_takes_the_item_along():
    gone = a_target(library_id=None)
    end = settle(a_claimed(), [gone], Ending(outcome=missed()), a_moment())
    assert (end.is_gone, end.dropped, end.targets) == (True, (gone,), ())


def test_a_target_whose_library_was_removed_stays_when_its_file_was_written():
    gone = a_target(library_id=None)
    end = settle(a_claimed(), [gone], Ending(outcome=served(), targets=(an_end(1),)), a_moment())
    assert (end.event, len(end.targets)) == (Event.SERVE, 1)


@pytest.mark.parametrize("origin", [TargetOrigin.PATH, TargetOrigin.METADATA])
def test_targets_that_never_had_a_library_stay(origin):
    target = a_target(library_id=None, origin=origin)
    ending = Ending(outcome=missed(), targets=(still_open(1),))
    assert settle(a_claimed(), [target], ending, a_moment()).event is Event.MISS


def test_what_the_detector_said_is_kept_whatever_the_outcome():
    finding = DetectorFinding(verdict=False, version="v1", music_sum=0.4, detected_at=NOW)
    ending = Ending(outcome=missed(), targets=(still_open(1),), detector=finding)
    assert settle(a_claimed(), [a_target()], ending, a_moment()).item.detector == finding
    ending = replace(ending, detector=DetectorFinding())
    assert settle(a_claimed(detector=finding), [a_target()], ending, a_moment()).item.detector == (
        finding
    )


def test_reasons_are_cut_on_a_character():
    assert short_text("é" * 2000) == "é" * 1024
    assert short_text("a" + "é" * 2000) == "a" + "é" * 1023
    assert short_text("short") == "short"


def test_a_settled_item_cannot_be_settled_again():
    from lyrsvc.core.errors import Refused

    with pytest.raises(Refused):
        settle(
            an_item(status=Status.DONE),
            [a_target()],
            Ending(outcome=served(), targets=(an_end(1),)),
            a_moment(),
        )
