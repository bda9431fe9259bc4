"""Sidecars as decisions."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import product

import pytest

from lyrsvc.core.cleaning import clean
from lyrsvc.core.lrc import read_lrc
from lyrsvc.core.lrc_output import HeaderFacts
from lyrsvc.core.lyrics import Candidate, Cue, Matched, Quality, Word
from lyrsvc.core.result import Accepted, original_lines, quality_of
from lyrsvc.core.sidecar import (
    MARKER_BYTES,
    Fetch,
    FetchMode,
    Kind,
    OnDisk,
    WordTiming,
    is_bare_marker,
    is_covered,
    is_marker,
    is_of_another,
    is_ours_by_text,
    may_write,
    render,
    same_content,
    should_fetch,
    song_keys,
    state_of,
)
from lyrsvc.core.verdict import Decision, Verdict

FETCHED = datetime(2026, 1, 31, 14, 5, 6, tzinfo=UTC)
FACTS = HeaderFacts(
    artist="The Quiet Ferrymen", title="Paper Lantern Weather", version="1.0.0", length_ms=214_000
)
CUES = (
    Cue(12480, "We hung the paper lanterns low"),
    Cue(15970, "and let the kitchen radio go"),
    Cue(19300, ""),
    Cue(64050, "Tide comes in, tide goes slow"),
)
WORDED = (Cue(1000, "We go", (Word(1000, "We "), Word(1500, "go")), 2000), Cue(3000, "on"))


def accepted(quality=Quality.SYNCED, **fields):
    return Accepted(
        candidate=Candidate(matched=Matched(duration_ms=215_000), **fields),
        quality=quality,
        verdict=Verdict(decision=Decision.ACCEPT, reason="ok_strong"),
        lane="lrclib",
        fetched_at=FETCHED,
    )


@pytest.mark.seed("S-001")
def test_an_lrc_file_has_its_header_and_one_stamped_line_per_cue():
    (file,) = render(accepted(cues=CUES), FACTS)
    assert (file.kind, file.extension) == (Kind.LRC, ".lrc")
    assert file.data.decode() == (
        "[by:lyrsvc]\n[ar:The Quiet Ferrymen]\n[ti:Paper Lantern Weather]\n[length:03:34]\n"
        "[source:lrclib]\n[fetched:2026-01-31T14:05:06Z]\n[ve:v1.0.0]\n"
        "[00:12.48]We hung the paper lanterns low\n[00:15.97]and let the kitchen radio go\n"
        "[00:19.30]♪\n[01:04.05]Tide comes in, tide goes slow\n"
    )


@pytest.mark.spec("P-02")
@pytest.mark.seed("S-001")
def test_equal_cues_from_an_array_and_from_text_give_equal_bytes():
    text = (
        "[00:12.48] We hung the paper lanterns low\n[00:15.97] and let the kitchen radio go\n"
        "[00:19.30] \n[01:04.05] Tide comes in, tide goes slow\n"
    )
    from_text = clean(Candidate(matched=Matched(), cues=read_lrc(text).cues)).cues
    from_array = clean(Candidate(matched=Matched(), cues=CUES)).cues
    assert from_text == from_array
    assert render(accepted(cues=from_text), FACTS) == render(accepted(cues=from_array), FACTS)


def test_an_unknown_file_length_gives_way_to_the_answered_one():
    facts = HeaderFacts(artist="A", title="T", version="1")
    (file,) = render(accepted(cues=CUES), facts)
    assert b"[length:03:35]\n" in file.data


@pytest.mark.seed("S-002")
def test_plain_words_are_written_as_they_are():
    (file,) = render(accepted(Quality.UNSYNCED, plain="a\n\nb"), FACTS)
    assert (file.kind, file.extension, file.data) == (Kind.TXT, ".txt", b"a\n\nb")


def test_cues_that_may_not_be_used_give_plain_words():
    (file,) = render(accepted(Quality.UNSYNCED, cues=CUES), FACTS)
    assert file.data == (
        b"We hung the paper lanterns low\nand let the kitchen radio go\n\n"
        b"Tide comes in, tide goes slow"
    )


@pytest.mark.spec("P-05")
@pytest.mark.seed("S-003")
def test_the_marker_has_exactly_these_bytes():
    (file,) = render(accepted(Quality.INSTRUMENTAL, instrumental=True), FACTS)
    assert (file.kind, file.extension) == (Kind.MARKER, ".txt")
    assert file.data == bytes.fromhex(
        "E2 99 AA 20 49 6E 73 74 72 75 6D 65 6E 74 61 6C 20 E2 99 AA 0A"
    )


def test_nothing_is_written_without_words():
    assert render(accepted(Quality.NONE, cues=CUES), FACTS) == ()
    assert render(accepted(Quality.SYNCED, cues=(Cue(0, "♪"),)), FACTS) == ()


@pytest.mark.seed("S-019")
def test_translations_are_written_when_wanted_and_there():
    translation = (Cue(12480, "Wir hängten"),)
    pair = "[00:12.48]We hung the paper lanterns low\n[00:12.48]Wir hängten\n"
    both = accepted(cues=CUES, translation=translation)
    assert pair in render(both, FACTS, translation_language="de")[0].data.decode()
    assert "Wir" not in render(both, FACTS)[0].data.decode()
    german = accepted(cues=CUES, translation=translation, translation_language="de")
    assert pair in render(german, FACTS, translation_language="de")[0].data.decode()
    assert "Wir" not in render(german, FACTS, translation_language="fr")[0].data.decode()
    plain = accepted(Quality.UNSYNCED, plain="a", translation=translation)
    assert render(plain, FACTS, translation_language="de")[0].data == b"a"


def test_word_timing_goes_where_it_is_wanted():
    result = accepted(Quality.WORD_SYNCED, cues=WORDED)
    (off,) = render(result, FACTS)
    lrc, elrc = render(result, FACTS, word_timing=WordTiming.SIBLING)
    (inline,) = render(result, FACTS, word_timing=WordTiming.INLINE)
    assert lrc == off
    assert (elrc.kind, elrc.extension) == (Kind.ELRC, ".elrc")
    assert elrc.data == inline.data
    assert b"[00:01.00]<00:01.00>We <00:01.50>go<00:02.00>\n[00:03.00]on\n" in elrc.data


def test_without_a_single_timed_word_there_is_no_sibling():
    assert len(render(accepted(cues=CUES), FACTS, word_timing=WordTiming.SIBLING)) == 1


def test_word_tags_are_not_mixed_with_translations():
    result = accepted(Quality.WORD_SYNCED, cues=WORDED, translation=(Cue(1000, "Wir gehen"),))
    (file,) = render(result, FACTS, translation_language="de", word_timing=WordTiming.INLINE)
    assert b"<" not in file.data
    lrc, elrc = render(result, FACTS, translation_language="de", word_timing=WordTiming.SIBLING)
    assert b"Wir" in lrc.data
    assert b"Wir" not in elrc.data


@pytest.mark.parametrize(
    ("decision", "fields", "word_output", "quality"),
    [
        (Decision.ACCEPT, {"cues": WORDED}, True, Quality.WORD_SYNCED),
        (Decision.ACCEPT, {"cues": WORDED}, False, Quality.SYNCED),
        (Decision.ACCEPT, {"cues": CUES}, True, Quality.SYNCED),
        (Decision.UNSYNCED_ONLY, {"cues": CUES}, True, Quality.UNSYNCED),
        (Decision.ACCEPT, {"plain": "a"}, True, Quality.UNSYNCED),
        (Decision.REJECT, {"cues": CUES}, True, Quality.NONE),
        (Decision.ACCEPT, {"instrumental": True}, True, Quality.INSTRUMENTAL),
        (Decision.ACCEPT, {"instrumental": True, "plain": "a\nb\nc"}, True, Quality.INSTRUMENTAL),
        (Decision.ACCEPT, {"instrumental": True, "plain": "a\nb\nc\nd"}, True, Quality.UNSYNCED),
        (Decision.ACCEPT, {}, True, Quality.NONE),
    ],
)
def test_the_quality_of_a_candidate(decision, fields, word_output, quality):
    candidate = Candidate(matched=Matched(), **fields)
    assert quality_of(candidate, decision, word_output=word_output) is quality


def test_the_lines_that_would_be_written():
    candidate = Candidate(matched=Matched(), cues=CUES, plain="a\nb", translation=(Cue(1, "x"),))
    assert original_lines(candidate, Decision.ACCEPT) == [cue.text for cue in CUES]
    assert original_lines(candidate, Decision.UNSYNCED_ONLY) == ["a", "b"]
    assert original_lines(Candidate(matched=Matched()), Decision.ACCEPT) == [""]


MARKED = MARKER_BYTES.decode()


@pytest.mark.parametrize(
    ("data", "marker", "bare"),
    [
        (MARKER_BYTES, True, True),
        (MARKER_BYTES.rstrip(), True, True),
        (b"\xef\xbb\xbf" + MARKER_BYTES.replace(b"\n", b"\r\n"), True, True),
        (MARKED.encode("utf-16"), True, True),
        (MARKER_BYTES + b"with a guitar", True, False),
        (b"x" * 4070 + MARKER_BYTES, True, False),
        (b"x" * 4080 + MARKER_BYTES, False, False),
        (b"Instrumental", False, False),
        (b"", False, False),
        (b"\xc4\xe3 " + MARKER_BYTES, True, False),
        ("♪".encode() * 2000, False, False),
    ],
)
def test_what_is_a_marker(data, marker, bare):
    assert (is_marker(data), is_bare_marker(data)) == (marker, bare)


def test_without_memory_a_file_is_ours_by_its_header_or_as_a_bare_marker():
    assert is_ours_by_text(Kind.LRC, b"[by:lyrsvc]\n[00:01.00]x\n")
    assert is_ours_by_text(Kind.ELRC, b"\xef\xbb\xbf[ar:x]\r\n[BY: lyrsvc ]\r\n")
    assert not is_ours_by_text(Kind.LRC, b"[by:somebody]\n[00:01.00]x\n")
    assert not is_ours_by_text(Kind.LRC, b"[00:01.00]x\n[by:lyrsvc]\n")
    assert not is_ours_by_text(Kind.TXT, b"[by:lyrsvc]\nwords")
    assert is_ours_by_text(Kind.MARKER, MARKER_BYTES)
    assert not is_ours_by_text(Kind.MARKER, MARKER_BYTES + b"and more")


@pytest.mark.parametrize(
    ("artist", "title", "other"),
    [
        ("The Quiet Ferrymen", "What? [Live]", False),
        ("THE QUIET  FERRYMEN", "what? (live)", False),
        ("The Quiet Ferrymen", "What [Live]", True),
        ("Quiet Ferrymen", "What? [Live]", True),
    ],
)
def test_a_header_names_another_song_by_its_punctuation_too(artist, title, other):
    asked = song_keys(HeaderFacts(artist=artist, title=title, version="1.0.0"))
    written = replace(FACTS, title="What? [Live]")
    assert is_of_another(render(accepted(cues=CUES), written)[0].data, asked) is other


@pytest.mark.parametrize("silent", [b"[by:lyrsvc]\n[00:01.00]x\n", b"\xff\xfe\x00", b""])
def test_a_file_that_names_no_song_is_not_of_another(silent):
    assert not is_of_another(silent, song_keys(FACTS))


def test_a_text_is_covered_when_every_line_of_it_occurs():
    lrc = render(accepted(cues=CUES), FACTS)[0].data
    assert is_covered(b"We hung the paper lanterns low\r\n\r\n Tide comes in, tide goes slow", lrc)
    assert not is_covered(b"We hung the paper lanterns low\nmy own line", lrc)
    assert not is_covered(b"", lrc)
    assert not is_covered(b"\n \n...\n", lrc)
    assert not is_covered("你好".encode("gbk"), lrc)


@pytest.mark.seed("S-012")
@pytest.mark.parametrize(
    ("words", "covered"),
    [
        ("Don’t hang them low,\nTide comes in – tide goes slow!", True),
        ("DON'T HANG THEM LOW tide\ncomes\tin", True),
        ("don't hang them low\n\n♪\n* * *\ncafé", True),
        ("don't hang them low\ncafe\u0301", True),
        ("don't hang them low\ncafe", False),
        ("don't hang them lo", False),
        ("tide goes slow\nagain", False),
        ("tide goes in", False),
        ("กา", False),
    ],
)
def test_case_signs_and_line_breaks_cover_each_other_and_words_do_not(words, covered):
    lines = ("Don't hang them low", "Tide comes in,", "tide goes slow", "♪", "café", "กำ")
    lrc = "".join(f"[00:0{number}.00]{line}\n" for number, line in enumerate(lines))
    assert is_covered(words.encode(), lrc.encode()) is covered


def test_only_time_and_version_may_differ():
    old = render(accepted(cues=CUES), FACTS)[0].data
    new = old.replace(b"2026-01-31", b"2027-01-01").replace(b"[ve:v1.0.0]", b"[ve:v2.0.0]")
    assert same_content(old, new)
    assert not same_content(old, new.replace(b"lrclib", b"other"))
    assert not same_content(old, new.replace(b"tide goes", b"tide went"))
    assert same_content(b"[ve:1]\nx", b"[ve:1]\nx")
    assert not same_content(b"[ve:1]\nx", b"[ve:2]\nx")
    assert same_content(b"[by:lyrsvc]\n[ve:1]\n", b"[by:lyrsvc]\n[ve:2]\n")
    tail = b"[00:99.00]x\n[ve:sung]\n"
    assert not same_content(old + tail, old + tail.replace(b"sung", b"said"))


N, I, U, S = Quality.NONE, Quality.INSTRUMENTAL, Quality.UNSYNCED, Quality.SYNCED  # noqa: E741
KEEP = None
POLICY = {
    OnDisk.NOTHING: (I, I, I, I),
    OnDisk.LRC_OURS: (KEEP, KEEP, S, I),
    OnDisk.LRC_FOREIGN: (KEEP, KEEP, KEEP, I),
    OnDisk.TXT_OURS: (KEEP, S, U, I),
    OnDisk.TXT_FOREIGN: (KEEP, S, S, I),
    OnDisk.MARKER_OURS: (KEEP, KEEP, I, I),
    OnDisk.MARKER_FOREIGN: (KEEP, KEEP, S, I),
}


@pytest.mark.parametrize(("on_disk", "mode"), list(product(OnDisk, FetchMode)))
def test_the_overwrite_policy(on_disk, mode):
    least = POLICY[on_disk][list(FetchMode).index(mode)]
    for quality in Quality:
        expected = least is not KEEP and quality >= least
        assert may_write(on_disk, mode, quality) is expected


F, K, X = Fetch.FETCH, Fetch.SKIP, Fetch.FOREIGN


@pytest.mark.seed("S-012", "S-013")
@pytest.mark.parametrize(
    ("on_disk", "row"),
    [
        (OnDisk.NOTHING, (F, F, F, F)),
        (OnDisk.LRC_OURS, (K, K, F, F)),
        (OnDisk.LRC_FOREIGN, (K, K, X, F)),
        (OnDisk.TXT_OURS, (K, F, F, F)),
        (OnDisk.TXT_FOREIGN, (K, F, F, F)),
        (OnDisk.MARKER_OURS, (K, K, F, F)),
        (OnDisk.MARKER_FOREIGN, (K, K, F, F)),
    ],
)
def test_the_skip_table(on_disk, row):
    assert tuple(should_fetch(on_disk, mode) for mode in FetchMode) == row


def test_states_of_a_stem():
    assert state_of(None, ours=False) is OnDisk.NOTHING
    assert state_of(Kind.LRC, ours=True) is OnDisk.LRC_OURS
    assert state_of(Kind.TXT, ours=False) is OnDisk.TXT_FOREIGN
    assert state_of(Kind.MARKER, ours=True) is OnDisk.MARKER_OURS
