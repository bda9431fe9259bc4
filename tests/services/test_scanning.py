"""Scans: what is found, what becomes of it, and what a second look leaves alone."""

import os
import socket
from pathlib import Path
from random import Random

import pytest

from builders import CONTAINERS, make_audio, minimal_flac
from lyrsvc.core.keys import KEY_VERSION, match_key
from lyrsvc.core.scan_decision import ScanRules
from lyrsvc.core.scan_run import RunReason, RunState, ScanReport
from lyrsvc.core.sidecar import MARKER_BYTES, FetchMode, Kind, content_hash
from lyrsvc.core.waiting import WaitPolicy
from lyrsvc.files.tags import READER_VERSION
from lyrsvc.files.tree import Listing, list_directory
from lyrsvc.services.enqueueing import Terms
from lyrsvc.services.scan_batches import ScanBatches
from lyrsvc.services.scan_gate import ScanGate
from lyrsvc.services.scan_rows import look_change
from lyrsvc.store import scan_listing, scan_runs, written_files
from lyrsvc.store.written_files import OwnFile
from queue_cases import Queue
from scans import Scans

MBID = "f1d1d1d1-0000-4000-8000-00000000000{}"
LRC = "[00:01.00]words\n"


@pytest.fixture
def scans(db, clock, tmp_path):
    scans = Scans(db, clock, tmp_path / "music")
    yield scans
    assert scans.wrong_counts() == {}


def own(scans, path, text=LRC, kind=Kind.LRC):
    """Write a sidecar as the service does, memory included."""
    path.write_text(text)
    facts = path.stat()
    file = OwnFile(
        path=path,
        kind=kind,
        sha256=content_hash(text.encode()),
        size=facts.st_size,
        mtime_ns=facts.st_mtime_ns,
        library_id=scans.library.id,
    )
    scans.db.write(lambda tx: written_files.confirm(tx, file, item_id=None, now=scans.clock.now()))


@pytest.mark.seed("S-014", "S-064", "S-066")
def test_a_scan_stores_path_destination_keys_status_and_ids_of_every_file(scans):
    path = scans.song(
        "Artist/Album/01 Tide.flac", "Tide", isrc="GBAYE0000351", mbid=MBID.format(1), seconds=201
    )

    report = scans.scan()

    assert (report.state, report.counts.seen, report.counts.new) == (RunState.DONE, 1, 1)
    assert report.counts.enqueued == 1
    (row,) = scans.rows(status="pending")
    assert row["source_path"] == str(path)
    assert row["destination"] == str(path.with_suffix(".lrc"))
    assert (row["isrc"], row["mbid"], row["duration_s"]) == ("GBAYE0000351", MBID.format(1), 201.0)
    (stored,) = scans.table("scan_results")
    assert (stored["artist_key"], stored["title_key"]) == (match_key("Quillon Marsh"), "tide")
    (item,) = scans.table("work_items")
    assert (item["isrc"], item["mbid"], item["duration_bucket"]) == (
        "GBAYE0000351",
        MBID.format(1),
        40,
    )
    assert (item["priority"], item["status"]) == (0, "pending")
    (target,) = scans.table("work_targets")
    assert stored["target_id"] == target["id"]
    assert scans.woken == 1


@pytest.mark.spec("E-35")
@pytest.mark.parametrize("container", CONTAINERS)
def test_files_of_every_extension_get_a_row_with_their_tags(scans, container):
    make_audio(scans.root / f"x.{container}", container, title="Tide", artist="Marsh", album="Low")

    assert scans.scan().counts.unreadable == 0
    (row,) = scans.table("scan_results")
    assert (row["title"], row["artist"], row["enriched"]) == ("Tide", "Marsh", 1)


@pytest.mark.spec("E-36")
def test_untagged_files_are_named_by_their_path_or_are_unreadable(scans):
    minimal_flac(scans.root / "Artist" / "Album" / "03 - Title.flac")
    minimal_flac(scans.root / "track.flac")

    report = scans.scan()

    assert scans.statuses() == {
        "Artist/Album/03 - Title.flac": "pending",
        "track.flac": "unreadable",
    }
    named, unnamed = sorted(scans.table("scan_results"), key=lambda row: row["name"])
    assert (named["title"], named["artist"], named["low_confidence"]) == ("Title", "Artist", 1)
    assert (unnamed["reason"], unnamed["target_id"]) == ("no_metadata", None)
    assert (report.counts.unreadable, report.counts.file_errors) == (1, 0)
    assert [item["title"] for item in scans.table("work_items")] == ["Title"]


def test_a_title_of_signs_alone_is_never_queued(scans):
    scans.song("x.flac", "'''")

    scans.scan()

    assert scans.table("scan_results")[0]["reason"] == "no_metadata"
    assert scans.table("work_items") == []


@pytest.mark.spec("E-37")
def test_an_unchanged_rescan_writes_nothing_but_its_run_lock_and_library(scans):
    for number in range(30):
        scans.song(f"a/{number % 3}/{number}.flac", f"Song {number}")
    scans.song("a/lrc.flac").with_suffix(".lrc").write_text(LRC)
    scans.song("a/txt.flac").with_suffix(".txt").write_text("words")
    (scans.root / "empty.flac").touch()
    os.mkfifo(scans.root / "pipe.flac")
    scans.scan()
    before = scans.contents()
    scans.clock.advance(60)

    report = scans.scan()

    assert scans.contents() == before
    assert (report.counts.unchanged, report.counts.opened) == (report.counts.seen, 0)
    assert report.counts.unreadable == 2
    assert scans.table("locks") == []
    assert [run["state"] for run in scans.table("scan_runs")] == ["done", "done"]
    assert scans.reload().last_ok_scan_at == scans.clock.now()


def test_only_a_changed_file_is_read_again(scans):
    scans.song("a.flac", "Old")
    scans.song("b.flac", "Other")
    scans.scan()
    scans.song("a.flac", "New and longer")

    report = scans.scan()

    assert (report.counts.changed, report.counts.opened, report.counts.unchanged) == (1, 1, 1)
    assert {row["title"] for row in scans.rows()} == {"New and longer", "Other"}
    titles = {item["title"]: item["status"] for item in scans.table("work_items")}
    assert titles == {"New and longer": "pending", "Other": "pending"}
    assert len(scans.table("work_targets")) == 2


@pytest.mark.spec("E-38")
def test_what_cannot_be_read_is_counted_and_never_ends_the_run(scans):
    scans.song("good.flac")
    scans.song("denied/song.flac")
    (scans.root / "empty.flac").touch()
    (scans.root / "dangling.flac").symlink_to("nowhere")
    (scans.root / "loop").symlink_to(scans.root)
    (scans.root / "loop.flac").symlink_to("loop.flac")
    os.mkfifo(scans.root / "pipe.flac")
    (scans.root / "noise.mp3").write_bytes(os.urandom(5000))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(scans.root / "socket.flac"))
        (scans.root / "denied").chmod(0)
        try:
            report = scans.scan()
        finally:
            (scans.root / "denied").chmod(0o755)

    assert (report.state, report.reason) == (RunState.DONE, RunReason.NONE)
    is_root = os.geteuid() == 0  # nothing is denied to root
    assert report.counts.dir_errors == (0 if is_root else 1)
    reasons = {row["name"]: row["reason"] for row in scans.table("scan_results")}
    assert reasons["empty.flac"] == "empty_file"
    assert reasons["pipe.flac"] == reasons["socket.flac"] == "not_regular"
    assert reasons["dangling.flac"] == reasons["loop.flac"] == "io_error"
    assert reasons["noise.mp3"] == "bad_container"
    assert reasons["good.flac"] == ""
    assert report.counts.file_errors == 6
    assert len(report.errors) == 6 + report.counts.dir_errors


def test_a_directory_that_cannot_be_listed_is_remembered_and_protects_what_is_in_it(scans):
    scans.song("a/b/song.flac")
    scans.scan()
    rules = ScanRules(enrich=True, reader_version=READER_VERSION)
    root, a = str(scans.root), str(scans.root / "a")
    gate = ScanGate(scans.db, scans.library.id, root, rules)

    gate.compare([list_directory(root)])
    found = gate.compare([Listing(a, 1, [], [], [], [], [], fault="open_denied")])

    assert list(found.gone) == []
    assert [(folder.rel_path, error) for folder, error in found.dir_errors] == [
        ("a", "open_denied")
    ]
    assert found.bad_directories == 1
    gate.compare([list_directory(root)])
    assert len(gate.compare([Listing(a, 1, [], [], [], [], [])]).gone) == 1


@pytest.mark.spec("E-38")
def test_pictures_of_200_megabytes_are_stepped_over(scans):
    path = scans.song("big.flac", "Big")
    data = path.read_bytes()
    info_ends = 4 + 4 + 34
    with path.open("wb") as file:
        file.write(data[:info_ends])
        for _ in range(13):
            file.write(b"\x06" + (16_000_000).to_bytes(3, "big"))
            file.seek(16_000_000, os.SEEK_CUR)
        file.write(data[info_ends:])
    assert path.stat().st_size > 200_000_000

    scans.scan()

    assert scans.rows()[0]["title"] == "Big"


@pytest.mark.spec("E-39")
def test_names_of_any_kind_keep_one_row_and_one_sidecar_each(scans):
    nfd, nfc = "Cafe\u0301.flac", "Caf\u00e9.lrc"
    scans.song(nfd)
    (scans.root / nfc).write_text(LRC)
    scans.song("Song.flac")
    (scans.root / "Song.LRC").write_text(LRC)
    odd = os.fsdecode(b"bad\xff\xef\xa3\xbfname")
    for name in (f"{odd}.flac", "new\nline.flac", "tab\there.flac", "x" * 250 + ".flac"):
        scans.song(name, "Title")
        (scans.root / name).with_suffix(".lrc").write_text(LRC)

    report = scans.scan()
    again = scans.scan()

    assert (report.counts.seen, report.counts.enqueued) == (6, 0)
    assert set(scans.statuses().values()) == {"done"}
    assert again.counts.unchanged == 6
    paths = {row["source_path"] for row in scans.rows()}
    assert os.fsencode(scans.root / f"{odd}.flac") in {os.fsencode(path) for path in paths}


def test_a_sidecar_of_another_language_is_none(scans):
    scans.song("Song.flac")
    (scans.root / "Song.en.lrc").write_text(LRC)

    assert scans.scan().counts.enqueued == 1


def test_files_of_one_stem_share_a_target_and_the_first_names_it(scans):
    scans.song("x.flac", "First")
    make_audio(scans.root / "x.mp3", title="Second", artist="Somebody", album="Else")

    scans.scan()

    (target,) = scans.table("work_targets")
    assert {row["target_id"] for row in scans.table("scan_results")} == {target["id"]}
    (item,) = scans.table("work_items")
    assert item["title"] == "First"


@pytest.mark.seed("S-015")
@pytest.mark.spec("E-44")
def test_enrichment_off_blanks_ids_and_bucket_without_opening_a_file(scans):
    path = scans.song("x.flac", isrc="GBAYE0000351", mbid=MBID.format(1))
    scans.scan()
    path.write_bytes(b"\0" * path.stat().st_size)  # would be unreadable if it were opened
    os.utime(path, ns=(0, scans.table("scan_results")[0]["mtime_ns"]))

    off = scans.scan(enrich=False)

    (row,) = scans.table("scan_results")
    assert (off.counts.opened, row["status"]) == (0, "pending")
    assert (row["isrc"], row["mbid"], row["duration_ms"], row["duration_bucket"]) == ("", "", 0, 0)
    assert scans.scan(enrich=False).counts.unchanged == 1
    on = scans.scan(enrich=True)
    assert (on.counts.opened, scans.table("scan_results")[0]["status"]) == (1, "unreadable")


@pytest.mark.seed("S-062", "S-067")
@pytest.mark.parametrize(
    ("flag", "library", "default", "enriched"),
    [
        (None, None, True, 1),
        (None, None, False, 0),
        (None, True, False, 1),
        (None, False, True, 0),
        (True, False, False, 1),
        (False, True, True, 0),
    ],
)
def test_a_flag_wins_over_the_library_and_that_over_the_default(
    scans, flag, library, default, enriched
):
    scans.song("x.flac", isrc="GBAYE0000351")
    scans.run("UPDATE libraries SET enrich = :enrich", enrich=library)
    choice = {} if flag is None else {"enrich": flag}

    scans.scan(setup={"enrich": default}, **choice)

    (row,) = scans.table("scan_results")
    assert (row["enriched"], bool(row["isrc"]), row["duration_bucket"] > 0) == (
        enriched,
        bool(enriched),
        bool(enriched),
    )


@pytest.mark.seed("S-057")
@pytest.mark.parametrize(
    ("flag", "library", "stamped"),
    [
        (True, False, (1, "explicit")),
        (False, True, (0, "explicit")),
        (None, True, (1, "library")),
        (None, None, (0, "global")),
    ],
)
def test_the_detection_decision_is_stamped_on_what_a_scan_enqueues(scans, flag, library, stamped):
    scans.song("x.flac")
    scans.run("UPDATE libraries SET detect_instrumental = :detect", detect=library)

    scans.scan(**({} if flag is None else {"detect_instrumental": flag}))

    (item,) = scans.table("work_items")
    assert (item["detect_instrumental"], item["detect_origin"]) == stamped


@pytest.mark.seed("S-057", "S-062", "S-055")
@pytest.mark.parametrize("status", ["pending", "failed", "deferred"])
def test_a_detection_flag_also_decides_for_what_an_earlier_scan_enqueued(scans, status):
    scans.song("x.flac")
    scans.scan()
    queue = Queue(scans.db, now=scans.clock.now())
    if status != "pending":
        {"failed": queue.fail, "deferred": queue.miss}[status](queue.claim())
    (before,) = scans.table("work_items")

    report = scans.scan(detect_instrumental=True)

    (item,) = scans.table("work_items")
    changed = {"detect_instrumental": 1, "detect_origin": "explicit"}
    assert item == {**before, **changed, "updated_at": item["updated_at"]}
    assert (report.counts.opened, report.counts.enqueued, report.counts.unchanged) == (0, 0, 1)
    assert scans.statuses() == {"x.flac": status}

    scans.scan()
    assert scans.table("work_items") == [item]
    scans.scan(detect_instrumental=False)
    (item,) = scans.table("work_items")
    assert (item["detect_instrumental"], item["detect_origin"]) == (0, "explicit")


@pytest.mark.seed("S-062")
def test_a_detection_flag_brings_nothing_back_that_is_done(scans):
    scans.song("given up.flac")
    scans.song("written.flac").with_suffix(".txt").write_text("words\n")
    scans.scan()
    queue = Queue(scans.db, now=scans.clock.now())
    queue.policy = WaitPolicy(max_misses=1)
    queue.miss(queue.claim())
    before = scans.contents()

    scans.scan(detect_instrumental=True)

    assert scans.statuses() == {"given up.flac": "done", "written.flac": "done"}
    assert scans.contents() == before


@pytest.mark.seed("S-028")
def test_rows_of_an_older_key_version_get_exact_keys_without_a_file_being_opened(scans):
    path = scans.song("x.flac", "Ärger", artist="Björk")
    scans.scan()
    scans.run("UPDATE scan_results SET key_version = 0, title_key = '?rger', artist_key = 'bj?rk'")
    path.write_bytes(b"\0" * path.stat().st_size)
    os.utime(path, ns=(0, scans.table("scan_results")[0]["mtime_ns"]))

    report = scans.scan()

    (row,) = scans.table("scan_results")
    assert report.counts.opened == 0
    assert (row["title_key"], row["artist_key"]) == (match_key("Ärger"), match_key("Björk"))
    assert row["key_version"] == KEY_VERSION


def test_rows_of_an_older_reader_are_read_again(scans):
    scans.song("x.flac")
    scans.scan()
    scans.run("UPDATE scan_results SET reader_version = 0")

    assert scans.scan().counts.changed == 1
    assert scans.scan().counts.unchanged == 1


SIDECARS = {
    "nothing": None,
    "lrc_ours": ("lrc", LRC, Kind.LRC),
    "lrc_foreign": ("lrc", LRC, None),
    "txt_ours": ("txt", "words", Kind.TXT),
    "txt_foreign": ("txt", "words", None),
    "marker": ("txt", MARKER_BYTES.decode(), None),
}
FETCHED = {
    "nothing": "1111",
    "lrc_ours": "0011",
    "lrc_foreign": "0001",
    "txt_ours": "0111",
    "txt_foreign": "0111",
    "marker": "0011",
}


@pytest.mark.seed("S-012", "S-013")
@pytest.mark.parametrize("mode", FetchMode)
@pytest.mark.parametrize("state", SIDECARS)
def test_the_skip_table_decides_what_a_scan_enqueues(scans, state, mode):
    path = scans.song("x.flac")
    if SIDECARS[state]:
        suffix, text, kind = SIDECARS[state]
        sidecar = path.with_suffix(f".{suffix}")
        if kind:
            own(scans, sidecar, text, kind)
        else:
            sidecar.write_text(text)

    first = scans.scan(mode=mode)
    is_fetched = FETCHED[state][list(FetchMode).index(mode)] == "1"

    assert first.counts.enqueued == int(is_fetched)
    assert first.foreign == int(state == "lrc_foreign" and mode is FetchMode.UPDATE)
    assert {target["mode"] for target in scans.table("work_targets")} == (
        {str(mode)} if is_fetched else set()
    )
    assert set(scans.statuses().values()) == {"pending" if state == "nothing" else "done"}


def test_an_edited_file_of_ours_is_foreign(scans):
    path = scans.song("x.flac").with_suffix(".lrc")
    own(scans, path)
    path.write_text("[00:02.00]mine\n")

    assert scans.scan(mode=FetchMode.UPDATE).foreign == 1
    assert scans.rows()[0]["ours"] is False


def test_our_own_file_that_was_moved_is_known_again_by_its_content(scans):
    own(scans, scans.root / "old.lrc")
    scans.song("new.flac")
    (scans.root / "old.lrc").rename(scans.root / "new.lrc")

    scans.scan()

    assert scans.rows()[0]["ours"] is True
    (memory,) = scans.table("written_files")
    assert memory["path"] == str(scans.root / "new.lrc")


def settle(scans, outcome="synced"):
    """Let the queue's one item be done, as the worker would."""
    result = "written" if outcome == "synced" else "miss"
    scans.run(
        "UPDATE work_items SET status = 'done', outcome = :outcome, ready_key = NULL, "
        "completed_at = :now",
        outcome=outcome,
        now="2026-01-31T14:05:06.123Z",
    )
    scans.run("UPDATE work_targets SET status = 'done', result = :result", result=result)
    scans.run("UPDATE scan_results SET status = 'done'")
    scans.run("UPDATE counts SET n = 0 WHERE name LIKE 'ready.%' OR name = 'status.pending'")
    scans.run("UPDATE counts SET n = 1 WHERE name = 'status.done'")


@pytest.mark.spec("E-43")
def test_a_vanished_sidecar_of_ours_opens_its_target_again(scans):
    path = scans.song("x.flac")
    scans.scan()
    settle(scans)
    own(scans, path.with_suffix(".lrc"))
    assert scans.scan().counts.enqueued == 0
    assert scans.rows()[0]["ours"] is True
    path.with_suffix(".lrc").unlink()

    report = scans.scan()

    assert (report.counts.reopened, report.counts.enqueued) == (1, 1)
    assert scans.statuses() == {"x.flac": "pending"}
    assert scans.table("work_items")[0]["status"] == "pending"
    assert scans.scan().counts.enqueued == 0


@pytest.mark.spec("E-43")
@pytest.mark.parametrize("outcome", ["miss", "rejected"])
def test_a_track_that_was_given_up_is_not_asked_for_by_a_plain_scan(scans, outcome):
    path = scans.song("x.flac")
    scans.scan()
    settle(scans, outcome)
    scans.scan()
    path.touch()

    report = scans.scan()

    assert (report.counts.changed, report.counts.enqueued) == (1, 0)
    assert scans.statuses() == {"x.flac": "done"}
    assert scans.scan(mode=FetchMode.UPDATE).counts.enqueued == 1


def test_a_cleared_queue_is_not_filled_again_by_a_plain_scan(scans):
    scans.song("x.flac").with_suffix(".txt")
    scans.scan()
    settle(scans, "miss")
    scans.run("DELETE FROM work_items")
    scans.run("UPDATE counts SET n = 0 WHERE name = 'status.done'")
    before = scans.contents()

    assert scans.scan().counts.enqueued == 0
    assert scans.contents() == before


@pytest.mark.spec("E-09")
def test_a_scan_leaves_the_backoff_of_a_failed_item_alone(scans):
    path = scans.song("x.flac")
    scans.scan()
    scans.run(
        "UPDATE work_items SET status = 'failed', reason = 'network', ready_key = NULL, "
        "due_at = '2026-02-05T00:00:00.000Z'"
    )
    scans.run("UPDATE counts SET n = 0 WHERE name IN ('status.pending', 'ready.pending')")
    scans.run("UPDATE counts SET n = 1 WHERE name = 'status.failed'")
    scans.run(
        "INSERT INTO counts VALUES ('reason.failed.network', 1, '2026-01-31T14:05:06.000Z', "
        "'2026-01-31T14:05:06.000Z')"
    )
    path.touch()

    scans.scan()

    (item,) = scans.table("work_items")
    assert (item["status"], item["due_at"]) == ("failed", "2026-02-05T00:00:00.000Z")
    assert scans.statuses() == {"x.flac": "failed"}


def test_lyrics_in_the_tags_are_noted_and_respected_when_wanted(scans):
    scans.song("plain.flac", lyrics="some words\nmore words")
    scans.song("timed.flac", lyrics="[00:01.00]one\n[00:02.00]two")
    scans.song("none.flac")
    scans.scan()
    assert {row["name"]: row["embedded"] for row in scans.table("scan_results")} == {
        "plain.flac": 1,
        "timed.flac": 2,
        "none.flac": 0,
    }
    assert set(scans.statuses().values()) == {"pending"}


def test_respected_lyrics_make_a_row_done_until_they_no_longer_count(scans):
    scans.song("x.flac", lyrics="some words")
    respect = {"embedded_lyrics": "respect"}

    assert scans.scan(setup=respect).counts.enqueued == 0
    assert scans.statuses() == {"x.flac": "done"}
    assert scans.scan(setup=respect).counts.unchanged == 1
    later = scans.scan()
    assert (later.counts.enqueued, later.counts.opened) == (1, 0)
    assert scans.statuses() == {"x.flac": "pending"}


@pytest.mark.seed("S-007")
@pytest.mark.parametrize(("depth", "found"), [(0, 1), (1, 2), (100, 3)])
def test_the_depth_limits_how_far_down_a_scan_goes(scans, depth, found):
    for path in ("a.flac", "1/b.flac", "1/2/c.flac"):
        scans.song(path)

    assert scans.scan(setup={"depth": depth}).counts.seen == found


def test_what_lies_too_deep_this_time_is_not_missing(scans):
    scans.song("a.flac")
    scans.song("1/2/c.flac")
    scans.scan()

    assert scans.scan(setup={"depth": 1}).counts.missing == 0


def test_stale_temporary_files_of_ours_are_removed_and_no_others(scans):
    scans.song("x.flac")
    old, new, other = (
        scans.root / name
        for name in (".lyrsvc-01234567.tmp", ".lyrsvc-89abcdef.tmp", ".lyrsvc-nothex.tmp")
    )
    moment = scans.clock.now().timestamp()
    for path, age in ((old, 4000), (new, 60), (other, 4000)):
        path.touch()
        os.utime(path, (moment - age, moment - age))

    scans.scan()

    assert [path.exists() for path in (old, new, other)] == [False, True, True]


def test_a_scan_of_a_directory_looks_at_nothing_else(scans):
    scans.song("a/1/x.flac")
    scans.song("b/y.flac")
    scans.scan()
    scans.song("a/1/new.flac")
    scans.song("b/new.flac")
    (scans.root / "b" / "y.flac").unlink()

    report = scans.scan(below=scans.root / "a", started_by="watcher")

    assert (report.counts.seen, report.counts.new, report.counts.missing) == (2, 1, 0)
    (first, second) = scans.table("scan_runs")
    assert (first["scope"], second["scope"]) == ("", str(scans.root / "a"))
    assert second["started_by"] == "watcher"
    whole = scans.scan()
    assert (whole.counts.new, whole.counts.missing) == (1, 1)


def test_a_scan_of_a_directory_that_is_gone_begins_above_it(scans):
    scans.song("a/1/2/x.flac")
    scans.song("a/y.flac")
    scans.scan()
    (scans.root / "a/1/2/x.flac").unlink()
    (scans.root / "a/1/2").rmdir()
    (scans.root / "a/1").rmdir()

    report = scans.scan(below=scans.root / "a/1/2", started_by="watcher")

    assert (report.counts.seen, report.counts.missing) == (1, 1)


def test_a_scan_of_a_directory_counts_its_depth_from_the_root(scans):
    scans.song("1/2/3/deep.flac")

    assert scans.scan(below=scans.root / "1/2", setup={"depth": 2}).counts.seen == 0
    assert scans.scan(below=scans.root / "1/2", setup={"depth": 3}).counts.seen == 1
    assert scans.scan(below=scans.root / "1/2", setup={"depth": 1}).counts.seen == 0


def test_a_stop_ends_a_run_as_cancelled_and_marks_nothing(scans):
    scans.song("x.flac")
    scans.scan()
    (scans.root / "x.flac").unlink()
    scans.song("y.flac")
    scans.clock.stopped = True

    report = scans.scan()

    assert report.state is RunState.CANCELLED
    assert scans.statuses() == {"x.flac": "pending"}
    assert scans.table("scan_results")[0]["missing_since_at"] is None
    with scans.db.read() as tx:
        assert scan_runs.recent(tx)[0]["state"] == "cancelled"


@pytest.mark.spec("E-48")
def test_a_run_that_never_ended_is_over_when_the_next_begins(scans):
    scans.song("x.flac")
    scans.run(
        "INSERT INTO scan_runs (library_id, started_by, started_at) "
        "VALUES (1, 'cli', '2026-01-01T00:00:00.000Z')"
    )

    scans.scan()

    dead, done = scans.table("scan_runs")
    assert (dead["state"], dead["reason"]) == ("failed", "aborted")
    assert done["state"] == "done"


def test_batches_of_many_files_keep_every_row_and_every_count(scans):
    for number in range(1203):
        scans.song(f"{number % 7}/{number}.flac", f"Song {number}")

    report = scans.scan()

    assert report.counts.new == report.counts.enqueued == len(scans.rows()) == 1203
    assert len({row["target_id"] for row in scans.table("scan_results")}) == 1203
    assert scans.scan().counts.unchanged == 1203


def test_nonsense_times_do_not_stop_a_scan(scans):
    far = scans.song("far.flac")
    before = scans.song("before.flac")
    os.utime(far, (15_000_000_000, 15_000_000_000))
    os.utime(before, (-100, -100))

    assert scans.scan().counts.new == 2
    assert scans.scan().counts.unchanged == 2


def test_a_root_that_is_a_link_is_walked(scans, tmp_path):
    scans.song("x.flac")
    link = tmp_path / "link"
    link.symlink_to(scans.root)
    scans.run("DELETE FROM libraries")
    linked = scans.add(link)

    scans.scan(linked)

    assert scans.rows()[0]["source_path"] == str(link / "x.flac")


def test_listing_a_row_whose_item_is_claimed_shows_processing(scans):
    scans.song("x.flac")
    scans.scan()
    scans.run(
        "UPDATE work_items SET status = 'processing', claimed_from = 'pending', ready_key = NULL"
    )
    scans.run("UPDATE counts SET n = 0 WHERE name IN ('status.pending', 'ready.pending')")
    scans.run("UPDATE counts SET n = 1 WHERE name = 'status.processing'")
    with scans.db.read() as tx:
        (row,) = scan_listing.list_results(tx, status="processing")
    assert Path(row["source_path"]).name == "x.flac"


def test_an_interrupt_ends_a_run_as_cancelled_and_frees_the_library(scans):
    scans.song("x.flac")

    def interrupt(_report, _path):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scans.scan(watch=interrupt)

    (run,) = scans.table("scan_runs")
    assert (run["state"], scans.table("locks")) == ("cancelled", [])
    assert scans.scan().state is RunState.DONE


def test_a_run_tells_how_far_it_is(scans):
    for number in range(3):
        scans.song(f"{number}/x.flac", f"Song {number}")
    told = []

    scans.scan(watch=lambda report, path: told.append((report.counts.seen, Path(path).name)))

    assert told == [(0, scans.root.name), (3, "2")]


def test_a_row_that_changed_while_its_file_was_read_is_left_to_the_next_scan(scans):
    path = scans.song("x.flac")
    scans.scan()
    path.with_suffix(".lrc").write_text(LRC)
    rules = ScanRules(enrich=True, reader_version=READER_VERSION)
    root = str(scans.root)
    gate = ScanGate(scans.db, scans.library.id, root, rules)
    found = gate.compare([list_directory(root)])
    change = look_change(found.to_look[0], rules, scans.library.id)
    scans.run("UPDATE scan_results SET status = 'deferred', reason = 'not_found'")
    report = ScanReport(run_id=1, library_id=scans.library.id, library_name="Music")
    batches = ScanBatches(
        scans.db,
        report,
        clock=scans.clock,
        terms=lambda now: Terms(now=now, chance=Random(1), output_dir="/nowhere"),
        wake=lambda: None,
    )
    batches.add(change)
    batches.finish()

    assert scans.statuses() == {"x.flac": "deferred"}
    scans.scan()
    assert scans.statuses() == {"x.flac": "done"}


def test_a_sidecar_that_comes_during_the_scan_has_not_vanished(scans):
    path = scans.song("x.flac").with_suffix(".lrc")
    own(scans, path)
    scans.scan()
    rules = ScanRules(enrich=True, reader_version=READER_VERSION)
    root = str(scans.root)
    listing = list_directory(root)
    listing.sidecars.clear()  # as if it had been listed before the file was written
    gate = ScanGate(scans.db, scans.library.id, root, rules)

    (finding,) = gate.compare([listing]).to_look

    assert look_change(finding, rules, scans.library.id).is_idle
