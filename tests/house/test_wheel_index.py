"""A Python without pip gets the pinned one through the index that pip's settings name."""

import hashlib
import io
import zipfile
from base64 import b64encode
from pathlib import Path

import pytest

from devtools import Refusal, pip_source, wheel_index
from devtools.environment import BUILD_LOCK, Environment

NAME = "pip-99.1-py3-none-any.whl"
PAGE = f'<a href="../files/pip-98-py3-none-any.whl">x</a><A HREF="../../files/{NAME}#sha256=00">{NAME}</A>'


@pytest.fixture
def wheel() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("pip/__main__.py", "print('pinned pip')")
    return content.getvalue()


@pytest.fixture
def checkout(tmp_path, wheel) -> Environment:
    digest = hashlib.sha256(wheel).hexdigest()
    (tmp_path / BUILD_LOCK).write_text(f"pip==99.1 \\\n    --hash=sha256:{digest}\n")
    (tmp_path / ".venv").mkdir()
    return Environment(tmp_path)


@pytest.fixture(autouse=True)
def bare(monkeypatch, tmp_path) -> None:
    """No settings of pip but the test's own."""
    for name in (
        "PIP_INDEX_URL",
        "PIP_EXTRA_INDEX_URL",
        "PIP_FIND_LINKS",
        "PIP_NO_INDEX",
        "PIP_CERT",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


@pytest.fixture
def index(httpserver, wheel):
    httpserver.expect_request("/simple/pip/").respond_with_data(PAGE, content_type="text/html")
    httpserver.expect_request(f"/files/{NAME}").respond_with_data(wheel)
    return httpserver


def test_the_pinned_wheel_is_fetched_and_checked(index, checkout, wheel, monkeypatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", index.url_for("/simple"))
    fetched = pip_source.fetched_wheel(checkout)
    assert fetched is not None
    assert fetched.read_bytes() == wheel
    assert fetched.parent == checkout.venv


def test_the_index_may_stand_in_the_file_pip_reads(index, checkout, tmp_path) -> None:
    (tmp_path / "pip.conf").write_text(f"[global]\nindex-url = {index.url_for('/simple/')}\n")
    assert pip_source.fetched_wheel(checkout) is not None


def test_a_variable_wins_over_the_file(tmp_path) -> None:
    (tmp_path / "pip.conf").write_text("[global]\nindex_url = https://a.example\ncert = /x.pem\n")
    environ = {"PIP_CONFIG_FILE": str(tmp_path / "pip.conf"), "PIP_INDEX_URL": "https://b.example"}
    settings = wheel_index.pip_settings(environ | {"HOME": str(tmp_path), "XDG_CONFIG_DIRS": ""})
    assert (settings["index-url"], settings["cert"]) == ("https://b.example", "/x.pem")


def test_another_file_than_the_pinned_one_is_refused(index, checkout, monkeypatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", index.url_for("/simple"))
    (checkout.root / BUILD_LOCK).write_text(f"pip==99.1 \\\n    --hash=sha256:{'0' * 64}\n")
    with pytest.raises(Refusal, match=f"{NAME} from the configured index is not the file"):
        pip_source.fetched_wheel(checkout)
    assert list(checkout.venv.iterdir()) == []


def test_the_indexs_credential_is_sent_to_the_index(
    httpserver, checkout, wheel, monkeypatch
) -> None:
    expected = {"Authorization": "Basic " + b64encode(b"me:p@ss").decode()}
    httpserver.expect_request("/simple/pip/", headers=expected).respond_with_data(PAGE)
    httpserver.expect_request(f"/files/{NAME}", headers=expected).respond_with_data(wheel)
    url = httpserver.url_for("/simple").replace("://", "://me:p%40ss@")
    monkeypatch.setenv("PIP_INDEX_URL", url)
    assert pip_source.fetched_wheel(checkout) is not None


def test_a_directory_of_wheels_serves_as_well(checkout, wheel, tmp_path, monkeypatch) -> None:
    folder = tmp_path / "wheels"
    folder.mkdir()
    (folder / NAME).write_bytes(wheel)
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    assert pip_source.fetched_wheel(checkout) is not None
    assert (folder / NAME).exists()


def test_without_a_configured_index_nothing_is_asked(checkout) -> None:
    assert pip_source.fetched_wheel(checkout) is None


def test_an_index_that_fails_is_told_and_passed_over(
    httpserver, checkout, monkeypatch, capsys
) -> None:
    httpserver.expect_request("/simple/pip/").respond_with_data("gone", status=404)
    monkeypatch.setenv("PIP_INDEX_URL", httpserver.url_for("/simple"))
    assert pip_source.fetched_wheel(checkout) is None
    assert f"no {NAME} from the index" in capsys.readouterr().err


def test_no_index_means_no_index(index, checkout, monkeypatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", index.url_for("/simple"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert pip_source.fetched_wheel(checkout) is None


def test_the_newest_of_the_bundled_wheels_is_taken() -> None:
    assert pip_source._version(Path("pip-23.10-x.whl")) > pip_source._version(
        Path("pip-23.9-x.whl")
    )
