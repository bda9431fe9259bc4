"""Metrics, status, health, lanes, tasks and logs over HTTP."""

import logging
import os
import subprocess

import pytest
from prometheus_client.parser import text_string_to_metric_families

from served import wait_until
from web_runs import LRCLIB_FIRST, serving_run

KNOWN = "Lanterns on the Weir"
"""A song the stand-in has; its length is 38 s."""
UNKNOWN = "Song That Nobody Has"


@pytest.fixture
def run(tmp_path):
    with serving_run(tmp_path) as run:
        yield run


@pytest.fixture
def admin(run):
    return run.visitor(scope="admin")


def scraped(visitor):
    answer = visitor.get("/metrics")
    assert answer.status == 200
    assert answer.header("content-type") == "text/plain; version=0.0.4; charset=utf-8"
    assert answer.text.endswith("\n")
    return {
        family.name: {
            next(iter(sample.labels.values()), ""): sample.value for sample in family.samples
        }
        for family in text_string_to_metric_families(answer.text)
    }


@pytest.mark.seed("S-073")
@pytest.mark.spec("H-25")
def test_a_fresh_database_shows_all_statuses_and_lanes_at_zero(run):
    found = scraped(run.visitor())

    assert found["lyrsvcgo_queue_items"] == dict.fromkeys(
        ("pending", "processing", "done", "failed", "deferred"), 0
    )
    lanes = {"lrclib": 0, "defaultprov": 0}
    assert found["lyrsvcgo_provider_hits"] == found["lyrsvcgo_provider_misses"] == lanes
    assert found["lyrsvcgo_lane_closed"] == lanes
    assert found["lyrsvcgo_queue_failures"] == {}
    assert found["lyrsvcgo_instrumental_tracks"] == {"": 0}
    assert list(found["lyrsvcgo_build_info"].values()) == [1]
    assert found["lyrsvcgo_queue_oldest_due_timestamp_seconds"] == {"": 0}


@pytest.mark.spec("H-25")
@pytest.mark.parametrize("accept", ["application/openmetrics-text; version=1.0.0", "text/html", ""])
def test_the_content_type_is_the_same_whatever_is_asked_for(run, accept):
    answer = run.visitor(headers={"accept": accept, "accept-encoding": "gzip"}).get("/metrics")

    assert answer.header("content-type") == "text/plain; version=0.0.4; charset=utf-8"
    assert answer.header("content-encoding") is None
    assert answer.header("cache-control") == "no-store"


@pytest.mark.needs_tool("promtool")
def test_the_linter_takes_a_real_scrape(run):
    run.enqueue(UNKNOWN)
    run.work()
    text = run.visitor().get("/metrics").text

    checked = subprocess.run(
        ["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False
    )

    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.spec("H-27")
def test_hits_stand_under_the_lanes_own_name_and_never_fall(run, admin):
    run.enqueue(KNOWN, 38.0)
    run.enqueue(UNKNOWN)
    run.work()
    found = scraped(run.visitor())
    assert found["lyrsvcgo_provider_hits"]["lrclib"] == 1
    assert found["lyrsvcgo_provider_misses"]["lrclib"] == 1
    assert found["lyrsvcgo_queue_items"]["done"] == 1

    assert admin.post("/api/v1/queue/clear", {"status": "done", "confirm": True}).status == 200

    after = scraped(run.visitor())
    assert after["lyrsvcgo_queue_items"]["done"] == 0
    assert after["lyrsvcgo_provider_hits"] == found["lyrsvcgo_provider_hits"]


@pytest.mark.spec("H-26")
def test_a_failure_shows_its_code_and_never_a_path(run):
    run.enqueue(UNKNOWN)
    run.db.write(
        lambda tx: tx.run(
            "UPDATE work_items SET status = 'failed', ready_key = NULL, reason = 'odd',"
            " reason_text = '/data/music/secret.flac is gone'"
        )
    )
    run.service.upkeep.check_counts()

    answer = run.visitor().get("/metrics")

    assert 'lyrsvcgo_queue_failures{reason="unknown"} 1' in answer.text
    assert "secret" not in answer.text
    assert str(run.house.place) not in answer.text


@pytest.mark.seed("S-073")
@pytest.mark.spec("H-28")
def test_strangers_need_an_admin_key_to_scrape(run):
    stranger = {"peer": "203.0.113.7", "host": "203.0.113.1"}
    forged = {"x-forwarded-for": "127.0.0.1"}

    assert run.visitor(**stranger).get("/metrics").status == 403
    assert run.visitor(**stranger).get("/metrics", headers=forged).status == 403
    assert run.visitor(scope="webhook", **stranger).get("/metrics").status == 403
    assert run.visitor(scope="admin", **stranger).get("/metrics").status == 200
    wrong = {"authorization": "Bearer lyrsvc_" + "0" * 64}
    assert run.visitor(**stranger).get("/metrics", headers=wrong).status == 401
    assert run.visitor().get("/metrics", headers=wrong).status == 200


def test_a_database_that_cannot_be_read_gives_no_partial_answer(run):
    visitor = run.visitor()
    run.db.write(lambda tx: tx.run("ALTER TABLE lane_counters RENAME TO gone"))

    answer = visitor.get("/metrics")

    assert answer.status == 503
    assert answer.json["error"] == "unavailable"
    assert "lyrsvcgo" not in answer.text


@pytest.mark.spec("H-24")
def test_the_status_has_exactly_two_members(run, admin):
    assert admin.get("/api/v1/status").body == b'{"queue":{},"status":"ok"}\n'
    run.enqueue(UNKNOWN)
    assert admin.get("/api/v1/status").json == {"queue": {"pending": 1}, "status": "ok"}
    assert run.visitor().get("/api/v1/status").status == 401


def test_the_system_shows_versions_places_and_room(run, admin):
    admin.post("/api/v1/libraries", {"path": str(run.house.music)})

    status = admin.get("/api/v1/system/status").json

    assert set(status) == {
        "version", "python", "sqlite", "started_at", "uptime_s", "timezone",
        "database_size_bytes", "library_count", "restart_pending", "free_bytes",
    }  # fmt: skip
    assert status["sqlite"].startswith("3.")
    assert status["started_at"].endswith("Z")
    assert status["database_size_bytes"] > 10_000
    assert (status["library_count"], status["restart_pending"]) == (1, [])
    assert status["free_bytes"]["database"] > 0
    assert status["free_bytes"]["libraries"]["1"] > 0
    assert status["timezone"] == "UTC"


def test_health_names_code_level_detail_and_remedy(run, admin, tmp_path):
    (tmp_path / "gone").mkdir()
    admin.post("/api/v1/libraries", {"path": str(tmp_path / "gone")})
    (tmp_path / "gone").rmdir()
    run.service.library_board._probes._probes.clear()
    run.service.marks.add("proxy_not_declared")
    run.service.health.forget()

    listed = admin.get("/api/v1/system/health").json

    by_code = {entry["code"]: entry for entry in listed["items"]}
    assert by_code["library_missing"]["level"] == "error"
    assert by_code["proxy_not_declared"]["level"] == "warning"
    assert all(set(entry) == {"code", "level", "detail", "remedy"} for entry in listed["items"])
    badges = admin.get("/api/v1/badges").json
    assert badges["health_errors"] == sum(e["level"] == "error" for e in listed["items"])


def test_lanes_are_listed_tried_out_and_reset(run, admin):
    listed = admin.get("/api/v1/providers").json
    assert [(lane["name"], lane["role"], lane["position"]) for lane in listed["items"]] == [
        ("lrclib", "primary", 0),
        ("defaultprov", "fallback", 1),
    ]
    assert set(listed["items"][0]) == {
        "name", "role", "position", "state", "closed_until_at", "reason", "next_slot_at", "hits",
        "misses", "hit_rate", "last_hit_at", "remedy",
    }  # fmt: skip
    assert listed["items"][1]["state"] == "not_configured"
    before = run.visitor().get("/metrics").text

    trial = admin.post("/api/v1/providers/lrclib/test")
    assert (trial.status, set(trial.json)) == (200, {"ok", "detail", "ms"})
    assert trial.json["ok"] is True
    assert run.visitor().get("/metrics").text == before
    assert admin.post("/api/v1/providers/defaultprov/test").json["ok"] is False

    run.stand_in.set_mode("throttled", lane="lrclib")
    assert admin.post("/api/v1/providers/lrclib/test").json["ok"] is False
    lane = admin.get("/api/v1/providers").json["items"][0]
    assert (lane["state"], lane["reason"]) == ("closed", "throttled")
    assert lane["closed_until_at"].endswith("Z")
    assert scraped(run.visitor())["lyrsvcgo_lane_closed"]["lrclib"] == 1

    reset = admin.post("/api/v1/providers/lrclib/reset").json
    assert reset["state"] == "probing"
    (row,) = run.rows("SELECT * FROM audit_log WHERE event = 'lane.reset'")
    assert "lrclib" in row["data"]
    assert admin.post("/api/v1/providers/nobody/reset").status == 404
    assert admin.post("/api/v1/providers/nobody/test").status == 404
    assert admin.get("/api/v1/providers/lrclib/test").status == 405


def test_tasks_are_listed_and_run(run, admin):
    names = [task["name"] for task in admin.get("/api/v1/tasks").json["items"]]
    assert {"scan", "retention", "sweep"} <= set(names)

    started = admin.post("/api/v1/tasks/retention/run")
    assert started.status == 202
    assert set(started.json) == {
        "name", "schedule", "last_started_at", "last_duration_s", "last_result", "next_at",
        "running",
    }  # fmt: skip

    def task():
        listed = admin.get("/api/v1/tasks").json["items"]
        return next(one for one in listed if one["name"] == "retention")

    wait_until(lambda: not task()["running"], "the task ends")
    assert task()["last_result"] == "ok"
    assert admin.post("/api/v1/tasks/nonsense/run").status == 404


def test_a_task_that_runs_is_refused(run, admin):
    assert run.service.record.begin("sweep")

    answer = admin.post("/api/v1/tasks/sweep/run")

    assert (answer.status, answer.json["error"]) == (409, "already_running")


@pytest.fixture
def logged(run):
    logger = logging.getLogger("lyrsvc.test_system_api")
    logger.addHandler(run.service.log_memory)
    logger.setLevel(logging.DEBUG)
    yield logger
    logger.removeHandler(run.service.log_memory)


def test_the_log_is_shown_newest_first_without_secrets(run, admin, logged):
    logged.info("quiet")
    logged.warning("loud", extra={"apikey": "very-secret-value"})
    logged.error("broken ünder water")

    def texts(query=""):
        return [one["text"] for one in admin.get(f"/api/v1/logs?{query}").json["items"]]

    assert texts()[:3] == ["broken ünder water", "loud apikey=[REDACTED]", "quiet"]
    assert texts("level=warn") == ["broken ünder water", "loud apikey=[REDACTED]"]
    assert texts("limit=1") == ["broken ünder water"]
    assert texts("q=%C3%9CNDER") == ["broken ünder water"]
    assert admin.get("/api/v1/logs?limit=1001").status == 400
    assert admin.get("/api/v1/logs?level=loud").status == 400
    record = admin.get("/api/v1/logs?limit=1").json["items"][0]
    assert (record["level"], record["logger"]) == ("error", "lyrsvc.test_system_api")

    file = admin.get("/api/v1/logs/download")
    assert file.header("content-type") == "text/plain; charset=utf-8"
    assert file.header("content-disposition").startswith('attachment; filename="lyrsvc-log-')
    lines = [line for line in file.text.splitlines() if "test_system_api" in line]
    assert lines[0].endswith("quiet")
    assert "very-secret" not in file.text


def test_audit_events_are_kept_and_shown(run, admin):
    admin.post("/api/v1/libraries", {"path": str(run.house.music)})

    (record,) = admin.get("/api/v1/logs?kind=audit&q=library.added").json["items"]

    assert (record["event"], record["outcome"]) == ("library.added", "ok")
    assert record["actor"].startswith("key:")
    assert record["data"]["path"] == str(run.house.music)
    assert "library.added" in admin.get("/api/v1/logs/download?kind=audit").text
    assert run.visitor().get("/api/v1/logs?kind=audit").status == 401
    assert admin.get("/api/v1/logs?kind=audit&q=auth.key.failed").json["items"] == []


def test_head_is_answered_and_other_methods_are_refused(run, admin):
    for path in ("/metrics", "/api/v1/libraries", "/api/v1/system/status", "/api/v1/settings/raw"):
        assert admin.ask("HEAD", path).status == 200
        refused = admin.ask("PUT", path)
        assert refused.status == 405
        assert "GET" in refused.header("allow")


@pytest.mark.skipif(os.name != "posix", reason="zones by TZ")
def test_the_zone_of_pages_is_the_one_that_tz_names(tmp_path):
    with serving_run(tmp_path, toml=LRCLIB_FIRST, TZ="Europe/Prague") as run:
        status = run.visitor(scope="admin").get("/api/v1/system/status").json

    assert status["timezone"] == "Europe/Prague"
