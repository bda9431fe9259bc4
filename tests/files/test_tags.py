"""Reading the tags of every container by the one table."""

import struct
from pathlib import Path

import pytest
from mutagen import apev2, id3
from mutagen.mp4 import MP4

from builders import (
    BLANKS,
    CONTAINERS,
    comment_bytes,
    element,
    flac_bytes,
    id3_bytes,
    make_audio,
    matroska,
    minimal_flac,
    minimal_mp3,
    minimal_wav,
    mp3_frame,
)
from lyrsvc.files.tags import TagRead, read_tags

MBID = "f1d1d1d1-0000-4000-8000-000000000001"
TAGGED = {
    "title": "Größe / 大きさ",
    "artist": ["AC/DC", "Wishmaker"],
    "album": "Northern Harbours",
    "album_artist": "Various Artists",
    "isrc": ["us-abc-12-34567", "GBAYE0000351"],
    "mbid": MBID.upper(),
}
READ = {
    "title": "Größe / 大きさ",
    "artist": "AC/DC; Wishmaker",
    "artists": ("AC/DC", "Wishmaker"),
    "album": "Northern Harbours",
    "album_artist": "Various Artists",
    "isrcs": ("USABC1234567", "GBAYE0000351"),
    "mbid": MBID,
}


def fields(tags: TagRead) -> dict[str, object]:
    return {name: getattr(tags, name) for name in READ}


@pytest.mark.spec("E-35")
@pytest.mark.parametrize("container", CONTAINERS)
def test_every_container_gives_the_fields_of_the_table(tmp_path, container):
    path = make_audio(tmp_path / f"song.{container.upper()}", container, **TAGGED)
    tags = read_tags(path, enrich=True)
    assert fields(tags) == READ
    assert tags.duration_ms == pytest.approx(2000, abs=100)


@pytest.mark.parametrize("container", CONTAINERS)
def test_without_enrichment_isrc_mbid_and_length_are_absent_as_a_unit(tmp_path, container):
    path = make_audio(tmp_path / f"song.{container}", **TAGGED)
    tags = read_tags(path, enrich=False)
    assert (tags.isrcs, tags.mbid, tags.duration_ms) == ((), None, None)
    assert (tags.title, tags.artists) == (READ["title"], READ["artists"])


@pytest.mark.parametrize("container", [each for each in CONTAINERS if each != "mka"])
def test_two_listed_artists_go_before_the_joined_artist(tmp_path, container):
    tags = {"title": "T", "artist": "A feat. B", "artists": ["A", "B"]}
    read = read_tags(make_audio(tmp_path / f"x.{container}", **tags), enrich=False)
    assert (read.artist, read.artists) == ("A; B", ("A", "B"))


@pytest.mark.parametrize("container", ["mp3", "flac", "ogg", "m4a", "aiff", "tta"])
def test_one_listed_artist_does_not_replace_the_artist(tmp_path, container):
    tags = {"artists": ["A"], "title": "T", "artist": "A feat. B"}
    assert read_tags(make_audio(tmp_path / f"x.{container}", **tags), enrich=False).artist == (
        "A feat. B"
    )


@pytest.mark.parametrize("container", ["wma", "ape"])
def test_asf_and_ape_use_their_list_of_artists_always(tmp_path, container):
    tags = {"title": "T", "artist": "A feat. B", "artists": ["A"]}
    assert read_tags(make_audio(tmp_path / f"x.{container}", **tags), enrich=False).artist == "A"


def test_equal_values_collapse(tmp_path):
    path = minimal_flac(
        tmp_path / "x.flac", title="T", artist=["A", "B", "A"], isrc=["GBAYE0000351"] * 2
    )
    tags = read_tags(path, enrich=True)
    assert (tags.artists, tags.isrcs) == (("A", "B"), ("GBAYE0000351",))


def test_a_semicolon_and_a_blank_divide_artists_but_a_slash_never(tmp_path):
    path = minimal_flac(tmp_path / "x.flac", title="T", artist="AC/DC; Somebody;Else")
    assert read_tags(path, enrich=False).artists == ("AC/DC", "Somebody;Else")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("gb-aye-00-00351", ("GBAYE0000351",)),
        ("GBAYE0000351/USABC1234567", ("GBAYE0000351", "USABC1234567")),
        ("GBAYE0000351; USABC1234567", ("GBAYE0000351", "USABC1234567")),
        ("GBAYE000351", ()),
        ("ISRC GBAYE0000351", ()),
        ("12AYE0000351", ()),
        ("ＧＢAYE0000351", ()),
        ("", ()),
    ],
)
def test_only_a_well_formed_isrc_is_kept(tmp_path, written, read):
    path = minimal_mp3(tmp_path / "x.mp3", title="T", artist="A", isrc=written)
    assert read_tags(path, enrich=True).isrcs == read


@pytest.mark.parametrize("written", ["", "f1d1d1d1", MBID + "0", MBID.replace("-", ""), "x" * 36])
def test_only_a_uuid_is_an_mbid(tmp_path, written):
    path = minimal_flac(tmp_path / "x.flac", title="T", artist="A", mbid=written)
    assert read_tags(path, enrich=True).mbid is None


@pytest.mark.parametrize("key", ["MUSICBRAINZ_RECORDINGID", "musicbrainz_trackid"])
def test_both_names_of_the_vorbis_mbid_are_read(tmp_path, key):
    path = tmp_path / "x.flac"
    path.write_bytes(
        flac_bytes([("title", "T"), ("Artist", "A"), (key, MBID), ("ALBUM ARTIST", "V")])
    )
    tags = read_tags(path, enrich=True)
    assert (tags.mbid, tags.album_artist) == (MBID, "V")


def test_user_frames_stand_in_for_isrc_and_mbid(tmp_path):
    path = make_audio(tmp_path / "x.mp3", title="T", artist="A")
    tags = id3.ID3(path)
    tags.add(id3.TXXX(encoding=1, desc="ISRC", text=["GBAYE0000351"]))
    tags.add(id3.TXXX(encoding=1, desc="MusicBrainz Track Id", text=[MBID]))
    tags.add(id3.UFID(owner="http://example.org", data=b"no"))
    tags.save()
    read = read_tags(path, enrich=True)
    assert (read.isrcs, read.mbid, read.reader) == (("GBAYE0000351",), MBID, "fast")


@pytest.mark.parametrize("encoding", [0, 1, 2, 3])
@pytest.mark.parametrize("version", [3, 4])
def test_every_text_encoding_of_id3_is_read(tmp_path, version, encoding):
    names = ("latin-1", "utf-16", "utf-16-be", "utf-8")
    title = "Größe" if encoding == 0 else "大きさ é"
    end = b"\0" if encoding in (0, 3) else b"\0\0"
    frames = [
        ("TIT2", bytes((encoding,)) + title.encode(names[encoding]) + end),
        ("TPE1", bytes((encoding,)) + "A".encode(names[encoding])),
    ]
    path = tmp_path / "x.mp3"
    path.write_bytes(id3_bytes(frames, version=version) + mp3_frame() * 40)
    tags = read_tags(path, enrich=True)
    assert (tags.title, tags.artist, tags.reader) == (title, "A", "fast")


def test_an_unsynchronised_tag_is_read(tmp_path):
    frames = [("TIT2", b"\1" + "ÿ title".encode("utf-16")), ("TPE1", b"\0A")]
    body = id3_bytes(frames, version=3)[10:].replace(b"\xff", b"\xff\0")
    size = bytes(len(body) >> shift & 0x7F for shift in (21, 14, 7, 0))
    path = tmp_path / "x.mp3"
    path.write_bytes(b"ID3\3\0\x80" + size + body + mp3_frame() * 40)
    assert read_tags(path, enrich=True).title == "ÿ title"


def test_an_id3_version_2_2_tag_is_read(tmp_path):
    body = b"".join(
        name + len(data).to_bytes(3, "big") + data
        for name, data in ((b"TT2", b"\0Title"), (b"TP1", b"\0Artist"), (b"TAL", b"\0Album"))
    )
    path = tmp_path / "x.mp3"
    path.write_bytes(b"ID3\2\0\0" + bytes((0, 0, 0, len(body))) + body + mp3_frame() * 40)
    tags = read_tags(path, enrich=True)
    assert (tags.title, tags.artist, tags.album, tags.reader) == (
        "Title",
        "Artist",
        "Album",
        "fast",
    )


def test_frame_sizes_of_a_careless_2_4_writer_are_understood(tmp_path):
    long = b"\3" + b"x" * 300
    body = b"TALB" + struct.pack(">I", len(long)) + b"\0\0" + long
    body += b"".join(
        name + struct.pack(">I", len(data)) + b"\0\0" + data
        for name, data in ((b"TIT2", b"\3Title"), (b"TPE1", b"\3Artist"))
    )
    size = bytes(len(body) >> shift & 0x7F for shift in (21, 14, 7, 0))
    path = tmp_path / "x.mp3"
    path.write_bytes(b"ID3\4\0\0" + size + body + mp3_frame() * 40)
    tags = read_tags(path, enrich=True)
    assert (tags.title, tags.artist, tags.album) == ("Title", "Artist", "x" * 300)


@pytest.mark.spec("E-35")
@pytest.mark.parametrize("container", ["mp3", "tta"])
def test_ape_tags_count_where_id3_is_missing(tmp_path, container):
    path = make_audio(tmp_path / f"x.{container}")
    tags = apev2.APEv2()
    tags["Title"], tags["Artist"], tags["ISRC"] = "T", ["A", "B"], "GBAYE0000351"
    tags.save(path)
    read = read_tags(path, enrich=True)
    assert (read.title, read.artists, read.isrcs) == ("T", ("A", "B"), ("GBAYE0000351",))
    assert read.duration_ms == pytest.approx(2000, abs=60)


def test_ape_tags_go_before_the_short_first_version_of_id3(tmp_path):
    path = make_audio(tmp_path / "x.mp3")
    tags = apev2.APEv2()
    tags["Title"], tags["Artist"] = "A title that is longer than thirty letters", "A"
    tags.save(path)
    with path.open("ab") as file:
        file.write(
            b"TAG" + b"A title that is longer than thirty letters"[:30] + b"A".ljust(95, b"\0")
        )
    assert read_tags(path, enrich=True).title == "A title that is longer than thirty letters"


def test_the_first_version_of_id3_is_read_when_nothing_else_is_there(tmp_path):
    path = make_audio(tmp_path / "x.mp3")
    with path.open("ab") as file:
        file.write(b"TAG" + b"Title".ljust(30, b"\0") + b"Artist".ljust(95, b"\0"))
    tags = read_tags(path, enrich=True)
    assert (tags.title, tags.artist) == ("Title", "Artist")


@pytest.mark.spec("E-35")
def test_riff_info_counts_where_a_wav_has_no_id3(tmp_path):
    path = minimal_wav(
        tmp_path / "x.wav", title="T", artist="A", album="L", isrc="GBAYE0000351", seconds=12.5
    )
    tags = read_tags(path, enrich=True)
    assert (tags.title, tags.artist, tags.album) == ("T", "A", "L")
    assert (tags.isrcs, tags.duration_ms) == (("GBAYE0000351",), 12500)


def test_riff_info_in_the_windows_encoding_is_read(tmp_path):
    path = minimal_wav(tmp_path / "x.wav", title="Groesse", artist="A")
    path.write_bytes(path.read_bytes().replace(b"Groesse", "Größe\0\0".encode("cp1252")))
    assert read_tags(path, enrich=True).title == "Größe"


def test_an_id3_chunk_goes_before_riff_info(tmp_path):
    path = minimal_wav(tmp_path / "x.wav", title="Short", artist="A", seconds=1)
    from mutagen.wave import WAVE

    audio = WAVE(path)
    audio.add_tags()
    audio.tags.add(id3.TIT2(encoding=3, text="Long"))
    audio.tags.add(id3.TPE1(encoding=3, text="B"))
    audio.save()
    tags = read_tags(path, enrich=True)
    assert (tags.title, tags.artist) == ("Long", "B")


def test_the_text_chunks_of_aiff_count_where_it_has_no_id3(tmp_path):
    path = make_audio(tmp_path / "x.aiff")
    data = path.read_bytes() + b"NAME\0\0\0\5Title\0" + b"AUTH\0\0\0\6Artist"
    path.write_bytes(data[:4] + struct.pack(">I", len(data) - 8) + data[8:])
    tags = read_tags(path, enrich=True)
    assert (tags.title, tags.artist, tags.duration_ms) == ("Title", "Artist", 2000)


@pytest.mark.spec("E-35")
def test_a_tagged_raw_aac_has_its_tags_and_its_counted_length(tmp_path):
    path = make_audio(tmp_path / "x.aac", title="T", artist="A")
    tags = read_tags(path, enrich=True)
    assert (tags.title, tags.artist) == ("T", "A")
    assert tags.duration_ms == pytest.approx(2090, abs=30)


def test_a_flac_behind_an_id3_tag_is_read_by_its_comments(tmp_path):
    path = tmp_path / "x.flac"
    wrong = id3_bytes([("TIT2", b"\3wrong"), ("TPE1", b"\3wrong")])
    path.write_bytes(wrong + flac_bytes([("TITLE", "T"), ("ARTIST", "A")], seconds=61))
    tags = read_tags(path, enrich=True)
    assert (tags.title, tags.artist, tags.duration_ms) == ("T", "A", 61000)


def test_content_tells_the_container_whatever_the_name_says(tmp_path):
    path = make_audio(tmp_path / "song.mp3", "flac", title="T", artist="A")
    assert read_tags(path, enrich=True).title == "T"
    path = make_audio(tmp_path / "song.flac", "m4a", title="U", artist="A")
    assert read_tags(path, enrich=True).title == "U"


def test_freeform_atoms_without_a_type_are_text_too(tmp_path):
    path = make_audio(tmp_path / "x.m4a", title="T", artist="A")
    audio = MP4(path)
    from mutagen.mp4 import AtomDataType, MP4FreeForm

    audio["----:com.apple.iTunes:ISRC"] = [MP4FreeForm(b"GBAYE0000351", AtomDataType.IMPLICIT)]
    audio.save()
    assert read_tags(path, enrich=True).isrcs == ("GBAYE0000351",)


class TestMatroska:
    def read(self, tmp_path: Path, data: bytes) -> TagRead:
        path = tmp_path / "x.mka"
        path.write_bytes(data)
        return read_tags(path, enrich=True)

    def test_the_artist_of_the_album_stands_in_for_the_track(self, tmp_path):
        tags = self.read(tmp_path, matroska({"title": ["T"], "album_artist": ["V"]}))
        assert (tags.title, tags.artist, tags.album_artist) == ("T", "V", "V")

    def test_without_an_index_the_audio_is_stepped_over(self, tmp_path):
        data = matroska({"title": ["T"], "artist": ["A"]}, seconds=75)
        tags = self.read(tmp_path, data.replace(b"\x11\x4d\x9b\x74", b"\x11\x4d\x9b\x75"))
        assert (tags.title, tags.artist, tags.duration_ms) == ("T", "A", 75000)

    def test_the_tags_of_a_chapter_are_not_those_of_the_file(self, tmp_path):
        chapter = element(
            "7373",
            element("63C0", element("68CA", b"\x1e") + element("63C4", b"\7"))
            + element("67C8", element("45A3", b"TITLE") + element("4487", b"Chapter")),
        )
        data = matroska({"title": ["T"], "artist": ["A"]})
        at = data.rindex(bytes.fromhex("1254C367"))
        body = data[at + 12 :]
        data = data[:at] + element("1254C367", chapter + body)
        size_at = data.index(bytes.fromhex("18538067")) + 4
        size = (1 << 56 | len(data) - size_at - 8).to_bytes(8, "big")
        assert self.read(tmp_path, data[:size_at] + size + data[size_at + 8 :]).title == "T"

    def test_a_stream_of_unknown_size_is_read(self, tmp_path):
        data = matroska({"title": ["T"], "artist": ["A"]})
        at = data.index(bytes.fromhex("18538067")) + 4
        unknown = b"\x01" + b"\xff" * 7
        data = data[:at] + unknown + data[at + 8 :]
        at = data.index(bytes.fromhex("1F43B675")) + 4
        tags = self.read(tmp_path, data[:at] + unknown + data[at + 8 :])
        assert tags.title == "T"

    def test_at_most_eight_mebibytes_are_read(self, tmp_path):
        data = matroska({"title": ["T"], "artist": ["A"]})
        at = data.index(bytes.fromhex("114D9B74"))
        flood = element("EC", b"") * 2_000_000
        path = tmp_path / "x.mka"
        path.write_bytes(data[: at - 8] + b"\x01" + b"\xff" * 7 + flood + data[at:])
        assert read_tags(path, enrich=True).title == ""


class TestMp3Length:
    def length(self, tmp_path: Path, data: bytes) -> int | None:
        path = tmp_path / "x.mp3"
        path.write_bytes(id3_bytes([("TIT2", b"\3T"), ("TPE1", b"\3A")]) + data)
        return read_tags(path, enrich=True).duration_ms

    def test_a_header_tells_the_length(self, tmp_path):
        path = minimal_mp3(tmp_path / "x.mp3", title="T", artist="A", seconds=245.3)
        assert read_tags(path, enrich=True).duration_ms == pytest.approx(245_300, abs=30)

    def test_a_vbri_header_tells_the_length(self, tmp_path):
        frame = bytearray(mp3_frame())
        frame[36:54] = b"VBRI" + struct.pack(">HHHII", 1, 0, 75, 99999, 1000)
        assert self.length(tmp_path, bytes(frame) + mp3_frame() * 9) == round(1000 * 1152e3 / 44100)

    def test_a_constant_stream_is_measured_by_its_size(self, tmp_path):
        expected = len(mp3_frame(192)) * 400 * 8 / 192
        assert self.length(tmp_path, mp3_frame(192) * 400) == pytest.approx(expected, abs=60)

    def test_a_tag_at_the_end_is_no_audio(self, tmp_path):
        alone = self.length(tmp_path, mp3_frame(192) * 400)
        assert self.length(tmp_path, mp3_frame(192) * 400 + b"TAG".ljust(128, b"\0")) == alone

    def test_the_length_of_a_variable_stream_without_a_header_is_unknown(self, tmp_path):
        data = mp3_frame(64) * 200 + mp3_frame(128) * 200 + mp3_frame(320) * 200
        assert self.length(tmp_path, data) is None


@pytest.mark.parametrize("container", ["ogg", "opus", "oga"])
def test_the_length_of_ogg_stands_in_the_last_page_even_behind_rubbish(tmp_path, container):
    path = make_audio(tmp_path / f"x.{container}", title="T", artist="A")
    with path.open("ab") as file:
        file.write(bytes(200_000))
    tags = read_tags(path, enrich=True)
    assert tags.duration_ms == pytest.approx(2000, abs=10)
    assert tags.reader == "fast"


def test_comments_over_many_pages_are_read(tmp_path):
    path = make_audio(tmp_path / "x.ogg", title="T", album="x" * 50_000, artist="A")
    tags = read_tags(path, enrich=True)
    assert (tags.title, tags.artist, len(tags.album)) == ("T", "A", 50_000)


def test_names_become_one_line_of_valid_text(tmp_path):
    path = tmp_path / "x.flac"
    block = comment_bytes([("TITLE", "\ta\x00b\r\nc\x85 "), ("ARTIST", "A")])
    block = block.replace(b"a\x00b", b"a\xffb")
    data = flac_bytes([])
    path.write_bytes(data[: data.rindex(b"\x84")] + b"\x84" + len(block).to_bytes(3, "big") + block)
    assert read_tags(path, enrich=False).title == "a\ufffdb c"


def test_the_blanks_are_what_they_are_called():
    assert {path.suffix for path in BLANKS.iterdir()} >= {".mp3", ".ogg", ".opus", ".m4a", ".wma"}
