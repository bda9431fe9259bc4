"""Names guessed from where a file lies."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.core.file_names import GuessedNames, guess_names, without_year


@pytest.mark.parametrize(
    ("name", "artist", "title"),
    [
        ("03 - Wishmaker - Harbour Lights.flac", "Wishmaker", "Harbour Lights"),
        ("Wishmaker - Harbour Lights.flac", "Wishmaker", "Harbour Lights"),
        ("Wishmaker – Harbour Lights.flac", "Wishmaker", "Harbour Lights"),
        ("Wishmaker - Harbour - Lights.flac", "Wishmaker", "Harbour - Lights"),
        ("03 - Harbour Lights.mp3", "", "Harbour Lights"),
        ("03 Harbour Lights.mp3", "", "Harbour Lights"),
        ("03. Harbour Lights.mp3", "", "Harbour Lights"),
        ("03.Harbour Lights.mp3", "", "Harbour Lights"),
        ("03-Harbour Lights.mp3", "", "Harbour Lights"),
        ("03_Harbour_Lights.mp3", "", "Harbour Lights"),
        ("1-03 Harbour Lights.mp3", "", "Harbour Lights"),
        ("103 Harbour Lights.mp3", "", "Harbour Lights"),
        ("03. Wishmaker - Harbour Lights.mp3", "Wishmaker", "Harbour Lights"),
        ("03 Wishmaker - Harbour Lights.mp3", "Wishmaker", "Harbour Lights"),
        ("50 Cent - In Da Club.mp3", "50 Cent", "In Da Club"),
        ("Wishmaker - Northern - 03 - Harbour Lights.mp3", "Wishmaker", "Harbour Lights"),
        ("Wishmaker - 03 - Harbour Lights.mp3", "Wishmaker", "Harbour Lights"),
        ("03_-_Wishmaker_-_Harbour_Lights.mp3", "Wishmaker", "Harbour Lights"),
        ("AC-DC - T.N.T..mp3", "AC-DC", "T.N.T."),
        ("track.mp3", "", ""),
        ("Harbour Lights.mp3", "", ""),
        ("03.mp3", "", ""),
        ("1979.mp3", "", ""),
        ("", "", ""),
        (".mp3", "", ""),
        ("03 - .mp3", "", ""),
    ],
)
def test_the_known_forms_of_a_name_are_read(name, artist, title):
    assert guess_names([name]) == GuessedNames(artist=artist, title=title)


@pytest.mark.parametrize(
    ("path", "artist", "album"),
    [
        ("Artist/Album/03 - Title.mp3", "Artist", "Album"),
        ("Artist/1999 - Album/03 - Title.mp3", "Artist", "Album"),
        ("Album/03 - Title.mp3", "", "Album"),
        ("03 - Title.mp3", "", ""),
        ("Genre/Artist/Album/03 - Title.mp3", "Artist", "Album"),
        ("Artist/Album/CD2/03 - Title.mp3", "Artist", "Album"),
        ("Artist/Album/Disc 1 - Live/03 - Title.mp3", "Artist", "Album"),
        ("Folder/Album/03 - Other - Title.mp3", "Other", "Album"),
    ],
)
def test_the_folders_give_artist_and_album(path, artist, album):
    names = guess_names(path.split("/"))
    assert (names.artist, names.album, names.title) == (artist, album, "Title")


@pytest.mark.parametrize(
    ("folder", "album"),
    [
        ("1999 - Album", "Album"),
        ("(1999) Album", "Album"),
        ("[1999] Album", "Album"),
        ("[1999]Album", "Album"),
        ("1999_Album", "Album"),
        ("Album (1999)", "Album"),
        ("Album [1999]", "Album"),
        ("Album - 1999", "Album"),
        ("Album(1999)", "Album"),
        ("1984", "1984"),
        ("(1984)", "(1984)"),
        ("Album 3000", "Album 3000"),
        ("12345 Album", "12345 Album"),
        ("Album19999", "Album19999"),
        ("1989 [2014]", "1989"),
        ("1999 (1982)", "1999"),
        ("1984 (1984)", "1984"),
        ("(2014) 1989", "1989"),
        ("2014 - 1989", "1989"),
        ("2014 - 1989 (Deluxe)", "1989 (Deluxe)"),
        ("1989 (Deluxe) [2014]", "1989 (Deluxe)"),
        ("1987 (Deluxe)", "1987 (Deluxe)"),
        ("2001 (Explicit)", "2001 (Explicit)"),
        ("Hits 1975-1999", "Hits 1975-1999"),
        ("Hits 1975 – 1999", "Hits 1975 – 1999"),
        ("1975-1999 Hits", "1975-1999 Hits"),
        ("1975-1999", "1975-1999"),
        ("Hits 1975-1999 (2001)", "Hits 1975-1999"),
        ("2001 - Hits 1975-1999", "Hits 1975-1999"),
    ],
)
def test_the_year_at_either_end_of_an_album_is_removed(folder, album):
    assert without_year(folder) == album


@given(st.lists(st.text(max_size=60), min_size=1, max_size=5))
def test_any_path_can_be_read(parts):
    names = guess_names(parts)
    assert names.title == names.title.strip()


@pytest.mark.parametrize(
    "flood", [" - " * 20_000, "0 " * 20_000, "1 -" * 20_000, "(1999" * 20_000, "()" * 20_000]
)
def test_hostile_names_take_no_time(flood):
    guess_names([flood, flood, flood])
