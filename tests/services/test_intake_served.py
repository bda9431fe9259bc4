"""From the webhook to the sidecar: what the worker makes of it, and where it may write."""

import json
import os
from pathlib import Path
from random import Random

import pytest

from builders import minimal_flac, minimal_mp3
from lyrsvc.core.errors import Transient
from lyrsvc.core.item import Status
from lyrsvc.core.waiting import ready_key
from lyrsvc.services.enqueueing import Terms
from lyrsvc.services.intake import Followers, Intake, IntakeRules
from lyrsvc.services.scanning import Scanner, ScanSetup
from lyrsvc.store import libraries
from worker_shop import ARTIST, Knowing

TITLE = "Tidewater"


def terms(here):
    return lambda now: Terms(now=now, chance=Random(1), output_dir=str(here.place / "out"))


def send(here, *paths, title=TITLE, **members):
    intake = Intake(
        here.db,
        clock=here.clock,
        terms=terms(here),
        rules=IntakeRules(),
        followers=Followers(wake=here.worker.wake),
    )
    event = {
        "eventType": "Download",
        "artist": {"name": ARTIST},
        "tracks": [{"title": title} for _ in paths] or [{"title": title}],
        "trackFiles": [{"path": str(path)} for path in paths],
        **members,
    }
    return intake.accept(json.dumps(event).encode())


def scan(here):
    with here.db.read() as tx:
        (library,) = libraries.all_libraries(tx)
    scanner = Scanner(here.db, clock=here.clock, setup=ScanSetup(), terms=terms(here))
    return scanner.scan(library, started_by="cli")


def song(here, name, title=TITLE, **tags):
    make = minimal_mp3 if name.endswith(".mp3") else minimal_flac
    return make(here.music / name, title=title, artist=ARTIST, **{"seconds": 202, **tags})


@pytest.mark.seed("S-023")
def test_a_webhook_leads_to_a_sidecar_beside_the_file(shop):
    here = shop(Knowing())
    answer = send(here, song(here, "album/01.flac"))
    assert answer["resolved"] == {"inventory": 0, "path": 1, "metadata": 0}
    here.work()
    assert here.sidecars() == ["01.lrc"]
    assert here.item(TITLE).status is Status.DONE
    assert send(here, here.music / "album" / "01.flac")["already_done"] == 1


@pytest.mark.seed("S-026", "S-029")
def test_a_webhook_without_a_visible_file_leads_to_the_output_directory(shop):
    here = shop(Knowing())
    assert send(here, "/elsewhere/01.flac")["resolved"]["metadata"] == 1
    here.work()
    out = here.place / "out"
    assert [path.name for path in out.iterdir()] == [f"{ARTIST} - {TITLE}.lrc"]
    assert send(here)["already_done"] == 1
    next(out.iterdir()).unlink()
    assert send(here)["enqueued"] == 1  # its sidecar has vanished
    here.work()
    assert len(list(out.iterdir())) == 1
    send(here, song(here, "02.flac", "Beside"), title="Beside")
    here.work()
    assert here.sidecars() == ["02.lrc"]
    assert len(list(out.iterdir())) == 1  # whatever has a file is served beside it


@pytest.mark.spec("H-13")
@pytest.mark.seed("S-054")
def test_a_webhook_cuts_the_backoff_short_and_a_scan_does_not(shop, clock):
    main = Knowing()
    real, broken = main.lookup, [True]

    def lookup(recording, ctx):
        if broken:
            raise Transient("no route", reason="network")
        return real(recording, ctx)

    main.lookup = lookup
    here = shop(main)
    path = song(here, "01.flac")
    scan(here)
    here.work()
    failed = here.item(TITLE)
    assert (failed.status, failed.attempts) == (Status.FAILED, 1)
    assert failed.due_at > clock.now()
    scan(here)
    assert here.item(TITLE) == failed
    assert send(here, path)["refreshed"] == 1
    boosted = here.item(TITLE)
    assert (boosted.status, boosted.attempts, boosted.due_at) == (Status.FAILED, 0, clock.now())
    assert boosted.ready_key < ready_key(clock.now(), 0, Random(1))
    broken.clear()
    here.work()
    assert here.sidecars() == ["01.lrc"]


@pytest.mark.spec("H-14")
def test_a_second_copy_is_served_without_asking_anybody(shop):
    main = Knowing()
    here = shop(main)
    send(here, song(here, "one/01.flac"))
    here.work()
    assert len(main.asked) == 1
    answer = send(here, song(here, "two/01.flac"))
    assert (answer["enqueued"], answer["resolved"]["path"]) == (1, 1)
    here.work()
    assert sorted(here.music.rglob("*.lrc")) == [
        here.music / "one" / "01.lrc",
        here.music / "two" / "01.lrc",
    ]
    assert len(main.asked) == 1


@pytest.mark.spec("H-14")
@pytest.mark.seed("S-129")
def test_a_copy_that_was_scanned_is_the_one_that_is_meant(shop):
    here = shop(Knowing())
    send(here, song(here, "one/01.flac"))
    here.work()
    scan(here)
    answer = send(here, song(here, "two/01.flac"))
    assert (answer["already_done"], answer["resolved"]["inventory"]) == (1, 1)
    here.work()
    assert sorted(here.music.rglob("*.lrc")) == [here.music / "one" / "01.lrc"]


def upgraded(here, old, new):
    old.unlink()
    return send(here, new, isUpgrade=True, deletedFiles=[{"path": str(old)}])


@pytest.mark.spec("H-15")
@pytest.mark.parametrize("seconds", [202, 240])
def test_an_upgrade_with_the_same_stem_is_done_already(shop, seconds):
    here = shop(Knowing())
    old = song(here, "01.mp3")
    send(here, old)
    here.work()
    answer = upgraded(here, old, song(here, "01.flac", seconds=seconds))
    assert answer["already_done"] == 1
    assert [target.source_path for target in here.targets(TITLE)] == [str(here.music / "01.flac")]
    assert here.sidecars() == ["01.lrc"]


@pytest.mark.spec("H-15")
def test_an_upgrade_with_a_new_stem_gets_a_sidecar_from_the_cache(shop):
    main = Knowing()
    here = shop(main)
    old = song(here, "01.mp3")
    send(here, old)
    here.work()
    assert upgraded(here, old, song(here, "1-01.flac"))["enqueued"] == 1
    here.work()
    assert here.sidecars() == ["01.lrc", "1-01.lrc"]  # a sidecar is never deleted
    assert len(main.asked) == 1
    assert [target.out_stem for target in here.targets(TITLE)] == ["1-01"]
    assert here.wrong_counts() == {}


@pytest.mark.spec("H-10")
def test_a_link_put_in_place_after_the_webhook_leads_nothing_out(shop, tmp_path):
    here = shop(Knowing())
    outside = tmp_path / "outside"
    outside.mkdir()
    path = song(here, "album/01.flac")
    send(here, path)
    path.parent.rename(tmp_path / "moved")
    path.parent.symlink_to(outside)
    minimal_flac(outside / "01.flac")
    here.work()
    assert (here.item(TITLE).status, here.item(TITLE).reason) == (Status.FAILED, "path_escape")
    assert [each.name for each in outside.iterdir()] == ["01.flac"]


@pytest.mark.spec("H-10")
@pytest.mark.parametrize("above", [False, True])
def test_a_link_put_in_place_while_a_sidecar_is_written_leads_nothing_out(shop, tmp_path, above):
    """The very last moment: the directory was checked, and its first file is about to be made."""
    outside, moved = tmp_path / "outside", tmp_path / "moved"
    (outside / "album").mkdir(parents=True)
    swapped: list[Path] = []

    def swap(path):
        folder = here.music / "artist" / ("" if above else "album")
        if not swapped and not folder.is_symlink():
            swapped.append(path)
            folder.rename(moved)
            folder.symlink_to(outside if above else outside / "album")

    here = shop(Knowing(), announce=swap)
    send(here, song(here, "artist/album/01.flac"))
    here.work()
    assert swapped
    assert [each for each in outside.rglob("*") if each.is_file()] == []


@pytest.mark.spec("H-10")
def test_a_sidecar_that_became_a_link_is_replaced_and_not_followed(shop, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("precious")

    def swap(path):
        if path.suffix == ".lrc" and not os.path.lexists(path):
            path.symlink_to(precious)

    here = shop(Knowing(), announce=swap)
    send(here, song(here, "01.flac"))
    here.work()
    assert precious.read_text() == "precious"
    assert (here.item(TITLE).status, here.sidecars()) == (Status.DONE, ["01.lrc"])
