"""The demo's music library on the disk: audio files made on the spot, and two odd sidecars."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from lyrsvc import __version__
from lyrsvc.core.lrc_output import HeaderFacts, cue_lines, header_lines
from lyrsvc.core.lyrics import Cue
from lyrsvc.demo.library_plan import Ending, PlannedTrack
from lyrsvc.demo.song import Song
from lyrsvc.demo.tiny_audio import audio_bytes

FOREIGN_WORDS: Final = b"[00:01.00]Somebody typed this in by hand\n[00:05.00]and wants to keep it\n"


def make_music(
    root: Path, plan: Iterable[PlannedTrack], *, tell: Callable[[int], None] = lambda _done: None
) -> None:
    """Write what is missing of a library; ``tell`` is told how many tracks are there."""
    for number, track in enumerate(plan, 1):
        path = root / track.path
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_bytes(_audio(track))
            _add_sidecars(path, track)
        tell(number)


def _audio(track: PlannedTrack) -> bytes:
    song = track.song
    tags = {
        "title": song.title,
        "artist": song.artist,
        "album": track.album or song.album,
        "album_artist": track.album_artist or song.artist,
        "isrc": song.isrc,
    }
    return audio_bytes(track.container, seconds=song.length_s, tags=tags if track.is_tagged else {})


def _add_sidecars(path: Path, track: PlannedTrack) -> None:
    if track.ending is Ending.FOREIGN:
        path.with_suffix(".lrc").write_bytes(FOREIGN_WORDS)
    if track.orphan:
        orphan = path.with_name(f"{track.orphan}.lrc")
        orphan.write_text(_sidecar_text(track.song), "utf-8", newline="\n")


def _sidecar_text(song: Song) -> str:
    """Give a sidecar as this program writes it: it carries the code of its recording."""
    facts = HeaderFacts(
        artist=song.artist,
        title=song.title,
        version=__version__,
        album=song.album,
        length_ms=round(song.length_s * 1000),
        isrc=song.isrc,
    )
    cues = [Cue(ms, text) for ms, text in song.timed_lines]
    return "\n".join((*header_lines(facts), *cue_lines(cues), ""))
