"""The table of libraries."""

import os
from pathlib import Path

import pytest

from lyrsvc.core.errors import NotFound, Refused
from lyrsvc.core.library import Library, name_key
from lyrsvc.store import libraries


@pytest.fixture
def add(db, clock):
    def add(name, path=None, **options):
        return db.write(
            lambda tx: libraries.add(
                tx, name=name, path=Path(path or f"/music/{name}"), now=clock.now(), **options
            )
        )

    return add


@pytest.fixture
def find(db):
    def find(name_or_id):
        with db.read() as tx:
            return libraries.find(tx, name_or_id)

    return find


@pytest.mark.seed("S-065")
def test_a_library_has_an_id_a_name_a_root_and_inherits_what_it_does_not_override(db, add, clock):
    added = add("Rock")

    assert added == Library(
        id=1,
        name="Rock",
        path=Path("/music/Rock"),
        enrich=None,
        detect_instrumental=None,
        last_ok_scan_at=None,
        created_at=clock.now(),
        updated_at=clock.now(),
    )
    other = add("Jazz", enrich=False, detect_instrumental=True)
    assert (other.enrich, other.detect_instrumental) == (False, True)
    with db.read() as tx:
        assert libraries.all_libraries(tx) == [added, other]
        assert libraries.get(tx, 2) == other


def test_a_root_of_any_bytes_comes_back(db, add):
    root = os.fsdecode(b"/music/\xff\xef\xa3\xbf")

    assert add("odd", root).path == Path(root)
    with db.read() as tx:
        assert os.fsencode(libraries.get(tx, 1).path) == os.fsencode(root)


@pytest.mark.parametrize(("name", "quoted"), [("Rock", "Rock"), ("My music", "'My music'")])
def test_an_equal_root_is_refused_naming_the_other_library(add, name, quoted):
    add(name, "/music/a")

    with pytest.raises(Refused) as refusal:
        add("Pop", "/music/a")
    told = f'/music/a is already library "{name}"; use library update {quoted}'
    assert str(refusal.value) == told


def test_names_are_unique_ignoring_case_and_form(db, add):
    add("Été")

    with pytest.raises(Refused, match='library 1 is already named "Été"'):
        add("E\u0301TE\u0301", "/music/other")
    with db.read() as tx:
        assert libraries.free_name(tx, "ÉTÉ") == "ÉTÉ-2"
        assert libraries.free_name(tx, "Jazz") == "Jazz"


def test_ids_are_never_used_again(db, add):
    add("a")
    add("b")
    db.write(lambda tx: tx.run("DELETE FROM libraries WHERE id = 2"))

    assert add("c").id == 3


def test_a_library_is_found_by_id_or_by_name_whatever_the_case(add, find):
    rock, jazz = add("Rock"), add("Jazz")

    assert find("1") == find("rock") == find("ROCK") == rock
    assert find("2") == find("Jazz") == jazz


def test_digits_are_tried_as_a_name_too(add, find):
    add("Rock")
    year = add("1999")
    assert find("1999") == year

    add("1")
    with pytest.raises(Refused) as refusal:
        find("1")
    assert '1 "Rock", 3 "1"' in str(refusal.value)
    assert find("3").name == "1"


def test_a_library_whose_name_is_its_own_id_is_one_hit(add, find):
    assert add("1") == find("1")


@pytest.mark.parametrize("wanted", ["Pop", "7", "99999999999999999999999", "-1", "", "²"])
def test_an_unknown_library_is_answered_with_the_known_ones(add, find, wanted):
    with pytest.raises(NotFound) as refusal:
        find(wanted)
    assert str(refusal.value) == f'no library "{wanted}"; known: none'

    add("Rock")
    add("Jazz")
    with pytest.raises(NotFound) as refusal:
        find(wanted)
    assert str(refusal.value) == f'no library "{wanted}"; known: Jazz, Rock'


def test_a_missing_id_is_not_found(db):
    with db.read() as tx, pytest.raises(NotFound, match='no library "5"'):
        libraries.get(tx, 5)


def test_the_key_of_a_name_ignores_case_and_form():
    assert name_key("Straße É") == name_key("STRASSE E\u0301")
