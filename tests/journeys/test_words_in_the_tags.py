"""Words that stand in the tags of tracks for which nobody had any."""

import pytest
from werkzeug import Response

from builders import minimal_flac
from service_runs import House
from terminals import Shell

WORDS = "Words from inside\nand some more of them"
EXTRACT = {"LYRSVC_OUTPUT_EMBEDDED_LYRICS": "extract"}


@pytest.fixture
def house(httpserver, tmp_path, clock) -> House:
    httpserver.expect_request("/api/get").respond_with_response(Response(status=404))
    httpserver.expect_request("/api/search").respond_with_json([])
    house = House(tmp_path, clock, httpserver.url_for("").rstrip("/"))
    house.environ["LYRSVC_PROVIDER_PRIMARY"] = "lrclib"
    return house


@pytest.fixture
def shell(house, tmp_path) -> Shell:
    user = Shell(tmp_path)
    user.environ |= house.environ
    return user


def song(house, name: str, **tags: str) -> None:
    minimal_flac(house.music / f"{name}.flac", title=name, artist="Ana Rue", **tags)


@pytest.fixture(params=[("15", "deferred"), ("1", "done")], ids=["deferred", "given up"])
def missed(request, house, shell, httpserver) -> int:
    """Have one song with words in its tags and one without missed; give the number of requests."""
    song(house, "full", lyrics=WORDS)
    song(house, "bare")
    shell.run("library", "add", str(house.music))
    shell.run("scan")
    house.environ["LYRSVC_API_MAX_MISS_ATTEMPTS"], status = request.param
    with house.running() as run:
        run.work()
        assert run.rows("SELECT DISTINCT status FROM work_items") == [{"status": status}]
        assert run.sidecars() == []
    return len(httpserver.log)


def test_they_are_written_once_that_is_switched_on(house, httpserver, missed) -> None:
    with house.running(**EXTRACT) as run:
        run.work()
        assert run.sidecars() == ["full.txt"]
        (house.music / "full.txt").unlink()
    with house.running(**EXTRACT) as run:
        run.work()
        assert run.sidecars() == []  # that is for a scan to find, not for every start
    assert len(httpserver.log) == missed


def test_they_are_written_when_somebody_puts_them_in(house, shell, httpserver, missed) -> None:
    (house.music / "full.flac").unlink()
    with house.running(**EXTRACT) as run:
        song(house, "bare", lyrics=WORDS)
        shell.environ |= EXTRACT
        shell.run("scan")
        run.work()
        assert run.sidecars() == ["bare.txt"]
    assert len(httpserver.log) == missed


def test_other_changes_of_a_file_end_no_cooldown(house, shell, httpserver, missed) -> None:
    with house.running() as run:
        song(house, "bare", album="Low Tide")
        song(house, "full", lyrics=WORDS, album="Low Tide")
        shell.run("scan")
        run.work()
        assert run.sidecars() == []
    assert len(httpserver.log) == missed
