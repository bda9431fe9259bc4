"""Audio files that took each other's names: words go with their song, wherever it is now."""

import json
from itertools import pairwise
from random import Random

import pytest

from lyrsvc.core.sidecar import Kind, content_hash
from lyrsvc.services.rename_cases import RenameTerms
from lyrsvc.services.renamed_sidecars import RenamedSidecars
from lyrsvc.services.renaming import Renamer
from lyrsvc.services.sidecar_moves import SidecarMover
from lyrsvc.store import absences, counts, rename_jobs, written_files
from lyrsvc.store.written_files import OwnFile
from query_plans import plans_of
from scans import Scans


@pytest.fixture
def backup(tmp_path):
    return tmp_path / "backup.jsonl"


@pytest.fixture
def scans(db, clock, tmp_path, backup):
    scans = Scans(db, clock, tmp_path / "music")
    scans.follower = RenamedSidecars(db, clock=clock, chance=Random(1), backup=backup)
    yield scans
    assert scans.wrong_counts() == {}


def recount(scans):
    scans.db.write(lambda tx: counts.correct(tx, now=scans.clock.now()))


def words_of(title):
    return f"[00:01.00]{title}, word for word\n"


def write_ours(scans, path, text):
    path.write_text(text)
    stat, sha256 = path.stat(), content_hash(path.read_bytes())
    own = OwnFile(
        path=path,
        kind=Kind.LRC if path.suffix == ".lrc" else Kind.MARKER,
        sha256=sha256,
        size=stat.st_size,
        mtime_ns=stat.st_mtime_ns,
    )
    now = scans.clock.now()
    scans.db.write(lambda tx: written_files.confirm(tx, own, item_id=1, now=now))


def album(scans, *places, bare=()):
    """Put songs into the library, in this order, each with words of ours; give their paths."""
    audio = [scans.song(place, f"Song {number}") for number, place in enumerate(places, 1)]
    scans.scan()
    for number, path in enumerate(audio, 1):
        if number not in bare:
            write_ours(scans, path.with_suffix(".lrc"), words_of(f"Song {number}"))
    scans.run(
        "UPDATE work_items SET status = 'done', outcome = 'synced', ready_key = NULL,"
        " due_at = NULL, lane = 'lrclib', completed_at = '2026-01-01T00:00:00.000000Z'"
    )
    scans.run("UPDATE work_targets SET status = 'done', result = 'written', kind = 'lrc'")
    scans.run("UPDATE scan_results SET status = 'done'")
    recount(scans)
    scans.scan()
    return audio


def exchange(one, other):
    aside = one.with_name("aside.tmp")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


def shift(audio):
    """Give each file the name of the next one, the last a new name."""
    last = audio[-1].with_name("99.flac")
    for old, new in zip(reversed(audio), [last, *reversed(audio[1:])], strict=True):
        old.rename(new)
    return [*audio[1:], last]


def right_words(scans):
    """Tell of each audio file whether the words beside it are its own; None without any."""
    told = {}
    for row in scans.table("scan_results"):
        with scans.db.read() as tx:
            place = tx.first("SELECT rel_path FROM scan_dirs WHERE id = :id", id=row["dir_id"])
        path = scans.root / place["rel_path"] / row["name"]
        sidecar = path.with_suffix(".lrc")
        text = sidecar.read_text() if sidecar.exists() else None
        told[row["name"]] = None if text is None else text == words_of(row["title"])
    return told


def is_settled(scans):
    """Tell whether rows, targets and what is remembered of our files agree with the disk."""
    places = {}
    for row in scans.rows():
        places[row["source_path"]] = row["title"]
    for target in scans.table("work_targets"):
        item = next(one for one in scans.table("work_items") if one["id"] == target["item_id"])
        assert places[target["source_path"]] == item["title"]
        assert target["source_path"].endswith(f"{target['out_stem']}.flac")
    for own in scans.table("written_files"):
        text = (scans.root / own["path"]).read_bytes()
        assert content_hash(text) == own["sha256"]
    report = scans.scan()
    return report.counts.unchanged == report.counts.seen and report.counts.enqueued == 0


def test_words_change_places_with_their_songs(scans, backup):
    one, two = album(scans, "a/01.flac", "a/02.flac")
    before = {row["title"]: row["id"] for row in scans.table("scan_results")}
    exchange(one, two)

    report = scans.scan()

    assert right_words(scans) == {"01.flac": True, "02.flac": True}
    assert {row["title"]: row["id"] for row in scans.table("scan_results")} == before
    assert (report.counts.relinked, report.counts.enqueued, report.counts.missing) == (2, 0, 0)
    assert one.with_suffix(".lrc").read_text() == words_of("Song 2")
    assert sorted(path.name for path in one.parent.iterdir()) == [
        "01.flac", "01.lrc", "02.flac", "02.lrc",
    ]  # fmt: skip
    assert len([json.loads(line) for line in backup.read_text().splitlines()]) == 3
    assert [(row["event"], row["by"]) for row in scans.table("history")] == [("moved", "scan")] * 2
    assert is_settled(scans)


def test_words_are_shifted_with_their_songs(scans):
    audio = album(scans, *(f"a/0{number}.flac" for number in range(1, 5)))
    shift(audio)

    report = scans.scan()

    assert right_words(scans) == {f"{name}.flac": True for name in ("02", "03", "04", "99")}
    assert (report.counts.relinked, report.counts.missing, report.counts.new) == (4, 0, 0)
    assert not audio[0].with_suffix(".lrc").exists()
    assert is_settled(scans)


def test_three_songs_go_round_in_a_ring(scans):
    one, two, three = album(scans, "a/01.flac", "b/02.flac", "c/03.flac")
    exchange(one, two)
    exchange(two, three)

    scans.scan()

    assert right_words(scans) == {"01.flac": True, "02.flac": True, "03.flac": True}
    assert is_settled(scans)


@pytest.mark.parametrize("bare", [(), (1,), (2,)], ids=["all", "not the first", "not the second"])
@pytest.mark.parametrize("often", [2, 3])
def test_an_exchange_that_a_rename_tells_of_is_left_to_the_scan(scans, backup, often, bare):
    audio = album(scans, *(f"a/0{number}.flac" for number in range(1, often + 1)), bare=bare)
    for pair in pairwise(audio):
        exchange(*pair)
    told = [(str(old), str(new)) for old, new in zip(audio, [audio[-1], *audio[:-1]], strict=True)]
    scans.db.write(lambda tx: rename_jobs.insert(tx, told, now=scans.clock.now()))
    terms = RenameTerms(roots=lambda: [scans.root], backup=backup)
    Renamer(scans.db, clock=scans.clock, chance=Random(2), terms=terms).step()
    assert {job["state"] for job in scans.table("rename_jobs")} == {"done"}

    scans.scan()

    assert sorted(map(str, right_words(scans).values())) == sorted(
        ["None"] * len(bare) + ["True"] * (often - len(bare))
    )
    assert is_settled(scans)


@pytest.mark.parametrize("first", ["a", "b"])
def test_a_scan_of_one_directory_follows_to_the_other(scans, first):
    one, two = album(scans, "a/01.flac", "b/02.flac")
    exchange(one, two)

    scans.scan(below=scans.root / first)

    assert right_words(scans) == {"01.flac": True, "02.flac": True}
    assert is_settled(scans)


def test_a_song_put_before_the_others_is_queued_and_gets_no_words_of_theirs(scans):
    audio = album(scans, "a/01.flac", "a/02.flac")
    shift(audio)
    scans.song("a/01.flac", "Overture")

    report = scans.scan()

    assert right_words(scans) == {"01.flac": None, "02.flac": True, "99.flac": True}
    assert (report.counts.relinked, report.counts.enqueued) == (2, 1)


def test_a_song_without_words_takes_none_from_its_neighbour(scans):
    one, two = album(scans, "a/01.flac", "a/02.flac", bare=[2])
    scans.run("UPDATE work_items SET outcome = 'miss' WHERE title = 'Song 2'")
    scans.run("UPDATE work_targets SET result = 'miss', kind = '' WHERE out_stem = '02'")
    exchange(one, two)

    report = scans.scan()

    assert right_words(scans) == {"01.flac": None, "02.flac": True}
    assert report.counts.enqueued == 0
    assert is_settled(scans)


def test_words_that_somebody_edited_stay_and_ours_beside_another_song_are_fetched_anew(scans):
    one, two = album(scans, "a/01.flac", "a/02.flac")
    mine = words_of("Song 2") + "[00:09.00]a line of my own\n"
    two.with_suffix(".lrc").write_text(mine)
    scans.scan()
    exchange(one, two)

    report = scans.scan()

    assert two.with_suffix(".lrc").read_text() == mine
    assert report.counts.enqueued == 1
    (wanted,) = [row for row in scans.table("work_targets") if row["status"] == "pending"]
    assert (wanted["source_path"], wanted["mode"]) == (str(one), "update")


def test_a_song_that_took_the_place_of_another_is_fetched_anew(scans):
    one, two = album(scans, "a/01.flac", "a/02.flac")
    one.rename(two)

    report = scans.scan()

    (row,) = scans.table("scan_results")
    assert (row["title"], row["name"], report.counts.relinked) == ("Song 1", "02.flac", 1)
    (wanted,) = scans.table("work_targets")
    assert (wanted["mode"], wanted["status"]) == ("update", "pending")


def test_another_name_of_the_same_file_is_no_exchange(scans):
    one, two = album(scans, "a/01.flac", "a/02.flac")
    two.unlink()
    two.hardlink_to(one)

    scans.scan()

    assert one.with_suffix(".lrc").read_text() == words_of("Song 1")


class _Killed(BaseException):
    """The end of the process."""


@pytest.mark.parametrize("step", range(5))
def test_an_exchange_that_is_killed_is_gone_on_with_by_the_next_scan(scans, monkeypatch, step):
    one, two, three = album(scans, "a/01.flac", "a/02.flac", "a/03.flac")
    exchange(one, two)
    exchange(two, three)
    left = [step]
    whole = SidecarMover.move_files

    def dying(mover, unit, log):
        if not left[0]:
            raise _Killed
        left[0] -= 1
        return whole(mover, unit, log)

    monkeypatch.setattr(SidecarMover, "move_files", dying)
    if step > 3:
        monkeypatch.setattr(RenamedSidecars, "write_down_exchange", _kill)
    with pytest.raises(_Killed):
        scans.scan()
    monkeypatch.undo()
    assert len(list(one.parent.glob("*.lrc"))) == 3

    scans.scan()

    assert right_words(scans) == {"01.flac": True, "02.flac": True, "03.flac": True}
    assert len(list(one.parent.glob("*.lrc"))) == 3
    assert is_settled(scans)


@pytest.mark.parametrize("step", range(5))
def test_names_may_change_again_before_a_killed_exchange_is_gone_on_with(scans, monkeypatch, step):
    one, two, three = album(scans, "a/01.flac", "a/02.flac", "a/03.flac")
    exchange(one, two)
    exchange(two, three)
    left = [step]
    whole = SidecarMover.move_files

    def dying(mover, unit, log):
        left[0] -= 1
        return whole(mover, unit, log) if left[0] >= 0 else _kill()

    monkeypatch.setattr(SidecarMover, "move_files", dying)
    monkeypatch.setattr(RenamedSidecars, "write_down_exchange", _kill)
    with pytest.raises(_Killed):
        scans.scan()
    monkeypatch.undo()
    exchange(one, two)
    exchange(two, three)

    scans.scan()

    assert right_words(scans) == {"01.flac": True, "02.flac": True, "03.flac": True}
    assert len(list(one.parent.glob("*.lrc"))) == 3
    assert is_settled(scans)


def _kill(*_):
    raise _Killed


def test_words_that_went_along_by_another_hand_stay_where_they_are(scans):
    one, two = album(scans, "a/01.flac", "a/02.flac")
    exchange(one, two)
    exchange(one.with_suffix(".lrc"), two.with_suffix(".lrc"))

    scans.scan()

    assert right_words(scans) == {"01.flac": True, "02.flac": True}
    assert is_settled(scans)


def test_an_exchange_waits_while_somebody_works_for_one_of_its_songs(scans):
    one, two = album(scans, "a/01.flac", "a/02.flac")
    exchange(one, two)
    scans.run("UPDATE work_items SET status = 'processing' WHERE title = 'Song 1'")
    recount(scans)

    scans.scan()

    assert one.with_suffix(".lrc").read_text() == words_of("Song 1")
    scans.run("UPDATE work_items SET status = 'done' WHERE title = 'Song 1'")
    recount(scans)
    scans.scan()
    assert right_words(scans) == {"01.flac": True, "02.flac": True}


def test_without_a_place_for_the_backup_everything_waits(scans, backup, caplog):
    one, two = album(scans, "a/01.flac", "a/02.flac")
    backup.mkdir()
    exchange(one, two)

    scans.scan()

    assert one.with_suffix(".lrc").read_text() == words_of("Song 1")
    assert "stay behind" in caplog.text
    backup.rmdir()
    scans.scan()
    assert right_words(scans) == {"01.flac": True, "02.flac": True}


def test_the_place_of_a_known_file_is_found_by_the_index_of_songs(scans, db):
    album(scans, "a/01.flac")
    (row,) = scans.table("scan_results")

    ((plan, *_),) = plans_of(db, lambda tx: absences.same_files(tx, scans.library.id, row))

    assert "ix_scan_keys" in plan
