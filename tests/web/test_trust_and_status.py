"""Who is trusted, by variable and by file, and how little the status tells."""

import pytest

from service_runs import House
from web_runs import serving_run

NOWHERE = "http://127.0.0.1:9"
INSIDE, OUTSIDE = "198.51.100.7", "203.0.113.9"
TOML = '[server.trusted_networks]\ncidrs = ["198.51.100.0/24"]\n'


@pytest.mark.seed("S-073", "S-074", "S-086", "S-088")
@pytest.mark.parametrize(
    ("toml", "environ"),
    [
        (TOML, {}),
        ("", {"LYRSVC_TRUSTED_CIDRS": "198.51.100.0/24"}),
        (TOML.replace("198.51.100.0", "203.0.113.0"), {"LYRSVC_TRUSTED_CIDRS": "198.51.100.0/24"}),
    ],
    ids=["file", "variable", "the variable wins"],
)
def test_only_loopback_and_declared_networks_see_numbers_and_pages(
    tmp_path, clock, toml, environ
) -> None:
    ui = {"LYRSVC_WEB_UI_ENABLED": "true"}
    with House(tmp_path, clock, NOWHERE).running(toml=toml, **environ, **ui) as run:
        forged = {"x-forwarded-for": "127.0.0.1"}
        for peer, sees in ((INSIDE, True), (OUTSIDE, False), ("127.0.0.1", True)):
            visitor = run.visitor(peer=peer)
            assert visitor.get("/metrics").status == (200 if sees else 403)
            assert (visitor.get("/dashboard").status == 200) == sees
        assert run.visitor(peer=OUTSIDE, headers=forged).get("/metrics").status == 403
        assert run.visitor(peer=OUTSIDE, headers=forged).get("/dashboard").status != 200


@pytest.mark.seed("S-072")
@pytest.mark.spec("H-24")
def test_the_status_counts_every_status_and_tells_nothing_else(tmp_path) -> None:
    secret = "a-token-that-nobody-may-see"
    with serving_run(tmp_path, PROVIDER_TOKEN=secret) as run:
        run.enqueue("Lanterns on the Weir", 38.0)
        run.enqueue("Nobody Knows This", 38.0)
        run.work()
        run.enqueue("Kitchen Radio", 34.0)
        answer = run.visitor(scope="admin").get("/api/v1/status")
        counted = {row["status"]: row["n"] for row in run.rows(COUNTED)}
    assert counted == {"done": 1, "deferred": 1, "pending": 1}
    assert answer.json == {"queue": counted, "status": "ok"}
    assert secret not in answer.text
    assert "/" not in answer.text


COUNTED = "SELECT status, count(*) AS n FROM work_items GROUP BY status"
