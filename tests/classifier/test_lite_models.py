"""TensorFlow Lite models, run for real where LiteRT is installed; in CI it has to be."""

import importlib.util
import os

import numpy as np
import pytest
from lyrsvc_classifier.faults import ModelUnusable
from lyrsvc_classifier.models import load_model

from devtools.system_tools import is_required
from lite_models import sigmoid_model
from onnx_models import labels_file

NAMES = ("Music", "Speech", "Singing", "Silence")
HAS_LITERT = importlib.util.find_spec("ai_edge_litert") is not None

needs_litert = pytest.mark.skipif(
    not HAS_LITERT and not is_required(os.environ), reason="ai-edge-litert is not installed"
)


@needs_litert
@pytest.mark.parametrize("length", [None, 16_000, 15_600])
def test_lite_models_of_fixed_and_of_any_length_are_run(tmp_path, length):
    labels = labels_file(tmp_path / "l.txt", NAMES)
    model = load_model(sigmoid_model(tmp_path / "m.tflite", classes=4, length=length), labels)
    wave = np.tile(np.array([1.0, -1.0, 0.0, 0.5], np.float32), 12_000)
    for part in (wave, wave[:40_000], wave):
        found = model.classify(part)
        expected = 1 / (1 + np.exp(-wave[:4]))
        assert list(found["mean"].values()) == pytest.approx(expected, abs=1e-3)
        assert list(found["max"].values()) == pytest.approx(expected, abs=1e-3)


@needs_litert
def test_a_lite_model_that_cannot_be_loaded_is_named(tmp_path):
    bad = tmp_path / "bad.tflite"
    bad.write_bytes(b"no model at all, but long enough to be looked at")
    with pytest.raises(ModelUnusable, match=r"bad\.tflite"):
        load_model(bad, labels_file(tmp_path / "l.txt", NAMES))


@pytest.mark.skipif(HAS_LITERT, reason="LiteRT is installed")
def test_without_litert_a_lite_model_says_what_to_install(tmp_path):
    model = sigmoid_model(tmp_path / "m.tflite", classes=4)
    with pytest.raises(ModelUnusable, match=r"lyrsvc-classifier\[tflite\]"):
        load_model(model, labels_file(tmp_path / "l.txt", NAMES))
