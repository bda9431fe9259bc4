"""Libraries and scans over HTTP."""

from pathlib import Path

import pytest

from builders import minimal_flac
from lyrsvc.services.library_lock import library_lock
from lyrsvc.store import libraries
from served import wait_until
from service_runs import ARTIST
from web_runs import serving_run

LIBRARIES = "/api/v1/libraries"


@pytest.fixture
def run(tmp_path):
    with serving_run(tmp_path) as run:
        yield run


@pytest.fixture
def admin(run):
    return run.visitor(scope="admin")


@pytest.fixture
def music(run):
    minimal_flac(run.house.music / "a" / "Kitchen Radio.flac", title="Kitchen Radio", artist=ARTIST)
    minimal_flac(run.house.music / "a" / "Other.flac", title="Other", artist=ARTIST)
    return str(run.house.music)


def scanned(admin, **body):
    started = admin.post("/api/v1/scan", body)
    assert started.status == 202, started.text
    wait_until(
        lambda: admin.get(f"/api/v1/scan/{started.json['id']}").json["state"] != "running",
        "it ends",
    )
    return admin.get(f"/api/v1/scan/{started.json['id']}").json


def audit_of(run, event):
    return run.rows(f"SELECT * FROM audit_log WHERE event = '{event}'")


def test_a_library_is_added_listed_changed_and_forgotten(run, admin, music):
    added = admin.post(LIBRARIES, {"path": music, "enrich": False})
    assert added.status == 201
    library = added.json
    assert library == {
        "created_at": library["created_at"], "detect_instrumental": None, "enrich": False,
        "files": 0, "id": 1, "last_scan": None, "missing": 0, "name": "music", "path": music,
        "reachable": True, "webhook_paths": False, "writable": True,
    }  # fmt: skip

    listed = admin.get(LIBRARIES).json
    assert listed == {"items": [library], "page": 1, "page_size": 50, "total": 1}
    changed = admin.patch(f"{LIBRARIES}/1", {"name": "Tunes", "enrich": None})
    assert (changed.status, changed.json["name"], changed.json["enrich"]) == (200, "Tunes", None)
    assert admin.get(f"{LIBRARIES}/1").json == changed.json

    refused = admin.delete(f"{LIBRARIES}/1", {})
    assert (refused.status, refused.json["error"]) == (409, "confirmation_required")
    gone = admin.delete(f"{LIBRARIES}/1", {"confirm": True})
    assert (gone.status, gone.body) == (204, b"")
    assert admin.get(f"{LIBRARIES}/1").status == 404
    assert Path(music, "a", "Other.flac").exists()
    for event in ("library.added", "library.changed", "library.removed"):
        (row,) = audit_of(run, event)
        assert row["actor"].startswith("key:")


def test_a_bad_library_is_refused_and_no_path_is_told(run, admin, music, tmp_path):
    admin.post(LIBRARIES, {"path": music})
    (tmp_path / "file").touch()
    (tmp_path / "second").mkdir()
    cases = [
        ({"path": str(tmp_path / "gone")}, 400, "invalid_request"),
        ({"path": str(tmp_path / "file")}, 400, "invalid_request"),
        ({"path": "music"}, 400, "invalid_request"),
        ({"path": "/"}, 400, "invalid_request"),
        ({"path": ""}, 400, "invalid_request"),
        ({"path": "/a\0b"}, 400, "invalid_request"),
        ({}, 400, "invalid_request"),
        ({"path": music, "depth": 1}, 400, "invalid_request"),
        ({"path": music, "enrich": "yes"}, 400, "invalid_request"),
        ({"path": f"{music}/"}, 409, "exists"),
        ({"path": f"{tmp_path}/x/../music"}, 409, "exists"),
        ({"path": str(tmp_path / "second"), "name": "MUSIC"}, 409, "exists"),
    ]
    for body, status, code in cases:
        answer = admin.post(LIBRARIES, body)
        assert (answer.status, answer.json["error"]) == (status, code), body
        assert str(tmp_path) not in answer.text
        assert "--" not in answer.text
    assert admin.get(LIBRARIES).json["total"] == 1
    assert admin.patch(f"{LIBRARIES}/1", {"path": str(tmp_path / "gone")}).status == 400
    assert admin.patch(f"{LIBRARIES}/9", {"name": "x"}).status == 404
    assert admin.patch(f"{LIBRARIES}/x", {"name": "x"}).status == 404
    assert admin.delete(f"{LIBRARIES}/9", {"confirm": True}).status == 404


def test_a_nested_library_comes_with_a_note_and_takes_its_files(run, admin, music):
    admin.post(LIBRARIES, {"path": music})
    scanned(admin, library=1)

    inner = admin.post(LIBRARIES, {"path": f"{music}/a"})

    assert inner.status == 201
    assert "lies inside library" in inner.json["note"]
    assert (inner.json["files"], inner.json["missing"]) == (2, 2)
    assert admin.get(f"{LIBRARIES}/1").json["files"] == 0


def test_a_library_without_its_disk_is_shown_as_unreachable(run, admin, tmp_path):
    (tmp_path / "gone").mkdir()
    admin.post(LIBRARIES, {"path": str(tmp_path / "gone")})
    (tmp_path / "gone").rmdir()
    run.service.library_board._probes._probes.clear()

    library = admin.get(f"{LIBRARIES}/1").json

    assert (library["reachable"], library["writable"]) == (False, False)


def test_unknown_parameters_and_pages_beyond_the_end(admin, music):
    admin.post(LIBRARIES, {"path": music})

    assert admin.get(f"{LIBRARIES}?colour=red").json["detail"].startswith("colour")
    assert admin.get(f"{LIBRARIES}?page=0").status == 400
    assert admin.get(f"{LIBRARIES}?page_size=501").status == 400
    beyond = admin.get(f"{LIBRARIES}?page=7&page_size=1").json
    assert (beyond["items"], beyond["total"]) == ([], 1)
    assert admin.get(f"{LIBRARIES}?q=MUS").json["total"] == 1
    assert admin.get(f"{LIBRARIES}?q=nothing").json["total"] == 0


def test_a_scan_is_started_followed_and_remembered(run, admin, music):
    admin.post(LIBRARIES, {"path": music})

    done = scanned(admin, library=1, enrich=None, detect_instrumental=None, update=False)

    assert (done["state"], done["library"], done["started_by"]) == ("done", 1, "user")
    assert (done["seen"], done["new"], done["enqueued"], done["scope"]) == (2, 2, 2, None)
    assert done["ended_at"].endswith("Z")
    scans = admin.get("/api/v1/scan").json
    assert scans["running"] == []
    assert scans["last"] == [done]
    library = admin.get(f"{LIBRARIES}/1").json
    assert (library["files"], library["missing"]) == (2, 2)
    assert library["last_scan"] == done["ended_at"]
    assert len(audit_of(run, "scan.started")) == 1
    assert admin.get("/api/v1/scan/99").status == 404
    assert admin.post(f"/api/v1/scan/{done['id']}/cancel").json["state"] == "done"


def test_all_libraries_and_none(admin, music):
    assert admin.post("/api/v1/scan", {"library": None}).status == 404
    admin.post(LIBRARIES, {"path": music})

    assert scanned(admin)["library"] == 1
    assert admin.post("/api/v1/scan", {"library": 7}).status == 404
    assert admin.post("/api/v1/scan", {"library": "1"}).status == 400
    assert admin.post("/api/v1/scan", {"update": True, "upgrade": True}).status == 400
    assert scanned(admin, library=1, upgrade=True)["mode"] == "upgrade"


def test_while_somebody_works_on_a_library_it_is_left_alone(run, admin, music):
    admin.post(LIBRARIES, {"path": music})
    with run.db.read() as tx:
        library = libraries.get(tx, 1)

    with library_lock(run.db, library, clock=run.service.clock, purpose="scan"):
        answers = [
            admin.post("/api/v1/scan", {"library": 1}),
            admin.post("/api/v1/scan", {}),
            admin.post("/api/v1/scan/clear", {"library": 1, "confirm": True}),
            admin.delete(f"{LIBRARIES}/1", {"confirm": True}),
            admin.patch(f"{LIBRARIES}/1", {"path": f"{music}/a"}),
        ]

    assert [(one.status, one.json["error"]) for one in answers] == [(409, "already_running")] * 5
    assert admin.get(f"{LIBRARIES}/1").json["path"] == music


def test_the_scan_task_scans_every_library(run, admin, music):
    admin.post(LIBRARIES, {"path": music})

    assert admin.post("/api/v1/tasks/scan/run").status == 202

    wait_until(lambda: admin.get("/api/v1/scan").json["last"], "the scan ends")
    assert admin.get("/api/v1/scan").json["last"][0]["started_by"] == "user"


def test_results_are_listed_filtered_and_cleared(run, admin, music):
    admin.post(LIBRARIES, {"path": music})
    scanned(admin, library=1)

    listed = admin.get("/api/v1/scan/results?sort=title&dir=desc").json
    assert [row["title"] for row in listed["items"]] == ["Other", "Kitchen Radio"]
    row = listed["items"][0]
    assert row["source_path"] == f"{music}/a/Other.flac"
    assert row["destination"] == f"{music}/a/Other.lrc"
    assert (row["status"], row["ours"], row["sidecar"]) == ("pending", False, None)

    def titles(query):
        answer = admin.get(f"/api/v1/scan/results?{query}").json
        assert answer["total"] == len(answer["items"])
        return [row["title"] for row in answer["items"]]

    assert titles("q=KITCHEN") == ["Kitchen Radio"]
    assert titles("library=1&status=pending") == ["Kitchen Radio", "Other"]
    assert titles("library=2") == titles("status=done") == titles("status=processing") == []
    assert admin.get("/api/v1/scan/results?status=gone").status == 400
    assert admin.get("/api/v1/scan/results?page=2&page_size=1").json["items"][0]["title"] == "Other"

    would = admin.post("/api/v1/scan/clear", {"library": 1}).json
    assert would == {
        "would_delete": 2, "deleted": 0, "queue_cancelled": 2, "queue_trimmed": 0,
    }  # fmt: skip
    assert admin.get("/api/v1/scan/results").json["total"] == 2
    done = admin.post("/api/v1/scan/clear", {"library": 1, "confirm": True}).json
    assert (done["would_delete"], done["deleted"]) == (2, 2)
    assert admin.get("/api/v1/scan/results").json["total"] == 0
    assert admin.post("/api/v1/scan/clear", {"library": 9, "confirm": True}).status == 404
    assert run.rows("SELECT * FROM work_items") == []


def test_a_claimed_item_shows_its_file_as_processing(run, admin, music):
    admin.post(LIBRARIES, {"path": music})
    scanned(admin, library=1)
    run.db.write(
        lambda tx: tx.run(
            "UPDATE work_items SET status = 'processing', claimed_from = 'pending', ready_key = NULL"
            " WHERE title = 'Other'"
        )
    )

    (claimed,) = admin.get("/api/v1/scan/results?status=processing").json["items"]
    (waiting,) = admin.get("/api/v1/scan/results?status=pending").json["items"]

    assert (claimed["title"], claimed["status"]) == ("Other", "processing")
    assert waiting["title"] == "Kitchen Radio"


def test_nobody_without_an_admin_key_sees_or_changes_anything(run, music):
    for visitor, status in ((run.visitor(), 401), (run.visitor(scope="webhook"), 403)):
        for path in ("libraries", "scan", "scan/results", "providers", "tasks", "logs", "settings",
                     "settings/raw", "system/status", "system/health", "events"):  # fmt: skip
            assert visitor.get(f"/api/v1/{path}").status == status, path
        assert visitor.post(LIBRARIES, {"path": music}).status == status
        assert visitor.post("/api/v1/tasks/scan/run").status == status
    assert run.rows("SELECT * FROM libraries") == []
