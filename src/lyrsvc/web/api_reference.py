"""The API for people: one page made from the table of routes, in Markdown and in HTML.

``python -m lyrsvc.web.api_reference`` prints the Markdown.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from lyrsvc import brand
from lyrsvc.web.exchange import Exchange
from lyrsvc.web.gates import ANYONE
from lyrsvc.web.openapi import describe
from lyrsvc.web.replies import Reply
from lyrsvc.web.route import Room, page

Json = dict[str, Any]

_INTRODUCTION: Final = """# HTTP API

Generated from the table of routes; `/api/v1/openapi.json` of a running service is the same in
OpenAPI 3.1. A key goes into the query parameter `apikey`, `Authorization: Bearer`, `X-Api-Key`
or, except for writes, Basic credentials. Bodies and answers are JSON; moments are UTC
(RFC 3339); an error is `{"error": code, "detail": sentence}`. Lists answer
`{"items": […], "page": 1, "page_size": 50, "total": 1234}`. Addresses below lie under
`server.base_path` when that is set.
"""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One operation as the page shows it."""

    tag: str
    method: str
    path: str
    summary: str
    is_open: bool
    parameters: tuple[tuple[str, str], ...]
    body: tuple[tuple[str, str], ...]
    answers: str
    errors: str


def entries_of(document: Json) -> list[Entry]:
    """Give the operations of a document, part by part."""
    return [
        _entry(document, path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


def markdown(entries: Iterable[Entry]) -> str:
    """Write the page as Markdown."""
    parts = [_INTRODUCTION]
    for tag, group in grouped(entries):
        parts.append(f"## {tag.capitalize()}\n")
        parts += [_section(entry) for entry in group]
    return "\n".join(parts)


def grouped(entries: Iterable[Entry]) -> list[tuple[str, list[Entry]]]:
    """Give the operations by the part of the API they belong to."""
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.tag, []).append(entry)
    return list(groups.items())


def show_reference(exchange: Exchange) -> Reply:
    """Show the API reference."""
    from lyrsvc.web.rendering import HTML, environment

    settings = exchange.service.settings
    template = environment(exchange.base_path, settings.environment.tz).get_template(
        "api_docs.html"
    )
    text = template.render(program=brand.PROGRAM, groups=grouped(_all_entries()))
    return Reply(text=text, content_type=HTML)


@cache
def _all_entries() -> tuple[Entry, ...]:
    from lyrsvc.web.routes import all_routes  # the table holds this room's own route too

    return tuple(entries_of(describe(all_routes(pages=False))))


def _entry(document: Json, path: str, method: str, operation: Json) -> Entry:
    codes = {int(status): answer for status, answer in operation["responses"].items()}
    good = {status: answer for status, answer in codes.items() if not _is_problem(answer)}
    return Entry(
        tag=operation["tags"][0],
        method=method.upper(),
        path=path,
        summary=operation["summary"],
        is_open=not operation["security"],
        parameters=tuple(
            (parameter["name"], _parameter(parameter))
            for parameter in operation.get("parameters", ())
        ),
        body=tuple(_members(document, operation.get("requestBody"))),
        answers=", ".join(_answer(code, good[code]) for code in sorted(good)),
        errors=", ".join(
            name
            for code in sorted(set(codes) - set(good) - {500})
            for name in codes[code]["description"].split(", ")
        ),
    )


def _is_problem(answer: Json) -> bool:
    schema = answer.get("content", {}).get("application/json", {}).get("schema", {})
    return bool(schema.get("$ref", "").endswith("/Problem"))


def _parameter(parameter: Json) -> str:
    words = [_kind(parameter["schema"])]
    if parameter.get("description"):
        words.append(parameter["description"])
    if "default" in parameter["schema"]:
        words.append(f"Default {_plain(parameter['schema']['default'])}.")
    return "; ".join(words[:1]) + (": " + " ".join(words[1:]) if words[1:] else "")


def _members(document: Json, body: Json | None) -> Iterable[tuple[str, str]]:
    if body is None:
        return
    schema = _resolved(document, body["content"]["application/json"]["schema"])
    required = schema.get("required", ())
    for name, member in schema.get("properties", {}).items():
        yield name, _kind(member) + (", required" if name in required else "")


def _answer(code: int, answer: Json) -> str:
    kinds = []
    for media, content in answer.get("content", {}).items():
        schema = content["schema"]
        named = schema.get("$ref", "").rpartition("/")[2]
        kinds.append((named or "object") if media == "application/json" else media)
    return f"{code} {' or '.join(kinds)}".strip()


def _kind(schema: Json) -> str:
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "enum" in schema:
        return " | ".join(_plain(value) for value in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(_kind(part) for part in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    name = str(schema.get("type", "anything"))
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None and high < 2**31:
        name += f" {low}–{high}"
    return name


def _plain(value: object) -> str:
    return (
        "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    )


def _resolved(document: Json, schema: Json) -> Json:
    name = schema.get("$ref", "").rpartition("/")[2]
    found: Json = document["components"]["schemas"][name] if name else schema
    return found


def _section(entry: Entry) -> str:
    lines = [f"### `{entry.method} {entry.path}`\n", f"{entry.summary}.\n"]
    rows = [("parameter", *row) for row in entry.parameters] + [
        ("member", *row) for row in entry.body
    ]
    if rows:
        lines += ["| Where | Name | What |", "|---|---|---|"]
        cells = ((where, f"`{name}`", what.replace("|", "\\|")) for where, name, what in rows)
        lines += ["| " + " | ".join(row) + " |" for row in cells]
        lines.append("")
    lines.append(
        f"Answers {entry.answers}." + (f" Errors: {entry.errors}." if entry.errors else "")
    )
    if entry.is_open:
        lines.append("No key is needed.")
    return "\n".join(lines) + "\n"


ROUTES: Final = (page("/api/docs", ANYONE, show_reference, room=Room.ORDINARY),)


if __name__ == "__main__":
    sys.stdout.write(markdown(_all_entries()))
