import pytest

from lyrsvc.core.languages import language_of
from lyrsvc.core.qualifiers import TIMING, WORDS, Kind, qualify, qualify_trailing


@pytest.mark.parametrize(
    "part",
    [
        *("Remaster", "2011 Remastered Version", "Remastering", "Mono", "Stereo", "Deluxe"),
        *("Explicit", "Clean", "50th Anniversary Edition", "Expanded", "Bonus Track", "Digital"),
        *("Dolby Atmos Mix", "Album Version", "Single Version", "Original Mix", "Official Video"),
        *("Audio", "Lyrics", "Lyric Video", "Visualizer", "HD", "HQ", "4K", "Soundtrack", "OST"),
        *("prod. by X", "Original Motion Picture Score", "Theme from Shaft", "2022 Mix"),
        *("Main Mix", "1999", "1998 2004", "From the Vault", 'From "Frozen"', "August 1970"),
        *("Remastered 2009 Version",),
    ],
)
def test_a_neutral_part_says_nothing_about_the_version(part):
    said = qualify(part)
    assert said.neutral
    assert not said.kinds


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        (
            Kind.LIVE,
            "Live|Live 1999|Wembley Live|Recorded Live at Leeds|Unplugged|In Concert|"
            "Concert Version|BBC Session|Ao Vivo|En Vivo|En Directo|Dal Vivo|En Concert|"
            "ライブ|ライヴバージョン|라이브|现场版|現場",
        ),
        (
            Kind.EDIT,
            "Edit|Radio Edit|Extended|Extended Mix|Radio Mix|Radio Version|Radio Cut|"
            "Short Version|Long Version|Full Length Version|12 Inch|12\" Mix|12'' Version|7\" Version",
        ),
        (
            Kind.ACOUSTIC,
            "Acoustic|Acapella|A Cappella|Stripped|Orchestral|Symphonic|Piano Version|"
            "Strings Version|Piano",
        ),
        (
            Kind.DEMO,
            "Demo|Demos|Outtake|Rehearsal|Alternate Take|Alternative Version|Early Version|"
            "Rough Mix|Take 2|Take One",
        ),
        (Kind.SPEED, "Sped Up|Speed Up|Sped-Up|Slowed + Reverb|Nightcore|Daycore|8D Audio"),
        (
            Kind.RERECORDED,
            "Rerecorded|Re-Recorded|Re-Recording|New Recording|Newly Recorded|Taylor's Version|"
            "Taylor’s Version|James' Version|2012 Version",
        ),
        (
            Kind.REMIX,
            "Remix|Tidal Remix|Remixed|Remixes|RMX|Bootleg|Mashup|Rework|Reworked|Tidal Flip|VIP|"
            "Dub Mix|Mad Professor Dub|Club Mix|Mix|Tidal Extended Mix|リミックス",
        ),
        (
            Kind.INSTRUMENTAL,
            "Instrumental|Karaoke Version|Backing Track|Minus One|Off Vocal|Inst.|Playback|カラオケ",
        ),
        (
            Kind.COVER,
            "Nirvana Cover|Cover Version|Cover of X|Cover by X|Tribute|Parody|In the Style of X|"
            "Made Famous by X|Made Popular by X|Originally Performed by X",
        ),
        (
            Kind.PART,
            "Reprise|Skit|Interlude|Intro|Outro|Prelude|Milo Interlude|Intro to X|"
            "Commentary|Audio Commentary|Track by Track Commentary|Interview|Radio Interview",
        ),
        (
            Kind.LANGUAGE,
            "Spanish Version|Japanese Ver.|English|En Español|In English|Versión en Español|"
            "Deutsche Version|Spanish Mix|日本語ver|中文版",
        ),
    ],
)
def test_a_part_belongs_to_a_class_by_its_words(kind, parts):
    for part in parts.split("|"):
        assert kind in qualify(part).kinds, part
        assert not qualify(part).neutral


@pytest.mark.parametrize("film", ["Interview with the Vampire", '"The Interview"'])
def test_a_film_may_be_called_as_a_part_is(film):
    assert qualify(f"From {film}").neutral


def test_every_class_is_in_one_group():
    assert set(Kind) == TIMING | WORDS
    assert not TIMING & WORDS


@pytest.mark.parametrize(
    "part", ["Put a Ring on It", "Nobody in the World", "Da Shine", "Strings", "Preludes", ""]
)
def test_any_other_part_is_none(part):
    assert not qualify(part)


@pytest.mark.parametrize("part", ["Extended Mix", "2012 Stereo Mix", "Rough Mix", "Spanish Mix"])
def test_a_mix_that_something_explains_is_no_remix(part):
    assert Kind.REMIX not in qualify(part).kinds


@pytest.mark.parametrize(
    ("part", "kind", "detail"),
    [
        ("The Magician Remix", Kind.REMIX, {"magician"}),
        ("Tidal Radio Edit Remix", Kind.REMIX, {"tidal"}),
        ("Remix", Kind.REMIX, set()),
        ("Reprise", Kind.PART, {"reprise"}),
        ("Milo Interlude", Kind.PART, {"interlude"}),
        ("Audio Commentary", Kind.PART, {"commentary"}),
        ("Versión en Español", Kind.LANGUAGE, {"spanish"}),
    ],
)
def test_a_class_may_have_a_detail(part, kind, detail):
    assert qualify(part).kinds[kind] == detail


def test_a_part_may_belong_to_several_classes():
    assert set(qualify("Live Acoustic Demo").kinds) == {Kind.LIVE, Kind.ACOUSTIC, Kind.DEMO}


@pytest.mark.parametrize(
    "words",
    [
        *("live", "live at wembley", "live 1999", "unplugged", "acoustic", "acoustic version"),
        *("radio edit", "extended mix", "demo", "take 2", "sped up", "slowed and reverb"),
        *("remastered", "2011 remaster", "remastered 2009", "explicit", "official video"),
        *("album version", "original mix", "prod by somebody", "tidal remix", "instrumental"),
        *("reprise", "spanish version"),
    ],
)
def test_trailing_words_count_when_all_of_them_qualify(words):
    assert qualify_trailing(tuple(words.split()))


@pytest.mark.parametrize(
    "words",
    [
        *("from mars", "clean", "video", "single", "album", "original", "1999", "piano"),
        *("we had an extended party", "live forever", "session", "foo bar intro", "english"),
        *("audio", "anniversary", "goodbye", "songs karaoke"),
    ],
)
def test_trailing_words_that_may_belong_to_the_name_do_not_count(words):
    assert not qualify_trailing(tuple(words.split()))


def test_a_quoted_origin_counts_without_brackets():
    assert qualify_trailing(("from", "rocky", "iii"), origin=True).neutral


def test_a_language_is_named_by_its_version():
    assert language_of(("full", "english", "version")) == "english"
    assert language_of(("english", "man", "in", "new", "york")) == ""
    assert language_of(("夜版",)) == ""
