"""Walking a library."""

import os
from pathlib import Path

import pytest

from lyrsvc.files.tree import AUDIO_SUFFIXES, EntryFault, Listing, walk


def grow(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch() if not name.endswith("/") else path.mkdir(parents=True, exist_ok=True)


def listings(root: Path, **options) -> dict[str, Listing]:
    found = list(walk(str(root), **options))
    return {os.path.relpath(each.path, root): each for each in found}


def audio(listing: Listing) -> list[str]:
    return [file.name for file in listing.audio]


def test_every_known_extension_is_audio_in_any_case(tmp_path):
    assert len(AUDIO_SUFFIXES) == 23
    for suffix in AUDIO_SUFFIXES:
        grow(tmp_path, f"a.{suffix}", f"b.{suffix.upper()}")
    grow(tmp_path, "a.jpg", "mp3", "a.mp3.part", "a.mid")
    assert len(listings(tmp_path)["."].audio) == 46


def test_an_audio_file_comes_with_what_tells_a_change(tmp_path):
    (tmp_path / "a.mp3").write_bytes(b"12345")
    (file,) = listings(tmp_path)["."].audio
    found = (tmp_path / "a.mp3").stat()
    assert file == ("a.mp3", found.st_mtime_ns, 5, found.st_ino)


def test_sidecars_and_temp_names_are_part_of_the_listing(tmp_path):
    grow(tmp_path, "a.mp3", "a.lrc", "b.TXT", "c.elrc", "cover.jpg")
    grow(tmp_path, ".lyrsvc-0123abcd.tmp", ".lyrsvc-0123abc.tmp", ".lyrsvc-0123ABCD.tmp")
    listing = listings(tmp_path)["."]
    assert listing.sidecars == ["a.lrc", "b.TXT", "c.elrc"]
    assert listing.temp_names == [".lyrsvc-0123abcd.tmp"]


def test_names_come_in_byte_order_and_files_before_subdirectories(tmp_path):
    names = ["a.mp3", "B.mp3", "é.mp3", "e\u0301.mp3", "\uf8ff.mp3", "😀.mp3", "Z.mp3"]
    grow(tmp_path, *names, "b/x.mp3", "B/x.mp3", "a/c/x.mp3", "a/b/x.mp3", "a/x.mp3")
    (tmp_path / os.fsdecode(b"\xff.mp3")).touch()
    (tmp_path / os.fsdecode(b"\x80.mp3")).touch()
    found = listings(tmp_path)
    assert list(found) == [".", "B", "a", "a/b", "a/c", "b"]
    as_bytes = [os.fsencode(name) for name in audio(found["."])]
    assert as_bytes == sorted(as_bytes)
    assert len(as_bytes) == 9


@pytest.mark.parametrize(
    ("depth", "seen"),
    [(0, ["."]), (1, [".", "a"]), (2, [".", "a", "a/b"]), (100, [".", "a", "a/b", "a/b/c"])],
)
def test_the_walk_descends_while_the_depth_allows(tmp_path, depth, seen):
    grow(tmp_path, "a/b/c/x.mp3")
    assert list(listings(tmp_path, depth=depth)) == seen


def test_a_hundred_levels_are_the_default(tmp_path):
    deep = tmp_path
    for _ in range(103):
        deep = deep / "d"
    deep.mkdir(parents=True)
    assert max(each.depth for each in walk(str(tmp_path))) == 100


def test_hidden_and_foreign_names_are_skipped(tmp_path):
    skipped = ("@eaDir", "#recycle", "#snapshot", "$RECYCLE.BIN", "System Volume Information")
    skipped += ("$Recycle.Bin", "@Recycle", "@Recently-Snapshot")
    grow(tmp_path, "._a.mp3", ".hidden/x.mp3", ".Trash-1000/x.mp3", "lost+found/x.mp3", "ok/x.mp3")
    grow(tmp_path, *(f"{name}/x.mp3" for name in skipped))
    found = listings(tmp_path)
    assert list(found) == [".", "ok"]
    assert found["."].audio == []


def test_an_album_may_be_called_as_what_a_check_of_a_disk_has_found(tmp_path):
    grow(tmp_path, "Lost+Found/x.mp3")
    assert list(listings(tmp_path)) == [".", "Lost+Found"]


def test_names_that_begin_with_an_ellipsis_are_music(tmp_path):
    grow(tmp_path, "..But Seriously/x.mp3", "...Like Clockwork/...Like Clockwork.mp3", "..a.lrc")
    found = listings(tmp_path)
    assert list(found) == [".", "...Like Clockwork", "..But Seriously"]
    assert audio(found["...Like Clockwork"]) == ["...Like Clockwork.mp3"]
    assert found["."].sidecars == ["..a.lrc"]


def test_the_root_may_have_any_name_and_be_a_link(tmp_path):
    grow(tmp_path, ".real/x.mp3")
    (tmp_path / ".link").symlink_to(".real")
    assert audio(next(iter(walk(str(tmp_path / ".link"))))) == ["x.mp3"]


def test_linked_directories_are_not_followed(tmp_path):
    grow(tmp_path, "real/x.mp3")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "loop").symlink_to(".")
    (tmp_path / "looks.mp3").symlink_to("real")
    found = listings(tmp_path)
    assert list(found) == [".", "real"]
    assert found["."].faults == []


def test_a_link_to_a_file_is_read_and_a_dangling_one_is_one_fault(tmp_path):
    grow(tmp_path, "real/x.mp3")
    (tmp_path / "good.mp3").symlink_to("real/x.mp3")
    (tmp_path / "bad.mp3").symlink_to("nowhere")
    (tmp_path / "bad.txt").symlink_to("nowhere")
    listing = listings(tmp_path)["."]
    assert audio(listing) == ["good.mp3"]
    assert listing.faults == [EntryFault("bad.mp3", "io_error")]


def test_what_is_no_file_is_a_fault_and_a_directory_named_like_one_is_entered(tmp_path):
    os.mkfifo(tmp_path / "x.flac")
    grow(tmp_path, "album.mp3/y.mp3")
    found = listings(tmp_path)
    assert found["."].faults == [EntryFault("x.flac", "not_regular")]
    assert audio(found["album.mp3"]) == ["y.mp3"]


def test_a_missing_root_is_a_fault_of_its_listing(tmp_path):
    (listing,) = walk(str(tmp_path / "gone"))
    assert listing.fault == "io_error"


def test_a_directory_that_is_too_deep_for_a_path_is_a_fault(tmp_path):
    here = os.open(tmp_path, os.O_RDONLY)
    try:
        for _ in range(20):
            os.mkdir("d" * 250, dir_fd=here)
            below = os.open("d" * 250, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
    finally:
        os.close(here)
    *good, last = walk(str(tmp_path))
    assert last.fault == "io_error"
    assert len(good) > 10


@pytest.mark.skipif(os.geteuid() == 0, reason="the administrator may read everything")
def test_a_denied_directory_is_a_fault_and_the_walk_goes_on(tmp_path):
    grow(tmp_path, "a/x.mp3", "b/x.mp3")
    (tmp_path / "a").chmod(0)
    found = listings(tmp_path)
    assert (found["a"].fault, audio(found["b"])) == ("open_denied", ["x.mp3"])


def test_directories_of_others_are_skipped(tmp_path):
    grow(tmp_path, "mine/x.mp3", "theirs/x.mp3", "theirs/deep/x.mp3")
    found = listings(tmp_path, skip={f"{tmp_path}/theirs"})
    assert list(found) == [".", "mine"]
    assert found["."].subdirectories == ["mine", "theirs"]


def test_strange_names_survive(tmp_path):
    names = [
        "new\nline.mp3",
        "tab\t.mp3",
        "x" * 251 + ".mp3",
        os.fsdecode(b"\xff\xfe.mp3"),
        " .mp3",
    ]
    for name in names:
        (tmp_path / name).touch()
    listing = listings(tmp_path)["."]
    assert sorted(audio(listing)) == sorted(names)
    assert all((tmp_path / name).exists() for name in audio(listing))


def test_a_root_with_a_slash_at_its_end_makes_clean_paths(tmp_path):
    grow(tmp_path, "a/x.mp3")
    assert [each.path for each in walk(f"{tmp_path}/")] == [f"{tmp_path}/", f"{tmp_path}/a"]
