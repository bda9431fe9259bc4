"""The songs of a storm: what the stand-in knows of each, and what must stand beside its audio."""

import random
from dataclasses import dataclass, field
from pathlib import Path

from builders import minimal_flac
from faults.hooked import ARTIST
from lyrsvc.demo.song import Song

SECONDS = 60.0
KINDS = ("normal",) * 11 + ("slow",) * 3 + ("plain",) * 2 + ("instrumental",) * 2 + ("miss",) * 2
OUTCOMES = {"plain": "unsynced", "instrumental": "instrumental", "miss": ""}


@dataclass(eq=False)
class Tune:
    """One song: its files, how often somebody asked for it, how often a kill met it at work."""

    title: str
    kind: str
    isrc: str
    files: list[Path] = field(default_factory=list)
    is_promised: bool = False
    """A webhook that named it was answered with 2xx."""
    is_nameless: bool = False
    """It came as a name alone: its sidecar belongs into the output directory."""
    asks: int = 0
    kills: int = 0

    @property
    def outcome(self) -> str:
        return OUTCOMES.get(self.kind, "synced")

    @property
    def suffix(self) -> str:
        return ".txt" if self.kind in OUTCOMES else ".lrc"

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(f"{self.title}, line {number} of the song" for number in range(6))

    @property
    def song(self) -> Song:
        mode = self.kind if self.kind != "instrumental" else "normal"
        return Song(
            title=self.title,
            artist=ARTIST,
            length_s=SECONDS,
            isrc=self.isrc,
            mode=mode,
            lines=() if self.kind == "instrumental" else self.lines,
            instrumental=self.kind == "instrumental",
        )

    @property
    def most_requests(self) -> int:
        """One, and one for each kill that met it at work; a miss may be asked for again."""
        return 1 + self.kills + (self.asks if self.kind == "miss" else 0)

    def record(self, path: Path) -> None:
        minimal_flac(path, seconds=SECONDS, artist=ARTIST, title=self.title, isrc=self.isrc)
        self.files.append(path)

    def has_whole(self, sidecar: Path) -> bool:
        """Tell whether a sidecar says all of the song, to its last byte, and nothing else."""
        text = sidecar.read_bytes().decode("utf-8")
        if self.kind == "instrumental":
            return "instrumental" in text.lower() and text.endswith("\n")
        if self.kind == "plain":
            return text == "\n".join(self.lines)
        body = [line for line in text.splitlines() if line[1:2].isdigit()]
        expected = [
            f"[{ms // 60_000:02}:{ms // 1000 % 60:02}.{ms % 1000 // 10:02}]{line}"
            for ms, line in self.song.timed_lines
        ]
        return body == expected and text.endswith(f"{expected[-1]}\n")


class Tunes:
    """All songs of a storm, in the order they came up."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.all: dict[str, Tune] = {}

    def compose(self) -> Tune:
        number = len(self.all)
        tune = Tune(
            title=f"Tidewater No {number:04} of the Ferry",
            kind=self._chance.choice(KINDS),
            isrc=f"USABC{number:07}",
        )
        self.all[tune.title] = tune
        return tune

    def with_files(self) -> list[Tune]:
        return [tune for tune in self.all.values() if tune.files]
