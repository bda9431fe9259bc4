import unicodedata
from dataclasses import replace

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from lyrsvc.core.credits import credited_names, is_placeholder, query_artist
from lyrsvc.core.keys import match_key
from lyrsvc.core.lyrics import Matched
from lyrsvc.core.matching import judge_match
from lyrsvc.core.recording import Recording
from lyrsvc.core.titles import base_title, query_title
from lyrsvc.core.wording import words_of

PIECES = st.sampled_from(
    [
        *(
            "Harbour",
            "Lights",
            "I",
            "II",
            "2",
            "Pt.",
            "Part",
            "No.",
            "Live",
            "Remix",
            "Intro",
            "the",
        ),
        *("feat.", "ft", "with", "(", ")", "[", "]", " - ", "-", "&", "+", "x", "*", "$", "!", "→"),
        *(
            "Ana",
            "光",
            "ё",
            "'s",
            "Version",
            "2011",
            "Remaster",
            "from",
            '"',
            "F**k",
            ".",
            ":",
            "/",
        ),
    ]
)
NAMES = st.one_of(st.text(max_size=30), st.lists(PIECES, max_size=8).map(" ".join))
LENGTHS = st.one_of(st.none(), st.integers(-10, 900_000))


@st.composite
def recordings(draw):
    return Recording(
        title=draw(NAMES),
        artist=draw(NAMES),
        artists=tuple(draw(st.lists(NAMES, max_size=3))),
        album_artist=draw(NAMES),
        album=draw(NAMES),
        duration_ms=draw(LENGTHS),
        isrcs=tuple(draw(st.lists(NAMES, max_size=2))),
        low_confidence=draw(st.booleans()),
    )


@st.composite
def answers(draw):
    return Matched(
        title=draw(NAMES), artist=draw(NAMES), album=draw(NAMES), duration_ms=draw(LENGTHS)
    )


@settings(deadline=None)
@given(recordings(), answers())
def test_any_pair_gets_a_verdict(recording, matched):
    assert judge_match(recording, matched).reason
    query_artist(recording)
    credited_names(recording)
    base_title(recording.title)
    query_title(recording.title)


@settings(deadline=None)
@given(NAMES, NAMES, NAMES)
@example("(Live)", "Foo", "Live")
@example("Foo - Foo", "Foo", "")
@example("Live (Remix)", "the", "Karaoke")
@example("feat. x", "feat. x", "")
def test_a_song_matches_itself(title, artist, album):
    assume(match_key(title) and not is_placeholder(artist))
    verdict = judge_match(
        Recording(title=title, artist=artist, album=album, duration_ms=200_000),
        Matched(title=title, artist=artist, album=album, duration_ms=200_000),
    )
    assert (verdict.title, verdict.artist, verdict.version) == ("equal", "equal", "same")
    assert verdict.accepted


@settings(deadline=None)
@given(NAMES, NAMES, NAMES, NAMES, LENGTHS)
def test_it_does_not_matter_which_side_was_asked(title, artist, other_title, other_artist, length):
    assume(match_key(title) and match_key(other_title))
    one = judge_match(
        Recording(title=title, artist=artist, duration_ms=200_000),
        Matched(title=other_title, artist=other_artist, duration_ms=length),
    )
    other = judge_match(
        Recording(title=other_title, artist=other_artist, duration_ms=length),
        Matched(title=title, artist=artist, duration_ms=200_000),
    )
    assert one == other


@settings(deadline=None)
@given(NAMES, NAMES, answers())
def test_composed_and_decomposed_names_are_judged_alike(title, artist, matched):
    verdicts = {
        judge_match(
            Recording(
                title=unicodedata.normalize(form, title), artist=unicodedata.normalize(form, artist)
            ),
            matched,
        )
        for form in ("NFC", "NFD")
    }
    assert len(verdicts) == 1


@settings(deadline=None)
@given(
    st.text(alphabet="abcdefgh ", min_size=4), st.text(alphabet="stuvwxyz ", min_size=4), LENGTHS
)
def test_a_title_with_no_letter_in_common_is_never_accepted(title, other, length):
    verdict = judge_match(
        Recording(title=title, artist="Wishmaker", album="Night Ferry", duration_ms=200_000),
        Matched(title=other, artist="Wishmaker", album="Night Ferry", duration_ms=length),
    )
    assert verdict.rejected


@settings(deadline=None)
@given(answers())
def test_without_an_isrc_an_unknown_artist_is_accepted_by_its_album_alone(matched):
    recording = Recording(title=matched.title, artist="Various Artists", duration_ms=200_000)
    assert judge_match(recording, matched).rejected
    known = replace(recording, album="Night Ferry")
    verdict = judge_match(known, replace(matched, album="Night Ferry"))
    assert verdict.rejected or verdict.reason == "album_stand_in"


@settings(deadline=None)
@given(NAMES)
def test_a_shortened_title_is_never_empty_when_the_title_is_not(title):
    assume(not words_of(title).is_blank)
    assert base_title(title)
    assert query_title(title)


def test_a_hostile_title_is_judged_quickly():
    for piece in ("(", "()", " ", "feat. ", "a,", " - ", "*", "live ", "((a)", "\u0301"):
        title = piece * 20_000
        verdict = judge_match(
            Recording(title=title, artist=title, duration_ms=1),
            Matched(title="Harbour Lights", artist="Wishmaker", duration_ms=1),
        )
        assert verdict.rejected
