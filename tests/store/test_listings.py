"""Rows for ``queue list`` and ``scan results``."""

import os

import pytest

from lyrsvc.core.ptext import to_ptext
from lyrsvc.store.queue_listing import STATUSES, list_items, targets_of
from lyrsvc.store.scan_listing import STORED_STATUSES, list_results

NOW = "2026-01-31T14:05:06.123Z"


def insert(db, table, **columns):
    names = ", ".join(columns)
    values = ", ".join(f":{name}" for name in columns)
    return db.write(
        lambda tx: tx.value(
            f"INSERT INTO {table} ({names}, created_at, updated_at) "
            f"VALUES ({values}, '{NOW}', '{NOW}') RETURNING id",
            **columns,
        )
    )


def an_item(db, title, **columns):
    if columns.get("status") == "done":
        columns.setdefault("completed_at", NOW)
    return insert(
        db, "work_items", artist="A", title=title, artist_key="a", title_key=title, **columns
    )


def a_target(db, item_id, stem, **columns):
    columns = {"origin": "inventory", "out_dir": "/music", "out_hash": f"/music/{stem}"} | columns
    return insert(db, "work_targets", item_id=item_id, out_stem=stem, **columns)


@pytest.fixture
def inventory(db):
    """Two libraries with a folder each; gives a function that adds a scan result."""
    for name in ("rock", "jazz"):
        insert(db, "libraries", name=name, name_key=name, path=f"/music/{name}", path_hash=name)
    insert(db, "scan_dirs", library_id=1, path_hash="root")
    insert(db, "scan_dirs", library_id=2, rel_path=to_ptext(b"caf\xe9/cd 1"), path_hash="deep")

    def add(library, name, **columns):
        stem = name.rpartition(".")[0]
        return insert(
            db,
            "scan_results",
            library_id=library,
            dir_id=library,
            name=name,
            out_stem=stem,
            **columns,
        )

    return add


def items(db, **options):
    with db.read() as tx:
        return list(list_items(tx, **options))


def results(db, **options):
    with db.read() as tx:
        return list(list_results(tx, **options))


def ids(rows):
    return [row["id"] for row in rows]


def test_items_come_by_priority_then_id_across_all_statuses(db):
    for number, (priority, status) in enumerate(
        [(0, "pending"), (10, "done"), (-100, "deferred"), (10, "pending"), (0, "failed")]
    ):
        an_item(db, f"t{number}", priority=priority, status=status)

    assert ids(items(db)) == [2, 4, 1, 5, 3]
    assert ids(items(db, limit=3)) == [2, 4, 1]
    assert ids(items(db, limit=99)) == [2, 4, 1, 5, 3]


@pytest.mark.seed("S-052")
def test_a_status_gives_exactly_its_items(db):
    for number, status in enumerate(STATUSES * 2):
        an_item(db, f"t{number}", status=status)

    for number, status in enumerate(STATUSES):
        assert ids(items(db, status=status)) == [number + 1, number + 6]
        assert ids(items(db, status=status, limit=1)) == [number + 1]
    assert items(db, status="bogus") == []


@pytest.mark.seed("S-050", "S-058")
def test_an_item_has_the_shape_of_the_json_api(db):
    item_id = an_item(
        db,
        "Tidewater",
        album="Northern Pier",
        status="done",
        priority=10,
        completed_at="2025-10-04T06:11:02.000Z",
        lane="lrclib",
        outcome="instrumental",
        duration_bucket=41,
        provider_set_version=1387,
        detect_instrumental=0,
        detect_origin="global",
    )
    a_target(db, item_id, "a", status="done", kind="marker", source_path="/music/a.flac")
    a_target(db, item_id, "b", origin="path")

    assert items(db, with_targets=True) == [
        {
            "id": 1,
            "artist": "A",
            "title": "Tidewater",
            "album": "Northern Pier",
            "status": "done",
            "priority": 10,
            "reason": None,
            "detail": None,
            "attempts": 0,
            "misses": 0,
            "due_at": None,
            "created_at": NOW,
            "completed_at": "2025-10-04T06:11:02.000Z",
            "lane": "lrclib",
            "result": "unsynced-or-instrumental",
            "outcome": "instrumental",
            "duration_bucket": 41,
            "provider_set_version": 1387,
            "detect_instrumental": {"value": False, "origin": "global"},
            "targets": [
                {
                    "id": 1,
                    "library": None,
                    "source_path": "/music/a.flac",
                    "destination": "/music/a.txt",
                    "done": True,
                    "from": "inventory",
                },
                {
                    "id": 2,
                    "library": None,
                    "source_path": "",
                    "destination": "/music/b.lrc",
                    "done": False,
                    "from": "path",
                },
            ],
        }
    ]


@pytest.mark.parametrize(
    ("outcome", "result"),
    [
        ("", None),
        ("synced", "synced"),
        ("unsynced", "unsynced-or-instrumental"),
        ("instrumental", "unsynced-or-instrumental"),
        ("miss", "miss"),
        ("rejected", "miss"),
    ],
)
def test_each_outcome_has_its_result_class(db, outcome, result):
    an_item(db, "t", outcome=outcome)

    assert items(db)[0]["result"] == result


def test_target_paths_of_any_bytes_come_back(db):
    item_id = an_item(db, "t")
    a_target(db, item_id, to_ptext(b"\xff"), source_path=to_ptext(b"/music/\xff.mp3"))

    with db.read() as tx:
        target = targets_of(tx, item_id)[0]
    assert os.fsencode(target["source_path"]) == b"/music/\xff.mp3"
    assert os.fsencode(target["destination"]) == b"/music/\xff.lrc"


def test_listings_stream(db):
    def fill(tx):
        tx.many(
            """
            INSERT INTO work_items (artist_key, title_key, status, created_at, updated_at)
            VALUES ('a', :key, :status, 'x', 'x')
            """,
            (
                {"key": str(number), "status": "pending" if number % 2 else "failed"}
                for number in range(20_000)
            ),
        )

    db.write(fill)
    with db.read() as tx:
        rows = list_items(tx)
        assert [next(rows)["id"], next(rows)["id"]] == [1, 2]
        assert sum(1 for _ in rows) == 19_998


@pytest.mark.parametrize("status", STATUSES)
def test_the_first_items_of_many_come_from_the_index_without_sorting(db, status):
    with db.read() as tx:
        plan = [
            row["detail"]
            for row in tx.all(
                """
                EXPLAIN QUERY PLAN
                SELECT * FROM work_items WHERE status = :status ORDER BY priority DESC, id LIMIT 50
                """,
                status=status,
            )
        ]
    assert plan == ["SEARCH work_items USING INDEX ix_items_list (status=?)"]


@pytest.mark.seed("S-064")
def test_a_scan_result_has_the_shape_of_the_json_api(db, inventory):
    item_id = an_item(db, "t")
    target_id = a_target(db, item_id, "x", status="done")
    inventory(
        2,
        "Blå.flac",
        artist="A",
        title="T",
        album="B",
        isrc="I",
        mbid="M",
        duration_ms=61_500,
        sidecar_class="txt",
        ours=1,
        status="done",
        target_id=target_id,
    )

    row = results(db)[0]

    folder = os.fsdecode(b"/music/jazz/caf\xe9/cd 1")
    assert row == {
        "id": 1,
        "library": 2,
        "library_name": "jazz",
        "source_path": f"{folder}/Blå.flac",
        "destination": f"{folder}/Blå.txt",
        "artist": "A",
        "title": "T",
        "album": "B",
        "status": "done",
        "isrc": "I",
        "mbid": "M",
        "duration_s": 61.5,
        "sidecar": "txt",
        "ours": True,
        "item_id": item_id,
        "reason": None,
    }


def test_a_file_in_the_root_without_sidecar_hopes_for_an_lrc(db, inventory):
    inventory(1, "U.S.A..flac")

    row = results(db)[0]

    assert row["source_path"] == "/music/rock/U.S.A..flac"
    assert row["destination"] == "/music/rock/U.S.A..lrc"
    assert (row["sidecar"], row["duration_s"], row["item_id"]) == (None, None, None)


@pytest.mark.seed("S-066")
def test_results_are_chosen_by_library_and_status_and_come_by_id(db, inventory):
    for number in range(12):
        inventory(
            1 + number % 2, f"{number}.flac", status=("pending", "done", "failed")[number % 3]
        )

    assert ids(results(db)) == list(range(1, 13))
    assert ids(results(db, limit=2)) == [1, 2]
    assert ids(results(db, library_id=2)) == [2, 4, 6, 8, 10, 12]
    assert ids(results(db, library_id=2, limit=2)) == [2, 4]
    assert ids(results(db, status="pending")) == [1, 4, 7, 10]
    assert ids(results(db, status="pending", limit=3)) == [1, 4, 7]
    assert ids(results(db, library_id=1, status="pending")) == [1, 7]
    assert ids(results(db, library_id=9)) == []


def test_a_row_shows_processing_while_its_item_is_claimed(db, inventory):
    claimed = an_item(db, "claimed", status="processing")
    waiting = an_item(db, "waiting")
    for number, (item_id, status) in enumerate(
        [
            (claimed, "pending"),
            (claimed, "done"),
            (claimed, "failed"),
            (waiting, "pending"),
        ]
    ):
        target_id = a_target(db, item_id, str(number))
        inventory(1 + number % 2, f"{number}.flac", status=status, target_id=target_id)

    assert [row["status"] for row in results(db)] == ["processing", "done", "processing", "pending"]
    assert ids(results(db, status="processing")) == [1, 3]
    assert ids(results(db, status="processing", library_id=2)) == []
    assert ids(results(db, status="processing", limit=1)) == [1]
    assert ids(results(db, status="pending")) == [4]
    assert ids(results(db, status="failed")) == []
    assert ids(results(db, status="done", library_id=2)) == [2]


def test_every_status_may_be_asked_for_without_libraries(db):
    assert [results(db, status=status) for status in (*STORED_STATUSES, "processing")] == [[]] * 6
