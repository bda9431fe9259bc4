"""The default provider's lane, against every recorded answer and the stand-in."""

import json
import threading
from contextlib import suppress
from dataclasses import replace

import pytest

from lyrsvc.core.cleaning import clean
from lyrsvc.core.errors import (
    IdentityRefused,
    LaneError,
    Malformed,
    Miss,
    Throttled,
    TokenFinished,
    Transient,
)
from lyrsvc.core.lyrics import Cue, Word
from lyrsvc.core.matching import judge_match
from lyrsvc.core.ports import Reply
from lyrsvc.core.recording import Recording
from lyrsvc.providers.defaultprov import DefaultProv, mint_token
from lyrsvc.providers.defaultprov_answer import (
    MATCHER_REFUSALS,
    REFUSALS,
    RESULTS,
    decide,
    read_envelope,
    read_found,
)
from lyrsvc.providers.tokens import AutomaticToken, OperatorToken
from providers_data import BODIES, index, recorded

LYRICS, TOKEN = "/ws/1.1/macro.subtitles.get", "/ws/1.1/token.get"
RICHSYNC = "/ws/1.1/track.richsync.get"
TRANSLATIONS = "/ws/1.1/crowd.track.translations.get"
INTERLUDE = Recording(
    title="Harbour Interlude",
    artist="The Quiet Ferrymen",
    album="Low Tide Almanac",
    duration_ms=96_000,
)
FOUR_TIMES = [12_480, 15_970, 19_300, 64_050]
CALLS = ("A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "L", "M", "N")
LYRIC_BODIES = [entry for entry in index("defaultprov") if entry["file"][0] in CALLS]


class Wire:
    """A server that gives recorded answers, and the lane that asks it."""

    def __init__(self, server, context):
        self.server = server
        self.context = context
        self.stored: list[str] = []
        self.told = ()
        self.tokens = AutomaticToken("first-token", self.stored.append)

    def serve(self, path, file, *, edit=None, status=200, once=False):
        answer = recorded("defaultprov", file, status)
        text = answer.text
        if edit:
            content = json.loads(text)
            edit(content)
            text = json.dumps(content)
        expect = self.server.expect_oneshot_request if once else self.server.expect_request
        expect(path).respond_with_data(text, answer.status, answer.headers)

    def lane(self, **options):
        url = f"http://127.0.0.1:{self.server.port}"
        return DefaultProv(
            base_url=url + "/", app_id="test-app", **{"tokens": self.tokens, **options}
        )

    def look_up(self, recording, **options):
        (candidate,) = self.lane(**options).lookup(recording, self.context(recording))
        return candidate

    def fault(self, recording, **options) -> LaneError:
        with pytest.raises(LaneError) as caught:
            self.look_up(recording, **options)
        return caught.value

    def paths(self):
        return [request.path for request, _ in self.server.log]

    def queries(self, path=LYRICS):
        return [request.args for request, _ in self.server.log if request.path == path]


@pytest.fixture
def wire(httpserver, context):
    return Wire(httpserver, context)


def kind_of(candidate) -> str:
    if candidate.instrumental:
        return "instrumental"
    return "synced" if candidate.cues else "unsynced"


def outcome(wire, recording) -> str:
    try:
        candidate = wire.look_up(recording)
    except LaneError as error:
        wire.told = repr(error), wire.server.log
        return error.code
    if judge_match(recording, candidate.matched).rejected:
        return "mismatch"
    return kind_of(candidate)


@pytest.mark.spec("P-01")
@pytest.mark.seed("S-110")
@pytest.mark.parametrize("entry", LYRIC_BODIES, ids=lambda entry: entry["file"])
def test_every_recorded_answer_has_the_class_of_the_index(wire, asked, entry):
    wire.serve(LYRICS, entry["file"], status=entry["http_status"])
    wire.serve(TOKEN, "K1_token_success.json")
    recording = INTERLUDE if entry["file"].startswith("C") else asked

    found = outcome(wire, recording)

    is_finished = entry["expect"] == "token_finished"
    assert found == ("identity_refused" if is_finished else entry["expect"]), wire.told
    assert bool(wire.stored) == is_finished
    assert (TOKEN in wire.paths()) == is_finished


def test_a_bare_401_without_a_body_is_throttling_too(wire, asked):
    wire.server.expect_request(LYRICS).respond_with_data("", 401)

    assert isinstance(wire.fault(asked), Throttled)
    assert wire.paths() == [LYRICS]


def test_only_an_outer_401_with_the_hint_renew_finishes_a_token():
    def class_of(header, http=200, matcher=None):
        body = {"message": {"header": header, "body": {"macro_calls": {}}}}
        if matcher is not None:
            body["message"]["body"]["macro_calls"]["matcher.track.get"] = {
                "message": {"header": {"status_code": matcher, "hint": "renew"}}
            }
        with pytest.raises(LaneError) as caught:
            read_found(read_envelope(Reply(http, {}, json.dumps(body).encode())))
        return type(caught.value)

    assert class_of({"status_code": 401, "hint": "renew"}) is TokenFinished
    assert class_of({"status_code": 401, "hint": "renew"}, http=401) is Throttled
    assert class_of({"status_code": 401, "hint": "else"}) is Throttled
    assert class_of({"status_code": 401}) is Throttled
    assert class_of({"status_code": 200, "hint": "renew"}, matcher=401) is Throttled
    assert class_of({"status_code": 200}, matcher=429) is Throttled
    assert class_of({"status_code": 200}, matcher=404) is Miss
    assert class_of({"status_code": 200}, matcher=402) is Miss
    assert class_of({"status_code": 200}, matcher=0) is Transient
    assert class_of({"status_code": 200}, matcher=500) is Transient
    assert class_of({"status_code": 200}) is Transient
    assert class_of({"status_code": 200}, matcher=200) is Malformed
    assert class_of({"status_code": 302}) is Malformed
    assert class_of({"status_code": 503}) is Transient
    assert class_of({"status_code": 404}) is Miss
    assert class_of({}) is Malformed


def test_the_rows_of_the_decision_table_are_all_there_but_the_guards():
    numbers = {row[0] for table in (REFUSALS, MATCHER_REFUSALS, RESULTS) for row in table}

    assert numbers == set(range(1, 22)) - {14}


@pytest.mark.spec("P-02")
def test_both_subtitle_encodings_give_the_same_cues(wire, asked):
    wire.serve(LYRICS, "A1_synced_cue_array.json", once=True)
    wire.serve(LYRICS, "A2_synced_lrc_text.json", once=True)

    first, second = wire.look_up(asked), wire.look_up(asked)

    assert first.cues == second.cues
    assert [cue.ms for cue in first.cues] == FOUR_TIMES
    assert first.plain == second.plain
    assert first.language == "en"


@pytest.mark.spec("P-03")
def test_offset_stacked_stamps_and_header_tags_are_read(wire, asked):
    wire.serve(LYRICS, "A3_synced_lrc_text_traps.json")

    found = wire.look_up(asked)

    assert [cue.ms for cue in found.cues] == FOUR_TIMES
    assert not any("[" in cue.text for cue in found.cues)


def test_the_notice_and_entities_are_left_for_the_one_cleaning(wire, asked):
    wire.serve(LYRICS, "B3_unsynced_notice_and_entities.json")

    found = clean(wire.look_up(asked))

    assert found.plain is not None
    assert "& don't look back" in found.plain
    assert "Commercial" not in found.plain


def test_the_identity_of_the_answer_is_read(wire, asked):
    wire.serve(LYRICS, "A1_synced_cue_array.json")

    matched = wire.look_up(asked).matched

    assert (matched.artist, matched.title) == ("The Quiet Ferrymen", "Paper Lantern Weather")
    assert (matched.album, matched.duration_ms) == ("Low Tide Almanac", 214_000)
    assert matched.isrcs == ("ZZXX12600417", "ZZXX12600418")
    assert matched.ids == ("880012345", "771100234")


def test_an_unknown_subtitle_encoding_is_told_by_its_size_only(wire, asked):
    wire.serve(LYRICS, "M3_unknown_subtitle_encoding.json")

    assert str(wire.fault(asked)) == "unknown subtitle encoding, 39 bytes"


def test_a_wrong_track_without_words_is_given_to_the_guard(wire, asked):
    def make_wrong(content):
        calls = content["message"]["body"]["macro_calls"]
        calls["matcher.track.get"]["message"]["body"]["track"]["artist_name"] = "Nobody Else"

    for file in ("D2_matched_no_lyrics.json", "M3_unknown_subtitle_encoding.json"):
        wire.serve(LYRICS, file, edit=make_wrong, once=True)
        found = wire.look_up(asked)
        assert judge_match(asked, found.matched).rejected
        assert (found.cues, found.plain, found.instrumental) == ((), None, False)


def test_a_restricted_text_is_a_notice_and_no_words(wire, asked):
    def claim_subtitles(content):
        calls = content["message"]["body"]["macro_calls"]
        calls["matcher.track.get"]["message"]["body"]["track"]["has_subtitles"] = 1

    wire.serve(LYRICS, "E_restricted.json", edit=claim_subtitles)

    error = wire.fault(asked)

    assert (type(error), error.reason) == (Miss, "restricted")


@pytest.mark.spec("P-19")
def test_the_request_carries_exactly_the_parameters_of_the_table(wire, asked):
    wire.serve(LYRICS, "A1_synced_cue_array.json")
    song = replace(asked, title="Paper Lantern Weather (feat. X) [Remastered 2011]")

    wire.look_up(replace(song, duration_ms=214_499))
    wire.look_up(replace(song, isrcs=("ZZXX12600417", "ZZXX12600418"), album="", duration_ms=None))

    plain, tagged = wire.queries()
    assert dict(plain) == {
        "format": "json",
        "namespace": "lyrics_richsynched",
        "subtitle_format": "mxm",
        "app_id": "test-app",
        "usertoken": "first-token",
        "q_artist": "The Quiet Ferrymen",
        "q_artists": "The Quiet Ferrymen",
        "q_track": "Paper Lantern Weather",
        "q_album": "Low Tide Almanac",
        "q_duration": "214",
        "track_spotify_id": "",
        "f_subtitle_length": "",
    }
    assert tagged["track_isrc"] == "ZZXX12600417"
    assert (tagged["q_album"], tagged["q_duration"]) == ("", "")
    headers = wire.server.log[0][0].headers
    assert headers["Accept"] == "application/json"
    assert headers["Cookie"] == "x-mxm-token-guid="
    assert len(wire.server.log) == 2


@pytest.mark.parametrize("tagged", [False, True])
@pytest.mark.parametrize(
    ("artist", "asked_artists"),
    [
        ("The Quiet Ferrymen", ["The Quiet Ferrymen"]),
        ("Mara Voss & Odd Parade", ["Mara Voss & Odd Parade", "Mara Voss"]),
        ("Mara Voss feat. Odd Parade", ["Mara Voss feat. Odd Parade", "Mara Voss"]),
        ("Mara Voss (UK)", ["Mara Voss (UK)"]),
        ("AC/DC", ["AC/DC"]),
    ],
)
def test_a_miss_is_asked_again_only_with_the_first_of_several_names(
    wire, asked, artist, asked_artists, tagged
):
    wire.serve(LYRICS, "D1_not_found.json")

    error = wire.fault(replace(asked, artist=artist, artists=(artist,) if tagged else ()))

    assert (type(error), error.reason) == (Miss, "not_found")
    assert [query["q_artist"] for query in wire.queries()] == asked_artists


def test_the_second_question_may_find_what_the_first_did_not(wire, asked):
    wire.serve(LYRICS, "D1_not_found.json", once=True)
    wire.serve(LYRICS, "A1_synced_cue_array.json", once=True)

    assert wire.look_up(replace(asked, artist="The Quiet Ferrymen & Guests")).cues


def test_without_artist_code_and_album_nobody_is_asked(wire):
    error = wire.fault(Recording(title="Alone", artist="Various Artists"))

    assert isinstance(error, Miss)
    assert wire.paths() == []


def test_without_a_token_nobody_is_asked(wire, asked):
    error = wire.fault(asked, tokens=AutomaticToken(None, pytest.fail))

    assert isinstance(error, IdentityRefused)
    assert wire.paths() == []


@pytest.mark.spec("P-07")
@pytest.mark.seed("S-110")
def test_a_finished_token_is_replaced_stored_and_the_lookup_repeated(wire, asked):
    wire.serve(LYRICS, "G_token_finished_renew.json", once=True)
    wire.serve(LYRICS, "B_unsynced.json", once=True)
    wire.serve(TOKEN, "K1_token_success.json")

    found = wire.look_up(asked)

    token = "2609aa11bb22cc33dd44ee55ff66aa77bb88cc99dd00ee11ff22aa"
    assert found.plain
    assert wire.stored == [token]
    assert wire.paths() == [LYRICS, TOKEN, LYRICS]
    assert [query["usertoken"] for query in wire.queries()] == ["first-token", token]
    assert dict(wire.queries(TOKEN)[0]) == {"app_id": "test-app"}


@pytest.mark.spec("P-10")
def test_a_second_finished_answer_is_an_identity_that_is_refused(wire, asked):
    wire.serve(LYRICS, "G_token_finished_renew.json")
    wire.serve(TOKEN, "K1_token_success.json")

    assert isinstance(wire.fault(asked), IdentityRefused)
    assert wire.paths() == [LYRICS, TOKEN, LYRICS]


def test_one_lookup_renews_at_most_once_however_often_it_asks(wire, asked):
    wire.serve(LYRICS, "G_token_finished_renew.json", once=True)
    wire.serve(TOKEN, "K1_token_success.json")
    wire.serve(LYRICS, "D1_not_found.json", once=True)
    wire.serve(LYRICS, "G_token_finished_renew.json", once=True)

    error = wire.fault(replace(asked, artist="The Quiet Ferrymen & Guests"))

    assert isinstance(error, IdentityRefused)
    assert wire.paths().count(TOKEN) == 1


@pytest.mark.spec("P-09")
def test_an_operators_finished_token_is_left_alone_and_its_source_named(wire, asked):
    wire.serve(LYRICS, "G_token_finished_renew.json")
    wire.serve(TOKEN, "K1_token_success.json")

    error = wire.fault(asked, tokens=OperatorToken("mine", "PROVIDER_TOKEN"))

    assert isinstance(error, IdentityRefused)
    assert "PROVIDER_TOKEN" in str(error)
    assert wire.paths() == [LYRICS]
    assert wire.stored == []


@pytest.mark.spec("P-08")
def test_eight_threads_with_a_finished_token_mint_once(context, asked):
    from lyrsvc.demo.song import Song
    from lyrsvc.demo.stand_in import StandIn

    song = Song(title=asked.title, artist=asked.artist, length_s=214, lines=("one line", "two"))
    stored: list[str] = []
    found = []
    with StandIn([song]) as upstream:
        upstream.set_mode("finished", accept_newest=True)
        lane = DefaultProv(
            base_url=upstream.url, app_id="a", tokens=AutomaticToken("old", stored.append)
        )
        ready = threading.Barrier(8)

        def work():
            ready.wait()
            found.extend(lane.lookup(asked, context(asked)))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert len(upstream.calls("token.get")) == 1
        assert (len(found), stored) == (8, ["demo-token-1"])


@pytest.mark.parametrize(
    ("file", "status", "expected"),
    [
        ("K2_token_refused.json", 200, Throttled),
        ("K3_token_placeholder.json", 200, IdentityRefused),
        ("N1_malformed_not_json.json", 200, Throttled),
        ("K1_token_success.json", 500, Throttled),
    ],
)
def test_a_renewal_that_fails_never_blames_the_item(wire, asked, file, status, expected):
    wire.serve(LYRICS, "G_token_finished_renew.json")
    wire.serve(TOKEN, file, status=status)

    assert type(wire.fault(asked)) is expected
    assert wire.stored == []
    assert wire.tokens.current() == "first-token"


@pytest.mark.spec("P-01")
@pytest.mark.parametrize(
    ("file", "status", "expected"),
    [
        ("K1_token_success.json", 200, None),
        ("K2_token_refused.json", 200, Throttled),
        ("K3_token_placeholder.json", 200, IdentityRefused),
        ("N1_malformed_not_json.json", 200, Malformed),
        ("N3_throttled_http_429.json", 429, Throttled),
        ("K1_token_success.json", 401, Throttled),
        ("K1_token_success.json", 403, Throttled),
        ("K1_token_success.json", 500, Transient),
    ],
)
def test_a_token_is_minted_or_refused(wire, upstream, file, status, expected):
    wire.serve(TOKEN, file, status=status)
    url = f"http://127.0.0.1:{wire.server.port}"

    if expected is None:
        assert mint_token(upstream, url, "app").startswith("2609aa")
    else:
        with pytest.raises(expected) as caught:
            mint_token(upstream, url, "app")
        assert caught.value.retry_after_s == (120 if "N3" in file else None)


@pytest.mark.parametrize("token", ["UpgradeOnlyUpgradeOnly", "aaaaaaaa"])
def test_a_placeholder_token_is_refused(wire, upstream, token):
    body = {"message": {"header": {"status_code": 200}, "body": {"user_token": token}}}
    wire.server.expect_request(TOKEN).respond_with_json(body)

    with pytest.raises(IdentityRefused) as caught:
        mint_token(upstream, f"http://127.0.0.1:{wire.server.port}", "app")
    assert token not in str(caught.value)


def test_a_token_answer_above_64_kib_is_malformed(wire, upstream):
    wire.server.expect_request(TOKEN).respond_with_data("x" * 70_000)

    with pytest.raises(Malformed):
        mint_token(upstream, f"http://127.0.0.1:{wire.server.port}", "app")


def without_bundle(content):
    del content["message"]["body"]["macro_calls"]["track.richsync.get"]


@pytest.mark.spec("P-22")
def test_bundled_word_times_bind_to_their_cue_without_a_second_call(wire, asked):
    wire.serve(LYRICS, "A1_synced_cue_array.json")

    found = wire.look_up(asked, word_timing=True)

    assert [bool(cue.words) for cue in found.cues] == [True, False, False, False]
    first = found.cues[0]
    assert first.words[:2] == (Word(12_480, "We "), Word(12_780, "hung "))
    assert "".join(word.text for word in first.words) == first.text
    assert first.end_ms == 15_600
    assert wire.paths() == [LYRICS]
    query = wire.queries()[0]
    assert (query["optional_calls"], query["richsync_compact_type"]) == ("track.richsync", "words")


@pytest.mark.spec("P-22")
def test_word_times_that_were_not_bundled_are_asked_for(wire, asked):
    wire.serve(LYRICS, "A1_synced_cue_array.json", edit=without_bundle)
    wire.serve(RICHSYNC, "richsync.json")

    found = wire.look_up(asked, word_timing=True)

    assert [bool(cue.words) for cue in found.cues] == [True, True, False, False]
    assert wire.queries(RICHSYNC)[0]["commontrack_id"] == "771100234"
    assert wire.queries(RICHSYNC)[0]["usertoken"] == "first-token"


@pytest.mark.spec("P-22")
@pytest.mark.parametrize("file", ["richsync_unit_error.json", "richsync_not_found.json"])
def test_bad_word_times_cost_only_the_words(wire, asked, file):
    wire.serve(LYRICS, "A1_synced_cue_array.json", edit=without_bundle)
    wire.serve(RICHSYNC, file)

    found = wire.look_up(asked, word_timing=True)

    assert [cue.ms for cue in found.cues] == FOUR_TIMES
    assert not any(cue.words for cue in found.cues)


def test_with_word_output_off_bundled_times_are_ignored(wire, asked):
    wire.serve(LYRICS, "A1_synced_cue_array.json")

    assert not any(cue.words for cue in wire.look_up(asked).cues)


@pytest.mark.spec("P-20")
def test_a_translation_stands_at_the_times_of_its_originals(wire, asked):
    def repeat_first_line(content):
        part = content["message"]["body"]["macro_calls"]["track.subtitles.get"]
        subtitle = part["message"]["body"]["subtitle_list"][0]["subtitle"]
        cues = json.loads(subtitle["subtitle_body"])
        again = {**cues[0], "time": {"total": 90.5}}
        subtitle["subtitle_body"] = json.dumps([*cues, again])

    wire.serve(LYRICS, "A1_synced_cue_array.json", edit=repeat_first_line)
    wire.serve(TRANSLATIONS, "translations.json")

    found = wire.look_up(asked, translation_language="de")

    assert found.translation_language == "de"
    assert found.translation == (
        Cue(12_480, "Wir hängten die Papierlaternen tief"),
        Cue(15_970, "und ließen das Küchenradio an"),
        Cue(64_050, "Die Flut kommt, die Flut geht langsam"),
        Cue(90_500, "Wir hängten die Papierlaternen tief"),
    )
    assert dict(wire.queries(TRANSLATIONS)[0]) == {
        "format": "json",
        "app_id": "test-app",
        "usertoken": "first-token",
        "track_id": "880012345",
        "selected_language": "de",
        "translation_fields_set": "minimal",
        "comment_format": "text",
    }


@pytest.mark.spec("P-21")
@pytest.mark.parametrize(
    ("file", "status", "noted"),
    [
        ("translations_empty.json", 200, []),
        ("translations_refused.json", 200, ["throttled"]),
        ("translations.json", 500, []),
        ("translations.json", 429, ["throttled"]),
        ("N1_malformed_not_json.json", 200, []),
        ("G_token_finished_renew.json", 200, []),
    ],
)
def test_lyrics_without_a_translation_are_still_a_result(wire, asked, file, status, noted):
    wire.serve(LYRICS, "A1_synced_cue_array.json")
    wire.serve(TRANSLATIONS, file, status=status)

    found = wire.look_up(asked, translation_language="de")

    assert (len(found.cues), found.translation) == (4, None)
    assert [fault.code for fault in wire.context.faults] == noted
    assert TOKEN not in wire.paths()


def test_after_a_throttled_extra_no_other_is_asked_for(wire, asked):
    wire.serve(LYRICS, "A1_synced_cue_array.json", edit=without_bundle)
    wire.serve(RICHSYNC, "H_captcha.json")

    found = wire.look_up(asked, word_timing=True, translation_language="de")

    assert len(found.cues) == 4
    assert wire.paths() == [LYRICS, RICHSYNC]
    assert [fault.code for fault in wire.context.faults] == ["throttled"]


@pytest.mark.spec("P-21")
@pytest.mark.parametrize("language", ["en", "EN", "en-GB"])
def test_lyrics_in_the_wanted_language_need_no_translation(wire, asked, language):
    wire.serve(LYRICS, "A1_synced_cue_array.json")

    wire.look_up(asked, translation_language=language)

    assert wire.paths() == [LYRICS]


@pytest.mark.parametrize("file", ["B_unsynced.json", "L_decoy.json", "C1_instrumental.json"])
def test_nothing_extra_is_asked_for_words_without_times_or_a_wrong_song(wire, asked, file):
    wire.serve(LYRICS, file)
    recording = INTERLUDE if file.startswith("C") else asked

    wire.look_up(recording, translation_language="de", word_timing=True)

    assert wire.paths() == [LYRICS]


def test_a_translation_in_another_language_than_asked_is_dropped(wire, asked):
    def claim_french(content):
        for row in content["message"]["body"]["translations_list"]:
            row["translation"]["selected_language"] = "fr"

    wire.serve(LYRICS, "A1_synced_cue_array.json")
    wire.serve(TRANSLATIONS, "translations.json", edit=claim_french)

    assert wire.look_up(asked, translation_language="de").translation is None


@pytest.mark.parametrize(
    ("file", "status", "passes"),
    [
        ("D1_not_found.json", 200, True),
        ("A1_synced_cue_array.json", 200, True),
        ("F2_throttled_http_401.json", 401, False),
        ("G_token_finished_renew.json", 200, False),
    ],
)
def test_a_probe_is_one_call_that_never_renews(wire, file, status, passes):
    wire.serve(LYRICS, file, status=status)
    wire.serve(TOKEN, "K1_token_success.json")

    try:
        wire.lane().probe(wire.context())
        passed = True
    except LaneError:
        passed = False

    assert passed is passes
    assert wire.paths() == [LYRICS]


SHAPES = ["", [], {}, None, 0, 1, "x", [[]], [{}], True]


def set_at(content, path, shape) -> None:
    """Put a shape at the end of a path, or as deep as the path leads."""
    inner = content
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = shape


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
@pytest.mark.parametrize("call", ["track.subtitles.get", "matcher.track.get", "track.lyrics.get"])
@pytest.mark.parametrize("depth", range(1, 7))
def test_any_body_may_have_any_shape(shape, call, depth):
    content = json.loads((BODIES / "defaultprov" / "A1_synced_cue_array.json").read_text())
    set_at(content, ["message", "body", "macro_calls", call, "message", "body"][:depth], shape)

    with suppress(LaneError):
        decide(read_found(read_envelope(Reply(200, {}, json.dumps(content).encode()))))


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
@pytest.mark.parametrize("depth", range(1, 5))
def test_any_part_of_the_subtitles_may_have_any_shape(shape, depth):
    content = json.loads((BODIES / "defaultprov" / "A1_synced_cue_array.json").read_text())
    part = content["message"]["body"]["macro_calls"]["track.subtitles.get"]["message"]["body"]
    set_at(part, ["subtitle_list", 0, "subtitle", "subtitle_body"][:depth], shape)

    with suppress(LaneError):
        decide(read_found(read_envelope(Reply(200, {}, json.dumps(content).encode()))))


@pytest.mark.parametrize("shape", [*SHAPES, 10**400, -1, 1e300, "\ud800", "9" * 5000], ids=repr)
@pytest.mark.parametrize(
    "name",
    ["track_length", "track_id", "track_name", "artist_name", "commontrack_isrcs", "track_isrc"],
)
def test_any_field_of_the_track_may_have_any_shape(shape, name):
    content = json.loads((BODIES / "defaultprov" / "A1_synced_cue_array.json").read_text())
    calls = content["message"]["body"]["macro_calls"]
    calls["matcher.track.get"]["message"]["body"]["track"][name] = shape

    candidate = decide(read_found(read_envelope(Reply(200, {}, json.dumps(content).encode()))))

    assert candidate.cues
    repr(candidate).encode()


def test_a_number_of_five_thousand_digits_is_not_json_for_us():
    body = b'{"message": {"header": {"status_code": ' + b"9" * 5000 + b"}}}"

    with pytest.raises(Malformed):
        read_envelope(Reply(200, {}, body))
