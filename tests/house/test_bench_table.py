"""The table of the measurements: its verdicts, its text, and a runner that outlives every script."""

import importlib
import json
import sys
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dev
from source_tree import ROOT


def room(name):
    """Load a module of bench/, whose scripts import each other by their bare names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "bench")
        return importlib.import_module(name)


table, runner, meter = room("_table"), room("_run"), room("_meter")
Bar, Row, Verdict = table.Bar, table.Row, table.Verdict
MOST = Bar(limit=3.0, ratio=True)


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        (Row(work="w", figure=4.0, bar=Bar(limit=5)), Verdict.MET),
        (Row(work="w", figure=5.0, bar=Bar(limit=5)), Verdict.MET),
        (Row(work="w", figure=5.1, bar=Bar(limit=5)), Verdict.MISSED),
        (Row(work="w", figure=4.9, bar=Bar(limit=5, least=True)), Verdict.MISSED),
        (Row(work="w", figure=0.0, bar=Bar(limit=0)), Verdict.MET),
        (Row(work="w", figure=6.0, peer_figure=2.0, bar=MOST), Verdict.MET),
        (Row(work="w", figure=6.2, peer_figure=2.0, bar=MOST), Verdict.MISSED),
        (Row(work="w", figure=6.2, bar=MOST), Verdict.UNMEASURABLE),
        (Row(work="w", figure=6.2), Verdict.NO_BAR),
        (Row(work="w", bar=Bar(limit=5)), Verdict.UNMEASURABLE),
        (table.failure("w", "it broke"), Verdict.FAILED),
    ],
)
def test_the_verdict_follows_from_figure_peer_and_bar(row, verdict) -> None:
    assert row.verdict is verdict


def test_processor_time_spares_a_ratio_and_says_so() -> None:
    slow = Row(work="w", figure=8.0, peer_figure=2.0, processor_ratio=2.9, bar=MOST)
    assert slow.verdict is Verdict.MET_BY_PROCESSOR
    assert "met by processor time" in table.render([slow])
    worse = Row(work="w", figure=8.0, peer_figure=2.0, processor_ratio=3.1, bar=MOST)
    assert worse.verdict is Verdict.MISSED


def test_processor_time_spares_no_figure() -> None:
    row = Row(work="w", figure=8.0, processor_ratio=0.1, bar=Bar(limit=5))
    assert row.verdict is Verdict.MISSED


def test_the_ratio_of_rounds_in_turn_counts_before_that_of_the_medians() -> None:
    row = Row(work="w", figure=8.0, peer_figure=2.0, paired_ratio=2.5, bar=MOST)
    assert (row.ratio, row.verdict) == (2.5, Verdict.MET)


def test_only_a_missed_bar_is_profiled() -> None:
    asked = []

    def profile():
        asked.append(1)
        return ["90% of it in f"]

    met = table.explained(Row(work="w", figure=1.0, bar=Bar(limit=5)), profile)
    assert (met.why, asked) == ((), [])
    missed = table.explained(Row(work="w", figure=9.0, bar=Bar(limit=5)), profile)
    assert missed.why == ("90% of it in f",)


def test_the_text_has_a_line_for_each_row_and_then_why_bars_were_missed() -> None:
    rows = [
        Row(work="fast", figure=1234.5, unit="files/s", peer="find", peer_figure=2.0, stolen=0.25),
        Row(work="slow", figure=9.0, unit="ms", bar=Bar(limit=5), why=("90% in f",), bench="b"),
        table.failure("broken", "no disk"),
    ]
    head, line, first, second, third, *rest = table.render(rows).splitlines()
    assert head.split() == " ".join(table.HEAD).split()
    assert set(line) == {"-", " "}
    assert first.split() == ["fast", "1,234", "files/s", "find", "2", "617", "25%", "no", "bar"]
    assert second.split() == ["b:", "slow", "9", "ms", "<=", "5", "ms", "missed"]
    assert third.split() == ["broken", "-", "failed"]
    said = "\n".join(rest)
    assert "  b: slow\n      90% in f" in said
    assert "  broken\n      failed: no disk" in said
    assert rest[-1] == "1 missed, 1 no bar, 1 failed"


def test_a_measurement_smaller_than_its_bar_is_marked() -> None:
    row = Row(work="w", figure=1.0, bar=Bar(limit=5, size=1000), size=10)
    assert "met *" in table.render([row])
    assert "1 below the size of their bar" in table.summary([row])


finite = st.floats(allow_nan=False, allow_infinity=False, width=32)


@given(
    st.builds(
        Row,
        work=st.text(),
        figure=st.none() | finite,
        peer_figure=st.none() | finite,
        bar=st.none() | st.builds(Bar, limit=finite, ratio=st.booleans(), least=st.booleans()),
        why=st.lists(st.text()).map(tuple),
        failed=st.booleans(),
        stolen=st.none() | st.floats(0, 1),
    )
)
def test_a_row_survives_json_and_can_always_be_shown(row) -> None:
    assert table.row_from(json.loads(json.dumps(row.to_json()))) == row
    assert str(row.verdict) in table.render([row])


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.02, "0.020"), (3.0, "3"), (3.456, "3.46"), (34.56, "34.6"), (12345.6, "12,346")],
)
def test_numbers_have_as_many_digits_as_say_something(value, text) -> None:
    assert table.number(value) == text


# The runner


def script(folder, text):
    head = f"import sys; sys.path.insert(0, {str(ROOT / 'bench')!r})\n"
    path = folder / "some.py"
    path.write_text(head + textwrap.dedent(text))
    return path


ONE_ROW = """
    from _script import run_script
    from _table import Row
    def measure(options):
        yield Row(work="first", figure=2.0 if options.full else 1.0)
        {then}
    sys.exit(run_script("", measure))
"""


def test_a_script_gives_its_rows_under_its_name(tmp_path) -> None:
    path = script(tmp_path, ONE_ROW.format(then="pass"))
    (row,) = runner.rows_of(path, full=True)
    assert (row.bench, row.work, row.figure) == ("some", "first", 2.0)


@pytest.mark.parametrize(
    ("then", "reason"),
    [
        ("raise ValueError('no luck')", "ValueError: no luck"),
        ("import os; os.kill(os.getpid(), 9)", "ended by signal 9"),
        ("import os; os._exit(7)", "ended with code 7"),
    ],
)
def test_what_breaks_a_script_becomes_a_row_after_those_it_gave(tmp_path, then, reason) -> None:
    first, last = runner.rows_of(script(tmp_path, ONE_ROW.format(then=then)))
    assert first.figure == 1.0
    assert (last.verdict, last.note) == (Verdict.FAILED, reason)


def test_a_script_that_does_not_even_start_is_a_row(tmp_path) -> None:
    (row,) = runner.rows_of(script(tmp_path, "this is no Python"))
    assert row.verdict is Verdict.FAILED


def test_a_script_that_never_ends_is_ended(tmp_path) -> None:
    path = script(tmp_path, ONE_ROW.format(then="import time; time.sleep(600)"))
    rows = runner.rows_of(path, limit_s=1.0)
    assert rows[-1].note == "ended after 1 s"


def test_scripts_for_a_long_day_run_by_name_only(tmp_path) -> None:
    (tmp_path / "quick.py").write_text("x = 1\n")
    (tmp_path / "long.py").write_text('"""Long."""\n\nBY_NAME_ONLY = True\n')
    (tmp_path / "_part.py").write_text("")
    assert [path.stem for path in runner.all_scripts(tmp_path)] == ["quick"]


def test_one_table_and_one_file_come_of_everything(tmp_path, monkeypatch, capfd) -> None:
    path = script(tmp_path, ONE_ROW.format(then="pass"))
    monkeypatch.setattr(runner, "all_scripts", lambda: [path])
    assert runner.main(["--json", str(tmp_path / "rows.json")]) == 0
    assert "some: first" in capfd.readouterr().out
    assert json.loads((tmp_path / "rows.json").read_text())[0]["verdict"] == "no bar"


# The meter


def test_what_a_block_costs_is_measured() -> None:
    spent = meter.timed(lambda: sum(range(300_000)))
    assert spent.wall_s > 0
    assert spent.own_s > 0
    assert spent.stolen is None or 0 <= spent.stolen <= 1


def test_a_percentile_is_one_of_the_values() -> None:
    assert meter.percentile([3.0, 1.0, 2.0], 0.99) == 3.0
    assert meter.percentile([1.0], 0.5) == 1.0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the host tells Linux alone")
def test_the_time_the_host_took_is_known() -> None:
    assert meter.stolen_s() is not None


# The door


@pytest.mark.parametrize(
    ("words", "started"),
    [
        ([], ["_run.py"]),
        (["--full"], ["_run.py", "--full"]),
        (["scan", "10000"], ["scan.py", "10000"]),
    ],
)
def test_the_door_runs_everything_or_the_named_one(monkeypatch, words, started) -> None:
    commands = []
    monkeypatch.setattr(dev, "ensure", lambda *_, **__: None)
    monkeypatch.setattr(dev.children, "run", lambda command: commands.append(command) or 0)
    assert dev.bench(words) == 0
    ((_python, script, *rest),) = commands
    assert [script.name, *rest] == started


@pytest.mark.parametrize("name", ["nothing", "_run", "../dev"])
def test_the_door_refuses_what_is_no_measurement(monkeypatch, name) -> None:
    monkeypatch.setattr(dev, "ensure", lambda *_, **__: None)
    with pytest.raises(dev.Refusal, match="there is no such measurement"):
        dev.bench([name])
