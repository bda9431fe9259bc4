"""Different songs that share artist, title and about their length: each file gets its own words."""

import json

import pytest
from werkzeug import Response

from builders import minimal_flac
from service_runs import House
from terminals import Shell

SONGS = {
    "night intro": ("Various Artists", "Intro", "Night Ferry", 61, "Wishmaker"),
    "day intro": ("Various Artists", "Intro", "Day Ferry", 62, "Tidewalker"),
    "first": ("Ana Rue", "Same Name", "First", 200, "Ana Rue"),
    "second": ("Ana Rue", "Same Name", "Second", 204.5, "Ana Rue"),
    "long intro": ("Bo Lind", "Intro", "One", 61, "Bo Lind"),
    "longer intro": ("Bo Lind", "Intro", "Two", 64.5, "Bo Lind"),
}
"""Per pair one work item: artist, title and five seconds of length are its identity."""


class Catalogue:
    """The rows that can be found, all of them unless some are taken out."""

    def __init__(self) -> None:
        self.names = list(SONGS)

    def answer(self, request) -> Response:
        """Find what the real one would: nothing by exact names, every row of a title by search."""
        if request.path == "/api/get":
            return Response("{}", status=404)
        asked = " ".join(request.args.values())
        rows = [row(n, name) for n, name in enumerate(self.names) if SONGS[name][1] in asked]
        return Response(json.dumps(rows), headers={"Content-Type": "application/json"})


def row(number: int, name: str) -> dict:
    _, title, album, seconds, artist = SONGS[name]
    lines = "".join(f"[00:{5 * i + i % 3:02}.00]the {name} goes on {i}\n" for i in range(10))
    return {
        "id": number + 1,
        "trackName": title,
        "artistName": artist,
        "albumName": album,
        "duration": seconds,
        "instrumental": False,
        "syncedLyrics": lines,
    }


def fill(directory) -> None:
    for name, (artist, title, album, seconds, _) in SONGS.items():
        path = directory / name / "x.flac"
        minimal_flac(path, seconds=seconds, artist=artist, title=title, album=album)


def mistaken(directory) -> dict[str, str]:
    """Give the songs whose file does not hold their own words, or another's album."""
    found = {
        name: "".join(p.read_text() for p in directory.glob(f"{name}/x.lrc")) for name in SONGS
    }
    return {
        name: text
        for name, text in found.items()
        if f"the {name} goes on" not in text or f"[al:{SONGS[name][2]}]" not in text
    }


@pytest.fixture
def catalogue(httpserver) -> Catalogue:
    catalogue = Catalogue()
    httpserver.expect_request("/api/get").respond_with_handler(catalogue.answer)
    httpserver.expect_request("/api/search").respond_with_handler(catalogue.answer)
    return catalogue


@pytest.fixture
def house(catalogue, httpserver, tmp_path, clock) -> House:
    house = House(tmp_path, clock, httpserver.url_for("").rstrip("/"))
    house.environ["LYRSVC_PROVIDER_PRIMARY"] = "lrclib"
    return house


@pytest.fixture
def shell(house, tmp_path) -> Shell:
    user = Shell(tmp_path)
    user.environ |= house.environ
    return user


@pytest.mark.spec("P-44")
def test_each_file_gets_the_words_of_its_own_song_in_a_directory_and_in_the_service(
    house, shell, tmp_path
) -> None:
    directory = tmp_path / "directory"
    fill(directory)
    fill(house.music)
    assert shell.run("fetch", str(directory)).code == 0
    assert mistaken(directory) == {}

    shell.run("library", "add", str(house.music))
    shell.run("scan")
    with house.running() as run:
        run.work()
        items = run.rows("SELECT status, outcome FROM work_items")
    assert mistaken(house.music) == {}
    assert items == [{"status": "done", "outcome": "synced"}] * 3


def test_a_song_that_comes_later_is_not_served_with_the_words_of_its_namesake(house, shell) -> None:
    fill(house.music)
    late = {"day intro", "second", "longer intro"}
    for name in late:
        (house.music / name / "x.flac").rename(house.music / name / "x.later")
    shell.run("library", "add", str(house.music))
    shell.run("scan")
    with house.running() as run:
        run.work()
    assert mistaken(house.music).keys() == late

    for name in late:
        (house.music / name / "x.later").rename(house.music / name / "x.flac")
    shell.run("scan")
    with house.running() as run:
        run.work()
    assert mistaken(house.music) == {}


def test_after_a_miss_the_next_file_of_the_names_asks_with_its_own_album(
    catalogue, house, shell, clock
) -> None:
    catalogue.names.remove("day intro")  # of its names the one that is asked for first
    fill(house.music)
    shell.run("library", "add", str(house.music))
    shell.run("scan")
    with house.running() as run:
        run.work()
        assert mistaken(house.music).keys() == {"day intro", "night intro"}
        clock.advance(8 * 86_400)
        run.work()
    assert mistaken(house.music).keys() == {"day intro"}
