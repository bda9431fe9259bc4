"""Webhooks about files that change: upgrades, new tags, renames, deletions."""

import os
import signal
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path

import pytest

from builders import minimal_flac, minimal_mp3
from lyrsvc.core.item import Status
from lyrsvc.core.sidecar import FetchMode, Kind
from lyrsvc.services.probing import Probes
from lyrsvc.store import written_files
from lyrsvc.store.database import Database
from lyrsvc.store.written_files import OwnFile
from webhooks import ARTIST, FOLDER, Desk, body

TESTS = Path(__file__).parents[1]


@pytest.fixture
def db(tmp_path, clock):
    with Database.open(tmp_path / "state" / "lyrsvc.db", create=True, clock=clock) as database:
        yield database


@pytest.fixture
def desk(db, clock, tmp_path):
    return Desk(db, clock, tmp_path)


def counts(answer):
    return tuple(answer[name] for name in ("enqueued", "refreshed", "already_done", "skipped"))


def steps(answer):
    return tuple(answer["resolved"][name] for name in ("inventory", "path", "metadata"))


# Upgrades


def imported(desk, *names):
    """Import the old files of ``download_upgrade``."""
    files = [
        minimal_mp3(desk.root / FOLDER / f"{name}.mp3", title=title, artist=ARTIST, seconds=202)
        for name, title in names
    ]
    event = body("download_new", tracks=[{"title": title} for _, title in names])
    event["trackFiles"] = [{"path": str(file)} for file in files]
    desk.send(event)
    return files


def replaced(desk, old, seconds=202.0):
    """Do what an upgrade does on the disk."""
    for file in old:
        file.unlink()
    for name, title in (("01 - Tidewater", "Tidewater"), ("02 - Salt & Iron", "Salt & Iron")):
        minimal_flac(
            desk.root / FOLDER / f"{name}.flac", title=title, artist=ARTIST, seconds=seconds
        )


def sources(desk):
    return sorted(Path(target.source_path).name for target in desk.targets())


def test_an_upgrade_takes_the_old_files_from_the_queue(desk):
    old = imported(desk, ("01 - Tidewater", "Tidewater"), ("02 Salt and Iron", "Salt & Iron"))
    replaced(desk, old)
    assert counts(desk.send("download_upgrade")) == (0, 2, 0, 0)
    assert sources(desk) == ["01 - Tidewater.flac", "02 - Salt & Iron.flac"]
    assert len(desk.items()) == 2
    assert desk.wrong_counts() == {}


def test_an_upgrade_of_another_length_leaves_no_item_without_a_file(desk):
    old = imported(desk, ("01 - Tidewater", "Tidewater"), ("02 Salt and Iron", "Salt & Iron"))
    replaced(desk, old, seconds=260)
    desk.send("download_upgrade")
    assert sources(desk) == ["01 - Tidewater.flac", "02 - Salt & Iron.flac"]
    assert desk.wrong_counts() == {}


def test_a_file_that_replaces_one_whose_name_comes_first_takes_its_place(desk):
    imported(desk, ("x", "Tidewater"))
    (desk.root / FOLDER / "x.mp3").unlink()
    event = {
        "eventType": "Download",
        "isUpgrade": True,
        "artist": {"name": ARTIST},
        "tracks": [{"title": "Tidewater"}],
        "trackFiles": [{"path": str(minimal_mp3(desk.root / FOLDER / "x.ogg.mp3"))}],
        "deletedFiles": [{"path": str(desk.root / FOLDER / "x.mp3")}],
    }
    new = (desk.root / FOLDER / "x.ogg.mp3").rename(desk.root / FOLDER / "x.tta")
    event["trackFiles"] = [{"path": str(new)}]
    desk.send(event)
    assert sources(desk) == ["x.tta"]


def test_nothing_is_dropped_for_files_that_are_there_or_cannot_be_seen(desk, tmp_path):
    old = imported(desk, ("01 - Tidewater", "Tidewater"), ("02 Salt and Iron", "Salt & Iron"))
    desk.send("download_upgrade")
    assert len(desk.targets()) == 2
    before = sources(desk)
    desk.root.rename(tmp_path / "unmounted")
    desk.root.mkdir()
    desk.send("download_upgrade")
    assert sources(desk) == before
    event = body("download_upgrade", desk.root, isUpgrade=False)
    for file in old:
        assert not file.exists()
    desk.send(event)
    assert sources(desk) == before


# New tags


def test_new_tags_are_written_down_and_asked_for(desk):
    path = desk.song(f"{FOLDER}/1-01 Tidewater.flac", "Tide Water")
    desk.scan()
    first = desk.item("Tide Water").id
    minimal_flac(path, title="Tidewater", artist=ARTIST, seconds=201)
    answer = desk.send("retag")
    assert (answer["event"], answer["tracks"], counts(answer)) == ("Retag", 1, (1, 0, 0, 0))
    assert steps(answer) == (1, 0, 0)
    (row,) = desk.table("scan_results")
    assert (row["title"], row["title_key"], row["size"]) == (
        "Tidewater",
        "tidewater",
        path.stat().st_size,
    )
    (item,) = desk.items()
    assert (item.title, item.id != first) == ("Tidewater", True)
    assert row["target_id"] == desk.targets()[0].id
    assert desk.wrong_counts() == {}
    before = desk.contents()
    desk.scan()
    assert desk.contents() == before  # a scan would have written the very same


def test_new_tags_that_change_no_name_leave_a_file_with_lyrics_alone(desk):
    path = desk.song(f"{FOLDER}/1-01 Tidewater.flac", "Tidewater")
    path.with_suffix(".lrc").write_text("[00:01.00]words")
    desk.scan()
    minimal_flac(path, title="Tidewater", artist=ARTIST, album="Renamed")
    answer = desk.send("retag")
    assert counts(answer) == (0, 0, 1, 0)
    assert desk.items() == []
    assert desk.table("scan_results")[0]["album"] == "Renamed"


def test_new_names_of_a_file_with_lyrics_ask_for_better_ones(desk):
    path = desk.song(f"{FOLDER}/1-01 Tidewater.flac", "Tide Water")
    path.with_suffix(".lrc").write_text("[00:01.00]words")
    desk.scan()
    minimal_flac(path, title="Tidewater", artist=ARTIST, seconds=201)
    assert counts(desk.send("retag")) == (1, 0, 0, 0)
    assert [target.mode for target in desk.targets()] == [FetchMode.UPDATE]
    assert desk.wrong_counts() == {}


@pytest.mark.parametrize(
    ("title", "expected", "mode"),
    [("Tide Water", (1, 0, 0, 0), FetchMode.UPDATE), ("Tidewater", (0, 1, 0, 0), FetchMode.NORMAL)],
    ids=["of another song", "of the same song"],
)
def test_our_words_beside_a_file_that_no_scan_has_met(desk, db, clock, title, expected, mode):
    path = desk.song(f"{FOLDER}/1-01 Tidewater.flac", title)
    imported = body("download_new", tracks=[{"title": title}], trackFiles=[{"path": str(path)}])
    desk.send(imported)
    words = path.with_suffix(".lrc")
    words.write_text("[00:01.00]words")
    file = OwnFile(path=words, kind=Kind.LRC, sha256="0" * 64)
    item_id = desk.item(title).id
    db.write(lambda tx: written_files.confirm(tx, file, item_id=item_id, now=clock.now()))
    minimal_flac(path, title="Tidewater", artist=ARTIST, seconds=201)
    assert counts(desk.send("retag")) == expected
    assert [target.mode for target in desk.targets("Tidewater")] == [mode]
    assert desk.wrong_counts() == {}


@pytest.mark.parametrize(
    ("title", "mode"), [("Tide Water", FetchMode.UPDATE), ("Tidewater", FetchMode.NORMAL)]
)
@pytest.mark.parametrize("via", ["", "x.flac"])
@pytest.mark.parametrize("scanned", [True, False])
def test_our_words_that_are_about_to_follow_a_rename(desk, db, clock, title, mode, via, scanned):
    """The rename waits, for a scan perhaps, when the new tags are told already."""
    old = desk.song(f"{FOLDER}/old.flac", title)
    new = old.with_name("1-01 Tidewater.flac")
    desk.send(body("download_new", tracks=[{"title": title}], trackFiles=[{"path": str(old)}]))
    words = old.with_suffix(".lrc")
    words.write_text("[00:01.00]words")
    item_id = desk.item(title).id
    if scanned:
        desk.scan()
    else:
        file = OwnFile(path=words, kind=Kind.LRC, sha256="0" * 64)
        db.write(lambda tx: written_files.confirm(tx, file, item_id=item_id, now=clock.now()))
    steps = [old, *([old.with_name(via)] if via else []), new]
    pairs = [{"previousPath": str(before), "path": str(after)} for before, after in pairwise(steps)]
    desk.send({"eventType": "Rename", "renamedTrackFiles": pairs})
    old.unlink()
    minimal_flac(new, title="Tidewater", artist=ARTIST, seconds=201)
    desk.send("retag")
    (target,) = [one for one in desk.targets("Tidewater") if one.source_path == str(new)]
    assert target.mode is mode
    assert desk.wrong_counts() == {}


def test_new_tags_of_a_file_nobody_sees_are_skipped(desk):
    answer = desk.send("retag")
    assert (answer["status"], counts(answer)) == ("accepted", (0, 0, 0, 1))
    assert desk.send(body("retag", trackFile=None))["skipped"] == 1


def test_new_tags_of_a_file_the_inventory_does_not_know_are_asked_for(desk):
    desk.song(f"{FOLDER}/1-01 Tidewater.flac", "Tidewater")
    assert steps(desk.send("retag")) == (0, 1, 0)
    assert desk.sub_scans == [("Music", FOLDER)]


# Renames


def test_renamed_files_are_stored_in_order_and_somebody_is_told(desk):
    answer = desk.send("rename")
    assert answer == {"status": "accepted", "event": "Rename", "files": 2}
    top = str(desk.root / FOLDER)
    jobs = [
        (f"{top}/01 - Tidewater.flac", f"{top}/1-01 Tidewater.flac", "waiting"),
        (f"{top}/02 - Salt & Iron.flac", f"{top}/1-02 Salt & Iron.flac", "waiting"),
    ]
    assert desk.jobs() == jobs
    assert desk.rings == 1
    desk.send("rename")
    assert desk.jobs() == jobs


def test_renames_are_stored_as_they_were_sent_without_what_no_file_can_be_called(desk):
    pairs = [
        ("D:\\Music\\a.flac", "D:\\Music\\b.flac"),
        ("/music/a.flac", "/music/x/../b.flac"),
        ("/x\0", "/y"),
        ("/\ud800", "/y"),
        ("/x" * 5000, "/y"),
        ("/x", None),
        ("", "/y"),
    ]
    files = [{"previousPath": old, "path": new} for old, new in pairs]
    event = body("rename", renamedTrackFiles=[*files, 5])
    assert desk.send(event)["files"] == 2
    assert [job[:2] for job in desk.jobs()] == pairs[:2]
    assert desk.send(body("rename", renamedTrackFiles=files[2:]))["reason"] == "not_visible"
    assert desk.send(body("rename", renamedTrackFiles=[]))["reason"] == "no_tracks"


# Deletions


def test_deleted_files_leave_the_queue_with_their_artist(desk):
    files = desk.album()
    other = desk.song("Other/x.flac", "Other", artist="Other")
    desk.scan()
    files[0].unlink()
    files[1].unlink()
    answer = desk.send("artist_delete")
    assert answer == {"status": "accepted", "event": "ArtistDelete", "dropped": 2}
    assert sources(desk) == [files[2].name, other.name]
    assert len(desk.items()) == 2
    assert len(desk.rows()) == 4
    assert desk.send("artist_delete")["dropped"] == 0
    assert desk.wrong_counts() == {}


def test_an_album_takes_only_its_own_songs_along(desk):
    desk.album()
    desk.song(f"{ARTIST}/Other/x.flac", "Elsewhere", album="Other")
    desk.scan()
    for path in (desk.root / ARTIST).rglob("*.flac"):
        path.unlink()
    assert desk.send("album_delete")["dropped"] == 3
    assert [item.title for item in desk.items()] == ["Elsewhere"]


def test_items_that_are_done_or_under_way_and_kept_files_stay(desk):
    desk.album()
    desk.scan()
    desk.run("UPDATE work_items SET status = 'processing', ready_key = NULL WHERE id = 1")
    desk.run(
        "UPDATE work_items SET status = 'done', ready_key = NULL, completed_at = created_at WHERE id = 2"
    )
    for path in (desk.root / ARTIST).rglob("*.flac"):
        path.unlink()
    kept = body("artist_delete", desk.root, deletedFiles=False)
    assert desk.send(kept) == {"status": "ignored", "event": "ArtistDelete", "reason": "files_kept"}
    assert len(desk.items()) == 3
    assert desk.send("artist_delete")["dropped"] == 1
    assert [item.status for item in desk.items()] == [Status.PROCESSING, Status.DONE]


def test_a_deletion_that_cannot_be_seen_drops_nothing(desk, tmp_path):
    desk.album()
    desk.scan()
    ignored = {"status": "ignored", "event": "ArtistDelete", "reason": "not_visible"}
    assert desk.send(body("artist_delete")) == ignored
    desk.root.rename(tmp_path / "unmounted")
    assert desk.send("artist_delete") == ignored
    desk.root.mkdir()
    assert desk.send("artist_delete") == ignored
    assert len(desk.items()) == 3
    assert desk.send(body("artist_delete", artist={"name": ARTIST}))["reason"] == "not_visible"


def test_titles_that_are_deleted_by_name_leave_the_queue(desk):
    desk.send(body("download_new"))
    desk.run("UPDATE work_items SET status = 'processing', ready_key = NULL WHERE id = 2")
    event = {
        "eventType": "Delete",
        "artist": {"artistName": ARTIST.upper()},
        "tracks": [{"title": "Tidewater"}, {"title": "Salt and Iron"}, {"title": "Unheard"}],
    }
    assert desk.send(event) == {"status": "accepted", "event": "Delete", "dropped": 1}
    assert [item.title for item in desk.items()] == ["Salt & Iron", "What the Gulls Said?"]
    assert desk.send({"eventType": "Delete", "artist": {"name": ARTIST}})["reason"] == "no_tracks"


# Disks that hang, kills


def test_a_disk_that_does_not_answer_makes_files_invisible_and_nobody_wait(desk, monkeypatch):
    desk.album()
    desk.scan()
    desk.rules["probe_s"] = 0.2
    desk.restart()
    hanging = threading.Event()
    real = os.path.realpath

    def realpath(path, **options):
        hanging.wait(20)
        return real(path, **options)

    monkeypatch.setattr(os.path, "realpath", realpath)
    event = body("download_new", desk.root)
    event["tracks"][0]["title"] = "Unscanned"
    answer = desk.send(event)
    hanging.set()
    # What was scanned is known without the disk.
    assert steps(answer) == (2, 0, 1)


def test_threads_that_hang_are_not_multiplied_without_end():
    hanging = threading.Event()
    probes = Probes(threads=4, most=6)
    questions = {number: lambda: hanging.wait(20) for number in range(8)}
    import time

    before = set(threading.enumerate())
    for _ in range(3):
        assert probes.ask(questions, until=time.monotonic() + 0.05) == {}
    names = [thread.name for thread in threading.enumerate() if thread not in before]
    assert names.count("webhook files") == 6
    hanging.set()
    answers = probes.ask({1: lambda: "one", 2: lambda: None}, until=time.monotonic() + 20)
    assert answers == {1: "one", 2: None}


SEND_FOREVER = """
import json, sys
from pathlib import Path
sys.path[:0] = sys.argv[2:]
from fakes import FakeClock
from lyrsvc.store.database import Database
from webhooks import Desk
place = Path(sys.argv[1])
clock = FakeClock()
desk = Desk(Database.open(place / "state" / "lyrsvc.db", create=True, clock=clock), clock, place)
print("ready", flush=True)
for number in range(1000):
    tracks = [{"title": f"Song {number}-{index}"} for index in range(500)]
    desk.send({"artist": {"name": "Quillon Marsh"}, "tracks": tracks})
    print(number, flush=True)
"""


@pytest.mark.spec("H-17")
@pytest.mark.parametrize("acknowledged", [0, 1, 3])
def test_a_kill_leaves_all_tracks_of_a_request_or_none(tmp_path, clock, acknowledged):
    child = subprocess.Popen(
        [sys.executable, "-c", SEND_FOREVER, tmp_path, TESTS, TESTS.parent / "src"],
        stdout=subprocess.PIPE,
        text=True,
    )
    for _ in range(acknowledged + 1):
        child.stdout.readline()
    child.send_signal(signal.SIGKILL)
    rest, _ = child.communicate()
    told = acknowledged + len(rest.split("\n")[:-1])
    sql = "SELECT count(*) AS n FROM work_items GROUP BY substr(title, 1, instr(title, '-'))"
    path = tmp_path / "state" / "lyrsvc.db"
    with Database.open(path, create=True, clock=clock) as db, db.read() as tx:
        rows = tx.all(sql)
    assert {row["n"] for row in rows} <= {500}
    assert told <= len(rows) <= told + 1
