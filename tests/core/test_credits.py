import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.core.credits import (
    PLACEHOLDERS,
    credited_names,
    identity_artist,
    is_placeholder,
    primary_artist,
    query_artist,
    read_credit,
    relate_artists,
    share_name,
    split_names,
)
from lyrsvc.core.recording import Recording
from lyrsvc.core.wording import words_of


def recording(artist="", album_artist="", artists=()):
    return Recording(title="Song", artist=artist, album_artist=album_artist, artists=artists)


@pytest.mark.parametrize(
    "artist",
    [
        *("Various Artists", "various", "VA", "V.A.", "Unknown", "[unknown]", "Unknown Artist"),
        *("Soundtrack", "Original Soundtrack", "OST", "Cast", "Original Cast", "No Artist"),
        *("", "  ", "\u200b"),
    ],
)
def test_a_placeholder_stands_for_nobody(artist):
    assert is_placeholder(artist)


@given(st.text("aAnNcCsStToOvV 12", max_size=12) | st.sampled_from(sorted(PLACEHOLDERS)))
def test_a_name_of_plain_letters_is_judged_as_by_its_words(artist):
    words = words_of(artist)
    judged = words.is_blank or " ".join(words.spelled) in PLACEHOLDERS
    assert is_placeholder(f" {artist} ") == is_placeholder(artist.upper()) == judged


@pytest.mark.parametrize("artist", ["!!!", "The Unknown", "Vast", "Outcast", "?"])
def test_a_name_is_no_placeholder(artist):
    assert not is_placeholder(artist)


@pytest.mark.spec("P-65")
@pytest.mark.parametrize(
    ("artist", "album_artist", "artists", "expected"),
    [
        ("Foo", "Various Artists", (), "Foo"),
        ("Foo feat. Bar", "Foo", (), "Foo"),
        ("Foo feat. Bar", "Bar", (), "Foo feat. Bar"),
        ("Foo & Bar", "Bar", (), "Bar"),
        ("foo", "Foo", (), "Foo"),
        ("Foo; Bar", "Baz", ("Foo", "Bar"), "Foo; Bar"),
        ("Foo; Bar", "Bar", ("Foo", "Bar"), "Bar"),
        ("", "", ("Foo", "Bar"), "Foo, Bar"),
        ("Beatles, The", "The Beatles", (), "The Beatles"),
        ("Various Artists", "Foo", (), "Foo"),
        ("", "Foo", (), "Foo"),
        ("Various Artists", "Unknown", (), ""),
        ("", "", (), ""),
        ("Foo - Topic", "", ("Foo - Topic",), "Foo"),
        ("FooVEVO", "", ("FooVEVO",), "Foo"),
        ("Foo5VEVO", "", (), "Foo5"),
        ("Foo", "Foo - Topic", (), "Foo"),
        ("Various Artists - Topic", "Foo - Topic", (), "Foo"),
        ("", "", ("Foo - Topic", "BarVEVO"), "Foo, Bar"),
        (" - Topic", "", (), " - Topic"),
        ("Topic", "", (), "Topic"),
        ("VEVO", "", (), "VEVO"),
        ("Foo VEVO", "", (), "Foo VEVO"),
        ("Foovevo", "", (), "Foovevo"),
    ],
)
def test_the_query_artist_follows_one_rule(artist, album_artist, artists, expected):
    assert query_artist(recording(artist, album_artist, artists)) == expected


def test_a_placeholder_as_tagged_still_identifies_an_item():
    assert identity_artist(recording("Various Artists", "Unknown")) == "Various Artists"
    assert identity_artist(recording("", "VA")) == "VA"
    assert identity_artist(recording("Foo", "VA")) == "Foo"


@pytest.mark.parametrize(
    ("artist", "artists", "names"),
    [
        ("Foo", (), ("Foo",)),
        ("Foo feat. Bar", (), ("Foo",)),
        ("Foo/Bar Baz", (), ("Foo", "Bar Baz")),
        ("Foo, Bar; Baz | Qux、Quux\0Last", (), ("Foo", "Bar", "Baz", "Qux", "Quux", "Last")),
        (
            "Foo x Bar × Baz vs. Qux with Ana and Bo & Cy + Di y Ed et Flo",
            (),
            tuple(["Foo", "Bar", "Baz", "Qux", "Ana", "Bo", "Cy", "Di", "Ed", "Flo"]),
        ),
        ("Foo & foo", (), ("Foo",)),
        ("Foo; Bar", ("Foo", "Bar"), ("Foo", "Bar")),
        ("Foo & Bar", ("Foo & Bar", "Various"), ("Foo & Bar",)),
        ("Foo & Bar", ("Foo & Bar",), ("Foo", "Bar")),
        ("Foo feat. Bar", ("Foo feat. Bar",), ("Foo",)),
        ("Foo & Bar feat. Baz; Qux", ("Foo & Bar feat. Baz", "Qux"), ("Foo & Bar", "Qux")),
        ("Foo feat. Bar; Bar; Foo", ("Foo feat. Bar", "Bar", "Foo"), ("Foo", "Bar")),
        ("AC/DC", (), ("AC/DC",)),
        ("M/A/R/R/S", (), ("M/A/R/R/S",)),
        ("U2/Green Day", (), ("U2", "Green Day")),
        ("Beatles, The", (), ("The Beatles",)),
        ("!!!", (), ("!!!",)),
        ("Foo - Topic", ("Foo - Topic",), ("Foo",)),
        ("Various Artists", (), ()),
    ],
)
def test_credited_names_are_listed_as_spelled(artist, artists, names):
    asked = recording(artist, artists=artists)
    assert credited_names(asked) == names
    assert primary_artist(asked) == (names[0] if names else "")


def test_an_empty_credit_has_no_names():
    assert split_names("") == []


RELATIONS = {
    "equal": [
        ("Beatles, The", "The Beatles"),
        ("The Beatles - Topic", "The Beatles"),
        ("周杰倫 - Topic", "周杰倫"),
        ("TaylorSwiftVEVO", "Taylor Swift"),
        ("Dylan, Bob", "Bob Dylan"),
        ("Simon & Garfunkel", "Simon and Garfunkel"),
        ("Foo & Bar", "Bar; Foo"),
        ("Foo feat. Bar", "Foo"),
        ("Foo feat. Bar", "Foo (with Baz)"),
        ("Foo & Bar & Baz", "Foo feat. Bar & Baz"),
        ("BTS (방탄소년단)", "방탄소년단"),
        ("AC/DC", "ACDC"),
        ("P!nk", "Pink"),
        ("F**ked Up", "Fucked Up"),
        ("N*E*R*D", "N.E.R.D."),
        ("!!!", "!!!"),
        ("(Foo)", "Foo"),
        ("The The", "the the"),
        ("Foo\0Bar", "Foo & Bar"),
    ],
    "partial": [
        ("Prince", "Prince & The Revolution"),
        ("Daft Punk/Pharrell Williams", "Daft Punk"),
        ("Foo feat. Bar", "Bar"),
        ("방탄소년단 (BTS)", "BTS & Foo"),
        ("The Band", "Bob Dylan & The Band"),
        ("Foo & F**ked Up", "Bar & Fucked Up"),
    ],
    "close": [("Led Zepplin", "Led Zeppelin"), ("CHVRCHES", "Churches")],
    "script": [("坂本九", "Kyu Sakamoto"), ("Кино", "Kino")],
    "absent": [("Various Artists", "Foo"), ("", "Foo"), ("", "")],
    "different": [
        ("Foo", "Bar"),
        ("Simon & Garfunkel", "Paul Simon"),
        ("Nirvana", "Nirvana UK"),
        ("Bush (UK)", "Nirvana (UK)"),
        ("Sammy Davis, Jr.", "Harry Connick, Jr."),
        ("Foo and His Orchestra", "Bar and His Orchestra"),
        ("Foo & Friends", "Bar & Friends"),
        ("311", "Foo"),
        ("311", "312"),
        ("!!!", "???"),
        ("A & B", "A & C"),
        ("M.I.A.", "Mika"),
    ],
}
ROWS = [(relation, *pair) for relation, pairs in RELATIONS.items() for pair in pairs]


@pytest.mark.parametrize(("relation", "one", "other"), ROWS)
def test_two_credits_have_one_relation_whichever_is_asked(relation, one, other):
    for asked, answered in ((one, other), (other, one)):
        assert relate_artists([read_credit(asked)], read_credit(answered)) == relation


def test_the_better_relation_of_track_and_album_artist_counts():
    credits = [read_credit("Foo"), read_credit("Bar")]
    assert relate_artists(credits, read_credit("Bar")) == "equal"
    assert relate_artists(credits, read_credit("Baz")) == "different"
    assert relate_artists([], read_credit("Bar")) == "absent"


def test_the_credited_list_counts_as_names():
    listed = read_credit("Foo with everyone", ("Simon & Garfunkel", "Ana", "Various Artists"))
    assert relate_artists([listed], read_credit("Garfunkel")) == "partial"
    assert relate_artists([listed], read_credit("Simon & Garfunkel")) == "partial"
    assert relate_artists([read_credit("", ("Foo", "Bar"))], read_credit("Bar & Foo")) == "equal"


def test_guests_are_compared_with_slips_of_the_pen_forgiven():
    assert share_name(frozenset({"pharrell"}), frozenset({"pharell"}))
    assert not share_name(frozenset({"ana"}), frozenset({"bo"}))
