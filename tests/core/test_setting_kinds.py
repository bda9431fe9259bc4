"""How each kind of setting reads text, reads TOML, writes TOML and shows itself."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.core.setting import Clamp, Place, Section, Setting, clamp, entries, fill, same_as, table
from lyrsvc.core.setting_kinds import (
    Choice,
    Cidrs,
    Decimal,
    HostPort,
    Integer,
    Names,
    Pairs,
    PathName,
    Text,
    Toggle,
    Url,
    Words,
)

PLACE = Place(Path("/base"), Path("/home/me"))
HOMELESS = Place(Path("/base"), None)

INTEGER = Integer(1, "A number.")
DECIMAL = Decimal(1.0, "A fraction.")
TOGGLE = Toggle(False, "A switch.")
TEXT = Text("", "A text.")
CHOICE = Choice(("off", "on"), "off", "A choice.", also={"aus": "off"})
NAMES = Names((), "Some names.")
WORDS = Words(("Latin", "Han"), (), "Some words.")
CIDRS = Cidrs((), "Some networks.")
PATH = PathName(None, "A path.")
URL = Url("", "An address.")
HOST_PORT = HostPort("", "A listen address.")
PAIRS = Pairs((), "Some pairs.")


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (INTEGER, " 15 ", 15),
        (INTEGER, "-0", 0),
        (INTEGER, "+7", 7),
        (INTEGER, "9" * 30, 2**63 - 1),
        (INTEGER, "-" + "9" * 30, -(2**63)),
        (DECIMAL, "0.5", 0.5),
        (DECIMAL, ".5", 0.5),
        (DECIMAL, "5.", 5.0),
        (DECIMAL, "1e-3", 0.001),
        (DECIMAL, "1E2", 100.0),
        (DECIMAL, "-3", -3.0),
        (TOGGLE, " YES ", True),
        (TOGGLE, "f", False),
        (TEXT, "  a b  ", "a b"),
        (CHOICE, "ON", "on"),
        (CHOICE, "Aus", "off"),
        (NAMES, "b, a,,b", ("b", "a")),
        (NAMES, ",", ()),
        (WORDS, "han,LATIN,Han", ("Han", "Latin")),
        (CIDRS, "10.1.2.3/8,::1", ("10.0.0.0/8", "::1/128")),
        (PATH, "x/y", Path("/base/x/y")),
        (PATH, "/x", Path("/x")),
        (PATH, "~/x", Path("/home/me/x")),
        (PATH, "~", Path("/home/me")),
        (PATH, "~other/x", Path("/base/~other/x")),
        (URL, "http://a/", "http://a"),
        (HOST_PORT, " :80 ", ":80"),
        (PAIRS, "/a=/b, /c = /d=e ,", (("/a", "/b"), ("/c", "/d=e"))),
    ],
)
def test_text_is_read(kind, text, value):
    assert kind.from_text(text, PLACE) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        *((INTEGER, text) for text in ("", "1.0", "1_0", "0x1", "a", "٣", "1 2", "1\n2")),
        *((DECIMAL, text) for text in ("", ".", "nan", "inf", "1e", "1,5", "1e999", "0x1p3")),
        *((TOGGLE, text) for text in ("", "2", "ja", "tru")),
        *((CHOICE, text) for text in ("", "onn")),
        *((WORDS, text) for text in ("Latn", "Latin Han")),
        *((CIDRS, text) for text in ("10", "a", "10.0.0.0/40", "fe80::1%1")),
        *((PATH, text) for text in ("a\0b",)),
        *((URL, text) for text in ("a", "http:", "http://", "http://a:70000", "http://[1]")),
        *((HOST_PORT, text) for text in ("", "80", "a:", "a:1:2", "[::g]:1", "a:99999")),
        *((PAIRS, text) for text in ("a", "=b", "a=", "a=b,c")),
    ],
)
def test_text_that_does_not_fit_is_refused_with_a_wish(kind, text):
    with pytest.raises(ValueError, match=r"\w"):
        kind.from_text(text, PLACE)


def test_a_tilde_needs_a_home():
    with pytest.raises(ValueError, match="no home directory"):
        PATH.from_text("~/x", HOMELESS)


@pytest.mark.parametrize(
    ("kind", "raw", "value"),
    [
        (INTEGER, 15, 15),
        (INTEGER, 2**70, 2**63 - 1),
        (DECIMAL, 1, 1.0),
        (DECIMAL, 10**400, float(2**63 - 1)),
        (TOGGLE, True, True),
        (TEXT, " x ", "x"),
        (NAMES, ["a,b", " c ", "", "c"], ("a,b", "c")),
        (PAIRS, [{"from": " /a ", "to": "/b"}], (("/a", "/b"),)),
    ],
)
def test_toml_is_read(kind, raw, value):
    assert kind.from_toml(raw, PLACE) == value


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        *((INTEGER, raw) for raw in (True, 1.0, "1", [1], {})),
        *((DECIMAL, raw) for raw in (True, "1", [])),
        *((TOGGLE, raw) for raw in (1, 0, "true")),
        *((TEXT, raw) for raw in (1, True, ["a"], {"a": 1})),
        *((NAMES, raw) for raw in ("a", [1], {"a": 1}, [["a"]])),
        *((PAIRS, raw) for raw in ("a=b", {}, [1], [{"from": "a"}], [{"from": 1, "to": "b"}])),
    ],
)
def test_a_toml_value_of_another_type_is_refused_with_the_wanted_type(kind, raw):
    with pytest.raises(TypeError, match=r"^(a|true) "):
        kind.from_toml(raw, PLACE)


@pytest.mark.parametrize("raw", [float("nan"), float("inf"), float("-inf")])
def test_a_fraction_is_finite(raw):
    with pytest.raises(ValueError, match="finite"):
        DECIMAL.from_toml(raw, PLACE)


@pytest.mark.parametrize(
    ("kind", "value", "toml", "shown"),
    [
        (INTEGER, 1048576, 1048576, "1048576"),
        (DECIMAL, 0.015, 0.015, "0.015"),
        (DECIMAL, 3600.0, 3600.0, "3600"),
        (TOGGLE, True, True, "true"),
        (TEXT, "x", "x", "x"),
        (NAMES, ("a", "b"), ["a", "b"], "a, b"),
        (PATH, None, "", ""),
        (PATH, Path("/x"), "/x", "/x"),
        (PAIRS, (("/a", "/b"),), [{"from": "/a", "to": "/b"}], "/a=/b"),
    ],
)
def test_a_value_is_written_for_the_file_and_for_people(kind, value, toml, shown):
    assert kind.to_toml(value) == toml
    assert kind.show(value) == shown


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_whole_number_shown_is_read_back(number):
    assert INTEGER.from_text(INTEGER.show(number), PLACE) == number


@given(st.floats(-1e15, 1e15, allow_nan=False))
def test_a_fraction_shown_is_read_back(number):
    assert DECIMAL.from_text(DECIMAL.show(number), PLACE) == number


@given(st.lists(st.text(st.characters(exclude_characters=",", codec="utf-8"))))
def test_a_list_keeps_the_first_of_equal_trimmed_words(words):
    read = NAMES.from_text(",".join(words), PLACE)
    assert list(read) == list(dict.fromkeys(w.strip() for w in words if w.strip()))


@given(st.text())
def test_no_text_does_worse_than_being_refused(text):
    for kind in (INTEGER, DECIMAL, TOGGLE, CHOICE, NAMES, CIDRS, PATH, URL, HOST_PORT, PAIRS):
        try:
            kind.from_text(text, PLACE)
        except ValueError:
            continue


def test_a_relative_path_stays_relative_in_the_file_but_is_checked():
    assert PATH.as_written(" sub/dir ", PLACE) == "sub/dir"
    with pytest.raises(ValueError, match="home"):
        PATH.as_written("~/x", HOMELESS)
    assert NAMES.as_written("a, b", PLACE) == ["a", "b"]
    assert PAIRS.as_written("/a=/b", PLACE) == [{"from": "/a", "to": "/b"}]


def test_choices_are_listed_where_the_list_is_closed():
    assert CHOICE.choices == ("off", "on")
    assert WORDS.choices == ("Latin", "Han")
    assert TOGGLE.choices == ("true", "false")
    assert TEXT.choices == ()


class TestClamp:
    def test_a_value_inside_stays_and_one_outside_goes_to_the_nearest_bound(self):
        check = clamp(1, 9)
        assert [check.nearest(value, {}) for value in (0, 1, 5, 9, 10)] == [1, 1, 5, 9, 9]
        assert check.text() == "1..9"

    def test_bounds_may_follow_other_settings_and_never_cross(self):
        check = clamp(15, same_as("a.b"))
        assert check.bounds({"a.b": 300}) == (15, 300)
        assert check.bounds({"a.b": 3}) == (15, 15)
        assert check.text() == "15..`a.b`"

    def test_some_values_outside_may_be_excused(self):
        check = Clamp(1, 9, excused=lambda value, known: value == 0 and known["free"])
        assert check.nearest(0, {"free": True}) == 0
        assert check.nearest(0, {"free": False}) == 1

    @given(st.integers(), st.integers(-50, 50), st.integers(-50, 50))
    def test_the_outcome_lies_inside(self, value, low, high):
        check = clamp(low, high)
        moved = check.nearest(value, {})
        assert low <= moved <= max(low, high)
        assert check.nearest(moved, {}) == moved


class Inner(Section):
    """Inside."""

    deep = Integer(3, "Deep.")


class Outer(Section):
    """Outside."""

    first = Text("", "First.", env="FIRST", env_only=True)
    inner = table(Inner)
    last = Text("", "Last.")


def test_sections_are_walked_in_the_order_of_their_declaration():
    assert [(entry.path, entry.key) for entry in entries(Outer)] == [
        ("first", "FIRST"),
        ("inner.deep", "inner.deep"),
        ("last", "last"),
    ]


def test_a_filled_section_holds_the_values_and_never_changes():
    loaded = fill(Outer, {"first": "a", "inner.deep": 5, "last": "z"})
    assert (loaded.first, loaded.inner.deep, loaded.last) == ("a", 5, "z")
    with pytest.raises(AttributeError):
        loaded.inner.deep = 6
    with pytest.raises(AttributeError, match="no value for deep"):
        _ = Inner({}).deep


def test_the_declaration_itself_is_reached_through_the_class():
    assert isinstance(Inner.deep, Setting)
    assert Inner.deep.default == 3
    assert Outer.first.editable is False
    assert Inner.deep.editable is True
