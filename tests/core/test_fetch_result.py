"""What is told about a song after a fetch."""

import pytest

from lyrsvc.core.fetch_result import (
    FetchResult,
    FetchState,
    Tally,
    evidence_lines,
    preview_lines,
)
from lyrsvc.core.lyrics import Matched
from lyrsvc.core.outcome import Answer, Attempt
from lyrsvc.core.recording import Recording
from lyrsvc.core.verdict import Decision, Evidence, Verdict

GOOD = (FetchState.SYNCED, FetchState.UNSYNCED, FetchState.INSTRUMENTAL, FetchState.PRESENT)


@pytest.mark.spec("P-68")
@pytest.mark.parametrize(
    ("states", "code"),
    [
        ((), 0),
        (GOOD, 0),
        ((*GOOD, FetchState.MISS), 3),
        ((*GOOD, FetchState.FAILED), 1),
        ((FetchState.MISS, FetchState.FAILED), 1),
    ],
)
def test_the_exit_code_follows_from_the_states(states, code):
    tally = Tally()
    for state in states:
        tally.add(FetchResult(state=state, label="x"))
    assert tally.exit_code == code
    assert sum(tally.as_json().values()) == len(states)
    assert f"{states.count(FetchState.MISS)} miss" in tally.text()


def test_a_line_shows_the_file_or_else_the_reason():
    result = FetchResult(state=FetchState.PRESENT, label="a,b", file="f.lrc", reason="sidecar")
    assert result.columns == ("present", "a,b", "", "f.lrc")
    assert FetchResult(state=FetchState.MISS, label="a,b", reason="r").columns[3] == "r"


def test_json_says_whether_it_was_a_query_or_a_path_and_shows_a_preview_when_there_is_one():
    path = FetchResult(state=FetchState.SYNCED, label="/x.flac", is_path=True, lane="lrclib")
    assert path.as_json() == {
        **{"state": "synced", "path": "/x.flac", "lane": "lrclib"},
        **{"file": None, "reason": None, "detail": None},
    }
    query = FetchResult(state=FetchState.MISS, label="a,b", preview=("one",))
    assert (query.as_json()["query"], query.as_json()["preview"]) == ("a,b", ["one"])


def test_the_evidence_names_question_answer_and_verdict():
    verdict = Verdict(
        decision=Decision.REJECT,
        reason="duration_far",
        evidence=Evidence.NONE,
        title="equal",
        delta_s=12.34,
    )
    lines = evidence_lines(
        Recording(title="T", artist="A", duration_ms=214_000),
        [
            Attempt(
                lane="a",
                answer=Answer.MISMATCH,
                verdict=verdict,
                matched=Matched(title="T", artist="A", album="Al"),
            ),
            Attempt(lane="b", answer=Answer.MISS, reason="not_found"),
            Attempt(lane="c", answer=Answer.SKIPPED),
        ],
    )
    assert lines == [
        "asked A / T / 214.0 s",
        "lane a: mismatch; answered A / T / Al; verdict reject (duration_far); evidence none; "
        "title equal, artist -; version -, length apart 12.3 s",
        "lane b: miss; not_found",
        "lane c: skipped",
    ]


def test_a_preview_leaves_the_header_out_and_is_short():
    data = b"[by:lyrsvc]\n[ar:x]\n" + b"".join(b"[00:0%d.00]line\n" % at for at in range(9))
    assert preview_lines(data) == [f"[00:0{at}.00]line" for at in range(5)]
    assert preview_lines(b"plain\nwords") == ["plain", "words"]
