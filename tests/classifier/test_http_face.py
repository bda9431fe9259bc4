"""The classifier as a process, over real HTTP, with a real model."""

import hashlib
import json
import signal
import socket
import subprocess
import sys
import threading

import pytest
from lyrsvc_classifier.faults import BadAudio
from lyrsvc_classifier.http_face import file_part

import sounds
from classifier_runs import SOURCES
from onnx_models import LABELS, broken_model, labels_file


@pytest.mark.needs_tool("ffmpeg")
def test_a_tone_and_noise_are_told_apart(run, model, tmp_path):
    here = run("--model", model)
    version = hashlib.sha256(model.read_bytes()).hexdigest()
    status, health = here.get("/health")
    assert (status, json.loads(health)) == (
        200,
        {"status": "ok", "classes": len(LABELS), "model_version": version},
    )
    _, tone = here.post(sounds.tone(tmp_path / "tone.wav", 3).read_bytes())
    _, noise = here.post(sounds.noise(tmp_path / "noise.wav", 3).read_bytes())
    assert json.loads(tone)["mean"]["Music"] > 0.9
    assert json.loads(noise)["mean"]["Music"] < 0.1
    assert json.loads(tone)["model_version"] == version


@pytest.mark.needs_tool("ffmpeg")
def test_every_refusal_has_its_status(run, model, tmp_path):
    here = run("--model", model)
    good = sounds.tone(tmp_path / "tone.wav", 1).read_bytes()
    assert here.post(b"no audio")[0] == 400
    assert here.post(good, kind="text/plain")[0] == 400
    assert here.post(good, kind="multipart/form-data; boundary=other")[0] == 400
    assert here.post(good, kind="audio/wav")[0] == 200
    assert here.post(good, path="/elsewhere")[0] == 404
    assert here.get("/classify")[0] == 404
    assert here.post(bytes(32 * 1024 * 1024 + 1), kind="audio/wav")[0] == 413
    assert here.get("/health")[0] == 200


@pytest.mark.needs_tool("ffmpeg")
def test_a_model_that_fails_is_500_and_the_next_request_is_served(run, tmp_path):
    labels_file(tmp_path / "m.txt")
    here = run("--model", broken_model(tmp_path / "m.onnx"))
    status, body = here.post(sounds.tone(tmp_path / "tone.wav", 1).read_bytes())
    assert (status, json.loads(body)) == (500, {"error": "the model failed"})
    assert here.get("/health")[0] == 200


def test_a_length_that_is_missing_or_no_number_is_refused(run, model):
    here = run("--model", model)
    host, port = here.url.removeprefix("http://").split(":")
    for header in (b"", b"Content-Length: -5\r\n", b"Content-Length: many\r\n"):
        with socket.create_connection((host, int(port)), timeout=10) as conn:
            conn.sendall(b"POST /classify HTTP/1.1\r\nHost: x\r\n" + header + b"\r\n")
            assert b" 411 " in conn.recv(1000)


@pytest.mark.needs_tool("ffmpeg")
def test_many_at_once_are_all_answered(run, model, tmp_path):
    here = run("--model", model)
    clip = sounds.tone(tmp_path / "tone.wav", 1).read_bytes()
    found = []
    threads = [threading.Thread(target=lambda: found.append(here.post(clip)[0])) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [200] * 6


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_polite_request_ends_it(run, model, number):
    here = run("--model", model)
    here.process.send_signal(number)
    assert here.process.wait(timeout=10) == 0


def command(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lyrsvc_classifier", *map(str, words)],
        env={"PYTHONPATH": str(SOURCES), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_a_model_that_cannot_be_used_ends_it_with_2_and_its_name(tmp_path, model):
    gone = tmp_path / "nowhere.onnx"
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(b"no model")
    for path in (gone, bad):
        done = command("--model", path, "--labels", tmp_path / "tone.txt")
        assert (done.returncode, str(path) in done.stderr) == (2, True), done.stderr
    assert command().returncode == 2
    assert command("--model", model, "--listen", "nonsense").returncode == 2


def test_an_address_that_is_taken_is_named(model):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = command("--model", model, "--listen", f"127.0.0.1:{port}")
    assert done.returncode == 1
    assert str(port) in done.stderr


@pytest.mark.parametrize("quoted", ['"', ""])
def test_the_part_named_file_is_found_among_others(quoted):
    body = (
        b'--m\r\nContent-Disposition: form-data; name="profile"\r\n\r\nno\r\n'
        b"--m\r\ncontent-disposition: form-data; name=" + quoted.encode() + b"file"
        + quoted.encode() + b"\r\n\r\n\r\n--data\r\n\r\n\r\n--m--\r\n"
    )  # fmt: skip
    assert file_part('multipart/form-data; boundary="m"', body) == b"\r\n--data\r\n\r\n"
    with pytest.raises(BadAudio):
        file_part("multipart/form-data; boundary=m", body.replace(b"file", b"tile"))
