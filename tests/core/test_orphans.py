"""Which audio file an orphan belongs to."""

import pytest

from lyrsvc.core.orphans import Audio, Folder, Move, Orphan, Planner, RealignPolicy, Skip, Tier

M1, M2 = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"


def orphan(stem, *kinds, **facts):
    names = tuple(f"{stem}{kind}" for kind in kinds or (".lrc",))
    return Orphan(**{"directory": "/m", "stem": stem, "names": names, **facts})


def audio(stem, *kinds, **facts):
    ids = {key: frozenset({value}) for key, value in facts.pop("ids", {}).items()}
    return Audio(
        **{"directory": "/m", "stem": stem, "kinds": frozenset(kinds), "ids": ids, **facts}
    )


def decide(orphans, files, find=None, **policy):
    planner = Planner(RealignPolicy(**policy), find=find)
    return planner.plan(Folder(orphans=tuple(orphans), audio=tuple(files)))


def goals(decisions):
    return {
        d.orphan.stem: (d.audio.stem if isinstance(d, Move) else None, str(d.tier))
        for d in decisions
    }


@pytest.mark.seed("S-041")
@pytest.mark.spec("E-59")
def test_ids_are_tried_in_their_order_and_the_first_with_any_hit_decides():
    files = [audio("x", ids={"mbid": M1}), audio("y", ids={"isrc": "USABC1234567"})]
    lost = orphan("old", ids={"mbid": M1, "isrc": "USABC1234567"})

    assert goals(decide([lost], files)) == {"old": ("x", "exact")}
    assert goals(decide([lost], files, identity_keys=("isrc", "mbid"))) == {"old": ("y", "exact")}
    other = orphan("old", ids={"mbid": M2, "isrc": "USABC1234567"})
    assert goals(decide([other], files)) == {"old": ("y", "exact")}


@pytest.mark.seed("S-041", "S-045")
@pytest.mark.spec("E-59")
def test_several_exact_matches_are_a_conflict_that_no_name_can_solve():
    files = [audio("old one", ids={"mbid": M1}), audio("y", ids={"mbid": M1})]
    [skip] = decide([orphan("old", title="old one", ids={"mbid": M1, "isrc": "X"})], files)
    assert (skip.tier, skip.audio) == (Tier.CONFLICT, None)
    assert "2 audio files have its mbid: old one, y" in skip.reason

    apart = {("/m", "x"), ("/n", "x")}
    twins = [audio(stem, directory=place) for place, stem in sorted(apart)]
    [skip] = decide([orphan("old", ids={"mbid": M1})], files, find=lambda *_: twins)
    assert "2 audio files have its mbid: /m/x, /n/x" in skip.reason


@pytest.mark.seed("S-045")
@pytest.mark.spec("E-59")
def test_a_destination_that_exists_or_is_promised_is_a_conflict():
    there = audio("x", ".lrc", ids={"mbid": M1})
    [skip] = decide([orphan("old", ids={"mbid": M1})], [there])
    assert (skip.tier, skip.audio) == (Tier.CONFLICT, there)

    free = audio("x", ids={"mbid": M1})
    twins = [orphan("a", ids={"mbid": M1}), orphan("b", ids={"mbid": M1})]
    assert goals(decide(twins, [free])) == {"a": ("x", "exact"), "b": (None, "conflict")}

    beside = audio("x", ".txt", ids={"mbid": M1})
    assert goals(decide([orphan("old", ids={"mbid": M1})], [beside])) == {"old": ("x", "exact")}
    [both] = decide([orphan("old", ".lrc", ".txt", ids={"mbid": M1})], [beside])
    assert both.tier is Tier.CONFLICT


@pytest.mark.seed("S-042")
@pytest.mark.spec("E-59")
def test_the_lone_pair_matches_by_title():
    files = [audio("02 - Hello", title="Hello"), audio("03 - World", ".lrc", title="World")]
    [move] = decide([orphan("01 Hello")], files)
    assert (move.audio.stem, move.tier) == ("02 - Hello", Tier.HEURISTIC)
    assert move.new_name("01 Hello.LRC") == "02 - Hello.LRC"


@pytest.mark.seed("S-042")
@pytest.mark.spec("E-59")
@pytest.mark.parametrize(
    ("name", "files", "policy", "why"),
    [
        ("Hello", [audio("x", title="Goodbye")], {}, "not alike enough"),
        ("Colour", [audio("x", title="Color")], {"min_confidence": 0.97}, "not alike enough"),
        (
            "Hello",
            [audio("x", title="Hello"), audio("y", ".lrc", title="Hello")],
            {},
            "nearly equally alike",
        ),
        (
            "Hello",
            [audio("x", title="Hello"), audio("y", ".txt", title="Hellos")],
            {"min_margin": 0.5},
            "nearly equally alike",
        ),
        ("Part 1", [audio("x", title="Part 2")], {}, "another song, version or part"),
        ("Hello", [], {}, "no audio file without sidecar"),
        ("Hello", [audio("x", ".lrc", title="Hello")], {}, "no audio file without sidecar"),
        ("Hello", [audio("x", title="Hello"), audio("y", title="Z")], {}, "2 audio files without"),
    ],
)
def test_a_doubtful_pair_is_left_alone(name, files, policy, why):
    [skip] = decide([orphan(name)], files, **policy)
    assert (type(skip), skip.tier) == (Skip, Tier.AMBIGUOUS)
    assert why in skip.reason


@pytest.mark.seed("S-042")
@pytest.mark.spec("E-59")
def test_without_any_name_inside_the_lone_pair_matches_by_its_place():
    assert goals(decide([orphan("abc")], [audio("xyz")])) == {"abc": ("xyz", "heuristic")}
    assert goals(decide([orphan("abc", artist="Somebody")], [audio("xyz")])) == {
        "abc": (None, "ambiguous")
    }


@pytest.mark.seed("S-043")
def test_the_artist_is_never_compared():
    lost = orphan("x", title="Hello", artist="The Quiet Ferrymen")
    other = audio("y", title="Hello", artist="Somebody Else")
    assert goals(decide([lost], [other])) == {"x": ("y", "heuristic")}
    bystander = audio("z", title="Quite Different", artist="The Quiet Ferrymen")
    found = decide([lost, orphan("w", title="None Alike")], [other, bystander], name_match=True)
    assert goals(found)["x"] == ("y", "heuristic-nm")


def test_two_recordings_by_their_ids_are_never_matched_by_name():
    lost = orphan("Hello", ids={"mbid": M1})
    [skip] = decide([lost], [audio("x", title="Hello", ids={"mbid": M2})])
    assert (skip.tier, skip.reason) == (Tier.AMBIGUOUS, "x is another recording by its mbid")


@pytest.mark.seed("S-044")
@pytest.mark.spec("E-59")
def test_several_pairs_are_matched_by_name_only_when_that_is_on():
    lost = [orphan("Hello"), orphan("World")]
    files = [audio("1", title="World"), audio("2", title="Hello"), audio("3", title="Outro")]

    off = decide(lost, files)
    assert {d.tier for d in off} == {Tier.AMBIGUOUS}
    assert all("name_match is off" in d.reason for d in off)
    assert goals(decide(lost, files, name_match=True)) == {
        "Hello": ("2", "heuristic-nm"),
        "World": ("1", "heuristic-nm"),
    }


@pytest.mark.seed("S-044")
@pytest.mark.spec("E-59")
def test_of_several_pairs_near_ties_and_the_taken_are_left_alone():
    files = [audio("1", title="Hello"), audio("2", title="World")]
    lost = [orphan("Hello"), orphan("Hellow")]
    assert goals(decide(lost, files, name_match=True)) == {
        "Hello": ("1", "heuristic-nm"),
        "Hellow": (None, "ambiguous"),
    }

    near = [audio("1", title="Hello"), audio("2", title="Hello")]
    decided = decide([orphan("Hello"), orphan("Xylophone")], near, name_match=True)
    assert goals(decided) == {"Hello": (None, "ambiguous"), "Xylophone": (None, "ambiguous")}


@pytest.mark.seed("S-044", "S-045")
def test_of_several_pairs_a_tie_between_orphans_is_left_alone():
    files = [audio("1", title="Hello"), audio("2", title="World")]
    lost = [orphan("01 Hello"), orphan("02 Hello"), orphan("Hellow"), orphan("World")]
    decided = decide(lost, files, name_match=True)
    assert goals(decided) == {
        "01 Hello": (None, "ambiguous"),
        "02 Hello": (None, "ambiguous"),
        "Hellow": (None, "ambiguous"),  # what two may own is not a third one's
        "World": ("2", "heuristic-nm"),
    }
    assert {d.reason for d in decided[:2]} == {"2 orphans are equally like 1"}


@pytest.mark.seed("S-042", "S-043")
def test_artist_and_album_in_the_name_of_a_file_do_not_hide_its_title():
    """Lidarr's own form of a name: artist, album, number, title."""
    lost = orphan("The Quiet Ferrymen - Low Tide Almanac - 02 - Lantern Song", ".txt")
    files = [
        audio("02 Lantern Song", title="Lantern Song", artist="Somebody Else"),
        audio("03 Tidewater", ".txt", title="Tidewater"),
    ]
    assert goals(decide([lost], files)) == {lost.stem: ("02 Lantern Song", "heuristic")}
    other = orphan("The Quiet Ferrymen - Low Tide Almanac - 04 - Lantern Song (Live)")
    assert goals(decide([other], files)) == {other.stem: (None, "ambiguous")}


@pytest.mark.spec("E-59")
def test_names_are_compared_among_what_ids_have_left_over():
    lost = [orphan("a", ids={"mbid": M1}), orphan("Hello")]
    files = [audio("x", ids={"mbid": M1}, title="Else"), audio("y", title="Hello")]
    assert goals(decide(lost, files)) == {"a": ("x", "exact"), "Hello": ("y", "heuristic")}


@pytest.mark.spec("E-59")
def test_without_identity_keys_there_is_no_exact_tier():
    lost, file = orphan("zzz", ids={"mbid": M1}), audio("Hello", title="Hello", ids={"mbid": M1})
    assert goals(decide([lost], [file], identity_keys=())) == {"zzz": (None, "ambiguous")}


@pytest.mark.seed("S-048")
def test_only_exact_matches_are_applied_when_provenance_is_required():
    strict, usual = RealignPolicy(require_provenance=True), RealignPolicy()
    tiers = (Tier.EXACT, Tier.HEURISTIC, Tier.HEURISTIC_NM)
    assert [strict.applies(tier) for tier in tiers] == [True, False, False]
    assert [usual.applies(tier) for tier in tiers] == [True, True, True]


def test_too_many_pairs_are_not_compared():
    lost = [orphan(f"name {n}") for n in range(501)]
    files = [audio(f"file {n}", title=f"name {n}") for n in range(501)]
    assert {d.tier for d in decide(lost, files, name_match=True)} == {Tier.AMBIGUOUS}
