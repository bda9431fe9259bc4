"""The API describes itself: every address is there, and the description is valid."""

import json

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from lyrsvc.web.api_reference import entries_of, markdown
from lyrsvc.web.openapi import describe, is_described
from lyrsvc.web.problems import STATUS_OF
from lyrsvc.web.routes import all_routes
from service_runs import House

URL = "/api/v1/openapi.json"


@pytest.fixture(scope="module")
def document():
    return describe(all_routes(pages=True))


@pytest.mark.spec("H-58")
def test_the_document_is_valid(document):
    OpenAPIV31SpecValidator(json.loads(json.dumps(document))).validate()


@pytest.mark.spec("H-58")
def test_every_address_of_the_api_is_documented_with_its_methods(document):
    missing = [
        (method, route.path)
        for route in all_routes(pages=True)
        for method in route.methods
        if route.path.startswith("/api/v1/")
        and method.lower() not in document["paths"].get(route.path.rstrip("/"), {})
    ]

    assert missing == []


def test_nothing_is_documented_that_is_not_there(document):
    there = {(m.lower(), route.path) for route in all_routes(pages=False) for m in route.methods}
    told = {(m, path) for path, methods in document["paths"].items() for m in methods}

    assert told <= there
    assert not any(path.startswith(("/dashboard", "/settings", "/login")) for _, path in told)


def test_every_operation_says_what_it_does_and_what_it_answers(document):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            good = [code for code in operation["responses"] if code < "400"]
            assert operation["summary"], path
            assert good, (method, path)
            if good != ["204"]:
                assert operation["responses"][good[0]]["content"], (method, path)


def test_no_handler_reads_parameters_that_are_not_checked(document):
    for route in all_routes(pages=False):
        for kind in filter(None, (route.query_type, route.body_type)):
            if kind is not bytes:
                assert kind.__struct_config__.forbid_unknown_fields, (route.path, kind)


def test_writes_are_never_opened_by_basic_credentials(document):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if method != "get" and not path.startswith("/api/v1/webhooks/"):
                assert {"basic": []} not in operation["security"], path


def test_open_addresses_are_few(document):
    opened = {
        path
        for path, methods in document["paths"].items()
        for operation in methods.values()
        if not operation["security"]
    }

    assert opened == {"/healthz", "/ping", "/readyz", URL}


def test_errors_have_codes_of_the_closed_set(document):
    codes = document["components"]["schemas"]["Problem"]["properties"]["error"]["enum"]

    assert codes == sorted(STATUS_OF)
    for methods in document["paths"].values():
        for operation in methods.values():
            for status, answer in operation["responses"].items():
                schema = answer.get("content", {}).get("application/json", {}).get("schema", {})
                if schema.get("$ref", "").endswith("/Problem"):
                    assert {str(STATUS_OF[c]) for c in answer["description"].split(", ")} == {
                        status
                    }


def test_every_schema_that_is_told_is_used(document):
    text = json.dumps(document)

    unused = [
        name
        for name in document["components"]["schemas"]
        if f'"#/components/schemas/{name}"' not in text
    ]
    assert unused == []


def test_the_page_about_the_api_names_every_operation(document):
    text = markdown(entries_of(document))

    for path, methods in document["paths"].items():
        for method in methods:
            assert f"### `{method.upper()} {path}`" in text


# Served


@pytest.mark.spec("H-58")
def test_anybody_may_read_it_and_it_is_the_same_everywhere(tmp_path, clock):
    with House(tmp_path, clock, "http://127.0.0.1:9").running() as run:
        here = run.visitor(peer="192.0.2.7", host="lyrics.example").get(URL)
    (tmp_path / "other").mkdir()
    with House(tmp_path / "other", clock, "http://127.0.0.1:9").running(
        LYRSVC_WEB_UI_ENABLED="true", LYRSVC_BASE_PATH="/lyrics"
    ) as run:
        there = run.visitor().get(URL)
        behind = run.visitor().get(f"/lyrics{URL}")

    assert (here.status, here.header("content-type")) == (200, "application/json")
    assert here.json["servers"] == [{"url": "/"}]
    assert there.json["servers"] == [{"url": "/lyrics"}]
    assert behind.body == there.body
    assert {**here.json, "servers": []} == {**there.json, "servers": []}


def test_people_read_it_as_a_page_without_script_while_the_pages_are_on(tmp_path, clock):
    house = House(tmp_path, clock, "http://127.0.0.1:9")
    with house.running() as run:
        assert run.visitor().get("/api/docs").status == 404
    with house.running(LYRSVC_WEB_UI_ENABLED="true", LYRSVC_BASE_PATH="/lyrics") as run:
        page = run.visitor(peer="192.0.2.7", host="lyrics.example").get("/api/docs")

    assert (page.status, page.header("content-type")) == (200, "text/html; charset=utf-8")
    for route in all_routes(pages=False):
        if is_described(route):
            assert f"{route.methods[0]} {route.path}" in page.text
    for forbidden in ("<script", "style=", "<style", "onclick"):
        assert forbidden not in page.text
    assert "unsafe" not in page.header("content-security-policy")
    assert 'href="/lyrics/api/v1/openapi.json"' in page.text
    assert 'href="/lyrics/static/' in page.text
