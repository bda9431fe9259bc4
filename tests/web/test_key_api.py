"""Keys and badges over HTTP."""

import pytest

from lyrsvc.store import counts
from report_rows import NOW, fill
from service_runs import House

URL = "/api/v1/keys"


@pytest.fixture
def run(tmp_path, clock):
    with House(tmp_path, clock, "http://127.0.0.1:9").running() as running:
        yield running


@pytest.fixture
def admin(run):
    return run.visitor(scope="admin")


def audits(run):
    return run.rows("SELECT event, actor, client, data FROM audit_log ORDER BY id")


@pytest.mark.seed("S-085")
def test_a_key_is_shown_once_and_never_again(admin, run):
    made = admin.post(URL, {"name": "lidarr", "scopes": ["webhook"]})

    assert made.status == 201
    raw, public_id = made.json["key"], made.json["public_id"]
    assert raw.startswith("lyrsvc_")
    assert len(public_id) == 16
    listed = admin.get(URL)
    assert raw not in listed.text
    digest = run.rows(f"SELECT hash FROM api_keys WHERE public_id = '{public_id}'")[0]["hash"]
    assert digest not in listed.text + made.text
    (key,) = [key for key in listed.json["items"] if key["public_id"] == public_id]
    assert key == {
        "public_id": public_id,
        "name": "lidarr",
        "scopes": ["webhook"],
        "created_at": "2026-01-31T14:05:06Z",
        "revoked_at": None,
        "last_used_at": None,
    }
    assert raw not in str(run.rows("SELECT * FROM audit_log"))


@pytest.mark.seed("S-101")
def test_a_revoked_key_stops_working_at_once_and_keeps_its_first_time(admin, run):
    made = admin.post(URL, {"name": "", "scopes": ["admin", "webhook"]}).json
    assert made["scopes"] == ["admin", "webhook"]
    other = run.visitor()
    other.key = made["key"]
    assert other.get(URL).status == 200

    revoked = admin.delete(f"{URL}/{made['public_id']}")
    assert (revoked.status, revoked.json["revoked_at"]) == (200, "2026-01-31T14:05:06Z")
    assert other.get(URL).status == 401
    run.house.clock.advance(60)
    again = admin.delete(f"{URL}/{made['public_id']}")
    assert again.json["revoked_at"] == "2026-01-31T14:05:06Z"
    rows = [row for row in audits(run) if row["event"].startswith("key.")]
    assert [row["event"] for row in rows] == ["key.created", "key.revoked", "key.revoked"]
    assert all(row["actor"].startswith("key:") and row["client"] == "127.0.0.1" for row in rows)


def test_without_scopes_a_key_is_for_webhooks(admin):
    assert admin.post(URL, {"name": "x"}).json["scopes"] == ["webhook"]
    assert admin.post(URL, {"name": "x", "scopes": []}).json["scopes"] == ["webhook"]


@pytest.mark.parametrize(
    "body",
    [
        {"name": "x" * 121},
        {"name": "x", "scopes": ["root"]},
        {"name": "x", "scopes": "admin"},
        {"name": 1},
        {"nam": "x"},
    ],
)
def test_a_key_that_cannot_be_is_refused(admin, run, body):
    answer = admin.post(URL, body)

    assert (answer.status, answer.json["error"]) == (400, "invalid_request")
    assert len(run.rows("SELECT * FROM api_keys")) == 1


def test_a_key_is_revoked_by_its_whole_id_only(admin, run):
    public_id = admin.post(URL, {"name": "x"}).json["public_id"]

    for part in (public_id[:8], public_id[:8] + "…", "0" * 16, "%2e%2e"):
        assert admin.delete(f"{URL}/{part}").status == 404
    assert run.rows("SELECT * FROM api_keys WHERE revoked_at IS NOT NULL") == []


def test_keys_are_listed_by_pages_and_by_name(admin):
    for name in ("Zebra", "apple", "Mango"):
        admin.post(URL, {"name": name})

    def names(query):
        answer = admin.get(f"{URL}?{query}").json
        return [key["name"] for key in answer["items"]], answer["total"]

    assert names("sort=name") == (["apple", "Mango", "test", "Zebra"], 4)
    assert names("sort=name&dir=desc&page_size=2&page=2") == (["Mango", "apple"], 4)
    assert names("q=ANG") == (["Mango"], 1)
    assert names("page=9") == ([], 4)
    assert admin.get(f"{URL}?sort=hash").status == 400


# Badges


def test_badges_are_flat_integers(admin, run):
    run.db.write(fill)
    run.db.write(lambda tx: counts.correct(tx, now=NOW))
    badges = admin.get("/api/v1/badges").json

    health = badges.pop("health_warnings"), badges.pop("health_errors")
    assert badges == {
        "pending": 1,
        "processing": 1,
        "done": 5,
        "failed": 3,
        "deferred": 3,
        "wanted_missing": 2,
        "wanted_unsynced": 1,
        "instrumental": 3,
    }
    listed = [entry["level"] for entry in admin.get("/api/v1/system/health").json["items"]]
    assert health == (listed.count("warning"), listed.count("error"))
    answer = admin.get("/api/v1/badges?colour=red")
    assert (answer.status, answer.json["detail"]) == (400, "colour: unknown parameter")
