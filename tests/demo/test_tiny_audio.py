import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lyrsvc.demo.tiny_audio import audio_bytes
from lyrsvc.files.tags import read_tags

TAGS = {
    "title": "Schlafende Züge",
    "artist": "夕凪書店",
    "album": "Harbour Lights",
    "album_artist": "Various Artists",
    "isrc": "ZZDM12600006",
}


@pytest.mark.parametrize("container", ["flac", "mp3", "wav"])
def test_every_container_carries_its_tags_and_its_true_length(tmp_path, container):
    path = tmp_path / f"x.{container}"
    path.write_bytes(audio_bytes(container, seconds=41.0, tags=TAGS))
    found = read_tags(path, enrich=True)
    assert (found.title, found.artist, found.album) == tuple(TAGS.values())[:3]
    assert (found.album_artist, found.isrcs) == ("Various Artists", ("ZZDM12600006",))
    assert found.duration_ms == pytest.approx(41_000, abs=30)


@pytest.mark.needs_tool("ffmpeg")
@pytest.mark.parametrize("container", ["flac", "mp3", "wav"])
def test_a_decoder_takes_every_container_without_complaint(tmp_path, container):
    path = tmp_path / f"x.{container}"
    path.write_bytes(audio_bytes(container, seconds=3.3, tags=TAGS))
    command = ["ffmpeg", "-v", "error", "-xerror", "-i", str(path), "-f", "s16le", "-"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    rate = 44_100 if container == "mp3" else 8_000
    assert len(done.stdout) / 2 / rate == pytest.approx(3.3, abs=0.06)
    assert any(done.stdout) == (container != "mp3")  # MP3 is silence, the others a tune


@settings(max_examples=25, deadline=None)
@given(
    container=st.sampled_from(["flac", "mp3", "wav"]),
    seconds=st.floats(0.1, 12.0),
    title=st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]), min_size=1),
)
def test_any_length_and_any_title_can_be_read_back(tmp_path_factory, container, seconds, title):
    path = tmp_path_factory.mktemp("audio") / f"x.{container}"
    path.write_bytes(
        audio_bytes(container, seconds=seconds, tags={"title": f"a{title}z", "artist": "b"})
    )
    found = read_tags(path, enrich=True)
    assert "".join(found.title.split()) == "".join(f"a{title}z".split())
    assert found.duration_ms == pytest.approx(seconds * 1000, abs=30)
