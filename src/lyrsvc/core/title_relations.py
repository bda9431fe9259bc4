"""How an answered title relates to the asked one."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import StrEnum
from typing import Final

from lyrsvc.core.qualifiers import is_version_note, qualify_trailing
from lyrsvc.core.similarity import near_words
from lyrsvc.core.titles import Title
from lyrsvc.core.wording import ARTICLES, Words, same_words, symbols_clash, tokens_fit

_DIGITS: Final = re.compile(r"\d+")


class TitleRelation(StrEnum):
    """The relations of two titles, the first that holds counts."""

    EQUAL = "equal"
    SYMBOLS = "symbols"
    ALIAS = "alias"
    NUMBERS = "numbers"
    SUBSET = "subset"
    CLOSE = "close"
    SCRIPT = "script"
    DIFFERENT = "different"


def relate_titles(one: Title, other: Title) -> TitleRelation:
    """Name the first relation that holds."""
    for relation, holds in _RULES:
        if holds(one, other):
            return relation
    return TitleRelation.DIFFERENT


def settle_trailing(one: Title, other: Title) -> tuple[Title, Title]:
    """Count last words that only one side has as the part they form ("Harbour Lights Live")."""
    return _settle(one, other), _settle(other, one)


def _settle(longer: Title, shorter: Title) -> Title:
    for spelled in (True, False):
        words = _list_of(longer.full, spelled=spelled)
        start = _list_of(shorter.full, spelled=spelled)
        if start and len(words) > len(start) and words[: len(start)] == start:
            said = qualify_trailing(words[len(start) :], origin=longer.quotes_origin)
            if said:
                kinds = {**said.kinds, **longer.kinds}
                return replace(
                    longer, core=shorter.core, full=shorter.full, extras=shorter.extras, kinds=kinds
                )
    return longer


def _list_of(words: Words, *, spelled: bool) -> tuple[str, ...]:
    return words.spelled if spelled else words.tokens


def _tie(one: Title, other: Title) -> bool:
    return (
        same_words(one.full, other.full)
        or (same_words(one.core, other.core) and _same_extras(one.extras, other.extras))
        or _article_apart(one.full, other.full) > 1
    )


def _same_extras(some: tuple[Words, ...], others: tuple[Words, ...]) -> bool:
    return len(some) == len(others) and sorted(w.tokens for w in some) == sorted(
        w.tokens for w in others
    )


def _article_apart(one: Words, other: Words) -> int:
    """Count the tokens that remain when one side has a leading article more; 0 if it has not."""
    shorter, longer = sorted((one.tokens, other.tokens), key=len)
    if longer[:1] and longer[0] in ARTICLES and longer[1:] == shorter:
        return len(shorter)
    return 0


def _are_equal(one: Title, other: Title) -> bool:
    return _tie(one, other) and not symbols_clash(one.full, other.full)


def _are_aliases(one: Title, other: Title) -> bool:
    if same_words(one.core, other.core):
        if not one.core.scripts:  # signs and numbers are read everywhere: "22 (Over)", "22 (Under)"
            return False
        extras = [_is_foreign(e, one.core) for e in one.extras]
        extras += [_is_foreign(e, other.core) for e in other.extras]
        return bool(extras) and all(extras) and _same_notes(one.extras, other.extras)
    return _is_named_by(one, other) or _is_named_by(other, one)


def _is_named_by(one: Title, other: Title) -> bool:
    """Tell whether the core of one is the other's name in another script."""
    names = [extra for extra in other.extras if same_words(one.core, extra)]
    others = [extra for extra in other.extras if extra not in names]
    if any(extra.numbers for extra in (*one.extras, *others)):
        return False
    said = [extra for extra in one.extras if not same_words(other.core, extra)]
    return any(_is_foreign(name, other.core) for name in names) and _same_notes(said, others)


def _same_notes(some: Iterable[Words], others: Iterable[Words]) -> bool:
    """Tell whether both sides say the same of the version: "TV Size" is no name in Latin."""
    left, right = ({e.tokens for e in extras if is_version_note(e)} for extras in (some, others))
    return left == right


def _is_foreign(extra: Words, core: Words) -> bool:
    if not extra.scripts or extra.scripts & core.scripts:
        return False
    return not extra.numbers or _digits(extra) == _digits(core)


def _digits(words: Words) -> list[str]:
    return _DIGITS.findall(" ".join(words.numbers))


def _differ_in_numbers(one: Title, other: Title) -> bool:
    return (
        one.full.numbers != other.full.numbers
        and one.full.plain_words == other.full.plain_words
        and not one.is_symbolic
        and not other.is_symbolic
    )


def _is_subset(one: Title, other: Title) -> bool:
    if bool(one.extras) == bool(other.extras) or not same_words(one.core, other.core):
        return False
    return not any(extra.numbers for extra in (*one.extras, *other.extras))


def _are_close(one: Title, other: Title) -> bool:
    if _article_apart(one.full, other.full) == 1:
        return True
    left, right = one.full.tokens, other.full.tokens
    if not left or len(left) != len(right) or one.full.numbers != other.full.numbers:
        return False
    if len(left) == 1 and left[0][0] != right[0][0]:  # "Alive" is no slip of "Live"
        return False
    apart = [pair for pair in zip(left, right, strict=True) if not tokens_fit(*pair)]
    return len(apart) <= max(1, len(left) // 4) and all(near_words(*pair) for pair in apart)


def _share_no_script(one: Title, other: Title) -> bool:
    left, right = one.full.scripts, other.full.scripts
    return bool(left and right) and not left & right


_RULES: Final[tuple[tuple[TitleRelation, Callable[[Title, Title], bool]], ...]] = (
    (TitleRelation.EQUAL, _are_equal),
    (TitleRelation.SYMBOLS, _tie),
    (TitleRelation.ALIAS, _are_aliases),
    (TitleRelation.NUMBERS, _differ_in_numbers),
    (TitleRelation.SUBSET, _is_subset),
    (TitleRelation.CLOSE, _are_close),
    (TitleRelation.SCRIPT, _share_no_script),
)
