"""The normaliser behind the ``_lower`` columns of the catalogue's dump, code point by code point.

It must agree with the server's own one exactly: a row is found only when both
sides come to the same text. It is no match key and is used for nothing else.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final

from lyrsvc.core.normal_forms import normal_form

_EXCEPTIONS: Final = {
    variant: letter
    for letter, variants in {
        "a": "ȺɐẚⱥⱯ",
        "b": "ƀƁƂƃɃɓ",
        "c": "ƇƈȻȼↄꜾꜿ",
        "d": "ĐđƉƊƋƌɖɗꝹꝺ",
        "e": "ƎƐǝɇɛ",
        "f": "ƑƒꝻꝼ",
        "g": "ƓǤǥɠᵹꝽꝾꝿꞠꞡ",
        "h": "ĦħɥⱧⱨⱵⱶꞍ",
        "i": "ıƗɨ",
        "j": "Ɉɉ",
        "k": "ƘƙⱩⱪꝀꝁꝂꝃꝄꝅꞢꞣ",
        "l": "ĿŀŁłſƚȽɫⱠⱡⱢꝆꝇꝈꝉꞀꞁ",
        "m": "ƜɯɱⱮ",
        "n": "ŉƝƞȠɲꞐꞑꞤꞥ",
        "o": "ØøƆƟǾǿɔɵꝊꝋꝌꝍ",
        "p": "ƤƥᵽⱣꝐꝑꝒꝓꝔꝕ",
        "q": "ɊɋꝖꝗꝘꝙ",
        "r": "ɌɍɽⱤꝚꝛꞂꞃꞦꞧ",
        "s": "ßȿẛẞⱾꞄꞅꞨꞩ",
        "t": "ŦŧƬƭƮȾʈⱦꞆꞇ",
        "u": "Ʉʉ",
        "v": "ƲɅʋʌꝞꝟ",
        "w": "Ⱳⱳ",
        "y": "ƳƴɎɏỾỿ",
        "z": "ƵƶȤȥɀⱫⱬⱿꝢꝣ",
        "å": "\u212b",
    }.items()
    for variant in variants
}
_TO_SPACE: Final = str.maketrans(dict.fromkeys('`~!@#$%^&*()_|+-=?;:",.<>{}[]\\/', " "))
_DELETED: Final = str.maketrans(dict.fromkeys("'’"))
_FULL_WIDTH_OR_CIRCLED: Final = re.compile("[Ａ-Ｚａ-ｚⒶ-ⓩ]")


def normalise(text: str) -> str:
    """Bring a name to the form the dump's ``_lower`` columns hold."""
    plain = "".join(map(_fold, normal_form("NFC", text)))
    spaced = plain.translate(_TO_SPACE).translate(_DELETED)
    return " ".join(spaced.lower().split())


@lru_cache(maxsize=4096)
def _fold(char: str) -> str:
    """Turn one code point into exactly one."""
    if char in _EXCEPTIONS:
        return _EXCEPTIONS[char]
    if _FULL_WIDTH_OR_CIRCLED.match(char):
        return unicodedata.normalize("NFKD", char).lower()
    base, *marks = tuple(unicodedata.normalize("NFD", char))
    if base.isascii() and base.isalpha() and all(map(unicodedata.combining, marks)):
        return base.lower()
    return char.lower()[0]
