from pathlib import Path

import pytest

from fakes import FakeClock
from lyrsvc.store import libraries
from lyrsvc.store.database import Database
from terminals import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture
def database(shell: Shell):
    with Database.open(shell.database, create=True, clock=FakeClock()) as db:
        yield db


@pytest.fixture
def add_library(database: Database):
    def add(name: str, path: str = "") -> int:
        root = Path(path or f"/music/{abs(hash(name))}")
        moment = FakeClock().now()
        return database.write(lambda tx: libraries.add(tx, name=name, path=root, now=moment).id)

    return add


@pytest.fixture
def add_items(database: Database):
    """Fill the queue with plain rows."""

    def add(number: int, **columns: object) -> None:
        rows = (
            {
                "artist": f"Artist {at}",
                "title": f"Title {at}",
                "artist_key": f"artist {at}",
                "title_key": f"title {at}",
                "status": "pending",
                "priority": 0,
                "moment": "2026-01-31T14:05:06.123Z",
                **columns,
            }
            for at in range(number)
        )
        database.write(
            lambda tx: tx.many(
                """
                INSERT INTO work_items (artist, title, album, artist_key, title_key,
                                        duration_bucket, status, priority, due_at,
                                        created_at, updated_at)
                VALUES (:artist, :title, 'Album', :artist_key, :title_key, 0, :status, :priority,
                        :moment, :moment, :moment)
                """,
                rows,
            )
        )

    return add
