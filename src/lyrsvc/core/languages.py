"""Names of languages, as titles use them to mark a version in another tongue."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

_NAMES: Final[Mapping[str, str]] = {
    "arabic": "arabic",
    "bengali": "bengali",
    "bulgarian": "bulgarian",
    "cantonese": "cantonese 粤语 粵語 廣東話",
    "catalan": "catalan catala",
    "chinese": "chinese 中文 中国語",
    "croatian": "croatian",
    "czech": "czech",
    "danish": "danish dansk",
    "dutch": "dutch nederlands nederlandse",
    "english": "english ingles inglesa inglese anglais anglaise englisch 英語 英文 영어",
    "estonian": "estonian",
    "filipino": "filipino tagalog",
    "finnish": "finnish suomi suomeksi",
    "french": "french francais francaise franzosisch frances francese",
    "gaelic": "gaelic irish",
    "german": "german deutsch deutsche aleman allemand tedesco",
    "greek": "greek",
    "hawaiian": "hawaiian",
    "hebrew": "hebrew",
    "hindi": "hindi",
    "hungarian": "hungarian",
    "icelandic": "icelandic",
    "indonesian": "indonesian",
    "italian": "italian italiano italiana italienisch",
    "japanese": "japanese japones japonais 日本語 日文 일본어",
    "korean": "korean coreano 韓国語 韩文 韓文 한국어",
    "latin": "",
    "mandarin": "mandarin 国语 國語",
    "norwegian": "norwegian norsk",
    "persian": "persian farsi",
    "polish": "",
    "portuguese": "portuguese portugues portuguesa brazilian",
    "punjabi": "punjabi",
    "romanian": "romanian",
    "russian": "russian",
    "serbian": "serbian",
    "spanish": "spanish espanol espanola spagnolo spanisch castellano",
    "swahili": "swahili",
    "swedish": "swedish svenska",
    "tamil": "tamil",
    "telugu": "telugu",
    "thai": "thai",
    "turkish": "turkish turkce",
    "ukrainian": "ukrainian",
    "vietnamese": "vietnamese",
    "welsh": "welsh",
}
LANGUAGES: Final[Mapping[str, str]] = {
    word: language for language, words in _NAMES.items() for word in (language, *words.split())
}
_NOUNS: Final = frozenset(
    {"version", "ver", "versione", "versao", "versie", "mix", "remix", "lyrics", "language"}
)
_IN: Final = frozenset({"in", "en", "em", "auf", "på", "pa"})
_CJK_SUFFIX: Final = re.compile(r"(.+?)(?:版|ver|バージョン|ヴァージョン|버전|버젼)")


def language_of(tokens: Sequence[str]) -> str:
    """Name the language that a part of a title consists of or calls its version."""
    if len(tokens) == 1:
        return LANGUAGES.get(tokens[0], "") or _cjk_language(tokens[0])
    for one, two in pairwise(tokens):
        if one in LANGUAGES and two in _NOUNS:
            return LANGUAGES[one]
        if two in LANGUAGES and (one in _NOUNS or one in _IN):
            return LANGUAGES[two]
    return ""


def _cjk_language(token: str) -> str:
    found = _CJK_SUFFIX.fullmatch(token)
    return LANGUAGES.get(found[1], "") if found else ""
