"""Sidecars on disk: found, judged, written and removed."""

import os
import shutil
import stat
import subprocess
import sys
import unicodedata
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

import pytest

from devtools.system_tools import TOOLS
from file_facts import touched
from lyrsvc.core.errors import FileFault
from lyrsvc.core.lrc import read_header
from lyrsvc.core.lrc_output import HeaderFacts
from lyrsvc.core.lyrics import Candidate, Cue, Matched, Quality, Word
from lyrsvc.core.result import Accepted
from lyrsvc.core.sidecar import (
    MARKER_BYTES,
    FetchMode,
    Kind,
    OnDisk,
    WordTiming,
    content_hash,
    is_bare_marker,
    may_write,
    render,
)
from lyrsvc.core.verdict import Decision, Verdict
from lyrsvc.files.sidecar_writing import Place, SidecarWriter, WriteResult
from lyrsvc.files.sidecars import (
    STATELESS,
    Ownership,
    find_sidecars,
    read_regular,
)

VERDICT = Verdict(decision=Decision.ACCEPT, reason="ok_strong")
CUES = (
    Cue(1000, "We go on", (Word(1000, "We "), Word(1500, "go on")), 2000),
    Cue(3000, "and on"),
)
FIELDS = {
    Quality.INSTRUMENTAL: {"instrumental": True},
    Quality.UNSYNCED: {"plain": "We go on\nand on"},
    Quality.SYNCED: {"cues": CUES},
    Quality.WORD_SYNCED: {"cues": CUES},
}
HAND_MADE = {"lrc": b"[00:01.00]my own\n", "txt": b"my own words", "marker": MARKER_BYTES + b"mine"}
NORMAL, UPGRADE, UPDATE, FORCE = FetchMode


def files_of(quality, *, version="1.0.0", day=1, words=WordTiming.OFF):
    facts = HeaderFacts(artist="A", title="T", version=version)
    result = Accepted(
        candidate=Candidate(matched=Matched(), **FIELDS[quality]),
        quality=quality,
        verdict=VERDICT,
        lane="lrclib",
        fetched_at=datetime(2026, 1, day, tzinfo=UTC),
    )
    return render(result, facts, word_timing=words)


LRC, TXT, MARKER = (
    files_of(quality)[0].data
    for quality in (Quality.SYNCED, Quality.UNSYNCED, Quality.INSTRUMENTAL)
)
OLD_LRC = b"[by:lyrsvc]\n[00:01.00]an older text\n"
OLD_TXT = b"an older text"


class Shelf:
    """A directory with one audio file, and a writer that remembers hashes as serve does."""

    def __init__(self, directory, clock, name="Song.flac"):
        self.directory = directory
        self.audio = directory / name
        self.audio.write_bytes(b"audio")
        self.hashes = {}
        self.announced = []
        ownership = Ownership(
            owns=lambda path, _kind, data: (
                content_hash(data) == self.hashes.get(path.name) or is_bare_marker(data)
            )
        )
        self.serve = SidecarWriter(clock=clock, ownership=ownership, announce=self.announced.append)
        self.stateless = SidecarWriter(clock=clock, ownership=STATELESS)

    def put(self, name, data, *, ours=False):
        path = self.directory / name
        path.write_bytes(data)
        os.utime(path, (1_000_000_000, 1_000_000_000))
        if ours:
            self.hashes[name] = content_hash(data)
        return path

    def write(self, quality, mode=NORMAL, *, stateless=False, root=None, **options):
        writer = self.stateless if stateless else self.serve
        report = writer.write(
            Place.beside(self.audio, root=root),
            files_of(quality, **options),
            quality=quality,
            mode=mode,
        )
        self.hashes |= {file.path.name: file.sha256 for file in report.files}
        return report

    def content(self):
        return {
            path.name: path.read_bytes()
            for path in sorted(self.directory.iterdir())
            if path != self.audio and path.is_file()
        }


@pytest.fixture
def shelf(tmp_path, clock):
    return Shelf(tmp_path, clock)


@pytest.mark.seed("S-001", "S-002", "S-003", "S-021")
@pytest.mark.parametrize(
    ("quality", "name", "kind"),
    [
        (Quality.SYNCED, "Song.lrc", Kind.LRC),
        (Quality.UNSYNCED, "Song.txt", Kind.TXT),
        (Quality.INSTRUMENTAL, "Song.txt", Kind.MARKER),
    ],
)
def test_a_result_is_written_next_to_the_audio_which_stays_as_it_is(shelf, quality, name, kind):
    before = touched(shelf.audio)
    report = shelf.write(quality)
    (file,) = report.files
    path = shelf.directory / name
    assert (report.result, report.kind) == (WriteResult.WRITTEN, kind)
    assert (file.path, file.size, file.mtime_ns) == (
        path,
        path.stat().st_size,
        path.stat().st_mtime_ns,
    )
    assert file.sha256 == content_hash(path.read_bytes())
    assert shelf.content() == {name: files_of(quality)[0].data}
    assert touched(shelf.audio) == before
    assert shelf.announced[-1] == path


ON_DISK = {
    OnDisk.NOTHING: {},
    OnDisk.LRC_OURS: {"Song.lrc": (OLD_LRC, True)},
    OnDisk.LRC_FOREIGN: {"Song.lrc": (HAND_MADE["lrc"], False)},
    OnDisk.TXT_OURS: {"Song.txt": (OLD_TXT, True)},
    OnDisk.TXT_FOREIGN: {"Song.txt": (HAND_MADE["txt"], False)},
    OnDisk.MARKER_OURS: {"Song.txt": (MARKER_BYTES, False)},
    OnDisk.MARKER_FOREIGN: {"Song.txt": (HAND_MADE["marker"], False)},
}
WRITABLE = (Quality.INSTRUMENTAL, Quality.UNSYNCED, Quality.SYNCED)


@pytest.mark.spec("P-56", "P-57", "P-58", "P-59")
@pytest.mark.seed("S-012", "S-013")
@pytest.mark.parametrize(
    ("state", "mode", "quality"), list(product(ON_DISK, FetchMode, WRITABLE)), ids=str
)
def test_the_policy_on_disk(shelf, state, mode, quality):
    for name, (data, ours) in ON_DISK[state].items():
        shelf.put(name, data, ours=ours)
    before = shelf.content()
    place = Place.beside(shelf.audio)
    assert shelf.serve.look(place).state is state

    report = shelf.write(quality, mode)
    after = shelf.content()
    (new,) = files_of(quality)
    name = f"Song{new.extension}"

    if before.get(name) == new.data:
        assert (report.result, after) == (WriteResult.SAME, before)
    elif not may_write(state, mode, quality):
        expected = WriteResult.PRESENT if mode is NORMAL else WriteResult.KEPT
        assert (report.result, after) == (expected, before)
        assert (shelf.directory / next(iter(before))).stat().st_mtime == 1_000_000_000
    else:
        assert report.result is WriteResult.WRITTEN
        kept = {"Song.txt"} if state in {OnDisk.TXT_FOREIGN, OnDisk.MARKER_FOREIGN} else set()
        assert after == {other: before[other] for other in kept} | {name: new.data}
    if mode is not FORCE:
        foreign = {
            n: d for n, (d, ours) in ON_DISK[state].items() if not ours and d != MARKER_BYTES
        }
        assert foreign.items() <= after.items()


@pytest.mark.spec("P-56")
def test_a_directory_named_like_a_sidecar_is_no_sidecar_and_stays_closed(tmp_path):
    folder = tmp_path / "song.lrc"
    folder.mkdir()
    before = len(list(Path("/proc/self/fd").iterdir()))
    assert [read_regular(folder, most=10) for _ in range(20)] == [None] * 20
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_our_file_after_an_edit_is_somebody_elses(shelf):
    shelf.write(Quality.SYNCED)
    path = shelf.directory / "Song.lrc"
    path.write_bytes(path.read_bytes() + b"[00:09.00]my line\n")
    edited = shelf.content()
    assert shelf.write(Quality.SYNCED, UPDATE).result is WriteResult.KEPT
    assert shelf.content() == edited
    assert shelf.write(Quality.SYNCED, FORCE).result is WriteResult.WRITTEN
    assert shelf.content() == {"Song.lrc": LRC}


@pytest.mark.spec("P-57")
@pytest.mark.seed("S-012")
@pytest.mark.parametrize("stateless", [False, True])
def test_a_text_of_ours_gives_way_to_synced_lyrics(shelf, stateless):
    shelf.write(Quality.UNSYNCED)
    report = shelf.write(Quality.SYNCED, UPGRADE, stateless=stateless)
    assert report.removed == (shelf.directory / "Song.txt",)
    assert shelf.content() == {"Song.lrc": LRC}


@pytest.mark.seed("S-012")
@pytest.mark.parametrize("mode", [UPGRADE, UPDATE])
def test_without_memory_a_text_gives_way_to_the_same_words_synced(shelf, mode):
    shelf.put("Song.txt", b"WE GO ON,\r\n\r\nand on!\r\n")
    report = shelf.write(Quality.SYNCED, mode, stateless=True)
    assert report.removed == (shelf.directory / "Song.txt",)
    assert shelf.content() == {"Song.lrc": LRC}


@pytest.mark.spec("P-56")
@pytest.mark.parametrize("mode", [UPGRADE, UPDATE])
def test_with_memory_a_text_of_somebody_else_stays_although_its_words_are_synced(shelf, mode):
    shelf.put("Song.txt", TXT)
    assert shelf.write(Quality.SYNCED, mode).removed == ()
    assert shelf.content() == {"Song.lrc": LRC, "Song.txt": TXT}


@pytest.mark.spec("P-56")
@pytest.mark.parametrize("stateless", [False, True])
def test_a_text_with_own_lines_stays_beside_the_new_file(shelf, stateless):
    shelf.put("Song.txt", TXT + b"\nmy own line")
    assert shelf.write(Quality.SYNCED, UPGRADE, stateless=stateless).removed == ()
    assert shelf.content() == {"Song.lrc": LRC, "Song.txt": TXT + b"\nmy own line"}


@pytest.mark.parametrize("stateless", [False, True])
@pytest.mark.parametrize("old", [LRC, OLD_LRC])
def test_a_text_that_somebody_keeps_beside_an_lrc_file_stays(shelf, stateless, old):
    shelf.put("Song.lrc", old, ours=True)
    shelf.put("Song.txt", TXT)
    assert shelf.write(Quality.SYNCED, UPDATE, stateless=stateless).removed == ()
    assert shelf.content() == {"Song.lrc": LRC, "Song.txt": TXT}


@pytest.mark.parametrize("old", [LRC, OLD_LRC, HAND_MADE["lrc"]])
@pytest.mark.parametrize(("words", "goes"), [(TXT, True), (TXT + b"\nmy own line", False)])
def test_without_memory_force_leaves_no_text_whose_words_are_all_in_the_lrc_file(
    shelf, old, words, goes
):
    shelf.put("Song.lrc", old)
    text = shelf.put("Song.txt", words)
    report = shelf.write(Quality.SYNCED, FORCE, stateless=True)
    assert report.removed == ((text,) if goes else ())
    assert shelf.content() == {"Song.lrc": LRC} | ({} if goes else {"Song.txt": words})


@pytest.mark.parametrize("old", [LRC, OLD_LRC])
def test_with_memory_force_leaves_a_text_of_somebody_else_beside_the_lrc_file(shelf, old):
    shelf.put("Song.lrc", old, ours=True)
    shelf.put("Song.txt", TXT)
    assert shelf.write(Quality.SYNCED, FORCE).removed == ()


def test_without_memory_an_lrc_file_is_ours_by_its_header(shelf):
    shelf.put("Song.lrc", OLD_LRC)
    assert shelf.write(Quality.SYNCED, UPDATE, stateless=True).result is WriteResult.WRITTEN
    shelf.put("Song.lrc", HAND_MADE["lrc"])
    assert shelf.write(Quality.SYNCED, UPDATE, stateless=True).result is WriteResult.KEPT


@pytest.mark.spec("P-58")
@pytest.mark.seed("S-013")
def test_a_marker_stays_at_upgrade_and_goes_at_update(shelf):
    shelf.write(Quality.INSTRUMENTAL)
    assert shelf.write(Quality.SYNCED, UPGRADE).result is WriteResult.KEPT
    assert shelf.content() == {"Song.txt": MARKER}
    assert shelf.write(Quality.SYNCED, UPDATE).result is WriteResult.WRITTEN
    assert shelf.content() == {"Song.lrc": LRC}


@pytest.mark.spec("P-60")
@pytest.mark.parametrize("quality", WRITABLE)
def test_the_same_answer_again_is_not_written(shelf, quality):
    (file,) = shelf.write(quality).files
    os.utime(file.path, (1_000_000_000, 1_000_000_000))
    report = shelf.write(quality, UPDATE, version="9.9.9", day=28)
    assert report.result is WriteResult.SAME
    assert report.files[0].sha256 == file.sha256
    assert file.path.stat().st_mtime == 1_000_000_000


def test_after_a_crash_between_write_and_removal_the_sibling_still_goes(shelf):
    shelf.put("Song.txt", OLD_TXT, ours=True)
    shelf.put("Song.lrc", LRC, ours=True)
    report = shelf.write(Quality.SYNCED, UPGRADE)
    assert report.result is WriteResult.SAME
    assert shelf.content() == {"Song.lrc": LRC}
    assert (shelf.directory / "Song.lrc").stat().st_mtime == 1_000_000_000


@pytest.mark.parametrize("mode", [NORMAL, UPGRADE, UPDATE])
def test_an_equal_text_never_costs_a_better_file_its_place(shelf, mode):
    shelf.put("Song.txt", TXT, ours=True)
    shelf.put("Song.lrc", OLD_LRC, ours=True)
    before = shelf.content()
    shelf.write(Quality.UNSYNCED, mode)
    assert shelf.content() == before


@pytest.mark.parametrize("mode", [NORMAL, UPDATE])
def test_a_sidecar_that_appears_at_the_last_moment_is_kept(tmp_path, clock, mode):
    shelf = Shelf(tmp_path, clock)
    appeared = tmp_path / "song.LRC"

    def announce(_path):
        appeared.write_bytes(HAND_MADE["lrc"])

    writer = SidecarWriter(clock=clock, ownership=STATELESS, announce=announce)
    report = writer.write(
        Place.beside(shelf.audio), files_of(Quality.SYNCED), quality=Quality.SYNCED, mode=mode
    )
    assert report.result is (WriteResult.PRESENT if mode is NORMAL else WriteResult.KEPT)
    assert report.kind is Kind.LRC
    assert shelf.content() == {"song.LRC": HAND_MADE["lrc"]}


def test_an_edit_at_the_last_moment_is_kept(tmp_path, clock):
    shelf = Shelf(tmp_path, clock)
    path = shelf.put("Song.lrc", OLD_LRC)

    def announce(_path):
        path.write_bytes(HAND_MADE["lrc"])

    writer = SidecarWriter(clock=clock, ownership=STATELESS, announce=announce)
    report = writer.write(
        Place.beside(shelf.audio), files_of(Quality.SYNCED), quality=Quality.SYNCED, mode=UPDATE
    )
    assert report.result is WriteResult.KEPT
    assert shelf.content() == {"Song.lrc": HAND_MADE["lrc"]}


def test_a_text_edited_while_its_successor_is_written_is_not_removed(tmp_path, clock):
    shelf = Shelf(tmp_path, clock)
    text = shelf.put("Song.txt", TXT)
    seen = []

    def announce(path):
        seen.append(path)
        if path == text:
            pytest.fail("the edited text was about to be removed")

    class Late(SidecarWriter):
        def _write_words(self, task):
            text.write_bytes(TXT + b"\nedited")
            return super()._write_words(task)

    Late(clock=clock, ownership=STATELESS, announce=announce).write(
        Place.beside(shelf.audio), files_of(Quality.SYNCED), quality=Quality.SYNCED, mode=UPGRADE
    )
    assert shelf.content() == {"Song.lrc": LRC, "Song.txt": TXT + b"\nedited"}


def test_word_timing_has_its_sibling_which_never_stays_alone(shelf):
    report = shelf.write(Quality.WORD_SYNCED, words=WordTiming.SIBLING)
    assert [file.kind for file in report.files] == [Kind.LRC, Kind.ELRC]
    assert set(shelf.content()) == {"Song.lrc", "Song.elrc"}

    again = shelf.write(Quality.WORD_SYNCED, UPDATE, words=WordTiming.SIBLING, day=9)
    assert again.result is WriteResult.SAME
    assert [file.sha256 for file in again.files] == [file.sha256 for file in report.files]

    report = shelf.write(Quality.UNSYNCED, FORCE)
    assert set(report.removed) == {shelf.directory / "Song.lrc", shelf.directory / "Song.elrc"}
    assert shelf.content() == {"Song.txt": TXT}


def test_a_word_file_that_is_not_written_again_goes(shelf):
    shelf.write(Quality.WORD_SYNCED, words=WordTiming.SIBLING)
    shelf.write(Quality.SYNCED, UPDATE, day=3)
    assert set(shelf.content()) == {"Song.lrc"}


def test_a_foreign_word_file_stays(shelf):
    shelf.put("Song.elrc", b"[00:01.00]<00:01.00>mine")
    report = shelf.write(Quality.WORD_SYNCED, words=WordTiming.SIBLING)
    assert [file.kind for file in report.files] == [Kind.LRC]
    assert shelf.content()["Song.elrc"] == b"[00:01.00]<00:01.00>mine"


def test_a_word_file_whose_name_is_too_long_costs_only_the_words(tmp_path, clock):
    shelf = Shelf(tmp_path, clock, name="x" * 251 + ".mp3")
    report = shelf.write(Quality.WORD_SYNCED, words=WordTiming.SIBLING)
    assert report.result is WriteResult.WRITTEN
    assert [file.kind for file in report.files] == [Kind.LRC]


@pytest.mark.spec("P-55")
def test_only_the_last_extension_of_the_audio_is_replaced(tmp_path, clock):
    shelf = Shelf(tmp_path, clock, name="U.S.A..flac")
    shelf.write(Quality.SYNCED)
    assert set(shelf.content()) == {"U.S.A..lrc"}


@pytest.mark.parametrize(
    ("audio", "sidecar"),
    [
        ("Song.flac", "song.LRC"),
        (unicodedata.normalize("NFD", "Café.flac"), unicodedata.normalize("NFC", "Café.lrc")),
    ],
)
def test_a_sidecar_in_another_spelling_keeps_its_name(tmp_path, clock, audio, sidecar):
    shelf = Shelf(tmp_path, clock, name=audio)
    shelf.put(sidecar, OLD_LRC, ours=True)
    assert shelf.write(Quality.SYNCED).result is WriteResult.PRESENT
    assert shelf.write(Quality.SYNCED, UPDATE).result is WriteResult.WRITTEN
    assert shelf.content() == {sidecar: LRC}


def test_an_exact_match_of_one_audio_file_never_serves_another(shelf):
    shelf.put("song.mp3", b"other audio")
    shelf.put("song.lrc", OLD_LRC, ours=True)
    assert shelf.write(Quality.SYNCED, UPDATE).result is WriteResult.WRITTEN
    assert shelf.content()["song.lrc"] == OLD_LRC
    assert shelf.content()["Song.lrc"] == LRC


def test_a_language_suffix_makes_another_stem(shelf):
    shelf.put("Song.en.lrc", HAND_MADE["lrc"])
    assert shelf.write(Quality.SYNCED).result is WriteResult.WRITTEN
    assert set(shelf.content()) == {"Song.en.lrc", "Song.lrc"}


def test_undecodable_names_are_written_with_their_bytes(tmp_path, clock):
    name = b"\xff caf\xe9\n.flac"
    shelf = Shelf(tmp_path, clock, name=os.fsdecode(name))
    shelf.write(Quality.SYNCED)
    assert os.fsencode(next(iter(shelf.content()))) == b"\xff caf\xe9\n.lrc"


ODD = {
    "bom": b"\xef\xbb\xbf[ar:x]\r\n[00:01.00]a\n\r[00:02.00]b\r",
    "utf16": "[ar:x]\n[00:01.00]a".encode("utf-16"),
    "gbk": "[ar:周]\n[00:01.00]你好".encode("gbk"),
    "long line": b"[00:01.00]" + b"[" * 1024 * 1024,
    "empty": b"",
    "nul": b"\x00" * 100,
}


@pytest.mark.spec("P-52")
@pytest.mark.parametrize("ending", ["lrc", "txt"])
@pytest.mark.parametrize("odd", ODD)
def test_odd_bytes_are_left_alone(shelf, odd, ending):
    path = shelf.put(f"Song.{ending}", ODD[odd])
    for stateless, mode in product([False, True], [NORMAL, UPGRADE, UPDATE]):
        shelf.write(Quality.UNSYNCED, mode, stateless=stateless)
        assert path.read_bytes() == ODD[odd]


def test_the_header_of_a_file_of_ours_can_be_read_back(shelf):
    shelf.write(Quality.SYNCED)
    header = read_header((shelf.directory / "Song.lrc").read_text("utf-8"))
    assert (header["by"], header["ar"], header["ti"], header["source"]) == (
        "lyrsvc",
        "A",
        "T",
        "lrclib",
    )


@pytest.mark.parametrize("make", ["fifo", "link", "dangling"])
def test_what_is_no_regular_file_is_neither_read_nor_replaced(shelf, make):
    path = shelf.directory / "Song.lrc"
    precious = shelf.directory / "precious"
    if make == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to(precious)
        if make == "link":
            precious.write_bytes(OLD_LRC)
    before = touched(path)
    for mode in (NORMAL, UPGRADE, UPDATE):
        assert shelf.write(Quality.SYNCED, mode, stateless=True).kind is Kind.LRC
    assert touched(path) == before
    if make == "link":
        shelf.write(Quality.UNSYNCED, FORCE)
        shelf.write(Quality.SYNCED, FORCE)
        assert precious.read_bytes() == OLD_LRC


def test_a_directory_of_that_name_is_no_sidecar_and_says_why_nothing_can_be_written(shelf):
    path = shelf.directory / "Song.lrc"
    path.mkdir()
    assert shelf.serve.look(Place.beside(shelf.audio)).state is OnDisk.NOTHING
    for mode in (NORMAL, UPDATE, FORCE):
        with pytest.raises(FileFault, match=r"Song\.lrc: is a directory; give .* another name"):
            shelf.write(Quality.SYNCED, mode)
    assert sorted(each.name for each in shelf.directory.iterdir()) == ["Song.flac", "Song.lrc"]


def test_a_huge_file_is_not_ours(shelf):
    path = shelf.directory / "Song.lrc"
    with path.open("wb") as file:
        file.write(b"[by:lyrsvc]\n")
        file.truncate(40 * 1024 * 1024)
    assert shelf.write(Quality.SYNCED, UPDATE, stateless=True).result is WriteResult.KEPT


def test_a_directory_that_is_gone_is_not_made(shelf):
    place = Place(directory=shelf.directory / "gone", stem="Song", root=shelf.directory)
    files = files_of(Quality.SYNCED)
    report = shelf.serve.write(place, files, quality=Quality.SYNCED, mode=NORMAL)
    assert report.result is WriteResult.GONE
    assert shelf.serve.look(place) is None
    assert not (shelf.directory / "gone").exists()


def test_an_output_directory_is_made(shelf):
    place = Place(directory=shelf.directory / "a/b", stem="A - T", create=True)
    files = files_of(Quality.SYNCED)
    assert shelf.serve.write(place, files, quality=Quality.SYNCED, mode=NORMAL).files
    assert (shelf.directory / "a/b/A - T.lrc").read_bytes() == LRC


def escapes(shelf, place):
    with pytest.raises(FileFault) as caught:
        shelf.serve.write(place, files_of(Quality.SYNCED), quality=Quality.SYNCED, mode=NORMAL)
    return caught.value.reason == "path_escape"


def test_a_directory_that_leads_out_of_the_library_is_refused(shelf, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    root = shelf.directory / "root"
    root.mkdir()
    (root / "album").symlink_to(outside)
    (shelf.directory / "root-2").mkdir()
    for directory in (root / "album", root / "..", root / "../root-2", shelf.directory):
        assert escapes(shelf, Place(directory=directory, stem="Song", root=root))
    assert list(outside.iterdir()) == []


def test_a_linked_root_and_links_inside_it_are_fine(shelf):
    real = shelf.directory / "real"
    (real / "album").mkdir(parents=True)
    (real / "best").symlink_to(real / "album")
    root = shelf.directory / "music"
    root.symlink_to(real)
    place = Place(directory=root / "best", stem="Song", root=root)
    report = shelf.serve.write(place, files_of(Quality.SYNCED), quality=Quality.SYNCED, mode=NORMAL)
    assert (real / "album/Song.lrc").read_bytes() == LRC
    assert report.files[0].path == root / "best/Song.lrc"
    assert {path.parent for path in shelf.announced} == {root / "best"}


def test_files_are_known_by_their_directory_as_it_was_named(shelf, clock):
    real, link = shelf.directory / "real", shelf.directory / "link"
    real.mkdir()
    link.symlink_to(real)
    (real / "Song.lrc").write_bytes(OLD_LRC)
    (real / "Song.txt").write_bytes(OLD_TXT)
    asked = []

    def owns(path, kind, data):
        asked.append((path, kind, data))
        return True

    writer = SidecarWriter(clock=clock, ownership=Ownership(owns=owns))
    report = writer.write(
        Place(directory=link, stem="Song"),
        files_of(Quality.SYNCED),
        quality=Quality.SYNCED,
        mode=UPDATE,
    )
    assert asked == [
        (link / "Song.lrc", Kind.LRC, OLD_LRC),
        (link / "Song.txt", Kind.TXT, OLD_TXT),
    ]
    assert report.removed == (link / "Song.txt",)


def test_a_directory_that_vanishes_during_the_write_is_gone(shelf, clock):
    album = shelf.directory / "album"
    album.mkdir()
    writer = SidecarWriter(
        clock=clock, ownership=STATELESS, announce=lambda path: shutil.rmtree(path.parent, True)
    )
    report = writer.write(
        Place(directory=album, stem="Song"),
        files_of(Quality.SYNCED),
        quality=Quality.SYNCED,
        mode=NORMAL,
    )
    assert report.result is WriteResult.GONE


def test_a_place_that_keeps_changing_is_given_up(shelf, clock):
    path = shelf.put("Song.lrc", OLD_LRC)
    turns = iter(range(100))

    def announce(_path):
        path.write_bytes(OLD_LRC + b"[00:01.00]%d\n" % next(turns))

    writer = SidecarWriter(clock=clock, ownership=STATELESS, announce=announce)
    with pytest.raises(FileFault) as caught:
        writer.write(
            Place.beside(shelf.audio),
            files_of(Quality.SYNCED),
            quality=Quality.SYNCED,
            mode=UPDATE,
        )
    assert caught.value.reason == "write_error"
    assert path.read_bytes().startswith(OLD_LRC)


@pytest.mark.parametrize("stem", ["", ".", "..", "../x", "a/b", "a\0b"])
def test_a_stem_that_is_no_file_name_is_refused(shelf, stem):
    assert escapes(shelf, Place(directory=shelf.directory, stem=stem))


def test_a_loop_of_links_is_a_fault_and_no_crash(shelf):
    loop = shelf.directory / "loop"
    loop.symlink_to(loop)
    with pytest.raises(FileFault) as caught:
        shelf.serve.look(Place(directory=loop, stem="Song"))
    assert caught.value.reason == "write_error"


@pytest.mark.spec("P-61")
def test_leftovers_of_a_crash_are_removed_when_met(shelf, clock):
    names = {".lyrsvc-00000001.tmp": timedelta(hours=2), ".lyrsvc-00000002.tmp": timedelta(0)}
    for name, age in names.items():
        moment = (clock.now() - age).timestamp()
        os.utime(shelf.put(name, b"half"), (moment, moment))
    shelf.write(Quality.SYNCED)
    assert set(shelf.content()) == {".lyrsvc-00000002.tmp", "Song.lrc"}


@pytest.mark.spec("P-62")
def test_a_replaced_sidecar_keeps_its_mode(shelf):
    path = shelf.put("Song.lrc", OLD_LRC, ours=True)
    path.chmod(0o640)
    shelf.write(Quality.SYNCED, UPDATE)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_stem_without_audio_finds_its_sidecars_too():
    assert find_sidecars("a - b", ["a - b.txt", "A - B.lrc", "x.flac"]) == (
        "A - B.lrc",
        "a - b.txt",
        None,
    )


@pytest.mark.needs_tool("mkfs.vfat")
@pytest.mark.spec("P-62")
def test_a_file_system_without_hard_links_and_owners_will_do(tmp_path, clock):
    image, mount = tmp_path / "image", tmp_path / "disk"
    mount.mkdir()
    with image.open("wb") as file:
        file.truncate(8 * 1024 * 1024)
    subprocess.run([TOOLS["mkfs.vfat"].path(), image], check=True, capture_output=True)
    made = subprocess.run(["mount", "-o", "loop", image, mount], check=False, capture_output=True)
    if made.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        shelf = Shelf(mount, clock)
        shelf.write(Quality.UNSYNCED)
        shelf.write(Quality.SYNCED, UPGRADE)
        assert shelf.content() == {"Song.lrc": LRC}
    finally:
        subprocess.run(["umount", mount], check=True)


UPGRADE_FOREVER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from lyrsvc.core.lyrics import Quality
from lyrsvc.core.sidecar import FetchMode, Kind, Rendered
from lyrsvc.files.sidecar_writing import Place, SidecarWriter
from lyrsvc.files.sidecars import Ownership

class Clock:
    def now(self): return datetime(2026, 1, 1, tzinfo=UTC)

writer = SidecarWriter(clock=Clock(), ownership=Ownership(owns=lambda *_: True))
place = Place.beside(Path(sys.argv[1]))
print("ready", flush=True)
turn = 0
while True:
    turn += 1
    for kind, quality in ((Kind.TXT, Quality.UNSYNCED), (Kind.LRC, Quality.SYNCED)):
        data = b"%08d" % turn * 5000
        writer.write(place, [Rendered(kind, data)], quality=quality, mode=FetchMode.FORCE)
"""


@pytest.mark.spec("P-61")
def test_kill_during_a_change_of_kind_leaves_whole_files(shelf):
    import random
    import time

    shelf.put("Song.txt", b"%08d" % 0 * 5000)
    random.seed(7)
    for _ in range(10):
        child = subprocess.Popen(
            [sys.executable, "-c", UPGRADE_FOREVER, shelf.audio], stdout=subprocess.PIPE
        )
        assert child.stdout.readline() == b"ready\n"
        end = time.monotonic() + random.uniform(0.0005, 0.03)
        while time.monotonic() < end:
            pass
        child.kill()
        child.wait()
        child.stdout.close()
        whole = {n: d for n, d in shelf.content().items() if n.startswith("Song.")}
        assert whole
        assert all(data == data[:8] * 5000 for data in whole.values())
        assert shelf.audio.read_bytes() == b"audio"
