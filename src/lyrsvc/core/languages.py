"""Names of languages, as titles use them to mark a version in another tongue."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from lyrsvc.core.han_forms import fold_han

_NAMES: Final[Mapping[str, str]] = {
    "afrikaans": "",
    "albanian": "",
    "arabic": "",
    "armenian": "",
    "azerbaijani": "",
    "basque": "euskara",
    "belarusian": "белорусская белорусском",
    "bengali": "",
    "bosnian": "",
    "bulgarian": "",
    "cantonese": "粤语 粵語 廣東話 广东话 広東語",
    "catalan": "catala",
    "chinese": "中文 中国語 中国语 中國語 중국어",
    "croatian": "",
    "czech": "ceska cesky",
    "danish": "dansk",
    "dutch": "nederlands nederlandse",
    "english": "ingles inglesa inglese anglais anglaise englisch englische 英語 英语 英文 영어 영문"
    " английская английском английски",
    "esperanto": "",
    "estonian": "",
    "filipino": "tagalog",
    "finnish": "suomi suomeksi suomenkielinen",
    "french": "francais francaise franzosisch franzosische frances francese 法語 法语 フランス語"
    " французская французском французски",
    "gaelic": "irish",
    "galician": "galego",
    "georgian": "",
    "german": "deutsch deutsche aleman allemand allemande tedesco tedesca 德語 德语 ドイツ語"
    " немецкая немецком немецки",
    "greek": "",
    "gujarati": "",
    "hawaiian": "",
    "hebrew": "",
    "hindi": "",
    "hinglish": "",
    "hokkien": "taiwanese 台語 台语 臺語 閩南語 闽南语",
    "hungarian": "magyar",
    "icelandic": "",
    "indonesian": "",
    "italian": "italiano italiana italienisch italienische italien italienne",
    "japanese": "japones japonesa japonais japonaise 日本語 日文 日語 日语 일본어"
    " японская японском",
    "kannada": "",
    "kazakh": "",
    "korean": "coreano coreana 韓国語 韓國語 韓語 韩语 韩文 韓文 한국어",
    "kurdish": "",
    "latin": "",
    "latvian": "",
    "lithuanian": "",
    "macedonian": "",
    "malay": "melayu",
    "malayalam": "",
    "mandarin": "国语 國語 普通话 普通話 華語 华语",
    "maori": "",
    "marathi": "",
    "mongolian": "",
    "nepali": "",
    "norwegian": "norsk",
    "persian": "farsi",
    "polish": "polska polsku",
    "portuguese": "portugues portuguesa portugais portugaise brazilian",
    "punjabi": "",
    "romanian": "",
    "russian": "русская русском русски ロシア語",
    "serbian": "",
    "simlish": "",
    "sinhala": "",
    "slovak": "slovenska slovensky",
    "slovenian": "",
    "spanglish": "",
    "spanish": "espanol espanola espagnol espagnole spagnolo spagnola spanisch spanische castellano"
    " スペイン語 испанская испанском испански",
    "swahili": "",
    "swedish": "svensk svenska",
    "tamil": "",
    "telugu": "",
    "thai": "",
    "turkish": "turkce",
    "ukrainian": "украинская украинском украински українська українською",
    "urdu": "",
    "vietnamese": "",
    "welsh": "",
    "xhosa": "",
    "yiddish": "",
    "zulu": "",
}
LANGUAGES: Final[Mapping[str, str]] = {
    form: language
    for language, words in _NAMES.items()
    for word in (language, *words.split())
    for form in (word, fold_han(word))
}
# Too short to mean a language on their own: only in "JP ver." and its like.
_SHORT: Final[Mapping[str, str]] = {
    **{"eng": "english", "engl": "english", "jp": "japanese", "jpn": "japanese"},
    **{"jap": "japanese", "kr": "korean", "kor": "korean", "cn": "chinese", "chn": "chinese"},
    **{"esp": "spanish", "spa": "spanish", "ger": "german", "fr": "french", "ita": "italian"},
    **{"rus": "russian", "ukr": "ukrainian", "bilingual": "bilingual"},
}
_NOUNS: Final = frozenset(
    {
        *("version", "ver", "versione", "versao", "versie", "versio", "versjon", "versiyon"),
        *("versi", "verze", "verzia", "wersja", "fassung", "mix", "remix", "lyrics", "language"),
        *("версия", "версія", "版", "バージョン", "ヴァージョン", "버전", "버젼"),
    }
)
_IN: Final = frozenset({"in", "en", "em", "auf", "på", "pa", "het", "po", "на", "по"})
_CJK_SUFFIX: Final = re.compile(r"(.+?)(?:版|ver|バージョン|ヴァージョン|버전|버젼|歌?詞|歌?词)")


def language_of(tokens: Sequence[str]) -> str:
    """Name the language that a part of a title consists of or calls its version."""
    if len(tokens) == 1:
        return LANGUAGES.get(tokens[0], "") or _cjk_language(tokens[0])
    for one, two in pairwise(tokens):
        if two in _NOUNS and (language := LANGUAGES.get(one) or _SHORT.get(one)):
            return language
        if two in LANGUAGES and (one in _NOUNS or one in _IN):
            return LANGUAGES[two]
    return ""


def _cjk_language(token: str) -> str:
    found = _CJK_SUFFIX.fullmatch(token)
    return LANGUAGES.get(found[1], "") if found else ""
