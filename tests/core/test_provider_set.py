"""The provider set, and who decides about detection."""

import pytest

from lyrsvc.core.detection import decide_detection
from lyrsvc.core.provider_set import provider_set_version


def test_the_version_has_31_bits_and_depends_on_lanes_their_order_and_the_rules():
    versions = {
        provider_set_version(["defaultprov", "lrclib"]),
        provider_set_version(["lrclib", "defaultprov"]),
        provider_set_version(["defaultprov"]),
        provider_set_version([]),
        provider_set_version(["defaultprov", "lrclib"], rules_version=99),
        provider_set_version(["defaultprovlrclib"]),
    }
    assert len(versions) == 6
    assert all(0 <= version < 2**31 for version in versions)


def test_the_version_is_the_same_every_time():
    assert provider_set_version(["lrclib"], rules_version=1) == provider_set_version(
        ("lrclib",), rules_version=1
    )


@pytest.mark.seed("S-057")
@pytest.mark.parametrize(
    ("explicit", "libraries", "default", "decision"),
    [
        (True, [False], False, (True, "explicit")),
        (False, [True], True, (False, "explicit")),
        (None, [False], True, (False, "library")),
        (None, [False, True], False, (True, "library")),
        (None, [None, False], True, (False, "library")),
        (None, [None], True, (True, "global")),
        (None, [], False, (False, "global")),
    ],
)
def test_explicit_beats_library_beats_global_and_among_libraries_on_wins(
    explicit, libraries, default, decision
):
    assert decide_detection(explicit, libraries, default=default) == decision
