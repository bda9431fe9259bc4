"""What is wanted, as a page, by a browser without script."""

import pytest

from builders import minimal_flac
from lyrsvc.demo.songs import SONGS
from plain_browser import PlainBrowser
from web_runs import serving_run

KNOWN = next(song for song in SONGS if song.title == "Kitchen Radio")
NOBODYS = ("Far Bell", "Low <b>Tide</b>", "مرحبا")


@pytest.fixture
def run(tmp_path):
    """A scanned library: a song with unsynced lyrics of ours, and three that nobody knows."""
    with serving_run(tmp_path, LYRSVC_WEB_UI_ENABLED="true") as running:
        music = running.house.music
        minimal_flac(
            music / "known.flac",
            seconds=KNOWN.length_s,
            artist=KNOWN.artist,
            title=KNOWN.title,
            album=KNOWN.album,
        )
        for number, title in enumerate(NOBODYS):
            minimal_flac(
                music / f"{number}.flac", seconds=100.0 + 20 * number, artist="Nobody", title=title
            )
        running._library_id()
        admin = running.visitor(scope="admin")
        assert admin.post("/api/v1/scan", {}).status == 202
        running.service.scan_desk.wait(20)
        yield running


@pytest.fixture
def browser(run):
    return PlainBrowser(run.visitor())


def titles(page):
    """Give the titles of the files a page lists."""
    assert page.answer.status == 200, page.answer.text
    words = [
        given["aria-label"]
        for _, given in page.elements
        if given.get("name") == "id" and "aria-label" in given
    ]
    return [one.removeprefix("Select ") for one in words]


def due_now(run):
    return sorted(
        row["title"] for row in run.rows("SELECT title FROM work_items WHERE ready_key IS NOT NULL")
    )


def form_of(page, *, kind=""):
    """Give the form of single rows, or the one that searches for all of a kind."""
    found = [
        form
        for form in page.forms
        if form.named("action") == ["search"] and form.named("kind") == ([kind] if kind else [])
    ]
    return found[-1]


def told(page):
    assert page.answer.status == 200
    return page.text_of("message")


def test_missing_files_say_where_they_are_and_why_they_have_nothing_yet(run, browser):
    page = browser.open("/wanted")
    assert sorted(titles(page)) == sorted((*NOBODYS, KNOWN.title))
    assert page.text.count("Waits for its turn") == 4
    assert "<b>" not in page.answer.text

    run.work()
    page = browser.open("/wanted?sort=title")
    assert titles(page) == sorted(NOBODYS)
    assert page.text.count("Not in any catalogue") == 3
    assert page.text.count("Deferred") == 3
    row = run.rows("SELECT due_at FROM work_items WHERE title = 'Far Bell'")[0]
    assert row["due_at"][:10] in page.text  # the next try
    tries = run.rows("SELECT attempted_at FROM lane_attempts")
    assert tries[0]["attempted_at"][:10] in page.text  # the last try


def test_unsynced_lyrics_of_ours_have_a_tab_of_their_own(run, browser):
    run.work()
    page = browser.open("/wanted")
    assert "Missing 3" in page.text
    assert "Unsynced 1" in page.text

    page = browser.open("/wanted?kind=unsynced")
    assert titles(page) == [KNOWN.title]
    assert "Only unsynced lyrics were found" in page.text
    assert form_of(page, kind="unsynced").named("kind") == ["unsynced"]


def test_a_filter_narrows_the_list_and_then_nothing_is_offered_for_all(browser):
    page = browser.open("/wanted?q=far+bell")
    assert titles(page) == ["Far Bell"]
    assert "Search all" not in page.text

    page = browser.open("/wanted?library=1")
    assert "Search all 4" in page.text
    assert form_of(page, kind="missing").named("library") == ["1"]
    assert "Nothing matches" in browser.open("/wanted?q=zzz").text


def test_files_that_nobody_can_be_asked_for_say_why_and_offer_no_search(run, browser):
    music = run.house.music
    minimal_flac(music / "take one.flac", seconds=60.0, artist="", title="")
    (music / "hollow.flac").write_bytes(b"")
    run.visitor(scope="admin").post("/api/v1/scan", {})
    run.service.scan_desk.wait(20)

    page = browser.open("/wanted")
    assert "Missing 6" in page.text
    assert "Search all 4" in page.text
    assert sorted(titles(page)) == sorted((*NOBODYS, KNOWN.title))
    assert "Not tagged No usable artist and title in its tags" in page.text
    assert "Unreadable File is empty" in page.text
    assert "could not be read" not in page.text

    page = browser.open("/wanted?q=TAKE+one")
    assert "take one.flac" in page.text
    assert titles(page) == []


@pytest.mark.spec("H-53")
def test_a_row_is_searched_for_ahead_of_everything_else(run, browser):
    run.work()
    assert due_now(run) == []
    page = browser.open("/wanted?sort=title")
    button = next(
        (given["name"], given["value"])
        for tag, given in page.elements
        if tag == "button" and given.get("form") == "search-one"
    )
    answer = browser.press(form_of(page), button, follow=False).answer

    assert (answer.status, answer.header("location")) == (303, "/wanted?sort=title")
    assert told(browser.open("/wanted")) == "1 track will be looked up now."
    assert due_now(run) == ["Far Bell"]
    assert run.rows("SELECT priority FROM work_items WHERE ready_key IS NOT NULL") == [
        {"priority": 10}
    ]


def test_selected_files_are_searched_for(run, browser):
    run.work()
    page = browser.open("/wanted")
    boxes = [given["value"] for _, given in page.elements if given.get("form") == "chosen"]
    page = browser.press(form_of(page), id=boxes[:2])

    assert told(page) == "2 tracks will be looked up now."
    assert len(due_now(run)) == 2


def test_all_of_a_kind_are_searched_for_in_the_order_of_scans(run, browser):
    run.work()
    page = browser.press(form_of(browser.open("/wanted"), kind="missing"))

    assert told(page) == "3 tracks will be looked up now."
    assert due_now(run) == sorted(NOBODYS)


def test_nothing_selected_and_nothing_wanted_are_told(run, browser):
    run.work()
    page = browser.open("/wanted")

    assert "Nothing was selected" in told(browser.press(form_of(page)))
    assert "nothing to search for" in told(browser.press(form_of(page), id="999"))
    assert due_now(run) == []


def test_an_unknown_library_is_told_on_the_page(run, browser):
    form = form_of(browser.open("/wanted"), kind="missing")
    run.work()

    assert "library" in told(browser.press(form, library="77")).lower()
    assert due_now(run) == []


def test_a_write_without_its_token_changes_nothing(run, browser):
    run.work()
    form = form_of(browser.open("/wanted"), kind="missing")

    assert browser.press(form, csrf_token="").answer.status == 403
    assert due_now(run) == []


def test_without_libraries_the_page_says_what_to_do(tmp_path):
    with serving_run(tmp_path, LYRSVC_WEB_UI_ENABLED="true") as running:
        browser = PlainBrowser(running.visitor())
        page = browser.open("/wanted")
        assert "No library yet" in page.text
        assert "/libraries" in [given.get("href") for _, given in page.elements]

        running._library_id()
        assert "Nothing scanned yet" in browser.open("/wanted").text
