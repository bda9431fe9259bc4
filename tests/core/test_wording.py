import pytest

from lyrsvc.core.alphabets import letter_script, letter_scripts
from lyrsvc.core.wording import compare_form, same_words, symbols_clash, tokens_fit, words_of


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (
            "Mø Łona Đon Eð Þor Ænema Œuvre ışık Ħal Ŋa",
            "mo lona don ed thor aenema oeuvre isik hal na",
        ),
        ("P!nk", "pink"),
        ("Wham!", "wham!"),
        ("Ke$ha", "kesha"),
        ("Joey Bada$$", "joey badass"),
        ("$100", "$100"),
        ("2 × 4", "2 x 4"),
        ("Florence + The Machine", "florence and the machine"),
        ("1 + 1", "1 + 1"),
        ("1 + One", "1 and one"),
        ("Rock 'n' Roll", "rock and roll"),
        ("Rock'n'Roll", "rock and roll"),
        ("Rock’n Roll", "rock and roll"),
        ("Salt-N-Pepa", "salt-and-pepa"),
        ("Vitamin N", "vitamin n"),
        ("Stay w/ Me", "stay with me"),
        ("T.N.T.", "tnt"),
        ("M.A.A.D City", "maad city"),
        ("Всё", "все"),
    ],
)
def test_the_compare_form_undoes_the_tricks_of_spelling(text, form):
    assert compare_form(text) == form


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("F**k You", ("f**k", "you")),
        ("***Flawless", ("flawless",)),
        ("हिन्दी गान", ("हिन्दी", "गान")),
        ("66A →", ("66a",)),
        ("❤️ me", ("me",)),
    ],
)
def test_tokens_are_runs_of_letters_digits_and_marks(text, tokens):
    assert words_of(text).spelled == tokens


def test_a_text_without_tokens_is_its_signs():
    words = words_of("? !")
    assert (words.tokens, words.signs, words.is_blank) == ((), "?!", False)
    assert words_of(" \u200b").is_blank


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("No One", "Noone"),
        ("Song II", "Song 2"),
        ("F**k", "Fuck"),
        ("f*ck", "f**k"),
        ("N*E*R*D", "NERD"),
        ("24/7", "247"),
        ("10,000 Hours", "10000 Hours"),
        ("Planet X", "PlanetX"),
        ("?", "？"),
    ],
)
def test_the_same_words_may_be_written_in_other_ways(one, other):
    assert same_words(words_of(one), words_of(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [("2.0", "20"), ("F**k", "F*k2"), ("F*ck", "F1ck"), ("?", "??"), ("?", "Why"), ("", "")],
)
def test_other_words_are_other_words(one, other):
    assert not same_words(words_of(one), words_of(other))


def test_an_asterisk_stands_for_one_letter():
    assert tokens_fit("b*tch", "bitch")
    assert tokens_fit("bitch", "b*tch")
    assert not tokens_fit("b*tch", "b1tch")
    assert not tokens_fit("b*tch", "btch")


@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [
        ("66A →", "→ 66A", True),
        ("66A →", "66A", False),
        ("66A →", "66 A→", False),
        ("Song II →", "Song 2 →", False),
        ("I ♥ You", "I → You", True),
        ("Song ™", "Song ♪", False),
    ],
)
def test_symbols_clash_only_when_both_sides_have_some(one, other, clash):
    assert symbols_clash(words_of(one), words_of(other)) is clash


@pytest.mark.parametrize(
    ("char", "script"),
    [
        *(("a", "LATIN"), ("É", "LATIN"), ("σ", "GREEK"), ("й", "CYRILLIC"), ("夜", "HAN")),
        *(("々", "HAN"), ("か", "KANA"), ("カ", "KANA"), ("ー", "KANA"), ("한", "HANGUL")),
        *(("1", ""), ("?", ""), ("→", ""), ("ʰ", "")),
    ],
)
def test_a_letter_has_a_script_and_nothing_else_has(char, script):
    assert letter_script(char) == script


def test_the_scripts_of_a_text_are_those_of_its_letters():
    assert letter_scripts("夜に kakeru 2") == {"HAN", "KANA", "LATIN"}
