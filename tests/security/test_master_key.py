"""Where the master key comes from."""

import base64
import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lyrsvc.core.errors import ConfigError
from lyrsvc.security.master_key import MasterKey, decode_key

KEY = bytes(range(32))
TEXT = base64.b64encode(KEY).decode()


@given(st.binary(min_size=32, max_size=32), st.sampled_from(["", " ", "\n", "\r\n", "\t \n"]))
def test_every_key_is_read_back_whatever_stands_around_it(key, around):
    assert decode_key(around + base64.b64encode(key).decode() + around) == key


@given(st.binary(max_size=70).filter(lambda key: len(key) != 32))
def test_a_key_of_another_length_is_refused(key):
    with pytest.raises(ConfigError):
        decode_key(base64.b64encode(key).decode())


@pytest.mark.seed("S-105")
@pytest.mark.parametrize(
    "text",
    [
        "short",
        TEXT[:-1],
        TEXT + "=",
        TEXT[:20] + "\n" + TEXT[20:],
        TEXT.replace("A", "-", 1),
        TEXT[:-2] + "é=",
        KEY.hex(),
        "0" * 32,
    ],
)
def test_a_malformed_key_is_fatal_and_not_repeated(tmp_path, text):
    with pytest.raises(ConfigError) as caught:
        MasterKey(text=text, file=tmp_path / "key")
    assert "LYRSVC_MASTER_KEY" in str(caught.value)
    assert text not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.seed("S-104")
def test_a_given_key_leaves_the_file_alone(tmp_path):
    keys = MasterKey(text=f"  {TEXT}\n", file=tmp_path / "key")
    assert keys.find() == keys.need() == KEY
    assert list(tmp_path.iterdir()) == []


def test_a_given_key_does_not_even_look_at_a_broken_file(tmp_path):
    (tmp_path / "key").write_bytes(b"broken")
    assert MasterKey(text=TEXT, file=tmp_path / "key").need() == KEY


@pytest.mark.seed("S-104")
def test_only_need_makes_a_key(tmp_path):
    keys = MasterKey(text="", file=tmp_path / "state" / "key")
    assert keys.find() is None
    assert list(tmp_path.iterdir()) == []
    made = keys.need()
    assert keys.find() == keys.need() == made
    assert MasterKey(text="\n", file=tmp_path / "state" / "key").find() == made


def test_a_replaced_key_file_is_noticed(tmp_path):
    file: Path = tmp_path / "key"
    keys = MasterKey(text="", file=file)
    keys.need()
    file.write_bytes(KEY)
    assert keys.find() == KEY
    file.write_bytes(KEY[:-1])
    with pytest.raises(ConfigError):
        keys.need()


@pytest.mark.seed("S-104")
def test_a_key_file_open_to_others_is_warned_about_once_and_used(tmp_path, caplog):
    file: Path = tmp_path / "key"
    file.write_bytes(KEY)
    file.chmod(0o644)
    keys = MasterKey(text="", file=file)
    with caplog.at_level(logging.WARNING):
        assert keys.find() == keys.need() == KEY
    (record,) = caplog.records
    assert "mode 0644" in record.getMessage()
    assert f"chmod 600 {file}" in record.getMessage()
