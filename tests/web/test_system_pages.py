"""The pages of the system: status, providers, tasks and logs."""

import logging
import re
import threading

import pytest

from builders import minimal_flac
from lyrsvc.core.errors import LyrsvcError
from lyrsvc.store import audit_log, libraries
from lyrsvc.store.audit_log import AuditRow
from lyrsvc.web.log_api import LogRecord
from lyrsvc.web.log_pages import entry_of
from served import wait_until
from web_runs import serving_run

STATUS, PROVIDERS = "/system/status", "/system/providers"
TASKS, LOGS = "/system/tasks", "/system/logs"
PAGES = (STATUS, PROVIDERS, TASKS, LOGS, f"{LOGS}?kind=audit")
CSRF = "lyrsvc-csrf-token"
UI = {"LYRSVC_WEB_UI_ENABLED": "true"}


@pytest.fixture
def run(tmp_path):
    with serving_run(tmp_path, **UI) as run:
        yield run


@pytest.fixture
def someone(run):
    visitor = run.visitor()
    assert visitor.get(STATUS).status == 200
    return visitor


@pytest.fixture
def logged(run):
    """Let the memory of the log hear what the house says."""
    root = logging.getLogger("lyrsvc")
    level = root.level
    root.addHandler(run.service.log_memory)
    root.setLevel(logging.DEBUG)
    yield logging.getLogger("lyrsvc.worker")
    root.removeHandler(run.service.log_memory)
    root.setLevel(level)


def send(visitor, path, action, **fields):
    fields = {"action": action, "csrf_token": visitor.cookies[CSRF], **fields}
    return visitor.submit(path, fields)


def told(visitor, path, answer):
    """Follow the answer to a form; give the sentence it is told with."""
    assert (answer.status, answer.header("location")) == (303, path), answer.text[-2000:]
    page = visitor.get(path).text
    level, text = re.search(r'<div class="message (\w+)">.*?<p>(.*?)</p>', page, re.DOTALL).groups()
    return level, text


def close_lane(run, name="lrclib"):
    run.db.write(
        lambda tx: tx.run(
            """
            INSERT INTO lane_state (lane, state, cause, closed_until_at, created_at, updated_at)
            VALUES (:lane, 'closed', 'throttled', '2099-01-01T00:00:00.000000Z', '', '')
            ON CONFLICT (lane) DO UPDATE
               SET state = 'closed', cause = 'throttled', closed_until_at = excluded.closed_until_at
            """,
            lane=name,
        )
    )


@pytest.mark.parametrize("path", PAGES)
def test_a_page_of_the_system_is_whole_and_never_cached(someone, path):
    page = someone.get(path)
    assert (page.status, page.header("cache-control")) == (200, "no-store")
    assert page.text.count("<h1>") == 1
    assert " style=" not in page.text
    assert someone.ask("HEAD", path).status == 200


def test_the_status_shows_versions_places_and_room(run, someone):
    page = someone.get(STATUS).text
    for what in (
        "Python", "SQLite", "Time zone", "Free", str(run.config), str(run.service.db.location),
    ):  # fmt: skip
        assert what in page
    assert "No, every saved setting is in force" in page


def test_a_house_in_order_is_told_so(run, someone):
    run.service.webhooks.note("Test", "Lidarr")
    run.service.health.forget()
    assert "Everything is as it should be" in someone.get(STATUS).text


def test_what_is_wrong_is_listed_with_what_helps(run, someone, tmp_path):
    now = run.house.clock.now()
    run.db.write(lambda tx: libraries.add(tx, name="<b>", path=tmp_path / "gone", now=now))
    close_lane(run)
    run.service.health.forget()
    page = someone.get(STATUS).text
    assert "library_missing" in page
    assert "Library &#34;&lt;b&gt;&#34;" in page
    assert '<a href="/libraries">See the libraries</a>' in page
    assert "Lane lrclib is closed" in page
    assert "raise providers.lrclib.cooldown_seconds" in page


def test_a_setting_that_waits_for_a_restart_is_named(run, someone):
    run.config.write_text(run.config.read_text() + "[history]\nretention_days = 10\n")
    run.service.health.forget()
    page = someone.get(STATUS).text
    pending = run.service.settings_desk.pending()
    assert pending
    for name in pending:
        assert f"<code>{name}</code>" in page


@pytest.mark.parametrize("damage", ["broken = = 1\n", '[logging]\nlevel = "nope"\n'])
def test_settings_that_the_next_start_would_refuse_are_told_everywhere(run, someone, damage):
    waiting = "[history]\nretention_days = 10\n"
    run.config.write_text(f"{run.config.read_text()}{waiting}{damage}")
    run.service.health.forget()
    page = someone.get(STATUS).text
    assert "settings_invalid" in page
    assert "<strong>The next start would fail.</strong>" in page
    assert "every saved setting is in force" not in page
    for path in (STATUS, "/dashboard"):
        banners = someone.get(path).text.partition('id="banners"')[2].partition('id="message"')[0]
        assert "The next start would fail: " in banners
        assert "after a restart" not in banners


def test_the_last_webhook_and_the_address_for_lidarr_are_shown(run, someone):
    assert "No event was ever received" in someone.get(STATUS).text
    run.service.webhooks.note("Download", "Lidarr <cellar>")
    page = someone.get(STATUS).text
    assert "<strong>Download</strong>" in page
    assert "Lidarr &lt;cellar&gt;" in page
    assert 'value="http://localhost:3876/api/v1/webhooks/lidarr"' in page


def test_moments_in_sentences_are_in_the_operators_zone(tmp_path):
    with serving_run(tmp_path, **UI, TZ="Europe/Prague") as run:
        visitor = run.visitor()
        visitor.get(STATUS)
        close_lane(run)
        run.service.health.forget()
        _, text = told(visitor, PROVIDERS, send(visitor, PROVIDERS, "test", id="lrclib"))
        local = r"is closed until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d CES?T \("
        assert re.search(local, text)
        assert re.search(local, visitor.get(STATUS).text)
        answer = run.visitor(scope="admin").post("/api/v1/providers/lrclib/test", {})
        assert re.search(r"closed until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \(", answer.json["detail"])


def test_a_lane_that_is_not_asked_has_no_pace(someone):
    _, _, card = someone.get(PROVIDERS).text.partition("<h2>defaultprov</h2>")
    assert '<dt>Pace</dt><dd><span class="faint">–</span></dd>' in card
    assert "no pause" not in card


def test_lanes_are_shown_in_their_order_with_state_and_remedy(run, someone):
    page = someone.get(PROVIDERS).text
    assert page.index("<h2>lrclib</h2>") < page.index("<h2>defaultprov</h2>")
    assert "Not configured" in page
    assert "Reset breaker" not in page
    close_lane(run)
    page = someone.get(PROVIDERS).text
    assert "Closed until" in page
    assert "2099-01-01" in page
    assert "Reset breaker" in page


@pytest.mark.spec("H-53")
def test_a_lane_is_tried_out_and_reset_by_forms(run, someone):
    level, text = told(someone, PROVIDERS, send(someone, PROVIDERS, "test", id="lrclib"))
    assert level == "ok"
    assert text.startswith("lrclib: It answers")
    assert run.rows("SELECT * FROM lane_attempts") == []

    close_lane(run)
    level, text = told(someone, PROVIDERS, send(someone, PROVIDERS, "test", id="lrclib"))
    assert (level, "it is closed" in text.lower()) == ("error", True)
    answer = send(someone, PROVIDERS, "reset", id="lrclib")
    assert told(someone, PROVIDERS, answer) == ("ok", "lrclib is asked one careful question next.")
    assert "Probing" in someone.get(PROVIDERS).text
    (row,) = run.rows("SELECT * FROM audit_log WHERE event = 'lane.reset'")
    assert row["actor"] == "trusted-network"


def test_a_lane_without_a_credential_says_what_it_lacks(someone):
    level, text = told(someone, PROVIDERS, send(someone, PROVIDERS, "test", id="defaultprov"))
    assert (level, "PROVIDER_TOKEN" in text) == ("error", True)


def test_a_lane_that_is_open_needs_no_reset(someone):
    answer = send(someone, PROVIDERS, "reset", id="lrclib")
    assert told(someone, PROVIDERS, answer) == ("ok", "lrclib was not closed.")


@pytest.mark.parametrize(
    ("path", "action"), [(PROVIDERS, "test"), (PROVIDERS, "reset"), (TASKS, "run")]
)
@pytest.mark.parametrize("name", ["", "nobody", "<script>alert(1)</script>"])
def test_a_name_nobody_has_is_told(someone, path, action, name):
    level, text = told(someone, path, send(someone, path, action, id=name))
    assert level == "error"
    assert "<script>" not in text


@pytest.mark.parametrize("number", ["", "x", "999", "9" * 40])
def test_a_scan_nobody_runs_cannot_be_called_off(someone, number):
    assert told(someone, TASKS, send(someone, TASKS, "cancel", id=number))[0] == "error"


@pytest.mark.parametrize("path", [PROVIDERS, TASKS])
def test_an_unknown_action_is_refused(someone, path):
    assert send(someone, path, "explode", id="scan").status == 400


@pytest.mark.parametrize("path", [PROVIDERS, TASKS])
@pytest.mark.spec("H-39")
def test_a_form_without_its_token_does_nothing(someone, path):
    assert someone.submit(path, {"action": "run", "id": "scan"}).status == 403


@pytest.mark.spec("H-53")
def test_a_task_is_run_by_a_form_and_how_it_went_is_shown(run, someone):
    page = someone.get(TASKS).text
    for title in ("Scan all libraries", "Forget what is old", "Check the counters"):
        assert title in page
    answer = send(someone, TASKS, "run", id="counts")
    assert told(someone, TASKS, answer) == ("ok", "Started: Check the counters.")
    wait_until(lambda: not any(one.running for one in run.service.tasks.views()), "it ends")
    assert '<span class="pill ok">OK</span>' in someone.get(TASKS).text


def test_a_task_under_way_is_not_started_twice_and_one_that_failed_says_why(run, someone):
    go = threading.Event()

    def work():
        assert go.wait(20)
        raise LyrsvcError("the <disk> is full")

    record = run.service.record
    assert record.begin("sweep")
    page = someone.get(TASKS).text
    assert "Running" in page
    assert " disabled>" in page
    level, text = told(someone, TASKS, send(someone, TASKS, "run", id="sweep"))
    assert (level, text) == ("error", "This task is running already.")
    go.set()
    with pytest.raises(LyrsvcError):
        record.carry_out("sweep", work)
    assert "The &lt;disk&gt; is full" in someone.get(TASKS).text


def test_a_scan_under_way_is_shown_and_called_off(run, someone):
    for number in range(3):
        minimal_flac(run.house.music / f"{number}.flac", title=f"T{number}")
    now = run.house.clock.now()
    library = run.db.write(
        lambda tx: libraries.add(tx, name="Mu & sic", path=run.house.music, now=now)
    )
    begun, go = threading.Event(), threading.Event()

    def watch(_report, _path):
        begun.set()
        go.wait(20)

    scanner = run.service.survey.scanner
    work = threading.Thread(
        target=lambda: scanner.scan(library, started_by="watcher", watch=watch), daemon=True
    )
    work.start()
    assert begun.wait(20)
    try:
        page = someone.get(TASKS).text
        assert "Call off" in page
        assert "by the watcher" in page
        assert 'aria-label="Scan of Mu &amp; sic"' in page
        assert "Call off" in someone.get("/libraries").text
        (row,) = run.rows("SELECT id FROM scan_runs")
        unblock = threading.Timer(0.2, go.set)
        unblock.start()
        level, _ = told(someone, TASKS, send(someone, TASKS, "cancel", id=row["id"]))
        assert level in ("ok", "info")
    finally:
        go.set()
        work.join(20)
    assert run.rows("SELECT state FROM scan_runs") == [{"state": "cancelled"}]
    assert "Called off" in someone.get(TASKS).text
    answer = send(someone, TASKS, "cancel", id=row["id"])
    assert told(someone, TASKS, answer)[1].startswith("The scan was called off")


def test_records_are_shown_newest_first_and_filtered_by_level_and_text(run, someone, logged):
    logged.info("item settled", extra={"item": 42, "status": "done"})
    logged.warning("it was <slow>", extra={"lane": "lrclib"})
    page = someone.get(LOGS).text
    assert page.index("it was &lt;slow&gt;") < page.index("item settled")
    assert "<slow>" not in page
    assert '<bdi class="faint">item=42 status=done</bdi>' in page

    page = someone.get(f"{LOGS}?level=warn").text
    assert "it was &lt;slow&gt;" in page
    assert "item settled" not in page
    page = someone.get(f"{LOGS}?q=ITEM%3D42&level=&limit=100").text
    assert "item settled" in page
    assert "&lt;slow&gt;" not in page
    assert "Nothing matches" in someone.get(f"{LOGS}?q=nobody-said-this").text


@pytest.mark.parametrize("query", ["level=loud", "limit=0", "limit=x", "kind=x", "nonsense=1"])
def test_a_filter_nobody_knows_is_refused(someone, query):
    assert someone.get(f"{LOGS}?{query}").status == 400


@pytest.mark.spec("H-53")
def test_what_is_shown_can_be_downloaded(run, someone, logged):
    logged.error("a & b", extra={"item": 1})
    page = someone.get(f"{LOGS}?level=error&q=a+%26").text
    href = re.search(r'href="(/api/v1/logs/download[^"]*)"', page)[1].replace("&amp;", "&")
    file = someone.get(href)
    assert file.status == 200
    assert file.header("content-disposition").startswith('attachment; filename="lyrsvc-log-')
    assert file.text.endswith("lyrsvc.worker a & b item=1\n")


def test_the_audit_tab_shows_who_did_what(run, someone):
    now = run.house.clock.now()
    row = AuditRow(
        at=now,
        event="auth.login.failed",
        outcome="denied",
        actor="anonymous",
        client="203.0.113.9",
        request_id="abc",
        data={"user": "<b>ann</b>", "reason": "password"},
    )
    run.db.write(lambda tx: audit_log.add(tx, row))
    page = someone.get(f"{LOGS}?kind=audit").text
    for part in ("auth.login.failed", "Denied", "anonymous", "203.0.113.9", "reason=password"):
        assert part in page
    assert "user=&lt;b&gt;ann&lt;/b&gt;" in page
    assert "Nothing matches" in someone.get(f"{LOGS}?kind=audit&q=nobody").text
    assert "kind=audit" in re.search(r'href="(/api/v1/logs/download[^"]*)"', page)[1]


def test_the_audit_tab_shows_values_as_people_write_them(run, someone):
    data = {"setting": "output.languages", "old": None, "new": ["Kana", "Latn"]}
    data |= {"pairs": [{"from": "/a", "to": "/b"}], "counts": {"moved": 2}, "on": True}
    row = AuditRow(at=run.house.clock.now(), event="setting.changed", outcome="ok", data=data)
    run.db.write(lambda tx: audit_log.add(tx, row))
    page = someone.get(f"{LOGS}?kind=audit").text
    assert "old=not set; new=Kana, Latn; pairs=/a → /b; counts=moved 2; on=on" in page
    file = someone.get("/api/v1/logs/download?kind=audit").text
    assert 'old=null new=["Kana","Latn"]' in file


def test_a_traceback_has_its_lines_and_hides_nothing(run, someone, logged):
    try:
        int('a "quoted"\\ <b>\x1b')
    except ValueError:
        logged.exception("it broke", extra={"item": 7})
    page = someone.get(LOGS).text
    assert '<bdi class="faint">item=7</bdi>' in page
    trace = re.search(r"<pre>(.*?)</pre>", page, re.DOTALL)[1]
    assert trace.startswith("Traceback (most recent call last):\n  File")
    assert "a &#34;quoted&#34;\\\\ &lt;b&gt;\\x1b" in trace


@pytest.mark.parametrize(
    ("text", "message", "fields"),
    [
        ("item settled item=42 status=done", "item settled", "item=42 status=done"),
        ("nothing more", "nothing more", ""),
        ("a=b", "a=b", ""),
        ('said "x y=1" z=2', 'said "x', 'y=1" z=2'),
        ("", "", ""),
    ],
)
def test_a_sentence_is_told_from_its_fields(text, message, fields):
    record = LogRecord(time="2026-01-31T14:05:06.123Z", level="info", logger="lyrsvc", text=text)
    entry = entry_of(record)
    assert (entry.message, entry.fields) == (message, fields)


@pytest.mark.parametrize("path", PAGES)
def test_links_carry_the_base_path(tmp_path, path):
    with serving_run(tmp_path, LYRSVC_BASE_PATH="/lyrics", **UI) as run:
        page = run.visitor().get(f"/lyrics{path}")
        assert page.status == 200
        links = re.findall(r'(?:href|action|src)="(/[^"]*)"', page.text)
        assert links
        assert all(link.startswith("/lyrics/") for link in links)


def test_a_network_that_may_only_look_gets_no_buttons(tmp_path):
    with serving_run(tmp_path, LYRSVC_TRUSTED_UI_ACCESS="read", **UI) as run:
        visitor = run.visitor()
        for path in (PROVIDERS, TASKS):
            page = visitor.get(path)
            assert page.status == 200
            assert f'action="{path}"' not in page.text


def test_without_the_ui_the_pages_do_not_exist(tmp_path):
    with serving_run(tmp_path) as run:
        for path in (*PAGES, "/libraries"):
            assert run.visitor().get(path).status == 404
