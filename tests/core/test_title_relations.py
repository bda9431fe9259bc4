import pytest

from lyrsvc.core.title_relations import relate_titles, settle_trailing
from lyrsvc.core.titles import read_title

NOTES = (
    *("TV Size", "Ballad Ver.", "Rap Version", "Answer Song", "Piano Ver.", "Movie Ver."),
    *("Lo-Fi Ver.", "Lo-Fi", "Slow Ver.", "Duet", "Female Ver.", "Female", "Orchestra", "Strings"),
    *("Solo", "Guitar Solo", "Kids Choir", "Narration", "Sequel", "The First Take", "Guide Vocal"),
)
FAR_NOTES = (
    "ピアノバージョン",
    "ショートサイズ",
    "ソロ",
    "발라드 버전",
    "女声合唱",
    "новая версия",
)
CASES = {
    "equal": [
        ("Harbour Lights", "harbour lights"),
        ("No One", "Noone"),
        ("Song (A) Beta", "Song Beta (A)"),
        ("(I Can't Get No) Satisfaction", "Satisfaction (I Can't Get No)"),
        ("The Long Road", "Long Road"),
        ("A Long Road", "Long Road"),
        ("66A →", "66A"),
        ("?", "？"),
        ("Song (Part 2)", "Song, Pt. II"),
        ("Song (Live)", "Song - 2011 Remaster"),
        ("Song Live", "Song"),
        ("Song", "Song Remastered 2009"),
        ("You and I Live", "You and I"),
        ("Song 2 Live", "Song II"),
    ],
    "symbols": [("66A →", "→ 66A"), ("I ♥ You", "I → You"), ("The ♥ of You", "→ of You")],
    "alias": [
        ("Hikari (光)", "Hikari"),
        ("Hikari (光)", "Hikari (ヒカリ)"),
        ("光", "Hikari (光)"),
        ("光 (Hikari)", "Hikari (光)"),
        ("Hikari 2 (光2)", "Hikari 2"),
        ("紅蓮華 (Gurenge)", "紅蓮華"),
        ("봄날 (Spring Day)", "봄날"),
        ("竹 (Take)", "竹"),
        ("帰り道 (Take Me Home)", "帰り道"),
        ("강남스타일 (Gangnam Style)", "강남스타일"),
        ("SOLO", "솔로 (SOLO)"),
        ("SOLO (솔로)", "솔로 (SOLO)"),
        ("22 (Twenty-Two)", "Twenty-Two"),
        ("紅蓮華 (Gurenge) (TV Size)", "紅蓮華 (TV Size)"),
        ("Gurenge (紅蓮華) (TV Size)", "紅蓮華 (TV Size)"),
    ],
    "numbers": [
        ("1999", "1985"),
        ("Song", "Song 2"),
        ("Song", "Song (Part Two)"),
        ("Song, Pt. 1", "Song, Chapter 2"),
        ("Disco 2000", "Disco"),
        ("Runaway 2.0", "Runaway 20"),
    ],
    "subset": [
        ("Satisfaction", "(I Can't Get No) Satisfaction"),
        ("You and I (Beta)", "You and I"),
        ("22 (OVER S∞∞N)", "22"),
        ("❦ (Ripe & Ruin)", "❦"),
        *((f"紅蓮華 ({note})", "紅蓮華") for note in NOTES),
        *((f"Gurenge ({note})", "Gurenge") for note in FAR_NOTES),
    ],
    "close": [
        ("Harbor Lights", "Harbour Lights"),
        ("The Boxer", "Boxer"),
        ("Halleluja", "Hallelujah"),
    ],
    "script": [("夜に駆ける", "Yoru ni Kakeru"), ("Группа крови", "Gruppa krovi")],
    "different": [
        ("Harbour Lights", "Sow the Salt"),
        ("Teardrop", "Before the Next Teardrop Falls"),
        ("Song (Beta)", "Song (Gamma)"),
        ("22 (Beta)", "22 (Gamma)"),
        ("❦ (Ripe & Ruin)", "❦ (Guitar)"),
        ("Song 1 Beta", "Song 2 Gamma"),
        ("Song (10 Minute Version)", "Song"),
        ("光 (Part 2)", "Hikari (光)"),
        ("光 (TV Size)", "Hikari (光)"),
        ("光", "Hikari (光) (TV Size)"),
        ("光 (Hikari)", "光 (TV Size)"),
        ("光", "Hikari (光) (Part 2)"),
        ("光", "Hikari (光 2)"),
        ("Hikari (光 2)", "Hikari"),
        ("?", "!"),
        ("?", "1"),
        ("?", "Why"),
        ("Song", ""),
        ("", ""),
        ("1", "Song"),
        ("Girl", "Girl from Mars"),
        ("The", "A"),
        ("Smells Like Teen Spirit", "Smels Like Teen Sprit"),
        ("Song A", "Song B"),
        ("Alive", "Live"),
        ("Closer", "Loser"),
    ],
}
ROWS = [(relation, *pair) for relation, pairs in CASES.items() for pair in pairs]


@pytest.mark.parametrize(("relation", "one", "other"), ROWS)
def test_two_titles_have_one_relation_whichever_is_asked(relation, one, other):
    for pair in ((one, other), (other, one)):
        assert relate_titles(*settle_trailing(*map(read_title, pair))) == relation
