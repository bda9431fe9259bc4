"""Disks that cannot bring a directory's entries to safety, as network disks are."""

import errno
import os
import stat

import pytest

from lyrsvc.core.errors import StorageFailed
from lyrsvc.store.database import Database


@pytest.fixture
def answer(monkeypatch):
    """Let the disk answer so to the sync of a directory."""
    real = os.fsync

    def refuse_with(number):
        def fsync(handle):
            if stat.S_ISDIR(os.fstat(handle).st_mode):
                raise OSError(number, os.strerror(number))
            real(handle)

        monkeypatch.setattr(os, "fsync", fsync)

    return refuse_with


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP])
def test_a_database_is_made_where_directories_cannot_be_synced(answer, path, clock, number):
    answer(number)
    with Database.open(path, create=True, clock=clock) as db, db.read() as tx:
        assert tx.value("SELECT count(*) FROM work_items") == 0


def test_a_disk_that_fails_is_told_in_one_sentence(answer, path, clock):
    answer(errno.EIO)
    with pytest.raises(StorageFailed, match="cannot create the database"):
        Database.open(path, create=True, clock=clock)
