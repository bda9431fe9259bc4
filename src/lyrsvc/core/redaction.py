"""No secret leaves the program: by field name, by value and by shape.

The ``Redactor`` is made once and handed to every part that writes text for
others: log handlers, notes, stored error texts, JSON error bodies. Every secret
is registered the moment it is known. Values are cleaned before they are put into
a document; a finished line is then looked through again for values alone.
"""

import math
import re
import threading
from binascii import b2a_base64
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date
from functools import lru_cache
from itertools import pairwise
from typing import Final

from lyrsvc import brand
from lyrsvc.core.escapes import decoded_views

REDACTED: Final = "[REDACTED]"
SHORTEST_SECRET: Final = 6

SECRET_FIELDS: Final = frozenset(
    {
        *("token", "usertoken", "user_token", "csrf_token", "authorization", "proxy_authorization"),
        *("api_key", "api_keys", "apikey", "x_api_key", "webhook_api_key", "webhook_api_keys"),
        *("cookie", "set_cookie", "secret", "password", "passwd", "master_key"),
    }
)
_SECRET_ENDINGS: Final = (
    *("_token", "_api_key", "_api_keys", "_apikey", "_master_key"),
    *("_secret", "_password", "_cookie"),
)
_DEEPEST: Final = 8
_LONGEST_RECALLED: Final = 64
_MOST_RECALLED: Final = 256
"""The same few names and words are cleaned for line after line."""
_SHORT_NUMBERS: Final = range(-9_999, 100_000)
"""Those with too few characters for a secret, the sign included."""


class Redactor:
    """Knows the secrets of this process and takes them out of any text.

    A text is looked through once, however many secrets there are: each stretch
    of six characters is looked up among the beginnings of all registered forms.
    Registering and cleaning may happen in different threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forms: set[str] = set()
        self._lengths: dict[str, tuple[int, ...]] = {}
        self._heads: tuple[str, ...] = ()
        self._recalled: dict[str, str] = {}

    @property
    def known_forms(self) -> int:
        """Tell how many forms of secrets are known: what was cleaned before may not be any more."""
        return len(self._forms)

    def register(self, secret: str) -> None:
        """Remember a secret; anything shorter than six characters is left alone."""
        for variant in {secret, secret.strip()}:
            if len(variant) >= SHORTEST_SECRET and not variant.isspace():
                for form in _forms(variant):
                    self._add(form)

    def clean(self, text: str) -> str:
        """Give the text without registered secrets and without anything shaped like one."""
        if len(text) > _LONGEST_RECALLED:
            return _without_shapes(self.clean_values(text))
        recalled = self._recalled
        cleaned = recalled.get(text)
        if cleaned is None:
            cleaned = _without_shapes(self.clean_values(text))
            if len(recalled) >= _MOST_RECALLED:
                recalled.clear()
            recalled[text] = cleaned
        return cleaned

    def clean_values(self, text: str) -> str:
        """Give the text without registered secrets, however they are escaped in it."""
        if not self._lengths or len(text) < SHORTEST_SECRET:
            return text
        if "%" not in text and "\\" not in text:  # nothing in it is escaped
            found = list(self._find(text)) if self._may_hold(text) else []
            return _without_spans(text, found) if found else text
        spans: list[tuple[int, int]] = []
        for view in decoded_views(text):
            spans += [view.source(start, end) for start, end in self._find(view.text)]
        return _without_spans(text, spans) if spans else text

    def clean_fields(self, fields: Mapping[str, object]) -> dict[str, object]:
        """Give the fields as plain JSON values, secrets hidden by name, value and shape."""
        return self._plain_mapping(fields, 0)

    def _add(self, form: str) -> None:
        head = form[:SHORTEST_SECRET]
        with self._lock:
            self._forms.add(form)  # before its head, so that a reader never misses it
            lengths = {*self._lengths.get(head, ()), len(form)}
            self._lengths[head] = tuple(sorted(lengths, reverse=True))
            self._heads = tuple(self._lengths)
            self._recalled = {}  # whoever is cleaning a text just now puts it into the old one

    def _may_hold(self, text: str) -> bool:
        """Tell quickly of most texts that they hold no secret: nearly every line is such a one."""
        heads = self._heads
        return len(heads) > len(text) or any(map(text.__contains__, heads))

    def _find(self, text: str) -> Iterator[tuple[int, int]]:
        lengths_of = self._lengths.get
        for start in range(len(text) - SHORTEST_SECRET + 1):
            lengths = lengths_of(text[start : start + SHORTEST_SECRET])
            if lengths:
                for length in lengths:
                    form = text[start : start + length]
                    if form in self._forms:
                        yield start, start + len(form)
                        break

    def _plain_mapping(self, fields: Mapping[str, object], depth: int) -> dict[str, object]:
        plain: dict[str, object] = {}
        recalled = self._recalled.get  # every line comes by here: most of it is known
        for name, value in list(fields.items()):
            text = name if type(name) is str else _text(name)
            if _names_a_secret(text):
                shown: object = REDACTED
            elif type(value) is str:
                shown = recalled(value) or self.clean(value)
            elif type(value) is int and value in _SHORT_NUMBERS:
                shown = value
            else:
                shown = self._plain(value, depth + 1)
            plain[recalled(text) or self.clean(text)] = shown
        return plain

    def _plain(self, value: object, depth: int) -> object:
        if type(value) is str:
            return self.clean(value)
        if type(value) is int and value in _SHORT_NUMBERS:
            return value
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float):
            return self._plain_number(value)
        is_text = isinstance(value, str | bytes | bytearray)
        if not is_text and isinstance(value, Mapping | Sequence | AbstractSet):
            return self._plain_group(value, depth)
        return self.clean(_text(value))

    def _plain_group(self, group: Collection[object], depth: int) -> object:
        if depth >= _DEEPEST:
            return "…"
        if isinstance(group, Mapping):
            return self._plain_mapping(group, depth)
        return [self._plain(one, depth + 1) for one in group]

    def _plain_number(self, value: float) -> object:
        text = _text(value)
        hidden = self.clean_values(text)
        # Infinity, a nameless huge number and enumeration names are shown as text.
        is_plain = math.isfinite(value) if isinstance(value, float) else text[-1:].isdigit()
        return value if is_plain and hidden == text else hidden


def _forms(secret: str) -> Iterator[str]:
    yield secret
    yield secret.replace(" ", "+")
    raw = secret.encode("utf-8", "surrogatepass")
    for form in _base64_forms(raw):
        yield form
        yield form.translate(_URL_SAFE)


_URL_SAFE: Final = str.maketrans("+/", "-_")


def _base64_forms(raw: bytes) -> Iterator[str]:
    whole = b2a_base64(raw, newline=False).decode("ascii")
    yield whole
    yield whole.rstrip("=")
    # Inside a longer text the secret begins at one of three alignments; only
    # the characters made of its bits alone are the same every time.
    for offset in range(3):
        shifted = b2a_base64(bytes(offset) + raw, newline=False).decode("ascii")
        yield shifted[-(-offset * 8 // 6) : (offset + len(raw)) * 8 // 6]


def _without_spans(text: str, spans: list[tuple[int, int]]) -> str:
    spans.sort()
    merged = [spans[0]]
    for start, end in spans[1:]:
        if start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    edges = [(0, 0), *merged, (len(text), len(text))]
    return REDACTED.join(text[end:start] for (_, end), (start, _) in pairwise(edges))


@lru_cache(maxsize=256)
def _names_a_secret(name: str) -> bool:
    plain = name.lower().replace("-", "_").rpartition(".")[2]
    return plain in SECRET_FIELDS or plain.endswith(_SECRET_ENDINGS)


def _text(value: object) -> str:
    if isinstance(value, bytes | bytearray):
        return value.decode("utf-8", "backslashreplace")
    try:
        return value.isoformat() if isinstance(value, date) else str(value)
    except Exception:  # noqa: BLE001 a log line never fails because of what it shows
        return f"<unprintable {type(value).__name__}>"


_NAMES: Final = (
    r"api[_-]?keys?|user[_-]?token|token|passw(?:or)?d|secret|master[_-]?key"
    rf"|{brand.SESSION_COOKIE}|{brand.CSRF_COOKIE}"
)
_NAME_MARKERS: Final = (
    *("apikey", "api_key", "api-key", "token", "passw", "secret", "master"),
    *("authorization", "cookie", brand.SESSION_COOKIE),
)
_HEADERS: Final = r"(?:proxy-)?authorization|(?:set-)?cookie|x-api-key"
_OPEN: Final = r"(?!\[REDACTED\])"

_QUOTED_PAIR: Final = (
    rf"""(?i)(b?\\?["'][\w-]{{0,24}}?(?:{_NAMES}|{_HEADERS})\\?["']\s{{0,4}}[:,]\s{{0,4}}"""
    rf"""b?(\\?["'])){_OPEN}(?:(?!\2)[^\r\n])+"""
)
_ASSIGNMENT: Final = (
    rf"""(?i)({_NAMES})(\s?=\s?|%3d){_OPEN}"""
    r"""(?:"[^"\r\n]*"|'[^'\r\n]*'|(?:[^\s&"'<>\\]|\\(?!["'nrt]))+)"""
)
_HEADER_LINE: Final = (
    rf"(?i)\b({_HEADERS})([ \t]{{0,4}}[:=][ \t]{{0,4}})(?![ \t]|\[REDACTED\])[^\r\n]+"
)
_USER_INFO: Final = (
    r"""://[^\s/?#"'<>@:\[]{0,256}:(?!\d{1,5}(?:[/?#]|$))[^\s"'<>@]{0,512}@"""
    r"""(?:[^\s"'<>@/?#]{0,512}@)*"""
)
_OWN_KEY: Final = rf"(?i){brand.API_KEY_PREFIX}[0-9a-f]{{64,}}"

_SHAPES: Final = (
    (_NAME_MARKERS, _QUOTED_PAIR, rf"\1{REDACTED}"),
    (_NAME_MARKERS, _ASSIGNMENT, rf"\1\2{REDACTED}"),
    (("authorization", "cookie", "x-api-key"), _HEADER_LINE, rf"\1\2{REDACTED}"),
    (("://",), _USER_INFO, rf"://{REDACTED}@"),
    ((brand.API_KEY_PREFIX,), _OWN_KEY, REDACTED),
)
"""Words that must be there for a pattern to be tried, the pattern, what is left of it.

Patterns are compiled when first needed: most short commands never need one.
"""
_JOINTS: Final = (":", "=", ",", "%")
"""Every shape but the key of our own joins a name to a value with one of these."""
_SHORTEST_KEY: Final = len(brand.API_KEY_PREFIX) + 64


def _without_shapes(text: str) -> str:
    if len(text) < _SHORTEST_KEY and not any(map(text.__contains__, _JOINTS)):
        return text
    lower = text.lower()
    for markers, pattern, replacement in _SHAPES:
        if any(marker in lower for marker in markers):
            text = re.sub(pattern, replacement, text)
    return text
