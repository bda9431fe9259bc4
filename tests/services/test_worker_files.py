"""What a worker does on disk: whose files it touches, where, and what it leaves alone."""

import logging
import os
import stat
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from builders import minimal_flac
from fakes import Scripted
from lyrsvc.core.detection import DetectorDown
from lyrsvc.core.errors import Miss, Transient
from lyrsvc.core.item import (
    DetectorFinding,
    Result,
    Status,
    TargetOrigin,
    TargetResult,
    TargetStatus,
)
from lyrsvc.core.sidecar import FetchMode
from lyrsvc.core.wish import Wish
from lyrsvc.store import library_rows
from worker_shop import Knowing, a_song, an_answer

TITLE = "Tidewater"


def answer(kind="synced", **options):
    return an_answer(a_song(TITLE), kind, **options)


def facts(path):
    found = path.stat()
    return path.read_bytes(), found.st_mtime_ns, found.st_ino


@pytest.mark.seed("S-012")
@pytest.mark.spec("E-15")
def test_an_upgrade_replaces_our_text_by_synced_lyrics(shop):
    main = Scripted("main", answer("plain"), answer("synced"))
    here = shop(main)
    here.enqueue(TITLE)
    here.work()
    assert here.sidecars() == ["Tidewater.txt"]

    here.reopen(TITLE, FetchMode.UPGRADE)
    here.work()

    item = here.item(TITLE)
    assert here.sidecars() == ["Tidewater.lrc"]
    assert (item.status, item.outcome) == (Status.DONE, Result.SYNCED)
    assert here.wrong_counts() == {}


@pytest.mark.spec("E-15")
@pytest.mark.parametrize("second", [answer("plain"), Miss(reason="not_found")])
def test_an_upgrade_that_finds_nothing_better_changes_nothing(shop, clock, second):
    here = shop(Scripted("main", answer("plain"), second))
    here.enqueue(TITLE)
    here.work()
    before, text = here.item(TITLE), facts(here.music / "Tidewater.txt")
    clock.advance(3600)

    here.reopen(TITLE, FetchMode.UPGRADE)
    here.work()

    after = here.item(TITLE)
    assert facts(here.music / "Tidewater.txt") == text
    assert (after.status, after.outcome, after.lane) == (Status.DONE, Result.UNSYNCED, "main")
    assert (after.completed_at, after.misses) == (before.completed_at, 0)


@pytest.mark.spec("E-33")
def test_a_file_of_ours_that_a_user_edits_during_the_fetch_is_kept(shop):
    main = Knowing()
    here = shop(main)
    here.enqueue(TITLE)
    here.work()
    ours = here.music / "Tidewater.lrc"
    asking = main.lookup

    def lookup(recording, ctx):
        found = asking(recording, ctx)
        ours.write_text("my own words\n")
        return found

    main.lookup = lookup
    here.reopen(TITLE, FetchMode.UPDATE)
    here.work()
    assert ours.read_text() == "my own words\n"
    assert [t.result for t in here.targets(TITLE)] == [TargetResult.PRESENT]
    assert here.item(TITLE).status is Status.DONE

    main.lookup = asking
    here.reopen(TITLE, FetchMode.FORCE)
    here.work()
    assert "We hung the lanterns" in ours.read_text()


def test_a_sidecar_that_appears_during_the_fetch_is_kept(shop):
    main = Knowing()
    here = shop(main)
    here.enqueue(TITLE)
    asking = main.lookup

    def lookup(recording, ctx):
        (here.music / "Tidewater.lrc").write_text("[00:01.00]mine\n")
        return asking(recording, ctx)

    main.lookup = lookup
    here.work()
    assert here.text("Tidewater.lrc") == "[00:01.00]mine\n"
    assert [t.result for t in here.targets(TITLE)] == [TargetResult.PRESENT]


def test_a_sidecar_that_is_there_already_costs_no_request(shop):
    main = Knowing()
    here = shop(main)
    here.enqueue(TITLE)
    (here.music / "Tidewater.txt").write_text("mine\n")
    here.work()

    item = here.item(TITLE)
    assert main.asked == []
    assert (item.status, item.outcome, item.lane) == (Status.DONE, Result.UNSYNCED, "")
    assert [t.result for t in here.targets(TITLE)] == [TargetResult.PRESENT]


def test_an_item_whose_audio_is_gone_is_parked(shop):
    main = Knowing()
    here = shop(main)
    here.enqueue(TITLE)
    (here.music / "Tidewater.flac").rename(here.music / "Tidewater.later")
    here.work()

    item = here.item(TITLE)
    assert (item.status, item.due_at, main.asked) == (Status.PENDING, None, [])
    assert [t.status for t in here.targets(TITLE)] == [TargetStatus.PARKED]
    assert here.work() == 0
    assert here.wrong_counts() == {}


def test_audio_that_is_renamed_while_a_lane_is_asked_gets_no_words_at_its_old_name(shop):
    class Renaming(Knowing):
        def lookup(self, recording, ctx):
            (here.music / "Tidewater.flac").rename(here.music / "01 Tidewater.flac")
            return super().lookup(recording, ctx)

    main = Renaming()
    here = shop(main)
    here.enqueue(TITLE)
    here.work()

    assert here.sidecars() == []
    item = here.item(TITLE)
    assert (item.status, item.due_at) == (Status.PENDING, None)
    (here.music / "01 Tidewater.flac").rename(here.music / "Tidewater.flac")
    here.enqueue(TITLE)
    here.work()
    assert (here.sidecars(), len(main.asked)) == (["Tidewater.lrc"], 1)
    assert here.item(TITLE).status is Status.DONE
    assert here.counters() == {"main": (1, 0)}
    assert here.wrong_counts() == {}


def test_a_directory_that_is_gone_is_never_made(shop):
    here = shop(Knowing())
    folder = here.music / "album"
    here.enqueue(TITLE, folder=folder)
    (folder / "Tidewater.flac").unlink()
    folder.rmdir()
    here.work()
    assert not folder.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
@pytest.mark.spec("E-26")
def test_one_read_only_directory_fails_alone_as_a_user(shop, clock):
    _one_denied_directory(shop, clock, lambda place: place.chmod(0o500), lambda p: p.chmod(0o755))


@pytest.mark.spec("E-26")
def test_one_directory_that_cannot_be_written_fails_alone(shop, clock, monkeypatch):
    """Also where the tests run as root: the file system's refusal is put in its mouth."""
    real = os.open
    denied = set()

    def refuse(path, flags, *args, dir_fd=None):
        held = None if dir_fd is None else Path(f"/proc/self/fd/{dir_fd}").readlink()
        if flags & os.O_CREAT and str(held or Path(path).parent) in denied:
            raise PermissionError(13, "Permission denied", path)
        return real(path, flags, *args, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", refuse)
    _one_denied_directory(
        shop, clock, lambda place: denied.add(str(place)), lambda place: denied.clear()
    )


def _one_denied_directory(shop, clock, deny, allow):
    main = Knowing()
    here = shop(main)
    titles = [f"Song {number}" for number in range(100)]
    bad = here.music / "locked"
    here.enqueue(titles[0], folder=bad)
    here.enqueue(*titles[1:])
    deny(bad)
    begun = clock.now()
    here.work()

    assert here.statuses() == {Status.DONE: 99, Status.FAILED: 1}
    failed = here.item(titles[0])
    assert (failed.reason, failed.attempts) == ("write_denied", 1)
    assert clock.now() == begun
    assert here.counters() == {"main": (100, 0)}

    allow(bad)
    clock.advance(67)
    here.work()
    assert here.statuses() == {Status.DONE: 100}
    assert len(main.asked) == 100
    assert here.counters() == {"main": (100, 0)}  # nothing is credited twice
    assert here.wrong_counts() == {}


@pytest.mark.spec("E-34")
def test_a_directory_that_became_a_link_out_of_the_library_is_not_written_to(shop, tmp_path):
    main = Knowing()
    here = shop(main)
    folder, outside = here.music / "album", tmp_path / "outside"
    outside.mkdir()
    here.enqueue(TITLE, folder=folder)
    asking = main.lookup

    def lookup(recording, ctx):
        folder.rename(tmp_path / "elsewhere")
        folder.symlink_to(outside)
        minimal_flac(outside / "Tidewater.flac")
        return asking(recording, ctx)

    main.lookup = lookup
    here.work()

    item = here.item(TITLE)
    assert (item.status, item.reason) == (Status.FAILED, "path_escape")
    assert [path.name for path in outside.iterdir()] == ["Tidewater.flac"]


def test_one_target_that_cannot_be_written_does_not_stop_the_others(shop, tmp_path):
    here = shop(Knowing())
    bad = here.music / "bad"
    bad.mkdir()
    (tmp_path / "outside").mkdir()
    wishes = [
        here.wish(TITLE, stem="one", folder=bad),
        here.wish(TITLE, stem="two"),
        here.wish(TITLE, stem="three"),
    ]
    here.enqueuer.enqueue(wishes)
    bad.rename(here.music / "moved")
    bad.symlink_to(tmp_path / "outside")
    minimal_flac(tmp_path / "outside" / "one.flac")
    here.work()

    assert here.sidecars() == ["three.lrc", "two.lrc"]
    by_stem = {t.out_stem: t.status for t in here.targets(TITLE)}
    assert by_stem == {
        "one": TargetStatus.FAILED,
        "two": TargetStatus.DONE,
        "three": TargetStatus.DONE,
    }
    assert here.item(TITLE).status is Status.FAILED


def test_every_write_is_announced_before_it_happens(shop):
    told = []
    here = shop(Knowing(), announce=lambda path: told.append((path.name, path.exists())))
    here.enqueue(TITLE)
    here.work()
    assert ("Tidewater.lrc", False) in told


def test_the_same_answer_again_leaves_the_file_as_it_is(shop, clock):
    here = shop(Knowing())
    here.enqueue(TITLE)
    here.work()
    before = facts(here.music / "Tidewater.lrc")
    clock.advance(86_400)
    here.reopen(TITLE, FetchMode.UPDATE)
    here.work()
    assert facts(here.music / "Tidewater.lrc") == before
    assert stat.S_IMODE((here.music / "Tidewater.lrc").stat().st_mode) & 0o600 == 0o600


@pytest.mark.spec("P-41")
def test_the_cache_serves_a_file_at_most_three_seconds_off(shop):
    main = Knowing()
    here = shop(main)
    here.enqueuer.enqueue([here.wish(TITLE, 214.0, stem="first")])
    here.work()
    for seconds, requests in ((216.9, 1), (217.1, 2), (211.0, 2), (None, 3)):
        here.enqueuer.enqueue([here.wish(TITLE, seconds, stem=f"at {seconds}")])
        here.work()
        assert len(main.asked) == requests, seconds
        assert f"at {seconds}.lrc" in here.sidecars()


@pytest.mark.spec("P-42")
@pytest.mark.parametrize(("kind", "requests"), [("synced", 2), ("plain", 1)])
def test_of_unknown_length_the_cache_serves_only_plain_words_to_a_known_one(shop, kind, requests):
    main = Knowing(kind=kind)
    here = shop(main)
    here.enqueuer.enqueue([here.wish(TITLE, None, stem="unknown")])
    here.work()
    here.enqueuer.enqueue([here.wish(TITLE, 200.0, stem="known")])
    here.work()
    assert len(main.asked) == requests
    assert here.statuses() == {Status.DONE: 2}


@pytest.mark.spec("P-43", "E-06")
def test_a_second_copy_of_a_finished_recording_comes_from_the_cache(shop, clock):
    main = Knowing()
    here = shop(main)
    here.enqueue(TITLE)
    here.work()
    fetched_at = here.item(TITLE).fetched_at
    clock.advance(3600)
    here.enqueue(TITLE, stem="copy")
    here.work()

    item = here.item(TITLE)
    assert here.sidecars() == ["Tidewater.lrc", "copy.lrc"]
    assert len(main.asked) == 1
    assert here.counters() == {"main": (1, 0)}
    assert (item.lane, item.from_cache, item.fetched_at) == ("main", True, fetched_at)


def test_an_update_passes_over_the_cache(shop):
    main = Knowing()
    here = shop(main)
    here.enqueue(TITLE)
    here.work()
    here.reopen(TITLE, FetchMode.UPDATE)
    here.work()
    assert len(main.asked) == 2


def test_the_log_tells_why_an_update_changed_nothing(shop, caplog):
    here = shop(Scripted("main", an_answer(a_song(TITLE)), Miss(reason="no_lyrics")))
    here.enqueue(TITLE)
    with caplog.at_level(logging.INFO, logger="lyrsvc.worker"):
        here.work()
        here.reopen(TITLE, FetchMode.UPDATE)
        here.work()
    told = [one for one in caplog.records if one.getMessage() == "item settled"]
    assert [(one.status, one.outcome, one.reason) for one in told] == [
        ("done", "synced", ""),
        ("done", "synced", "no_lyrics"),
    ]
    assert here.sidecars() == ["Tidewater.lrc"]


def test_a_new_copy_and_an_update_of_the_old_one_each_get_theirs(shop):
    """One is served from the cache, the other needs a fresh answer."""
    main = Knowing()
    here = shop(main)
    here.enqueue(TITLE)
    here.work()
    here.enqueuer.enqueue(
        [
            here.wish(TITLE, mode=FetchMode.UPDATE, has_sidecar=True),
            here.wish(TITLE, stem="copy"),
        ]
    )
    here.work()
    assert here.sidecars() == ["Tidewater.lrc", "copy.lrc"]
    assert len(main.asked) == 2
    assert here.item(TITLE).status is Status.DONE


def test_lyrics_in_the_tags_are_written_out_when_that_is_wanted(shop):
    main = Knowing()
    here = shop(main, embedded="extract")
    minimal_flac(here.music / "Tidewater.flac", lyrics="Words from inside\nand some more of them")
    here.enqueue(TITLE)
    here.work()

    item = here.item(TITLE)
    assert here.text("Tidewater.txt").startswith("Words from inside")
    assert (main.asked, item.lane, item.status) == ([], "embedded", Status.DONE)
    assert here.counters() == {}


def test_lyrics_in_the_tags_keep_a_track_from_being_asked_for_when_they_are_respected(shop):
    main = Knowing()
    here = shop(main, embedded="respect")
    minimal_flac(here.music / "Tidewater.flac", lyrics="Words from inside\nand some more of them")
    here.enqueue(TITLE)
    here.work()
    assert (main.asked, here.sidecars()) == ([], [])
    assert here.item(TITLE).status is Status.DONE


def test_of_two_files_one_may_have_its_own_words_and_the_other_be_asked_for(shop):
    main = Knowing()
    here = shop(main, embedded="extract")
    minimal_flac(here.music / "inside.flac", lyrics="Words from inside\nand some more of them")
    here.enqueuer.enqueue([here.wish(TITLE, stem="inside"), here.wish(TITLE, stem="bare")])
    here.work()
    assert here.sidecars() == ["bare.lrc", "inside.txt"]
    assert len(main.asked) == 1
    assert here.item(TITLE).status is Status.DONE


@pytest.mark.seed("S-060")
def test_detection_without_a_classifier_is_told_once_a_minute_and_left_out(shop, clock, caplog):
    here = shop(Scripted("main", Miss()))
    titles = ("One", "Two", "Three")
    here.enqueue(*titles[:2], detect=True)
    with caplog.at_level(logging.ERROR, "lyrsvc.worker"):
        here.work()
        assert len(caplog.messages) == 1
        clock.advance(61)
        here.enqueue(titles[2], detect=True)
        here.work()
    assert len(caplog.messages) == 2
    assert "classifier_url" in caplog.messages[0]
    assert here.statuses() == {Status.DEFERRED: 3}


class Ears:
    """A detector by script."""

    def __init__(self, *verdicts):
        self.verdicts = list(verdicts)
        self.heard = []

    def listen(self, audio, known, *, duration_ms=0):
        self.heard.append(audio.name)
        verdict = self.verdicts.pop(0) if len(self.verdicts) > 1 else self.verdicts[0]
        if isinstance(verdict, Exception):
            raise verdict
        return DetectorFinding(verdict=verdict, version="v1", music_sum=0.95, vocal_peak=0.001)


@pytest.mark.seed("S-057", "S-016")
def test_the_detector_hears_what_was_stamped_so_or_else_is_usual(shop):
    ears = Ears(False)
    here = shop(Scripted("main", Miss()), detector=ears, detect_default=True)
    here.enqueue("Explicitly not", detect=False)
    here.enqueue("As usual", "Older item")
    here.db.write(
        lambda tx: tx.run(
            "UPDATE work_items SET detect_instrumental = NULL, detect_origin = '' "
            "WHERE title = 'Older item'"
        )
    )
    here.work()
    assert sorted(ears.heard) == ["As usual.flac", "Older item.flac"]
    assert here.item("Explicitly not").detect_origin == "explicit"
    assert here.item("As usual").detect_origin == "global"
    assert here.statuses() == {Status.DEFERRED: 3}


@pytest.mark.seed("S-016")
def test_what_the_detector_finds_instrumental_gets_a_marker(shop):
    here = shop(Scripted("main", Miss()), detector=Ears(True), detect_default=True)
    here.enqueue(TITLE)
    here.work()

    item = here.item(TITLE)
    assert here.text("Tidewater.txt") == "♪ Instrumental ♪\n"
    assert (item.outcome, item.lane) == (Result.INSTRUMENTAL, "detector")
    assert (item.detector.verdict, item.detector.music_sum) == (True, 0.95)
    assert here.counters() == {"main": (0, 1), "detector": (1, 0)}
    assert here.attempts(TITLE) == {"main": (0, "miss"), "detector": (1, "hit")}
    with here.db.read() as tx:
        assert tx.value("SELECT count(*) FROM lyrics_cache") == 0


@pytest.mark.spec("P-36")
def test_when_every_lane_claims_instrumental_the_marker_is_of_the_first(shop):
    ears = Ears(True)
    one, two = Knowing("one", kind="instrumental"), Knowing("two", kind="instrumental")
    here = shop(one, two, detector=ears, detect_default=True)
    here.enqueue(TITLE)
    here.work()
    assert here.text("Tidewater.txt") == "♪ Instrumental ♪\n"
    assert (here.item(TITLE).lane, ears.heard) == ("one", [])


@pytest.mark.spec("P-36")
def test_the_detector_is_not_asked_when_a_provider_claimed(shop):
    ears = Ears(True)
    here = shop(Knowing(kind="instrumental"), detector=ears, detect_default=True)
    here.enqueue(TITLE)
    here.work()
    assert ears.heard == []
    assert here.item(TITLE).lane == "main"


def test_a_marker_whose_write_failed_is_written_later_without_listening_again(shop, clock):
    ears = Ears(True)
    main = Scripted("main", Miss())
    here = shop(main, detector=ears, detect_default=True)
    folder = here.music / "album"
    here.enqueue(TITLE, folder=folder)
    listen = ears.listen

    def swap(audio, known, *, duration_ms=0):
        folder.rename(here.music / "moved")
        folder.symlink_to(here.place)
        minimal_flac(here.place / "Tidewater.flac")
        return listen(audio, known)

    ears.listen = swap
    here.work()
    assert here.item(TITLE).reason == "path_escape"

    folder.unlink()
    (here.music / "moved").rename(folder)
    clock.advance(67)
    here.work()
    assert here.item(TITLE).status is Status.DONE
    assert here.item(TITLE).detector.verdict is True
    assert (len(ears.heard), len(main.asked)) == (1, 1)
    assert here.counters() == {"main": (0, 1), "detector": (1, 0)}


def test_a_detector_that_is_down_charges_nothing_for_a_day(shop, clock):
    main = Scripted("main", Miss())
    ears = Ears(DetectorDown("refused", until=clock.now() + timedelta(hours=1)))
    here = shop(main, detector=ears, detect_default=True)
    here.enqueue(TITLE)
    here.work()
    item = here.item(TITLE)
    assert (item.status, item.misses) == (Status.PENDING, 0)
    assert item.due_at >= clock.now() + timedelta(hours=1)

    for _ in range(40):
        clock.advance(3600)
        here.work()
    item = here.item(TITLE)
    assert (item.status, item.misses) == (Status.DEFERRED, 1)
    assert len(main.asked) == 2  # once more after the answers were a day old


def test_a_wish_without_a_file_is_not_listened_to(shop):
    ears = Ears(True)
    here = shop(Scripted("main", Miss()), detector=ears, detect_default=True)
    here.enqueuer.enqueue([Wish(recording=a_song(TITLE))])
    here.work()
    assert ears.heard == []
    assert here.item(TITLE).status is Status.DEFERRED


def test_a_target_whose_library_was_removed_meanwhile_is_not_written(shop):
    main = Knowing()
    here = shop(main)
    here.enqueue(TITLE)
    here.db.write(lambda tx: tx.run("DELETE FROM libraries"))
    here.work()
    assert (here.sidecars(), main.asked, here.all_items()) == ([], [], [])
    assert here.wrong_counts() == {}


@pytest.mark.parametrize("origin", [TargetOrigin.INVENTORY, TargetOrigin.PATH])
@pytest.mark.parametrize("finds", [True, False])
def test_what_is_asked_for_while_its_library_is_removed_is_not_written(shop, origin, finds):
    class Watched(Knowing):
        def lookup(self, recording, ctx):
            found = super().lookup(recording, ctx)
            here.db.write(lambda tx: library_rows.delete_library(tx, here.library_id))
            if not finds:
                raise Transient("connection refused", reason="network")
            return found

    main = Watched()
    here = shop(main)
    wish = here.wish(TITLE)
    here.enqueuer.enqueue([replace(wish, spot=replace(wish.spot, origin=origin))])
    here.work()
    assert (here.sidecars(), len(main.asked), here.all_items()) == ([], 1, [])
    assert here.wrong_counts() == {}


def test_names_that_are_no_text_are_written_beside_their_audio(shop):
    here = shop(Knowing())
    stem = os.fsdecode(b"caf\xe9 \n tab\t")
    here.enqueue(TITLE, stem=stem)
    here.work()
    assert f"{stem}.lrc" in [path.name for path in here.music.iterdir()]
    assert here.item(TITLE).status is Status.DONE


def test_the_longest_name_a_file_can_have_is_written(shop):
    here = shop(Knowing())
    stem = "x" * 250
    here.enqueue(TITLE, stem=stem)
    here.work()
    assert here.item(TITLE).status is Status.DONE
    assert f"{stem}.lrc" in here.sidecars()
