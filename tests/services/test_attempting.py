"""The transactions of an attempt: nothing is lost, nothing is counted twice."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lyrsvc.core.claiming import Claim
from lyrsvc.core.item import (
    DetectorFinding,
    Result,
    Route,
    Status,
    TargetResult,
    TargetStatus,
)
from lyrsvc.core.lyrics import Matched, Quality
from lyrsvc.core.outcome import Answer, Served
from lyrsvc.core.resume import Detected, Found, fresh_answers
from lyrsvc.core.settling import Ending
from lyrsvc.core.sidecar import FetchMode, Kind
from lyrsvc.core.waiting import WaitPolicy
from lyrsvc.services import attempting
from lyrsvc.services.attempting import Finding, Intent, TargetReport
from lyrsvc.services.routing import cache_key
from lyrsvc.store import claims, libraries, lyrics_cache, written_files
from lyrsvc.store.written_files import OwnFile
from queue_cases import (
    ACCEPTED,
    HOUR,
    NOW,
    a_report,
    a_spot,
    a_wish,
    an_attempt,
    an_end,
    missed,
    served,
    some_lyrics,
    still_open,
)


def record(queue, item, finding=None, *intents):
    finding = finding or Finding(
        accepted=some_lyrics(), attempts=(an_attempt(),), key=cache_key(item)
    )
    queue.db.write(
        lambda tx: attempting.record_result(tx, Claim.on(item), finding, intents, now=queue.now)
    )


def rows(queue, sql, **params):
    with queue.db.read() as tx:
        return tx.all(sql, **params)


def counters(queue):
    return {
        row["lane"]: (row["hits"], row["misses"])
        for row in rows(queue, "SELECT lane, hits, misses FROM lane_counters")
    }


def attempts(queue):
    return {
        row["lane"]: (row["hit"], row["verdict"])
        for row in rows(queue, "SELECT lane, hit, verdict FROM lane_attempts")
    }


def linked_rows(queue, *stems):
    """A library whose scan results are linked to the targets of these stems."""
    library = queue.db.write(
        lambda tx: libraries.add(tx, name="rock", path=Path("/music"), now=NOW).id
    )
    queue.db.write(
        lambda tx: tx.run(
            """
            INSERT INTO scan_dirs (library_id, path_hash, created_at, updated_at)
            VALUES (1, 'r', 'x', 'x')
            """
        )
    )
    for stem in stems:
        wish = replace(a_wish(), spot=a_spot(stem, library_id=library))
        target = queue.enqueue(wish)[0].target_id
        queue.db.write(
            lambda tx, stem=stem, target=target: tx.run(
                """
                INSERT INTO scan_results (library_id, dir_id, name, out_stem, target_id,
                                          created_at, updated_at)
                VALUES (1, 1, :name, :stem, :target, 'x', 'x')
                """,
                name=f"{stem}.flac",
                stem=stem,
                target=target,
            )
        )
    from lyrsvc.store import counts

    queue.db.write(lambda tx: counts.correct(tx, now=NOW))
    return library


def scan_rows(queue):
    return {
        row["out_stem"]: (row["status"], row["reason"], row["sidecar"], row["sidecar_class"])
        for row in rows(queue, "SELECT * FROM scan_results")
    }


def test_after_b_a_crash_costs_no_second_question_and_the_lane_is_credited_once(queue):
    queue.enqueue(a_wish())
    item = queue.claim()
    path = Path("/music/Tidewater 200.lrc")
    own = OwnFile(path=path, kind=Kind.LRC, sha256="n" * 64, source="lrclib")
    record(queue, item, None, Intent(file=own))
    assert counters(queue) == {}

    queue.db.write(lambda tx: claims.release_all(tx, now=queue.now, chance=queue.chance))
    again = queue.claim()
    assert isinstance(again.resume, Found)
    with queue.db.read() as tx:
        cached = lyrics_cache.get(tx, again.resume.cache_id)
        assert written_files.owns(tx, path, "n" * 64)
    assert cached.accepted == some_lyrics()

    outcome = Served(accepted=cached.accepted)
    ending = Ending(outcome=outcome, attempts=again.resume.answers)
    queue.settle(again, ending, a_report(queue.targets(item.id)[0]))
    assert (counters(queue), attempts(queue)) == ({"lrclib": (1, 0)}, {"lrclib": (1, "hit")})
    assert (queue.item(item.id).status, queue.item(item.id).lane) == (Status.DONE, "lrclib")


@pytest.mark.seed("S-059")
def test_the_winner_has_the_hit_and_every_lane_stands_under_its_own_name(queue):
    queue.enqueue(a_wish())
    item = queue.claim()
    asked = (
        an_attempt("zeta", Answer.MISS, reason="not_found"),
        an_attempt("alpha", Answer.MISMATCH, reason="other_song", verdict=ACCEPTED),
        an_attempt("beta", Answer.HIT, matched=Matched(ids=("9",))),
        an_attempt("gamma", Answer.TRANSIENT),
        an_attempt("delta", Answer.THROTTLED),
        an_attempt("shut", Answer.SKIPPED),
        an_attempt("winner", Answer.HIT, verdict=ACCEPTED),
    )
    outcome = served("winner", attempts=asked)
    ending = Ending(outcome=outcome, attempts=asked)
    queue.settle(item, ending, a_report(queue.targets(item.id)[0]))
    assert attempts(queue) == {
        "zeta": (0, "miss"),
        "alpha": (0, "mismatch"),
        "beta": (0, "hit"),
        "gamma": (0, "transient"),
        "delta": (0, "throttled"),
        "winner": (1, "hit"),
    }
    assert counters(queue) == {"zeta": (0, 1), "alpha": (0, 1), "winner": (1, 0)}
    evidence = rows(queue, "SELECT evidence FROM lane_attempts WHERE lane = 'winner'")[0]
    assert json.loads(evidence["evidence"])["class"] == "exact"


@pytest.mark.seed("S-059", "S-125")
def test_attempts_hold_the_latest_answer_and_counters_every_one(queue):
    queue.enqueue(a_wish())
    item = queue.claim()
    queue.miss(item)
    assert (attempts(queue), counters(queue)) == ({"lrclib": (0, "miss")}, {"lrclib": (0, 1)})
    queue.advance(days=8)
    queue.serve(queue.claim())
    assert (attempts(queue), counters(queue)) == ({"lrclib": (1, "hit")}, {"lrclib": (1, 1)})
    with queue.db.read() as tx:
        from lyrsvc.store import counts

        kept = counts.read(tx)
    assert (kept["attempts.lrclib"], kept["attempt_hits.lrclib"]) == (1, 1)


def test_a_write_that_failed_credits_its_lane_and_the_retry_credits_nothing(queue):
    queue.enqueue(a_wish(stem="good"), a_wish(stem="denied"))
    item = queue.claim()
    record(queue, item)
    good, denied = queue.targets(item.id)
    bad = an_end(denied.id, TargetResult.NONE, status=TargetStatus.FAILED, reason="write_denied")
    outcome = served()
    ending = Ending(outcome=outcome, attempts=outcome.attempts, text="cannot write")
    queue.settle(item, ending, a_report(good), TargetReport(end=replace(bad, kind=None)))
    failed = queue.item(item.id)
    assert (failed.status, failed.reason, failed.route) == (
        Status.FAILED,
        "write_denied",
        Route.LOCAL,
    )
    assert counters(queue) == {"lrclib": (1, 0)}

    queue.advance(minutes=2)
    again = queue.claim(Route.LOCAL)
    assert again.resume.answers == ()
    ending = Ending(outcome=Served(accepted=some_lyrics()), attempts=again.resume.answers)
    queue.settle(again, ending, a_report(queue.targets(item.id)[1]))
    done = queue.item(item.id)
    assert (done.status, done.lane, done.resume) == (Status.DONE, "lrclib", None)
    assert counters(queue) == {"lrclib": (1, 0)}


@pytest.mark.spec("E-05")
def test_each_inventory_row_is_done_only_after_its_own_write(queue):
    linked_rows(queue, "one", "two")
    item = queue.claim()
    record(queue, item)
    one, two = queue.targets(item.id)
    bad = an_end(two.id, TargetResult.NONE, status=TargetStatus.FAILED, reason="disk_full")
    queue.settle(
        item, Ending(outcome=served()), a_report(one), TargetReport(end=replace(bad, kind=None))
    )
    assert scan_rows(queue) == {
        "one": ("done", "", 1, "lrc"),
        "two": ("failed", "disk_full", 0, ""),
    }
    queue.advance(minutes=2)
    queue.serve(queue.claim())
    assert scan_rows(queue)["two"] == ("done", "", 1, "lrc")


def test_inventory_rows_follow_their_item_through_its_life(queue):
    linked_rows(queue, "one")
    queue.miss(queue.claim())
    assert scan_rows(queue)["one"] == ("deferred", "not_found", 0, "")
    queue.advance(days=8)
    queue.fail(queue.claim())
    assert scan_rows(queue)["one"] == ("failed", "network", 0, "")
    queue.advance(hours=1)
    queue.serve(queue.claim(), Kind.TXT)
    assert scan_rows(queue)["one"] == ("done", "", 2, "txt")
    from lyrsvc.store import counts

    with queue.db.read() as tx:
        kept = counts.read(tx)
    assert (kept["wanted_missing"], kept["wanted_unsynced"]) == (0, 1)
    wish = replace(
        a_wish(mode=FetchMode.UPGRADE, has_sidecar=True), spot=a_spot("one", library_id=1)
    )
    queue.enqueue(wish)
    assert scan_rows(queue)["one"][0] == "pending"
    item = queue.claim()
    target = queue.targets(item.id)[0]
    report = replace(a_report(target), removed=(Path("/music/one.txt"),))
    queue.settle(item, Ending(outcome=served()), report)
    assert scan_rows(queue)["one"] == ("done", "", 1, "lrc")


@pytest.mark.spec("E-11")
@pytest.mark.seed("S-052", "S-058")
def test_fourteen_misses_are_deferred_a_week_each_and_the_fifteenth_gives_up(queue):
    queue.enqueue(a_wish())
    for number in range(1, 15):
        item = queue.claim()
        queue.miss(item)
        after = queue.item(item.id)
        assert (after.status, after.misses) == (Status.DEFERRED, number)
        assert after.due_at - queue.now == 168 * HOUR
        queue.advance(hours=168)
    queue.miss(queue.claim())
    last = queue.items()[0]
    assert (last.status, last.outcome, last.misses) == (Status.DONE, Result.MISS, 15)
    queue.advance(days=900)
    assert queue.claim() is None


@pytest.mark.spec("E-11")
def test_with_a_larger_cap_the_cooldown_doubles_up_to_it(queue):
    queue.policy = WaitPolicy(miss_cap=672 * HOUR)
    queue.enqueue(a_wish())
    waits = []
    for _ in range(4):
        item = queue.claim()
        queue.miss(item)
        waits.append((queue.item(item.id).due_at - queue.now) / HOUR)
        queue.advance(hours=672)
    assert waits == [168, 336, 672, 672]


@pytest.mark.spec("E-12")
def test_twelve_failures_wait_as_the_formula_says(queue):
    queue.enqueue(a_wish())
    for number in range(1, 13):
        item = queue.claim()
        queue.fail(item)
        wait = (queue.item(item.id).due_at - queue.now).total_seconds()
        expected = min(60 * 2 ** (number - 1), 86_400)
        assert expected * 0.9 - 0.001 <= wait <= expected * 1.1
        queue.advance(days=2)


def test_the_answers_of_a_released_attempt_count_when_the_item_settles(queue):
    queue.enqueue(a_wish())
    item = queue.claim()
    primary = an_attempt("defaultprov", Answer.MISS, reason="not_found")
    queue.release(
        item, until=queue.now + HOUR, attempts=(primary, an_attempt("lrclib", Answer.SKIPPED))
    )
    assert counters(queue) == {}
    queue.advance(hours=2)
    again = queue.claim()
    reused = fresh_answers(again.resume, queue.now)
    assert reused == {"defaultprov": replace(primary)}
    asked = (*reused.values(), an_attempt("lrclib", Answer.MISS))
    queue.miss(again, attempts=asked)
    assert counters(queue) == {"defaultprov": (0, 1), "lrclib": (0, 1)}
    assert queue.item(item.id).misses == 1


def test_a_cache_hit_credits_nobody(queue):
    queue.enqueue(a_wish())
    item = queue.claim()
    record(queue, item, Finding(accepted=some_lyrics(), cache_id=5))
    assert queue.item(item.id).resume == Found(
        cache_id=5, lane="lrclib", fetched_at=NOW, from_cache=True
    )
    outcome = served(from_cache=True, attempts=())
    queue.settle(item, Ending(outcome=outcome), a_report(queue.targets(item.id)[0]))
    done = queue.item(item.id)
    assert (done.lane, done.from_cache, counters(queue), attempts(queue)) == (
        "lrclib",
        True,
        {},
        {},
    )


def test_a_result_worse_than_the_cached_one_is_not_stored_and_leaves_nothing_to_resume(queue):
    queue.enqueue(a_wish())
    item = queue.claim()
    key = cache_key(item)
    queue.db.write(lambda tx: lyrics_cache.keep(tx, key, some_lyrics(), now=NOW))
    worse = Finding(accepted=some_lyrics(quality=Quality.UNSYNCED), key=key)
    record(queue, item, worse)
    assert queue.item(item.id).resume is None
    record(queue, item, replace(worse, update=True))
    assert isinstance(queue.item(item.id).resume, Found)


def test_extracted_lyrics_are_not_cached(queue):
    queue.enqueue(a_wish())
    item = queue.claim()
    record(queue, item, Finding(accepted=some_lyrics("embedded")))
    assert (queue.count("lyrics_cache"), queue.item(item.id).resume) == (0, None)


def test_what_the_detector_found_is_resumed_counted_and_shown(queue):
    queue.enqueue(a_wish())
    item = queue.claim()
    asked = (
        an_attempt(answer=Answer.MISS),
        an_attempt("detector", Answer.HIT),
    )
    detected = Detected(version="v1", scores={"music_sum": 0.97}, answers=asked)
    marker = some_lyrics("detector", Quality.INSTRUMENTAL)
    record(queue, item, Finding(accepted=marker, detected=detected))
    assert (queue.count("lyrics_cache"), queue.item(item.id).resume) == (0, detected)
    finding = DetectorFinding(verdict=True, version="v1", music_sum=0.97, detected_at=NOW)
    ending = Ending(outcome=Served(accepted=marker), attempts=asked, detector=finding)
    queue.settle(item, ending, a_report(queue.targets(item.id)[0], kind=Kind.MARKER))
    done = queue.item(item.id)
    assert (done.outcome, done.lane, done.detector) == (Result.INSTRUMENTAL, "detector", finding)
    assert counters(queue) == {"lrclib": (0, 1), "detector": (1, 0)}
    with queue.db.read() as tx:
        assert tx.value("SELECT n FROM counts WHERE name = 'instrumental'") == 1


def test_written_files_are_confirmed_and_removed_siblings_forgotten(queue):
    queue.enqueue(a_wish(stem="x"))
    item = queue.claim()
    old = OwnFile(path=Path("/music/x.txt"), kind=Kind.TXT, sha256="o" * 64)
    queue.db.write(lambda tx: written_files.confirm(tx, old, item_id=None, now=NOW))
    report = replace(a_report(queue.targets(item.id)[0]), removed=(old.path,))
    queue.settle(item, Ending(outcome=served()), report)
    with queue.db.read() as tx:
        assert written_files.recorded(tx, old.path) is None
        kept = written_files.recorded(tx, Path("/music/x.lrc"))
    assert (kept.sha256, kept.size, kept.mtime_ns) == ("0" * 64, 10, 5)


def test_the_history_tells_what_became_of_an_item(queue):
    def settle(item, ending, *reports):
        queue.settle(item, ending, *reports)
        return rows(queue, "SELECT * FROM history ORDER BY id DESC LIMIT 1")[0]

    queue.enqueue(a_wish(stem="x"))
    item = queue.claim()
    ends = (still_open(1),)
    row = settle(item, Ending(outcome=missed("rejected_match", rejected=True), targets=ends))
    assert (row["event"], row["reason"], row["result"]) == ("rejected", "rejected_match", "")
    queue.advance(days=8)
    item = queue.claim()
    row = settle(item, Ending(outcome=served()), a_report(queue.targets(item.id)[0], kind=Kind.TXT))
    assert (row["event"], row["destination"], row["lane"]) == ("written", "/music/x.txt", "lrclib")
    assert (row["result"], row["outcome"]) == ("unsynced-or-instrumental", "unsynced")
    queue.enqueue(a_wish(stem="x", mode=FetchMode.UPGRADE, has_sidecar=True))
    item = queue.claim()
    row = settle(item, Ending(outcome=served()), a_report(queue.targets(item.id)[0]))
    assert (row["event"], row["outcome"]) == ("upgraded", "synced")
    queue.enqueue(a_wish(stem="y"))
    item = queue.claim()
    present = TargetReport(end=an_end(queue.targets(item.id)[1].id, TargetResult.PRESENT))
    assert settle(item, Ending(outcome=None), present)["event"] == "already_present"


def test_a_library_removed_during_the_attempt_takes_its_target_at_settle(queue):
    linked_rows(queue, "one")
    item = queue.claim()
    queue.db.write(lambda tx: tx.run("DELETE FROM libraries"))
    from lyrsvc.store import counts

    queue.db.write(lambda tx: counts.correct(tx, now=NOW))
    queue.miss(item)
    assert (queue.items(), queue.count("work_targets")) == ([], 0)


def test_an_item_of_two_libraries_keeps_the_target_of_the_other(queue):
    for name in ("rock", "jazz"):
        library = queue.db.write(
            lambda tx, name=name: libraries.add(tx, name=name, path=Path("/" + name), now=NOW).id
        )
        queue.enqueue(replace(a_wish(), spot=a_spot("x", out_dir="/" + name, library_id=library)))
    item = queue.claim()
    queue.db.write(lambda tx: tx.run("DELETE FROM libraries WHERE name = 'rock'"))
    queue.miss(item)
    assert queue.item(item.id).status is Status.DEFERRED
    assert [target.out_dir for target in queue.targets(item.id)] == ["/jazz"]


def test_a_failing_settlement_leaves_no_trace(queue):
    queue.enqueue(a_wish())
    item = queue.claim()
    outcome = served()
    ending = Ending(outcome=outcome, attempts=outcome.attempts)
    broken_report = replace(a_report(queue.targets(item.id)[0]), ours=True)
    bad_file = replace(broken_report.files[0], sha256=None)
    with pytest.raises(Exception, match="NOT NULL"):
        queue.settle(item, ending, replace(broken_report, files=(bad_file,)))
    assert queue.item(item.id) == item
    assert [queue.count(t) for t in ("lane_attempts", "lane_counters", "written_files")] == [0] * 3
