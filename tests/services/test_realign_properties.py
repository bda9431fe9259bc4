"""Whatever was renamed: nothing is lost, nothing is replaced, and undo brings all of it back."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakes import FakeClock
from lyrsvc.store.database import Database
from realigns import Realigns

STEMS = (
    *("Hello", "01 Hello", "hello", "02 - World", "World", "Part 1", "Part 2", "Intro", "Outro"),
    *("Hello (Live)", "Hello (Remastered)", "Song II", "Song", "J\u00f3ga", "Jo\u0301ga", "x"),
)
FOLDERS = ("", "a", "a/b", "c")


@dataclass(frozen=True)
class Case:
    """A song where it was, where it is, what its files say, and which sidecars it had."""

    number: int
    old: str
    new: str
    has_tags: bool
    has_header: bool
    kinds: tuple[str, ...]

    @property
    def mbid(self) -> str:
        return f"{self.number:08d}-0000-4000-8000-000000000000"


paths = st.builds(
    lambda f, s: f"{f}/{s}".lstrip("/"), st.sampled_from(FOLDERS), st.sampled_from(STEMS)
)


@st.composite
def libraries(draw):
    cases: list[Case] = []
    olds, news = set(), set()
    for number in range(draw(st.integers(1, 6))):
        old = draw(paths)
        new = draw(st.one_of(st.just(old), paths))
        if old in olds or new in news:
            continue
        olds.add(old)
        news.add(new)
        kinds = draw(st.sets(st.sampled_from([".lrc", ".txt", ".elrc", ".LRC"])))
        cases.append(
            Case(number, old, new, draw(st.booleans()), draw(st.booleans()), tuple(sorted(kinds)))
        )
    return cases


def build(music: Realigns, cases: list[Case]) -> None:
    """Put the sidecars where the songs were, and the audio where it is now."""
    for case in cases:
        for kind in case.kinds:
            header = {"mbid": case.mbid} if case.has_header else {}
            music.put(f"{case.old}{kind}", f"words of {case.number}{kind}\n", **header)
        title = Path(case.new).name
        tags = {"mbid": case.mbid, "title": title} if case.has_tags else {"title": ""}
        music.song(f"{case.new}.flac", **tags)


@pytest.mark.seed("S-040", "S-041", "S-045", "S-047")
@pytest.mark.spec("E-61")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    cases=libraries(),
    scanned=st.booleans(),
    policy=st.fixed_dictionaries(
        {
            "name_match": st.booleans(),
            "cross_directory": st.booleans(),
            "min_confidence": st.sampled_from([0.01, 0.75, 1.0]),
            "min_margin": st.sampled_from([0.0, 0.05, 0.5]),
        }
    ),
)
def test_random_renames_are_realigned_safely_and_undone_exactly(cases, scanned, policy):
    clock = FakeClock()
    with (
        tempfile.TemporaryDirectory() as place,
        Database.open(Path(place, "db"), create=True, clock=clock) as db,
    ):
        music = Realigns(db, clock, Path(place, "music"))
        build(music, cases)
        if scanned:
            music.scan()
        before = music.files()
        rows = {name: music.known()[name] for name in ("work_items", "work_targets")}

        music.preview(**policy)
        planned = music.told()
        assert music.files() == before
        music.realign(**policy)

        moved = [(old, new) for action, _, old, new in music.told() if action == "moved"]
        assert moved == [(old, new) for action, _, old, new in planned if action == "would-move"]
        check_moves(moved, before, cases)
        after = music.files()
        carried = dict(moved)
        assert {carried.get(name, name): facts for name, facts in before.items()} == after
        assert music.wrong_counts() == {}

        undo = music.undo() if moved else None
        assert undo is None or (undo.report.applied, undo.report.errors) == (len(moved), 0)
        assert music.files() == before
        assert {name: music.known()[name] for name in rows} == rows
        assert music.wrong_counts() == {}


def check_moves(moved, before, cases) -> None:
    goals = [new for _, new in moved]
    assert len(set(goals)) == len(goals)
    assert not set(goals) & set(before)
    by_old = {f"{case.old}{kind}": case for case in cases for kind in case.kinds}
    by_new = {case.new: case for case in cases}
    for old, new in moved:
        assert Path(old).suffix == Path(new).suffix
        song, goal = by_old[old], by_new[new.removesuffix(Path(new).suffix)]
        units = [
            by_old[name]
            for name in by_old
            if Path(name).with_suffix("") == Path(old).with_suffix("")
        ]
        if goal.has_tags and all(each.has_header for each in units):
            assert song.mbid == goal.mbid
        if Path(old).parent != Path(new).parent:
            assert song.mbid == goal.mbid
