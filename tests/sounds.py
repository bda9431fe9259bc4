"""Real audio made on the spot: tones, noise, speech, and mixes of them."""

import subprocess
from pathlib import Path

TONE_HZ = 440


def tone(
    path: Path, seconds: float = 8, *, hz: int = TONE_HZ, options: tuple[str, ...] = ()
) -> Path:
    return _made(path, f"sine=frequency={hz}:duration={seconds}", options)


def noise(path: Path, seconds: float = 8, options: tuple[str, ...] = ()) -> Path:
    return _made(path, f"anoisesrc=duration={seconds}:color=pink:seed=7:amplitude=0.5", options)


def silence(path: Path, seconds: float = 8) -> Path:
    return _made(path, f"anullsrc=r=44100:cl=stereo:d={seconds}", ())


def speech(path: Path, words: str = "we hung the lanterns before the weather came") -> Path:
    spoken = path.with_suffix(".spoken.wav")
    subprocess.run(["espeak-ng", "-w", str(spoken), words], check=True)
    _ffmpeg("-i", str(spoken), str(path))
    spoken.unlink()
    return path


def mixed(path: Path, *parts: Path) -> Path:
    """Play files at the same time, as loud as they are."""
    inputs = [word for part in parts for word in ("-i", str(part))]
    _ffmpeg(*inputs, "-filter_complex", f"amix=inputs={len(parts)}:normalize=0", str(path))
    return path


def tagged(source: Path, path: Path, **tags: str) -> Path:
    """Give a file names, as a tagger does."""
    words = [word for name, value in tags.items() for word in ("-metadata", f"{name}={value}")]
    _ffmpeg("-i", str(source), *words, str(path))
    return path


def _made(path: Path, source: str, options: tuple[str, ...]) -> Path:
    _ffmpeg("-f", "lavfi", "-i", source, *options, str(path))
    return path


def _ffmpeg(*words: str) -> None:
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", *words], check=True)
