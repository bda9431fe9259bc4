"""Reading what a request says into the structure its handler asks for."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

import msgspec

from lyrsvc.web.exchange import Exchange, Form, read_pairs
from lyrsvc.web.problems import Problem

_CARRIER = "apikey"
_NO_CHOICE = "Invalid enum value"
_WORDED: Final = (
    (re.compile(r"Expected `int(?: \| null)?` >= (\S+)"), r"must be at least \1"),
    (re.compile(r"Expected `int(?: \| null)?` <= (\S+)"), r"must be at most \1"),
    (re.compile(r"Expected `int.*`, got `.*`"), "must be a whole number"),
    (re.compile(r"Expected `bool.*`, got `.*`"), "must be true or false"),
    (re.compile(r"Expected `str.*` of length <= (\S+)"), r"must have at most \1 characters"),
    (re.compile(r"Expected `str.*` of length >= 1"), "must not be empty"),
    (re.compile(r"Expected `str.*`, got `.*`"), "must be text"),
    (re.compile(r"Expected `array.*` of length <= (\S+)"), r"must have at most \1 entries"),
    (re.compile(r"Expected `array.*`, got `.*`"), "must be a list"),
    (re.compile(r"Expected `object.*`, got `.*`"), "must be a JSON object"),
)
"""What the reader of structures says about values, and what people are told instead."""
_MEMBER: Final = re.compile(r"Object (missing required|contains unknown) field `(.*)`", re.DOTALL)
_LONGEST_NAME: Final = 64


class NoQuery(msgspec.Struct, forbid_unknown_fields=True):
    """An address of the API that takes no parameter."""


def read_query(exchange: Exchange, kind: type) -> Any:  # noqa: ANN401 - the asked structure
    """Read the query parameters; an unknown or a bad one is named."""
    names, lists = _names(kind), _list_fields(kind)
    values: dict[str, Any] = {}
    for name, text in exchange.query_pairs:
        if name == _CARRIER and name not in names:
            continue
        if name not in names:
            raise Problem("invalid_request", f"{name[:_LONGEST_NAME]}: unknown parameter")
        if not text:
            continue
        if name in lists:
            values.setdefault(name, []).append(text)
        elif name in values:
            raise Problem("invalid_request", f"{name}: given more than once")
        else:
            values[name] = text
    try:
        return msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        raise Problem("invalid_request", _sentence(error, kind)) from error


def read_body(exchange: Exchange, kind: type) -> Any:  # noqa: ANN401 - the asked structure
    """Read the JSON body; nothing sent counts as an empty object."""
    if kind is bytes:
        return exchange.body
    try:
        return msgspec.json.decode(exchange.body or b"{}", type=kind)
    except msgspec.ValidationError as error:
        raise Problem("invalid_request", _sentence(error, kind)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Problem("invalid_request", "the body is no valid JSON") from error


def read_path(params: Mapping[str, str], kinds: Mapping[str, type]) -> dict[str, Any]:
    """Read the parts of the path; one that cannot be an id names nothing."""
    found: dict[str, Any] = {}
    for name, kind in kinds.items():
        text = params[name]
        if kind is int:
            if not (text.isascii() and text.isdigit() and len(text) <= 18):
                raise Problem("not_found", "there is nothing with this id")
            found[name] = int(text)
        else:
            found[name] = text
    return found


def read_form(exchange: Exchange) -> Form:
    """Read a posted form; anything else counts as an empty one."""
    kind = exchange.header("content-type").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        return Form()
    return Form(read_pairs(exchange.body.decode("utf-8", "replace")))


def read_wish(form: Form, kind: type) -> Any:  # noqa: ANN401 - the asked structure
    """Read the fields of a form into the structure that JSON is read into; ``id`` gives ``ids``."""
    names = _names(kind)
    values: dict[str, Any] = {name: text for name in names if (text := form.get(name))}
    if "ids" in names and (ids := form.all("id")):
        values["ids"] = ids
    try:
        return msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        raise Problem("invalid_request", _sentence(error, kind)) from error


@cache
def fields_of(kind: type) -> tuple[msgspec.structs.FieldInfo, ...]:
    """Give the fields of a structure; finding them out takes longer than most of what is read."""
    return msgspec.structs.fields(kind)


def _names(kind: type) -> set[str]:
    return {field.encode_name for field in fields_of(kind)}


@cache
def _list_fields(kind: type) -> set[str]:
    hints = get_type_hints(kind)
    return {name for name, hint in hints.items() if get_origin(hint) in (list, tuple)}


def _sentence(error: msgspec.ValidationError, kind: type) -> str:
    """Put the name of the member first: ``page: must be a whole number``."""
    text, _, place = str(error).partition(" - at `$")
    name = place.rstrip("`").lstrip(".")
    field = name.partition("[")[0]
    if text.startswith(_NO_CHOICE) and (choices := _choices(kind).get(field)):
        return f"{field}: must be one of {', '.join(choices)}"
    if found := _MEMBER.fullmatch(text):
        what = "is needed" if found[1] == "missing required" else "unknown member"
        return f"{found[2][:_LONGEST_NAME]}: {what}"
    for pattern, words in _WORDED:
        text = pattern.sub(words, text)
    text = text[:1].lower() + text[1:]
    return f"{name}: {text}" if name else f"the body {text}"


@cache
def _choices(kind: type) -> Mapping[str, tuple[str, ...]]:
    """Give the words that each field of closed choices may have."""
    hints = get_type_hints(kind)
    return {name: tuple(map(str, _literals(hint))) for name, hint in hints.items()}


def _literals(hint: Any) -> tuple[object, ...]:  # noqa: ANN401 - any annotation
    if get_origin(hint) is Literal:
        return get_args(hint)
    return tuple(word for part in get_args(hint) for word in _literals(part))
