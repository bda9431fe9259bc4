"""``lyrsvc DIRECTORY``: sidecars beside the audio, against real HTTP and real files."""

import hashlib
import json
import os
import shutil
import time
from pathlib import Path

import pytest

from builders import CONTAINERS, make_audio, minimal_flac, minimal_mp3
from lyrsvc.demo.song import Song
from lyrsvc.demo.stand_in import LYRICS_PATH, TRANSLATIONS_PATH, StandIn
from lyrsvc.files.tree import AUDIO_SUFFIXES
from terminals import Done, Shell

FERRYMEN = "The Quiet Ferrymen"
WEIR = {"artist": FERRYMEN, "title": "Lanterns on the Weir", "album": "Low Tide Almanac"}
RADIO = {"artist": FERRYMEN, "title": "Kitchen Radio", "album": "Low Tide Almanac"}
HARBOUR = {"artist": FERRYMEN, "title": "Harbour Interlude", "album": "Low Tide Almanac"}
GLASS = {"artist": "Mara Voss", "title": "Glass Orchard", "album": "Glass Orchard"}
MISSING = {"artist": "Odd Parade", "title": "Unfinished Bridge"}
MARKER = "♪ Instrumental ♪\n".encode()
MBID = "0a1b2c3d-0000-4111-8222-333344445555"
SHORT = tuple(f"a short line number {number}" for number in range(5))


@pytest.fixture
def music(home: Path) -> Path:
    place = home / "music"
    place.mkdir()
    return place


def weir(path: Path, **tags: str) -> Path:
    return minimal_flac(path, seconds=38, **{**WEIR, **tags})


def radio(path: Path) -> Path:
    return minimal_flac(path, seconds=34, **RADIO)


def harbour(path: Path) -> Path:
    return minimal_flac(path, seconds=30, **HARBOUR)


def rows(done: Done) -> dict[str, list[str]]:
    return {line.split("\t")[1]: line.split("\t") for line in done.lines}


def state(done: Done, path: Path) -> str:
    return rows(done)[str(path)][0]


def reason(done: Done, path: Path) -> str:
    return rows(done)[str(path)][3]


def sidecars(place: Path) -> set[str]:
    return {
        str(path.relative_to(place))
        for path in place.rglob("*")
        if path.suffix in {".lrc", ".txt", ".elrc"}
    }


def fingerprint(place: Path) -> dict[str, tuple[str, int]]:
    """Give the hash and time of every file."""
    return {
        str(path): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in place.rglob("*")
        if path.is_file()
    }


def audio_of(place: Path) -> dict[str, tuple[str, int]]:
    return {
        name: facts
        for name, facts in fingerprint(place).items()
        if name.rpartition(".")[2] in AUDIO_SUFFIXES
    }


# --- the whole tree --------------------------------------------------------------------------


@pytest.fixture
def tree(music: Path, stand_in: StandIn) -> Path:
    """One tagged file of every container, in albums of different depth."""
    for number, kind in enumerate(CONTAINERS):
        title = f"Song in {kind}"
        times = (100, 480, 910, 1300, 1740)
        stand_in.add_song(
            Song(artist="Every Kind", title=title, length_s=2, lines=SHORT, times_ms=times)
        )
        folder = music / ("deep/" * (number % 3)) / f"disc {number % 2}"
        make_audio(folder / f"{number:02d} {title}.{kind}", artist="Every Kind", title=title)
    return music


@pytest.mark.seed("S-006", "S-021", "S-005")
@pytest.mark.spec("P-64", "C-24")
@pytest.mark.parametrize("lane", ["defaultprov", "lrclib"])
def test_every_container_gets_its_sidecar_beside_it_once(
    shell: Shell, stand_in: StandIn, tree: Path, lane: str
):
    assert set(CONTAINERS) == AUDIO_SUFFIXES
    before = audio_of(tree)
    done = shell.run("--provider", lane, "music")
    assert done.code == 0, done.out
    expected = {str(Path(name).with_suffix(".lrc").relative_to(tree)) for name in before}
    assert sidecars(tree) == expected
    for name in sidecars(tree):
        text = (tree / name).read_text()
        assert f"[source:{lane}]\n" in text
        assert "[00:00.10]a short line number 0\n" in text
    assert audio_of(tree) == before
    assert {path.name for path in shell.home.iterdir()} == {"music"}

    asked, after = len(stand_in.requests), fingerprint(tree)
    again = shell.run("--provider", lane, "music")
    assert (again.code, {line.split("\t")[0] for line in again.lines}) == (0, {"present"})
    assert len(stand_in.requests) == asked
    assert fingerprint(tree) == after


@pytest.mark.seed("S-006", "S-007")
@pytest.mark.spec("C-30")
@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (("-d", "0"), {"top.lrc"}),
        (("--depth", "1"), {"top.lrc", "1/one.lrc"}),
        ((), {"top.lrc", "1/one.lrc", "1/2/two.lrc", "1/2/3/three.lrc"}),
    ],
)
def test_the_depth_is_respected(shell: Shell, music: Path, flags, expected):
    for name in ("top", "1/one", "1/2/two", "1/2/3/three"):
        weir(music / f"{name}.flac")
    assert shell.run(*flags, "music").code == 0
    assert sidecars(music) == expected


@pytest.mark.seed("S-006")
@pytest.mark.spec("C-30", "P-64")
def test_an_output_directory_is_ignored_with_a_note(shell: Shell, music: Path):
    weir(music / "x.flac")
    done = shell.run("-o", "elsewhere", "music")
    assert done.code == 0
    assert sidecars(music) == {"x.lrc"}
    assert not (shell.home / "elsewhere").exists()
    assert done.err.count("--outdir is ignored") == 1


def test_a_directory_without_audio_is_told_of(shell: Shell, music: Path):
    (music / "empty").mkdir()
    (music / "empty" / "cover.jpg").write_bytes(b"")
    weir(music / "album" / "one.flac")
    done = shell.run("music/empty", "music/album")
    assert (done.code, sidecars(music)) == (0, {"album/one.lrc"})
    assert f"lyrsvc: no audio file was found in {music / 'empty'}\n" in done.err
    assert "album" not in done.err


def test_duplicates_are_asked_for_once_and_every_target_is_written(
    shell: Shell, stand_in: StandIn, music: Path
):
    for name in ("a/x.flac", "b/y.flac"):
        weir(music / name)
    minimal_mp3(music / "c/z.mp3", seconds=38.4, **WEIR)
    minimal_flac(music / "d/none.flac", seconds=36, **MISSING)
    minimal_flac(music / "e/none.flac", seconds=36, **MISSING)
    done = shell.run("music")
    assert done.code == 3
    assert sidecars(music) == {"a/x.lrc", "b/y.lrc", "c/z.lrc"}
    assert len(stand_in.calls(LYRICS_PATH)) == 2


def test_files_of_one_stem_share_a_sidecar(shell: Shell, stand_in: StandIn, music: Path):
    weir(music / "x.flac")
    minimal_mp3(music / "x.mp3", seconds=38, **WEIR)
    done = shell.run("music")
    assert (done.code, sidecars(music)) == (0, {"x.lrc"})
    assert len(stand_in.requests) == 1


def test_a_dry_run_changes_nothing(shell: Shell, music: Path):
    weir(music / "x.flac")
    radio(music / "y.flac")
    before = fingerprint(shell.home)
    done = shell.run("fetch", "--dry-run", "music")
    assert done.code == 0
    assert fingerprint(shell.home) == before
    assert "answered The Quiet Ferrymen / Lanterns on the Weir" in done.out
    assert "length apart 0.0 s" in done.out


# --- what may be replaced --------------------------------------------------------------------

FLAGS = {
    "none": (),
    "upgrade": ("--upgrade",),
    "update": ("--update",),
    "force": ("--update", "--force"),
}
OURS = "[by:lyrsvc]\n[ar:x]\n[00:01.00]an old line\n"
THEIRS = "[00:01.00]typed by hand\n"


@pytest.mark.seed("S-012", "S-013")
@pytest.mark.spec("P-56", "P-58")
@pytest.mark.parametrize(
    ("name", "content", "flags", "asked", "left"),
    [
        ("x.lrc", OURS, "none", False, {"x.lrc": "old"}),
        ("x.lrc", OURS, "upgrade", False, {"x.lrc": "old"}),
        ("x.lrc", OURS, "update", True, {"x.lrc": "new"}),
        ("x.lrc", OURS, "force", True, {"x.lrc": "new"}),
        ("x.lrc", THEIRS, "none", False, {"x.lrc": "old"}),
        ("x.lrc", THEIRS, "upgrade", False, {"x.lrc": "old"}),
        ("x.lrc", THEIRS, "update", False, {"x.lrc": "old"}),
        ("x.lrc", THEIRS, "force", True, {"x.lrc": "new"}),
        ("x.txt", "words by hand\n", "none", False, {"x.txt": "old"}),
        ("x.txt", "words by hand\n", "upgrade", True, {"x.txt": "old", "x.lrc": "new"}),
        ("x.txt", "words by hand\n", "update", True, {"x.txt": "old", "x.lrc": "new"}),
        ("x.txt", MARKER.decode(), "none", False, {"x.txt": "old"}),
        ("x.txt", MARKER.decode(), "upgrade", False, {"x.txt": "old"}),
        ("x.txt", MARKER.decode(), "update", True, {"x.lrc": "new"}),
        ("x.txt", MARKER.decode(), "force", True, {"x.lrc": "new"}),
    ],
)
def test_what_is_there_stays_or_goes_by_the_table(
    shell: Shell, stand_in: StandIn, music: Path, name, content, flags, asked, left
):
    weir(music / "x.flac")
    (music / name).write_text(content)
    done = shell.run(*FLAGS[flags], "music")
    assert done.code == 0
    assert bool(stand_in.requests) is asked
    found = {n: (music / n).read_text() for n in sidecars(music)}
    assert {n: "old" if text == content else "new" for n, text in found.items()} == left


@pytest.mark.seed("S-012")
@pytest.mark.spec("P-57")
def test_an_upgrade_replaces_its_own_words_by_synced_ones(
    shell: Shell, stand_in: StandIn, music: Path
):
    weir(music / "x.flac")
    stand_in.set_mode("plain")
    assert shell.run("music").code == 0
    before = fingerprint(music)
    assert sidecars(music) == {"x.txt"}
    done = shell.run("--upgrade", "music")  # still only words
    assert (done.code, state(done, music / "x.flac")) == (0, "present")
    assert fingerprint(music) == before
    stand_in.reset()
    assert shell.run("--upgrade", "music").code == 0
    assert sidecars(music) == {"x.lrc"}


@pytest.mark.seed("S-012")
def test_an_upgrade_replaces_its_own_words_though_the_timed_ones_are_spelled_otherwise(
    shell: Shell, stand_in: StandIn, music: Path
):
    plain = ("Don’t leave the lanterns low,", "And the river knows – every bridge", "", "will hold")
    timed = ("Don't leave the lanterns low", "and the river knows", "every bridge will hold")
    song = {"artist": "Odd Parade", "title": "Every Bridge"}
    minimal_flac(music / "x.flac", seconds=40, **song)
    stand_in.add_song(Song(**song, lines=plain))
    stand_in.set_mode("plain")
    assert shell.run("music").code == 0
    assert sidecars(music) == {"x.txt"}
    stand_in.add_song(Song(**song, lines=timed))
    stand_in.set_mode("normal")
    assert shell.run("--upgrade", "music").code == 0
    assert sidecars(music) == {"x.lrc"}


@pytest.mark.spec("P-59")
@pytest.mark.parametrize("mode", ["plain", "instrumental", "miss", "error500", "decoy", "html"])
def test_nothing_worse_replaces_an_lrc_file(
    patient: Shell, stand_in: StandIn, music: Path, mode: str
):
    weir(music / "x.flac")
    assert patient.run("music").code == 0
    before = fingerprint(music)
    stand_in.set_mode(mode)
    done = patient.run("--update", "music")
    assert fingerprint(music) == before
    assert done.code == (1 if mode in {"error500", "html"} else 0)


@pytest.mark.spec("P-60")
def test_an_update_with_the_same_answer_writes_nothing(shell: Shell, music: Path):
    weir(music / "x.flac")
    radio(music / "y.flac")
    harbour(music / "z.flac")
    assert shell.run("music").code == 0
    before = fingerprint(music)
    assert sidecars(music) == {"x.lrc", "y.txt", "z.txt"}
    assert shell.run("--update", "music").code == 0
    assert shell.run("--update", "--force", "music").code == 0
    assert fingerprint(music) == before


@pytest.mark.spec("P-56")
def test_edited_words_survive_everything_but_force(shell: Shell, stand_in: StandIn, music: Path):
    radio(music / "y.flac")
    assert shell.run("music").code == 0
    (music / "y.txt").write_text("edited by hand\n")
    for flags in ((), ("--upgrade",), ("--update",)):
        assert shell.run(*flags, "music").code == 0
        assert (music / "y.txt").read_text() == "edited by hand\n"
        assert sidecars(music) == {"y.txt"}
    assert shell.run("--update", "--force", "music").code == 0
    assert "kitchen radio" in (music / "y.txt").read_text()


# --- enrichment ------------------------------------------------------------------------------


@pytest.mark.seed("S-014")
@pytest.mark.spec("P-19", "P-50")
def test_ids_and_length_of_the_file_reach_the_lane_and_the_header(
    shell: Shell, stand_in: StandIn, music: Path
):
    weir(music / "x.flac", isrc="ZZ-DM1-26-00001", mbid=MBID)
    assert shell.run("music").code == 0
    asked = stand_in.requests[0].query
    assert (asked["track_isrc"], asked["q_duration"]) == ("ZZDM12600001", "38")
    header = (music / "x.lrc").read_text().splitlines()
    assert [line.partition(":")[0] for line in header[:10]] == [
        *("[by", "[ar", "[ti", "[al", "[length", "[source", "[fetched", "[ve", "[isrc", "[mbid")
    ]
    assert header[8:10] == ["[isrc:ZZDM12600001]", f"[mbid:{MBID}]"]


@pytest.mark.seed("S-014")
@pytest.mark.parametrize(
    ("lane", "tags"),
    [
        ("lrclib", ({}, {})),
        ("defaultprov", ({"isrc": "ZZDM12600101"}, {"isrc": "ZZ-DM1-26-00102"})),
    ],
)
def test_length_and_ids_tell_recordings_of_one_title_apart(
    shell: Shell, stand_in: StandIn, music: Path, lane: str, tags
):
    names = {"artist": "Odd Parade", "title": "Home"}
    for word, seconds, number in (("river", 40, "1"), ("harbour", 90, "2")):
        lines = tuple(f"by the {word} I sing line {place}" for place in range(6))
        isrc = f"ZZDM1260010{number}"
        stand_in.add_song(Song(**names, album=word, length_s=seconds, isrc=isrc, lines=lines))
        minimal_flac(music / f"{word}.flac", seconds=seconds, **names, **tags[int(number) - 1])
    assert shell.run("--provider", lane, "music").code == 0
    assert sidecars(music) == {"river.lrc", "harbour.lrc"}
    for word in ("river", "harbour"):
        assert f"]by the {word} I sing line 5\n" in (music / f"{word}.lrc").read_text()


@pytest.mark.seed("S-015")
@pytest.mark.parametrize("lane", ["defaultprov", "lrclib"])
def test_without_enrichment_none_of_them_is_used(
    shell: Shell, stand_in: StandIn, music: Path, lane: str
):
    weir(music / "x.flac", isrc="ZZDM12600001", mbid=MBID)
    shell.environ["LYRSVC_ENRICHMENT_ENABLED"] = "false"
    assert shell.run("--provider", lane, "music").code == 0
    asked = stand_in.requests[0].query
    assert "track_isrc" not in asked
    assert not asked.get("q_duration")
    assert "duration" not in asked
    text = (music / "x.lrc").read_text()
    assert "[isrc" not in text
    assert "[mbid" not in text


# --- lyrics inside the audio -----------------------------------------------------------------

INSIDE = "[00:01.00]from the tags\n[00:03.50]and another line\n[00:06.00]and a third\n"


@pytest.mark.spec("P-63")
def test_lyrics_in_the_tags_are_ignored_respected_or_extracted(
    shell: Shell, stand_in: StandIn, music: Path
):
    song = weir(music / "x.flac", lyrics=INSIDE)
    done = shell.run("--embedded-lyrics", "respect", "music")
    assert (done.code, rows(done)[str(song)][0::3]) == (0, ["present", "embedded"])
    done = shell.run("--embedded-lyrics", "respect", "--update", "music")
    assert (stand_in.requests, sidecars(music)) == ((), set())

    done = shell.run("--embedded-lyrics", "extract", "music")
    assert (done.code, rows(done)[str(song)][2]) == (0, "embedded")
    text = (music / "x.lrc").read_text()
    assert "[source:embedded]\n" in text
    assert "[fetched" not in text
    assert text.endswith(INSIDE)
    assert stand_in.requests == ()

    before = fingerprint(music)
    assert shell.run("--embedded-lyrics", "extract", "music").code == 0
    assert fingerprint(music) == before

    (music / "x.lrc").unlink()
    assert shell.run("music").code == 0
    assert "[source:defaultprov]" in (music / "x.lrc").read_text()


@pytest.mark.spec("P-63")
@pytest.mark.parametrize(
    ("kind", "lyrics", "name"),
    [
        ("flac", INSIDE, "x.lrc"),
        ("mp3", "plain words\nof two lines\n", "x.txt"),
        ("m4a", "plain words\nof two lines\n", "x.txt"),
        ("ogg", "♪ Instrumental ♪", "x.txt"),
    ],
)
def test_extracted_lyrics_have_their_form(
    shell: Shell, stand_in: StandIn, music: Path, kind: str, lyrics: str, name: str
):
    make_audio(music / f"x.{kind}", artist="A", title="T", lyrics=lyrics)
    shell.environ["LYRSVC_ENRICHMENT_ENABLED"] = "false"
    before = audio_of(music)
    assert shell.run("--embedded-lyrics", "extract", "music").code == 0
    assert sidecars(music) == {name}
    if lyrics.startswith("♪"):
        assert (music / name).read_bytes() == MARKER
    assert stand_in.requests == ()
    assert audio_of(music) == before


def test_with_upgrade_extracted_words_are_upgraded_and_timed_ones_are_not_asked_for(
    shell: Shell, stand_in: StandIn, music: Path
):
    weir(music / "timed.flac", lyrics=INSIDE)
    weir(music / "plain.flac", lyrics="plain words\nof two lines\n")
    done = shell.run("--embedded-lyrics", "extract", "--upgrade", "music")
    assert done.code == 0
    assert len(stand_in.requests) == 1
    assert "[source:embedded]" in (music / "timed.lrc").read_text()
    assert "[source:defaultprov]" in (music / "plain.lrc").read_text()
    assert (music / "plain.txt").read_text() == "plain words\nof two lines"


def test_a_miss_leaves_extracted_words_as_the_result(shell: Shell, music: Path):
    song = minimal_flac(music / "x.flac", seconds=36, **MISSING, lyrics="plain words\nof two\n")
    done = shell.run("--embedded-lyrics", "extract", "--update", "music")
    assert (done.code, state(done, song)) == (0, "present")
    assert sidecars(music) == {"x.txt"}


# --- names -----------------------------------------------------------------------------------


@pytest.mark.spec("P-66")
def test_untagged_files_are_asked_for_by_their_names(shell: Shell, stand_in: StandIn, music: Path):
    lines = tuple(f"harbour line {number}" for number in range(6))
    stand_in.add_song(Song(artist="Wishmaker", title="Harbour Lights", length_s=40, lines=lines))
    named = minimal_flac(music / "03 - Wishmaker - Harbour Lights.flac", seconds=40)
    nameless = minimal_flac(music / "track.flac", seconds=40)
    done = shell.run("music")
    assert done.code == 1
    assert (state(done, named), state(done, nameless)) == ("synced", "failed")
    assert reason(done, nameless) == "no_metadata"
    assert str(nameless) in done.err
    assert [r.query["q_track"] for r in stand_in.requests] == ["Harbour Lights"]


@pytest.mark.spec("P-66")
def test_a_guessed_name_is_not_trusted_with_a_merely_similar_answer(
    shell: Shell, stand_in: StandIn, music: Path
):
    lines = tuple(f"harbour line {number}" for number in range(6))
    stand_in.add_song(
        Song(artist="Wishmaker", title="Harbour Lights (Winter Quay)", length_s=40, lines=lines)
    )
    song = minimal_flac(music / "03 - Wishmaker - Harbour Lights.flac", seconds=40)
    done = shell.run("music")
    assert (done.code, state(done, song)) == (3, "miss")
    assert sidecars(music) == set()


@pytest.mark.spec("P-65")
@pytest.mark.parametrize(
    ("tags", "asked"),
    [
        ({"artist": FERRYMEN, "album_artist": "Various Artists"}, FERRYMEN),
        ({"artist": f"{FERRYMEN} feat. Mara Voss", "album_artist": FERRYMEN}, FERRYMEN),
        ({"artist": [FERRYMEN, "Mara Voss"], "album_artist": FERRYMEN}, FERRYMEN),
        ({"artist": [FERRYMEN, "Mara Voss"]}, f"{FERRYMEN}; Mara Voss"),
        ({"artist": "Various Artists", "album_artist": FERRYMEN}, FERRYMEN),
    ],
)
def test_the_artist_asked_for_is_that_of_the_track(
    shell: Shell, stand_in: StandIn, music: Path, tags, asked: str
):
    song = minimal_flac(
        music / "x.flac", seconds=38, **{**WEIR, "album": "Low Tide Almanac", **tags}
    )
    done = shell.run("music")
    assert (done.code, state(done, song)) == (0, "synced")
    assert stand_in.requests[0].query["q_artist"] == asked


def test_names_that_are_no_text_are_written_and_shown(shell: Shell, home: Path, music: Path):
    raw = os.fsencode(music) + b"/\xff\xfe song.flac"
    shutil.copyfile(weir(music / "x.flac"), raw)
    done = shell.run("music")
    assert done.code == 0
    assert Path(os.fsdecode(os.fsencode(music) + b"/\xff\xfe song.lrc")).exists()
    assert r"\xff\xfe song.flac" in done.out
    document = json.loads(shell.run("--json", "music").out.encode())
    by_bytes = [row for row in document["results"] if "path_b64" in row]
    assert len(by_bytes) == 1
    assert "\ufffd" in by_bytes[0]["path"]


@pytest.mark.spec("P-55")
def test_only_the_last_extension_is_replaced(shell: Shell, music: Path):
    weir(music / "U.S.A..flac")
    weir(music / "no.1.FLAC")
    assert shell.run("music").code == 0
    assert sidecars(music) == {"U.S.A..lrc", "no.1.lrc"}


# --- outputs ---------------------------------------------------------------------------------


@pytest.mark.seed("S-019")
@pytest.mark.spec("P-20", "P-21")
def test_songs_with_a_translation_are_written_bilingually(
    shell: Shell, stand_in: StandIn, music: Path
):
    weir(music / "x.flac")
    minimal_flac(music / "y.flac", seconds=42, **GLASS)
    shell.environ |= {"LYRSVC_BILINGUAL_OUTPUT": "true", "LYRSVC_TRANSLATION_LANGUAGE": "de"}
    assert shell.run("music").code == 0
    lines = (music / "x.lrc").read_text().splitlines()
    assert lines[lines.index("[00:10.62]Row me past the mill before the rain") + 1] == (
        "[00:10.62]Rudre mich vor dem Regen an der Mühle vorbei"
    )
    assert lines[-2:] == [
        "[00:15.88]Row me past the mill before the rain",
        "[00:15.88]Rudre mich vor dem Regen an der Mühle vorbei",
    ]
    assert "apples were" in (music / "y.lrc").read_text()  # no translation: written alone
    assert len(stand_in.calls(TRANSLATIONS_PATH)) == 2


@pytest.mark.spec("P-21")
def test_a_translation_into_the_language_of_the_song_is_not_asked_for(
    shell: Shell, stand_in: StandIn, music: Path
):
    weir(music / "x.flac")
    shell.environ |= {"LYRSVC_BILINGUAL_OUTPUT": "true", "LYRSVC_TRANSLATION_LANGUAGE": "en"}
    assert shell.run("music").code == 0
    assert stand_in.calls(TRANSLATIONS_PATH) == ()


@pytest.mark.spec("P-22")
def test_word_timing_goes_beside_or_into_the_lrc_file(shell: Shell, music: Path):
    weir(music / "off" / "x.flac")
    weir(music / "sibling" / "x.flac")
    weir(music / "inline" / "x.flac")
    for value in ("off", "sibling", "inline"):
        shell.environ["LYRSVC_WORD_TIMING"] = value
        assert shell.run(f"music/{value}").code == 0
    assert sidecars(music) == {"off/x.lrc", "sibling/x.lrc", "sibling/x.elrc", "inline/x.lrc"}
    plain = [
        (music / kind / "x.lrc").read_text().split("[00:", 1)[1] for kind in ("off", "sibling")
    ]
    assert plain[0] == plain[1]
    assert "<" not in plain[0]
    enhanced = "[00:01.40]<00:01.40>Somebody <"
    assert enhanced in (music / "sibling" / "x.elrc").read_text()
    assert enhanced in (music / "inline" / "x.lrc").read_text()


@pytest.mark.seed("S-017")
@pytest.mark.spec("P-47", "P-48", "P-64")
def test_the_script_guard_rejects_words_in_other_scripts(shell: Shell, music: Path):
    latin = weir(music / "latin.flac")
    names = {"artist": "Тихий Трамвай", "title": "Город из бумаги"}
    cyrillic = minimal_flac(music / "cyrillic.flac", seconds=35, **names)
    shell.environ["LYRSVC_GUARD_ACCEPTED_SCRIPTS"] = "latin"
    done = shell.run("music")
    assert (done.code, state(done, latin), state(done, cyrillic)) == (3, "synced", "miss")
    assert reason(done, cyrillic) == "script_guard"
    shell.environ["LYRSVC_GUARD_ACCEPTED_SCRIPTS"] = "Latin,CYRILLIC"
    assert shell.run("music").code == 0
    assert sidecars(music) == {"latin.lrc", "cyrillic.lrc"}


@pytest.mark.spec("P-48")
def test_an_unknown_script_is_a_fault_that_lists_the_names(shell: Shell, music: Path):
    shell.environ["LYRSVC_GUARD_ACCEPTED_SCRIPTS"] = "Latn"
    done = shell.run("music")
    assert done.code != 0 or "Cyrillic" in done.err
    assert "Cyrillic" in done.err


@pytest.mark.seed("S-018")
@pytest.mark.spec("P-64", "P-33")
def test_the_second_lane_serves_what_the_first_does_not_have(
    shell: Shell, stand_in: StandIn, music: Path
):
    song, glass = weir(music / "x.flac"), minimal_flac(music / "y.flac", seconds=42, **GLASS)
    shell.environ["LYRSVC_PROVIDERS_FALLBACK_ORDER"] = "lrclib"
    stand_in.set_mode("miss", lane="defaultprov", song="Lanterns on the Weir")
    stand_in.set_mode("decoy", lane="defaultprov", song="Glass Orchard")
    done = shell.run("music")
    assert done.code == 0
    assert {rows(done)[str(one)][2] for one in (song, glass)} == {"lrclib"}


# --- what is broken --------------------------------------------------------------------------


def test_broken_entries_are_counted_and_the_rest_is_done(shell: Shell, music: Path):
    good = weir(music / "zz good.flac")
    (music / "empty.flac").write_bytes(b"")
    (music / "broken.mp3").write_bytes(os.urandom(5000))
    (music / "text.flac").write_text("not audio at all")
    os.mkfifo(music / "pipe.mp3")
    (music / "dangling.flac").symlink_to(music / "nowhere.flac")
    started = time.monotonic()
    done = shell.run("music")
    assert time.monotonic() - started < 20
    assert done.code == 1
    assert state(done, good) == "synced"
    found = {Path(path).name: row[3] for path, row in rows(done).items() if row[0] == "failed"}
    assert found == {
        "empty.flac": "empty_file",
        "broken.mp3": "bad_container",
        "text.flac": "bad_container",
        "pipe.mp3": "not_regular",
        "dangling.flac": "io_error",
    }


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming somebody else takes root")
def test_an_unreadable_directory_is_named_and_the_rest_is_done(
    shell: Shell, stand_in: StandIn, music: Path
):
    assert shell.run("music").code == 0  # loads whatever nobody else may read
    weir(music / "good" / "x.flac")
    weir(music / "closed" / "y.flac")
    minimal_flac(
        music / "readonly" / "z.flac", seconds=42, title="Glass Orchard", artist="Mara Voss"
    )
    (music / "closed").chmod(0o700)
    for place in (music, *list(music.parents)[:-2]):
        place.chmod(place.stat().st_mode | 0o055)
    (music / "good").chmod(0o777)
    (music / "readonly").chmod(0o755)
    os.seteuid(65534)
    try:
        done = shell.run("music")
    finally:
        os.seteuid(0)
    assert done.code == 1
    assert (state(done, music / "closed"), reason(done, music / "closed")) == (
        *("failed", "open_denied"),
    )
    assert reason(done, music / "readonly" / "z.flac") == "write_denied"
    assert sidecars(music) == {"good/x.lrc"}
    assert "give the service's user write access" in done.err
    songs = {request.song for request in stand_in.requests}
    assert "Glass Orchard" not in songs  # nobody is asked for what could not be written


def test_a_failed_list_of_paths_can_be_fed_in_again(patient: Shell, stand_in: StandIn, music: Path):
    song = weir(music / "x, y.flac")
    stand_in.set_mode("error500")
    done = patient.run("--failed-list", "again.txt", "music")
    assert done.code == 1
    assert (patient.home / "again.txt").read_text() == f"{song}\n"
    stand_in.reset()
    assert patient.run("--from", "again.txt").code == 0
    assert sidecars(music) == {"x, y.lrc"}


def test_old_temporary_files_of_ours_are_removed_when_met(shell: Shell, music: Path):
    weir(music / "x.flac")
    (music / "x.lrc").write_text(THEIRS)
    old, young = music / ".lyrsvc-0123abcd.tmp", music / ".lyrsvc-4567abcd.tmp"
    for path in (old, young):
        path.write_text("left by a crash")
    os.utime(old, (time.time() - 7200, time.time() - 7200))
    assert shell.run("music").code == 0
    assert (old.exists(), young.exists()) == (False, True)
