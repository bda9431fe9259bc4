"""Music that is away for a while, or is another song by the time its words are found."""

import json

import pytest
from werkzeug import Response

from builders import minimal_flac
from service_runs import House
from terminals import Shell

ARTIST = "Ana Rue"


class Catalogue:
    """Knows every song it is asked for; ``meanwhile`` happens once while somebody waits."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.meanwhile = lambda: None

    def answer(self, request) -> Response:
        title = request.args["track_name"]
        self.asked.append(title)
        meanwhile, self.meanwhile = self.meanwhile, lambda: None
        meanwhile()
        lines = "".join(f"[00:{6 * i + 4:02}.00]{title} goes on {i}\n" for i in range(9))
        row = {
            "id": 1,
            "trackName": title,
            "artistName": request.args["artist_name"],
            "duration": float(request.args.get("duration", 200)),
            "instrumental": False,
            "syncedLyrics": lines,
        }
        return Response(json.dumps(row), headers={"Content-Type": "application/json"})


@pytest.fixture
def catalogue(httpserver) -> Catalogue:
    catalogue = Catalogue()
    httpserver.expect_request("/api/get").respond_with_handler(catalogue.answer)
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


def songs(house, *names: str) -> None:
    for name in names:
        minimal_flac(house.music / f"{name}.flac", title=name, artist=ARTIST)


def test_a_share_that_is_away_while_the_queue_works_gets_its_words_when_it_is_back(
    house, shell, clock, tmp_path
) -> None:
    songs(house, "one", "two", "three")
    shell.run("library", "add", str(house.music))
    shell.run("scan")
    away = house.music.rename(tmp_path / "away")
    house.music.mkdir()  # the mount point without its disk
    with house.running() as run:
        run.work()
        house.music.rmdir()
        away.rename(house.music)
        shell.run("scan")
        clock.advance(60)
        run.work()
        assert run.sidecars() == ["one.lrc", "three.lrc", "two.lrc"]


def test_work_that_an_older_version_has_parked_for_ever_is_found_by_the_sweep(house, shell) -> None:
    songs(house, "one", "two")
    shell.run("library", "add", str(house.music))
    shell.run("scan")
    with house.running() as run:
        run.db.write(lambda tx: tx.run("UPDATE work_targets SET status = 'parked'"))
        run.db.write(lambda tx: tx.run("UPDATE work_items SET due_at = NULL, ready_key = NULL"))
        run.service.upkeep.check_counts()
        shell.run("scan")
        run.work()
        assert run.sidecars() == []
        run.service.housekeeper.sweep()
        run.work()
        assert run.sidecars() == ["one.lrc", "two.lrc"]


@pytest.mark.parametrize("when", ["while it waits", "while it is asked for"])
def test_a_file_that_becomes_another_song_gets_the_words_of_that_one(
    house, shell, catalogue, tmp_path, when
) -> None:
    songs(house, "old song")
    shell.run("library", "add", str(house.music))
    shell.run("scan")

    def replace() -> None:
        fresh = minimal_flac(tmp_path / "fresh.flac", title="new song", artist=ARTIST)
        fresh.replace(house.music / "old song.flac")

    def replace_and_scan() -> None:
        replace()
        shell.run("scan")

    if when == "while it waits":
        replace()
    else:
        catalogue.meanwhile = replace_and_scan
    with house.running() as run:
        run.work()
        items = run.rows("SELECT title, status FROM work_items")
    words = (house.music / "old song.lrc").read_text()
    assert "new song goes on 1" in words
    assert "old song" not in words
    assert items == [{"title": "new song", "status": "done"}]


@pytest.mark.parametrize("is_missed", [False, True], ids=["at once", "later"])
def test_another_song_at_the_name_of_one_that_is_gone_gets_its_own_words(
    house, shell, is_missed
) -> None:
    songs(house, "Track 01", "Track 02")
    shell.run("library", "add", str(house.music))
    shell.run("scan")
    with house.running() as run:
        run.work()
        audio = house.music / "Track 01.flac"
        audio.unlink()
        if is_missed:
            shell.run("scan")
        minimal_flac(audio, title="new song", artist=ARTIST, seconds=250)
        shell.run("scan")
        run.work()
        assert "new song goes on" in (house.music / "Track 01.lrc").read_text()
        assert "Track 02 goes on" in (house.music / "Track 02.lrc").read_text()


@pytest.mark.parametrize("seconds", [200, 250], ids=["other tags", "another song"])
def test_words_stay_where_only_the_tags_are_new_or_somebody_has_edited_them(
    house, shell, catalogue, seconds
) -> None:
    songs(house, "Track 01")
    shell.run("library", "add", str(house.music))
    shell.run("scan")
    with house.running() as run:
        run.work()
        words = house.music / "Track 01.lrc"
        if seconds != 200:
            words.write_text(words.read_text() + "[03:00.00]the end\n")
        before = words.read_bytes()
        minimal_flac(house.music / "Track 01.flac", title="true", artist=ARTIST, seconds=seconds)
        shell.run("scan")
        run.work()
        assert words.read_bytes() == before
        assert catalogue.asked == ["Track 01"]


def test_songs_that_change_names_in_a_folder_that_changes_its_own_keep_their_words(
    house, shell
) -> None:
    album, later = house.music / "Album", house.music / "Album (2001)"
    for seconds, name in ((200, "one"), (220, "two"), (240, "three")):
        minimal_flac(album / f"{name}.flac", title=name, artist=ARTIST, seconds=seconds)
    shell.run("library", "add", str(house.music))
    shell.run("scan")
    with house.running() as run:
        run.work()
        (album / "three.flac").unlink()
        (album / "two.flac").rename(album / "three.flac")
        (album / "one.flac").rename(album / "two.flac")
        album.rename(later)
        shell.run("scan")
        run.work()
        assert "two goes on" in (later / "three.lrc").read_text()
        assert "one goes on" in (later / "two.lrc").read_text()
        shell.run("scan")
        assert run.rows("SELECT 1 FROM work_items WHERE status <> 'done'") == []


def test_a_song_that_gets_its_tags_after_it_was_seen_without_gets_its_own_words(
    house, shell
) -> None:
    audio = house.music / ARTIST / "Album" / "01 Tune.flac"
    minimal_flac(audio, title="old song", artist=ARTIST, seconds=200)
    shell.run("library", "add", str(house.music))
    shell.run("scan")
    with house.running() as run:
        run.work()
        minimal_flac(audio, seconds=250)  # ripped, and only guessed at by its path
        shell.run("scan")
        run.work()
        assert "old song goes on" in audio.with_suffix(".lrc").read_text()
        minimal_flac(audio, title="new song", artist=ARTIST, seconds=250)
        shell.run("scan")
        run.work()
        assert "new song goes on" in audio.with_suffix(".lrc").read_text()
