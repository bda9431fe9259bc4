"""Songs in, sidecars out: waiting, retrying, and asking once."""

from datetime import timedelta
from pathlib import Path

import pytest

from builders import minimal_flac
from candidates import claim, plain, song, synced
from fakes import FakeClock, Scripted
from lyrsvc.core.errors import (
    IdentityRefused,
    Malformed,
    Miss,
    Quota,
    Throttled,
    Transient,
)
from lyrsvc.core.fetch_result import FetchState
from lyrsvc.core.sidecar import FetchMode
from lyrsvc.files.sidecar_writing import Place
from lyrsvc.services.fetch_job import Job

MISS = Miss(reason="not_found")
RADIO = "Kitchen Radio"


def run(fetcher, *jobs):
    return [(job.label, result.state, result.reason) for job, result in fetcher.run(jobs)]


@pytest.mark.parametrize(
    ("answer", "state", "suffix"),
    [
        (synced(), FetchState.SYNCED, ".lrc"),
        (plain(), FetchState.UNSYNCED, ".txt"),
        (claim(), FetchState.INSTRUMENTAL, ".txt"),
    ],
)
def test_a_result_is_written_beside_its_stem(
    make_fetcher, make_job, tmp_path: Path, answer, state, suffix
):
    results = list(make_fetcher(Scripted("a", answer)).run([make_job(song(), "x")]))
    ((_, result),) = results
    assert (result.state, result.lane, result.file) == (state, "a", str(tmp_path / f"x{suffix}"))
    assert [path.name for path in tmp_path.iterdir()] == [f"x{suffix}"]


def test_a_song_that_waits_keeps_its_name(make_fetcher, make_job, tmp_path: Path):
    provider = Scripted("a", Transient(), synced(RADIO), synced())
    run(make_fetcher(provider), make_job(song(), "x"), make_job(song(RADIO), "x"))
    assert f"[ti:{song().title}]" in (tmp_path / "x.lrc").read_text("utf-8")
    assert f"[ti:{RADIO}]" in (tmp_path / "x (2).lrc").read_text("utf-8")


# --- waiting ---------------------------------------------------------------------------------


def test_a_throttled_song_waits_three_times_and_then_fails(
    make_fetcher, make_job, clock: FakeClock
):
    provider = Scripted("a", Throttled())
    assert run(make_fetcher(provider), make_job(song(), "x")) == [
        ("x", FetchState.FAILED, "throttled")
    ]
    assert clock.waits == [60, 120, 240]
    assert len(provider.asked) == 4


def test_songs_wait_together_and_not_one_after_another(make_fetcher, make_job, clock: FakeClock):
    provider = Scripted("a", Throttled(), Throttled(), synced())
    jobs = [make_job(song(), "x"), make_job(song("Paper Lantern Weather"), "y")]
    found = run(make_fetcher(provider), *jobs)
    assert sorted(found) == [("x", FetchState.SYNCED, ""), ("y", FetchState.SYNCED, "")]
    assert sum(clock.waits) == 180


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (IdentityRefused(reason="token_finished"), "token_finished"),
        (IdentityRefused(), "identity_refused"),
        (Quota(), "quota"),
    ],
)
def test_nobody_waits_for_a_lane_that_will_not_open_in_this_run(
    make_fetcher, make_job, clock: FakeClock, error, reason
):
    provider = Scripted("a", error)
    jobs = [make_job(song(), "x"), make_job(song(RADIO), "y")]
    found = run(make_fetcher(provider), *jobs)
    assert found[0] == ("x", FetchState.FAILED, reason)
    assert found[1][1] is FetchState.FAILED
    assert (clock.waits, len(provider.asked)) == ([], 1)


def test_a_short_allowance_is_waited_for(make_fetcher, make_job, clock: FakeClock):
    provider = Scripted("a", Quota(retry_after_s=90), synced())
    assert run(make_fetcher(provider), make_job(song(), "x"))[0][1] is FetchState.SYNCED
    assert clock.waits == [90]


def test_only_the_lane_that_rested_is_asked_again(make_fetcher, make_job):
    first, second = Scripted("a", Throttled(), synced()), Scripted("b", MISS)
    assert run(make_fetcher(first, second), make_job(song(), "x"))[0][1] is FetchState.SYNCED
    assert (len(first.asked), len(second.asked)) == (2, 1)


def test_a_stumble_is_retried_after_5_and_30_seconds_and_then_fails(
    make_fetcher, make_job, clock: FakeClock
):
    provider = Scripted("a", Transient(reason="timeout"))
    assert run(make_fetcher(provider), make_job(song(), "x")) == [
        ("x", FetchState.FAILED, "timeout")
    ]
    assert clock.waits == [5, 30]
    assert len(provider.asked) == 3


def test_other_songs_go_on_while_one_is_retried(make_fetcher, make_job, clock: FakeClock):
    provider = Scripted("a", Transient(), synced(RADIO), synced())
    found = run(make_fetcher(provider), make_job(song(), "x"), make_job(song(RADIO), "y"))
    assert [label for label, _, _ in found] == ["y", "x"]
    assert clock.waits == [5]


def test_an_answer_that_was_not_understood_is_not_asked_for_again(
    make_fetcher, make_job, clock: FakeClock
):
    provider = Scripted("a", Malformed())
    assert run(make_fetcher(provider), make_job(song(), "x")) == [
        ("x", FetchState.FAILED, "bad_response")
    ]
    assert (clock.waits, len(provider.asked)) == ([], 1)


def test_a_stumble_beside_a_malformed_answer_is_retried_alone(make_fetcher, make_job):
    first, second = Scripted("a", Malformed()), Scripted("b", Transient(), synced())
    assert run(make_fetcher(first, second), make_job(song(), "x"))[0][1] is FetchState.SYNCED
    assert (len(first.asked), len(second.asked)) == (1, 2)


def test_a_lane_that_closes_after_many_faults_ends_the_run_in_time(
    make_fetcher, make_job, clock: FakeClock
):
    started = clock.now()
    jobs = [make_job(song(f"Song {number}"), f"{number}") for number in range(40)]
    found = run(make_fetcher(Scripted("a", Transient(reason="network"))), *jobs)
    assert len(found) == 40
    assert {state for _, state, _ in found} == {FetchState.FAILED}
    assert clock.now() - started < timedelta(minutes=15)


def test_stopping_while_waiting_is_an_interrupt(make_fetcher, make_job, clock: FakeClock):
    clock.stopped = True
    with pytest.raises(KeyboardInterrupt):
        run(make_fetcher(Scripted("a", Throttled())), make_job(song(), "x"))


@pytest.mark.spec("P-21")
def test_a_throttled_translation_costs_only_the_translation(
    make_fetcher, make_job, clock: FakeClock
):
    provider = Scripted("a", synced(), faults=[Throttled()])
    found = run(make_fetcher(provider), make_job(song(), "x"))
    assert found == [("x", FetchState.SYNCED, "")]
    assert clock.waits == []


# --- asking once -----------------------------------------------------------------------------


def test_equal_recordings_are_asked_for_once_and_all_are_written(
    make_fetcher, make_job, tmp_path: Path
):
    provider = Scripted("a", synced(duration_ms=214_000))
    lengths = (214_000, 214_900, 215_200, 212_100)
    jobs = [make_job(song(duration_ms=ms), f"{ms}") for ms in lengths]
    found = run(make_fetcher(provider), *jobs)
    assert {state for _, state, _ in found} == {FetchState.SYNCED}
    assert len(provider.asked) == 1
    assert len(list(tmp_path.glob("*.lrc"))) == 4


def test_another_length_is_another_recording(make_fetcher, make_job):
    provider = Scripted("a", synced())
    jobs = [make_job(song(duration_ms=ms), f"{ms}") for ms in (214_000, 218_000, None)]
    run(make_fetcher(provider), *jobs)
    assert len(provider.asked) == 3


def test_a_miss_is_not_asked_for_again(make_fetcher, make_job):
    provider = Scripted("a", MISS)
    jobs = [make_job(song(album=album), album) for album in ("One", "Two")]
    found = run(make_fetcher(provider), *jobs)
    assert {state for _, state, _ in found} == {FetchState.MISS}
    assert len(provider.asked) == 1


def test_what_was_rejected_for_one_file_may_fit_another(make_fetcher, make_job):
    provider = Scripted("a", synced(duration_ms=214_000, album="Right"))
    guessed = song(duration_ms=214_000, low_confidence=True, artist="The Quiet Ferryman")
    tagged = song(duration_ms=214_000)
    found = run(make_fetcher(provider), make_job(guessed, "x"), make_job(tagged, "y"))
    assert [state for _, state, _ in found] == [FetchState.MISS, FetchState.SYNCED]


# --- what stands there -----------------------------------------------------------------------


def test_a_miss_never_touches_what_is_there(make_fetcher, make_job, tmp_path: Path):
    (tmp_path / "x.txt").write_text("by hand\n")
    fetcher = make_fetcher(Scripted("a", MISS), mode=FetchMode.UPGRADE)
    assert run(fetcher, make_job(song(), "x")) == [("x", FetchState.PRESENT, "not_found")]
    assert (tmp_path / "x.txt").read_text() == "by hand\n"


def test_a_sidecar_that_appears_meanwhile_is_kept(make_fetcher, make_job, tmp_path: Path):
    class Late(Scripted):
        def lookup(self, recording, ctx):
            (tmp_path / "x.lrc").write_text("[00:01.00]somebody was faster\n")
            return super().lookup(recording, ctx)

    found = run(make_fetcher(Late("a", synced())), make_job(song(), "x"))
    assert found[0][1] is FetchState.PRESENT
    assert "faster" in (tmp_path / "x.lrc").read_text()


def test_a_directory_that_vanishes_fails_its_songs_alone(make_fetcher, make_job, tmp_path: Path):
    gone = Job(
        label="gone", place=Place(directory=tmp_path / "gone", stem="x"), recording=song(RADIO)
    )
    provider = Scripted("a", synced(RADIO), synced())
    found = run(make_fetcher(provider), gone, make_job(song(), "y"))
    assert found == [("gone", FetchState.FAILED, "write_error"), ("y", FetchState.SYNCED, "")]


def test_an_audio_file_that_vanishes_fails_alone(make_fetcher, make_job, tmp_path: Path):
    path = minimal_flac(tmp_path / "a.flac", title="T", artist="A")
    job = Job(label="a", place=Place.beside(path), audio=path)
    path.unlink()
    found = run(make_fetcher(Scripted("a", synced())), job, make_job(song(), "y"))
    assert [state for _, state, _ in found] == [FetchState.FAILED, FetchState.SYNCED]
