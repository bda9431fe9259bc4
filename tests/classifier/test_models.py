import hashlib
import json
import zipfile

import numpy as np
import pytest
from lyrsvc_classifier.faults import InferenceFailed, ModelUnusable
from lyrsvc_classifier.labels import parse_labels
from lyrsvc_classifier.models import load_model

from onnx_models import LABELS, broken_model, labels_file, tone_model

SECONDS = np.arange(16_000 * 3) / 16_000
TONE = (0.4 * np.sin(2 * np.pi * 440 * SECONDS)).astype(np.float32)
NOISE = np.random.default_rng(5).normal(0, 0.1, len(SECONDS)).astype(np.float32)


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"length": 16_000},
        {"length": 15_600},
        {"rank": 2},
        {"rank": 2, "length": 8000},
        {"outputs": 2},
    ],
    ids=str,
)
def test_models_of_every_form_hear_what_they_were_made_for(tmp_path, form):
    model = load_model(tone_model(tmp_path / "m.onnx", **form), labels_file(tmp_path / "l.txt"))
    assert model.classes == len(LABELS)
    tone, noise = model.classify(TONE), model.classify(NOISE)
    assert tone["mean"]["Music"] > 0.9 > 0.1 > noise["mean"]["Music"]
    assert tone["mean"]["Singing"] < 0.1 < 0.9 < noise["max"]["Singing"]
    assert list(tone["mean"]) == list(tone["max"]) == list(LABELS)


def test_mean_and_maximum_are_taken_over_all_frames(tmp_path):
    model = load_model(tone_model(tmp_path / "m.onnx"), labels_file(tmp_path / "l.txt"))
    half = np.concatenate([TONE[:24_000], NOISE[:24_000]])
    found = model.classify(half)
    assert found["mean"]["Singing"] == pytest.approx(0.5, abs=0.05)
    assert found["max"]["Singing"] > 0.9
    assert found["max"]["Music"] > 0.9


@pytest.mark.parametrize("length", [1, 100, 1599, 15_599, 15_601, 50_001])
@pytest.mark.parametrize("fixed", ["n", 16_000])
def test_a_waveform_of_any_length_is_scored(tmp_path, length, fixed):
    model = load_model(
        tone_model(tmp_path / "m.onnx", length=fixed), labels_file(tmp_path / "l.txt")
    )
    found = model.classify(np.resize(TONE, length))
    assert all(0 <= value <= 1 for maps in found.values() for value in maps.values())


def test_the_version_is_the_fingerprint_of_the_file(tmp_path):
    path = tone_model(tmp_path / "m.onnx")
    model = load_model(path, labels_file(tmp_path / "l.txt"))
    assert model.version == hashlib.sha256(path.read_bytes()).hexdigest()


def test_labels_are_found_beside_the_model(tmp_path):
    labels_file(tmp_path / "m.txt")
    assert load_model(tone_model(tmp_path / "m.onnx")).classes == len(LABELS)


def test_labels_are_a_list_or_a_table():
    assert parse_labels("Music\r\n\nSpeech \n") == ["Music", "Speech"]
    table = 'index,mid,display_name\n0,/m/1,Speech\n1,/m/2,"Child speech, kid speaking"\n'
    assert parse_labels("\ufeff" + table) == ["Speech", "Child speech, kid speaking"]
    assert parse_labels("Speech, kid\nMusic") == ["Speech, kid", "Music"]


def test_labels_inside_a_lite_model_are_used(tmp_path):
    from lyrsvc_classifier.labels import find_labels

    model = tmp_path / "m.tflite"
    model.write_bytes(b"a flatbuffer")
    with zipfile.ZipFile(model, "a") as packed:
        packed.writestr("labels.txt", "Speech\nMusic\n")
    assert find_labels(model, None) == ["Speech", "Music"]


def unusable(path, *words, **options) -> str:
    with pytest.raises(ModelUnusable) as caught:
        load_model(path, *words, **options)
    named = (path, *words)
    assert any(str(one) in str(caught.value) for one in named)
    return str(caught.value)


def test_whatever_cannot_be_used_is_named(tmp_path):
    labels = labels_file(tmp_path / "l.txt")
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(b"no model at all")
    unusable(tmp_path / "nowhere.onnx", labels)
    unusable(tmp_path, labels)
    unusable(bad, labels)
    unusable(tmp_path / "model.bin", labels)
    good = tone_model(tmp_path / "m.onnx")
    assert "--labels" in unusable(good)
    unusable(good, tmp_path / "nowhere.txt")
    assert "classes" in unusable(good, labels_file(tmp_path / "few.txt", LABELS[:3]))
    (tmp_path / "empty.txt").write_text("\n")
    unusable(good, tmp_path / "empty.txt")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00")
    unusable(good, tmp_path / "bytes.txt")


def test_a_model_that_gives_no_probabilities_fails(tmp_path):
    model = load_model(broken_model(tmp_path / "m.onnx"), labels_file(tmp_path / "l.txt"))
    with pytest.raises(InferenceFailed, match="probabilities"):
        model.classify(TONE)


def test_a_table_of_scores_is_taken_only_when_it_is_allowed(tmp_path):
    table = tmp_path / "scores.json"
    maps = {"mean": {"Music": 0.9}, "max": {"Music": 1}}
    table.write_text(json.dumps(maps))
    assert "--allow-test-model" in unusable(table)
    assert load_model(table, allow_test=True).classify(TONE) == maps
    table.write_text("[]")
    unusable(table, allow_test=True)
