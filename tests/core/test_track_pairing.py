"""Which file belongs to which track."""

import time
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.core.track_pairing import FileNames, pair


def stems(*names: str) -> list[FileNames]:
    return [FileNames(name) for name in names]


@pytest.mark.spec("H-07")
def test_lists_of_equal_length_are_paired_by_place_whatever_the_names():
    titles = ["Time", "Time After Time", "After", "Out of Time"]
    files = stems("04 Out of Time", "After", "Time After Time", "Time")
    assert pair(titles, files) == [0, 1, 2, 3]


@pytest.mark.spec("H-06")
def test_a_file_of_several_tracks_is_no_target_and_the_others_keep_theirs():
    titles = ["Casting Off", "Slack Water", "Landfall", "Gangway", "Bilge Song", "Harbour Pilot"]
    files = stems(
        "01-03 - The Long Ferry Suite", "01 - Gangway", "02 - Bilge Song", "03 - Harbour Pilot"
    )
    assert pair(titles, files) == [None, None, None, 1, 2, 3]


def test_a_tag_beats_a_name_and_a_whole_name_beats_a_part_of_one():
    by_tag = [FileNames("x", "Two"), FileNames("One", "")]
    assert pair(["One", "Two", "Three"], by_tag) == [None, None, None]
    assert pair(["Two", "One", "Three"], by_tag) == [0, None, None]
    assert pair(["Night", "Night Boat", "Day"], stems("02 Night Boat", "Day")) == [None, None, 1]


def test_signs_that_no_file_name_may_hold_do_not_keep_a_title_from_its_file():
    titles = ["What the Gulls Said?", "Salt & Iron", "Suite: One"]
    assert pair(titles, stems("03 - What the Gulls Said", "Rest")) == [0, None, None]
    assert pair(titles, stems("Rest", "1-03 Suite One")) == [None, None, 1]
    assert pair(titles, stems("Rest", "A3. Suite_ One")) == [None, None, 1]


def test_a_number_that_is_part_of_the_title_is_not_taken_for_numbering():
    assert pair(["7 Rings", "Other", "More"], stems("7 Rings", "Rest")) == [0, None, None]
    assert pair(["1999", "Other", "More"], stems("1999", "Rest")) == [0, None, None]


def test_a_run_that_is_not_the_same_in_all_best_divisions_gives_nobody_a_file():
    assert pair(["One", "Two", "Three"], stems("x", "y")) == [None, None, None]
    assert pair(["Same", "Same", "Last"], stems("Same", "Last")) == [None, None, None]
    assert pair(["First", "a", "b", "c"], stems("First", "x", "y")) == [0, None, None, None]


def test_with_more_files_each_track_takes_the_single_file_that_is_called_like_it():
    files = stems("01 Gangway", "02 Bilge Song", "03 Gangway", "04 Harbour Pilot (live)")
    assert pair(["Bilge Song", "Gangway", "Harbour Pilot"], files) == [1, None, None]
    assert pair(["Bilge Song", "Bilge Song"], stems("Bilge Song", "b", "c")) == [None, None]


def test_blank_titles_and_empty_lists_pair_with_nothing():
    assert pair([], stems("a")) == []
    assert pair(["a"], []) == [None]
    assert pair(["", ""], [FileNames("", "")]) == [None, None]
    assert pair([""], stems("", "b")) == [None]


NAMES = st.sampled_from(["", "Tide", "Tide Over", "Over", "Gulls", "!", "01 Tide", "7"])


@given(
    titles=st.lists(NAMES, min_size=1, max_size=8),
    files=st.lists(st.builds(FileNames, NAMES, NAMES), min_size=1, max_size=5),
)
def test_the_division_is_the_best_of_all_there_are(titles, files):
    if len(titles) <= len(files):
        return
    assert pair(titles, files) == by_trying_all(titles, files)


def by_trying_all(titles, files):
    """Try every division and keep what all of the best have in common."""
    best, splits = -1, []
    for cuts in combinations(range(1, len(titles)), len(files) - 1):
        ends = (0, *cuts, len(titles))
        runs = list(pairwise(ends))
        total = sum(
            score(titles[start], file)
            for (start, end), file in zip(runs, files, strict=True)
            if end - start == 1
        )
        if total > best:
            best, splits = total, []
        if total == best:
            splits.append(runs)
    paired = [None] * len(titles)
    for place in range(len(files)):
        found = {split[place] for split in splits}
        (start, end) = next(iter(found))
        if len(found) == 1 and end - start == 1:
            paired[start] = place
    return paired


def score(title, file):
    """The rule itself, for names of plain letters."""
    wanted, tag, stem = title.lower(), file.tag_title.lower(), file.stem.lower()
    if not wanted:
        return 0
    if wanted == tag:
        return 3
    if wanted in (stem, stem.removeprefix("01 ")):
        return 2
    words = wanted.replace("!", "")
    return 1 if words and f" {words} " in f" {stem} " else 0


def test_thousands_of_tracks_are_divided_in_moments():
    titles = [f"Song Number {number}" for number in range(2300)]
    files = stems(*(f"{number:04} - {title}" for number, title in enumerate(titles[:1149])), "x")
    began = time.perf_counter()
    paired = pair(titles, files)
    assert time.perf_counter() - began < 20
    assert sum(place is not None for place in paired) == 1149
    assert pair(["a"] * 60_000, stems(*["b"] * 30_000)) == [None] * 60_000
