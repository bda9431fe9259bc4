"""Webhooks: what is enqueued, where its lyrics go, and what is answered."""

import json
import logging
import threading
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest

from builders import minimal_flac
from lyrsvc.core.errors import StoreError
from lyrsvc.core.item import Priority, TargetOrigin
from lyrsvc.core.lidarr_event import InvalidPayload
from lyrsvc.services.library_board import LibraryBoard
from lyrsvc.services.root_probes import RootProbes
from lyrsvc.store.database import Database
from lyrsvc.store.sqlite_link import SqliteLink
from webhooks import ARTIST, BODIES, FOLDER, Desk, body


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


STATUSES = {
    "test": "ok",
    "download_new": "accepted",
    "download_upgrade": "accepted",
    "download_multidisc_one_file": "accepted",
    "rename": "accepted",
    "retag": "accepted",
    "artist_delete": "ignored",
    "album_delete": "ignored",
}


def test_the_worker_is_woken_also_when_nobody_comes_back_for_the_answer(desk, db):
    begun = desk.intake.begin(json.dumps(body("download_new", desk.root)).encode())
    db.write(lambda _tx: None)  # whatever was handed over before is durable
    assert begun.pending.is_durable
    assert desk.woken == 1
    assert len(desk.items()) == 3
    assert counts(begun.finish()) == (3, 0, 0, 0)
    assert desk.woken == 1


@pytest.mark.spec("H-01", "H-05")
@pytest.mark.parametrize("name", sorted(path.stem for path in BODIES.glob("*.json")))
def test_every_event_the_manager_sends_is_answered(desk, name):
    event = body(name)
    answer = desk.send(event)
    assert answer["status"] == STATUSES.get(name, "ignored")
    assert answer["event"] == event["eventType"]
    assert json.loads(json.dumps(answer)) == answer
    if "tracks" in answer:
        assert sum(counts(answer)) == answer["tracks"]
        assert sum(steps(answer)) == answer["tracks"] - answer["skipped"]


@pytest.mark.spec("H-02")
def test_a_test_and_events_of_no_use_do_nothing(desk):
    before = desk.contents()
    assert desk.send("test") == {"status": "ok", "event": "Test"}
    unused = {"status": "ignored", "event": "Health", "reason": "not_used"}
    assert desk.send("health") == unused
    assert desk.send("import_failure")["reason"] == "not_used"
    future = desk.send({"eventType": "Fu\x1bture" + "x" * 99})
    assert future["reason"] == "unknown_event"
    assert future["event"] == ("Future" + "x" * 99)[:64]
    assert desk.send({})["reason"] == "unknown_event"
    assert desk.send(body("download_new", tracks=[]))["reason"] == "no_tracks"
    assert desk.contents() == before
    assert (desk.woken, desk.sub_scans) == (0, [])


@pytest.mark.spec("H-03")
def test_an_import_is_enqueued_once_however_often_it_is_told(desk):
    desk.album()
    answer = desk.send("download_new")
    assert answer == {
        "status": "accepted",
        "event": "Download",
        "tracks": 3,
        "enqueued": 3,
        "refreshed": 0,
        "already_done": 0,
        "skipped": 0,
        "resolved": {"inventory": 0, "path": 3, "metadata": 0},
    }
    assert [item.priority for item in desk.items()] == [Priority.WEBHOOK] * 3
    assert desk.woken == 1
    assert counts(desk.send("download_new")) == (0, 3, 0, 0)
    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: desk.send("download_new"), range(50)))
    assert {counts(each) for each in answers} == {(0, 3, 0, 0)}
    assert len(desk.items()) == 3
    assert len(desk.targets()) == 3
    assert desk.wrong_counts() == {}


@pytest.mark.spec("H-03")
def test_fifty_first_tellings_at_once_make_each_item_once(desk):
    desk.album()
    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: desk.send("download_new"), range(50)))
    assert sum(answer["enqueued"] for answer in answers) == 3
    assert len(desk.items()) == 3


@pytest.mark.spec("H-04")
def test_the_spellings_of_older_senders_are_understood(desk):
    event = body("download_new", desk.root)
    event["artist"] = {"artistName": ARTIST}
    assert counts(desk.send(event)) == (3, 0, 0, 0)
    single = body("download_new", track={"title": "Lone"}, tracks=None, trackFiles=None)
    assert counts(desk.send(single)) == (1, 0, 0, 0)
    for name in ("TrackRetag", "AlbumDownload", "DOWNLOAD"):
        event = body("download_new", eventType=name, tracks=[{"title": f"By {name}"}])
        assert counts(desk.send(event)) == (1, 0, 0, 0)
    bare = body("download_new", eventType=None, tracks=[{"title": "Bare"}])
    assert desk.send(bare)["event"] == "Download"
    blank = body("download_new", eventType=" ", tracks=[{"title": "Blank"}])
    assert desk.send(blank)["enqueued"] == 1


@pytest.mark.spec("H-06")
def test_a_file_of_several_tracks_gets_no_sidecar_and_the_others_get_their_own(desk):
    event = body("download_multidisc_one_file", desk.root)
    for file, title in zip(
        event["trackFiles"], ("Suite", "Gangway", "Bilge Song", "Harbour Pilot"), strict=True
    ):
        minimal_flac(desk.root.parent / file["path"], title=title, artist=ARTIST)
    answer = desk.send(event)
    assert counts(answer) == (6, 0, 0, 0)
    assert steps(answer) == (0, 3, 3)
    top = "music/Quillon Marsh/Crossings (2023)"
    assert desk.places() == [
        f"{top}/Disc 01/01 - Gangway",
        f"{top}/Disc 01/02 - Bilge Song",
        f"{top}/Disc 01/03 - Harbour Pilot",
        "out/Quillon Marsh - Casting Off",
        "out/Quillon Marsh - Landfall",
        "out/Quillon Marsh - Slack Water",
    ]


@pytest.mark.spec("H-07")
def test_titles_inside_other_titles_get_the_files_at_their_places(desk):
    titles = ["Time", "Time After Time", "After", "Out of Time"]
    files = [minimal_flac(desk.root / f"{n}.flac") for n in range(4)]
    event = {
        "artist": {"name": ARTIST},
        "tracks": [{"title": title} for title in titles],
        "trackFiles": [{"path": str(file)} for file in files],
    }
    assert steps(desk.send(event)) == (0, 4, 0)
    assert {t: desk.targets(t)[0].out_stem for t in titles} == dict(
        zip(titles, "0123", strict=True)
    )


@pytest.mark.spec("H-08")
def test_the_artist_of_the_tags_replaces_the_album_artist(desk):
    one = minimal_flac(
        desk.root / "01.flac", title="Intro", artist="Ada", album_artist="Various Artists"
    )
    two = minimal_flac(
        desk.root / "02.flac", title="Intro", artist="Bob", album_artist="Various Artists"
    )
    event = {
        "eventType": "Download",
        "artist": {"name": "Various Artists"},
        "album": {"title": "Best Of"},
        "tracks": [{"title": "Intro"}, {"title": "Intro"}],
        "trackFiles": [{"path": str(one)}, {"path": str(two)}],
    }
    assert counts(desk.send(event)) == (2, 0, 0, 0)
    assert [(item.artist, item.album) for item in desk.items()] == [
        ("Ada", "Best Of"),
        ("Bob", "Best Of"),
    ]
    desk.scan()
    assert counts(desk.send(event)) == (0, 2, 0, 0)
    assert steps(desk.send(event)) == (2, 0, 0)


@pytest.mark.spec("H-09")
@pytest.mark.parametrize(("on_disk", "sent"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_unicode_forms_do_not_hide_a_file(desk, on_disk, sent):
    name = unicodedata.normalize(on_disk, "Jóga é.flac")
    path = minimal_flac(desk.root / name, title="Jóga", artist="Björk")
    event = {
        "artist": {"name": unicodedata.normalize(sent, "Björk")},
        "tracks": [{"title": unicodedata.normalize(sent, "Jóga")}],
        "trackFiles": [{"path": unicodedata.normalize(sent, str(path))}],
    }
    assert steps(desk.send(event)) == (0, 1, 0)
    desk.scan()
    assert steps(desk.send(event)) == (1, 0, 0)
    assert [target.source_path for target in desk.targets()] == [str(path)]


@pytest.mark.spec("H-09")
def test_without_an_artist_the_tags_are_used_or_the_track_is_skipped(desk):
    event = body("download_new", desk.root, artist=None)
    assert counts(desk.send(event)) == (0, 0, 0, 3)
    desk.album()
    (desk.root / FOLDER / "03 - What the Gulls Said.flac").unlink()
    answer = desk.send(event)
    assert counts(answer) == (2, 0, 0, 1)
    assert steps(answer) == (0, 2, 0)
    assert {item.artist for item in desk.items()} == {ARTIST}


def hostile(desk, tmp_path):
    outside = minimal_flac(tmp_path / "outside" / "a.flac")
    minimal_flac(tmp_path / "music2" / "a.flac")
    (desk.root / "link").symlink_to(outside.parent)
    (desk.root / "link.flac").symlink_to(outside)
    (desk.root / "folder.flac").mkdir()
    return [
        str(outside),
        f"{desk.root}/../outside/a.flac",
        str(tmp_path / "music2" / "a.flac"),
        str(desk.root / "link" / "a.flac"),
        str(desk.root / "link.flac"),
        str(desk.root / "folder.flac"),
        str(desk.root / "missing.flac"),
        "C:\\music\\a.flac",
        "\\\\nas\\music\\a.flac",
        "relative/a.flac",
        f"{desk.root}/a\0.flac",
        f"{desk.root}/\ud800.flac",
        "",
        7,
        None,
    ]


@pytest.mark.spec("H-10")
@pytest.mark.seed("S-024", "S-026", "S-126")
def test_a_path_that_is_not_inside_a_root_falls_through_to_the_output_directory(desk, tmp_path):
    paths = hostile(desk, tmp_path)
    event = {
        "eventType": "Download",
        "artist": {"name": ARTIST},
        "tracks": [{"title": f"Song {n}"} for n in range(len(paths))],
        "trackFiles": [{"path": path} for path in paths],
    }
    answer = desk.send(event)
    assert counts(answer) == (len(paths), 0, 0, 0)
    assert steps(answer) == (0, 0, len(paths))
    assert {target.out_dir for target in desk.targets()} == {str(desk.output)}
    assert {target.origin for target in desk.targets()} == {TargetOrigin.METADATA}
    assert desk.sub_scans == []


@pytest.mark.spec("H-11")
@pytest.mark.seed("S-022")
def test_a_scanned_file_is_served_although_the_payload_names_another_place(desk):
    one, *_ = desk.album(folder="elsewhere")
    desk.scan()
    answer = desk.send(body("download_new"))
    assert counts(answer) == (0, 3, 0, 0)
    assert steps(answer) == (3, 0, 0)
    assert desk.targets("Tidewater")[0].source_path == str(one)
    assert {item.priority for item in desk.items()} == {Priority.WEBHOOK}
    assert desk.wrong_counts() == {}


@pytest.mark.seed("S-022", "S-028")
def test_the_inventory_is_matched_by_the_normal_form_of_names(desk):
    path = minimal_flac(desk.root / "x.flac", title="Ｊóga  Song", artist="BJÖRK & Co")
    desk.scan()
    event = {
        "artist": {"name": "björk and co"},
        "tracks": [{"title": "joga song"}],
    }
    assert steps(desk.send(event)) == (1, 0, 0)
    # Rows without keys, as an older version left them, converge after one rescan.
    desk.run("UPDATE scan_results SET title_key = 'jÓga', artist_key = '', key_version = 0")
    assert steps(desk.send(event)) == (0, 0, 1)
    desk.scan()
    assert steps(desk.send(event)) == (1, 0, 0)
    assert [target.source_path for target in desk.targets()] == [str(path)]


def test_the_other_artist_credit_counts_when_the_own_one_does_not(desk):
    minimal_flac(desk.root / "x.flac", title="Duet", artist="Ada", album_artist="Various Artists")
    desk.scan()
    event = {"artist": {"name": "Various Artists"}, "tracks": [{"title": "Duet"}]}
    answer = desk.send(event)
    assert steps(answer) == (1, 0, 0)
    assert [item.artist for item in desk.items()] == ["Ada"]


def test_of_several_scanned_files_the_paired_then_the_album_then_the_waiting_one_is_meant(desk):
    paths = [
        minimal_flac(desk.root / f"{n}.flac", title="Tide", artist=ARTIST, album=album)
        for n, album in enumerate(("One", "Two", "Two"))
    ]
    (desk.root / "1.lrc").write_text("[00:01.00]words")
    desk.scan()

    def meant(**members):
        desk.run("DELETE FROM work_items")
        desk.run("UPDATE scan_results SET status = 'pending' WHERE name <> '1.flac'")
        event = {"artist": {"name": ARTIST}, "tracks": [{"title": "Tide"}], **members}
        assert steps(desk.send(event)) == (1, 0, 0)
        return [target.source_path for target in desk.targets()]

    assert meant(trackFiles=[{"path": str(paths[1])}]) == [str(paths[1])]
    assert meant(album={"title": "Two"}) == [str(paths[2])]
    assert meant(album={"title": "Three"}) == [str(paths[0])]
    paths[0].unlink()
    assert meant(album={"title": "One"}) == [str(paths[2])]


def test_a_match_whose_file_is_gone_does_not_count_unless_its_library_is_unreachable(desk):
    one, *_ = desk.album(folder="elsewhere")
    desk.scan()
    event = body("download_new", tracks=[{"title": "Tidewater"}])
    one.unlink()
    assert steps(desk.send(event)) == (0, 0, 1)
    desk.root.rename(desk.root.parent / "unmounted")
    assert steps(desk.send(event)) == (1, 0, 0)
    desk.root.mkdir()  # an empty directory is a mount point without its disk
    assert steps(desk.send(event)) == (1, 0, 0)


@pytest.mark.spec("H-12")
@pytest.mark.seed("S-025", "S-027")
def test_the_roots_are_those_of_the_start_without_the_removed(db, clock, tmp_path):
    desk = Desk(db, clock, tmp_path)
    desk.registry.remove(desk.library)
    desk.restart()
    desk.album()
    event = body("download_new", desk.root)
    assert steps(desk.send(event)) == (0, 0, 3)  # no libraries at all
    other = desk.add(desk.root)
    assert steps(desk.send(event)) == (0, 0, 3)
    desk.restart()
    assert steps(desk.send(event)) == (0, 3, 0)
    desk.registry.remove(other)
    assert steps(desk.send(event)) == (0, 0, 3)


def test_what_is_shown_of_a_library_that_was_added_again_is_what_counts(desk):
    desk.album()
    board = LibraryBoard(
        desk.db, probes=RootProbes(), takes_paths=lambda one: desk.intake.takes_paths_of(one)
    )
    assert board.view(desk.library.id).webhook_paths
    desk.registry.remove(desk.library)
    again = desk.add(desk.root)
    event = body("download_new", desk.root)
    assert steps(desk.send(event)) == (0, 0, 3)
    assert not board.view(again.id).webhook_paths
    desk.restart()
    assert [view.webhook_paths for view in board.views()] == [True]
    assert steps(desk.send(event)) == (0, 3, 0)


@pytest.mark.spec("H-12")
def test_a_root_that_was_moved_counts_only_after_the_next_start(desk, tmp_path):
    desk.album()
    moved = tmp_path / "moved"
    desk.root.rename(moved)
    desk.run("UPDATE libraries SET path = :path", path=str(moved))
    event = body("download_new", moved)
    assert steps(desk.send(event)) == (0, 0, 3)
    desk.restart()
    desk.run("DELETE FROM work_items")
    assert steps(desk.send(event)) == (0, 3, 0)


def test_files_the_inventory_does_not_know_have_their_directory_scanned(desk):
    desk.album()
    desk.send("download_new")
    assert desk.sub_scans == [("Music", FOLDER)]
    desk.sub_scans.clear()
    desk.scan(below=desk.root / FOLDER)
    desk.send("download_new")
    assert desk.sub_scans == []
    desk.song(f"{FOLDER}/01 - Tidewater.flac", "Tidewater", seconds=99)
    desk.send("download_new")
    assert desk.sub_scans == [("Music", FOLDER)]


def test_a_body_that_is_no_event_is_refused_and_changes_nothing(desk):
    before = desk.contents()
    for data in (b"", b"[]", b"{", b"nul", b'{"a":NaN}', b"\xff", b"[" * 100_000, b"{} {}"):
        with pytest.raises(InvalidPayload) as caught:
            desk.send(data)
        assert caught.value.code == "invalid_payload"
    assert desk.contents() == before


def test_a_database_that_cannot_be_written_is_told_and_nothing_is_enqueued(desk, db):
    desk.album()
    db.close()
    with pytest.raises(StoreError):
        desk.send("download_new")
    assert desk.woken == 0


def test_equal_titles_of_one_request_merge(desk):
    event = {"artist": {"name": ARTIST}, "tracks": [{"title": "Tide"}, {"title": "TIDE"}]}
    assert counts(desk.send(event)) == (1, 1, 0, 0)
    assert len(desk.items()) == 1


def test_one_file_named_twice_belongs_to_neither_track(desk):
    path = str(minimal_flac(desk.root / "x.flac"))
    event = {
        "artist": {"name": ARTIST},
        "tracks": [{"title": "One"}, {"title": "Two"}],
        "trackFiles": [{"path": path}, {"path": path}],
    }
    assert steps(desk.send(event)) == (0, 0, 2)


def test_tracks_without_a_name_are_skipped_and_the_others_go_on(desk):
    event = {
        "eventType": "Download",
        "artist": {"name": ARTIST},
        "tracks": [{"title": "One"}, {}, {"title": " "}, 5, None, {"title": 1999}, {"title": "\0"}],
    }
    assert counts(desk.send(event)) == (2, 0, 0, 5)
    assert [item.title for item in desk.items()] == ["One", "1999"]


def test_a_file_that_cannot_be_read_is_served_under_the_payloads_names(desk):
    (desk.root / FOLDER).mkdir(parents=True)
    (desk.root / FOLDER / "01 - Tidewater.flac").write_bytes(b"no audio at all")
    event = body("download_new", desk.root, tracks=[{"title": "Tidewater"}])
    event["trackFiles"] = event["trackFiles"][:1]
    assert steps(desk.send(event)) == (0, 1, 0)
    assert desk.item("Tidewater").artist == ARTIST


def test_enrichment_follows_the_library(desk, db):
    desk.album(mbid="11111111-2222-3333-4444-555555555555")
    desk.send("download_new")
    assert {item.duration_ms for item in desk.items()} == {200_000}
    desk.run("DELETE FROM work_items")
    desk.run("UPDATE libraries SET enrich = 0")
    desk.send("download_new")
    assert {(item.duration_ms, item.mbid) for item in desk.items()} == {(0, "")}


def test_paths_of_the_manager_are_mapped(db, clock, tmp_path):
    desk = Desk(db, clock, tmp_path, path_mappings=(("/music", str(tmp_path / "music")),))
    desk.album()
    assert steps(desk.send(body("download_new"))) == (0, 3, 0)


def test_a_request_is_one_line_in_the_log_that_names_its_items(desk, caplog):
    with caplog.at_level(logging.INFO, "lyrsvc.webhook"):
        desk.send(body("download_new", instanceName="Lid\narr" + "x" * 300))
        desk.send(body("health"))
    lines = [r for r in caplog.records if r.name == "lyrsvc.webhook"]
    first, second = lines
    assert first.items == [item.id for item in desk.items()]
    assert not hasattr(second, "items")
    assert (first.levelno, first.event, first.enqueued) == (logging.INFO, "Download", 3)
    assert first.instance == ("Lid\\narr" + "x" * 300)[: len(first.instance)]
    assert len(first.instance) <= 201
    assert (second.event, second.reason) == ("Health", "not_used")


def test_lyrics_that_are_wanted_are_remembered_with_who_wished_for_them(desk):
    desk.album()
    desk.send("download_new")
    assert {(row["event"], row["by"]) for row in desk.table("history")} == {("enqueued", "webhook")}


# What a request costs


@pytest.fixture
def statements(monkeypatch):
    """Count what is asked of the database."""
    asked = []
    for name in ("run", "many", "insert_rows", "next_ids", "first", "all", "tuples", "each"):
        real = getattr(SqliteLink, name)

        def counted(self, *args, real=real, name=name):
            asked.append((name, args[0]))
            return real(self, *args)

        monkeypatch.setattr(SqliteLink, name, counted)
    return asked


def import_of(number, *, artist, root="/elsewhere"):
    return {
        "eventType": "Download",
        "artist": {"name": artist},
        "album": {"title": "Album"},
        "tracks": [{"title": f"Song {at}"} for at in range(number)],
        "trackFiles": [{"path": f"{root}/{artist}/{at}.flac"} for at in range(number)],
    }


@pytest.mark.parametrize("again", [False, True])
def test_an_album_asks_the_database_no_more_than_a_single(desk, statements, again):
    costs = []
    for number in (2, 40):
        event = import_of(number, artist=f"Artist of {number}")
        if again:
            desk.send(event)
        statements.clear()
        answer = desk.send(event)
        assert counts(answer) == ((0, number, 0, 0) if again else (number, 0, 0, 0))
        costs.append(len(statements))
    assert costs[0] == costs[1] <= 14, statements


def test_files_of_the_inventory_that_are_served_already_cost_no_more_either(desk, statements):
    for at in range(30):
        desk.song(f"Somebody/{at}.flac", f"Song {at}", artist="Somebody")
    desk.scan()
    desk.restart()
    costs = []
    for number in (2, 30):
        event = import_of(number, artist="Somebody", root=desk.root)
        assert steps(desk.send(event)) == (number, 0, 0)
        statements.clear()
        assert counts(desk.send(event)) == (0, number, 0, 0)
        costs.append(len(statements))
    assert costs[0] == costs[1] <= 16, statements


def test_no_thread_looks_at_paths_outside_every_root(desk, monkeypatch):
    desk.restart()
    monkeypatch.setattr(threading, "Thread", None)
    answer = desk.send(import_of(3, artist="Somebody"))
    assert steps(answer) == (0, 0, 3)
