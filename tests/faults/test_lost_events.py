"""The kernel forgets what happened: the watcher's queue overflows in the running program."""

import signal
from pathlib import Path

import pytest

from builders import minimal_flac
from faults.hooked import ARTIST
from served import wait_until

QUEUE = Path("/proc/sys/fs/inotify/max_queued_events")


def is_stopped(pid: int) -> bool:
    tasks = Path(f"/proc/{pid}/task").glob("*/stat")
    return all(task.read_text().rpartition(")")[2].split()[0] == "T" for task in tasks)


def test_files_whose_events_were_lost_are_found_all_the_same(grounds):
    most = int(QUEUE.read_text())
    if most > 100_000:
        pytest.skip("the kernel's queue holds too many")
    grounds.add_library()
    noise = grounds.music / "noise.flac"
    minimal_flac(noise, seconds=60.0, artist=ARTIST, title="Unknown to All")
    environ = {"LYRSVCGO_WATCH_ENABLED": "true", "LYRSVCGO_WATCH_DEBOUNCE_MS": "100"}
    with grounds.serve(**environ) as served:
        served._process.send_signal(signal.SIGSTOP)  # nobody reads the queue
        wait_until(lambda: is_stopped(served.pid), "it has stopped")
        other = noise.with_name("other.flac")
        for _ in range(most // 2):  # four events each, twice of what there is room for
            noise.rename(other)
            other.rename(noise)
        songs = [grounds.record(f"Late {number} Ferry") for number in range(3)]
        deep = grounds.music / "new" / "deeper"
        deep.mkdir(parents=True)
        songs = [*songs[:2], songs[2].rename(deep / songs[2].name)]
        served._process.send_signal(signal.SIGCONT)
        wait_until(
            lambda: all(song.with_suffix(".lrc").exists() for song in songs), "all", limit_s=60
        )
        assert served.log.count("watcher: events were lost") == 1
        grounds.record("Later Ferry").rename(deep / "Later Ferry.flac")  # is watched by now
        wait_until((deep / "Later Ferry.lrc").exists, "the one that came later", limit_s=60)
        assert served.stop() == 0
