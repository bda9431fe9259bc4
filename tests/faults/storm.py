"""A service that is killed again and again while everything goes on at once.

Albums are dropped into a watched library and announced by webhooks, audio is renamed with
and without a word, sidecars are realigned by the service and by commands beside it. What is
done in which order, and when the process dies, follows from one seed.
"""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from builders import minimal_flac
from faults.hooked import ARTIST, KEY, Hooked
from faults.storm_songs import SECONDS, Tune, Tunes
from lyrsvc.clock import SystemClock
from lyrsvc.demo.stand_in import StandIn
from lyrsvc.store import libraries
from lyrsvc.store.database import Database
from served import wait_until

EARLY = 0.45
"""Share of the kills that meet the process before it listens."""
LIVELY_S = 0.4
REST_S = 120.0
COMMANDS = (("realign", "--yes"), ("realign", "--library", "shelf", "--yes"), ("scan",))


class Life(Hooked):
    """One life of the service; it is not waited for, and may be killed with its children."""

    def __enter__(self) -> "Life":
        command = [sys.executable, "-m", "lyrsvc", *self._words, "--listen", "127.0.0.1:0"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command, stderr=log, env=self.environ, start_new_session=True
            )
        return self

    @property
    def is_dead(self) -> bool:
        return self._process.poll() is not None

    def kill(self, *, whole_group: bool) -> None:
        if whole_group:
            os.killpg(self._process.pid, signal.SIGKILL)
        else:
            self._process.kill()
        self._process.wait()


class Storm:
    """Two libraries, a stand-in, and what was done to them."""

    def __init__(self, place: Path, stand_in: StandIn, seed: int) -> None:
        self.chance = random.Random(seed)
        self._fate = random.Random(-seed)
        self.place, self.stand_in = place, stand_in
        self.music, self.shelf, self.out = (place / name for name in ("music", "shelf", "out"))
        self.database = place / "state" / "x.db"
        self.environ = {
            "LYRSVC_DB_PATH": str(self.database),
            "LYRSVC_DEFAULTPROV_BASE_URL": stand_in.url,
            "LYRSVC_API_COOLDOWN": "0",
            "PROVIDER_TOKEN": "operators-own",
            "LYRSVC_WEBHOOK_API_KEY": KEY,
            "LYRSVC_OUTPUT_DIR": str(self.out),
            "LYRSVC_SCAN_SCHEDULE": "off",
            "LYRSVC_SCAN_SCHEDULE_ON_START": "true",
            "LYRSVC_REALIGN_ENABLED": "true",
            "LYRSVC_REALIGN_ON_SCAN": "true",
            "LYRSVC_WORK_INTERVAL": "1",
            "LYRSVCGO_WATCH_ENABLED": "true",
            "LYRSVCGO_WATCH_DEBOUNCE_MS": "100",
        }
        self.tunes = Tunes(self.chance)
        self.count: Counter[str] = Counter()
        self._unsent: list[tuple[dict, list[Tune]]] = []
        self._start_s = 0.5
        self._albums = 0
        self._renames = 0
        self._moved: dict[Path, int] = {}
        self._commands: list[subprocess.Popen] = []
        self._furnish()

    def _furnish(self) -> None:
        self.shelved: dict[str, Path] = {}
        for root in (self.music, self.shelf):
            root.mkdir(parents=True)
        for number in range(4):
            self._shelve(number)
        with Database.open(self.database, create=True, clock=SystemClock()) as db:
            now = SystemClock().now()
            for root in (self.music, self.shelf):
                db.write(
                    lambda tx, root=root: libraries.add(tx, name=root.name, path=root, now=now)
                )

    def _shelve(self, number: int) -> None:
        """Put a recording that nobody else knows beside words that somebody else wrote."""
        isrc = f"GBXYZ{number:07}"
        audio = self.shelf / f"Crate {number % 2}" / f"take {number}.flac"
        minimal_flac(audio, seconds=SECONDS, artist="Nobody", title=f"Unheard {number}", isrc=isrc)
        words = f"[isrc:{isrc}]\n[00:01.00]unheard words {number}\n"
        audio.with_suffix(".lrc").write_text(words)
        self.shelved[words] = audio

    # What goes on

    def live_and_die(self) -> None:
        """Start the service, let things happen, kill it at a moment that chance chooses."""
        early_s = self._fate.uniform(0, self._start_s)
        is_early = self._fate.random() < EARLY and self.count["kills"] > 0
        lively_s = self._fate.uniform(0, LIVELY_S)
        if self.chance.random() < 0.3:
            self._stir(None)  # while nobody looks
        with Life(self.place, self.environ) as life:
            busy = threading.Thread(target=self._keep_busy, args=(life, time.monotonic()))
            busy.start()
            if is_early:
                time.sleep(early_s)
            else:
                wait_until(lambda: life.address or life.is_dead, "it listens", limit_s=REST_S)
                assert life.address, life.log
                time.sleep(lively_s)
            life.kill(whole_group=self._fate.random() < 0.5)
            busy.join()
        self._end_commands()
        self.count["kills"] += 1
        self._take_stock()

    def _keep_busy(self, life: Life, begun: float) -> None:
        while not life.is_dead and not life.address:
            time.sleep(0.01)
        if not life.address:
            return
        self._start_s += (time.monotonic() - begun - self._start_s) / 2
        self.count["lives that listened"] += 1
        if self.chance.random() < 0.2:
            self._order(life)
        while not life.is_dead:
            self._resend(life)
            self._stir(life)
            time.sleep(self.chance.uniform(0, 0.15))

    def _order(self, life: Life) -> None:
        """Run a command beside the service; it is killed with it."""
        words = self.chance.choice(COMMANDS)
        self.count[words[0]] += 1
        self._commands.append(
            subprocess.Popen(
                [sys.executable, "-m", "lyrsvc", *words],
                env=life.environ,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )

    def _end_commands(self) -> None:
        for command in self._commands:
            command.kill()
            command.wait()
        self._commands.clear()

    def _stir(self, life: Life | None) -> None:
        acts: list[Callable[[Life | None], object]] = [
            self._drop,
            self._import,
            self._name,
            self._copy,
            self._rename,
            self._reshelve,
        ]
        self.chance.choice(acts)(life)

    def _drop(self, _life: Life | None) -> None:
        self.count["files dropped"] += len(self._album())

    def _import(self, life: Life | None) -> None:
        tunes = self._album()
        body = _download(tunes, [{"path": str(tune.files[0])} for tune in tunes])
        self._send(life, body, tunes)

    def _name(self, life: Life | None) -> list[Tune]:
        tunes = self._compose()
        for tune in tunes:
            tune.is_nameless = True
        self._send(life, _download(tunes, []), tunes)
        return tunes

    def _copy(self, _life: Life | None) -> None:
        """Put a second file of a song into another album: the first one's lyrics must do."""
        known = self.tunes.with_files()
        if known:
            tune = self.chance.choice(known)
            tune.asks += 1
            tune.record(self._folder() / f"{tune.title} again.flac")
            self.count["copies"] += 1

    def _rename(self, life: Life | None) -> None:
        known = [
            (tune, place)
            for tune in self.tunes.with_files()
            for place, file in enumerate(tune.files)
            if self._is_settled(file)
        ]
        if not known:
            return
        tune, place = self.chance.choice(known)
        old, new = tune.files[place], self._fresh_name(tune.files[place])
        old.rename(new)
        tune.files[place] = new
        pair = {"previousPath": str(old), "path": str(new)}
        body = {"eventType": "Rename", "artist": {"name": ARTIST}, "renamedTrackFiles": [pair]}
        tune.asks += 1
        self.count["renames"] += 1
        self._moved[new] = self.count["lives that listened"]
        self._send(life, body, [])

    def _is_settled(self, file: Path) -> bool:
        """Tell whether a file was not renamed, or long ago: its manager renames it once, and tells."""
        told = str(file) not in str(self._unsent)
        return told and self.count["lives that listened"] >= self._moved.get(file, -9) + 3

    def _reshelve(self, _life: Life | None) -> None:
        """Rename audio without a word; only realign can bring its sidecar along."""
        words, old = self.chance.choice(list(self.shelved.items()))
        if not old.with_suffix(".lrc").exists():
            return  # it has not followed yet
        self.shelved[words] = self._fresh_name(old)
        old.rename(self.shelved[words])
        self.count["silent renames"] += 1

    def _fresh_name(self, path: Path) -> Path:
        self._renames += 1
        return path.with_name(f"{path.stem.partition(' r')[0]} r{self._renames}.flac")

    def _album(self) -> list[Tune]:
        folder, tunes = self._folder(), self._compose()
        for tune in tunes:
            tune.record(folder / f"{tune.title}.flac")
        return tunes

    def _folder(self) -> Path:
        self._albums += 1
        return self.music / f"Artist {self._albums % 3}" / f"Album {self._albums}"

    def _compose(self) -> list[Tune]:
        tunes = [self.tunes.compose() for _ in range(self.chance.randint(1, 3))]
        for tune in tunes:
            self.stand_in.add_song(tune.song)
        return tunes

    def _send(self, life: Life | None, body: dict, tunes: list[Tune]) -> None:
        for tune in tunes:
            tune.asks += 1
        status = life.send(body) if life else 0
        if status // 100 != 2:
            self._unsent.append((body, tunes))
            return
        self.count["webhooks accepted"] += 1
        for tune in tunes:
            tune.is_promised = True

    def _resend(self, life: Life) -> None:
        waiting, self._unsent = self._unsent, []
        for body, tunes in waiting:
            self._send(life, body, tunes)

    # What it came to

    def _take_stock(self) -> None:
        """Look at the state of a dead service, on a copy, so that its own recovery is not spared."""
        copy = self.place / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir()
        for path in self.database.parent.glob("x.db*"):
            shutil.copy(path, copy)
        with closing(sqlite3.connect(copy / "x.db")) as db:
            assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            busy = db.execute("SELECT title FROM work_items WHERE status = 'processing'").fetchall()
        for (title,) in busy:
            self.count["items at work when killed"] += 1
            if title in self.tunes.all:
                self.tunes.all[title].kills += 1

    def come_to_rest(self) -> None:
        """Let a last service bring everything to its end, and stop it politely."""
        with Life(self.place, self.environ) as life:
            wait_until(lambda: life.address or life.is_dead, "it listens", limit_s=REST_S)
            assert life.address, life.log
            wait_until(lambda: self._resend(life) or not self._unsent, "all is told")
            self._wait_for_rest("after the storm")
            for temp in self.temps():
                os.utime(temp, (0, 0))  # an hour has passed since
                os.utime(temp.parent)  # and what was listed before is not relied on any more
            while not any(tune.suffix == ".lrc" for tune in self._name(life)):
                pass  # whoever writes into a directory clears it
            for words in (("realign", "--yes"), ("scan",)):
                done = life.run(*words)
                assert done.returncode == 0, (words, done.stdout, done.stderr)
                self._wait_for_rest(f"after {words[0]}")
            assert life.stop() == 0, life.log
            self.last_log = life.log

    def _wait_for_rest(self, when: str) -> None:
        wait_until(self._is_at_rest, f"rest {when}", limit_s=REST_S)

    def _is_at_rest(self) -> bool:
        restless = (
            "SELECT count(*) FROM work_items WHERE status IN ('pending', 'processing')"
            "    OR ready_key IS NOT NULL",
            "SELECT count(*) FROM rename_jobs WHERE state = 'waiting'",
            "SELECT count(*) FROM scan_runs WHERE state = 'running'",
            "SELECT count(*) FROM locks WHERE name LIKE 'library:%'",
        )
        files = len(list(self.music.rglob("*.flac"))) + len(list(self.shelf.rglob("*.flac")))
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as db:
            known = db.execute(
                "SELECT count(*) FROM scan_results WHERE missing_since_at IS NULL"
            ).fetchone()[0]
            return known == files and not any(db.execute(sql).fetchone()[0] for sql in restless)

    def rows(self, sql: str) -> list[dict]:
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as db:
            db.row_factory = sqlite3.Row
            return [dict(row) for row in db.execute(sql)]

    def places(self, tune: Tune) -> list[Path]:
        """Give where sidecars of a song must stand."""
        if tune.kind == "miss":
            return []
        if tune.is_nameless and tune.is_promised:
            return [self.out / f"{ARTIST} - {tune.title}{tune.suffix}"]
        return [file.with_suffix(tune.suffix) for file in tune.files]

    def temps(self) -> list[Path]:
        roots = (self.music, self.shelf, self.out)
        return [path for root in roots for path in root.rglob(".*") if path.is_file()]


def _download(tunes: list[Tune], files: list[dict]) -> dict:
    return {
        "eventType": "Download",
        "artist": {"name": ARTIST},
        "album": {"title": "Low Tide Almanac"},
        "tracks": [{"title": tune.title} for tune in tunes],
        "trackFiles": files,
    }
