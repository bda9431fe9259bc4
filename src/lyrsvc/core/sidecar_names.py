"""Names of sidecars that do not simply follow an audio file's name."""

import re
import unicodedata
from functools import lru_cache
from hashlib import sha256
from typing import Final

from lyrsvc.core.normal_forms import normal_form

LONGEST_SLUG: Final = 100
"""In bytes of UTF-8, so that two of them, a number and an extension fit every file system."""

_FORBIDDEN: Final = re.compile(r'[\\/:*?"<>|]')
_DASHES: Final = re.compile("-{2,}")
_EDGES: Final = " .-_"
_RESERVED: Final = frozenset(
    {
        *("CON", "PRN", "AUX", "NUL"),
        *(f"{port}{number}" for port in ("COM", "LPT") for number in range(1, 10)),
    }
)
_LANGUAGE: Final = re.compile(r"([a-z]{2,3})(?:[-_][A-Za-z0-9]{2,8}){0,3}")
_CODES: Final = (
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv "
    "cy da de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr "
    "ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw "
    "ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv "
    "ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr "
    "ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi "
    "yo za zh zu "
    "ara bul cat ces chi cmn cze dan deu dut ell eng est eus fas fin fra fre ger gre heb hin "
    "hrv hun ind ita jpn kor lat lav lit msa nld nor pol por ron rum rus slk slo slv spa srp "
    "swe tam tel tgl tha tur ukr urd vie yue zho"
)
_LANGUAGES: Final = frozenset(_CODES.split())
"""Codes in use for lyrics; any other ending of a stem is taken for a part of the name."""


def has_language_suffix(stem: str) -> bool:
    """Tell whether a sidecar's stem ends in a language code: ``Song.en``, ``Song.pt-BR``."""
    name, _, code = stem.rpartition(".")
    found = _LANGUAGE.fullmatch(code)
    return bool(name) and found is not None and found[1] in _LANGUAGES


def query_stem(artist: str, title: str) -> str:
    """Give the stem for lyrics without an audio file; always one path component."""
    names = slug(artist), slug(title)
    if not all(names):
        digest = sha256(f"{artist}\n{title}".encode("utf-8", "replace")).hexdigest()
        names = names[0] or f"untitled-{digest[:8]}", names[1] or f"untitled-{digest[:8]}"
    return " - ".join(names)


def numbered(stem: str, number: int) -> str:
    """Give the stem of the second and further queries that would share a name."""
    return stem if number < 2 else f"{stem} ({number})"


@lru_cache(maxsize=256)
def slug(text: str) -> str:
    """Bring a name into a form that every file system takes; empty when nothing is left."""
    plain = _FORBIDDEN.sub("", normal_form("NFKC", text))
    if not (plain.isascii() and plain.isprintable()):
        plain = "".join(c for c in plain if unicodedata.category(c)[0] != "C")
    squeezed = _DASHES.sub("-", " ".join(plain.split())).strip(_EDGES)
    short = _cut(squeezed).rstrip(_EDGES)
    is_reserved = short.partition(".")[0].rstrip().upper() in _RESERVED
    return f"_{short}" if is_reserved else short


def _cut(text: str) -> str:
    return text.encode()[:LONGEST_SLUG].decode("utf-8", "ignore")
