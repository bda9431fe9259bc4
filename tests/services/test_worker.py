"""The worker: one item in order, and what each answer makes of it."""

from dataclasses import replace
from datetime import timedelta

import pytest

from fakes import Scripted
from lyrsvc.core.errors import IdentityRefused, Malformed, Miss, Quota, Throttled, Transient
from lyrsvc.core.item import RESULT_CLASSES, Result, Status
from lyrsvc.core.lyrics import Candidate, Cue
from worker_shop import Knowing, a_song, an_answer

TITLE = "Tidewater"


def answer(kind="synced", **options) -> Candidate:
    return an_answer(a_song(TITLE), kind, **options)


def test_an_item_is_fetched_written_beside_its_audio_and_settled(shop):
    here = shop(Knowing())
    here.enqueue(TITLE)

    assert here.work() > 0

    item = here.item(TITLE)
    assert (item.status, item.outcome, item.lane) == (Status.DONE, Result.SYNCED, "main")
    assert "We hung the lanterns" in here.text("Tidewater.lrc")
    assert here.attempts(TITLE) == {"main": (1, "hit")}
    assert here.counters() == {"main": (1, 0)}
    assert here.wrong_counts() == {}
    assert here.work() == 0


@pytest.mark.seed("S-058")
@pytest.mark.parametrize(
    ("kind", "file", "shown"),
    [
        ("synced", "Tidewater.lrc", "synced"),
        ("plain", "Tidewater.txt", "unsynced-or-instrumental"),
        ("instrumental", "Tidewater.txt", "unsynced-or-instrumental"),
    ],
)
def test_what_was_written_gives_the_result_class(shop, kind, file, shown):
    here = shop(Knowing(kind=kind))
    here.enqueue(TITLE)
    here.work()

    assert here.sidecars() == [file]
    assert RESULT_CLASSES[here.item(TITLE).outcome] == shown


@pytest.mark.seed("S-058")
def test_after_the_last_miss_the_result_class_is_miss(shop, clock):
    here = shop(Scripted("main", Miss(reason="not_found")), policy={"max_misses": 2})
    here.enqueue(TITLE)
    here.work()
    assert here.item(TITLE).status is Status.DEFERRED

    clock.advance(7 * 86_400)
    here.work()

    item = here.item(TITLE)
    assert (item.status, item.outcome, item.misses) == (Status.DONE, Result.MISS, 2)
    assert RESULT_CLASSES[item.outcome] == "miss"


def test_a_miss_is_deferred_and_checked_again_after_the_cooldown(shop, clock):
    main = Scripted("main", Miss(reason="not_found"), answer())
    here = shop(main)
    here.enqueue(TITLE)
    here.work()
    item = here.item(TITLE)
    assert (item.status, item.reason, item.misses) == (Status.DEFERRED, "not_found", 1)
    assert item.due_at == clock.now() + timedelta(hours=168)

    clock.advance(167 * 3600)
    assert here.work() == 0
    clock.advance(3600)
    here.work()

    assert here.item(TITLE).status is Status.DONE
    assert here.counters() == {"main": (1, 1)}


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Transient("connection refused", reason="network"), "network"),
        (Transient("timeout", reason="timeout"), "timeout"),
        (Transient("HTTP 500", reason="upstream_error"), "upstream_error"),
        (Malformed("HTTP 200, 12 bytes, not JSON"), "bad_response"),
    ],
)
def test_a_fault_of_a_lane_fails_the_item_for_a_while(shop, clock, error, reason):
    here = shop(Scripted("main", error, answer()))
    here.enqueue(TITLE)
    here.work()
    item = here.item(TITLE)
    assert (item.status, item.reason, item.attempts) == (Status.FAILED, reason, 1)
    assert item.reason_text == str(error)
    assert here.counters() == {}
    assert here.attempts(TITLE) == {"main": (0, error.code)}

    clock.advance(67)
    here.work()
    assert here.item(TITLE).status is Status.DONE


@pytest.mark.spec("P-35")
@pytest.mark.seed("S-052")
def test_a_miss_of_the_primary_and_a_fault_of_the_fallback_is_a_failure(shop):
    here = shop(Scripted("one", Miss()), Scripted("two", Transient("HTTP 500")))
    here.enqueue(TITLE)
    here.work()

    item = here.item(TITLE)
    assert (item.status, item.reason, item.misses) == (Status.FAILED, "upstream_error", 0)


@pytest.mark.spec("P-34")
@pytest.mark.seed("S-052")
def test_a_refusing_primary_charges_nobody_a_miss(shop, clock):
    refusal = IdentityRefused("not served", reason="upgrade")
    here = shop(Scripted("one", refusal), Scripted("two", Miss(), Miss(), answer()))
    here.enqueue(TITLE)
    here.work()

    item = here.item(TITLE)
    assert (item.status, item.misses, item.attempts) == (Status.PENDING, 0, 0)
    assert item.due_at >= here.state("one").closed_until_at
    assert here.counters() == {}
    here.enqueue("Second Wind")
    here.work()
    assert here.item("Second Wind").status is Status.PENDING

    here.enqueue("Third Rail")
    here.work()
    assert here.item("Third Rail").status is Status.PENDING  # its words are of another song


@pytest.mark.spec("P-34")
def test_a_refusing_primary_does_not_keep_the_fallback_from_serving(shop):
    here = shop(Scripted("one", IdentityRefused("not served")), Knowing("two"))
    here.enqueue(TITLE)
    here.work()

    item = here.item(TITLE)
    assert (item.status, item.lane) == (Status.DONE, "two")
    assert here.attempts(TITLE) == {"one": (0, "identity_refused"), "two": (1, "hit")}
    assert here.counters() == {"two": (1, 0)}


@pytest.mark.spec("P-36")
@pytest.mark.seed("S-016")
def test_words_of_a_fallback_beat_an_instrumental_claim_of_the_primary(shop):
    here = shop(Knowing("one", kind="instrumental"), Knowing("two", kind="plain"))
    here.enqueue(TITLE)
    here.work()
    assert "We hung the lanterns" in here.text("Tidewater.txt")
    assert here.item(TITLE).lane == "two"


@pytest.mark.spec("P-37", "E-27")
@pytest.mark.seed("S-059")
def test_a_lane_is_credited_under_its_own_name_whichever_is_primary(shop):
    here = shop(Knowing("lrclib"), Scripted("defaultprov", Miss()))
    here.enqueue(TITLE)
    here.work()

    assert here.item(TITLE).lane == "lrclib"
    assert here.attempts(TITLE) == {"lrclib": (1, "hit")}
    assert here.counters() == {"lrclib": (1, 0)}


@pytest.mark.spec("P-37")
@pytest.mark.seed("S-059")
def test_a_lane_that_had_words_and_lost_is_an_attempt_and_no_miss(shop):
    here = shop(Knowing("lrclib", kind="plain"), Knowing("defaultprov"))
    here.enqueue(TITLE)
    here.work()

    assert here.attempts(TITLE) == {"lrclib": (0, "hit"), "defaultprov": (1, "hit")}
    assert here.counters() == {"defaultprov": (1, 0)}


@pytest.mark.spec("P-38")
def test_two_lanes_with_disjoint_texts_settle_nothing(shop):
    words = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india"]
    words += ["juliett", "kilo", "lima", "mike", "november", "oscar", "papa", "quebec", "romeo"]
    words += ["sierra", "tango", "uniform", "victor"]
    one = Candidate(matched=answer().matched, plain="\n".join(f"{w}s {w}s" for w in words))
    two = Candidate(matched=answer().matched, plain="\n".join(f"un{w} un{w}" for w in words))
    here = shop(Scripted("one", one), Scripted("two", two))
    here.enqueue(TITLE)
    here.work()

    item = here.item(TITLE)
    assert here.sidecars() == []
    assert (item.status, item.reason, item.reason_detail) == (
        Status.DEFERRED,
        "rejected_content",
        "text_conflict",
    )


@pytest.mark.spec("E-13")
def test_a_closed_fallback_leaves_the_item_waiting_and_is_then_asked_alone(shop, clock):
    one = Scripted("one", Miss())
    two = Scripted("two", Throttled("HTTP 429", retry_after_s=600), answer())
    here = shop(one, two)
    here.enqueue("Another", TITLE)
    here.work()
    reopening = here.state("two").closed_until_at
    for title in ("Another", TITLE):
        item = here.item(title)
        assert (item.status, item.misses, item.attempts) == (Status.PENDING, 0, 0)
        assert item.due_at >= reopening
    asked = len(one.asked), len(two.asked)
    assert asked == (2, 1)

    clock.advance(660)
    here.work()

    assert len(one.asked) == 2
    assert here.item(TITLE).status is Status.DONE
    assert here.attempts(TITLE) == {"one": (0, "miss"), "two": (1, "hit")}


def test_a_spent_allowance_rests_six_hours(shop, clock):
    main = Scripted("main", Quota("spent"), answer())
    here = shop(main)
    here.enqueue(TITLE)
    here.work()
    assert here.state("main").closed_until_at == clock.now() + timedelta(hours=6)
    assert here.worker.pause.cause == "lanes_closed"

    clock.advance(6.7 * 3600)
    here.work()
    assert here.item(TITLE).status is Status.DONE


@pytest.mark.spec("E-05")
def test_two_files_of_one_recording_cost_one_request(shop):
    main = Knowing()
    here = shop(main)
    here.enqueuer.enqueue([here.wish(TITLE, stem="a"), here.wish(TITLE, stem="b")])
    here.work()

    assert len(main.asked) == 1
    assert here.sidecars() == ["a.lrc", "b.lrc"]
    assert here.counters() == {"main": (1, 0)}


def test_a_file_that_came_while_its_recording_was_fetched_is_served_too(shop):
    main = Knowing()
    here = shop(main)
    here.enqueue(TITLE, stem="a")
    asking = main.lookup

    def lookup(recording, ctx):
        here.enqueuer.enqueue([here.wish(TITLE, stem="b")])
        return asking(recording, ctx)

    main.lookup = lookup
    here.work()

    assert here.sidecars() == ["a.lrc", "b.lrc"]
    assert len(main.asked) == 1
    assert here.item(TITLE).status is Status.DONE
    assert here.counters() == {"main": (1, 0)}


def test_a_claim_that_was_lost_meanwhile_ends_without_a_trace(shop, clock):
    main = Knowing()
    here = shop(main)
    here.enqueue(TITLE)
    asking = main.lookup

    def lookup(recording, ctx):
        clock.advance(121)
        main.lookup = asking
        here.keeper._sweep()
        return asking(recording, ctx)

    main.lookup = lookup
    assert here.worker.slots[0].step()
    item = here.item(TITLE)
    assert (item.status, item.claim_seq) == (Status.PENDING, 1)
    assert here.sidecars() == []
    assert here.counters() == {}

    here.work()
    assert here.item(TITLE).status is Status.DONE
    assert here.counters() == {"main": (1, 0)}


def test_a_lease_that_could_not_be_renewed_is_made_sure_of_before_a_file_is_written(shop, clock):
    """Nobody renews while the lookup takes 100 s; the claim still holds, so the file is written."""
    main = Knowing()
    here = shop(main)
    here.enqueue(TITLE)
    asking = main.lookup

    def lookup(recording, ctx):
        clock.advance(100)
        return asking(recording, ctx)

    main.lookup = lookup
    assert here.worker.slots[0].step()
    assert not here.keeper.is_fresh
    assert here.sidecars() == ["Tidewater.lrc"]


def test_an_error_of_our_own_fails_the_item_and_nothing_else(shop, clock):
    here = shop(Knowing())
    here.enqueue(TITLE)
    slot = here.worker.slots[0]
    healthy = here.items._desk

    class Broken:
        def __getattr__(self, name):
            raise ZeroDivisionError

    here.items._desk = Broken()
    with pytest.raises(ZeroDivisionError):
        slot.step()
    here.items._desk = healthy
    here.enqueue("Second Wind")
    here.work()

    item = here.item(TITLE)
    assert (item.status, item.reason) == (Status.FAILED, "internal")
    assert "ZeroDivisionError" in item.reason_text
    assert here.item("Second Wind").status is Status.DONE
    clock.advance(67)
    here.work()
    assert here.item(TITLE).status is Status.DONE


def test_a_webhook_without_a_file_is_written_to_the_output_directory(shop):
    from lyrsvc.core.wish import Wish, WishOrigin

    here = shop(Knowing())
    here.enqueuer.enqueue([Wish(recording=a_song(TITLE), origin=WishOrigin.WEBHOOK)])
    here.work()

    out = here.place / "out"
    assert [path.name for path in out.iterdir()] == ["The Quiet Ferrymen - Tidewater.lrc"]
    assert here.item(TITLE).status is Status.DONE


def test_synced_words_that_run_past_the_end_of_one_file_are_plain_there(shop):
    """The timing guard goes by each target's own length."""
    late = Candidate(
        matched=replace(answer().matched, duration_ms=203_000),
        cues=(Cue(10_000, "first line here"), Cue(100_000, "second"), Cue(203_000, "the last one")),
    )
    here = shop(Scripted("main", late))
    here.enqueuer.enqueue(
        [here.wish(TITLE, 204.0, stem="long"), here.wish(TITLE, 200.5, stem="short")]
    )
    here.work()
    assert here.sidecars() == ["long.lrc", "short.txt"]
