"""The queue as a page, by a browser without script."""

import pytest

from fakes import FakeClock
from lyrsvc.store import counts
from plain_browser import PlainBrowser
from report_rows import NOW, fill, insert_item
from service_runs import House

NOWHERE = "http://127.0.0.1:9"
SCRIPT = "<script>alert(1)</script>"
LONG = "On And On " * 50


def add_odd_names(tx):
    for number, title in ((20, SCRIPT), (21, LONG), (22, "مرحبا يا عالم")):
        insert_item(tx, number, {"status": "pending", "due_at": NOW}, title=title, album=SCRIPT)
    counts.correct(tx, now=NOW)


@pytest.fixture
def run(tmp_path, clock):
    with House(tmp_path, clock, NOWHERE).running(LYRSVC_WEB_UI_ENABLED="true") as running:
        running.db.write(fill)
        yield running
        with running.db.read() as tx:
            assert counts.differences(tx) == {}


@pytest.fixture
def browser(run):
    return PlainBrowser(run.visitor())


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    """Somebody who changes nothing, so that one service is enough."""
    house = House(tmp_path_factory.mktemp("reader"), FakeClock(), NOWHERE)
    with house.running(LYRSVC_WEB_UI_ENABLED="true") as running:
        running.db.write(fill)
        running.db.write(add_odd_names)
        yield PlainBrowser(running.visitor())


def shown(page):
    """Give the ids of the items a page lists, in its order."""
    assert page.answer.status == 200, page.answer.text
    links = [given["href"] for tag, given in page.elements if tag == "a"]
    return [int(link.removeprefix("/queue/")) for link in links if link.startswith("/queue/")]


def statuses(run):
    return {row["id"]: row["status"] for row in run.rows("SELECT id, status FROM work_items")}


def told(page):
    assert page.answer.status == 200
    return page.text_of("message")


# Looking


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("status=bogus", "Status: must be one of pending, processing, done, failed, deferred."),
        ("page=0", "Page: must be at least 1."),
        ("page=x", "Page: must be a whole number."),
        ("q=" + "x" * 1001, "Q: must have at most 1000 characters."),
    ],
)
def test_a_filter_that_cannot_be_is_refused_in_a_sentence(browser, query, words):
    page = browser.open(f"/queue?{query}")
    assert page.answer.status == 400
    assert words in page.text


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?status=failed&sort=id", [8, 9, 10]),
        ("?status=failed&status=done&sort=id&page_size=4", [1, 2, 3, 4]),
        ("?status=done&sort=id&page=2&page_size=3", [4, 5]),
        ("?library=2&sort=id", [1, 3, 6, 8]),
        ("?reason=network&sort=id", [8, 9]),
        ("?q=CAFE", [2]),
        ("?lane=&q=&status=pending&reason=&sort=id", [11, 20, 21, 22]),
    ],
)
def test_filters_order_and_page_are_in_the_address(reader, query, expected):
    assert shown(reader.open(f"/queue{query}")) == expected


def test_a_row_says_what_its_item_waits_for(reader):
    page = reader.open("/queue?status=failed&sort=id")

    assert "Provider not reachable" in page.text
    assert "Disk is full" in page.text
    assert "2026-01-31 14:06:06 UTC" in page.text  # due in a minute
    assert page.text.count("Now") == 2  # due five minutes ago, and due this second


def test_counts_lead_to_the_rows_they_count(reader):
    page = reader.open("/queue")
    tabs = [
        given["href"] for tag, given in page.elements if tag == "a" and "status=" in given["href"]
    ]

    assert tabs == [
        "/queue?status=pending",
        "/queue?status=processing",
        "/queue?status=done",
        "/queue?status=failed",
        "/queue?status=deferred",
    ]
    assert "Pending 4 Processing 1 Done 5 Failed 3 Deferred 3" in page.text
    assert [len(shown(reader.open(tab))) for tab in tabs] == [4, 1, 5, 3, 3]


def test_a_tab_keeps_the_filters_and_then_has_no_number(reader):
    page = reader.open("/queue?library=2")
    tabs = [
        given["href"] for tag, given in page.elements if tag == "a" and "status=" in given["href"]
    ]

    assert tabs[3] == "/queue?library=2&status=failed"
    assert "tab-count" not in page.answer.text
    assert shown(reader.open(tabs[3])) == [8]


def test_a_filter_form_shows_what_is_chosen(reader):
    page = reader.open("/queue?status=done&lane=lrclib&library=2&q=tide&page_size=25")
    (form,) = [form for form in page.forms if form.method == "get"]

    assert dict(form.fields) == {
        "status": "done",
        "page_size": "25",
        "q": "tide",
        "library": "2",
        "lane": "lrclib",
        "reason": "",
        "result": "",
    }


def test_a_value_that_nobody_offers_stays_chosen(reader):
    page = reader.open("/queue?lane=gone-lane")

    assert "Nothing matches" in page.text
    (form,) = [form for form in page.forms if form.method == "get"]
    assert ("lane", "gone-lane") in form.fields


@pytest.mark.parametrize("query", ["status=asleep", "page=0", "page_size=501", "colour=red"])
def test_a_bad_parameter_is_told_on_a_page(reader, query):
    page = reader.open(f"/queue?{query}")

    assert page.answer.status == 400
    assert "<h1>" in page.answer.text


def test_a_page_behind_the_last_leads_back(reader):
    page = reader.open("/queue?page=9&page_size=10")

    assert "This page is empty" in page.text
    assert "/queue?page_size=10&page=2" in [given.get("href") for _, given in page.elements]


@pytest.mark.spec("H-54")
def test_names_are_escaped_and_set_apart_by_direction(reader):
    for path in ("/queue?status=pending", "/queue/20", "/queue/21", "/queue/22"):
        text = reader.open(path).answer.text
        assert SCRIPT not in text
    assert LONG.strip() in reader.open("/queue/21").text
    assert "<bdi>مرحبا يا عالم</bdi>" in reader.open("/queue?status=pending").answer.text
    policy = reader.open("/queue").answer.header("content-security-policy")
    assert "unsafe-" not in policy
    assert "style=" not in reader.open("/queue").answer.text.replace("<style=", "")


def test_a_page_is_small_and_never_stored(reader):
    answer = reader.open("/queue?page_size=50").answer

    assert len(answer.body) < 100_000
    assert answer.header("cache-control") == "no-store"


def test_an_empty_queue_says_what_to_do(tmp_path, clock):
    with House(tmp_path, clock, NOWHERE).running(LYRSVC_WEB_UI_ENABLED="true") as running:
        page = PlainBrowser(running.visitor()).open("/queue")

    assert "The queue is empty" in page.text
    assert "/libraries" in [given.get("href") for _, given in page.elements]


# Acting


def row_form(page, action):
    """Give the form that the buttons of single rows belong to."""
    (found,) = [
        form
        for form in page.forms
        if form.named("action") == [action] and not form.named("all") and not form.named("kind")
    ]
    return found


def bulk_form(page):
    """Give the form of the bar above the rows: its buttons say what is done."""
    (found,) = [form for form in page.forms if any(name == "action" for name, _ in form.buttons)]
    return found


@pytest.mark.spec("H-53")
def test_one_failed_item_is_retried_and_the_page_comes_back(run, browser):
    page = browser.open("/queue?status=failed&sort=id")
    answer = browser.press(row_form(page, "retry"), ("id", "8"), follow=False).answer

    assert (answer.status, answer.header("location")) == (303, "/queue?status=failed&sort=id")
    assert told(browser.open("/queue")) == "1 item will be tried again now."
    assert told(browser.open("/queue")) == ""  # shown once
    assert statuses(run)[8] == "pending"


def test_selected_items_are_retried_and_those_that_had_not_failed_are_told(run, browser):
    page = browser.open("/queue?sort=id")
    assert bulk_form(page).buttons == [("action", "retry"), ("action", "recheck")]

    page = browser.press(bulk_form(page), ("action", "retry"), id=["8", "9", "6"])

    assert told(page) == "2 items will be tried again now. 1 item had not failed."
    found = statuses(run)
    assert (found[8], found[9], found[6]) == ("pending", "pending", "deferred")


def test_an_item_that_has_not_failed_is_refused_also_when_it_is_deferred(run, browser):
    page = browser.open("/queue?status=failed")
    page = browser.press(row_form(page, "retry"), ("id", "6"))

    assert told(page) == "Nothing was retried: only failed items can be."
    assert statuses(run)[6] == "deferred"


def test_all_failed_items_are_retried_or_those_of_one_reason(run, browser):
    page = browser.open("/queue?status=failed&reason=network")
    assert "Retry all 2" in page.text
    (offer,) = [form for form in page.forms if form.fields[-1:] == [("reason", "network")]]
    page = browser.press(offer)
    assert told(page) == "2 items will be tried again now."

    page = browser.open("/queue?status=failed")
    assert "Retry all 1" in page.text
    assert told(browser.press(page.form_with("all", "true"))) == "1 item will be tried again now."
    assert "failed" not in statuses(run).values()


def test_deferred_items_and_items_given_up_are_looked_up_again(run, browser):
    page = browser.open("/queue?status=deferred&library=2")
    assert "Re-check all 1" in page.text
    offer = page.form_with("kind", "deferred")
    assert offer.named("library") == ["2"]
    assert told(browser.press(offer)) == "1 item will be looked up again now."

    page = browser.open("/queue?status=done&result=miss")
    assert "Re-check all 2" in page.text
    page = browser.press(row_form(page, "recheck"), ("id", "4"))
    assert told(page) == "1 item will be looked up again now."
    page = browser.press(page.form_with("kind", "retired"))
    assert told(page) == "1 item will be looked up again now."
    found = statuses(run)
    assert (found[4], found[5]) == ("deferred", "deferred")


def test_an_offer_is_made_only_where_it_means_the_rows_that_are_listed(reader):
    for query in ("status=failed&q=torn", "status=failed&library=2", "status=deferred&q=far"):
        page = reader.open(f"/queue?{query}")
        assert shown(page), query
        assert " all " not in page.text.replace("Select all on", ""), query


@pytest.mark.spec("H-53")
def test_clearing_asks_once_and_says_what_will_happen(run, browser):
    page = browser.open("/queue?status=done")
    asked = browser.press(page.form_with("action", "clear"))

    assert asked.answer.status == 200
    assert "5 finished items will be deleted" in asked.text
    assert list(statuses(run).values()).count("done") == 5
    page = browser.press(asked.form_with("confirm", "yes"))
    assert told(page) == "5 finished items cleared from the queue."
    assert "done" not in statuses(run).values()
    page = browser.press(asked.form_with("confirm", "yes"))
    assert told(page) == "There is nothing to clear."


def test_only_finished_items_can_be_cleared(run, browser):
    page = browser.open("/queue?status=done")
    page = browser.press(page.form_with("action", "clear"), status="failed", confirm="yes")

    assert "only done items" in told(page)
    assert len(statuses(run)) == 13


def test_a_track_is_added_ahead_of_everything_else(run, browser):
    form = browser.open("/queue").form_with("action", "add")
    answer = browser.press(form, artist=" Ann ", title="New Song ", follow=False).answer

    (item,) = run.rows("SELECT id, artist, title, priority FROM work_items WHERE id > 13")
    assert (item["artist"], item["title"], item["priority"]) == ("Ann", "New Song", 10)
    assert (answer.status, answer.header("location")) == (303, f"/queue/{item['id']}")
    assert told(browser.open(f"/queue/{item['id']}")) == "Queued ahead of everything else."
    assert told(browser.press(form, artist="Ann", title="New Song")) == "It was queued already."


def test_a_track_without_a_title_is_refused_with_a_sentence(run, browser):
    form = browser.open("/queue").form_with("action", "add")
    page = browser.press(form, artist="Ann", title=" ")

    assert page.answer.status == 400
    assert page.text_of("title-note") == "Name the title."
    assert page.ids["title"]["aria-describedby"] == "title-note"
    assert len(statuses(run)) == 13


def test_a_refused_track_stays_in_its_form_above_the_list_it_was_opened_on(run, browser):
    form = browser.open("/queue?status=failed").form_with("action", "add")
    page = browser.press(form, artist="Ann", title=SCRIPT, album="A", path="/etc/passwd")

    typed = page.form_with("action", "add")
    names = ("artist", "title", "album", "path", "next")
    assert [typed.named(name) for name in names] == [
        ["Ann"],
        [SCRIPT],
        ["A"],
        ["/etc/passwd"],
        ["/queue?status=failed"],
    ]
    assert page.answer.status == 400
    assert page.text_of("path-note").startswith("Not an audio file inside a library")
    assert len(statuses(run)) == 13
    page = browser.press(typed, path="")
    assert told(page) == "Queued ahead of everything else."


@pytest.mark.parametrize("where", ["/queue?page=0", "/queue/1", "//elsewhere", ""])
def test_a_refused_track_is_shown_whatever_page_it_says_it_came_from(run, browser, where):
    form = browser.open("/queue").form_with("action", "add")
    page = browser.press(form, artist="A" * 1001, title="T", next=where)

    assert page.answer.status == 400
    assert page.text_of("artist-note") == "At most 1,000 characters fit."


def test_nothing_selected_is_told(browser):
    page = browser.open("/queue?status=failed")

    assert "Nothing was selected" in told(browser.press(bulk_form(page), ("action", "retry")))
    assert "Nothing was selected" in told(browser.press(bulk_form(page), ("action", "recheck")))


@pytest.mark.parametrize("wrong", ["x", "-1", "0", "99999999999999999999", ""])
def test_an_id_that_cannot_be_one_changes_nothing(run, browser, wrong):
    page = browser.open("/queue?status=failed")
    before = statuses(run)
    page = browser.press(bulk_form(page), ("action", "retry"), id=[wrong])

    assert told(page)
    assert statuses(run) == before


def test_an_unknown_action_is_a_bad_request(run, browser):
    page = browser.open("/queue?status=failed")
    answer = browser.press(row_form(page, "retry"), action="explode", id="8").answer

    assert answer.status == 400
    assert statuses(run)[8] == "failed"


@pytest.mark.parametrize(
    "elsewhere",
    ["//evil.example", "https://evil.example/queue", "/settings", "/queue\\..", "/queues"],
)
def test_a_form_leads_back_to_the_queue_only(browser, elsewhere):
    page = browser.open("/queue?status=failed")
    answer = browser.press(
        row_form(page, "retry"), ("id", "8"), follow=False, next=elsewhere
    ).answer

    assert answer.header("location") == "/queue"


@pytest.mark.seed("S-083")
@pytest.mark.spec("H-39")
def test_a_form_without_its_token_changes_nothing(run, browser):
    page = browser.open("/queue?status=failed")
    form = row_form(page, "retry")
    refused = [
        browser.press(form, ("id", "8"), csrf_token="").answer,
        browser.press(form, ("id", "8"), csrf_token="0" * 97).answer,
        browser.visitor.submit("/queue", [*form.fields, ("id", "8")], headers={"origin": "null"}),
    ]

    assert [answer.status for answer in refused] == [403, 403, 403]
    assert statuses(run)[8] == "failed"


def test_a_network_that_may_only_look_sees_no_button(tmp_path, clock):
    house = House(tmp_path, clock, NOWHERE)
    with house.running(LYRSVC_WEB_UI_ENABLED="true", LYRSVC_TRUSTED_UI_ACCESS="read") as running:
        running.db.write(fill)
        for path in ("/queue?status=failed", "/queue/8", "/wanted"):
            page = PlainBrowser(running.visitor()).open(path)
            assert page.answer.status == 200
            assert [form.action for form in page.forms if form.method == "post"] == ["/theme"]


def test_links_and_forms_carry_the_base_path(tmp_path, clock):
    house = House(tmp_path, clock, NOWHERE)
    with house.running(LYRSVC_WEB_UI_ENABLED="true", LYRSVC_BASE_PATH="/lyrics") as running:
        running.db.write(fill)
        browser = PlainBrowser(running.visitor())
        for path in ("/queue?status=failed", "/queue/8", "/wanted", "/history", "/reports"):
            page = browser.open(f"/lyrics{path}")
            links = [given["href"] for tag, given in page.elements if tag == "a"]
            targets = [link for link in links if not link.startswith("#")]
            targets += [form.action for form in page.forms]
            assert targets
            assert all(one.startswith("/lyrics/") for one in targets), path
        page = browser.open("/lyrics/queue?status=failed")
        answer = browser.press(row_form(page, "retry"), ("id", "8"), follow=False).answer
        assert answer.header("location") == "/lyrics/queue?status=failed"


# One item


def test_an_item_shows_its_files_the_answers_of_lanes_and_its_past(reader):
    page = reader.open("/queue/1")

    assert page.answer.status == 200
    assert "/music/rock/a.flac" in page.text
    assert "/music/jazz/a.flac" in page.text
    assert "lrclib" in page.text
    assert "Served the lyrics" in page.text
    assert "/music/jazz/caf\ufffd.flac" in reader.open("/queue/3").text


def test_a_finished_item_that_nobody_was_asked_for_waits_for_no_answer(reader):
    page = reader.open("/queue/5").text
    assert "No answers Nobody had to be asked" in page
    assert "asked yet" not in page
    assert "Nobody was asked yet" in reader.open("/queue/11").text


@pytest.mark.parametrize("path", ["/queue/99", "/queue/x", "/queue/99999999999999999999"])
def test_an_item_that_is_not_there_is_not_found(reader, path):
    assert reader.open(path).answer.status == 404


def test_an_item_offers_what_can_be_done_with_it(run, browser):
    def actions(item):
        page = browser.open(f"/queue/{item}")
        return [form.named("action")[0] for form in page.forms if form.named("action")]

    assert [actions(item) for item in (1, 4, 6, 8, 11, 12)] == [
        [],
        ["recheck"],
        ["recheck"],
        ["retry"],
        [],
        [],
    ]
    page = browser.open("/queue/8")
    page = browser.press(page.form_with("action", "retry"))
    assert told(page) == "1 item will be tried again now."
    assert page.ids["facts-title"]
    assert statuses(run)[8] == "pending"


def test_an_items_history_shows_who_did_what(run, browser):
    page = browser.open("/queue/8")
    browser.press(page.form_with("action", "retry"))
    page = browser.open("/queue/8")

    assert "Retried" in page.text
    assert run.rows('SELECT "by" FROM history WHERE item_id = 8')[0]["by"] in page.text
