"""Audio that is replaced while its words are looked for: each song gets its own or none."""

import os

import pytest

from lyrsvc.core.item import Status, TargetStatus
from lyrsvc.core.recording import Recording
from lyrsvc.core.wish import Spot, Wish, WishOrigin
from lyrsvc.services import attempting
from worker_shop import ARTIST, Knowing

OLD, NEW = "Tidewater", "Lantern Song"


@pytest.fixture
def lane():
    return Meddling()


@pytest.fixture
def here(shop, lane):
    here = shop(lane)
    yield here
    assert here.wrong_counts() == {}


class Meddling(Knowing):
    """A lane during whose answer something happens, once."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile = lambda: None

    @property
    def titles(self):
        return [recording.title for recording in self.asked]

    def lookup(self, recording, ctx):
        meanwhile, self.meanwhile = self.meanwhile, lambda: None
        meanwhile()
        return super().lookup(recording, ctx)


def put(here, title=NEW, name="a.flac", **tags):
    """Put another song in the place of a file, in one step."""
    fresh = here.song(f"../fresh-{name}", title, **tags)
    fresh.replace(here.music / name)


def song_of(here, name="a.lrc"):
    """Give the title that the words beside a file were found for."""
    return next(title for title in (OLD, NEW) if f"We hung the lanterns {title}" in here.text(name))


def test_a_file_that_is_replaced_while_a_lane_is_asked_gets_the_words_of_the_new_song(here, lane):
    here.song("a.flac", OLD)
    here.scan()
    lane.meanwhile = lambda: (put(here), here.scan())
    here.work()

    assert (here.sidecars(), song_of(here)) == (["a.lrc"], NEW)
    assert lane.titles == [OLD, NEW]
    assert here.item().title == NEW
    row = here.rows()["a.flac"]
    assert (row["title"], row["status"], row["ours"]) == (NEW, "done", 1)
    assert row["target_id"] == here.targets(NEW)[0].id


def test_a_file_that_is_replaced_before_anybody_is_asked_is_asked_for_by_its_new_name(here, lane):
    here.song("a.flac", OLD)
    here.scan()
    put(here)
    here.work()

    assert (here.sidecars(), song_of(here)) == (["a.lrc"], NEW)
    assert (lane.titles, here.item().title) == ([NEW], NEW)
    assert here.scan().counts.enqueued == 0
    row = here.rows()["a.flac"]
    assert (row["title"], row["status"], row["ours"]) == (NEW, "done", 1)
    assert here.work() == 0


def test_an_attempt_that_was_cut_off_after_a_scan_read_the_new_tags_is_not_gone_on_with(shop, lane):
    here = shop(lane)
    here.song("a.flac", OLD)
    here.scan()

    def crash():
        put(here)
        here.scan()
        raise KeyboardInterrupt

    lane.meanwhile = crash
    with pytest.raises(KeyboardInterrupt):
        here.work()
    other = Meddling()
    again = shop(other)
    again.work()
    assert (again.sidecars(), song_of(again), other.titles) == (["a.lrc"], NEW, [NEW])
    assert again.wrong_counts() == {}


@pytest.mark.parametrize("when", ["before", "meanwhile"])
@pytest.mark.parametrize("how", ["touched", "retagged"])
def test_a_file_that_is_still_the_same_song_gets_its_words_at_once(here, when, how, lane):
    path = here.song("a.flac", OLD)
    here.scan()

    def change():
        if how == "touched":
            os.utime(path, ns=(1, 1))
        else:
            put(here, OLD, album="Another Album", isrc="DEAB12345678")

    if when == "before":
        change()
    else:
        lane.meanwhile = change
    here.work()
    assert (here.sidecars(), song_of(here), lane.titles) == (["a.lrc"], OLD, [OLD])
    assert here.item().status is Status.DONE


def test_another_length_is_another_song(here, lane):
    here.song("a.flac", OLD, seconds=200)
    here.scan()
    put(here, OLD, seconds=300)
    here.work()
    assert here.item().duration_bucket == 60
    assert [recording.duration_ms for recording in lane.asked] == [300_000]


def test_the_copies_of_a_song_keep_their_item_when_one_of_them_is_replaced(here, lane):
    here.song("a.flac", OLD)
    here.song("b.flac", OLD)
    here.scan()
    lane.meanwhile = lambda: put(here)
    here.work()

    assert here.sidecars() == ["a.lrc", "b.lrc"]
    assert (song_of(here), song_of(here, "b.lrc")) == (NEW, OLD)
    assert lane.titles == [OLD, NEW]
    assert {item.title: item.status for item in here.all_items()} == {
        OLD: Status.DONE,
        NEW: Status.DONE,
    }
    assert here.scan().counts.enqueued == 0


def test_a_song_that_is_known_already_takes_the_replaced_file_in(here, lane):
    here.song("n/n.flac", NEW)
    here.song("a.flac", OLD)
    here.scan()
    put(here)
    here.work()
    assert (here.sidecars(), song_of(here)) == (["a.lrc", "n.lrc"], NEW)
    assert (lane.titles, len(here.targets(NEW))) == ([NEW], 2)


def test_a_replaced_file_stays_as_urgent_as_it_was(here):
    path = here.song("a.flac", OLD)
    here.scan()
    spot = Spot(
        out_dir=str(here.music), out_stem="a", source_path=str(path), library_id=here.library_id
    )
    recording = Recording(title=OLD, artist=ARTIST, duration_ms=200_000)
    here.enqueuer.enqueue([Wish(recording=recording, spot=spot, origin=WishOrigin.WEBHOOK)])
    put(here)
    here.work()
    assert here.item(NEW).priority == 10


def test_a_file_that_has_changed_and_cannot_be_read_yet_is_waited_for(here, clock, lane):
    path = here.song("a.flac", OLD)
    here.scan()
    path.write_bytes(b"half of a copy")
    here.work()
    assert (here.sidecars(), lane.titles) == ([], [])
    item = here.item(OLD)
    assert (item.status, item.attempts, item.misses) == (Status.PENDING, 0, 0)
    put(here)
    clock.advance(60)
    here.work()
    assert (here.sidecars(), song_of(here)) == (["a.lrc"], NEW)


def test_names_that_were_guessed_from_the_path_say_nothing_against_a_song(here):
    path = here.song("Some One/Album/01 - a.flac", "", artist="")
    here.scan()
    (row,) = here.rows().values()
    assert row["low_confidence"] == 1
    spot = Spot(
        out_dir=str(path.parent),
        out_stem=path.stem,
        source_path=str(path),
        library_id=here.library_id,
    )
    recording = Recording(title=OLD, artist=ARTIST, duration_ms=200_000)
    here.enqueuer.enqueue([Wish(recording=recording, spot=spot, origin=WishOrigin.WEBHOOK)])
    here.work()
    assert here.sidecars() == ["01 - a.lrc"]
    assert song_of(here, "Some One/Album/01 - a.lrc") == OLD


def test_of_two_songs_of_one_stem_the_first_name_decides_and_then_the_one_that_stays(here):
    here.song("keep.flac", "Keep")
    first = here.song("a.flac", OLD)
    here.song("a.mp3", NEW)
    here.scan()
    first.unlink()
    here.work()
    assert song_of(here) == NEW
    assert {item.title for item in here.all_items()} == {NEW, "Keep"}
    assert here.rows()["a.mp3"]["status"] == "done"


def test_a_rename_during_the_attempt_leaves_the_target_to_those_who_follow_it(here, monkeypatch):
    here.song("keep.flac", "Keep")
    here.song("a.flac", OLD)
    here.scan()
    put(here)
    settle = attempting.settle

    def moved(tx, *args, **more):
        monkeypatch.setattr(attempting, "settle", settle)
        tx.run("UPDATE work_targets SET source_path = '/elsewhere/b.flac' WHERE out_stem = 'a'")
        return settle(tx, *args, **more)

    monkeypatch.setattr(attempting, "settle", moved)
    here.worker.slots[0].step()
    stand = [target for item in here.all_items() for target in here.targets(item.title)]
    assert {t.out_stem: t.status for t in stand}["a"] is TargetStatus.PENDING
