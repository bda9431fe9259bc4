"""Registering libraries."""

from pathlib import Path

import pytest

from lyrsvc.core.errors import Refused
from lyrsvc.services.library_lock import LibraryBusy, library_lock
from lyrsvc.services.library_registry import Override, Wanted
from scans import Scans


@pytest.fixture
def scans(db, clock, tmp_path):
    scans = Scans(db, clock, tmp_path / "music")
    yield scans
    assert scans.wrong_counts() == {}


@pytest.mark.spec("E-46", "C-33")
def test_an_equal_root_is_refused_however_it_is_spelled(scans, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(scans.root)
    (scans.root / "sub").mkdir()
    for spelling in (
        scans.root,
        f"{scans.root}/",
        f"{scans.root}/sub/..",
        "music",
        "./music/.",
        link,
        f"//{str(scans.root).lstrip('/')}",
    ):
        with pytest.raises(Refused, match='is already library "Music"; use library update Music'):
            scans.registry.add(Wanted(path=str(spelling)))


def test_links_in_a_root_stay_as_they_were_typed(scans, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    assert scans.add(tmp_path / "link").path == tmp_path / "link"


@pytest.mark.parametrize("path", ["/", "//", "/.."])
def test_the_root_of_everything_is_refused(scans, path):
    with pytest.raises(Refused, match="/ cannot be a library"):
        scans.registry.add(Wanted(path=path))


def test_a_root_must_be_a_directory_that_is_there_unless_waived(scans, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(Refused, match="no directory"):
        scans.registry.add(Wanted(path=str(tmp_path / "file")))
    with pytest.raises(Refused, match="--allow-missing"):
        scans.registry.add(Wanted(path=str(tmp_path / "later")))
    added = scans.registry.add(Wanted(path=str(tmp_path / "later")), allow_missing=True)
    assert added.library.name == "later"


def test_a_name_is_the_last_part_of_the_path_and_unique_ignoring_case(scans, tmp_path):
    for parent in ("a", "b"):
        (tmp_path / parent / "MUSIC").mkdir(parents=True)
    assert scans.add(tmp_path / "a" / "MUSIC").name == "MUSIC-2"
    with pytest.raises(Refused, match='already named "Music"'):
        scans.registry.add(Wanted(path=str(tmp_path / "b" / "MUSIC"), name="music"))
    with pytest.raises(Refused, match="needs a name"):
        scans.registry.add(Wanted(path=str(tmp_path / "b" / "MUSIC"), name="  "))


@pytest.mark.spec("E-46")
def test_an_inner_library_takes_the_rows_below_it_and_gives_them_back_to_a_scan(scans):
    scans.song("keep.flac")
    scans.song("in/a/x.flac")
    scans.song("in/y.flac")
    scans.song("inner/z.flac")
    scans.scan()
    ids = {row["source_path"]: row["id"] for row in scans.rows()}
    items = scans.table("work_items")

    done = scans.registry.add(Wanted(path=str(scans.root / "in")))

    inner = done.library
    assert done.notes == (
        f'{scans.root / "in"} lies inside library "Music" ({scans.root}); '
        "the inner library owns the files below it",
    )
    assert {row["source_path"]: row["id"] for row in scans.rows()} == ids
    assert {(Path(row["source_path"]).name, row["library_name"]) for row in scans.rows()} == {
        ("keep.flac", "Music"),
        ("x.flac", "in"),
        ("y.flac", "in"),
        ("z.flac", "Music"),
    }
    assert scans.wrong_counts() == {}

    before = scans.contents()
    outer_run, inner_run = scans.scan(), scans.scan(inner)
    assert (outer_run.counts.seen, inner_run.counts.seen) == (2, 2)
    assert (inner_run.counts.unchanged, inner_run.counts.opened) == (2, 0)
    assert scans.contents() == before
    assert scans.table("work_items") == items
    assert len(scans.table("work_targets")) == 4

    held = scans.registry.remove(inner)
    assert (held.scan_rows, held.cancelled) == (2, 2)
    assert scans.scan().counts.new == 2
    assert len(scans.rows()) == 4


@pytest.mark.spec("E-46")
def test_an_inner_library_behind_a_link_takes_its_rows_too(scans, tmp_path):
    scans.song("in/x.flac")
    scans.scan()
    (tmp_path / "link").symlink_to(scans.root / "in")

    inner = scans.add(tmp_path / "link")

    assert [row["source_path"] for row in scans.rows()] == [str(tmp_path / "link" / "x.flac")]
    (target,) = scans.table("work_targets")
    assert (target["out_dir"], target["library_id"]) == (str(tmp_path / "link"), inner.id)
    assert scans.scan().counts.seen == 0
    assert scans.scan(inner).counts.unchanged == 1


def test_a_library_around_another_leaves_it_its_files(scans, tmp_path):
    scans.song("x.flac")
    scans.scan()

    done = scans.registry.add(Wanted(path=str(tmp_path), name="outer"))

    assert done.notes == (
        f'{tmp_path} contains library "Music" ({scans.root}); '
        "the inner library owns the files below it",
    )
    assert scans.scan(done.library).counts.seen == 0


@pytest.mark.spec("E-46")
def test_a_library_that_was_moved_keeps_statuses_and_asks_for_nothing_anew(scans, tmp_path):
    path = scans.song("a/x.flac")
    scans.song("y.flac").with_suffix(".lrc").write_text("[00:01.00]x\n")
    scans.scan()
    scans.run("UPDATE scan_results SET status = 'deferred' WHERE name = 'x.flac'")
    scans.run(
        "INSERT INTO written_files (path, path_hash, kind, sha256, created_at, updated_at) "
        "VALUES (:path, 'h', 'lrc', 's', :now, :now)",
        path=str(path.with_suffix(".lrc")),
        now="2026-01-31T14:05:06.123Z",
    )
    new = tmp_path / "moved"
    scans.root.rename(new)

    moved = scans.registry.update(scans.library, Wanted(path=str(new)))

    assert moved.library.path == new
    scans.root = new
    assert scans.statuses() == {"a/x.flac": "deferred", "y.flac": "done"}
    (target,) = scans.table("work_targets")
    assert (target["out_dir"], target["source_path"]) == (str(new / "a"), str(new / "a/x.flac"))
    assert scans.table("written_files")[0]["path"] == str(new / "a/x.lrc")
    report = scans.scan(moved.library)
    assert (report.counts.unchanged, report.counts.enqueued) == (2, 0)


def test_a_library_that_is_being_scanned_is_not_moved(scans, tmp_path):
    (tmp_path / "new").mkdir()
    with (
        library_lock(scans.db, scans.library, clock=scans.clock, purpose="scan"),
        pytest.raises(LibraryBusy),
    ):
        scans.registry.update(scans.library, Wanted(path=str(tmp_path / "new")))
    assert scans.reload().path == scans.root


@pytest.mark.spec("E-47", "C-34")
def test_overrides_are_set_kept_and_taken_back(scans):
    library = scans.library
    for wanted, stored in (
        (Wanted(enrich=Override(value=True)), True),
        (Wanted(enrich=Override(value=False)), False),
        (Wanted(name="Other"), False),
        (Wanted(enrich=Override(value=None)), None),
    ):
        library = scans.registry.update(library, wanted).library
        assert (library.enrich, library.detect_instrumental) == (stored, None)


def test_a_choice_about_detection_says_how_what_waits_follows_it(scans, tmp_path):
    def choose(choice: bool | None, **more: str) -> tuple[str, ...]:
        wanted = Wanted(detect_instrumental=Override(choice), **more)
        return scans.registry.update(scans.library, wanted).notes

    assert choose(True) == ()  # nothing was queued yet
    assert choose(None) == ()
    scans.song("x.flac")
    scans.scan()

    (note,) = choose(True, name="My Music")
    assert note.endswith("lyrsvc scan --library 'My Music' --detect-instrumental")
    assert choose(None) == ()
    (tmp_path / "other").mkdir()
    (note,) = choose(False, path=str(tmp_path / "other"))
    assert note.endswith("--no-detect-instrumental")


@pytest.mark.seed("S-061", "S-065")
def test_two_changes_at_once_keep_each_other(scans):
    seen_by_both = scans.library
    scans.registry.update(seen_by_both, Wanted(enrich=Override(value=False)))
    scans.registry.update(seen_by_both, Wanted(detect_instrumental=Override(value=True)))
    scans.registry.update(seen_by_both, Wanted(name="Other"))
    stored = scans.reload()
    assert (stored.name, stored.enrich, stored.detect_instrumental) == ("Other", False, True)


def test_another_path_keeps_what_another_command_has_changed_meanwhile(scans, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    seen_by_both = scans.library
    scans.registry.update(seen_by_both, Wanted(name="Other", enrich=Override(value=False)))
    scans.registry.update(seen_by_both, Wanted(path=str(tmp_path / "elsewhere")))
    stored = scans.reload()
    assert (stored.name, stored.enrich) == ("Other", False)
    assert stored.path == tmp_path / "elsewhere"


def test_an_update_recommends_no_flag_that_it_does_not_have(scans, tmp_path):
    with pytest.raises(Refused, match=r"name an existing directory$"):
        scans.registry.update(scans.library, Wanted(path=str(tmp_path / "later")))


def test_a_name_that_is_taken_is_refused_on_update(scans, tmp_path):
    (tmp_path / "other").mkdir()
    other = scans.add(tmp_path / "other")
    with pytest.raises(Refused, match="already named"):
        scans.registry.update(other, Wanted(name="MUSIC"))
    assert scans.registry.update(other, Wanted(name="OTHER")).library.name == "OTHER"


@pytest.mark.spec("E-19")
def test_clearing_one_of_two_libraries_trims_what_the_other_still_wants(scans, tmp_path):
    (tmp_path / "second").mkdir()
    second = scans.add(tmp_path / "second")
    scans.song("shared.flac", "Shared")
    scans.song("own.flac", "Own")
    scans.song("../second/shared.flac", "Shared")
    scans.scan()
    scans.scan(second)

    told = scans.registry.count(scans.library, inventory_only=True)
    done = scans.registry.clear(scans.library)

    assert told == done == (2, 1, 1)
    assert [item["title"] for item in scans.table("work_items")] == ["Shared"]
    assert [row["library_name"] for row in scans.rows()] == ["second"]
    assert scans.reload().id == scans.library.id
    assert scans.scan().counts.new == 2


def test_removing_a_library_leaves_finished_work_alone(scans):
    scans.song("x.flac")
    scans.scan()
    scans.run(
        "UPDATE work_items SET status = 'done', outcome = 'synced', ready_key = NULL, "
        "completed_at = '2026-01-31T14:05:06.123Z'"
    )
    scans.run("UPDATE counts SET n = 0 WHERE name IN ('status.pending', 'ready.pending')")
    scans.run("UPDATE counts SET n = 1 WHERE name = 'status.done'")

    held = scans.registry.remove(scans.library)

    assert held == (1, 0, 0)
    assert [item["status"] for item in scans.table("work_items")] == ["done"]
    assert scans.table("libraries") == scans.table("scan_results") == scans.table("scan_dirs") == []
    assert (scans.root / "x.flac").exists()
