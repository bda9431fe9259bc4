import pytest

from lyrsvc.core.qualifiers import Kind
from lyrsvc.core.titles import read_title
from lyrsvc.core.versions import album_is_cover, album_is_live, hint_kinds, relate_versions


def relate(one, other, delta_ms=0):
    return relate_versions(read_title(one).kinds, read_title(other).kinds, delta_ms)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Song", "Song (Remix)"),
        ("Song (Tidal Remix)", "Song (Moonrise Remix)"),
        ("Song", "Song (Karaoke)"),
        ("Song", "Song (Foo Cover)"),
        ("Song (Intro)", "Song (Outro)"),
        ("Song", "Song (Reprise)"),
        ("Song (Spanish Version)", "Song (English Version)"),
        ("Song (Live)", "Song (Live) [Instrumental]"),
    ],
)
def test_a_class_with_other_words_on_one_side_or_another_detail_means_other_words(one, other):
    assert relate(one, other) == relate(other, one) == "words"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Song (Remix)", "Song (Tidal Remix)"),
        ("Song (DJ Tidal Remix)", "Song (Tidal Remix)"),
        ("Song (Magician's Remix)", "Song (The Magician Remix)"),
        ("Song (Interlude)", "Song - Interlude"),
        ("Song (En Español)", "Song (Spanish Version)"),
        ("Song (Live)", "Song (Live at Wembley)"),
        ("Song (2011 Remaster)", "Song"),
    ],
)
def test_the_same_version_may_be_named_in_other_words(one, other):
    assert relate(one, other) == relate(other, one) == "same"


def test_a_timing_class_on_one_side_means_other_timing():
    assert relate("Song (Live)", "Song") == "timing"
    assert relate("Song (Live)", "Song (Acoustic)", None) == "timing"


@pytest.mark.parametrize(
    ("delta_ms", "relation"), [(None, "same"), (3000, "same"), (3001, "timing")]
)
def test_a_shared_timing_class_is_the_same_cut_within_three_seconds(delta_ms, relation):
    assert relate("Song (Live)", "Song (Live)", delta_ms) == relation


@pytest.mark.parametrize(
    ("album", "is_live"),
    [
        *(
            ("Live", True),
            ("Live at Wembley", True),
            ("Foo Live in Oslo", True),
            ("One Night Live", True),
        ),
        *(("MTV Unplugged", True), ("Foo in Concert", True), ("Night Ferry (Live)", True)),
        *(("Acústico (Ao Vivo)", True), ("ライブ盤", True)),
        *(
            ("Long Live the Tide", False),
            ("Alive", False),
            ("Live Through This", False),
            ("", False),
        ),
    ],
)
def test_an_album_may_call_itself_live(album, is_live):
    assert album_is_live(album) is is_live


@pytest.mark.parametrize(
    ("album", "is_cover"),
    [
        *(("Karaoke Hits", True), ("A Tribute to Foo", True), ("In the Style of Foo", True)),
        *(
            ("Songs Made Famous by Foo", True),
            ("Lullaby Renditions of Foo", True),
            ("Tribute", False),
        ),
    ],
)
def test_an_album_may_call_itself_one_of_covers(album, is_cover):
    assert album_is_cover(album) is is_cover


def hints(titles, albums, delta_ms):
    read = tuple(map(read_title, titles))
    return tuple(set(kinds) for kinds in hint_kinds(read, albums, delta_ms))


def test_a_live_album_is_ignored_when_the_lengths_agree():
    assert hints(("Song", "Song"), ("Live", ""), 1001) == ({Kind.LIVE}, set())
    assert hints(("Song", "Song"), ("Live", ""), None) == ({Kind.LIVE}, set())
    assert hints(("Song", "Song"), ("Live", ""), 1000) == (set(), set())


def test_a_live_album_confirms_a_live_title_at_any_length():
    assert hints(("Song (Live)", "Song"), ("", "Live"), 0) == ({Kind.LIVE}, {Kind.LIVE})


def test_a_cover_album_counts_on_the_answer_unless_the_asked_one_is_another():
    assert hints(("Song", "Song"), ("", "Karaoke"), 0) == (set(), {Kind.COVER})
    assert hints(("Song", "Song"), ("Karaoke Vol. 2", "Karaoke"), 0) == (set(), set())
    assert hints(("Song", "Song"), ("Karaoke", ""), 0) == (set(), set())
