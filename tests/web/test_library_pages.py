"""The page of libraries: by plain forms, as a browser without script sends them."""

import os
import re
from pathlib import Path

import pytest

from builders import minimal_flac
from lyrsvc.services.root_probes import RootState
from lyrsvc.store import libraries
from lyrsvc.web.library_pages import trouble_of
from served import wait_until
from service_runs import ARTIST
from web_runs import serving_run

HOME = "/libraries"
CSRF = "lyrsvc-csrf-token"


@pytest.fixture
def run(tmp_path):
    with serving_run(tmp_path, LYRSVC_WEB_UI_ENABLED="true") as run:
        yield run


@pytest.fixture
def someone(run):
    visitor = run.visitor()
    assert visitor.get(HOME).status == 200
    return visitor


@pytest.fixture
def music(run):
    for title in ("Kitchen Radio", "Other"):
        minimal_flac(run.house.music / "a" / f"{title}.flac", title=title, artist=ARTIST)
    return str(run.house.music)


def send(visitor, action, **fields):
    """Post a form and give the answer; its message is on the page that follows."""
    fields = {"action": action, "csrf_token": visitor.cookies[CSRF], **fields}
    return visitor.submit(HOME, fields)


def told(visitor, answer):
    """Follow the answer to a form; give the sentence it is told with."""
    assert (answer.status, answer.header("location")) == (303, HOME), answer.text[-2000:]
    return message_of(visitor.get(HOME).text)


def message_of(page):
    found = re.search(r'<div class="message (\w+)">.*?<p>(.*?)</p>', page, re.DOTALL)
    return (found[1], found[2]) if found else None


def added(visitor, path, **fields):
    level, _ = told(visitor, send(visitor, "add", path=path, **fields))
    assert level == "ok"


def known(run):
    return run.rows("SELECT * FROM libraries ORDER BY id")


def has_ended(run):
    runs = run.rows("SELECT state FROM scan_runs")
    return runs and all(row["state"] != "running" for row in runs)


def test_without_a_library_the_page_invites_to_add_one(someone):
    page = someone.get(HOME).text
    assert "Add your first library" in page
    assert 'name="path"' in page
    assert "Scan all" not in page


@pytest.mark.spec("H-53")
def test_a_library_is_added_and_scanned_with_one_form(run, someone, music):
    answer = send(someone, "add", path=f" {music} ", name="", scan="yes")
    assert told(someone, answer) == ("ok", "music was added and is being scanned.")
    wait_until(lambda: has_ended(run), "the scan ends")

    page = someone.get(HOME).text
    assert "Webhook paths from next restart" in page
    assert '<a href="/wanted?library=1">2</a>' in page
    assert "<strong>2</strong> files" in page
    assert "<strong>2</strong> queued" in page
    (row,) = run.rows("SELECT * FROM audit_log WHERE event = 'library.added'")
    assert row["actor"] == "trusted-network"


def test_a_library_that_is_not_to_be_scanned_is_only_added(run, someone, music):
    answer = send(someone, "add", path=music, name="Tunes", enrich="off", detect_instrumental="on")
    assert told(someone, answer) == ("ok", "Tunes was added.")
    (library,) = known(run)
    assert (library["enrich"], library["detect_instrumental"]) == (0, 1)
    assert run.rows("SELECT * FROM scan_runs") == []
    assert "Not scanned yet" in someone.get(HOME).text


def test_overrides_are_set_and_given_back_to_the_default(run, someone, music):
    added(someone, music)
    page = someone.get(HOME).text
    assert "Inherit (now on)" in page
    assert "Inherit (now off)" in page

    told(someone, send(someone, "update", id=1, enrich="off", detect_instrumental="on"))
    (library,) = known(run)
    assert (library["enrich"], library["detect_instrumental"]) == (0, 1)
    assert library["name"] == "music"

    told(someone, send(someone, "update", id=1, enrich="inherit"))
    (library,) = known(run)
    assert (library["enrich"], library["detect_instrumental"]) == (None, 1)


def test_a_library_is_renamed_and_moved(run, someone, music, tmp_path):
    added(someone, music)
    moved = tmp_path / "elsewhere"
    Path(music).rename(moved)
    answer = send(someone, "update", id=1, name="Tunes", path=str(moved))
    assert told(someone, answer) == ("ok", "Tunes was saved.")
    (library,) = known(run)
    assert (library["name"], library["path"]) == ("Tunes", str(moved))


@pytest.mark.parametrize(
    ("fields", "status", "field", "sentence"),
    [
        ({"path": ""}, 400, "path", "Name the directory that holds the music."),
        ({"path": "music"}, 400, "path", "Expected an absolute path."),
        ({"path": "/a\0b"}, 400, "path", "Expected an absolute path."),
        ({"path": "/gone/for/good"}, 400, "path", "The path cannot be used"),
        ({"path": "/" + "x" * 5000}, 400, "path", "At most 4,096 characters fit."),
        ({"path": "MUSIC/"}, 409, "path", "Another library has this directory already."),
        ({"path": "SECOND", "name": "Músic"}, 409, "name", "Another library has this name."),
        ({"path": "SECOND", "name": "x" * 201}, 400, "name", "At most 200 characters fit."),
        ({"path": "SECOND", "enrich": "perhaps"}, 400, "enrich", "Must be on, off or inherit."),
    ],
)
def test_a_form_that_is_refused_comes_back_as_it_was_sent(
    run, someone, music, tmp_path, fields, status, field, sentence
):
    added(someone, music, name="Músic")
    (tmp_path / "second").mkdir()
    path = fields["path"].replace("MUSIC", music).replace("SECOND", str(tmp_path / "second"))
    answer = send(someone, "add", **{"name": "Kept <b>", **fields, "path": path})

    assert answer.status == status
    assert "Nothing was saved" in answer.text
    assert f'<a href="#{field}">{sentence}' in answer.text
    assert re.search(rf'id="{field}"[^>]*aria-describedby="{field}-note"', answer.text)
    if "name" not in fields:
        assert 'value="Kept &lt;b&gt;"' in answer.text
    assert len(known(run)) == 1
    program = send_as_program(someone, "add", **{**fields, "path": path})
    assert (program.status, set(program.json)) == (status, {"error", "detail"})


def test_one_error_of_a_scan_is_one(run, someone, music):
    added(someone, music)
    send(someone, "scan", id=1)
    wait_until(lambda: has_ended(run), "the scan ends")
    run.db.write(lambda tx: tx.run("UPDATE scan_runs SET file_errors = 1, dir_errors = 2"))
    page = someone.get(HOME).text
    assert "<strong>1</strong> file error</li>" in page
    assert "<strong>2</strong> folder errors</li>" in page


def send_as_program(visitor, action, **fields):
    return visitor.submit(
        HOME,
        {"action": action, "csrf_token": visitor.cookies[CSRF], **fields},
        headers={"accept": "application/json"},
    )


def test_a_change_that_is_refused_opens_its_own_form(run, someone, music, tmp_path):
    (tmp_path / "second").mkdir()
    added(someone, music)
    added(someone, str(tmp_path / "second"))
    answer = send(someone, "update", id=2, name="MUSIC", path=str(tmp_path / "second"))
    assert answer.status == 409
    assert '<a href="#name-2">Another library has this name.</a>' in answer.text
    assert answer.text.count('<details class="library-more" open>') == 1
    assert send(someone, "update", id=2, name=" ").status == 400
    assert [row["name"] for row in known(run)] == ["music", "second"]


def test_a_nested_library_is_added_with_a_note(someone, music):
    added(someone, music)
    level, text = told(someone, send(someone, "add", path=f"{music}/a"))
    assert level == "ok"
    assert "lies inside library" in text


def test_a_name_that_is_no_text_survives_a_save(run, someone, tmp_path):
    odd = os.fsencode(tmp_path / "m") + b"\xff"
    Path(os.fsdecode(odd)).mkdir()
    now = run.house.clock.now()
    run.db.write(lambda tx: libraries.add(tx, name="odd", path=Path(os.fsdecode(odd)), now=now))
    page = someone.get(HOME)
    assert page.status == 200
    shown = re.search(r'id="path-1"[^>]*value="([^"]*)"', page.text)[1]
    told(someone, send(someone, "update", id=1, path=shown, name="still odd"))
    with run.db.read() as tx:
        library = libraries.get(tx, 1)
    assert (library.name, os.fsencode(library.path)) == ("still odd", odd)


def test_all_libraries_and_single_ones_are_scanned(run, someone, music, tmp_path):
    (tmp_path / "second").mkdir()
    added(someone, music)
    added(someone, str(tmp_path / "second"))
    level, text = told(someone, send(someone, "scan"))
    assert (level, "All libraries" in text) == ("ok", True)
    wait_until(lambda: len(run.rows("SELECT * FROM scan_runs")) == 2, "both are scanned")
    wait_until(lambda: has_ended(run), "they end")

    text = told(someone, send(someone, "scan", id=[1, 2], mode="upgrade"))[1]
    assert text == "music, second are being scanned."
    wait_until(lambda: has_ended(run), "they end")
    modes = [row["mode"] for row in run.rows("SELECT mode FROM scan_runs ORDER BY id")]
    assert modes == ["normal", "normal", "upgrade", "upgrade"]


def test_a_scan_that_failed_is_told_with_its_reason(run, someone, music):
    added(someone, music)
    Path(music).rename(f"{music}-away")
    told(someone, send(someone, "scan", id=1))
    wait_until(lambda: has_ended(run), "it ends")
    assert "Its directory was not there" in someone.get(HOME).text


def test_a_directory_that_is_not_there_is_shown_in_red(run, someone, tmp_path):
    now = run.house.clock.now()
    run.db.write(lambda tx: libraries.add(tx, name="gone", path=tmp_path / "gone", now=now))
    page = someone.get(HOME).text
    assert 'class="card library in-trouble"' in page
    assert "<strong>Unreachable.</strong> This directory cannot be read." in page


def test_files_a_scan_cannot_read_are_listed(run, someone, music):
    Path(music, "a", "<b>broken.flac").write_bytes(b"nothing")
    added(someone, music, scan="yes")
    wait_until(lambda: has_ended(run), "it ends")
    page = someone.get(HOME).text
    assert "1 problem in the last scan" in page
    assert "&lt;b&gt;broken.flac" in page


def test_files_nobody_can_name_are_listed(run, someone, music):
    minimal_flac(Path(music, "a", "<i>01.flac"), artist="\u200b", title="...")
    added(someone, music, scan="yes")
    wait_until(lambda: has_ended(run), "it ends")
    page = someone.get(HOME).text
    assert "1 file without a usable artist and title" in page
    assert '<code dir="auto">a/&lt;i&gt;01.flac</code>' in page
    assert "in the last scan" not in page
    Path(music, "a", "<i>01.flac").unlink()
    send(someone, "scan", id=1)
    wait_until(
        lambda: (
            run.rows("SELECT COUNT(*) AS n FROM scan_runs WHERE ended_at IS NOT NULL")[0]["n"] == 2
        ),
        "it ends again",
    )
    assert "usable artist" not in someone.get(HOME).text


def test_nothing_is_cleared_before_it_was_confirmed(run, someone, music):
    added(someone, music, scan="yes")
    wait_until(lambda: has_ended(run), "it ends")
    asked = send(someone, "clear", id=1)
    assert asked.status == 200
    assert "This forgets 2 scan results of music and 2 waiting items of the queue." in asked.text
    assert '<input type="hidden" name="confirm" value="yes">' in asked.text
    assert len(run.rows("SELECT * FROM scan_results")) == 2

    text = told(someone, send(someone, "clear", id=1, confirm="yes"))[1]
    assert text == "2 scan results of music and 2 waiting items of the queue were forgotten."
    assert run.rows("SELECT * FROM scan_results") == []
    assert len(known(run)) == 1


@pytest.mark.spec("H-53")
def test_a_library_is_removed_after_a_question_and_its_files_stay(run, someone, music):
    added(someone, music, scan="yes")
    wait_until(lambda: has_ended(run), "it ends")
    asked = send(someone, "remove", id=1)
    assert asked.status == 200
    assert "2 scan results" in asked.text
    assert "No file is deleted" in asked.text
    assert len(known(run)) == 1

    answer = send(someone, "remove", id=1, confirm="yes")
    assert told(someone, answer) == ("ok", "music was removed. No file was touched.")
    assert known(run) == []
    assert Path(music, "a", "Other.flac").exists()
    assert len(run.rows("SELECT * FROM audit_log WHERE event = 'library.removed'")) == 1


@pytest.mark.parametrize("action", ["update", "clear", "remove", "cancel"])
@pytest.mark.parametrize(
    ("ids", "part"),
    [([], "name a library"), ([99], "is not there any more"), (["x"], "must be the id")],
)
def test_what_is_not_there_is_told_and_changes_nothing(run, someone, music, action, ids, part):
    added(someone, music)
    before = known(run)
    level, text = told(someone, send(someone, action, id=ids, confirm="yes"))
    assert (level, part in text) == ("error", True)
    assert known(run) == before


def test_an_unknown_action_is_refused(someone):
    assert send(someone, "explode", id=1).status == 400
    assert send(someone, "").status == 400


def test_calling_off_where_nothing_runs_says_so(someone, music):
    added(someone, music)
    assert told(someone, send(someone, "cancel", id=1))[0] == "info"


@pytest.mark.spec("H-54")
def test_names_are_escaped_and_long_ones_are_shown_whole(run, someone, tmp_path):
    names = ["<script>alert(1)</script>", "\u05e9\u05dc\u05d5\u05dd " * 20, "x" * 200]
    for number, name in enumerate(names):
        place = tmp_path / f"{number}"
        place.mkdir()
        added(someone, str(place), name=name)
    page = someone.get(HOME).text
    assert "<script>alert" not in page
    assert "<bdi>&lt;script&gt;alert(1)&lt;/script&gt;</bdi>" in page
    assert f"<bdi>{'x' * 200}</bdi>" in page
    assert "\u05e9\u05dc\u05d5\u05dd" in page
    assert " style=" not in page


def test_a_network_that_may_only_look_gets_no_forms(tmp_path):
    more = {"LYRSVC_WEB_UI_ENABLED": "true", "LYRSVC_TRUSTED_UI_ACCESS": "read"}
    with serving_run(tmp_path, **more) as run:
        visitor = run.visitor()
        page = visitor.get(HOME)
        assert page.status == 200
        assert 'action="/libraries"' not in page.text
        assert "may only look" in page.text
        answer = send(visitor, "add", path=str(tmp_path))
        assert answer.status in (303, 401)
        assert known(run) == []


@pytest.mark.spec("H-39")
def test_a_form_without_its_token_changes_nothing(run, someone, music):
    added(someone, music)
    for token in ("", "wrong"):
        fields = {"action": "remove", "id": 1, "confirm": "yes", "csrf_token": token}
        assert someone.submit(HOME, fields).status == 403
    assert len(known(run)) == 1


@pytest.mark.parametrize(
    ("state", "trouble"),
    [
        (RootState(answers=False), "silent"),
        (RootState(), "unreachable"),
        (RootState(reachable=True, writable=False), "unwritable"),
        (RootState(reachable=True, writable=True, empty=True), "empty"),
        (RootState(reachable=True, writable=True), ""),
    ],
)
def test_the_worst_about_a_directory_is_named(state, trouble):
    assert trouble_of(state) == trouble
