"""The wired service against recorded answers and the stand-in: its lane, its token, its secrets."""

import logging
from datetime import timedelta

import pytest
from werkzeug import Response

from lyrsvc.core.errors import ConfigError
from lyrsvc.demo.stand_in import LYRICS_PATH, TOKEN_PATH, StandIn
from lyrsvc.store.moments import from_db
from providers_data import recorded
from service_runs import House

TITLE = "Paper Lantern Weather"
PLAIN = """\
We hung the paper lanterns low
and let the kitchen radio go

Tide comes in, tide goes slow"""


@pytest.fixture
def stand_in():
    with StandIn() as server:
        yield server


@pytest.fixture
def house(tmp_path, clock, stand_in):
    return House(tmp_path, clock, stand_in.url)


@pytest.fixture
def bodies(httpserver, tmp_path, clock):
    """The default provider plays recorded answers, the last one for ever."""

    class Player:
        def __init__(self):
            self.files = []
            self.asked = []
            self.minted = 0
            self.house = House(tmp_path, clock, httpserver.url_for("").rstrip("/"))
            httpserver.expect_request(LYRICS_PATH).respond_with_handler(self.lyrics)
            httpserver.expect_request(TOKEN_PATH).respond_with_handler(self.token)

        def play(self, *files):
            self.files = list(files)

        def lyrics(self, request):
            self.asked.append(request.args)
            file = self.files.pop(0) if len(self.files) > 1 else self.files[0]
            status = {"F2": 401, "H_": 200}.get(file[:2], 200)
            answer = recorded("defaultprov", file, status)
            return Response(answer.text, status=answer.status, headers=answer.headers)

        def token(self, _request):
            self.minted += 1
            answer = recorded("defaultprov", "K1_token_success.json")
            return Response(answer.text, status=answer.status, headers=answer.headers)

    return Player()


@pytest.mark.spec("P-06")
@pytest.mark.seed("S-052")
def test_words_without_a_text_are_deferred_and_with_one_are_written(bodies):
    bodies.play("M1_truncated_subtitle.json", "M1b_truncated_with_plain.json")
    with bodies.house.running(PROVIDER_TOKEN="operators-own") as run:
        run.enqueue(TITLE)
        run.work()
        assert run.item(TITLE)["status"] == "deferred"
        assert run.sidecars() == []
        bodies.house.clock.advance(168 * 3600)
        run.work()
        assert run.item(TITLE)["status"] == "done"
        assert run.sidecars() == [f"{TITLE}.txt"]


@pytest.mark.spec("P-07")
@pytest.mark.seed("S-110", "S-010")
def test_a_finished_automatic_token_is_replaced_and_the_question_repeated(house, stand_in):
    with house.running() as run:
        run.service.obtain_token()
        stand_in.set_mode("finished", lane="defaultprov", accept_newest=True)
        stand_in.set_mode("finished", lane="token")
        first = len(stand_in.calls(TOKEN_PATH))
        assert first == 1
        stand_in.set_mode("finished", lane="defaultprov", times=1)
        run.enqueue("Kitchen Radio", 34.0)
        run.work()

        assert len(stand_in.calls(TOKEN_PATH)) == 2
        assert len(stand_in.calls(LYRICS_PATH)) == 2
        assert run.sidecars() == ["Kitchen Radio.txt"]
        assert run.item("Kitchen Radio")["status"] == "done"
        used = [call.query["usertoken"] for call in stand_in.calls(LYRICS_PATH)]
        assert used == ["demo-token-1", "demo-token-2"]
    with house.running() as run:  # P-15: the new one is reused
        run.service.obtain_token()
        run.enqueue("Glass Orchard", 42.0)
        run.work()
        assert len(stand_in.calls(TOKEN_PATH)) == 2
        assert stand_in.calls(LYRICS_PATH)[-1].query["usertoken"] == "demo-token-2"


@pytest.mark.spec("P-10")
@pytest.mark.seed("S-110")
def test_a_token_that_is_finished_twice_in_a_row_closes_the_lane_for_the_full_cap(house, stand_in):
    with house.running() as run:
        run.service.obtain_token()
        stand_in.set_mode("finished", lane="defaultprov")
        run.enqueue("Kitchen Radio", 34.0)
        run.work()

        assert len(stand_in.calls(TOKEN_PATH)) == 2
        assert len(stand_in.calls(LYRICS_PATH)) == 2
        lane = run.lane()
        assert lane["cause"] == "refused"
        rest = from_db(lane["closed_until_at"]) - house.clock.now()
        assert rest == timedelta(seconds=1800)
        item = run.item("Kitchen Radio")
        assert (item["status"], item["attempts"], item["misses"]) == ("pending", 0, 0)


@pytest.mark.spec("P-11")
@pytest.mark.seed("S-020")
@pytest.mark.parametrize(
    "file",
    [
        "F1_throttled_matcher_401.json",
        "F2_throttled_http_401.json",
        "H_captcha.json",
        "N3_throttled_http_429.json",
    ],
)
def test_a_throttling_answer_closes_the_lane_and_pauses_the_queue(bodies, file):
    bodies.play(file)
    with bodies.house.running() as run:
        run.service.obtain_token()
        run.enqueue(TITLE)
        run.enqueue("Harbour Interlude", 96.0)
        run.work()

        lane = run.lane()
        assert (lane["state"], lane["cause"]) == ("closed", "throttled")
        rest = from_db(lane["closed_until_at"]) - bodies.house.clock.now()
        assert rest >= timedelta(seconds=120 if file.startswith("N3") else 60)
        assert len(bodies.asked) == 1  # the second item was not even claimed
        assert bodies.minted == 1
        assert run.service.worker.pause.cause == "throttled"
        for title in (TITLE, "Harbour Interlude"):
            item = run.item(title)
            assert (item["status"], item["attempts"], item["misses"]) == ("pending", 0, 0)


@pytest.mark.seed("S-110", "S-124")
@pytest.mark.parametrize("file", ["F1_throttled_matcher_401.json", "F2_throttled_http_401.json"])
@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"flags": {"api.token": "operators-own"}, "PROVIDER_TOKEN": "another"}, "--token"),
        ({"PROVIDER_TOKEN": "operators-own", "LYRSVC_API_TOKEN": "another"}, "PROVIDER_TOKEN"),
        ({"LYRSVC_API_TOKEN": "operators-own"}, "LYRSVC_API_TOKEN"),
        ({"toml": '[api]\ntoken = "operators-own"\n'}, "api.token in the settings file"),
        ({}, ""),
    ],
)
def test_a_401_that_outlasts_the_longest_rest_names_where_the_token_comes_from(
    bodies, caplog, file, given, named
):
    bodies.play(file)
    clock = bodies.house.clock
    with bodies.house.running(**given) as run, caplog.at_level(logging.WARNING):
        run.service.obtain_token()
        run.enqueue(TITLE)
        rests = []
        for _ in range(8):
            run.work()
            rest = from_db(run.lane()["closed_until_at"]) - clock.now()
            rests.append(rest)
            clock.advance(rest.total_seconds() + 1)
        assert (run.item(TITLE)["status"], run.item(TITLE)["attempts"]) == ("pending", 0)
    closed = [record for record in caplog.records if record.getMessage() == "lane closed"]
    assert len(closed) == len(bodies.asked) == len(rests)
    remedies = [getattr(record, "remedy", "") for record in closed]
    longest = rests.index(max(rests))
    assert set(remedies[: longest + 1]) == {""}  # slowing down may still be all that is needed
    stale = f"; the token of {named} may be stale" if named else ""
    assert set(remedies[longest + 1 :]) == {f"raise LYRSVC_API_COOLDOWN{stale}"}
    assert bodies.minted == (0 if named else 1)  # throttling costs no token


@pytest.mark.spec("P-12")
@pytest.mark.parametrize(
    ("file", "cause", "rest_s"),
    [("I_identity_refused_upgrade.json", "refused", 1800), ("J_quota.json", "quota", 6 * 3600)],
)
def test_a_refusing_answer_closes_the_lane(bodies, file, cause, rest_s):
    bodies.play(file)
    with bodies.house.running(PROVIDER_TOKEN="operators-own") as run:
        run.enqueue(TITLE)
        run.work()
        lane = run.lane()
        rest = from_db(lane["closed_until_at"]) - bodies.house.clock.now()
        assert (lane["cause"], rest) == (cause, timedelta(seconds=rest_s))
        assert run.item(TITLE)["status"] == "pending"


@pytest.mark.parametrize(
    ("file", "given", "is_asked"),
    [
        ("I_identity_refused_upgrade.json", {"PROVIDER_TOKEN": "another-one"}, True),
        ("I_identity_refused_upgrade.json", {}, True),
        ("I_identity_refused_upgrade.json", {"LYRSVC_API_TOKEN": "operators-own"}, False),
        ("H_captcha.json", {"PROVIDER_TOKEN": "another-one"}, False),
    ],
)
def test_a_lane_that_refused_a_token_is_asked_at_once_with_another(bodies, file, given, is_asked):
    bodies.play(file)
    with bodies.house.running(PROVIDER_TOKEN="operators-own") as run:
        run.enqueue(TITLE)
        run.work()
    assert len(bodies.asked) == 1
    bodies.play("D1_not_found.json")
    with bodies.house.running(**given) as run:
        run.service.obtain_token()
        run.work()
        assert (run.lane()["state"] == "ready") is is_asked
        assert (run.item(TITLE)["status"] == "deferred") is is_asked
    assert len(bodies.asked) == 1 + is_asked


def test_a_lane_that_got_no_new_token_is_asked_at_once_with_the_operators(house, stand_in):
    with house.running() as run:
        run.service.obtain_token()
        stand_in.set_mode("finished", lane="defaultprov")
        stand_in.set_mode("captcha", lane="token")
        run.enqueue("Kitchen Radio", 34.0)
        run.work()
        house.clock.advance(120)
        run.work()
        assert run.lane()["cause"] == "throttled"
        asked = len(stand_in.calls(LYRICS_PATH))
    with house.running() as run:  # the same token: nothing has changed for the provider
        run.work()
        assert len(stand_in.calls(LYRICS_PATH)) == asked
    stand_in.set_mode("normal", lane="defaultprov")
    with house.running(PROVIDER_TOKEN="operators-own") as run:
        run.work()
        assert run.lane()["state"] == "ready"
        assert run.item("Kitchen Radio")["status"] == "done"
    assert len(stand_in.calls(LYRICS_PATH)) == asked + 1
    assert len(stand_in.calls(TOKEN_PATH)) == 2


@pytest.mark.spec("P-16")
@pytest.mark.parametrize(
    "file",
    [
        "N1_malformed_not_json.json",
        "N2_malformed_html_challenge.json",
        "M2_matcher_ok_no_track.json",
        "M3_unknown_subtitle_encoding.json",
    ],
)
def test_an_answer_that_is_not_understood_fails_the_item_without_repeating_it(bodies, file):
    bodies.play(file)
    with bodies.house.running(PROVIDER_TOKEN="operators-own") as run:
        run.enqueue(TITLE)
        run.work()
        item = run.item(TITLE)
        assert (item["status"], item["reason"]) == ("failed", "bad_response")
        assert "<" not in item["reason_text"]
        assert "://" not in item["reason_text"]
        if file.startswith("M3"):
            return  # to another title it would be an answer to something else
        for number in range(4):
            run.enqueue(f"{TITLE} {number}")
            run.work()
        assert run.lane()["cause"] == "malformed"


@pytest.mark.spec("P-17")
def test_one_song_for_every_question_closes_the_lane(bodies):
    bodies.play("L_decoy.json")
    with bodies.house.running(PROVIDER_TOKEN="operators-own") as run:
        for title in (TITLE, "Harbour Interlude", "Kitchen Radio"):
            run.enqueue(title)
        run.work()

        assert len(bodies.asked) == 2
        assert run.sidecars() == []
        assert run.rows("SELECT * FROM lyrics_cache") == []
        assert run.lane()["cause"] == "refused"
        by_status = sorted(row["status"] for row in run.rows("SELECT status FROM work_items"))
        assert by_status == ["deferred", "pending", "pending"]
        assert all(r["attempts"] == 0 for r in run.rows("SELECT attempts FROM work_items"))
        charged = run.rows("SELECT misses FROM work_items WHERE status = 'pending'")
        assert [row["misses"] for row in charged] == [0, 0]


@pytest.mark.spec("P-14", "P-15")
@pytest.mark.seed("S-010")
def test_the_service_runs_without_a_token_and_goes_on_by_itself_when_it_has_one(house, stand_in):
    stand_in.set_mode("unauthorized", lane="token", times=1)
    with house.running() as run:
        run.enqueue("Kitchen Radio", 34.0)
        run.work()
        assert run.service.worker.pause.cause == "no_lane"
        before = run.service.upkeep.provider_set_version
        run.service.obtain_token()

        assert len(stand_in.calls(TOKEN_PATH)) == 2
        assert sum(house.clock.waits) >= 30 * 60 * 0.9
        run.work()
        assert run.item("Kitchen Radio")["status"] == "done"
        assert run.service.upkeep.provider_set_version != before
        stored = run.rows("SELECT value FROM meta WHERE name = 'provider_set_version'")
        assert stored == [{"value": str(run.service.upkeep.provider_set_version)}]


def test_a_first_start_that_gets_its_token_warns_of_nothing(house, caplog):
    with caplog.at_level(logging.INFO), house.running() as run:
        run.enqueue("Kitchen Radio", 34.0)
        run.work()
        assert run.service.worker.pause.cause == "no_lane"
        run.service.obtain_token()
    assert "token obtained" in caplog.messages
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING] == []


@pytest.mark.spec("P-32")
@pytest.mark.seed("S-018")
def test_the_open_lane_needs_no_token_and_says_nothing_about_one(house, stand_in, caplog):
    with caplog.at_level(logging.INFO), house.running(LYRSVC_PROVIDER_PRIMARY="lrclib") as run:
        run.service.obtain_token()
        run.enqueue("Kitchen Radio", 34.0)
        run.work()
        assert run.item("Kitchen Radio")["lane"] == "lrclib"
    assert stand_in.calls(TOKEN_PATH) == ()
    assert not [line for line in caplog.messages if "token" in line]


@pytest.mark.seed("S-019")
def test_a_stored_translation_is_written_only_in_the_language_that_is_wanted_now(house, stand_in):
    wanted = {"PROVIDER_TOKEN": "operators-own", "LYRSVC_BILINGUAL_OUTPUT": "true"}
    for language, stem in (("de", "first"), ("de", "second"), ("fr", "third")):
        with house.running(**wanted, LYRSVC_TRANSLATION_LANGUAGE=language) as run:
            run.enqueue("Lanterns on the Weir", 38.0, stem=stem)
            run.work()
            text = (house.music / f"{stem}.lrc").read_text()
            assert "\n[00:12.91]I owe the miller for a borrowed coat\n" in text
            german = "\n[00:12.91]Ich schulde dem Müller einen geliehenen Mantel\n"
            assert (german in text) is (language == "de")
    assert len(stand_in.calls(LYRICS_PATH)) == 1  # the others came out of the cache


@pytest.mark.seed("S-011", "S-102")
def test_the_operators_token_wins_over_the_stored_one_and_is_never_stored(house, stand_in):
    with house.running() as run:
        run.service.obtain_token()
        run.service.secrets.set("provider_token", "stored-by-hand")
    flag = {"flags": {"api.token": "by-flag"}}
    first, second = {"PROVIDER_TOKEN": "first"}, {"LYRSVC_API_TOKEN": "second"}
    file = {"toml": '[api]\ntoken = "in-the-file"\n'}
    for given, used in (
        ({**flag, **first, **second, **file}, "by-flag"),
        ({**first, **second, **file}, "first"),
        ({**second, **file}, "second"),
        (file, "in-the-file"),
        ({}, "stored-by-hand"),
    ):
        with house.running(**given) as run:
            run.service.obtain_token()
            run.enqueue(f"Nobody Knows {used}")
            run.work()
            assert stand_in.calls(LYRICS_PATH)[-1].query["usertoken"] == used
            assert run.service.secrets.get("provider_token") == "stored-by-hand"
    assert len(stand_in.calls(TOKEN_PATH)) == 1


@pytest.mark.seed("S-104", "S-010")
def test_the_automatic_token_is_stored_encrypted_beside_a_private_key_file(house, stand_in):
    with house.running() as run:
        run.service.obtain_token()
        (row,) = run.rows("SELECT * FROM secrets")
        assert b"demo-token" not in row["ciphertext"]
    key = house.place / "state" / ".lyrsvcgo.key"
    assert (len(key.read_bytes()), key.stat().st_mode & 0o777) == (32, 0o600)
    files = (house.place / "state").glob("lyrsvcgo.db*")
    assert not any(b"demo-token-1" in path.read_bytes() for path in files)
    assert "demo-token-1" not in house.redactor.clean("told: demo-token-1")


@pytest.mark.seed("S-105")
@pytest.mark.parametrize("key", [b"short", b"x" * 31, b"x" * 33])
def test_a_key_that_cannot_be_used_ends_the_start_before_anything_is_opened(house, key):
    state = house.place / "state"
    state.mkdir()
    (state / ".lyrsvcgo.key").write_bytes(key)
    with pytest.raises(ConfigError), house.running():
        pass
    assert [path.name for path in state.iterdir()] == [".lyrsvcgo.key"]


@pytest.mark.spec("E-16")
def test_changed_lanes_have_tracks_without_lyrics_looked_at_again_within_a_day(house, stand_in):
    stand_in.set_mode("miss")
    with house.running(PROVIDER_TOKEN="operators-own", LYRSVC_MAX_MISS_ATTEMPTS="1") as run:
        for number in range(12):
            run.enqueue(f"Given Up {number}")
        run.work()
    with house.running(PROVIDER_TOKEN="operators-own") as run:
        for number in range(12):
            run.enqueue(f"Waiting {number}")
        run.work()
        assert sorted(r["status"] for r in run.rows("SELECT status FROM work_items")) == (
            ["deferred"] * 12 + ["done"] * 12
        )
    with house.running(PROVIDER_TOKEN="operators-own") as run:  # unchanged: nothing happens
        assert {r["status"] for r in run.rows("SELECT status FROM work_items")} == {
            "deferred",
            "done",
        }
    with house.running(
        PROVIDER_TOKEN="operators-own", LYRSVC_PROVIDERS_FALLBACK_ORDER="lrclib"
    ) as run:
        rows = run.rows("SELECT status, due_at, misses FROM work_items")
        now = house.clock.now()
        due = sorted(from_db(row["due_at"]) - now for row in rows)
        assert {row["status"] for row in rows} == {"deferred"}
        assert due[-1] <= timedelta(hours=24)
        assert due[-1] - due[0] >= timedelta(hours=20)
        assert len(set(due)) == 24
        house.clock.advance(24 * 3600)
        stand_in.set_mode("normal")
        run.work()
        again = run.rows("SELECT misses FROM work_items WHERE title LIKE 'Given Up%'")
        assert {row["misses"] for row in again} == {1}


def test_wrong_counts_are_corrected_and_told(house, caplog):
    with house.running(PROVIDER_TOKEN="operators-own") as run:
        run.enqueue("Kitchen Radio", 34.0)
        run.db.write(lambda tx: tx.run("UPDATE counts SET n = 7 WHERE name = 'status.pending'"))
        with caplog.at_level(logging.ERROR, "lyrsvc.upkeep"):
            run.service.upkeep.check_counts()
            run.service.upkeep.check_counts()
        assert len(caplog.records) == 1
        (row,) = run.rows("SELECT n FROM counts WHERE name = 'status.pending'")
        assert row["n"] == 1


def test_what_a_start_does_is_seen_among_the_tasks(house):
    with house.running(PROVIDER_TOKEN="operators-own") as run:
        run.service.upkeep.run()
        results = {view.name: view.last_result for view in run.service.tasks.views()}
        assert (results["counts"], results["lanes"]) == ("ok", "ok")


@pytest.mark.spec("P-04")
@pytest.mark.seed("S-002")
@pytest.mark.parametrize(
    ("file", "status", "written"),
    [
        ("B_unsynced.json", "done", PLAIN),
        ("B2_unsynced_blank_body.json", "deferred", None),
        (
            "B3_unsynced_notice_and_entities.json",
            "done",
            PLAIN.replace("radio go", "radio go & don't look back"),
        ),
    ],
)
def test_plain_words_are_written_clean_and_blank_ones_are_a_miss(bodies, file, status, written):
    bodies.play(file)
    with bodies.house.running(PROVIDER_TOKEN="operators-own") as run:
        run.enqueue(TITLE)
        run.work()
        item = run.item(TITLE)
        assert (item["status"], item["outcome"]) == (status, "unsynced" if written else "")
        assert run.sidecars() == ([f"{TITLE}.txt"] if written else [])
    if written:
        assert (bodies.house.music / f"{TITLE}.txt").read_text("utf-8") == written
