import pytest

from lyrsvc.core.qualifiers import Kind
from lyrsvc.core.titles import base_title, query_title, read_title


@pytest.mark.parametrize(
    ("title", "core", "full"),
    [
        ("Heroes - 2017 Remaster", "heroes", "heroes"),
        ("(I Can't Get No) Satisfaction", "satisfaction", "i cant get no satisfaction"),
        ("Song (Beta) [Live]", "song", "song beta"),
        ("Song【MV】《Beta》〔Gamma〕〈Delta〉{Live}", "song", "song mv beta gamma delta"),
        ("Song （Live）", "song", "song"),
        ("Carmen - Habanera", "carmen habanera", "carmen habanera"),
        ("Song - Live (Beta)", "song", "song beta"),
        ("Song (Live [2011 Remaster])", "song", "song"),
        ("Song (Beta (Gamma))", "song", "song beta gamma"),
        ("Song (Live", "song live", "song live"),
        ("Song [Live)", "song live", "song live"),
        ("Song (Beta]) x", "song x", "song beta x"),
        ("Song :)", "song", "song"),
        ("(Interlude)", "interlude", "interlude"),
        ("[Untitled] (Live)", "untitled", "untitled"),
        ("(One) (Two)", "one", "one two"),
        ("(feat. Ana)", "feat ana", "feat ana"),
    ],
)
def test_a_title_has_a_core_and_extras_in_place(title, core, full):
    read = read_title(title)
    assert " ".join(read.core.spelled) == core
    assert " ".join(read.full.spelled) == full


@pytest.mark.parametrize(
    ("title", "guests"),
    [
        ("Song feat. Ana Rue", ("Ana Rue",)),
        ("Song ft Ana & Bo (Live)", ("Ana & Bo",)),
        ("Song FEATURING Ana - Live", ("Ana",)),
        ("Song - feat. Ana", ("Ana",)),
        ("Song (feat. Ana) [with Bo]", ("Ana", "Bo")),
        ("Song (w/ Ana)", ("Ana",)),
        ("Song (Remix feat. Ana)", ("Ana",)),
        ("Song (feat. Ana - Live)", ("Ana",)),
        ("I'm the One ft. Ana", ("Ana",)),
        ("Ft. Worth Blues feat. Ana", ("Ana",)),
        ("50 Ft Queenie", ()),
        ("Six Ft. Under", ()),
        ("A Hundred Ft High", ()),
        ("Ft. Worth Blues", ()),
        ("Draft Beer", ()),
        ("No Small Feat", ()),
        ("Dance (With Me)", ()),
        ("Stay with Ana", ()),
    ],
)
def test_guests_are_named_after_feat_ft_featuring_and_a_bracketed_with(title, guests):
    assert read_title(title).guests == guests


def test_a_first_segment_that_is_an_artist_is_dropped():
    names = frozenset({"wishmaker"})
    assert read_title("The Wishmaker - Harbour Lights", names).core.spelled == ("harbour", "lights")
    assert read_title("Wishmaker - Live", names).core.spelled == ("wishmaker",)
    assert read_title("Wishmaker - ♥", names).core.signs == "♥"
    assert read_title("Wishmaker", names).core.spelled == ("wishmaker",)
    assert read_title("Other - Harbour", names).core.spelled == ("other", "harbour")


def test_the_classes_of_all_parts_come_together():
    kinds = read_title("Song (Tidal Remix) - Live [Moonrise Remix]").kinds
    assert kinds == {Kind.REMIX: {"tidal", "moonrise"}, Kind.LIVE: frozenset()}


@pytest.mark.parametrize(
    ("title", "is_generic"),
    [
        *(("Intro", True), ("Skit #2", True), ("The Interlude", True), ("Untitled 04", True)),
        *(("Hidden Track", True), ("Bonus Track", True), ("Track 7", True), ("[Untitled].", True)),
        *(("Track", False), ("Introduction", False), ("Main Theme", False), ("7", False)),
    ],
)
def test_a_generic_title_may_stand_on_any_album(title, is_generic):
    assert read_title(title).is_generic is is_generic


@pytest.mark.parametrize("title", ["?", "÷", "...", "( )", "♥ (Remastered)"])
def test_a_title_without_words_is_symbolic(title):
    assert read_title(title).is_symbolic


@pytest.mark.parametrize(
    ("title", "base", "query"),
    [
        ("Ooh La La (feat. Greg Nice) [Remix]", "Ooh La La", "Ooh La La [Remix]"),
        ("Heroes - 2017 Remaster", "Heroes", "Heroes"),
        ("Song (Live) - 2011 Remaster", "Song", "Song (Live)"),
        ("Song - Live", "Song", "Song - Live"),
        ("Song (Remix feat. Ana)", "Song", "Song (Remix)"),
        ("Song (Put a Ring on It)", "Song (Put a Ring on It)", "Song (Put a Ring on It)"),
        ("Song ft. Ana (Beta)", "Song (Beta)", "Song (Beta)"),
        ("Song - Live (Beta)", "Song (Beta)", "Song - Live (Beta)"),
        ("Carmen – Habanera", "Carmen - Habanera", "Carmen - Habanera"),
        ("[Live]", "[Live]", "[Live]"),
        ("?  (Remastered)", "?", "?"),
        ("夜に駆ける （ライブ）", "夜に駆ける", "夜に駆ける (ライブ)"),
    ],
)
def test_a_title_is_shortened_for_searches_and_queries(title, base, query):
    assert base_title(title) == base
    assert query_title(title) == query


def test_a_leading_artist_is_not_sent_as_part_of_the_title():
    assert base_title("Wishmaker - Harbour Lights", artists={"wishmaker"}) == "Harbour Lights"


def test_hundreds_of_brackets_do_not_break_the_reading():
    assert read_title("(" * 500 + "a" + ")" * 500).full.spelled == ("a",)
    assert read_title("Song " + "(a) " * 400).core.spelled[0] == "song"
