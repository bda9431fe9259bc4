"""What a part of a title says about the recording: live, remix, remaster and their like.

``RULES`` is the table of the match guard: a part belongs to a class when one of
its patterns is found in the part's tokens, written with one blank around each.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Final

from lyrsvc.core.languages import language_of
from lyrsvc.core.wording import Words, words_of


class Kind(StrEnum):
    """A class of qualifier."""

    LIVE = "live"
    EDIT = "edit"
    ACOUSTIC = "acoustic"
    DEMO = "demo"
    SPEED = "speed"
    RERECORDED = "rerecorded"
    REMIX = "remix"
    INSTRUMENTAL = "instrumental"
    COVER = "cover"
    PART = "part"
    LANGUAGE = "language"


TIMING: Final = frozenset(
    {Kind.LIVE, Kind.EDIT, Kind.ACOUSTIC, Kind.DEMO, Kind.SPEED, Kind.RERECORDED}
)
"""The same words at other times."""
WORDS: Final = frozenset({Kind.REMIX, Kind.INSTRUMENTAL, Kind.COVER, Kind.PART, Kind.LANGUAGE})
"""Other words, or none."""

YEAR: Final = r"(?:19|20)\d\d"
MONTH: Final = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december)"
)

RULES: Final[Mapping[Kind, str]] = {
    Kind.LIVE: r"^ live | live $| live (?:at|in|from|on|version|sessions?|recording) "
    r"| unplugged | in concert | concert version | sessions? "
    r"| ao vivo | en vivo | en directo | dal vivo | en concert "
    r"| canli |ライブ|ライヴ|라이브|现场|現場|演唱[会會]| концерт",
    Kind.EDIT: r" edit | extended | radio (?:mix|version|cut) "
    r"| (?:short|long|full|full length) ver(?:sion)? | (?:7|12) (?:inch|mix|version) ",
    Kind.ACOUSTIC: r" acoustic | ac?cap+ella | a cap+ella | stripped | orchestral | symphonic "
    r"| piano version | strings version |^ piano $| acustic[ao] | acoustique | akusti(?:k|sch) "
    r"|アコースティック|어쿠스틱|不插电|不插電| акусти",
    Kind.DEMO: r" demos? | outtake | rehearsal | alternate | alternative | early version "
    r"| rough mix | take (?:\d+|one|two|three|four|five) ",
    Kind.SPEED: r" sped up | speed up | spedup | slowed | nightcore | daycore | 8d ",
    Kind.RERECORDED: r" rerecorded | re recorded | rerecording | re recording | new recording "
    rf"| newly recorded |(?<!remastered) {YEAR} version ",
    Kind.REMIX: r" remix(?:ed|es)? | rmx | refix | bootleg | mashup | rework(?:ed)? | flip | vip "
    r"| dub (?:mix|version) | dub $| mash up | megamix | remix版|リミックス|리믹스| ремикс",
    Kind.INSTRUMENTAL: r" instrumentale?s? | inst | instr | instru | karaoke | backing tracks? "
    r"| minus one |^ minus $|^ mr(?: ver)? $| (?:off|less) vocals? | vocals? off "
    r"| (?:no|without) (?:lead )?vocals? | performance track | accompaniment | playback "
    r"| music box |カラオケ|オフボーカル|インスト|オルゴール|伴奏|纯音乐|純音樂"
    r"|노래방| 반주 | 연주곡 |경음악|인스트| караоке | минус| инструментал",
    Kind.COVER: r" cover $| cover (?:version|ver|song|of|by) | covered by | tribute | parody "
    r"| in the style of | カバー| カヴァー|歌ってみた|翻唱| 커버 | кавер"
    r"| made (?:famous|popular) by | originally performed by "
    r"| (?:alternate|alternative|alt|different|new|other) lyrics? ",
    Kind.PART: r"^ (?:reprise|skit|interlude|intro|outro|prelude|interview) "
    r"| (?:reprise|skit|interlude|intro|outro) $| commentary |^(?! from ).* interview $",
}
_PATTERNS: Final = {kind: re.compile(rule) for kind, rule in RULES.items()}

_NEUTRAL: Final = re.compile(
    r"リマスター|리마스터| ремастер"
    r"| (?:remaster\w*|mono|stereo|deluxe|explicit|clean|anniversary|edition|expanded|bonus|digital"
    r"|atmos|album|single|original|official|video|audio|lyrics?|visualizer|hd|hq|4k|soundtrack|ost"
    rf"|prod|lp|motion picture|theme from) |^ from |^(?: {YEAR})+ $| {YEAR} mix "
    rf"|^ ep $| ep version | main (?:mix|version) "
    rf"|^(?= .*{YEAR} )(?: (?:{YEAR}|\d\d?(?:st|nd|rd|th)?|{MONTH}))+ $"
)
_POSSESSIVE: Final = re.compile(r"\w(?:['‘’‚‛´ʼ′`]s|s['‘’‚‛´ʼ′`])\s+version\b", re.IGNORECASE)

_MIX_WORDS: Final = re.compile(r"remix(?:ed|es)?|rmx|mix|versions?|ver|edit|extended|radio|the|by")
_EXPLAINED: Final = re.compile(
    rf"remaster\w*|mono|stereo|original|album|single|main|atmos|dolby|surround|explicit|clean"
    rf"|digital|deluxe|video|official|rough|short|long|full|length|inch|7|10|12|{YEAR}"
    r"|anniversary|\d\dth"
)

# Without brackets only words that can hardly belong to a title count.
_BARE_TIMING: Final = re.compile(
    rf" live(?: (?:at|in|from|on) .+| version| session| sessions| recording)?(?: {YEAR})? "
    rf"| (?:unplugged|in concert|ao vivo|en vivo|en directo|dal vivo|en concert)(?: {YEAR})? "
    r"| (?:(?:the|radio|single|extended|video|clean|explicit|album|original|short|long|full"
    r"|length|7|12|inch|mix|version|cut|edit|acoustic|acustic[ao]|acapella|a cappella|stripped"
    r"|orchestral|symphonic|piano version|strings version|live|demo|demos|outtake"
    r"|rehearsal|alternate|alternative|early|rough|take \d+"
    r"|sped up|speed up|slowed|and|reverb|nightcore|daycore|8d|audio|rerecorded"
    rf"|re recorded|new recording|remaster\w*|{YEAR}) )+"
)
_BARE_WORDS: Final = re.compile(
    r" (?:instrumental|inst|karaoke)(?: version| mix| track)? | cover | \w+ ver(?:sion)? "
    r"| (?:in|en) \w+ | (?:reprise|skit|interlude|intro|outro) "
)
_BARE_NEUTRAL: Final = re.compile(
    rf" (?:{YEAR} )?(?:digital )?remaster\w*(?: version| edition| mix)?(?: {YEAR})? "
    r"| (?:explicit|deluxe|ost|hd|hq|4k|visualizer|lyrics|mono|stereo) | prod (?:by )?.+ "
    r"| (?:official|original|album|single|explicit|clean|mono|stereo|lyrics?|deluxe|bonus|expanded"
    r"|motion picture|digital) (?:(?:music|lyrics?|version|video|audio|visualizer|mix|track"
    r"|edition|soundtrack|motion picture|hd|hq|4k) ?)+"
)

# Of no class above, but no name either; "Take Me Home" is one, and so are 竹 (Take), 松 (Song).
_NOTE: Final = re.compile(
    r" (?:ver|versions?|versione|versao|versie|versjon|wersja|fassung|edits?|edition|mix|remake"
    r"|arranged?|arrangement|solo|duets?|duett?o|choir|chorus|orchestra|strings|narration|sequel"
    r"|medley|lofi|lo fi|ringtone|teaser|trailer|snippet"
    r"|vocals?) | \S+ (?:size|cut|songs?|takes?) $|^ (?:tv|short|full|(?:fe)?male) $"
    r"|версия|версія| (?:дуэт|соло|хор) |版|独唱|獨唱|合唱|对唱|對唱|弾き語り|アレンジ|サイズ"
    r"|バージョン|バーション|ヴァージョン|ミックス|エディット|(?:ソロ|デュエット|솔로|듀엣) "
    r"|버전|버젼|합창|편곡|גרס[הת]|نسخه|เวอร์ช"
)


@dataclass(frozen=True, slots=True)
class Qualified:
    """What one part says: its classes with their details, or that it says nothing."""

    kinds: Mapping[Kind, frozenset[str]] = field(default_factory=dict)
    neutral: bool = False

    def __bool__(self) -> bool:
        return bool(self.kinds) or self.neutral


@lru_cache(maxsize=256)
def qualify(part: str) -> Qualified:
    """Read a part of a title, given as spelled."""
    tokens = words_of(part).spelled
    if not tokens:
        return Qualified()
    padded = f" {' '.join(tokens)} "
    kinds = {kind: _detail(kind, tokens) for kind in _PATTERNS if _PATTERNS[kind].search(padded)}
    if _POSSESSIVE.search(part):
        kinds[Kind.RERECORDED] = frozenset()
    if language := language_of(tokens):
        kinds[Kind.LANGUAGE] = frozenset({language})
    if Kind.REMIX not in kinds and "mix" in tokens and not _is_explained(tokens, kinds):
        kinds[Kind.REMIX] = _detail(Kind.REMIX, tokens)
    return Qualified(kinds, neutral=not kinds and _NEUTRAL.search(padded) is not None)


def qualify_trailing(tokens: tuple[str, ...], *, origin: bool = False) -> Qualified:
    """Read the last words of a title that stand there without brackets or dash.

    Stricter than a part: every word must be a qualifier's, because "Girl from
    Mars" is no "Girl" and "Come Clean" no "Come"; unless ``origin`` tells that
    the source after ``from`` is quoted.
    """
    padded = f" {' '.join(tokens)} "
    said = qualify(" ".join(tokens))
    if said.neutral:
        from_origin = origin and tokens[0] == "from"
        return said if from_origin or _BARE_NEUTRAL.fullmatch(padded) else Qualified()
    if said.kinds.keys() & WORDS:
        return said if Kind.REMIX in said.kinds or _BARE_WORDS.fullmatch(padded) else Qualified()
    return said if _BARE_TIMING.fullmatch(padded) else Qualified()


def is_version_note(words: Words) -> bool:
    """Tell whether words beside a name tell of a version, such as "TV Size" or "Ballad Ver."."""
    return _NOTE.search(f" {' '.join(words.spelled)} ") is not None


def _detail(kind: Kind, tokens: tuple[str, ...]) -> frozenset[str]:
    if kind is Kind.REMIX:
        return frozenset(t for t in tokens if not _MIX_WORDS.fullmatch(t))
    if kind is Kind.PART:
        found = _PATTERNS[kind].search(f" {' '.join(tokens)} ")
        return frozenset(found[0].split()) if found else frozenset()
    return frozenset()


def _is_explained(tokens: tuple[str, ...], kinds: Mapping[Kind, frozenset[str]]) -> bool:
    """Tell whether a ``mix`` is no remix: every other word says what kind of mix it is."""
    if Kind.LANGUAGE in kinds:
        return True
    others = [token for token in tokens if token not in ("mix", "the", "version")]
    return bool(others) and all(
        _EXPLAINED.fullmatch(token) or token in ("extended", "radio", "edit") for token in others
    )
