"""Thousands of requests made up from the API's own description, against a real service.

Whatever is sent, the service answers, in time, as it says it does, and never breaks.
"""

from collections import Counter

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from lyrsvc.clock import SystemClock
from lyrsvc.store.database import Database
from lyrsvc.web.openapi import describe
from lyrsvc.web.routes import all_routes
from report_rows import fill
from served import Served

NEVER_ENDING = ("/api/v1/events",)
CASES = 2000
GOOD, BAD = GenerationMode.POSITIVE, GenerationMode.NEGATIVE
OF_EACH = {GOOD: 42, BAD: 6}
"""Requests for each operation: such as the description allows, and such as it does not."""
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
MANNERS = settings(
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
pytestmark = pytest.mark.filterwarnings("ignore::Warning")


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    home = tmp_path_factory.mktemp("fuzz")
    place = home / "state" / "lyrsvcgo.db"
    with Database.open(place, create=True, clock=SystemClock()) as db:
        db.write(fill)
    environ = {
        "LYRSVC_DB_PATH": str(place),
        "LYRSVC_DEFAULTPROV_BASE_URL": "http://127.0.0.1:9",
        "LYRSVC_LRCLIB_BASE_URL": "http://127.0.0.1:9",
        "LYRSVC_OUTPUT_DIR": str(home / "lyrics"),
    }
    with Served(home, environ) as served:
        made = served.run("keys", "create", "--name", "fuzz", "--scope", "admin")
        served.key = made.stdout.strip()
        served.music = home / "music"
        yield served


@pytest.mark.spec("H-58")
def test_whatever_is_sent_is_answered_as_described(service):
    schema = schemathesis.openapi.from_dict(describe(all_routes(pages=False)))
    sent: Counter[str] = Counter()
    answered: Counter[int] = Counter()
    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {service.key}"

    def ask(case):
        _keep_at_home(case, service.music)
        answer = case.call(base_url=f"http://{service.address}", session=session, timeout=15)
        sent[case.operation.label] += 1
        answered[answer.status_code] += 1
        case.validate_response(answer, checks=CHECKS)

    operations = [found.ok() for found in schema.get_all_operations()]
    broken = [
        f"{operation.label}: {fault}"
        for operation in operations
        if operation.path not in NEVER_ENDING
        for mode in OF_EACH
        if (fault := _faults(ask, operation, mode))
    ]

    assert broken == []

    assert service.get("/healthz") == (200, b'{"status":"ok"}\n')
    assert service.get("/readyz")[0] == 200
    assert sent.total() >= CASES, sent
    assert not [status for status in answered if status >= 500], answered
    assert 200 in answered
    assert 400 in answered
    assert "Traceback" not in service.log


def _faults(ask, operation, mode):
    """Make up requests; give what went wrong. An address without parameters has no bad ones."""
    made_up = given(case=operation.as_strategy(generation_mode=mode))
    try:
        settings(MANNERS, max_examples=OF_EACH[mode])(made_up(ask))()
    except Unsatisfiable:
        return ""
    except BaseExceptionGroup as several:
        return "; ".join(str(one) for one in several.exceptions)
    except Exception as one:  # noqa: BLE001 - the test tells of all of them
        return f"{type(one).__name__}: {one}"
    return ""


def _keep_at_home(case, music):
    """Libraries are made up below an own directory, not anywhere on this machine."""
    if "/libraries" in case.operation.path and isinstance(case.body, dict):
        path = case.body.get("path")
        if isinstance(path, str):
            case.body["path"] = f"{music}/{path}"
