"""The open catalogue's lane: its ladder, its classes, its traps."""

import json
from dataclasses import replace

import pytest
from werkzeug import Response

from lyrsvc.core.cleaning import clean
from lyrsvc.core.errors import LaneError, Malformed, Miss, Throttled, Transient
from lyrsvc.core.matching import judge_match
from lyrsvc.core.recording import Recording
from lyrsvc.demo.song import Song
from lyrsvc.demo.stand_in import StandIn
from lyrsvc.providers.lrclib import Lrclib
from providers_data import index, recorded

GET, SEARCH = "/api/get", "/api/search"


class Wire:
    """A server whose answers are given rung by rung, and the lane that climbs."""

    def __init__(self, server, context):
        self.server = server
        self.context = context

    def answers(self, *files):
        """Answer the first request with the first file, and so on; then with 404."""
        left = list(files)

        def respond(_request):
            if not left:
                return Response("{}", 404)
            file = left.pop(0)
            if not str(file).endswith(".json"):
                return Response(json.dumps(file))
            status = {row["file"]: row["http_status"] for row in index("lrclib")}[file]
            answer = recorded("lrclib", file, status)
            return Response(answer.text, answer.status, answer.headers)

        self.server.expect_request(GET).respond_with_handler(respond)
        self.server.expect_request(SEARCH).respond_with_handler(respond)

    def look_up(self, recording):
        lane = Lrclib(base_url=f"http://127.0.0.1:{self.server.port}/")
        return lane.lookup(recording, self.context(recording))

    def fault(self, recording) -> LaneError:
        with pytest.raises(LaneError) as caught:
            self.look_up(recording)
        return caught.value

    @property
    def rungs(self):
        return [(request.path, dict(request.args)) for request, _ in self.server.log]


@pytest.fixture
def wire(httpserver, context):
    return Wire(httpserver, context)


def ids(candidates):
    return [candidate.matched.ids[0] for candidate in candidates]


def accepted(asked, candidates):
    return [
        candidate.matched.ids[0]
        for candidate in candidates
        if judge_match(asked, candidate.matched).accepted and candidate.cues
    ]


NAMES = {"track_name": "Paper Lantern Weather", "artist_name": "The Quiet Ferrymen"}
RUNGS = [
    (GET, {**NAMES, "album_name": "Low Tide Almanac", "duration": "214"}),
    (GET, {**NAMES, "duration": "214"}),
    (SEARCH, NAMES),
    (SEARCH, {"q": "The Quiet Ferrymen Paper Lantern Weather"}),
]


@pytest.mark.spec("P-23")
def test_a_synced_hit_ends_the_climb(wire, asked):
    wire.answers("hit.json")

    (found,) = wire.look_up(asked)

    assert [cue.ms for cue in found.cues] == [12_480, 15_970, 19_300]
    assert found.matched.duration_ms == 214_000
    assert wire.rungs == RUNGS[:1]


@pytest.mark.spec("P-23")
@pytest.mark.parametrize("second", ["error_404_not_found.json", "plain_only.json"])
def test_the_rungs_come_in_order_until_the_search_has_the_row(wire, asked, second):
    wire.answers("error_404_not_found.json", second, "search.json")

    found = wire.look_up(asked)

    assert "41200177" in accepted(asked, found)
    assert wire.rungs == RUNGS[:3]


@pytest.mark.spec("P-24")
def test_live_rows_and_other_artists_are_never_the_answer(wire, asked):
    rows = json.loads(recorded("lrclib", "search.json").text)
    wire.answers(
        "error_404_not_found.json",
        "error_404_not_found.json",
        [row for row in rows if row["id"] != 41200177],
    )

    found = wire.look_up(asked)

    assert accepted(asked, found) == ["41200184"]


@pytest.mark.spec("P-25")
def test_metadata_alone_is_a_miss(wire):
    asked = Recording(
        title="Anteroom", artist="The Quiet Ferrymen", album="Low Tide Almanac", duration_ms=61_000
    )
    wire.answers(
        "metadata_only.json", "metadata_only.json", "search_empty.json", "search_empty.json"
    )

    error = wire.fault(asked)

    assert (type(error), error.reason) == (Miss, "no_lyrics")
    assert len(wire.rungs) == 4


@pytest.mark.spec("P-25")
def test_an_instrumental_row_is_kept_while_the_ladder_goes_on(wire):
    asked = Recording(
        title="Harbour Interlude",
        artist="The Quiet Ferrymen",
        album="Low Tide Almanac",
        duration_ms=96_000,
    )
    text = {
        "id": 7,
        "trackName": "Harbour Interlude",
        "artistName": "The Quiet Ferrymen",
        "albumName": "Elsewhere",
        "duration": 97,
        "instrumental": False,
        "plainLyrics": "one\ntwo",
        "syncedLyrics": "[00:01.00]one\n[00:02.50]two",
    }
    wire.answers("instrumental.json", "error_404_not_found.json", [text])

    found = wire.look_up(asked)

    assert [candidate.instrumental for candidate in found] == [True, False]
    assert accepted(asked, found) == ["7"]


def test_a_flag_beside_real_words_is_no_claim(wire, asked):
    row = json.loads(recorded("lrclib", "hit.json").text)
    lines = "\n".join(f"[00:{at:02d}.00]words of line {at}" for at in range(10, 14))
    wire.answers({**row, "instrumental": True, "syncedLyrics": lines, "plainLyrics": None})

    (found,) = wire.look_up(asked)

    assert len(found.cues) == 4


@pytest.mark.parametrize(
    "synced",
    [
        "[au: instrumental]",
        "[ti:Paper Lantern Weather]\n[au: instrumental]\n[00:00.00]",
        "[00:00.00]作曲 : 某人\n[00:01.00]纯音乐，请欣赏",
    ],
)
@pytest.mark.parametrize("plain", [None, ""])
def test_a_mark_in_place_of_the_cues_is_a_claim(wire, asked, synced, plain):
    row = json.loads(recorded("lrclib", "hit.json").text)
    wire.answers({**row, "instrumental": False, "syncedLyrics": synced, "plainLyrics": plain})

    (found,) = wire.look_up(asked)

    assert (found.instrumental, found.cues, found.plain) == (True, (), None)


@pytest.mark.parametrize("synced", ["[au: somebody]", "[00:01.00]"])
def test_cues_without_words_are_no_claim(wire, asked, synced):
    row = json.loads(recorded("lrclib", "hit.json").text)
    wire.answers({**row, "instrumental": False, "syncedLyrics": synced, "plainLyrics": None})

    assert isinstance(wire.fault(asked), Miss)


def test_half_a_character_is_shown_as_unreadable(wire, asked):
    row = json.loads(recorded("lrclib", "hit.json").text)
    words = "a line with half a \ud83d sign\nand one more"
    wire.answers({**row, "syncedLyrics": None, "plainLyrics": words})

    (found,) = wire.look_up(asked)

    assert found.plain == "a line with half a \ufffd sign\nand one more"


def test_plain_words_with_stamps_are_rebuilt_from_the_cues(wire, asked):
    wire.answers("plain_with_stamps.json")

    (found,) = wire.look_up(asked)

    assert clean(found).plain == "We hung the paper lanterns low\nand let the kitchen radio go"


@pytest.mark.parametrize(("bare", "is_timed"), [(2, True), (3, False)])
def test_words_of_which_few_have_stamps_are_plain_words(wire, asked, bare, is_timed):
    row = json.loads(recorded("lrclib", "hit.json").text)
    lines = [f"line {number}" for number in range(bare)]
    timed = ["[ti:Paper Lantern Weather]", "[00:01.00]We hung", "[00:02.00]the lanterns", *lines]
    plain = "\n".join(["We hung", "the lanterns", *lines])
    wire.answers({**row, "syncedLyrics": "\n".join(timed), "plainLyrics": plain}, [])

    found = wire.look_up(asked)[0]

    assert (bool(found.cues), found.plain) == (is_timed, plain)


@pytest.mark.parametrize("plain", [None, "", " \n"])
def test_timed_words_that_came_without_stamps_are_plain_words(wire, asked, plain):
    row = json.loads(recorded("lrclib", "hit.json").text)
    text = "[ti:Paper Lantern Weather]\nWe hung the <00:01.00>paper lanterns\n\nand let it go"
    wire.answers({**row, "syncedLyrics": text, "plainLyrics": plain})

    (found,) = wire.look_up(asked)

    assert (found.cues, found.plain) == ((), "We hung the paper lanterns\n\nand let it go")


@pytest.mark.parametrize(
    "text",
    [
        "[ti:Paper Lantern Weather]\n[length:03:34]",
        "We hung\n[01:75.00]the lanterns\n[01:80.00]low",
        "［00：10.00］We hung\n[00：12.00]the lanterns",
        "1\n00:00:10,000 --> 00:00:12,000\nWe hung the lanterns",
        '[{"time": 1, "text": "We hung the lanterns"}]',
        "<tt><p begin='1s'>We hung the lanterns</p></tt>",
    ],
)
def test_text_with_times_in_a_form_that_is_not_read_gives_no_words(wire, asked, text):
    row = json.loads(recorded("lrclib", "hit.json").text)
    wire.answers({**row, "syncedLyrics": text, "plainLyrics": None})

    assert isinstance(wire.fault(asked), Miss)


def test_an_instrumental_mark_in_place_of_timed_words_is_a_claim(wire, asked):
    row = json.loads(recorded("lrclib", "hit.json").text)
    wire.answers({**row, "syncedLyrics": "[au: instrumental]", "plainLyrics": None})

    (found,) = wire.look_up(asked)

    assert found.instrumental


def test_a_row_met_twice_is_one_candidate(wire, asked):
    wire.answers("plain_only.json", "plain_only.json", "search_empty.json", "search_empty.json")

    assert ids(wire.look_up(asked)) == ["41200180"]
    assert wire.rungs == RUNGS


def test_a_usable_row_of_the_third_rung_spares_the_fourth(wire, asked):
    plain = json.loads(recorded("lrclib", "plain_only.json").text)
    wire.answers("error_404_not_found.json", "error_404_not_found.json", [plain])

    assert ids(wire.look_up(asked)) == ["41200180"]
    assert wire.rungs == RUNGS[:3]


def test_after_the_last_rung_it_is_a_miss(wire, asked):
    wire.answers()

    error = wire.fault(asked)

    assert (type(error), error.reason) == (Miss, "not_found")
    assert wire.rungs == RUNGS


@pytest.mark.spec("P-26")
@pytest.mark.parametrize(
    ("duration_ms", "sent"),
    [
        (4_000_000, None),
        (3_600_499, "3600"),
        (3_600_500, None),
        (400, None),
        (500, "1"),
        (None, None),
    ],
)
def test_a_length_the_server_refuses_is_left_out(wire, asked, duration_ms, sent):
    wire.answers()

    wire.fault(replace(asked, duration_ms=duration_ms))

    assert {query.get("duration") for path, query in wire.rungs if path == GET} == {sent}


@pytest.mark.parametrize("changes", [{"album": ""}, {"duration_ms": None}])
def test_the_first_rung_needs_album_and_length(wire, asked, changes):
    wire.answers()

    wire.fault(replace(asked, **changes))

    assert [path for path, _ in wire.rungs] == [GET, SEARCH, SEARCH]


@pytest.mark.spec("P-26")
@pytest.mark.parametrize("names", [{"title": "?"}, {"title": "*"}, {"artist": "!!!"}])
def test_names_the_server_turns_into_nothing_are_only_searched_for(wire, asked, names):
    wire.answers()
    recording = replace(asked, **names)

    wire.fault(recording)

    assert wire.rungs == [(SEARCH, {"q": f"{recording.artist} Low Tide Almanac"})]


@pytest.mark.spec("P-26")
@pytest.mark.parametrize("tagged", [False, True])
def test_searches_use_the_first_of_several_artists_and_the_base_title(wire, asked, tagged):
    wire.answers()
    artist = "Mara Voss, Odd Parade, Ferrymen & Nobody"
    artists = (artist,) if tagged else ()

    wire.fault(replace(asked, artist=artist, artists=artists, title="Weather (feat. X) (Live)"))

    assert [query.get("artist_name") for _, query in wire.rungs] == [
        artist,
        artist,
        "Mara Voss",
        None,
    ]
    assert wire.rungs[0][1]["track_name"] == "Weather (feat. X) (Live)"
    assert wire.rungs[2][1]["track_name"] == "Weather"
    assert wire.rungs[3][1] == {"q": "Mara Voss Weather"}


def test_without_an_artist_title_and_album_are_searched_for(wire, asked):
    wire.answers()

    wire.fault(replace(asked, artist="Various Artists"))
    wire.fault(replace(asked, artist="Various Artists", album=""))

    assert wire.rungs == [(SEARCH, {"q": "Paper Lantern Weather Low Tide Almanac"})]


@pytest.mark.spec("P-27")
@pytest.mark.parametrize(
    ("file", "expected", "wait_s"),
    [
        ("throttled_429.json", Throttled, 30),
        ("throttled_503.json", Throttled, None),
        ("error_500_unknown.json", Transient, None),
        ("error_400_plain_text.json", Malformed, None),
        ("error_400_validation.json", Malformed, None),
        ("error_400_publish_token.json", Malformed, None),
    ],
)
@pytest.mark.parametrize("rung", range(4))
def test_a_refusal_has_its_class_on_every_rung(wire, asked, file, expected, wait_s, rung):
    misses = ["error_404_not_found.json"] * 2 + ["search_empty.json"]
    wire.answers(*misses[:rung], file)

    error = wire.fault(asked)

    assert (type(error), error.retry_after_s) == (expected, wait_s)
    assert len(wire.rungs) == rung + 1


@pytest.mark.parametrize(
    ("file", "fault"),
    [
        ("throttled_429.json", Throttled),
        ("error_500_unknown.json", Transient),
        ("error_400_plain_text.json", Malformed),
    ],
)
@pytest.mark.parametrize("rung", [1, 2, 3])
def test_words_in_hand_outlive_a_rung_that_breaks(wire, asked, file, fault, rung):
    before = ["plain_only.json", "error_404_not_found.json", "search_empty.json"]
    wire.answers(*before[:rung], file)

    assert ids(wire.look_up(asked)) == ["41200180"]
    assert [type(noted) for noted in wire.context.faults] == [fault]
    assert len(wire.rungs) == rung + 1


def test_words_that_do_not_fit_outlive_nothing(wire, asked):
    wire.answers("plain_only.json", "plain_only.json", "error_500_unknown.json")

    assert isinstance(wire.fault(replace(asked, title="Another Song")), Transient)


def test_an_instrumental_flag_needs_the_whole_ladder(wire, asked):
    flag = json.loads(recorded("lrclib", "instrumental.json").text) | {"trackName": asked.title}
    wire.answers(flag, "error_404_not_found.json", "error_500_unknown.json")

    assert isinstance(wire.fault(asked), Transient)
    assert wire.context.faults == []


def test_when_a_rung_breaks_only_words_are_left_of_the_rows(wire, asked):
    flag = json.loads(recorded("lrclib", "instrumental.json").text) | {"trackName": asked.title}
    wire.answers(flag, "plain_only.json", "error_500_unknown.json")

    assert ids(wire.look_up(asked)) == ["41200180"]


@pytest.mark.parametrize("body", [[], [1], "x", 5, None, [[]]], ids=repr)
def test_an_answer_of_another_shape_is_malformed(wire, asked, body):
    wire.answers(body)

    assert isinstance(wire.fault(asked), Malformed)


@pytest.mark.parametrize("body", [{}, "x", [1], [{}, None]], ids=repr)
def test_a_search_of_another_shape_is_malformed(wire, asked, body):
    wire.answers("error_404_not_found.json", "error_404_not_found.json", body)

    assert isinstance(wire.fault(asked), Malformed)


@pytest.mark.parametrize(
    "row",
    [
        {"duration": "x", "syncedLyrics": 5, "plainLyrics": ["a"], "id": []},
        {"duration": -5, "plainLyrics": "\ud800 word", "trackName": None, "name": 7},
        {"duration": 1e300, "instrumental": "yes", "plainLyrics": "a\nb"},
    ],
)
def test_fields_of_any_kind_break_nothing(wire, asked, row):
    wire.answers(row)

    try:
        found = wire.look_up(asked)
    except Miss:
        found = []
    repr(found).encode()


def test_the_lane_only_reads_names_itself_and_needs_no_token(context):
    songs = [Song(title=f"Song {n}", artist="Band", lines=("a b", "c d")) for n in range(5)]
    with StandIn(songs) as upstream:
        lane = Lrclib(base_url=upstream.url)
        for song in songs:
            asked = Recording(title=song.title, artist=song.artist, duration_ms=40_000)
            assert lane.lookup(asked, context(asked))[0].cues

        assert len(upstream.requests) == 5
        assert {request.method for request in upstream.requests} == {"GET"}
        assert upstream.calls("token.get") == ()
        assert all(r.headers["user-agent"].startswith("lyrsvc/") for r in upstream.requests)
        assert all("usertoken" not in r.query for r in upstream.requests)
    assert not lane.needs_token


@pytest.mark.parametrize("written", ["", "/", "/api", "/api/"])
def test_the_address_may_name_the_site_or_its_api(context, written):
    song = Song(title="Song", artist="Band", lines=("a b", "c d"))
    asked = Recording(title=song.title, artist=song.artist, duration_ms=40_000)
    with StandIn([song]) as upstream:
        assert Lrclib(base_url=f"{upstream.url}{written}").lookup(asked, context(asked))[0].cues


def test_a_probe_is_one_cheap_request(wire):
    lane = Lrclib(base_url=f"http://127.0.0.1:{wire.server.port}")
    wire.answers("error_404_not_found.json", "throttled_429.json")

    lane.probe(wire.context())
    with pytest.raises(Throttled):
        lane.probe(wire.context())
    assert len(wire.rungs) == 2


@pytest.mark.parametrize("body", ["<html>404 Not Found</html>", "404 page not found", "", "[]"])
def test_a_probe_knows_an_address_without_a_catalogue(wire, asked, body):
    lane = Lrclib(base_url=f"http://127.0.0.1:{wire.server.port}")
    wire.server.expect_request(GET).respond_with_data(body, 404)
    wire.server.expect_request(SEARCH).respond_with_data(body, 404)

    with pytest.raises(Malformed):
        lane.probe(wire.context())
    assert isinstance(wire.fault(asked), Miss)  # for a track it is no more than that


def test_at_most_fifty_candidates_are_given_and_the_usable_ones_stay(wire, asked):
    rows = json.loads(recorded("lrclib", "search.json").text)
    plain = json.loads(recorded("lrclib", "plain_only.json").text)
    wrong = [{**rows[1], "id": 1000 + n} for n in range(80)]
    wire.answers("error_404_not_found.json", "error_404_not_found.json", [*wrong, plain])

    found = wire.look_up(asked)

    assert len(found) == 50
    assert found[0].matched.ids == ("41200180",)
