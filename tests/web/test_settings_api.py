"""Settings over HTTP: saved whole or not at all, and never a secret in an answer."""

import tomllib

import pytest

from lyrsvc.services.secret_store import PROVIDER_TOKEN
from web_runs import LRCLIB_FIRST, serving_run

SETTINGS = "/api/v1/settings"
SECRET = "s3cret-t0ken-value"


@pytest.fixture
def run(tmp_path):
    with serving_run(tmp_path) as run:
        del run.house.environ["LYRSVC_API_COOLDOWN"]
        yield run


@pytest.fixture
def open_run(tmp_path):
    def open_one(toml, **environ):
        return serving_run(tmp_path, toml=LRCLIB_FIRST + toml, **environ)

    return open_one


@pytest.fixture
def admin(run):
    return run.visitor(scope="admin")


def setting(visitor, path):
    return next(one for one in visitor.get(SETTINGS).json["settings"] if one["path"] == path)


def test_every_setting_is_listed_with_what_may_be_done_to_it(run, admin):
    answer = admin.get(SETTINGS)
    assert answer.json["writable"] is True
    assert len(answer.json["version"]) == 64
    level = setting(admin, "logging.level")
    assert level == {
        "path": "logging.level", "value": "info", "running": "info", "default": "info",
        "source": "default", "env": ["LYRSVC_LOG_LEVEL", "LYRSVC_LOGGING_LEVEL"],
        "flag": "--log-level", "locked": False, "locked_by": None, "tier": "safe",
        "tab": "common", "type": "enum", "unit": None, "help": level["help"],
        "choices": ["debug", "info", "warn", "error"], "editable": True, "secret": False,
        "set": True,
    }  # fmt: skip
    assert setting(admin, "providers.primary")["source"] == "file"
    assert setting(admin, "watcher.enabled")["editable"] is False


@pytest.mark.spec("H-45")
def test_a_variable_locks_its_setting(run, admin):
    locked = setting(admin, "providers.lrclib.cooldown_seconds")
    assert (locked["locked"], locked["locked_by"], locked["source"]) == (
        True, "LYRSVC_LRCLIB_COOLDOWN_SECONDS", "env",
    )  # fmt: skip
    before = run.config.read_bytes()

    answer = admin.patch(SETTINGS, {"changes": {"providers.lrclib.cooldown_seconds": 2}})

    assert (answer.status, answer.json["error"]) == (409, "locked")
    assert answer.json["locked_by"] == "LYRSVC_LRCLIB_COOLDOWN_SECONDS"
    assert run.config.read_bytes() == before


def test_a_save_is_answered_written_down_and_waits_for_a_restart(run, admin):
    version = admin.get(SETTINGS).json["version"]

    answer = admin.patch(
        SETTINGS, {"changes": {"logging.level": "debug", "scan.depth": 7}, "version": version}
    )

    assert answer.status == 200
    assert sorted(answer.json["saved"]) == answer.json["restart_pending"] == [
        "logging.level", "scan.depth",
    ]  # fmt: skip
    assert answer.json["version"] == admin.get(SETTINGS).json["version"] != version
    assert (setting(admin, "scan.depth")["value"], setting(admin, "scan.depth")["running"]) == (
        7,
        100,
    )
    assert tomllib.loads(run.config.read_text())["scan"] == {"depth": 7}
    assert admin.get("/api/v1/system/status").json["restart_pending"] == [
        "logging.level", "scan.depth",
    ]  # fmt: skip
    rows = run.rows("SELECT data FROM audit_log WHERE event = 'setting.changed' ORDER BY id")
    assert '"new": 7' in rows[1]["data"]
    assert [e["code"] for e in admin.get("/api/v1/system/health?q=restart").json["items"]] == [
        "restart_pending"
    ]
    nothing = admin.patch(SETTINGS, {"changes": {}}).json
    assert (nothing["saved"], nothing["version"]) == ([], answer.json["version"])


@pytest.mark.seed("S-032")
@pytest.mark.parametrize(
    ("changes", "missing"),
    [
        ({"frequency": "daily"}, "at (HH:MM)"),
        ({"frequency": "weekly", "at": "03:30"}, "day (weekday name)"),
        ({"frequency": "weekly", "day": "sunday"}, "at (HH:MM)"),
    ],
)
def test_an_incomplete_schedule_is_refused_and_nothing_is_saved(run, admin, changes, missing):
    before = run.config.read_bytes()
    named = {f"server.scan_schedule.{key}": value for key, value in changes.items()}
    answer = admin.patch(SETTINGS, {"changes": {**named, "scan.depth": 7}})
    assert (answer.status, answer.json["error"]) == (400, "validation_failed")
    assert answer.json["fields"]["server.scan_schedule"].endswith(f"also needs {missing}")
    assert run.config.read_bytes() == before


@pytest.mark.spec("H-44")
def test_a_bad_candidate_names_each_setting_and_no_path(run, admin):
    before = run.config.read_bytes()
    changes = {"scan.depth": "deep", "logging.level": "loud", "api.nonsense": 1}

    answer = admin.patch(SETTINGS, {"changes": {"api.nonsense": 1}})
    assert (answer.status, answer.json["error"]) == (400, "validation_failed")
    assert "api.nonsense" in answer.json["fields"]
    del changes["api.nonsense"]
    answer = admin.patch(SETTINGS, {"changes": changes})

    assert set(answer.json["fields"]) == set(changes)
    assert str(run.house.place) not in answer.text
    deeper = admin.patch(SETTINGS, {"changes": {"scan.depth": 9999}})
    assert deeper.json["fields"] == {"scan.depth": deeper.json["fields"]["scan.depth"]}
    assert str(run.house.place) not in deeper.text
    pair = {"server.tls.cert_file": "certs/a.pem", "server.tls.key_file": "certs/b.pem"}
    tls = admin.patch(SETTINGS, {"changes": pair, "confirm": list(pair)})
    assert "certs/a.pem and certs/b.pem" in tls.json["fields"]["server.tls"]
    assert str(run.house.place) not in tls.text
    assert run.config.read_bytes() == before


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"{",
        b'{"changes": 1}',
        b'{"changes": {}, "more": 1}',
        b"{}",
        b'{"changes": {"a": 1}, "confirm": "a"}',
    ],
)
def test_a_body_that_is_none_is_refused(admin, body):
    answer = admin.patch(SETTINGS, body)

    assert (answer.status, answer.json["error"]) == (400, "invalid_request")


@pytest.mark.spec("H-48")
def test_what_somebody_else_changed_meanwhile_is_not_overwritten(run, admin):
    version = admin.get(SETTINGS).json["version"]
    run.config.write_text(LRCLIB_FIRST + "[scan]\ndepth = 3\n")

    stale = admin.patch(SETTINGS, {"changes": {"scan.depth": 7}, "version": version})
    other = admin.patch(SETTINGS, {"changes": {"logging.level": "warn"}, "version": version})

    assert (stale.status, stale.json["error"]) == (409, "stale")
    assert other.status == 200
    saved = tomllib.loads(run.config.read_text())
    assert (saved["scan"]["depth"], saved["logging"]["level"]) == (3, "warn")


@pytest.mark.spec("H-48")
def test_a_critical_setting_is_confirmed_by_name(run, admin):
    changes = {"server.allowed_hosts": ["lyrics.example"]}

    answer = admin.patch(SETTINGS, {"changes": changes})

    assert (answer.status, answer.json["error"]) == (409, "confirmation_required")
    assert answer.json["confirm"] == ["server.allowed_hosts"]
    sure = admin.patch(SETTINGS, {"changes": changes, "confirm": ["server.allowed_hosts"]})
    assert sure.json["saved"] == ["server.allowed_hosts"]


def test_a_broken_file_and_one_that_cannot_be_written(run, admin):
    run.config.write_text("[api\n")
    broken = admin.patch(SETTINGS, {"changes": {"scan.depth": 7}})
    assert (broken.status, broken.json["error"]) == (409, "file_invalid")
    assert "line 1, column" in broken.json["detail"]
    assert str(run.house.place) not in broken.text

    run.config.write_bytes(b"a = '\xff'\n")
    other = admin.patch(SETTINGS, {"changes": {"scan.depth": 7}})
    assert (other.status, other.json["error"]) == (409, "file_invalid")
    assert str(run.house.place) not in other.text

    run.config.write_text(LRCLIB_FIRST)
    run.config.chmod(0o400)
    locked = admin.patch(SETTINGS, {"changes": {"scan.depth": 7}})
    assert (locked.status, locked.json["error"]) == (403, "settings_read_only")
    assert str(run.house.place) not in locked.text
    assert run.config.read_text() == LRCLIB_FIRST


@pytest.mark.spec("H-50")
def test_a_token_goes_to_the_encrypted_store_and_leaves_the_file(open_run):
    with open_run(f'[api]\ntoken = "{SECRET}"\ncooldown = 20\n') as run:
        admin = run.visitor(scope="admin")
        new = "brand-n3w-token"

        answer = admin.patch(SETTINGS, {"changes": {"api.token": new}, "confirm": ["api.token"]})

        assert answer.json["saved"] == answer.json["restart_pending"] == ["api.token"]
        assert run.service.secrets.get(PROVIDER_TOKEN) == new
        assert "token" not in run.config.read_text()
        assert "cooldown = 20" in run.config.read_text()
        shown = setting(admin, "api.token")
        assert (shown["value"], shown["running"], shown["default"], shown["set"]) == (
            None, None, None, True,
        )  # fmt: skip
        audit = str(run.rows("SELECT * FROM audit_log"))
        assert "secret.stored" in audit
        assert '"setting": "api.token", "old": "changed", "new": "changed"' in audit
        for text in (answer.text, audit, admin.get(SETTINGS).text):
            assert new not in text
            assert SECRET not in text
        assert new.encode() not in (run.house.place / "state" / "lyrsvcgo.db").read_bytes()


@pytest.mark.spec("H-50")
def test_the_stored_token_is_in_force_after_the_restart(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    with serving_run(home) as run:
        admin = run.visitor(scope="admin")
        body = {"changes": {"api.token": SECRET}, "confirm": ["api.token"]}
        assert admin.patch(SETTINGS, body).status == 200
        toml = run.config.read_text()
        (home / "music").rmdir()
    with serving_run(home, toml=toml) as again:
        lane = next(lane for lane in again.service.lookup.lanes if lane.name == "defaultprov")
        assert lane.active
        assert setting(again.visitor(scope="admin"), "api.token")["source"] == "store"


def test_a_secret_store_that_cannot_be_used_writes_nothing_in_clear(open_run):
    with open_run(f'[api]\ntoken = "{SECRET}"\n') as run:
        admin = run.visitor(scope="admin")
        before = run.config.read_bytes()
        run.db.write(lambda tx: tx.run("ALTER TABLE secrets RENAME TO gone"))

        answer = admin.patch(
            SETTINGS, {"changes": {"api.token": "another-token"}, "confirm": ["api.token"]}
        )

        assert answer.status in (500, 503)
        assert "another-token" not in answer.text
        assert run.config.read_bytes() == before


@pytest.mark.spec("H-49")
def test_the_raw_view_is_toml_without_secrets(open_run):
    text = (
        f'[api]\ntoken = """{SECRET}"""\n[server]\nwebhook_api_keys = ["{SECRET}-one"]\n'
        f'[instrumental_detector]\nclassifier_url = "http://me:{SECRET}@127.0.0.1:1"\n'
    )
    with open_run(text) as run:
        admin = run.visitor(scope="admin")
        admin.patch(SETTINGS, {"changes": {"scan.depth": 7}})

        for view, depth in (("running", 100), ("next", 7)):
            answer = admin.get(f"{SETTINGS}/raw?view={view}")
            assert answer.header("content-type") == "text/plain; charset=utf-8"
            assert tomllib.loads(answer.text)["scan"]["depth"] == depth
            assert SECRET not in answer.text
            assert "# env:" in answer.text
        assert SECRET not in admin.get(SETTINGS).text
        assert admin.get(f"{SETTINGS}/raw?view=other").status == 400
