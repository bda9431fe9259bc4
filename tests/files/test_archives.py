import gzip
import io
import json
import tarfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lyrsvc.core.errors import AlreadyThere, LyrsvcError, NotFound, Refused
from lyrsvc.files.archives import FORMAT, Part, open_archive, write_archive

ABOUT = {
    "format": FORMAT,
    "program": "lyrsvc",
    "version": "1.2.3",
    "created_at": "2026-01-31T14:05:06.123Z",
    "schema": 1,
}
PARTS = [
    Part(name="database.db", role="database", data=b"rows" * 1000),
    Part(name="config.toml", role="config", data=b"[api]\n"),
]


def write(path, parts=PARTS, about=ABOUT):
    temp = path.with_name(".temp")
    write_archive(path, parts, about, temp=temp, tell=lambda _size: None)
    return path


def read(path):
    found = {}
    with open_archive(path) as reader:
        for entry, stream in reader.files():
            pieces = []
            reader.take(entry, stream, pieces.append)
            found[entry.role] = b"".join(pieces)
    return found


def test_an_archive_gives_back_what_went_in_and_is_private(tmp_path):
    path = write(tmp_path / "x.tar.gz")
    assert read(path) == {"database": b"rows" * 1000, "config": b"[api]\n"}
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.tar.gz"]
    with open_archive(path) as reader:
        assert (reader.manifest.version, reader.manifest.schema) == ("1.2.3", 1)
        assert reader.manifest.of_role("key") is None


def test_nothing_is_ever_replaced(tmp_path):
    path = tmp_path / "x.tar.gz"
    path.write_bytes(b"mine")
    with pytest.raises(AlreadyThere):
        write(path)
    assert path.read_bytes() == b"mine"
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.tar.gz"]


def test_the_reader_is_told_how_far_it_is(tmp_path):
    told = []
    write_archive(
        tmp_path / "x", PARTS, ABOUT, temp=tmp_path / ".temp", tell=lambda size: told.append(size)
    )
    assert sum(told) == 4000 + 6


def packed(members) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for member, data in members:
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def listed(*rows, **about) -> tuple[tarfile.TarInfo, bytes]:
    files = [dict(zip(("name", "role", "bytes", "sha256"), row, strict=True)) for row in rows]
    return tarfile.TarInfo("manifest.json"), json.dumps({**ABOUT, **about, "files": files}).encode()


def test_strange_archives_are_refused_with_a_reason(tmp_path):
    evil = tarfile.TarInfo("../../etc/evil")
    link = tarfile.TarInfo("database.db")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    plain = tarfile.TarInfo("database.db")
    row = ("database.db", "database", 1, "0" * 64)
    cases = {
        "no backup": packed([(tarfile.TarInfo("readme"), b"hello")]),
        "does not belong": packed([listed(row), (evil, b"x")]),
        "does not belong ": packed([listed(row), (link, b"")]),
        "does not fit": packed([listed(row), (plain, b"x")]),
        "is missing": packed([listed(row)]),
        "not understood": packed([listed(row, row)]),
        "newer program": packed([listed(row, format=FORMAT + 1)]),
        "not understood ": packed([(tarfile.TarInfo("manifest.json"), b"[]")]),
        "not understood  ": packed([listed(row, program="other")]),
        "damaged or no backup": b"not gzip at all",
        "damaged or no backup ": gzip.compress(b"not a tar"),
        "damaged or no backup  ": b"",
    }
    for reason, data in cases.items():
        path = tmp_path / "x.tar.gz"
        path.write_bytes(data)
        with pytest.raises(Refused, match=reason.strip()):
            read(path)
    with pytest.raises(NotFound):
        read(tmp_path / "none")
    with pytest.raises(Refused, match="is a directory"):
        read(tmp_path)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_damaged_archive_is_never_taken_for_a_whole_one(tmp_path_factory, data):
    path = write(
        tmp_path_factory.mktemp("a") / "x", [PARTS[0], Part(name="n", role="r", data=b"q")]
    )
    whole = path.read_bytes()
    at = data.draw(st.integers(10, len(whole) - 1))
    if data.draw(st.booleans()):
        path.write_bytes(whole[:at])
    else:
        path.write_bytes(
            whole[:at] + bytes((whole[at] ^ data.draw(st.integers(1, 255)),)) + whole[at + 1 :]
        )
    try:
        found = read(path)
    except LyrsvcError:
        return
    assert found == {"database": b"rows" * 1000, "r": b"q"}  # only padding was hit


def test_a_full_or_closed_directory_leaves_nothing_behind(tmp_path):
    missing = tmp_path / "none" / "x.tar.gz"
    with pytest.raises(LyrsvcError, match="cannot write"):
        write(missing)
    assert list(tmp_path.iterdir()) == []
