"""One guard in every mode: a song by its names, a directory and the service judge alike."""

import json

import pytest
from werkzeug import Response

from builders import minimal_flac
from lyrsvc.demo.stand_in import LYRICS_PATH
from lyrsvc.services.lookup import Lookup
from matching_pairs import load
from providers_data import recorded
from service_runs import House
from terminals import Shell

PAIRS = {
    case["id"]: case for case in load("cases.json")["pairs"] + load("more_cases.json")["pairs"]
}
ROWS = {
    "1": PAIRS["isrc-08"],
    "1b": PAIRS["MC-V04"],
    "1c": PAIRS["isrc-02"],
    "1d": {
        "asked": {**PAIRS["isrc-03"]["asked"], "title": "Barge", "isrc": "USRC17607840"},
        "answered": {**PAIRS["isrc-03"]["answered"], "title": "Barge", "isrc": "USRC17607840"},
        "expected": "reject",
        "reason": "isrc_contradicted",
    },
    "2 number": PAIRS["numbers-02"],
    "2 symbols": PAIRS["MC-012a"],
    "2 script": PAIRS["script-01"],
    "2 mismatch": PAIRS["MC-001a"],
    "3": PAIRS["MC-018a"],
    "4": PAIRS["guests-14"],
    "5": PAIRS["MC-015a"],
    "6": PAIRS["artist-45"],
    "6b script": PAIRS["script-11"],
    "6b unknown": PAIRS["MC-011c"],
    "7 accepted": PAIRS["MC-031a"],
    "7 rejected": PAIRS["symbol-03"],
    "8": PAIRS["generic-02"],
    "9": PAIRS["low_confidence-03"],
    "9b": PAIRS["low_confidence-02"],
    "10": PAIRS["neutral-01"],
    "10 weak": PAIRS["artist-37"],
    "11": PAIRS["MC-017a"],
    "12": PAIRS["MC-V07"],
    "13": PAIRS["artist-36"],
    "14": PAIRS["MC-V02"],
    "15": PAIRS["MC-034a"],
    "16": PAIRS["artist-20"],
    "17": PAIRS["live-05"],
    "18": PAIRS["MC-027b"],
}
"""A pair for each row of the guard's table that leads to a question."""

FILES = {"accept": ".lrc", "accept_unsynced_only": ".txt", "reject": ""}
EXPECTED = {row: (pair["expected"], pair["reason"]) for row, pair in ROWS.items()}
EXPECTED_FILES = {row: FILES[pair["expected"]] for row, pair in ROWS.items()}
NAMED = ("q_artist", "q_track", "q_duration", "track_isrc")


class Judge:
    """A lane that answers every question with its pair, and what was thought of the answer."""

    def __init__(self) -> None:
        self.row = ""
        self.rows: dict[tuple[str, ...], str] = {}
        self.verdicts: dict[str, tuple[str, str]] = {}

    def answer(self, request) -> Response:
        """Learn what a row is asked as, or recognise it."""
        question = tuple(request.args.get(name, "") for name in NAMED)
        if self.row:
            assert self.rows.setdefault(question, self.row) == self.row
        self.last = self.rows[question]
        text = json.dumps(body(self.last))
        return Response(text, headers={"Content-Type": "application/json"})

    def note(self, outcome) -> None:
        (attempt,) = outcome.attempts
        assert attempt.verdict is not None, attempt
        self.verdicts[self.last] = (str(attempt.verdict.decision), attempt.verdict.reason)

    def told(self) -> dict[str, tuple[str, str]]:
        found, self.verdicts, self.row = self.verdicts, {}, ""
        return found


def body(row: str) -> dict:
    told = ROWS[row]["answered"]
    answer = json.loads(recorded("defaultprov", "A1_synced_cue_array.json").text)
    calls = answer["message"]["body"]["macro_calls"]
    calls["matcher.track.get"]["message"]["body"]["track"] |= {
        "track_id": 1000 + list(ROWS).index(row),
        "commontrack_id": 1000 + list(ROWS).index(row),
        "track_name": told["title"],
        "artist_name": told["artist"],
        "album_name": told["album"],
        "track_length": told["duration"] or 0,
        "track_isrc": told["isrc"] or "",
        "commontrack_isrcs": [[told["isrc"]]] if told["isrc"] else [],
    }
    return answer


@pytest.fixture
def judge(httpserver, monkeypatch) -> Judge:
    judge = Judge()
    httpserver.expect_request(LYRICS_PATH).respond_with_handler(judge.answer)
    look_up = Lookup.look_up

    def noted(self, recording, **more):
        outcome = look_up(self, recording, **more)
        judge.note(outcome)
        return outcome

    monkeypatch.setattr(Lookup, "look_up", noted)
    return judge


@pytest.fixture
def house(httpserver, tmp_path, clock) -> House:
    return House(tmp_path, clock, httpserver.url_for("").rstrip("/"))


@pytest.fixture
def shell(house, tmp_path) -> Shell:
    user = Shell(tmp_path)
    user.environ |= house.environ | {"PROVIDER_TOKEN": "operators-own"}
    return user


def names(asked: dict) -> list[str]:
    """Give the words that ask for one song."""
    hints = {"album": asked["album"], "isrc": asked["isrc"], "duration": asked["duration"]}
    known = {"artist": asked["artist"], "title": asked["title"], **hints}
    return [word for name, value in known.items() if value for word in (f"--{name}", str(value))]


def audio(directory, row: str):
    """Make the file of a row; a name that is only guessed stands in the file's name."""
    asked = ROWS[row]["asked"]
    folder, seconds = directory / row, asked["duration"] or 0
    if asked.get("low_confidence"):
        path = folder / f"{asked['artist']} - {asked['title']}.flac"
        return minimal_flac(path, seconds=seconds)
    tags = {name: asked[name] for name in ("artist", "title", "album", "isrc") if asked[name]}
    return minimal_flac(folder / "x.flac", seconds=seconds, **tags)


def written(directory) -> dict[str, str]:
    """Say what kind of file each row got."""
    found = dict.fromkeys(ROWS, "")
    for path in directory.rglob("*"):
        if path.suffix in (".lrc", ".txt"):
            found[path.parent.name] += path.suffix
    return found


@pytest.mark.spec("P-44")
def test_every_row_of_the_guard_is_judged_alike_in_every_mode(
    judge, house, shell, tmp_path
) -> None:
    alone = tmp_path / "alone"
    for row, pair in ROWS.items():
        judge.row = row
        words = names(pair["asked"])
        if pair["asked"].get("low_confidence"):  # only a file's name is ever guessed at
            words = [str(audio(alone, row))]
        done = shell.run("fetch", *words, "-o", str(alone / row))
        assert done.code == (3 if pair["expected"] == "reject" else 0), (row, done.err)
    assert judge.told() == EXPECTED
    assert written(alone) == EXPECTED_FILES

    directory = tmp_path / "directory"
    for row in ROWS:
        audio(directory, row)
        audio(house.music, row)
    assert shell.run(str(directory)).code == 3
    assert judge.told() == EXPECTED
    assert written(directory) == EXPECTED_FILES

    assert shell.run("library", "add", str(house.music)).code == 0
    assert shell.run("scan").code == 0
    with house.running(PROVIDER_TOKEN="operators-own") as run:
        run.work()
        statuses = {row["status"]: row["n"] for row in run.rows(COUNTED)}
    assert judge.told() == EXPECTED
    assert written(house.music) == EXPECTED_FILES
    rejected = list(EXPECTED_FILES.values()).count("")
    assert statuses == {"deferred": rejected, "done": len(ROWS) - rejected}


COUNTED = "SELECT status, count(*) AS n FROM work_items GROUP BY status"


@pytest.mark.spec("P-44")
def test_a_title_of_nothing_is_never_asked_for(httpserver, house, shell, tmp_path) -> None:
    """Row 0 of the guard's table."""
    for place in (tmp_path / "directory", house.music):
        minimal_flac(place / "\u200b.flac", artist="Foo", title="\u200b ")
    alone = shell.run("fetch", "--artist", "Foo", "--title", "\u200b ", "--json")
    listed = shell.run(str(tmp_path / "directory"), "--json")
    for done in (alone, listed):
        assert [result["reason"] for result in done.json["results"]] == ["no_title"]
    shell.run("library", "add", str(house.music))
    shell.run("scan")
    assert [row["status"] for row in shell.run("scan", "results", "--json").json] == ["unreadable"]
    with house.running(PROVIDER_TOKEN="operators-own") as run:
        run.work()
        assert run.rows("SELECT * FROM work_items") == []
    assert httpserver.log == []
