"""Disks that are full or write-protected while the service runs: nothing that was taken is lost."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from served import wait_until


def fill(disk: Path, *, leave: int = 0) -> Path:
    """Use up a disk but for some bytes."""
    filler = disk / ".filler"
    handle = os.open(filler, os.O_WRONLY | os.O_CREAT)
    try:
        while os.write(handle, b"x" * 4096):
            pass
    except OSError:
        os.truncate(handle, max(0, os.fstat(handle).st_size - leave))
    finally:
        os.close(handle)
    return filler


@pytest.mark.spec("E-28")
def test_a_full_database_disk_refuses_webhooks_and_keeps_all_it_took(grounds, mount):
    mount(grounds.database.parent, "24m")
    grounds.add_library()
    taken = [grounds.record("Before the Flood")]
    with grounds.serve() as served:
        assert served.send(grounds.announce(*taken)) == 200
        filler = fill(grounds.database.parent)
    with grounds.serve() as served:  # the one before was killed; this one has no room
        assert served.get("/healthz")[0] == 200
        status = 200
        while status == 200:  # the room that the database has itself comes to its end
            album = [grounds.record(f"Flood {len(taken) + n} of the River") for n in range(20)]
            status = served.send(grounds.announce(*album))
            taken += album if status == 200 else []
        assert status == 503
        assert f'request failed error="no room for the database {grounds.database};' in served.log
        assert served.get("/healthz")[0] == 200
        wait_until(lambda: "worker paused" in served.log, "the worker notices", limit_s=60)

        filler.unlink()
        wait_until(lambda: served.send(grounds.announce(*album)) == 200, "room", limit_s=60)
        taken += album
        wait_until(
            lambda: list(grounds.statuses().values()) == ["done"] * len(taken), "all", limit_s=90
        )
        assert served.stop() == 0
    assert all(file.with_suffix(".lrc").exists() for file in taken)
    assert sorted(grounds.items()) == sorted(file.stem for file in taken)
    asked = Counter(grounds.asked)
    assert asked.pop("Before the Flood") <= 2  # once more for the kill
    assert set(asked.values()) == {1}
    assert grounds.rows("PRAGMA integrity_check") == [{"integrity_check": "ok"}]
    assert "Traceback" not in served.log


@pytest.mark.parametrize("fault", ["disk_full", "read_only"])
def test_lyrics_that_find_no_place_are_kept_and_written_when_there_is_one(grounds, mount, fault):
    remount = mount(grounds.music, "256k")
    grounds.add_library()
    songs = [grounds.record(f"Harbour {number} Lights", lines=16) for number in range(4)]
    with grounds.serve() as served:
        if fault == "read_only":
            remount("ro")
        else:
            filler = fill(grounds.music)
        assert served.send(grounds.announce(*songs)) == 200
        wait_until(lambda: set(grounds.statuses().values()) == {"failed"}, "all have failed")
        assert {item["reason"] for item in grounds.items().values()} == {fault}
        assert [path.name for path in grounds.music.iterdir() if path.suffix == ".tmp"] == []

        if fault == "read_only":
            remount("rw")
        else:
            filler.unlink()
        assert served.send(grounds.announce(*songs)) == 200  # or after their backoff
        wait_until(lambda: set(grounds.statuses().values()) == {"done"}, "all are done")
        assert served.stop() == 0
    assert all(song.with_suffix(".lrc").read_text().count("line") == 16 for song in songs)
    assert sorted(grounds.asked) == sorted(song.stem for song in songs)


@pytest.mark.parametrize("fault", ["disk_full", "read_only"])
def test_a_start_without_room_or_leave_to_write_ends_in_one_line_that_names_it(
    grounds, mount, fault
):
    remount = mount(grounds.database.parent, "2m")
    grounds.add_library()
    if fault == "read_only":
        remount("ro")
        said = f"the database {grounds.database} lies on a read-only file system; mount it writable"
    else:
        fill(grounds.database.parent)
        said = f"no room for the database {grounds.database}; free some space"
    served = grounds.serve()
    done = served.run("serve", "--listen", "127.0.0.1:0")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"lyrsvc: {said}"

    changed = served.run("keys", "create", "--name", "lidarr")
    assert (changed.returncode, changed.stdout, changed.stderr) == (1, "", f"lyrsvc: {said}\n")

    told = {row["check"]: row for row in json.loads(served.run("doctor", "--json").stdout)}
    worst = told["database directory" if fault == "read_only" else "database"]
    remedies = {"read_only": "mount its file system writable", "disk_full": "free some space"}
    assert (worst["state"], worst["remedy"]) == ("fail", remedies[fault])


@pytest.mark.parametrize("before", ["stopped", "killed"])
def test_what_lies_on_a_disk_that_became_read_only_can_still_be_backed_up(
    grounds, mount, tmp_path, before
):
    remount = mount(grounds.database.parent, "24m")
    grounds.add_library()
    with grounds.serve() as served:
        assert served.send(grounds.announce(grounds.record("Before the Flood"))) == 200
        if before == "stopped":
            assert served.stop() == 0
    remount("ro")
    saved = tmp_path / "saved.tar.gz"
    done = served.run("backup", "-o", str(saved))
    assert (done.returncode, done.stdout.split("\t")[0]) == (0, str(saved))

    elsewhere = grounds.serve(LYRSVC_DB_PATH=str(tmp_path / "elsewhere" / "x.db"))
    assert elsewhere.run("backup", "restore", str(saved), "--yes").returncode == 0
    assert "Before the Flood" in elsewhere.run("queue", "list").stdout
