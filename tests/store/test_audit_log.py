"""The rows of the audit."""

from datetime import timedelta

import pytest

from lyrsvc.store import audit_log
from lyrsvc.store.audit_log import AuditRow
from query_plans import plans_of


@pytest.fixture
def add(db, clock):
    def store(event: str, **fields) -> None:
        row = AuditRow(at=clock.now(), event=event, **fields)
        db.write(lambda tx: audit_log.add(tx, row))
        clock.advance(1)

    return store


def events(db, **options) -> list[str]:
    with db.read() as tx:
        return [row.event for row in audit_log.list_rows(tx, **options)]


def test_a_row_comes_back_as_it_was_stored(db, clock):
    row = AuditRow(
        at=clock.now(),
        event="key.created",
        outcome="ok",
        actor="cli:ada",
        client="192.0.2.7",
        request_id="0123456789abcdef",
        data={"name": 'tö"st', "scopes": ["webhook"], "n": 5},
    )
    db.write(lambda tx: audit_log.add(tx, row))
    with db.read() as tx:
        (stored,) = audit_log.list_rows(tx)
    assert stored.id == 1
    assert {f: getattr(stored, f) for f in AuditRow.__slots__ if f != "id"} == {
        f: getattr(row, f) for f in AuditRow.__slots__ if f != "id"
    }


def test_rows_come_newest_first_by_pages(db, add, clock):
    for number in range(5):
        add(f"event.{number}")
    clock.moment -= timedelta(hours=1)
    add("event.older")
    newest_first = ["event.4", "event.3", "event.2", "event.1", "event.0", "event.older"]
    assert events(db) == newest_first
    assert events(db, limit=2) == newest_first[:2]
    assert events(db, limit=2, offset=4) == newest_first[4:]
    assert events(db, limit=2, offset=6) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("LOGIN", ["auth.login.failed"]),
        ("192.0.2.7", ["auth.login.failed"]),
        ("lidarr", ["key.created"]),
        ("käse", ["key.created"]),
        ("0123", ["key.created"]),
        ("100%", ["key.created"]),
        ("_", []),
        ("%", ["key.created"]),
        ("\\", []),
        ("nothing like it", []),
        ("", ["key.created", "auth.login.failed"]),
        ("x" * 100_000, []),
    ],
)
def test_a_text_is_found_anywhere_and_its_signs_mean_themselves(db, add, text, found):
    add("auth.login.failed", client="192.0.2.7", data={"user": "ada"})
    add("key.created", request_id="0123", data={"name": "Lidarr Käse 100%"})
    assert events(db, text=text) == found


def test_what_is_no_text_is_stored_all_the_same(db, add):
    add("auth.login.failed", actor="user:\udc80\0x", data={"user": "a\udc80b"})
    with db.read() as tx:
        (row,) = audit_log.list_rows(tx)
    assert (row.actor, row.data) == ("user:\ufffdx", {"user": "a\ufffdb"})


def test_the_newest_rows_are_read_from_the_index(db):
    (plan,) = plans_of(db, lambda tx: audit_log.list_rows(tx, limit=5))
    assert plan == ["SCAN audit_log USING INDEX ix_audit_at"]
