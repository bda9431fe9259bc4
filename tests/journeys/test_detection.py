"""Instrumental detection from end to end: real audio, real ffmpeg, a real model, real HTTP."""

import time
from pathlib import Path

import pytest

import sounds
from classifier_runs import Running
from lyrsvc.core.instrumental_gates import SPEECH, VOCAL
from onnx_models import labels_file, tone_model
from scored import SUNG, Classifying, score_maps
from served import Served, wait_until

MARKER = "♪ Instrumental ♪\n"
DETECTOR = "LYRSVC_INSTRUMENTAL_DETECTOR_"
ARTIST = "Odd Parade"

pytestmark = pytest.mark.needs_tool("ffmpeg")


@pytest.fixture
def classifier(tmp_path):
    labels_file(tmp_path / "tone.txt")
    running = Running(
        "--model", str(tone_model(tmp_path / "tone.onnx")), log=tmp_path / "classifier.log"
    )
    assert running.url, running.log
    yield running
    running.close()


@pytest.fixture
def scored():
    with Classifying() as server:
        yield server


@pytest.fixture
def music(home):
    place = home / "music"
    place.mkdir()
    return place


def a_track(music, title, source=None):
    source = source or sounds.tone(music.parent / f"{title}.wav", 4)
    return sounds.tagged(source, music / f"{title}.flac", artist=ARTIST, title=title)


def listen_with(shell, url, **more):
    shell.environ |= {f"{DETECTOR}ENABLED": "true", f"{DETECTOR}COOLDOWN_SECONDS": "0"}
    shell.environ |= {f"{DETECTOR}{name}": value for name, value in more.items()}
    if url:
        shell.environ[f"{DETECTOR}CLASSIFIER_URL"] = url


def states(done):
    return {line.split("\t")[1].rpartition("/")[2]: line.split("\t")[0] for line in done.lines}


@pytest.mark.seed("S-016", "S-003")
@pytest.mark.spec("E-65")
@pytest.mark.needs_tool("espeak-ng")
def test_a_directory_is_listened_to_by_a_real_model(shell, music, home, classifier):
    listen_with(shell, classifier.url)
    tone = sounds.tone(home / "tone.wav", 6)
    voice = sounds.speech(home / "voice.wav")
    a_track(music, "Tone", tone)
    a_track(music, "Voice", voice)
    a_track(music, "Both", sounds.mixed(home / "both.wav", tone, voice))
    a_track(music, "Noise", sounds.noise(home / "noise.wav", 6))
    done = shell.run(str(music))
    found = states(done)
    assert found["Tone.flac"] == "instrumental", done.err + classifier.log
    assert {found[name] for name in ("Voice.flac", "Both.flac", "Noise.flac")} == {"miss"}
    assert [path.name for path in music.glob("*.txt")] == ["Tone.txt"]
    assert (music / "Tone.txt").read_text() == MARKER
    assert "detector" in next(line for line in done.lines if "Tone.flac" in line)


@pytest.mark.seed("S-016")
def test_without_a_classifier_or_the_setting_nobody_listens(shell, music, scored):
    a_track(music, "Tone")
    shell.environ[f"{DETECTOR}CLASSIFIER_URL"] = scored.url
    assert states(shell.run(str(music))) == {"Tone.flac": "miss"}
    assert (scored.bodies, scored.asked_health) == ([], 0)


@pytest.mark.seed("S-060")
def test_wanted_without_a_classifier_is_an_error_told_and_no_reason_to_stop(shell, music):
    a_track(music, "One")
    a_track(music, "Two")
    listen_with(shell, "")
    done = shell.run(str(music))
    assert states(done) == {"One.flac": "miss", "Two.flac": "miss"}
    assert done.err.count("classifier_url") == 1


def test_what_is_found_instrumental_stays_so_and_a_query_is_not_listened_to(shell, music, scored):
    listen_with(shell, scored.url)
    a_track(music, "Tone")
    assert states(shell.run(str(music))) == {"Tone.flac": "instrumental"}
    assert states(shell.run(str(music))) == {"Tone.flac": "present"}
    shell.run("--update", str(music))
    shell.run(f"{ARTIST},Tone")
    assert len(scored.bodies) == 1


def test_a_dry_run_listens_and_writes_nothing(shell, music, scored):
    listen_with(shell, scored.url)
    a_track(music, "Tone")
    done = shell.run("--dry-run", str(music))
    assert "instrumental" in done.out
    assert "detector" in done.out
    assert list(music.glob("*.txt")) == []


def test_a_classifier_that_is_down_is_waited_for_once_and_is_no_failure(patient, music, scored):
    listen_with(patient, scored.url)
    scored.status = 500
    a_track(music, "One")
    a_track(music, "Two")
    began = patient.clock.now()
    done = patient.run(str(music))
    assert states(done) == {"One.flac": "miss", "Two.flac": "miss"}
    assert done.code == 3
    assert len(scored.bodies) == 2  # the first, and the probe after the rest
    assert 60 <= (patient.clock.now() - began).total_seconds() < 600


def test_a_classifier_that_comes_back_within_the_run_is_asked(patient, music, scored):
    listen_with(patient, scored.url)
    answers = [500]
    scored.before = lambda: setattr(scored, "status", answers.pop() if answers else 200)
    a_track(music, "One")
    a_track(music, "Two")
    done = patient.run(str(music))
    assert states(done) == {"One.flac": "instrumental", "Two.flac": "instrumental"}


def test_the_thresholds_and_classes_of_the_settings_decide(shell, music, scored):
    scored.scores = score_maps(music=0.3, voice=0.05)
    listen_with(shell, scored.url, MIN_CONFIDENCE="0.5", VOCAL_MAX_CONFIDENCE="0.1")
    a_track(music, "Tone")
    assert states(shell.run(str(music))) == {"Tone.flac": "instrumental"}
    scored.scores = {which: {"Musik": 0.95, "Stimme": 0.0} for which in ("mean", "max")}
    listen_with(shell, scored.url, CLASSES="Musik", VOCAL_CLASSES="Stimme", SPEECH_CLASSES="Stimme")
    a_track(music, "Other")
    assert states(shell.run(str(music)))["Other.flac"] == "instrumental"


def test_without_ffmpeg_it_is_told_and_everything_else_goes_on(shell, music, scored):
    a_track(music, "One")
    a_track(music, "Two")
    listen_with(shell, scored.url, FFMPEG_PATH=str(music / "nowhere"))
    done = shell.run(str(music))
    assert states(done) == {"One.flac": "miss", "Two.flac": "miss"}
    assert done.err.count("ffmpeg_path") == 1
    assert scored.asked_health == 0


@pytest.fixture
def environ(shell, scored):
    listen_with(shell, scored.url)
    return {
        **{name: value for name, value in shell.environ.items() if name not in ("HOME", "PATH")},
        "LYRSVC_SERVER_WORK_INTERVAL": "1",
    }


def scanned(served, music):
    """Queue a library before the service starts, so that nobody waits for it to look."""
    assert served.run("library", "add", str(music)).returncode == 0
    assert served.run("scan").returncode == 0
    return served


@pytest.mark.seed("S-016", "S-057")
@pytest.mark.spec("E-65")
def test_the_running_service_listens_to_what_nobody_knows(tmp_path, music, scored, environ):
    a_track(music, "Tone")
    with scanned(Served(tmp_path, environ), music) as served:
        wait_until((music / "Tone.txt").exists, "the marker")
        assert (music / "Tone.txt").read_text() == MARKER
        assert served.stop() == 0
        assert len(scored.bodies) == 1


@pytest.mark.seed("S-057")
def test_a_library_decides_for_itself_whether_it_is_listened_to(tmp_path, music, scored, environ):
    quiet = music.parent / "quiet"
    quiet.mkdir()
    a_track(music, "Heard")
    a_track(quiet, "Left Alone")
    served = Served(tmp_path, environ)
    added = served.run("library", "add", str(quiet), "--detect-instrumental=false")
    assert added.returncode == 0
    with scanned(served, music):
        wait_until((music / "Heard.txt").exists, "the marker")
        wait_until(lambda: "deferred" in served.run("queue", "list").stdout, "the other settles")
    assert list(quiet.glob("*.txt")) == []
    assert len(scored.bodies) == 1


def test_a_stop_while_listening_ends_the_service_in_time_and_charges_nothing(
    tmp_path, music, scored, environ
):
    scored.before = lambda: time.sleep(30)
    a_track(music, "Tone")
    with scanned(Served(tmp_path, environ), music) as served:
        wait_until(lambda: scored.bodies, "it is asked")
        began = time.monotonic()
        assert served.stop() == 0
        assert time.monotonic() - began < 10
        listed = served.run("queue", "list").stdout
    assert "pending" in listed
    assert list(music.glob("*.txt")) == []


def test_a_stop_while_sampling_ends_the_tool(tmp_path, music, scored, environ):
    tool = tmp_path / "tool"
    started = tmp_path / "started"
    tool.write_text(f"#!/bin/sh\necho $$ > {started}\nexec sleep 300\n")
    tool.chmod(0o755)
    a_track(music, "Tone")
    slow = Served(tmp_path, environ | {f"{DETECTOR}FFMPEG_PATH": str(tool)})
    with scanned(slow, music) as served:
        wait_until(lambda: started.exists() and started.read_text().strip(), "it samples")
        assert served.stop() == 0
    pid = started.read_text().strip()

    def is_gone() -> bool:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
            return stat.rpartition(")")[2].split()[0] == "Z"
        except OSError:
            return True

    wait_until(is_gone, "the tool is ended")
    assert scored.bodies == []


def test_a_voice_found_once_is_enough(shell, music, scored):
    listen_with(shell, scored.url)
    for name in (*VOCAL, *SPEECH):
        scored.scores = score_maps()
        scored.scores["max" if name in VOCAL else "mean"][name] = 0.3
        a_track(music, name)
        assert states(shell.run(str(music / f"{name}.flac"))) == {f"{name}.flac": "miss"}
    scored.scores = SUNG
