"""Small print: how deep, how far apart, where it listens, whose token."""

from datetime import timedelta
from itertools import pairwise

import pytest

from builders import minimal_flac
from lyrsvc.demo.stand_in import LYRICS_PATH, StandIn
from lyrsvc.services.bell import Bell
from service_runs import House
from terminals import Shell

ARTIST, TITLE = "The Quiet Ferrymen", "Lanterns on the Weir"
FORTY = "[server]\nwork_interval_seconds = 40\n"


@pytest.fixture
def stand_in():
    with StandIn() as server:
        yield server


@pytest.mark.seed("S-007")
def test_a_hundred_levels_are_looked_into_and_not_one_more(tmp_path, stand_in) -> None:
    shell = Shell(tmp_path)
    shell.environ |= {
        "LYRSVC_LRCLIB_BASE_URL": stand_in.url,
        "LYRSVC_LRCLIB_COOLDOWN_SECONDS": "0",
    }
    music = tmp_path / "music"
    deep = music.joinpath(*["d"] * 100)
    for directory in (music, deep, deep / "d"):
        minimal_flac(directory / "x.flac", seconds=38, artist=ARTIST, title=TITLE)
    assert shell.run("music", "--provider", "lrclib").code == 0
    assert {path.parent for path in music.rglob("x.lrc")} == {music, deep}
    assert shell.run("music", "--provider", "lrclib", "-d", "101").code == 0
    assert (deep / "d" / "x.lrc").exists()


@pytest.mark.seed("S-005")
def test_a_song_by_its_names_never_takes_its_token_from_the_store(tmp_path, stand_in) -> None:
    shell = Shell(tmp_path)
    shell.environ |= {"LYRSVC_DEFAULTPROV_BASE_URL": stand_in.url, "LYRSVC_API_COOLDOWN": "0"}
    assert shell.run("secrets", "set", "provider_token", stdin="a-stored-token").code == 0
    state = {path: path.stat().st_mtime_ns for path in shell.database.parent.iterdir()}
    song = f"{ARTIST},{TITLE}"
    assert shell.run(song).code == 1
    assert stand_in.requests == ()
    for words, environ, config in (
        (("--token", "by-flag"), {}, ""),
        ((), {"PROVIDER_TOKEN": "by-variable"}, ""),
        ((), {}, '[api]\ntoken = "by-file"\n'),
    ):
        shell.write_config(config).chmod(0o600)
        (tmp_path / f"{ARTIST} - {TITLE}.lrc").unlink(missing_ok=True)
        assert shell.run(*words, song, environ=environ).code == 0
    used = [call.query["usertoken"] for call in stand_in.calls(LYRICS_PATH)]
    assert used == ["by-flag", "by-variable", "by-file"]
    assert {p: p.stat().st_mtime_ns for p in shell.database.parent.iterdir()} == state


@pytest.mark.seed("S-121")
def test_the_variable_says_how_many_seconds_lie_between_two_questions(
    tmp_path, clock, stand_in, monkeypatch
) -> None:
    moments = []
    house = House(tmp_path, clock, stand_in.url)
    with house.running(PROVIDER_TOKEN="operators-own", LYRSVC_API_COOLDOWN="40") as run:
        upstream = run.service.lookup.lanes[0]
        ask = upstream.ask

        def noted(*args, **more):
            answer = ask(*args, **more)
            moments.append(clock.now())
            return answer

        monkeypatch.setattr(upstream, "ask", noted)
        for title in ("Kitchen Radio", "Glass Orchard", "Nine Umbrellas", TITLE):
            run.enqueue(title, 38.0)
        run.work()
    assert len(stand_in.calls(LYRICS_PATH)) >= 4
    assert len(moments) >= 4
    assert all(b - a >= timedelta(seconds=40) for a, b in pairwise(moments))


@pytest.mark.seed("S-035")
@pytest.mark.parametrize(
    ("flags", "environ", "toml", "seconds"),
    [
        ({"server.work_interval_seconds": "3"}, {"LYRSVC_WORK_INTERVAL": "30"}, FORTY, 3),
        ({}, {"LYRSVC_WORK_INTERVAL": "30"}, FORTY, 30),
        ({}, {}, FORTY, 40),
        ({}, {"LYRSVC_API_COOLDOWN": "90"}, "", 90),
        ({}, {"LYRSVC_API_COOLDOWN": "2"}, "", 15),
    ],
)
def test_an_idle_worker_rests_as_long_as_it_is_told(
    tmp_path, clock, stand_in, monkeypatch, flags, environ, toml, seconds
) -> None:
    rests = []

    def rest(bell, _seen, for_seconds):
        rests.append(for_seconds)
        bell.end()

    house = House(tmp_path, clock, stand_in.url)
    environ = {"PROVIDER_TOKEN": "operators-own", **environ}
    with house.running(flags=flags, toml=toml, **environ) as run:
        monkeypatch.setattr(Bell, "wait", rest)
        run.service.worker.slots[0].run()
    assert rests == [seconds]


@pytest.mark.seed("S-111")
def test_it_listens_on_this_machine_alone_until_told_otherwise(tmp_path) -> None:
    shell = Shell(tmp_path)
    address = shell.run("config", "get", "server.addr", "--json").json
    assert (address["value"], address["source"]) == ("127.0.0.1:3876", "default")
    environ = {"LYRSVC_SERVER_ADDR": "0.0.0.0:9000"}
    told = shell.run("config", "get", "server.addr", "--json", environ=environ).json
    assert (told["value"], told["source"]) == ("0.0.0.0:9000", "env:LYRSVC_SERVER_ADDR")
