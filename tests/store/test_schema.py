"""The schema is the contract: names, rules and the indexes that hot questions use."""

import pytest

NOW = "2026-01-31T14:05:06.123Z"

INDEXES = {
    "work_items": "ux_items_key ix_items_ready ix_items_due ix_items_wait ix_items_lease "
    "ix_items_status ix_items_list ix_items_done ix_items_instr ix_items_miss",
    "work_targets": "ix_targets_item ix_targets_source ix_targets_lib",
    "scan_results": "ix_scan_gate ix_scan_keys ix_scan_altkeys ix_scan_list ix_scan_wanted "
    "ix_scan_mbid ix_scan_isrc ix_scan_missing ix_scan_target",
    "scan_dirs": "ix_dirs_parent",
    "scan_runs": "ix_runs_library",
    "lane_attempts": "ix_attempts_lane",
    "written_files": "ix_written_sha",
    "history": "ix_history_at ix_history_item",
    "audit_log": "ix_audit_at",
    "sessions": "ix_sessions_exp",
}
OWN_MOMENT = {"schema_migrations", "lane_attempts", "history", "audit_log", "scan_runs"}


def test_every_index_of_the_contract_is_there(db):
    with db.read() as tx:
        rows = tx.all(
            "SELECT tbl_name, name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL"
        )
    found = {}
    for row in rows:
        found.setdefault(row["tbl_name"], set()).add(row["name"])
    assert found == {table: set(names.split()) for table, names in INDEXES.items()}


def test_every_table_is_strict_and_knows_when_its_rows_were_made(db):
    with db.read() as tx:
        tables = tx.all("PRAGMA table_list")
        ours = [row for row in tables if not row["name"].startswith("sqlite_")]
        assert len(ours) == 23
        assert all(row["strict"] for row in ours)
        for table in {row["name"] for row in ours} - OWN_MOMENT:
            columns = {row["name"]: row for row in tx.all(f"PRAGMA table_info({table})")}
            assert columns["created_at"]["notnull"], table
            assert columns["updated_at"]["notnull"], table


@pytest.mark.parametrize(
    ("sql", "index"),
    [
        (
            """
            UPDATE work_items SET claimed_from = status, status = 'processing', ready_key = NULL
             WHERE id = (SELECT id FROM work_items WHERE route = 1 AND ready_key IS NOT NULL
                          ORDER BY ready_key, id LIMIT 1)
            """,
            "ix_items_ready",
        ),
        (
            """
            SELECT id FROM work_items
             WHERE ready_key IS NULL AND status IN ('pending', 'failed', 'deferred')
               AND due_at <= 'x' ORDER BY due_at, id LIMIT 500
            """,
            "ix_items_wait",
        ),
        (
            "SELECT id FROM work_items WHERE status = 'processing' AND lease_until_at < 'x'",
            "ix_items_lease",
        ),
        (
            """
            SELECT id, artist FROM work_items WHERE status = 'done' AND completed_at IS NOT NULL
             ORDER BY completed_at DESC, id DESC LIMIT 20
            """,
            "ix_items_done",
        ),
        (
            """
            SELECT name, mtime_ns, size, inode, sidecar, enriched, reader_version, status
              FROM scan_results WHERE dir_id = 1 ORDER BY name
            """,
            "COVERING INDEX ix_scan_gate",
        ),
        ("SELECT min(due_at) FROM work_items WHERE ready_key IS NOT NULL", "ix_items_due"),
        (
            "SELECT status, reason, count(*) FROM work_items GROUP BY status, reason",
            "ix_items_status",
        ),
        ("SELECT id FROM work_items WHERE detector_verdict = 1", "ix_items_instr"),
        (
            """
            SELECT id FROM work_items
             WHERE status = 'done' AND outcome IN ('miss', 'rejected') AND id > 0
             ORDER BY id LIMIT 1000
            """,
            "ix_items_miss",
        ),
        (
            "SELECT id FROM work_items WHERE artist_key = 'a' AND title_key = 't'",
            "ux_items_key",
        ),
        ("SELECT id FROM scan_results WHERE mbid = 'm' AND mbid <> ''", "ix_scan_mbid"),
        ("SELECT id FROM scan_results WHERE target_id = 1", "ix_scan_target"),
        (
            """
            SELECT id FROM scan_results
             WHERE missing_since_at IS NULL AND sidecar_class = 'txt' AND ours = 1 ORDER BY id
            """,
            "ix_scan_wanted",
        ),
        ("SELECT lane, sum(hit), count(*) FROM lane_attempts GROUP BY lane", "ix_attempts_lane"),
    ],
)
def test_hot_questions_use_the_named_index_and_sort_nothing(db, sql, index):
    plan = db.write(lambda tx: [row["detail"] for row in tx.all("EXPLAIN QUERY PLAN " + sql)])

    assert any(index in line for line in plan), plan
    assert not any("TEMP B-TREE" in line for line in plan), plan


def insert_item(**columns):
    columns = {"artist_key": "a", "title_key": "t"} | columns
    return lambda tx: tx.run(
        f"INSERT INTO work_items ({', '.join(columns)}, created_at, updated_at) "
        f"VALUES ({', '.join(f':{name}' for name in columns)}, '{NOW}', '{NOW}')",
        **columns,
    )


@pytest.mark.seed("S-051")
@pytest.mark.parametrize(
    "columns",
    [
        {"status": "waiting"},
        {"status": "done"},
        {"title_key": ""},
        {"artist_key": ""},
        {"status": "processing", "ready_key": 1},
        {"detect_origin": "somewhere"},
        {"outcome": "found"},
        {"rerun": 2},
        {"priority": "high"},
        {"detector_verdict": 3},
    ],
)
def test_a_row_that_breaks_a_rule_is_refused(db, columns):
    with pytest.raises(Exception, match=r"constraint|cannot store"):
        db.write(insert_item(**columns))


def test_one_recording_is_one_item(db):
    db.write(insert_item())
    db.write(insert_item(duration_bucket=36))

    with pytest.raises(Exception, match="UNIQUE"):
        db.write(insert_item())


@pytest.mark.seed("S-059")
def test_lane_attempts_are_unique_by_item_and_lane_and_outlive_the_item(db):
    db.write(insert_item())

    def attempt(tx):
        tx.run(
            "INSERT INTO lane_attempts (queue_id, lane, attempted_at) VALUES (1, 'lrclib', :now)",
            now=NOW,
        )

    db.write(attempt)
    with pytest.raises(Exception, match="UNIQUE"):
        db.write(attempt)
    db.write(lambda tx: tx.run("DELETE FROM work_items"))
    with db.read() as tx:
        assert tx.value("SELECT count(*) FROM lane_attempts") == 1


def test_removing_a_library_takes_its_inventory_and_leaves_the_queue(db):
    def fill(tx):
        moments = {"now": NOW}
        tx.run(
            """
            INSERT INTO libraries (name, name_key, path, path_hash, created_at, updated_at)
            VALUES ('a', 'a', '/a', 'h', :now, :now)
            """,
            **moments,
        )
        tx.run(
            """
            INSERT INTO scan_dirs (library_id, parent_id, path_hash, created_at, updated_at)
            VALUES (1, NULL, 'r', :now, :now), (1, 1, 's', :now, :now)
            """,
            **moments,
        )
        insert_item()(tx)
        tx.run(
            """
            INSERT INTO work_targets (item_id, library_id, origin, out_dir, out_stem, out_hash,
                                      created_at, updated_at)
            VALUES (1, 1, 'inventory', '/a', 'x', 'h', :now, :now)
            """,
            **moments,
        )
        tx.run(
            """
            INSERT INTO scan_results (library_id, dir_id, name, target_id, created_at, updated_at)
            VALUES (1, 2, 'x.flac', 1, :now, :now)
            """,
            **moments,
        )

    db.write(fill)
    db.write(lambda tx: tx.run("DELETE FROM libraries"))

    with db.read() as tx:
        for table, n in {"scan_dirs": 0, "scan_results": 0, "work_items": 1}.items():
            assert tx.value(f"SELECT count(*) FROM {table}") == n
        assert tx.all("SELECT library_id FROM work_targets") == [{"library_id": None}]


def test_the_counts_pages_read_start_at_zero(db):
    with db.read() as tx:
        rows = tx.all("SELECT name, n FROM counts ORDER BY name")

    assert {row["n"] for row in rows} == {0}
    assert [row["name"] for row in rows] == [
        "instrumental",
        "ready.deferred",
        "ready.failed",
        "ready.pending",
        "status.deferred",
        "status.done",
        "status.failed",
        "status.pending",
        "status.processing",
        "wanted_missing",
        "wanted_unsynced",
    ]
