"""Sampling: parts of a track as 16 kHz mono, each reached by its own seek.

Only what is heard is read: an hour of music costs a few hundred kilobytes. That is
why MP3 is sought by its bit rate (``fastseek``), and why containers without any index
are entered in the middle of their bytes.
"""

import json
import logging
import math
import os
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lyrsvc.core.audio_windows import Window, spread_windows
from lyrsvc.core.errors import FileFault
from lyrsvc.core.wav import BYTES_PER_SECOND, wrap_pcm
from lyrsvc.detector.bounded_process import Ran, run_bounded

WINDOW_LIMIT_S: Final = 60.0
PROBE_LIMIT_S: Final = 20.0
PROBE_BYTES: Final = 64 * 1024
SPARE_BYTES: Final = BYTES_PER_SECOND
"""A window may come out this much longer than asked for."""
LONGEST_DURATION_S: Final = 30 * 24 * 3600.0

SYNC_WORDS: Final[Mapping[str, bytes]] = {".aac": b"", ".wv": b"wvpk"}
"""Containers without an index, and the bytes their blocks begin with, where one must be met."""
SYNC_REACH: Final = 1024 * 1024
BLOCK_BYTES: Final = 8192
"""How much is read at a time; what is read ahead and not heard is wasted."""

_LOG = logging.getLogger("lyrsvc.detector")


@dataclass(frozen=True, kw_only=True, slots=True)
class SamplePlan:
    """How much of a track is heard, and in how many parts."""

    seconds: int = 30
    parts: int = 6


class Sampler:
    """Decodes parts of audio files with ffmpeg; empty names are looked for on the path."""

    def __init__(
        self,
        *,
        ffmpeg: str = "",
        ffprobe: str = "",
        plan: SamplePlan | None = None,
        is_stopping: Callable[[], bool] = lambda: False,
        limit_s: float = WINDOW_LIMIT_S,
    ) -> None:
        self._ffmpeg = ffmpeg or "ffmpeg"
        self._ffprobe = ffprobe or "ffprobe"
        self._plan = plan or SamplePlan()
        self._is_stopping = is_stopping
        self._limit_s = limit_s
        self._lock = threading.Lock()
        self._told: set[str] = set()

    def find_tool(self) -> bool:
        """Tell whether ffmpeg is there; that it is not is told once."""
        if shutil.which(self._ffmpeg):
            return True
        self._tell(
            self._ffmpeg,
            logging.ERROR,
            "ffmpeg is not there, instrumental detection is off; install it, or set "
            "instrumental_detector.ffmpeg_path",
        )
        return False

    def sample(self, audio: Path, *, duration_s: float | None = None) -> bytes:
        """Give the parts of a track as one WAV; ``FileFault`` when nothing can be decoded."""
        known = duration_s if duration_s and duration_s > 0 else self._measure(audio)
        windows = spread_windows(known, sample_s=self._plan.seconds, count=self._plan.parts)
        pcm, last = self._decode(audio, windows, known)
        if not pcm and windows[-1].start_s > 0:  # it is shorter than it claims
            start = spread_windows(None, sample_s=self._plan.seconds, count=1)
            pcm, last = self._decode(audio, start, None)
        if not pcm:
            cause = last.cut or last.said or "it has no audio"
            raise FileFault("bad_container", f"cannot be decoded: {cause}")
        return wrap_pcm(pcm)

    def _decode(
        self, audio: Path, windows: Sequence[Window], duration_s: float | None
    ) -> tuple[bytes, Ran]:
        """Give the samples of all windows; one that hangs says nothing about the track."""
        pcm = bytearray()
        last = Ran(output=b"", said="", code=0)
        for window in windows:
            last = self._decode_one(audio, window, duration_s)
            if last.cut == "timeout":
                raise FileFault("io_error", f"cannot be decoded within {self._limit_s:g} s")
            pcm += last.output[: len(last.output) // 2 * 2]
        return bytes(pcm), last

    def _decode_one(self, audio: Path, window: Window, duration_s: float | None) -> Ran:
        wanted = math.ceil(window.length_s * BYTES_PER_SECOND)
        entry = _entry_byte(audio, window, duration_s)
        if entry is None:
            length = ("-t", f"{window.length_s:.3f}")
            source = ["-ss", f"{window.start_s:.3f}", *length, "-blocksize", str(BLOCK_BYTES)]
            source += ["-i", f"file:{audio}"]
            most = wanted + SPARE_BYTES
        else:  # its clock may start anywhere, so it is ended when there is enough
            source = ["-i", f"subfile,,start,{entry},end,0,,:file:{audio}"]
            most = wanted
        command = [
            *(self._ffmpeg, "-nostdin", "-v", "error", "-protocol_whitelist", "file,subfile"),
            *("-fflags", "+fastseek", "-noaccurate_seek", *source),
            *("-map", "0:a:0", "-vn", "-sn", "-dn", "-ac", "1", "-ar", "16000"),
            *("-f", "s16le", "-"),
        ]
        return self._run(command, limit_s=self._limit_s, most_bytes=most)

    def _measure(self, audio: Path) -> float | None:
        """Ask ffprobe how long a track is; None when nobody can tell."""
        if not shutil.which(self._ffprobe):
            self._tell(
                self._ffprobe,
                logging.WARNING,
                "ffprobe is not there, tracks of unknown length are heard at their start only; "
                "install it, or set instrumental_detector.ffprobe_path",
            )
            return None
        command = [
            *(self._ffprobe, "-v", "error", "-protocol_whitelist", "file"),
            *("-select_streams", "a:0", "-show_entries", "format=duration:stream=duration"),
            *("-of", "json", f"file:{audio}"),
        ]
        return _duration_of(self._run(command, limit_s=PROBE_LIMIT_S, most_bytes=PROBE_BYTES))

    def _run(self, command: Sequence[str], *, limit_s: float, most_bytes: int) -> Ran:
        try:
            return run_bounded(
                command, limit_s=limit_s, most_bytes=most_bytes, is_stopping=self._is_stopping
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            return Ran(output=b"", said=reason or type(error).__name__, code=-1)

    def _tell(self, tool: str, level: int, text: str) -> None:
        with self._lock:
            told = tool in self._told
            self._told.add(tool)
        if not told:
            _LOG.log(level, text, extra={"tool": tool})


def _entry_byte(audio: Path, window: Window, duration_s: float | None) -> int | None:
    """Give the byte at which a file without an index is entered; None to let ffmpeg seek."""
    sync = SYNC_WORDS.get(audio.suffix.lower())
    if sync is None or not duration_s or window.start_s <= 0:
        return None
    with suppress(OSError), audio.open("rb", buffering=0) as file:
        start = int(os.fstat(file.fileno()).st_size * window.start_s / duration_s)
        if not sync:
            return start
        file.seek(start)
        found = file.read(SYNC_REACH).find(sync)
        return None if found < 0 else start + found
    return None


def _duration_of(ran: Ran) -> float | None:
    """Read what ffprobe said; the stream speaks before the file."""
    with suppress(ValueError, RecursionError):
        told = json.loads(ran.output or b"null")
        if isinstance(told, dict):
            streams = told.get("streams")
            places = [*(streams if isinstance(streams, list) else ()), told.get("format")]
            lengths = (_seconds(place) for place in places)
            return next((length for length in lengths if length), None)
    return None


def _seconds(place: object) -> float | None:
    text = place.get("duration") if isinstance(place, dict) else None
    try:
        seconds = float(text) if isinstance(text, str) else 0.0
    except ValueError:
        return None
    return seconds if 0 < seconds <= LONGEST_DURATION_S else None
