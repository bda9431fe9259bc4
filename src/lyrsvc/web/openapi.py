"""The API described in OpenAPI 3.1: everything is read from the table of routes.

Parameters, bodies and answers are the structures in the handlers' signatures; which
errors can come follows from a route's gate and from what it reads.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import UnionType
from typing import Any, Final, Union, get_args, get_origin

import msgspec

from lyrsvc import __version__, brand
from lyrsvc.web.exchange import Exchange
from lyrsvc.web.gates import ANYONE
from lyrsvc.web.problems import STATUS_OF
from lyrsvc.web.replies import JSON_TYPE, Reply
from lyrsvc.web.route import Payload, Room, Route, get

Json = dict[str, Any]

_SCHEMA: Final = "#/components/schemas/{name}"
_GENERIC: Final = re.compile(rb"\b(Page)_(\w+?)_(?=\")")
"""How the schema of ``Page[Item]`` is called, which is to be ``ItemPage``."""
_KEY_SCHEMES: Final[Sequence[Json]] = ({"query": []}, {"bearer": []}, {"header": []})
_BASIC: Final[Json] = {"basic": []}
_SCHEMES: Final[Json] = {
    "query": {"type": "apiKey", "in": "query", "name": "apikey"},
    "bearer": {"type": "http", "scheme": "bearer"},
    "header": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
    "basic": {
        "type": "http",
        "scheme": "basic",
        "description": "The key is the password, or the user name when there is none.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": brand.SESSION_COOKIE,
        "description": "Somebody signed in to the browser UI.",
    },
    "csrf": {
        "type": "apiKey",
        "in": "header",
        "name": "X-CSRF-Token",
        "description": f"The value of the cookie {brand.CSRF_COOKIE}; writes of a session need it.",
    },
}
_GATE_ERRORS: Final[Mapping[str, tuple[str, ...]]] = {
    "open": (),
    "hook": ("unauthorized", "forbidden", "unavailable"),
    "status": ("unauthorized", "forbidden", "unavailable", "busy", "timeout"),
    "metrics": ("unauthorized", "forbidden", "unavailable", "busy", "timeout"),
    "api": ("unauthorized", "forbidden", "unavailable", "busy", "timeout"),
}
_BODY_ERRORS: Final = ("payload_too_large", "unsupported_encoding", "timeout")
_PROBLEM: Final[Json] = {
    "title": "Problem",
    "description": "Why a request was not served; some codes bring further members.",
    "type": "object",
    "required": ["error", "detail"],
    "properties": {
        "error": {"type": "string", "enum": sorted(STATUS_OF)},
        "detail": {"type": "string", "description": "One sentence for people."},
    },
}


def describe(routes: Iterable[Route], *, base_path: str = "") -> Json:
    """Give the document of these routes; only the address of the server is an installation's."""
    shown = [route for route in routes if is_described(route)]
    schemas = _Schemas(shown)
    paths: dict[str, Json] = {}
    names: set[str] = set()
    for route in shown:
        for method in route.methods:
            name = _name_of(route, method, names)
            operation = {"operationId": name, **_operation(route, method, schemas)}
            paths.setdefault(route.path, {})[method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {
            "title": brand.PROGRAM,
            "version": __version__,
            "summary": "Finds lyrics for a music library and saves them beside the audio.",
            "license": {"name": "GPL-3.0-or-later", "identifier": "GPL-3.0-or-later"},
        },
        "servers": [{"url": base_path or "/"}],
        "tags": [{"name": name} for name in dict.fromkeys(tag_of(route) for route in shown)],
        "paths": paths,
        "components": {
            "schemas": {**schemas.components, "Problem": _PROBLEM},
            "securitySchemes": _SCHEMES,
        },
    }


def is_described(route: Route) -> bool:
    """Tell whether programs are meant to call a route; a second spelling of one is left out."""
    return not route.ui and not route.path.endswith("/")


def tag_of(route: Route) -> str:
    """Give the part of the API a route belongs to."""
    _, _, rest = route.path.partition("/api/v1/")
    return rest.partition("/")[0].partition(".")[0] if rest else "health"


def answer_openapi(exchange: Exchange) -> dict[str, Any] | Reply:
    """Describe this API."""
    return Reply(text=_document(exchange.base_path))


@cache
def _document(base_path: str) -> bytes:
    from lyrsvc.web.routes import all_routes  # the table holds this room's own route too

    document = describe(all_routes(pages=False), base_path=base_path)
    return msgspec.json.encode(document, order="sorted") + b"\n"


class _Schemas:
    """The structures of some routes as JSON schemas."""

    def __init__(self, routes: Sequence[Route]) -> None:
        kinds = [kind for route in routes for kind in _kinds_of(route)]
        made = msgspec.json.schema_components([kind for kind, _ in kinds], ref_template=_SCHEMA)
        found, self.components = msgspec.json.decode(
            _GENERIC.sub(rb"\2\1", msgspec.json.encode(made)), type=tuple[list[Json], Json]
        )
        self._found = {key: schema for (_, key), schema in zip(kinds, found, strict=True)}
        self._queries = {
            key: self.components.pop(self._name(key))
            for key in dict.fromkeys(repr(route.query_type) for route in routes)
            if key != "None" and self._name(key) in self.components
        }

    def of(self, kind: object) -> Json:
        """Give the schema of a body or an answer."""
        return dict(self._found[repr(kind)])

    def query(self, kind: type) -> Json:
        """Give the schema of a structure of query parameters."""
        return dict(self._queries[repr(kind)])

    def _name(self, key: str) -> str:
        return str(self._found[key].get("$ref", "")).rpartition("/")[2]


def _kinds_of(route: Route) -> list[tuple[Any, str]]:
    kinds = (route.query_type, route.body_type, answer_of(route))
    return [(kind, repr(kind)) for kind in kinds if kind not in (None, bytes)]


def answer_of(route: Route) -> Any:  # noqa: ANN401 - any type the JSON writer knows
    """Give the structure a route answers with; None when it is no JSON."""
    kind = route.answer_type
    if get_origin(kind) in (UnionType, Union):
        parts = [part for part in get_args(kind) if part is not Reply]
        return parts[0] if len(parts) == 1 else Union[tuple(parts)]  # noqa: UP007 - made here
    return None if kind in (Reply, type(None)) else kind


def _name_of(route: Route, method: str, taken: set[str]) -> str:
    """Name an operation after its handler; where that serves several, after the address too."""
    name = route.handler.__name__
    if method != route.methods[0]:
        name += f"_{method.lower()}"
    if name in taken:
        name += route.path.replace("/", "_")
    taken.add(name)
    return name


def _operation(route: Route, method: str, schemas: _Schemas) -> Json:
    operation: Json = {
        "summary": route.summary,
        "tags": [tag_of(route)],
        "security": security_of(route, method),
        "responses": _responses(route, method, schemas),
    }
    if parameters := _parameters(route, schemas):
        operation["parameters"] = parameters
    if (kind := route.body_type) is not None:
        operation["requestBody"] = _body(kind, schemas)
    return operation


def security_of(route: Route, method: str) -> list[Json]:
    """Say what opens a route; one of them is enough."""
    writes = method not in ("GET", "HEAD")
    match route.gate.name:
        case "open":
            return []
        case "api":
            beside: Json = {"session": [], "csrf": []} if writes else {"session": []}
            return [*_KEY_SCHEMES, *(() if writes else (_BASIC,)), beside]
        case "metrics":
            return [{}, *_KEY_SCHEMES, _BASIC]
        case _:
            return [*_KEY_SCHEMES, _BASIC]


def errors_of(route: Route, method: str) -> list[str]:
    """Name the errors a route may answer with, by status."""
    codes = {"internal", *_GATE_ERRORS.get(route.gate.name, ()), *route.refusals}
    if route.gate.name == "api" and method not in ("GET", "HEAD"):
        codes |= {"csrf", "cross_origin"}
    if route.gate.name == "api" or route.body_type is not None:
        codes.add("invalid_payload" if route.body_type is bytes else "invalid_request")
    if route.path_types:
        codes.add("not_found")
    if route.payload is not Payload.NOTHING:
        codes |= {*_BODY_ERRORS}
    return sorted(codes, key=lambda code: (STATUS_OF[code], code))


def _responses(route: Route, method: str, schemas: _Schemas) -> Json:
    responses: Json = {}
    by_status: dict[int, list[str]] = {}
    for code in errors_of(route, method):
        by_status.setdefault(STATUS_OF[code], []).append(code)
    for status, codes in by_status.items():
        responses[str(status)] = {
            "description": ", ".join(codes),
            "content": {JSON_TYPE: {"schema": {"$ref": _SCHEMA.format(name="Problem")}}},
        }
    for status in (route.status, *route.also):
        responses[str(status)] = _answer(route, status, schemas)
    return responses


def _answer(route: Route, status: int, schemas: _Schemas) -> Json:
    kind = answer_of(route)
    content: Json = {} if kind is None else {JSON_TYPE: {"schema": schemas.of(kind)}}
    content |= {media: {"schema": {"type": "string"}} for media in route.media}
    described: Json = {"description": route.summary}
    return described if status == 204 or not content else {**described, "content": content}


def _parameters(route: Route, schemas: _Schemas) -> list[Json]:
    parts = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "integer", "minimum": 1} if kind is int else {"type": "string"},
        }
        for name, kind in route.path_types.items()
    ]
    if route.query_type is None:
        return parts
    structure = schemas.query(route.query_type)
    required = structure.get("required", [])
    return parts + [
        _query_parameter(name, schema, required=name in required)
        for name, schema in structure["properties"].items()
    ]


def _query_parameter(name: str, schema: Json, *, required: bool) -> Json:
    """Describe one parameter; a query cannot hold null, leaving it out means that."""
    schema = dict(schema)
    if "anyOf" in schema:
        parts = [part for part in schema.pop("anyOf") if part.get("type") != "null"]
        schema |= parts[0] if len(parts) == 1 else {"anyOf": parts}
    if "enum" in schema:
        schema["enum"] = [value for value in schema["enum"] if value is not None]
    if schema.get("default", ...) in (None, [], (), ""):
        del schema["default"]
    described = schema.pop("description", "")
    parameter: Json = {"name": name, "in": "query", "schema": schema}
    if described:
        parameter["description"] = described
    return {**parameter, "required": True} if required else parameter


def _body(kind: Any, schemas: _Schemas) -> Json:  # noqa: ANN401 - a structure, or bytes
    if kind is bytes:
        schema: Json = {"type": "object", "description": "An event as Lidarr sends it."}
        return {"required": True, "content": {JSON_TYPE: {"schema": schema}}}
    required = any(field.required for field in msgspec.structs.fields(kind))
    return {"required": required, "content": {JSON_TYPE: {"schema": schemas.of(kind)}}}


ROUTES: Final = (get("/api/v1/openapi.json", ANYONE, answer_openapi, room=Room.INSTANT),)
