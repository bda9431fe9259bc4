"""A path from outside becomes a file inside a root, or nothing."""

import os
import unicodedata

import pytest

from builders import minimal_flac
from lyrsvc.files.confinement import Confinement
from lyrsvc.files.open_folder import open_folder


@pytest.fixture
def root(tmp_path):
    place = tmp_path / "music"
    minimal_flac(place / "Artist" / "01 - Tide.flac")
    return place


def found(root, path, **options):
    audio = Confinement([root], **options).find(str(path))
    return audio and os.path.relpath(audio.path, root)


@pytest.mark.seed("S-023")
def test_a_file_inside_a_root_is_found_by_its_cleaned_path(root):
    assert found(root, root / "Artist" / "01 - Tide.flac") == "Artist/01 - Tide.flac"
    assert found(root, f"{root}//Artist/./x/../01 - Tide.flac") == "Artist/01 - Tide.flac"
    assert Confinement([f"{root}/"]).find(f"{root}/Artist/01 - Tide.flac").root == str(root)


def test_whether_a_path_lies_in_a_root_is_told_without_a_look_at_the_disk(monkeypatch):
    for name in ("stat", "lstat", "listdir", "scandir"):
        monkeypatch.setattr(os, name, None)
    mapped = Confinement(["/data/music"], mappings=(("/music", "/data/music"),))
    for path in ("/music/a.flac", "/data/music/x/../a.flac", "/data/music", "/music"):
        assert mapped.covers(path), path
    for path in ("/music2/a.flac", "/data/music/../a.flac", "a.flac", "", "/data/music/a\0"):
        assert not mapped.covers(path), path
    assert Confinement(["/m\u00fcsik"]).covers("/mu\u0308sik/a.flac")
    assert not Confinement([]).covers("/music/a.flac")


@pytest.mark.spec("H-10")
@pytest.mark.seed("S-024")
def test_a_path_outside_every_root_is_nothing(root, tmp_path):
    outside = minimal_flac(tmp_path / "music2" / "a.flac")
    assert found(root, outside) is None  # a sibling with the same prefix
    assert found(root, root / ".." / "music2" / "a.flac") is None
    assert found(root, f"{root}/../music2/a.flac") is None
    assert found(root, root) is None
    for path in ("a.flac", "C:\\music\\a.flac", "\\\\nas\\a.flac", "", "/", f"{root}/a\0.flac"):
        assert found(root, path) is None
    assert Confinement([]).find(str(root / "Artist" / "01 - Tide.flac")) is None


@pytest.mark.spec("H-10")
def test_links_that_lead_out_are_not_followed_and_links_that_stay_are(root, tmp_path):
    outside = minimal_flac(tmp_path / "outside" / "a.flac")
    (root / "out").symlink_to(outside.parent)
    (root / "file.flac").symlink_to(outside)
    (root / "dangling.flac").symlink_to(tmp_path / "nowhere.flac")
    (root / "loop.flac").symlink_to(root / "loop.flac")
    for path in ("out/a.flac", "file.flac", "dangling.flac", "loop.flac", "loop.flac/x.flac"):
        assert found(root, root / path) is None
    (root / "near").symlink_to(root / "Artist")
    (root / "near.flac").symlink_to(root / "Artist" / "01 - Tide.flac")
    # A linked directory is called as a walk would call it, a linked file by its own name.
    assert found(root, root / "near" / "01 - Tide.flac") == "Artist/01 - Tide.flac"
    assert found(root, root / "near.flac") == "near.flac"


@pytest.mark.spec("H-10")
def test_only_regular_audio_files_count(root):
    (root / "folder.flac").mkdir()
    os.mkfifo(root / "pipe.flac")
    (root / "words.txt").write_text("words")
    (root / "noext").write_text("x")
    for name in ("folder.flac", "pipe.flac", "words.txt", "noext", "missing.flac"):
        assert found(root, root / name) is None
    assert found(root, root / "Artist" / "01 - Tide.flac" / "x.flac") is None
    assert found(root, root / ("n" * 300 + ".flac")) is None


@pytest.mark.spec("H-09")
@pytest.mark.parametrize(("on_disk", "sent"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_names_in_another_unicode_form_or_case_are_found_when_one_entry_is_meant(
    tmp_path, on_disk, sent
):
    name = "Björk/Jóga é.flac"
    root = tmp_path / unicodedata.normalize(on_disk, "Müsik")
    path = minimal_flac(root / unicodedata.normalize(on_disk, name))
    asked = unicodedata.normalize(sent, f"{tmp_path}/Müsik/{name}")
    assert Confinement([root]).find(asked).path == str(path)
    assert Confinement([root]).find(asked.replace("Jóga", "JÓGA").replace("Jóga", "JÓGA"))


def test_two_entries_that_could_be_meant_are_none(root):
    minimal_flac(root / "SONG.flac")
    minimal_flac(root / "song.flac")
    assert found(root, root / "Song.flac") is None
    assert found(root, root / "song.flac") == "song.flac"


def test_a_root_is_never_found_by_another_case(root):
    path = str(root / "Artist" / "01 - Tide.flac").replace("/music/", "/MUSIC/")
    assert Confinement([root]).find(path) is None


def test_the_innermost_of_nested_roots_holds_a_file(root):
    inner = root / "Artist"
    audio = Confinement([root, inner]).find(str(inner / "01 - Tide.flac"))
    assert audio.root == str(inner)


def test_a_root_that_is_a_link_keeps_its_name(root, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(root)
    audio = Confinement([link]).find(str(link / "Artist" / "01 - Tide.flac"))
    assert audio.path == str(link / "Artist" / "01 - Tide.flac")


def test_mapped_paths_are_looked_up_here(root):
    mappings = (("D:\\Music", str(root)),)
    assert found(root, "D:\\Music\\Artist\\01 - Tide.flac", mappings=mappings)


def test_a_path_that_is_gone_is_expected_where_its_directories_are(root, tmp_path):
    confined = Confinement([root])
    gone = confined.expect(f"{root}/ARTIST/Gone/x.flac")
    assert (gone.path, gone.exists) == (f"{root}/Artist/Gone/x.flac", False)
    assert confined.expect(str(root / "Artist" / "01 - Tide.flac")).exists
    assert confined.expect(str(root)).path == str(root)
    assert confined.expect(str(tmp_path / "other")) is None
    (root / "out").symlink_to(tmp_path)
    assert confined.expect(str(root / "out" / "x.flac")) is None
    assert Confinement([tmp_path / "none"]).expect(str(tmp_path / "none" / "a")) is None


@pytest.mark.spec("H-10")
def test_a_directory_is_opened_name_by_name_and_no_link_on_the_way(root, tmp_path):
    (tmp_path / "outside" / "deep").mkdir(parents=True)
    (root / "a" / "deep").mkdir(parents=True)
    with open_folder(root / "a" / "deep", root=root) as handle:
        (root / "a").rename(tmp_path / "moved")
        (root / "a").symlink_to(tmp_path / "outside")
        os.close(os.open("x", os.O_CREAT | os.O_WRONLY, dir_fd=handle))
    assert (tmp_path / "moved" / "deep" / "x").exists()
    with (
        pytest.raises(OSError, match=r"directory|symbolic"),
        open_folder(root / "a" / "deep", root=root),
    ):
        pass
    assert list((tmp_path / "outside" / "deep").iterdir()) == []
