"""The stand-in behaves, and misbehaves, as it is told."""

import http.client
import json
import socket
import threading
from contextlib import suppress
from urllib.parse import urlencode, urlsplit

import pytest

from lyrsvc.demo.classifier_wire import MODEL_VERSION
from lyrsvc.demo.orders import Mode
from lyrsvc.demo.song import Song
from lyrsvc.demo.songs import SONGS
from lyrsvc.demo.stand_in import StandIn

SONG = SONGS[0]
LYRICS = "/ws/1.1/macro.subtitles.get"


@pytest.fixture
def stand_in():
    with StandIn() as running:
        yield running


class Client:
    def __init__(self, url):
        self.address = urlsplit(url).netloc

    def __call__(self, method, path, body=None, headers=None, **query):
        conn = http.client.HTTPConnection(self.address, timeout=30)
        try:
            target = f"{path}?{urlencode(query)}" if query else path
            conn.request(method, target, body=body, headers=headers or {})
            answer = conn.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            conn.close()

    def json(self, method, path, body=None, **query):
        status, _, content = self(method, path, None if body is None else json.dumps(body), **query)
        return status, json.loads(content)

    def lyrics(self, song=SONG, token="t", **more):
        query = {"usertoken": token, "q_track": song.title, "q_artist": song.artist, **more}
        return self.json("GET", LYRICS, **query)


@pytest.fixture
def ask(stand_in):
    return Client(stand_in.url)


def matcher(body):
    return body["message"]["body"]["macro_calls"]["matcher.track.get"]["message"]


def test_it_listens_on_loopback_only(stand_in):
    assert stand_in.url.startswith("http://127.0.0.1:")


def test_the_catalogue_has_enough_songs_in_many_languages():
    assert len(SONGS) >= 15
    assert len({song.language for song in SONGS}) >= 10
    assert len({song.isrc for song in SONGS}) == len({song.number for song in SONGS}) == len(SONGS)
    assert all(ms < song.length_s * 1000 for song in SONGS for ms, _ in song.timed_lines)


@pytest.mark.parametrize("song", SONGS, ids=lambda song: song.title)
def test_every_song_is_found_on_both_lanes_when_nothing_is_ordered(stand_in, ask, song):
    stand_in.set_mode("normal", song=song.title)

    _, body = ask.lyrics(song)
    status, row = ask.json("GET", "/api/get", track_name=song.title, artist_name=song.artist)

    assert matcher(body)["body"]["track"]["track_isrc"] == song.isrc
    assert (status, row["trackName"]) == (200, song.title)
    assert bool(row["syncedLyrics"]) == (bool(song.lines) and not song.instrumental)


def test_a_song_can_be_found_by_its_code_alone(ask):
    _, body = ask.json("GET", LYRICS, usertoken="t", q_track="x", track_isrc=SONG.isrc)

    assert matcher(body)["body"]["track"]["track_name"] == SONG.title


def test_tokens_are_numbered(ask):
    tokens = [
        ask.json("GET", "/ws/1.1/token.get", app_id="x")[1]["message"]["body"]["user_token"]
        for _ in range(3)
    ]

    assert tokens == ["demo-token-1", "demo-token-2", "demo-token-3"]


def test_words_and_translation_have_their_own_calls(ask):
    _, rich = ask.json("GET", "/ws/1.1/track.richsync.get", usertoken="t", track_id=SONG.number)
    _, german = ask.json(
        "GET",
        "/ws/1.1/crowd.track.translations.get",
        usertoken="t",
        track_id=SONG.number,
        selected_language="de",
    )

    lines = json.loads(rich["message"]["body"]["richsync"]["richsync_body"])
    assert [line["x"] for line in lines] == [line for line in SONG.lines if line]
    assert "".join(chunk["c"] for chunk in lines[0]["l"]) == SONG.lines[0]
    assert len(german["message"]["body"]["translations_list"]) == 5


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("throttled", (429, b"")),
        ("unauthorized", (401, b"{}")),
        ("error500", (500, b"UnknownError")),
        ("bad_json", (200, b'{"message": {"header"')),
        ("html", (200, b"Just a moment")),
    ],
)
@pytest.mark.parametrize("path", [LYRICS, "/api/get", "/api/search", "/health"])
def test_a_fault_looks_the_same_on_every_face(stand_in, ask, mode, expected, path):
    stand_in.set_mode(mode, retry_after=120)

    status, headers, body = ask("GET", path, track_name="a", artist_name="b", usertoken="t")

    assert (status, expected[1] in body) == (expected[0], True)
    assert headers.get("Retry-After") == ("120" if mode == "throttled" else None)


@pytest.mark.parametrize(
    ("mode", "code", "hint"),
    [
        ("finished", 401, "renew"),
        ("captcha", 401, "captcha"),
        ("upgrade", 401, "upgrade"),
        ("quota", 402, None),
    ],
)
def test_the_default_provider_refuses_in_its_own_words(stand_in, ask, mode, code, hint):
    stand_in.set_mode(mode)

    header = ask.lyrics()[1]["message"]["header"]

    assert (header["status_code"], header.get("hint")) == (code, hint)


def test_a_finished_credential_can_let_the_newest_token_pass(stand_in, ask):
    stand_in.set_mode("finished", accept_newest=True)

    assert ask.lyrics(token="old")[1]["message"]["header"]["hint"] == "renew"
    token = ask.json("GET", "/ws/1.1/token.get")[1]["message"]["body"]["user_token"]
    assert matcher(ask.lyrics(token=token)[1])["header"]["status_code"] == 200
    assert ask.lyrics(token="old")[1]["message"]["header"]["hint"] == "renew"


def test_without_a_token_nothing_is_answered(ask):
    assert ask.lyrics(token="")[1]["message"]["header"]["hint"] == "renew"


def test_the_token_call_can_be_refused_on_its_own(stand_in, ask):
    stand_in.set_mode("captcha", lane="token")
    assert ask.json("GET", "/ws/1.1/token.get")[1]["message"]["header"]["status_code"] == 401
    stand_in.set_mode("placeholder", lane="token")
    body = ask.json("GET", "/ws/1.1/token.get")[1]["message"]["body"]
    assert body["user_token"] == "0" * 56
    assert matcher(ask.lyrics()[1])["header"]["status_code"] == 200


def test_content_modes_change_what_a_song_has(stand_in, ask):
    def track(mode):
        stand_in.set_mode(mode)
        found = matcher(ask.lyrics()[1])
        return found["header"]["status_code"], found["body"] and found["body"]["track"]

    assert track("miss") == (404, "")
    assert track("plain")[1]["has_subtitles"] == 0
    assert track("instrumental")[1]["instrumental"] == 1
    assert track("decoy")[1]["track_name"] == "NEON"
    assert ask.json("GET", "/api/search", q=SONG.title)[1][0]["trackName"] == "NEON"


def test_an_order_for_a_song_beats_one_for_all_and_ends_after_its_times(stand_in, ask):
    stand_in.set_mode("throttled")
    stand_in.set_mode("miss", song=SONG.title.upper(), times=2)

    assert [matcher(ask.lyrics()[1])["header"]["status_code"] for _ in range(2)] == [404, 404]
    assert ask("GET", LYRICS, usertoken="t", q_track=SONG.title, q_artist=SONG.artist)[0] == 429
    stand_in.set_mode("normal")
    assert matcher(ask.lyrics()[1])["header"]["status_code"] == 200


def test_an_order_may_hold_for_one_lane_only(stand_in, ask):
    stand_in.set_mode("error500", lane="lrclib")

    assert ask("GET", "/api/search", q="x")[0] == 500
    assert ask.lyrics()[0] == 200


def test_a_cut_connection_ends_in_the_middle_of_the_body(stand_in, ask):
    stand_in.set_mode("cut")

    with pytest.raises(http.client.IncompleteRead):
        ask.lyrics()


def test_a_slow_answer_comes_and_closing_does_not_wait_for_it(stand_in, ask):
    stand_in.set_mode("slow", seconds=0.05)
    assert ask.lyrics()[0] == 200
    first = stand_in.requests[0]
    assert first.until - first.at >= 0.05

    stand_in.set_mode("slow", seconds=60)

    def wait_for_it():
        with suppress(OSError, http.client.HTTPException):
            ask.lyrics()

    waiting = threading.Thread(target=wait_for_it)
    waiting.start()
    while len(stand_in.requests) < 2:
        pass
    stand_in.close()
    waiting.join(5)
    assert not waiting.is_alive()


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"track_name": "a"}, 400),
        ({"artist_name": "a"}, 400),
        ({"track_name": "a", "artist_name": "b", "duration": "0"}, 400),
        ({"track_name": "a", "artist_name": "b", "duration": "3601"}, 400),
        ({"track_name": "a", "artist_name": "b", "duration": "x"}, 400),
        ({"track_name": "a", "artist_name": "b", "duration": "3600"}, 404),
    ],
)
def test_the_catalogue_refuses_what_the_real_one_refuses(ask, query, status):
    assert ask("GET", "/api/get", **query)[0] == status


def test_the_catalogue_finds_exact_names_within_two_seconds(ask):
    names = {"track_name": SONG.title.upper(), "artist_name": SONG.artist}

    assert ask("GET", "/api/get", **names, duration=SONG.length_s + 2)[0] == 200
    status, body = ask.json("GET", "/api/get", **names, duration=SONG.length_s + 3)
    assert (status, body["name"]) == (404, "TrackNotFound")
    assert ask("GET", "/api/get", **names, album_name="Other")[0] == 404


def test_the_search_looks_only_at_the_first_word_of_the_artist(ask):
    def found(**query):
        return [row["trackName"] for row in ask.json("GET", "/api/search", **query)[1]]

    assert found(track_name="glass orchard", artist_name="Mara Nobody") == ["Glass Orchard"]
    assert found(track_name="glass orchard", artist_name="Nobody Voss") == []
    assert found(q="mara voss umbrellas nine") == ["Nine Umbrellas"]
    assert found(q="voss") == ["Glass Orchard", "Nine Umbrellas"]
    assert found(q="nothing of this") == []


def test_the_classifier_hears_voices_unless_told_otherwise(stand_in, ask):
    def classify(body=b'--x\r\nContent-Disposition: form-data; name="file"\r\n\r\nRIFF....WAVE'):
        kind = {"Content-Type": "multipart/form-data; boundary=x"}
        status, _, content = ask("POST", "/classify", body, kind)
        return status, content and status == 200 and json.loads(content)

    assert ask.json("GET", "/health")[1] == {
        "status": "ok",
        "classes": 13,
        "model_version": MODEL_VERSION,
    }
    assert classify()[1]["max"]["Singing"] > 0.5
    stand_in.set_mode("instrumental", lane="classifier")
    scores = classify()[1]
    assert scores["max"]["Singing"] < 0.015
    assert scores["mean"]["Music"] + scores["mean"]["Musical instrument"] >= 0.90
    assert classify(b'name="file" no audio')[0] == 400
    assert ask("GET", "/classify")[0] == 405


def test_everything_can_be_ordered_over_the_wire(ask):
    assert ask.json("POST", "/_control", {"mode": "miss", "song": SONG.title, "times": 1})[0] == 200
    assert matcher(ask.lyrics()[1])["header"]["status_code"] == 404
    song = {"title": "Neu", "artist": "Jemand", "lines": ["eins", "zwei"], "length_s": 9}
    assert ask.json("POST", "/_songs", song)[0] == 200
    assert ask.json("GET", "/api/get", track_name="neu", artist_name="jemand")[0] == 200
    log = ask.json("GET", "/_log")[1]
    assert [entry["mode"] for entry in log] == ["miss", "normal"]
    assert log[1]["query"] == {"track_name": "neu", "artist_name": "jemand"}
    assert log[0]["at"] <= log[0]["until"] <= log[1]["at"]
    ask.json("POST", "/_reset", {})
    assert ask.json("GET", "/_log")[1] == []
    assert ask("GET", "/api/get", track_name="neu", artist_name="jemand")[0] == 404


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/_control", b"no json"),
        ("/_control", b'{"mode": "wild"}'),
        ("/_control", b'{"mode": "miss", "songs": "x"}'),
        ("/_control", b"[]"),
        ("/_control", b'{"lane": "nowhere"}'),
        ("/_songs", b'{"title": "x"}'),
        ("/_songs", b'{"title": "x", "artist": "y", "lines": ["a"], "times_ms": [1, 2]}'),
        ("/_songs", b'{"title": "x", "artist": "y", "wrong": 1}'),
    ],
)
def test_a_bad_order_is_refused_and_changes_nothing(stand_in, ask, path, body):
    assert ask("POST", path, body)[0] == 400
    assert matcher(ask.lyrics()[1])["header"]["status_code"] == 200


def test_unknown_paths_are_not_found(ask):
    assert ask("GET", "/nowhere")[0] == 404
    assert ask("GET", "/_nowhere")[0] == 404


def test_it_may_be_closed_twice_and_frees_its_port(stand_in):
    port = urlsplit(stand_in.url).port
    stand_in.close()
    stand_in.close()

    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_many_clients_at_once_are_all_logged(stand_in, ask):
    threads = [threading.Thread(target=ask.lyrics) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(stand_in.calls("macro.subtitles.get")) == 20


def test_a_song_with_the_same_names_takes_the_place_of_the_old_one(stand_in, ask):
    stand_in.add_song(Song(title=SONG.title, artist=SONG.artist, album=SONG.album, mode=Mode.MISS))

    assert matcher(ask.lyrics()[1])["header"]["status_code"] == 404
