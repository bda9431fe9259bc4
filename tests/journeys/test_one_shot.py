"""``lyrsvc artist,title`` from the command line to the file, against real HTTP."""

import itertools
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from builders import minimal_flac
from fakes import FakeClock
from lyrsvc import __version__
from lyrsvc.demo.song import Song
from lyrsvc.demo.stand_in import LYRICS_PATH, TOKEN_PATH, StandIn
from terminals import Done, Shell

TOKEN = "operator-token-4711"
FERRYMEN = "The Quiet Ferrymen"
SYNCED = f"{FERRYMEN},Lanterns on the Weir"
PLAIN = f"{FERRYMEN},Kitchen Radio"
INSTRUMENTAL = f"{FERRYMEN},Harbour Interlude"
DECOY = "Odd Parade,Counting Ghost Notes"
MISS = "Odd Parade,Unfinished Bridge"
BROKEN = "Odd Parade,Server Room Lullaby"
GLASS = "Mara Voss,Glass Orchard"
LANES = ("defaultprov", "lrclib")
MARKER = "♪ Instrumental ♪\n".encode()
NO_TOKEN = (
    "lyrsvc: no token for lane defaultprov; set PROVIDER_TOKEN (or --token), or use the open lane: "
    'providers.primary = "lrclib" (--provider lrclib)\n'
)


def files(home: Path) -> set[str]:
    return {str(path.relative_to(home)) for path in home.rglob("*") if not path.is_dir()}


def states(done: Done) -> list[str]:
    return [line.split("\t")[0] for line in done.lines]


def reasons(done: Done) -> list[str]:
    return [line.split("\t")[3] for line in done.lines]


# --- what is written -------------------------------------------------------------------------


@pytest.mark.seed("S-001", "S-004", "S-018")
@pytest.mark.spec("C-23")
@pytest.mark.parametrize("lane", LANES)
def test_synced_lyrics_become_an_lrc_file_in_the_current_directory(shell: Shell, lane: str):
    shell.clock = FakeClock()
    done = shell.run("--provider", lane, SYNCED)
    path = shell.home / f"{FERRYMEN} - Lanterns on the Weir.lrc"
    assert (done.code, done.out) == (0, f"synced\t{SYNCED}\t{lane}\t{path}\n")
    assert path.read_bytes().decode() == (
        "[by:lyrsvc]\n"
        f"[ar:{FERRYMEN}]\n"
        "[ti:Lanterns on the Weir]\n"
        "[length:00:38]\n"
        f"[source:{lane}]\n"
        "[fetched:2026-01-31T14:05:06Z]\n"
        f"[ve:v{__version__}]\n"
        "[00:01.40]Somebody left the lanterns on the weir\n"
        "[00:04.50]and the river wrote their colours down\n"
        "[00:07.14]♪\n"
        "[00:10.62]Row me past the mill before the rain\n"
        "[00:12.91]I owe the miller for a borrowed coat\n"
        "[00:15.88]Row me past the mill before the rain\n"
    )
    assert done.err == (
        "lyrsvc: 1 synced, 0 unsynced, 0 instrumental, 0 present, 0 miss, 0 failed\n"
    )


@pytest.mark.seed("S-002")
@pytest.mark.parametrize("lane", LANES)
def test_words_without_times_become_a_text_file_and_a_success(
    shell: Shell, stand_in: StandIn, lane: str
):
    stand_in.set_mode("plain")
    done = shell.run("--provider", lane, PLAIN)
    assert (done.code, states(done)) == (0, ["unsynced"])
    assert (shell.home / f"{FERRYMEN} - Kitchen Radio.txt").read_bytes().decode() == (
        "The kitchen radio is full of weather\n"
        "and my sister hums along with the snow\n"
        "Turn it down, the bread is sleeping\n"
        "Turn it up, the bread can know"
    )


@pytest.mark.seed("S-012", "S-013")
def test_an_upgrade_asks_again_for_words_and_an_update_for_markers_too(
    shell: Shell, stand_in: StandIn
):
    stem = f"{FERRYMEN} - Lanterns on the Weir"
    words, marker, synced = {f"{stem}.txt"}, {f"{stem}.txt"}, {f"{stem}.lrc"}
    for mode, flag, asked, left in (
        ("plain", "", 1, words),
        ("normal", "", 0, words),
        ("plain", "--upgrade", 1, words),
        ("normal", "--upgrade", 1, synced),
        ("normal", "--upgrade", 0, synced),
        ("instrumental", "", 1, marker),
        ("normal", "--upgrade", 0, marker),
        ("normal", "--update", 1, synced),
    ):
        if mode == "instrumental":
            (shell.home / f"{stem}.lrc").unlink()
        stand_in.set_mode(mode)
        before = len(stand_in.requests)
        assert shell.run(*filter(None, (flag, SYNCED))).code == 0
        assert len(stand_in.requests) - before == asked, (mode, flag)
        assert {path.name for path in shell.home.iterdir()} == left, (mode, flag)


@pytest.mark.seed("S-003")
@pytest.mark.parametrize("lane", LANES)
def test_an_instrumental_becomes_a_marker(shell: Shell, lane: str):
    done = shell.run("--provider", lane, INSTRUMENTAL)
    assert (done.code, states(done)) == (0, ["instrumental"])
    assert (shell.home / f"{FERRYMEN} - Harbour Interlude.txt").read_bytes() == MARKER


@pytest.mark.seed("S-004")
@pytest.mark.spec("C-23")
def test_files_go_to_the_named_directory_which_is_made(shell: Shell):
    for flag, place in (("-o", "new/dir"), ("--outdir", "other")):
        assert shell.run(flag, place, SYNCED).code == 0
        assert (shell.home / place / f"{FERRYMEN} - Lanterns on the Weir.lrc").is_file()
    assert len(files(shell.home)) == 2


@pytest.mark.parametrize(
    ("place", "why"), [("a file", "file exists"), ("a file/below", "not a directory")]
)
def test_where_no_directory_can_be_made_nobody_is_asked(
    shell: Shell, stand_in: StandIn, place: str, why: str
):
    (shell.home / "a file").write_text("")
    done = shell.run("--provider", "lrclib", "-o", place, SYNCED, GLASS)
    assert (done.code, states(done)) == (1, ["failed", "failed"])
    assert f"cannot write {shell.home / place}: {why}; a file stands where a dir" in done.err
    assert stand_in.requests == ()


@pytest.mark.spec("C-23")
def test_the_output_directory_of_the_service_means_nothing_here(shell: Shell):
    shell.write_config('[output]\ndir = "elsewhere"\n')
    assert shell.run(SYNCED).code == 0
    assert (shell.home / f"{FERRYMEN} - Lanterns on the Weir.lrc").is_file()


@pytest.mark.seed("S-005")
@pytest.mark.spec("C-24", "P-64")
def test_nothing_but_the_lyrics_is_left_behind(shell: Shell):
    assert shell.run(SYNCED, PLAIN, MISS).code == 3
    assert files(shell.home) == {
        f"{FERRYMEN} - Lanterns on the Weir.lrc",
        f"{FERRYMEN} - Kitchen Radio.txt",
    }
    assert [path for path in shell.home.rglob("*") if path.is_dir()] == []


@pytest.mark.spec("P-55")
@pytest.mark.parametrize(
    ("artist", "title", "name"),
    [
        ("Outkast", "?", r"Outkast - untitled-[0-9a-f]{8}\.lrc"),
        ("AC/DC", "T.N.T.", r"ACDC - T\.N\.T\.lrc"),
        ("con", "nul", r"_con - _nul\.lrc"),
        ("Somebody", "long " * 60 + "song", r"Somebody - (long ?)+\.lrc"),
    ],
)
def test_every_query_gets_a_name_that_file_systems_take(
    shell: Shell, stand_in: StandIn, artist: str, title: str, name: str
):
    lines = tuple(f"line {number} of these words" for number in range(5))
    stand_in.add_song(Song(artist=artist, title=title, lines=lines))
    assert shell.run(f"{artist},{title}").code == (3 if title == "?" else 0)
    shell.run("fetch", "--artist", artist, "--title", title, "--duration", "40")
    (found,) = files(shell.home)
    assert re.fullmatch(name, found)
    assert len(found.encode()) <= 255


def test_two_songs_with_one_name_get_two_files_and_one_song_twice_gets_one(
    shell: Shell, stand_in: StandIn
):
    for title in ("What?", "What*"):
        lines = tuple(f"{title} line {number} with words" for number in range(5))
        stand_in.add_song(Song(artist="Duo", title=title, lines=lines))
    done = shell.run("Duo,What?", "Duo,What*", "Duo,What?", "duo,what?")
    assert states(done) == ["synced", "synced", "present", "present"]
    assert files(shell.home) == {"Duo - What.lrc", "Duo - What (2).lrc"}


@pytest.mark.parametrize("flags", [(), ("--upgrade",), ("--update",), ("--update", "--force")])
def test_the_file_of_another_song_keeps_its_name_in_later_runs(
    shell: Shell, stand_in: StandIn, flags: tuple[str, ...]
):
    for title in ("What?", "What"):
        lines = tuple(f"{title} line {number} with words" for number in range(5))
        stand_in.add_song(Song(artist="Duo", title=title, lines=lines))
    shell.run("DUO,WHAT?")
    assert states(shell.run(*flags, "Duo,What")) == ["synced"]
    assert states(shell.run(*flags, "Duo,What", "DUO,WHAT?")) == ["present", "present"]
    assert files(shell.home) == {"DUO - WHAT.lrc", "Duo - What (2).lrc"}
    assert "[ti:WHAT?]" in (shell.home / "DUO - WHAT.lrc").read_text("utf-8")
    assert "[ti:What]" in (shell.home / "Duo - What (2).lrc").read_text("utf-8")


# --- the token -------------------------------------------------------------------------------


@pytest.mark.seed("S-005", "S-018")
@pytest.mark.spec("C-25", "P-70", "P-32")
def test_without_a_token_nothing_is_asked_and_both_remedies_are_named(
    shell: Shell, stand_in: StandIn
):
    del shell.environ["PROVIDER_TOKEN"]
    done = shell.run(SYNCED)
    assert (done.code, done.out, done.err) == (1, "", NO_TOKEN)
    assert stand_in.requests == ()
    assert files(shell.home) == set()

    done = shell.run("--provider", "lrclib", SYNCED)
    assert (done.code, states(done)) == (0, ["synced"])
    assert stand_in.calls(TOKEN_PATH) == ()
    assert "token" not in done.err


@pytest.mark.spec("C-02")
@pytest.mark.seed("S-102")
def test_the_token_comes_from_flag_then_environment_then_file(shell: Shell, stand_in: StandIn):
    config = shell.write_config('[api]\ntoken = "file-token-44"\n')
    config.chmod(0o600)
    shell.environ |= {"PROVIDER_TOKEN": "env-token-22", "LYRSVC_API_TOKEN": "alias-token-33"}
    assert shell.run("--token", "flag-token-11", "-o", "1", SYNCED).code == 0
    assert shell.run("-o", "2", SYNCED).code == 0
    del shell.environ["PROVIDER_TOKEN"]
    assert shell.run("-o", "3", SYNCED).code == 0
    del shell.environ["LYRSVC_API_TOKEN"]
    assert shell.run("-o", "4", SYNCED).code == 0
    assert [request.query["usertoken"] for request in stand_in.requests] == [
        *("flag-token-11", "env-token-22", "alias-token-33", "file-token-44")
    ]
    assert config.read_text() == '[api]\ntoken = "file-token-44"\n'


@pytest.mark.seed("S-110")
@pytest.mark.spec("P-09")
@pytest.mark.parametrize(
    ("argv", "source"), [((), "PROVIDER_TOKEN"), (("--token", "typed-token-99"), "--token")]
)
def test_a_finished_token_of_the_operator_is_named_and_never_replaced(
    shell: Shell, stand_in: StandIn, argv: tuple[str, ...], source: str
):
    stand_in.set_mode("finished", lane="defaultprov")
    done = shell.run(*argv, SYNCED, PLAIN)
    assert (done.code, states(done)) == (1, ["failed", "failed"])
    assert reasons(done) == ["token_finished", "identity_refused"]
    assert f"the token of {source} is not accepted any more" in done.err
    assert "a portal API key is not a user token" in done.err
    assert stand_in.calls(TOKEN_PATH) == ()
    assert len(stand_in.calls(LYRICS_PATH)) == 1, "the lane is closed after the first"


# --- exit codes and states -------------------------------------------------------------------


@pytest.mark.spec("C-26", "P-68")
@pytest.mark.parametrize(
    ("queries", "code", "expected"),
    [
        ((SYNCED, PLAIN), 0, ["synced", "unsynced"]),
        ((SYNCED, MISS), 3, ["synced", "miss"]),
        ((SYNCED, BROKEN), 1, ["synced", "failed"]),
        ((MISS, BROKEN), 1, ["miss", "failed"]),
    ],
)
def test_the_exit_code_tells_failures_from_misses(patient: Shell, queries, code, expected):
    done = patient.run(*queries)
    assert (done.code, states(done)) == (code, expected)


@pytest.mark.spec("C-26", "P-68")
def test_all_present_is_a_success_without_a_request(shell: Shell, stand_in: StandIn):
    assert shell.run(SYNCED, PLAIN).code == 0
    asked = len(stand_in.requests)
    before = {name: (shell.home / name).stat().st_mtime_ns for name in files(shell.home)}
    done = shell.run(SYNCED, PLAIN)
    assert (done.code, states(done)) == (0, ["present", "present"])
    assert len(stand_in.requests) == asked
    assert {n: (shell.home / n).stat().st_mtime_ns for n in files(shell.home)} == before


@pytest.mark.spec("C-27")
@pytest.mark.parametrize("lane", LANES)
def test_a_decoy_is_a_miss_and_leaves_nothing(shell: Shell, lane: str):
    done = shell.run("--provider", lane, DECOY)
    assert (done.code, states(done), reasons(done)) == (3, ["miss"], ["title_mismatch"])
    assert files(shell.home) == set()


@pytest.mark.spec("P-17")
@pytest.mark.parametrize("lane", LANES)
def test_the_second_wrong_answer_for_another_song_closes_the_lane(
    shell: Shell, stand_in: StandIn, lane: str
):
    stand_in.set_mode("decoy")
    done = shell.run("--provider", lane, SYNCED, GLASS, PLAIN)
    assert (done.code, states(done)) == (1, ["miss", "failed", "failed"])
    assert reasons(done)[:2] == ["title_mismatch", "decoy"]
    asked = {(r.query.get("q_track") or r.query.get("track_name")) for r in stand_in.requests}
    assert "Kitchen Radio" not in asked
    assert "cause=refused" in done.err
    assert not any(name.endswith((".lrc", "Weir.txt")) for name in files(shell.home))


# --- words -----------------------------------------------------------------------------------


@pytest.mark.spec("C-29")
@pytest.mark.seed("S-004")
@pytest.mark.parametrize(
    ("word", "artist", "title"),
    [
        ('"Earth, Wind",September', "Earth, Wind", "September"),
        ("beyonce,Me, Myself", "beyonce", "Me, Myself"),
        ('"Weird Al" Yankovic,Eat It', '"Weird Al" Yankovic', "Eat It"),
        (" Spaced ,  Out ", "Spaced", "Out"),
        ("#hash,Tag", "#hash", "Tag"),
    ],
)
def test_the_first_comma_divides_and_quotes_protect(
    shell: Shell, stand_in: StandIn, word: str, artist: str, title: str
):
    assert shell.run(word).code == 3
    asked = stand_in.calls(LYRICS_PATH)[0].query
    assert (asked["q_artist"], asked["q_track"]) == (artist, title)


@pytest.mark.spec("C-29")
def test_a_miss_with_more_commas_hints_at_quoting(shell: Shell):
    assert "--artist and --title" in shell.run("beyonce,Me, Myself").err
    assert "--artist and --title" not in shell.run('"Earth, Wind",September, Again').err
    assert "--artist" not in shell.run("beyonce,Halo").err


@pytest.mark.spec("C-28", "C-29")
@pytest.mark.parametrize("word", ["nocomma", ",x", "x,", " , ", "./missing", ""])
def test_a_word_that_is_no_song_is_a_usage_error(shell: Shell, stand_in: StandIn, word: str):
    done = shell.run("fetch", word)
    assert (done.code, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1
    assert stand_in.requests == ()


def test_an_existing_list_hints_at_from(shell: Shell):
    (shell.home / "songs.txt").write_text(SYNCED)
    done = shell.run("songs.txt")
    assert (done.code, "--from songs.txt" in done.err) == (2, True)


@pytest.mark.spec("C-28")
@pytest.mark.seed("S-008")
def test_a_directory_is_never_a_query(shell: Shell, stand_in: StandIn):
    for name in ("a,b", "queue"):
        minimal_flac(
            shell.home / name / "x.flac",
            seconds=38,
            artist=FERRYMEN,
            title="Lanterns on the Weir",
        )
    for argv in (["a,b"], ["./queue"]):
        done = shell.run(*argv)
        assert (done.code, states(done)) == (0, ["synced"])
    (shell.home / "queue" / "x.lrc").unlink()
    assert shell.run("fetch", "queue").code == 0
    assert files(shell.home) == {"a,b/x.flac", "a,b/x.lrc", "queue/x.flac", "queue/x.lrc"}


@pytest.mark.seed("S-008")
def test_a_directory_without_audio_asks_nobody_however_it_is_written(
    shell: Shell, stand_in: StandIn
):
    name = f"{FERRYMEN},Lanterns on the Weir"
    (shell.home / name).mkdir()
    (shell.home / "link,to it").symlink_to(shell.home / name)
    for word in (name, f"{name}/", f"./{name}", str(shell.home / name), "link,to it"):
        done = shell.run(word)
        assert (done.code, done.lines) == (0, []), word
    assert stand_in.requests == ()
    assert files(shell.home) == set()


def test_words_of_every_form_are_worked_in_their_order(shell: Shell):
    minimal_flac(shell.home / "one.flac", seconds=42, artist="Mara Voss", title="Glass Orchard")
    done = shell.run(PLAIN, "one.flac", SYNCED)
    assert [line.split("\t")[1] for line in done.lines] == [
        *(PLAIN, str(shell.home / "one.flac"), SYNCED)
    ]
    assert (shell.home / "one.lrc").is_file()


def test_hints_reach_the_matcher_and_the_header(shell: Shell, stand_in: StandIn):
    done = shell.run(
        *("fetch", "--artist", FERRYMEN, "--title", "Lanterns on the Weir"),
        *("--album", "Low Tide Almanac", "--isrc", "zz-dm1-26-00001", "--duration", "38.2"),
    )
    assert done.code == 0
    asked = stand_in.requests[0].query
    assert (asked["q_album"], asked["track_isrc"], asked["q_duration"]) == (
        *("Low Tide Almanac", "ZZDM12600001", "38"),
    )
    text = (shell.home / f"{FERRYMEN} - Lanterns on the Weir.lrc").read_text()
    assert "[isrc:ZZDM12600001]\n" in text
    assert "[al:Low Tide Almanac]\n" in text


@pytest.mark.parametrize(
    "argv",
    [
        ("--artist", "A"),
        ("--title", "T"),
        ("--artist", " ", "--title", "T"),
        ("--artist", "A", "--title", "T", "--isrc", "nonsense"),
        ("--artist", "A", "--title", "T", "--duration", "long"),
        ("--artist", "A", "--title", "T", "--duration", "-3"),
        ("--artist", "A", "--title", "T", "--duration", "nan"),
        ("--isrc", "ZZDM12600001"),
        ("--force", SYNCED),
        ("--upgrade", "--update", SYNCED),
        (),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(shell: Shell, stand_in: StandIn, argv):
    done = shell.run("fetch", *argv)
    assert (done.code, done.out) == (2, "")
    assert stand_in.requests == ()


def test_a_title_that_says_nothing_is_refused_before_any_request(shell: Shell, stand_in: StandIn):
    done = shell.run("Somebody,'")
    assert (done.code, states(done), reasons(done)) == (1, ["failed"], ["no_title"])
    assert stand_in.requests == ()


@pytest.mark.seed("S-008")
def test_a_path_at_which_nothing_is_is_no_song(shell: Shell, stand_in: StandIn):
    gone = str(shell.home / "gone" / "Earth, Wind & Fire")
    for word in (gone, "./gone/Earth, Wind & Fire", "../Earth, Wind", "~/Earth, Wind"):
        done = shell.run(word)
        assert (done.code, done.out) == (2, "")
        assert f'"{word}" is no directory, no audio file and no song: this is a path' in done.err
    done = shell.run("--from", "-", stdin=f"{gone}/September.flac\n")
    assert (done.code, states(done)) == (1, ["failed"])
    assert "this is a path" in done.out
    assert stand_in.requests == ()


def test_an_artist_written_like_a_path_can_be_asked_for(patient: Shell, stand_in: StandIn):
    stand_in.set_mode("error500")
    for words in (["--artist", "/f", "--title", "Slow"], ['"/f",Slow']):
        done = patient.run(*words)
        assert (done.code, states(done)) == (1, ["failed"])
        (name,) = files(patient.home)
        assert (patient.home / name).read_text() == '"/f",Slow\n'
        again = patient.run("--from", name)
        assert (again.code, states(again)) == (1, ["failed"])
        for name in files(patient.home):
            (patient.home / name).unlink()
    assert {call.query["q_artist"] for call in stand_in.calls(LYRICS_PATH)} == {"/f"}


# --- lists -----------------------------------------------------------------------------------

LIST = (
    "\ufeff# my songs\r\n"
    f"{SYNCED}\r\n"
    "\r\n"
    "no comma here\r\n"
    '"Earth, Wind",September\r\n'
    f"{BROKEN}\r\n"
    "  # another remark\r\n"
    f"{MISS}"
)


@pytest.mark.spec("P-67")
@pytest.mark.parametrize("way", ["file", "stdin"])
def test_a_list_is_worked_and_what_failed_can_be_fed_in_again(
    patient: Shell, stand_in: StandIn, way: str
):
    (patient.home / "list.txt").write_bytes(LIST.encode())
    argv = ("--from", "list.txt" if way == "file" else "-", "-o", "out")
    done = patient.run(*argv, stdin=LIST)
    assert done.code == 1
    assert sorted(states(done)) == ["failed", "failed", "miss", "miss", "synced"]
    assert "failed\tline 4\t\tartist,title needs a comma" in done.out
    (name,) = [name for name in files(patient.home) if name.endswith("_failed.txt")]
    assert re.fullmatch(r"out/\d{8}_\d{6}_failed\.txt", name)
    assert (patient.home / name).read_text() == f"# line 4: no comma here\n{BROKEN}\n"
    assert name.rpartition("/")[2] in done.err

    stand_in.set_mode("normal", song="Server Room Lullaby")
    again = patient.run("--from", name, "-o", "out")
    assert (again.code, states(again)) == (0, ["synced"])


def test_the_line_to_try_again_with_does_so_as_it_stands(patient: Shell, stand_in: StandIn):
    done = patient.run("--upgrade", "--depth", "3", "-o", "my lyrics", BROKEN, MISS)
    (line,) = [line for line in done.err.splitlines() if "try again with: " in line]
    words = shlex.split(line.partition("try again with: ")[2])
    assert words[0] == "lyrsvc"
    assert {"--upgrade", "--depth"} < set(words)
    stand_in.set_mode("normal", song="Server Room Lullaby")
    again = patient.run(*words[1:])
    assert (again.code, states(again)) == (0, ["synced"])
    assert all(name.startswith("my lyrics/") for name in files(patient.home))


def test_without_a_failure_there_is_no_failed_list(shell: Shell):
    (shell.home / "list.txt").write_text(f"{SYNCED}\n{MISS}\n")
    assert shell.run("--from", "list.txt").code == 3
    assert files(shell.home) == {"list.txt", f"{FERRYMEN} - Lanterns on the Weir.lrc"}


def test_the_failed_list_may_have_another_place(patient: Shell):
    done = patient.run("--failed-list", "later/again.txt", BROKEN, SYNCED)
    assert done.code == 1
    assert (patient.home / "later" / "again.txt").read_text() == f"{BROKEN}\n"


@pytest.mark.parametrize("name", ["missing.txt", "."])
def test_a_list_that_cannot_be_read_is_named(shell: Shell, name: str):
    done = shell.run("--from", name)
    assert (done.code, done.out) == (1, "")
    assert "cannot read" in done.err


def test_bytes_that_are_no_text_do_not_stop_a_list(shell: Shell):
    (shell.home / "list.txt").write_bytes(b"\xff\xfe,\xe9t\xe9\n" + SYNCED.encode() + b"\n")
    done = shell.run("--from", "list.txt")
    assert (done.code, states(done)) == (3, ["miss", "synced"])


@pytest.mark.spec("P-67")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["INT", "TERM"])
def test_an_interrupt_leaves_a_usable_list_of_the_rest(
    shell: Shell, stand_in: StandIn, spawn, number
):
    queries = [SYNCED, PLAIN, '"Earth, Wind",September', GLASS, INSTRUMENTAL]
    (shell.home / "list.txt").write_text("\n".join(queries))
    stand_in.set_mode("slow", song="Kitchen Radio", seconds=60)
    child: subprocess.Popen[bytes] = spawn("--from", "list.txt", "-o", "out")
    _wait_for(lambda: len(stand_in.requests) == 2)
    child.send_signal(number)
    out, err = child.communicate(timeout=45)
    assert child.returncode == 130, err
    assert out.decode().startswith("synced\t")
    assert b"Traceback" not in err
    (name,) = [name for name in files(shell.home) if name.endswith("_failed.txt")]
    assert (shell.home / name).read_text() == "".join(f"{one}\n" for one in queries[1:])

    stand_in.reset()
    again = shell.run("--from", name, "-o", "out")
    assert (again.code, sorted(states(again))) == (
        3,
        ["instrumental", "miss", "synced", "unsynced"],
    )


def test_a_terminal_that_goes_away_leaves_the_list_of_the_rest_too(shell: Shell, stand_in: StandIn):
    (shell.home / "list.txt").write_text(f"{SYNCED}\n{PLAIN}\n{GLASS}\nno comma\n")
    stand_in.set_mode("slow", song="Kitchen Radio", seconds=60)
    child, screen = pty.fork()
    if child == 0:
        os.chdir(shell.home)
        words = [sys.executable, "-m", "lyrsvc", "--provider", "lrclib", "--from", "list.txt"]
        os.execve(sys.executable, words, shell.environ)
    _wait_for(lambda: any(request.song == "Kitchen Radio" for request in stand_in.requests))
    os.close(screen)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0
    (name,) = [name for name in files(shell.home) if name.endswith("_failed.txt")]
    rest = (shell.home / name).read_text()
    assert sorted(rest.splitlines()) == sorted(["# line 4: no comma", PLAIN, GLASS])


# --- explaining and telling ------------------------------------------------------------------


def test_a_dry_run_explains_and_writes_nothing(shell: Shell):
    done = shell.run("fetch", "--dry-run", "-o", "never", SYNCED, DECOY)
    assert done.code == 3
    assert files(shell.home) == set()
    assert not (shell.home / "never").exists()
    told = done.out
    for part in (
        f"asked {FERRYMEN} / Lanterns on the Weir",
        f"answered {FERRYMEN} / Lanterns on the Weir / Low Tide Almanac / 38.0 s",
        "verdict accept (ok_no_duration)",
        "evidence fair",
        "title equal, artist equal",
        "length apart unknown",
        "verdict reject (title_mismatch)",
        "answered Someone Else Entirely / NEON",
    ):
        assert part in told
    assert sum(line.startswith("    [00:") for line in done.lines) == 5
    assert "borrowed coat" in told
    assert "Wob gopi" not in told


def test_json_gives_results_and_a_summary(patient: Shell):
    done = patient.run("--json", SYNCED, MISS, BROKEN)
    document = done.json
    assert done.code == 1
    assert [(r["state"], r["query"], r["lane"]) for r in document["results"]] == [
        ("synced", SYNCED, "defaultprov"),
        ("miss", MISS, None),
        ("failed", BROKEN, "defaultprov"),
    ]
    assert document["results"][0]["file"].endswith("Weir.lrc")
    assert [r["reason"] for r in document["results"]] == [None, "not_found", "upstream_error"]
    assert document["summary"] == {
        **{"synced": 1, "unsynced": 0, "instrumental": 0, "present": 0, "miss": 1, "failed": 1}
    }


def test_json_of_nothing_but_bad_lines_is_a_document_too(shell: Shell):
    done = shell.run("--json", "--from", "-", stdin="bad\n")
    assert (done.code, done.json["summary"]["failed"]) == (1, 1)
    empty = shell.run("--json", "--from", "-", stdin="# nothing\n")
    assert (empty.code, empty.json["results"]) == (0, [])


# --- a provider that misbehaves --------------------------------------------------------------

MISBEHAVIOUR = [
    # mode, its options, the reason that is shown, and the requests each lane sends
    ("throttled", {}, "throttled", (4, 4)),
    ("throttled", {"retry_after": "120"}, "throttled", (4, 4)),
    ("unauthorized", {}, "throttled", (4, 4)),
    ("error500", {}, "upstream_error", (3, 3)),
    ("html", {}, "bad_response", (1, 1)),
    ("bad_json", {}, "bad_response", (1, 1)),
    ("cut", {}, "network", (3, 3)),
    ("captcha", {}, "throttled", (4,)),
    ("quota", {}, "quota", (1,)),
    ("upgrade", {}, "identity_refused", (1,)),
    ("finished", {}, "token_finished", (1,)),
]


@pytest.mark.spec("P-18", "C-53", "P-16", "P-27")
@pytest.mark.parametrize(
    ("lane", "mode", "options", "reason", "requests"),
    [
        (lane, mode, options, reason, number)
        for mode, options, reason, numbers in MISBEHAVIOUR
        for lane, number in zip(LANES, numbers, strict=False)
    ],
)
def test_each_misbehaviour_has_its_class_and_leaks_nothing(
    patient: Shell, stand_in: StandIn, lane, mode, options, reason, requests
):
    stand_in.set_mode(mode, **options)
    patient.environ |= {"LYRSVC_LOG_LEVEL": "debug", "LYRSVC_LOG_FILE": "run.log"}
    done = patient.run("--provider", lane, SYNCED)
    assert (done.code, states(done), reasons(done)) == (1, ["failed"], [reason])
    assert len(stand_in.requests) == requests
    assert not [name for name in files(patient.home) if name.endswith(".lrc")]
    log = (patient.home / "run.log").read_text()
    for text in (done.out, done.err, log):
        for leak in (TOKEN, stand_in.url, "127.0.0.1", "usertoken", "Just a moment", "lanterns on"):
            assert leak not in text, leak
        assert "Traceback" not in text


@pytest.mark.spec("P-11")
@pytest.mark.parametrize(
    ("options", "waits"), [({}, [60, 120, 240]), ({"retry_after": "3600"}, [3600, 3600, 3600])]
)
def test_a_throttled_song_waits_until_the_lane_opens_and_no_longer(
    patient: Shell, stand_in: StandIn, options, waits
):
    stand_in.set_mode("throttled", **options)
    before = patient.clock.now()
    assert patient.run(SYNCED).code == 1
    waited = (patient.clock.now() - before).total_seconds()
    assert waited == pytest.approx(sum(waits), abs=1)


@pytest.mark.spec("P-11")
def test_a_song_that_was_throttled_is_found_when_the_lane_opens(patient: Shell, stand_in: StandIn):
    stand_in.set_mode("throttled", times=2)
    done = patient.run(SYNCED, PLAIN)
    assert (done.code, sorted(states(done))) == (0, ["synced", "unsynced"])


def test_a_stumbling_provider_is_asked_again_after_5_and_30_seconds(
    patient: Shell, stand_in: StandIn
):
    stand_in.set_mode("error500", times=2, lane="defaultprov")
    before = patient.clock.now()
    done = patient.run(SYNCED)
    assert (done.code, states(done)) == (0, ["synced"])
    assert (patient.clock.now() - before).total_seconds() == pytest.approx(35, abs=1)


def test_a_slow_answer_is_waited_for(shell: Shell, stand_in: StandIn):
    stand_in.set_mode("slow", seconds=0.3)
    assert shell.run(SYNCED).code == 0


def test_while_the_primary_rests_other_songs_go_on_with_the_fallback(
    patient: Shell, stand_in: StandIn
):
    patient.environ["LYRSVC_PROVIDERS_FALLBACK_ORDER"] = "lrclib"
    stand_in.set_mode("throttled", lane="defaultprov")
    before = patient.clock.now()
    done = patient.run(SYNCED, PLAIN)
    assert done.code == 0
    assert {line.split("\t")[2] for line in done.lines} == {"lrclib"}
    assert len(stand_in.calls(LYRICS_PATH)) == 1
    assert patient.clock.now() == before


@pytest.mark.spec("P-69")
def test_the_countdown_is_for_terminals_only(shell: Shell, stand_in: StandIn):
    shell.clock = clock = FakeClock()
    shell.environ["LYRSVC_API_COOLDOWN"] = "15"
    watched = shell.run("-o", "1", SYNCED, PLAIN, GLASS, watched=True)
    assert watched.code == 0
    assert "next request in 15 s (defaultprov)" in watched.err
    assert (clock.now() - FakeClock().now()).total_seconds() == pytest.approx(30, abs=1)
    assert "next request" not in shell.run("-o", "2", SYNCED, PLAIN).err


@pytest.mark.spec("P-69", "P-19")
def test_requests_keep_their_distance_and_nothing_waits_after_the_last(
    shell: Shell, stand_in: StandIn
):
    assert shell.run("-c", "1", SYNCED, PLAIN, GLASS).code == 0
    times = [request.at for request in stand_in.requests]
    assert [later - earlier >= 1 for earlier, later in itertools.pairwise(times)] == [*(True, True)]
    started = time.monotonic()
    assert shell.run("-c", "60", "--update", SYNCED).code == 0
    assert time.monotonic() - started < 50


@pytest.mark.spec("P-28")
def test_the_open_catalogue_is_asked_one_after_another_and_only_read(
    shell: Shell, stand_in: StandIn
):
    shell.environ["LYRSVC_LRCLIB_COOLDOWN_SECONDS"] = "0.2"
    assert shell.run("--provider", "lrclib", SYNCED, MISS).code == 3
    asked = stand_in.requests
    assert len(asked) == 4
    assert all(b.at - a.until >= 0.2 for a, b in itertools.pairwise(asked))
    assert {request.method for request in asked} == {"GET"}
    assert all(r.headers["user-agent"].startswith(f"lyrsvc/{__version__} (+") for r in asked)


def _wait_for(condition, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.01)


@pytest.mark.spec("C-52")
@pytest.mark.parametrize("query", [SYNCED, MISS, BROKEN, "beyonce,Me, Myself"])
def test_with_the_json_format_every_line_on_stderr_is_a_record(patient: Shell, query: str):
    done = patient.run("--log-format", "json", "--log-level", "debug", query)
    records = [json.loads(line) for line in done.err.splitlines()]
    assert records
    assert all({"time", "level", "msg"} <= set(record) for record in records)


@pytest.mark.spec("C-53")
def test_a_secret_that_turns_up_in_data_is_not_shown(shell: Shell, stand_in: StandIn):
    shell.environ["LYRSVC_LOG_LEVEL"] = "debug"
    path = minimal_flac(shell.home / "x.flac", seconds=38, artist=TOKEN, title="A Song")
    done = shell.run(str(path))
    assert stand_in.requests[0].query["q_artist"] == TOKEN
    assert TOKEN not in done.err


def test_quiet_says_only_what_is_wrong(patient: Shell):
    assert patient.run("--quiet", SYNCED).err == ""
    assert "HTTP 500" in patient.run("--quiet", BROKEN).err


def test_a_reader_that_goes_away_ends_the_run_quietly(shell: Shell, spawn):
    child = spawn(SYNCED, PLAIN, GLASS, stdout=subprocess.PIPE)
    child.stdout.close()
    err = child.stderr.read()
    assert child.wait(timeout=30) == 0, err
    assert b"Traceback" not in err
