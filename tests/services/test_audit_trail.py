"""Audit entries become rows, and never get in the way."""

import logging
from pathlib import Path

import pytest

from lyrsvc.core.redaction import Redactor
from lyrsvc.logs.audit import Audit
from lyrsvc.services.audit_trail import AuditTrail
from lyrsvc.store import audit_log
from lyrsvc.store.database import Database
from service_runs import House


@pytest.fixture
def audit(db, clock) -> Audit:
    return Audit(clock=clock, redactor=Redactor(), keep=AuditTrail(db).keep)


def rows(db) -> list[audit_log.AuditRow]:
    with db.read() as tx:
        return audit_log.list_rows(tx)


def test_an_event_is_a_row_when_it_has_been_told(db, audit, clock):
    audit.event("key.created", actor="cli:ada", name="lidarr", scopes=["webhook"])
    (row,) = rows(db)
    assert (row.at, row.event, row.outcome, row.actor) == (
        clock.now(), "key.created", "ok", "cli:ada",
    )  # fmt: skip
    assert row.data == {"name": "lidarr", "scopes": ["webhook"]}


def test_what_strangers_cause_at_will_never_becomes_a_row(db, audit):
    audit.event("auth.key.failed", client="192.0.2.7")
    audit.event("auth.host.rejected", client="192.0.2.7")
    assert rows(db) == []


def test_text_of_clients_is_cut_and_harmless(db, audit):
    audit.event(
        "auth.login.failed",
        client="192.0.2.7\n",
        actor="user:\x1b[2J",
        user="a\nb" + "x" * 300,
        more={"deep": ["\x07"], "number": 5},
    )
    (row,) = rows(db)
    assert (row.client, row.actor) == (r"192.0.2.7\n", r"user:\x1b[2J")
    assert row.data["user"].startswith(r"a\nbxx")
    assert len(row.data["user"]) <= 201
    assert row.data["more"] == {"deep": [r"\x07"], "number": 5}


def test_secrets_are_gone_before_a_row_is_written(db, clock):
    redactor = Redactor()
    redactor.register("hunter2-hunter2")
    audit = Audit(clock=clock, redactor=redactor, keep=AuditTrail(db).keep)
    audit.event("auth.login.failed", user="hunter2-hunter2", password="another")
    (row,) = rows(db)
    assert row.data == {"user": "[REDACTED]", "password": "[REDACTED]"}


def test_a_row_that_cannot_be_written_is_told_and_not_raised(tmp_path, clock, caplog):
    db = Database.open(tmp_path / "x.db", create=True, clock=clock)
    audit = Audit(clock=clock, redactor=Redactor(), keep=AuditTrail(db).keep)
    db.close()
    with caplog.at_level(logging.WARNING):
        audit.event("key.created", name="lidarr")
    assert "the audit row was not kept" in caplog.messages


def test_a_busy_database_is_not_waited_for_long(tmp_path, clock, caplog):
    path = tmp_path / "x.db"
    with (
        Database.open(path, create=True, clock=clock) as db,
        Database.open(path, create=False, clock=clock) as other,
    ):
        trail = AuditTrail(other, wait_s=0.05)
        audit = Audit(clock=clock, redactor=Redactor(), keep=trail.keep)
        # The first database holds the lock for as long as the event takes.
        db.write(lambda _tx: audit.event("key.created", name="lidarr"))
        assert rows(db) == []
    assert "the audit row was not kept" in caplog.messages


@pytest.mark.parametrize("end", ["a minute later", "at the end"])
def test_a_running_service_tells_what_a_flood_suppressed(tmp_path, clock, end):
    house = House(tmp_path, clock, "http://127.0.0.1:9")
    with house.running() as run:
        for number in range(15):
            run.service.audit.event("key.revoked", client="192.0.2.7", name=f"key {number}")
        clock.advance(60)
        if end == "a minute later":
            run.service.flush()
            assert len(revoked(run.db)) == 11
    with Database.open(Path(house.environ["LYRSVC_DB_PATH"]), create=False, clock=clock) as db:
        assert revoked(db) == {*(f"key {number}" for number in range(10)), "key 14"}


def revoked(db) -> set[str]:
    return {row.data["name"] for row in rows(db) if row.event == "key.revoked"}
