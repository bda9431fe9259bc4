"""Whose a file is: known by the hash of our last write, and across a crash by two."""

from dataclasses import replace
from pathlib import Path

import pytest

from lyrsvc.core.sidecar import Kind
from lyrsvc.store import written_files
from lyrsvc.store.written_files import OwnFile
from queue_cases import NOW

PATH = Path("/music/x.lrc")
OLD, NEW, LATER, FOREIGN = ("a" * 64, "b" * 64, "c" * 64, "f" * 64)


def a_file(sha256=NEW, **fields):
    return OwnFile(
        **{"path": PATH, "kind": Kind.LRC, "sha256": sha256, "source": "lrclib", **fields}
    )


@pytest.fixture
def intend(db):
    return lambda file, **options: db.write(
        lambda tx: written_files.intend(tx, file, item_id=1, now=NOW, **options)
    )


@pytest.fixture
def confirm(db):
    return lambda file: db.write(lambda tx: written_files.confirm(tx, file, item_id=1, now=NOW))


@pytest.fixture
def ours(db):
    def ours(path=PATH):
        with db.read() as tx:
            return {
                name for name in (OLD, NEW, LATER, FOREIGN) if written_files.owns(tx, path, name)
            }

    return ours


def test_a_path_never_written_is_nobodys(ours):
    assert ours() == set()


def test_while_a_write_is_intended_the_old_and_the_new_content_are_ours(intend, confirm, ours):
    confirm(a_file(OLD))
    assert ours() == {OLD}
    intend(a_file(NEW))
    assert ours() == {OLD, NEW}
    confirm(a_file(NEW))
    assert ours() == {NEW}


def test_a_first_write_claims_nothing_but_itself(intend, ours):
    intend(a_file(NEW))
    assert ours() == {NEW}


def test_intending_the_same_again_changes_nothing(intend, confirm, ours):
    confirm(a_file(OLD))
    intend(a_file(NEW))
    intend(a_file(NEW))
    assert ours() == {OLD, NEW}
    confirm(a_file(NEW))
    intend(a_file(NEW))
    assert ours() == {NEW}


@pytest.mark.parametrize(("on_disk", "known"), [(OLD, {OLD, LATER}), (NEW, {NEW, LATER})])
def test_after_a_write_nobody_confirmed_what_was_seen_on_disk_stays_ours(
    intend, confirm, ours, on_disk, known
):
    confirm(a_file(OLD))
    intend(a_file(NEW))
    intend(a_file(LATER), on_disk=on_disk)
    assert ours() == known


def test_what_a_user_wrote_never_becomes_ours(intend, confirm, ours):
    confirm(a_file(OLD))
    intend(a_file(NEW), on_disk=FOREIGN)
    assert FOREIGN not in ours()


def test_a_removed_file_is_forgotten(db, confirm, ours):
    confirm(a_file(NEW))
    db.write(lambda tx: written_files.forget_all(tx, [PATH]))
    assert ours() == set()


def test_size_and_time_are_remembered_once_confirmed(db, intend, confirm):
    intend(a_file())
    with db.read() as tx:
        assert written_files.recorded(tx, PATH) is None
    confirm(a_file(size=7, mtime_ns=9, library_id=4))
    with db.read() as tx:
        assert written_files.recorded(tx, PATH) == a_file(size=7, mtime_ns=9, library_id=4)


def test_a_moved_file_is_recognised_by_its_content_and_followed(db, confirm, ours):
    confirm(a_file(NEW))
    new = Path("/music/y.lrc")
    confirm(replace(a_file(OLD), path=new))
    with db.read() as tx:
        assert [file.path for file in written_files.with_hash(tx, NEW)] == [PATH]
    db.write(lambda tx: written_files.move(tx, PATH, new, now=NOW))
    assert (ours(), ours(new)) == (set(), {NEW})


def test_names_that_are_no_text_are_found_again(db, confirm):
    path = Path(b"/music/caf\xe9.lrc".decode("utf-8", "surrogateescape"))
    confirm(replace(a_file(), path=path))
    with db.read() as tx:
        assert written_files.with_hash(tx, NEW)[0].path == path
        assert written_files.owns(tx, path, NEW)
