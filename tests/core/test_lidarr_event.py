"""A webhook's body becomes an event, or is refused."""

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.core.lidarr_event import Event, EventKind, InvalidPayload, read_event

BODIES = Path(__file__).parents[1] / "data" / "lidarr"


def read(**members) -> Event:
    return read_event(json.dumps(members).encode())


KINDS = {
    "test": EventKind.TEST,
    "download_new": EventKind.DOWNLOAD,
    "download_upgrade": EventKind.DOWNLOAD,
    "download_multidisc_one_file": EventKind.DOWNLOAD,
    "rename": EventKind.RENAME,
    "retag": EventKind.RETAG,
    "artist_delete": EventKind.ARTIST_DELETE,
    "album_delete": EventKind.ALBUM_DELETE,
}


@pytest.mark.parametrize("path", sorted(BODIES.glob("*.json")), ids=lambda path: path.stem)
def test_every_event_of_the_manager_is_known(path):
    event = read_event(path.read_bytes())
    assert event.kind is KINDS.get(path.stem, EventKind.UNUSED)
    assert event.name == json.loads(path.read_bytes())["eventType"]
    assert event.instance == "Lidarr"


def test_an_import_is_read_whole():
    event = read_event((BODIES / "download_upgrade.json").read_bytes())
    assert (event.artist, event.album) == ("Quillon Marsh", "Northern Pier")
    assert event.titles == ("Tidewater", "Salt & Iron")
    assert [path.rpartition("/")[2] for path in event.files] == [
        "01 - Tidewater.flac",
        "02 - Salt & Iron.flac",
    ]
    assert event.is_upgrade
    assert [path.rpartition("/")[2] for path in event.deleted] == [
        "01 - Tidewater.mp3",
        "02 Salt and Iron.mp3",
    ]
    assert not event.files_deleted


def test_renames_retags_and_deletions_are_read_whole():
    rename = read_event((BODIES / "rename.json").read_bytes())
    top = "/music/Quillon Marsh/Northern Pier (2021)"
    assert rename.renamed == (
        (f"{top}/01 - Tidewater.flac", f"{top}/1-01 Tidewater.flac"),
        (f"{top}/02 - Salt & Iron.flac", f"{top}/1-02 Salt & Iron.flac"),
    )
    retag = read_event((BODIES / "retag.json").read_bytes())
    assert (retag.retagged, retag.titles) == (f"{top}/1-01 Tidewater.flac", ())
    delete = read_event((BODIES / "artist_delete.json").read_bytes())
    assert (delete.files_deleted, delete.deleted) == (True, ())
    assert delete.artist_path == "/music/Quillon Marsh"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"  ",
        b"[]",
        b"null",
        b'"text"',
        b"5",
        b"{",
        b'{"a":1',
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b'{"a":[-Infinity]}',
        b"{} x",
        b"{}{}",
        b"\xff\xfe{}",
        b'{"a":"\xc3"}',
        b'{"a":"\xed\xa0\x80"}',
        '{"a":1}'.encode("utf-16"),
        b"\xef\xbb\xbf\xef\xbb\xbf{}",
        b'{"a":"\x01"}',
        b"{'a':1}",
        b'{"a":' + b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    ],
)
def test_what_is_not_one_json_object_is_refused(data):
    with pytest.raises(InvalidPayload) as caught:
        read_event(data)
    assert caught.value.code == "invalid_payload"
    assert len(str(caught.value)) < 100


def test_a_mark_of_byte_order_is_dropped():
    assert read_event(b'\xef\xbb\xbf\r\n {"eventType":"Test"} ').kind is EventKind.TEST


def test_members_are_known_by_their_exact_name_then_in_any_case():
    assert read(EVENTTYPE="Test").kind is EventKind.TEST
    assert read(eventType="Test", EventType="Grab").kind is EventKind.TEST
    event = read_event(b'{"eventType":"Grab","eventType":"Test"}')
    assert event.kind is EventKind.TEST
    assert read(Artist={"NAME": "Ada"}, TRACKS=[{"Title": "One"}]).titles == ("One",)


@pytest.mark.parametrize(
    ("given", "kind", "name"),
    [
        ("download", EventKind.DOWNLOAD, "Download"),
        (" DOWNLOAD ", EventKind.DOWNLOAD, "Download"),
        ("AlbumDownload", EventKind.DOWNLOAD, "Download"),
        ("TrackRetag", EventKind.RETAG, "Retag"),
        ("delete", EventKind.DELETE, "Delete"),
        ("healthrestored", EventKind.UNUSED, "HealthRestored"),
        ("Unused", EventKind.UNKNOWN, "Unused"),
        ("No\x1b[31mvel", EventKind.UNKNOWN, "No[31mvel"),
        ("x" * 99, EventKind.UNKNOWN, "x" * 64),
    ],
)
def test_events_are_known_in_any_case_and_by_their_aliases(given, kind, name):
    event = read(eventType=given)
    assert (event.kind, event.name) == (kind, name)


@pytest.mark.parametrize("members", [{"tracks": []}, {"track": {}}, {"trackFiles": []}])
def test_without_a_type_tracks_or_files_make_an_import(members):
    assert read(**members).kind is EventKind.DOWNLOAD
    assert read(**members, eventType="").kind is EventKind.DOWNLOAD
    assert read(**members, eventType=7).kind is EventKind.DOWNLOAD


def test_without_a_type_and_tracks_an_event_is_unknown():
    for members in ({}, {"tracks": 1}, {"track": []}, {"artist": {"name": "Ada"}}):
        event = read(**members)
        assert (event.kind, event.name) == (EventKind.UNKNOWN, "")


def test_a_member_of_the_wrong_type_counts_as_absent():
    event = read(
        eventType="Download",
        artist=[1],
        album="x",
        tracks={"title": "no list"},
        track=None,
        trackFiles=[{"path": 5}, "x", None, {}],
        isUpgrade="true",
        deletedFiles="yes",
        renamedTrackFiles={},
        instanceName=5,
    )
    assert event == Event(kind=EventKind.DOWNLOAD, name="Download", files=("", "", "", ""))


def test_numbers_count_as_titles_and_keep_every_digit():
    data = b'{"tracks":[{"title":1999},{"title":4.50},{"title":%s},{"title":true}]}' % (b"7" * 9999)
    one, two, long, none = read_event(data).titles
    assert (one, two, none) == ("1999", "4.50", "")
    assert long == "7" * 1000
    assert read(artist={"name": 311}, album={"title": 25}).artist == "311"


def test_names_are_stored_as_valid_text():
    event = read_event(b'{"tracks":[{"title":" a\\u0000b\\ud800 "}],"artist":{"name":"\\ud83d"}}')
    assert event.titles == ("ab\ufffd",)
    assert event.artist == "\ufffd"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda each: (
        st.lists(each, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                (
                    *("eventType", "artist", "name", "tracks", "track", "title", "trackFiles"),
                    *("path", "deletedFiles", "renamedTrackFiles", "previousPath", "TITLE", "x"),
                )
            ),
            each,
            max_size=6,
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_any_json_is_an_event_or_refused(value):
    try:
        event = read_event(json.dumps(value).encode())
    except InvalidPayload:
        assert not isinstance(value, dict)
        return
    assert isinstance(value, dict)
    texts = (event.name, event.artist, event.album, *event.titles)
    assert all(isinstance(text, str) and text == text.strip() for text in texts[1:])
    assert len(event.name) <= 64


@given(st.binary())
def test_any_bytes_are_an_event_or_refused(data):
    with suppress(InvalidPayload):
        assert isinstance(read_event(data), Event)
