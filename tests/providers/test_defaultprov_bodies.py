"""Subtitle bodies, word times and translations in every shape."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.core.errors import Malformed
from lyrsvc.core.lyrics import Cue, Word
from lyrsvc.providers.defaultprov_bodies import bind_translation, bind_words, read_subtitle


def array(*cues):
    return json.dumps([{"text": text, "time": time} for text, time in cues])


def test_parts_of_the_time_count_as_given_and_the_total_only_without_them():
    body = array(
        ("b", {"total": 99.9, "minutes": 1, "seconds": 2, "hundredths": 3}),
        ("a", {"total": 1.001}),
        ("c", {"total": 62.0305, "minutes": None}),
    )

    assert [(cue.ms, cue.text) for cue in read_subtitle(body)] == [
        (1001, "a"),
        (62_030, "b"),
        (62_030, "c"),
    ]


@pytest.mark.parametrize(
    "time",
    [
        None,
        {},
        12,
        "1:2",
        {"total": "x"},
        {"total": -1},
        {"total": None},
        {"total": True},
        {"minutes": 1},
    ],
    ids=repr,
)
def test_an_entry_without_a_usable_time_is_dropped(time):
    body = array(("a", time), ("b", {"total": 2}))

    assert [cue.text for cue in read_subtitle(body)] == ["b"]


def test_a_time_that_is_no_number_in_json_is_dropped():
    body = '[{"text": "a", "time": {"total": NaN}}, {"text": "b", "time": {"total": 1e999}},'
    body += '{"text": "c", "time": {"total": 1}}]'

    assert [cue.text for cue in read_subtitle(body)] == ["c"]


def test_lrc_text_is_sorted_and_keeps_the_order_of_equal_times():
    body = "[00:05.00]later\n[00:01.00]first\n[00:01.00]second"

    assert [cue.text for cue in read_subtitle(body)] == ["first", "second", "later"]


@pytest.mark.parametrize(
    "body",
    ["{}", "12", '"text"', "[1, 2]", "words without stamps", "[ar:x]", "<tt/>", "[" * 100_000],
    ids=lambda body: body[:12],
)
def test_anything_else_is_an_unknown_encoding_of_so_many_bytes(body):
    with pytest.raises(Malformed, match=f"^unknown subtitle encoding, {len(body)} bytes$"):
        read_subtitle(body)


def test_the_size_is_told_in_bytes():
    with pytest.raises(Malformed, match=r" 4 bytes$"):
        read_subtitle("öö")


CUES = (Cue(1000, "one two"), Cue(1200, "three"), Cue(5000, "four"))


def line(ts, text, te=None):
    words = text.split()
    chunks = [{"c": word, "o": place / 10} for place, word in enumerate(words)]
    return {"ts": ts, "te": te, "l": chunks, "x": text}


def words_of(cues):
    return [[word.text for word in cue.words] for cue in cues]


def test_a_line_binds_to_the_one_cue_in_reach():
    bound = bind_words(CUES, json.dumps([line(5.3, "four", 6.5)]))

    assert words_of(bound) == [[], [], ["four"]]
    assert bound[2].end_ms == 6500


def test_a_line_out_of_reach_binds_to_nothing():
    assert words_of(bind_words(CUES, json.dumps([line(5.301, "four")]))) == [[], [], []]


def test_of_two_cues_in_reach_the_one_with_the_same_words_is_taken():
    assert words_of(bind_words(CUES, json.dumps([line(1.01, "three")]))) == [[], ["three"], []]
    assert words_of(bind_words(CUES, json.dumps([line(1.1, "onetwo")]))) == [["onetwo"], [], []]


def test_of_two_cues_in_reach_with_other_words_none_is_taken():
    assert words_of(bind_words(CUES, json.dumps([line(1.1, "else")]))) == [[], [], []]


def test_blanks_are_chunks_that_join_the_word_before():
    chunks = [
        {"c": " ", "o": 0},
        {"c": "four", "o": 0.1},
        {"c": " ", "o": 0.2},
        {"c": "!", "o": 0.25},
    ]

    bound = bind_words(CUES, json.dumps([{"ts": 5, "l": chunks}]))

    assert bound[2].words == (Word(5100, "four "), Word(5250, "!"))


@pytest.mark.parametrize(
    "body",
    [
        "",
        "no json",
        "{}",
        "[]",
        "[1]",
        '[{"ts": "x"}]',
        '[{"ts": 1, "l": {}}]',
        '[{"ts": 5, "l": [{"c": 1}]}]',
        "[" * 100_000,
    ],
    ids=lambda body: body[:20],
)
def test_a_body_that_is_not_understood_costs_only_the_words(body):
    assert bind_words(CUES, body) == CUES


def test_a_body_in_another_unit_is_dropped_whole():
    far = line(600, "far away")

    assert words_of(bind_words(CUES, json.dumps([line(5, "four"), far]))) == [[], [], []]


def test_a_hostile_number_of_lines_is_bound_quickly():
    cues = tuple(Cue(ms, "x") for ms in range(20_000))
    lines = json.dumps([line(ms / 1000, "y") for ms in range(0, 20_000, 40)])

    assert len(bind_words(cues, lines)) == 20_000


def row(original, text, **more):
    return {"translation": {"subtitle_matched_line": original, "description": text, **more}}


def test_a_translation_row_binds_to_every_cue_with_its_words():
    cues = (Cue(1, "Don’t go"), Cue(2, "stay"), Cue(3, "DON'T GO"))

    assert bind_translation(cues, [row("Don't go", "Geh nicht")], "de") == (
        Cue(1, "Geh nicht"),
        Cue(3, "Geh nicht"),
    )


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [None, 1, "x", [], {"translation": None}],
        [row("stay", " ")],
        [row("", "nichts", matched_line=" ")],
        [row("stay", "bleib", selected_language="fr")],
        [row("else", "anders")],
    ],
)
def test_rows_that_fit_no_cue_give_no_translation(rows):
    assert bind_translation((Cue(1, "stay"), Cue(2, "")), rows, "de") is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(["ts", "te", "l", "c", "o", "x", "text", "time", "total"]), inner
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_no_json_can_break_the_readers(value):
    body = json.dumps(value)

    bind_words(CUES, body)
    try:
        cues = read_subtitle(body)
    except Malformed:
        return
    assert [cue.ms for cue in cues] == sorted(cue.ms for cue in cues)
