"""Models: a waveform in, scores of frames and classes out.

ONNX models run in onnxruntime, TensorFlow Lite models in LiteRT when it is installed.
A model with a fixed length of input is fed part by part.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from lyrsvc_classifier.audio import Waveform
from lyrsvc_classifier.faults import InferenceFailed, ModelUnusable
from lyrsvc_classifier.labels import find_labels

SHORTEST: Final = 15_600
"""Models that hear in frames want about a second; shorter waveforms are filled with silence."""
ROUNDING: Final = 1e-4

Scores = NDArray[np.float32]
ScoreMaps = dict[str, dict[str, float]]


class Model(Protocol):
    """Scores waveforms; ``version`` is the SHA-256 of its file."""

    version: str
    classes: int

    def classify(self, wave: Waveform) -> ScoreMaps:
        """Give mean and maximum of every class over the frames."""
        ...


def load_model(path: Path, labels: Path | None = None, *, allow_test: bool = False) -> Model:
    """Load a model by its extension; raise ``ModelUnusable``, naming the file."""
    suffix = path.suffix.lower()
    if suffix == ".json" and allow_test:
        return ScoreTable(path)
    loader = _LOADERS.get(suffix)
    if loader is None:
        hint = " without --allow-test-model" if suffix == ".json" else ""
        raise ModelUnusable(f"{path} cannot be used{hint}: a .onnx or .tflite file is needed")
    version = _fingerprint(path)
    try:
        engine = loader(path)
    except ModelUnusable:
        raise
    except Exception as error:
        raise ModelUnusable(f"{path} cannot be loaded: {_first_line(error)}") from error
    return NeuralModel(engine, find_labels(path, labels), version=version, path=path)


class Engine(Protocol):
    """Runs a model; ``input_length`` is None when it takes any length."""

    input_length: int | None

    def run(self, wave: Waveform) -> Sequence[NDArray[Any]]:
        """Give every output for a waveform."""
        ...


class NeuralModel:
    """An engine with names for its classes."""

    def __init__(self, engine: Engine, names: Sequence[str], *, version: str, path: Path) -> None:
        self.version = version
        self.classes = len(names)
        self._engine = engine
        self._names = names
        try:
            self._score(_quiet_noise())
        except InferenceFailed as error:
            raise ModelUnusable(f"{path} cannot be used: {error}") from error

    def classify(self, wave: Waveform) -> ScoreMaps:
        """Give mean and maximum of every class over the frames."""
        scores = self._score(wave)
        mean, most = scores.mean(axis=0), scores.max(axis=0)
        return {
            "mean": dict(zip(self._names, map(float, mean), strict=True)),
            "max": dict(zip(self._names, map(float, most), strict=True)),
        }

    def _score(self, wave: Waveform) -> Scores:
        frames = [self._frames(part) for part in _parts(wave, self._engine.input_length)]
        scores = np.concatenate(frames).astype(np.float64)
        sound = np.isfinite(scores).all() and (np.abs(scores - 0.5) <= 0.5 + ROUNDING).all()
        if not sound:
            raise InferenceFailed("the model gives no probabilities")
        clipped: Scores = np.clip(scores, 0.0, 1.0)
        return clipped

    def _frames(self, part: Waveform) -> Scores:
        try:
            outputs = self._engine.run(part)
        except Exception as error:
            raise InferenceFailed(_first_line(error)) from error
        for output in outputs:
            if output.ndim and output.shape[-1] == self.classes and output.size:
                return np.asarray(output, np.float32).reshape(-1, self.classes)
        shapes = ", ".join(str(tuple(output.shape)) for output in outputs)
        raise InferenceFailed(f"no output has {self.classes} classes, there are {shapes}")


class OnnxEngine:
    """A model in onnxruntime."""

    def __init__(self, path: Path) -> None:
        import onnxruntime  # type: ignore[import-untyped]

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(
            str(path), sess_options=options, providers=["CPUExecutionProvider"]
        )
        first = self._session.get_inputs()[0]
        self._name = first.name
        self._rank, self.input_length = _input_form(first.shape)

    def run(self, wave: Waveform) -> Sequence[NDArray[Any]]:
        """Give every output for a waveform."""
        shaped = wave if self._rank == 1 else wave.reshape(1, -1)
        outputs: Sequence[NDArray[Any]] = self._session.run(None, {self._name: shaped})
        return outputs


class LiteEngine:
    """A model in LiteRT."""

    def __init__(self, path: Path) -> None:
        try:
            from ai_edge_litert.interpreter import (
                Interpreter,
            )
        except ImportError as error:
            raise ModelUnusable(
                f"{path} needs LiteRT; install lyrsvc-classifier[tflite]"
            ) from error
        self._interpreter = Interpreter(model_path=str(path))
        first = self._interpreter.get_input_details()[0]
        self._index: int = first["index"]
        shape = [int(size) for size in first.get("shape_signature", first["shape"])]
        self._rank, length = _input_form([size if size > 0 else None for size in shape])
        self.input_length = length if length is None or length > 1 else None
        self._shape: tuple[int, ...] = ()

    def run(self, wave: Waveform) -> Sequence[NDArray[Any]]:
        """Give every output for a waveform; the model is fitted to its length first."""
        shaped = wave if self._rank == 1 else wave.reshape(1, -1)
        if shaped.shape != self._shape:
            self._interpreter.resize_tensor_input(self._index, list(shaped.shape))
            self._interpreter.allocate_tensors()
            self._shape = shaped.shape
        self._interpreter.set_tensor(self._index, shaped)
        self._interpreter.invoke()
        details = self._interpreter.get_output_details()
        return [self._interpreter.get_tensor(detail["index"]).copy() for detail in details]


class ScoreTable:
    """Not a model: the same scores for everything, from a JSON file, to try a set-up with."""

    def __init__(self, path: Path) -> None:
        self.version = _fingerprint(path)
        try:
            table = json.loads(path.read_bytes())
            self._maps = {name: _as_scores(table[name]) for name in ("mean", "max")}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ModelUnusable(f"{path} is no table of scores") from error
        self.classes = len(self._maps["mean"])

    def classify(self, wave: Waveform) -> ScoreMaps:  # noqa: ARG002 - whatever is heard
        """Give what the table says."""
        return self._maps


_LOADERS: Final[Mapping[str, Callable[[Path], Engine]]] = {
    ".onnx": OnnxEngine,
    ".tflite": LiteEngine,
}


def _as_scores(table: Mapping[str, Any]) -> dict[str, float]:
    return {str(name): float(value) for name, value in table.items()}


def _fingerprint(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelUnusable(f"cannot read {path}: {error.strerror}") from error


def _input_form(shape: Sequence[Any]) -> tuple[int, int | None]:
    """Give how many dimensions a waveform must have, and its length when that is fixed."""
    fixed = [size if isinstance(size, int) and size > 0 else None for size in shape]
    if len(fixed) == 1:
        return 1, fixed[0]
    if len(fixed) == 2 and fixed[0] in (1, None):
        return 2, fixed[1]
    raise ValueError(f"its input has the shape {list(shape)}, not that of a waveform")


def _parts(wave: Waveform, length: int | None) -> list[Waveform]:
    """Cut a waveform to what the model takes.

    The last part reaches back, so that no silence is heard that is not there; only
    what is shorter than one part is filled up.
    """
    wanted = length or max(SHORTEST, len(wave))
    if len(wave) < wanted:
        padded = np.zeros(wanted, np.float32)
        padded[: len(wave)] = wave
        return [padded]
    starts = [*range(0, len(wave) - wanted, wanted), len(wave) - wanted]
    return [wave[start : start + wanted] for start in starts]


def _quiet_noise() -> Waveform:
    noise: Waveform = np.random.default_rng(0).normal(0, 0.01, SHORTEST).astype(np.float32)
    return noise


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
