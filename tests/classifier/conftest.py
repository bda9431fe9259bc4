"""The reference classifier is a package of its own; its sources are put on the path."""

import sys
from pathlib import Path

import pytest

from classifier_runs import SOURCES, Running
from onnx_models import labels_file, tone_model

if str(SOURCES) not in sys.path:
    sys.path.insert(0, str(SOURCES))


@pytest.fixture
def model(tmp_path) -> Path:
    labels_file(tmp_path / "tone.txt")
    return tone_model(tmp_path / "tone.onnx")


@pytest.fixture
def run(tmp_path):
    running = []

    def start(*words: object) -> Running:
        log = tmp_path / f"classifier-{len(running)}.log"
        running.append(Running(*map(str, words), log=log))
        return running[-1]

    yield start
    for one in running:
        one.close()
