"""The tags an image gets, from the release or the day it was built for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devtools import Refusal, image_tags
from devtools.image_tags import nightly_tags, read_release, release_tags

KNOWN = ["v1.3.9", "v1.4.0", "v1.4.1", "v1.5.0-beta.2", "main", "v2", "1.9.9", "v1.4"]


@pytest.mark.seed("S-119")
@pytest.mark.spec("C-66")
@pytest.mark.parametrize(
    ("tag", "known", "tags"),
    [
        ("v1.4.2", KNOWN, ["1.4.2", "1.4", "latest"]),
        ("v1.4.2", [], ["1.4.2", "1.4", "latest"]),
        ("v1.4.2", [*KNOWN, "v1.4.2"], ["1.4.2", "1.4", "latest"]),
        ("v1.3.10", KNOWN, ["1.3.10", "1.3"]),  # an older line
        ("v1.3.8", KNOWN, ["1.3.8"]),
        ("v1.4.2", [*KNOWN, "v1.10.0"], ["1.4.2", "1.4"]),  # ten is more than four
        ("v1.4.2", [*KNOWN, "v2.0.0-rc.1"], ["1.4.2", "1.4", "latest"]),
        ("v1.5.0-rc.1", KNOWN, ["1.5.0-rc.1", "beta"]),
        ("v1.5.0-beta.1", KNOWN, ["1.5.0-beta.1"]),
        ("v1.5.0-beta.10", KNOWN, ["1.5.0-beta.10", "beta"]),
        ("v1.5.0-rc.1", [*KNOWN, "v1.6.0"], ["1.5.0-rc.1", "beta"]),
        ("v0.1.0", [], ["0.1.0", "0.1", "latest"]),
    ],
)
def test_a_release_takes_what_no_newer_one_holds(tag, known, tags) -> None:
    assert release_tags(tag, known) == tags


@pytest.mark.seed("S-119")
@pytest.mark.spec("C-66")
def test_a_nightly_build_is_dated() -> None:
    assert nightly_tags("20260131") == ["dev", "nightly", "nightly-20260131"]


@pytest.mark.seed("S-119")
@pytest.mark.parametrize(
    "tag",
    [
        "1.4.2",
        "v1.4",
        "v01.4.2",
        "v1.4.2-",
        "v1.4.2-rc..1",
        "v1.4.2+build",
        "v1.4.2-rc.01",
        "v1.4.2\n",
        "v１.4.2",
        "",
    ],
)
def test_what_is_no_release_tag_is_refused(tag) -> None:
    with pytest.raises(Refusal):
        release_tags(tag, [])


@pytest.mark.parametrize("day", ["2026-01-31", "20261301", "20260132", "260131", ""])
def test_what_is_no_day_is_refused(day) -> None:
    with pytest.raises(Refusal):
        nightly_tags(day)


VERSIONS = st.builds(
    lambda numbers, pre: "v" + ".".join(map(str, numbers)) + (f"-{pre}" if pre else ""),
    st.tuples(*[st.integers(0, 12)] * 3),
    st.sampled_from(["", "", "alpha", "beta.2", "beta.11", "rc.1"]),
)


@given(st.lists(VERSIONS, min_size=1, unique=True))
def test_each_moving_tag_ends_at_exactly_the_newest_release(versions) -> None:
    """Whatever the order of building, once everything is known only one release claims a tag."""
    claims: dict[str, list[str]] = {}
    for version in versions:
        for tag in release_tags(version, versions):
            claims.setdefault(tag, []).append(version)
    assert all(len(claimed) == 1 for claimed in claims.values())
    stable = [version for version in versions if "-" not in version]
    assert ("latest" in claims) == bool(stable)
    if stable:
        assert claims["latest"] == [max(stable, key=read_release)]
    assert all("-" in version for version in claims.get("beta", []))


def test_the_command_prints_one_tag_a_line(capsys) -> None:
    assert image_tags.main(["nightly", "20260131"]) == 0
    assert capsys.readouterr().out == "dev\nnightly\nnightly-20260131\n"
    assert image_tags.main([]) == 2
    assert image_tags.main(["nightly", "yesterday"]) == 2
