"""The code of a recording in its one form."""

import pytest

from lyrsvc.core.isrc import read_isrcs


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        (["GB-AYE-06-01498"], ("GBAYE0601498",)),
        (["gb aye 06 01498 "], ("GBAYE0601498",)),
        (["GBAYE0601498\0USRC17607839"], ("GBAYE0601498", "USRC17607839")),
        (["GBAYE0601498; USRC17607839", "GBAYE0601498"], ("GBAYE0601498", "USRC17607839")),
        (
            ["GBAYE0601498/USRC17607839,ZZA010000001"],
            ("GBAYE0601498", "USRC17607839", "ZZA010000001"),
        ),
        (["", "nonsense", "G1AYE0601498", "GBAYE060149", "GBAYE06014988", "ＧＢAYE0601498"], ()),
        (["GBAYE٠٦01498"], ()),
    ],
)
def test_valid_codes_are_read_each_once_and_nothing_else(values, codes):
    assert read_isrcs(values) == codes
