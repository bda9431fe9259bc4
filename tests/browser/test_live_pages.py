"""Live pages in a real browser: nothing is missed, nothing of the reader's is taken away."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.xdist_group("browser")  # one site serves them all

STREAM = """
window.streams = [];
window.EventSource = class extends EventTarget {
  static CLOSED = 2;
  constructor() { super(); this.readyState = 1; streams.push(this); }
  close() { this.readyState = 2; }
  tell(kind) { this.dispatchEvent(new Event(kind)); }
};
"""
"""An event stream that speaks when the test does."""


class Live:
    """A live page whose every reload of regions is counted."""

    def __init__(self, visit, path):
        self.page = visit.page
        self.fetches = 0
        self.page.add_init_script(STREAM)
        self.page.on("requestfinished", self._count)
        visit.open(path)

    def _count(self, request):
        self.fetches += request.resource_type == "fetch"

    def hear(self, kind):
        self.page.evaluate("kind => streams.at(-1).tell(kind)", kind)

    def wait_for_fetches(self, number):
        for _ in range(300):
            if self.fetches >= number:
                return
            self.page.wait_for_timeout(100)
        raise AssertionError(f"{self.fetches} of {number} reloads came")


def test_what_happens_during_a_reload_of_regions_is_shown_too(visit):
    live = Live(visit, "/libraries")
    live.hear("scan")
    live.wait_for_fetches(1)
    live.hear("scan")  # while the first one still rests

    live.wait_for_fetches(2)


def test_a_stream_that_is_refused_is_tried_once_more_and_then_replaced_by_asking(visit):
    visit.page.clock.install()
    live = Live(visit, "/libraries")
    refuse = "() => { streams.at(-1).readyState = 2; streams.at(-1).tell('error'); }"
    live.page.evaluate(refuse)
    live.page.clock.run_for(5_000)
    assert live.page.evaluate("streams.length") == 2

    live.page.evaluate(refuse)
    live.page.clock.run_for(10_000)
    live.wait_for_fetches(1)


def test_an_update_waits_until_the_reader_has_left_the_place(visit):
    live = Live(visit, "/libraries")
    place = live.page.locator(".library-do").first
    place.get_by_role("button").focus()
    place.evaluate("place => place.append('an old word')")
    live.hear("scan")
    live.wait_for_fetches(1)
    expect(place).to_contain_text("an old word")

    place.get_by_role("button").blur()
    expect(place).not_to_contain_text("an old word")


def _changing(live, was, now):
    """Let every reload bring another text."""

    def answer(route):
        page = route.fetch()
        assert was in page.text()
        route.fulfill(response=page, body=page.text().replace(was, now))

    live.page.route("**/dashboard", answer)


def test_numbers_go_on_while_a_tile_has_the_focus(visit):
    live = Live(visit, "/dashboard")
    tile = live.page.locator(".tile").first
    tile.focus()
    tile.evaluate("tile => { window.seen = tile; }")
    _changing(live, '<span class="tile-value">', '<span class="tile-value">7,77')
    live.hear("queue")

    expect(tile.locator(".tile-value")).to_contain_text("7,77")
    expect(tile).to_be_focused()
    assert live.page.evaluate("seen === document.activeElement"), "it was not made anew"


def test_a_link_that_has_the_focus_keeps_it_when_its_place_is_made_anew(visit):
    live = Live(visit, "/dashboard")
    link = live.page.get_by_role("link", name="All outcomes")
    link.focus()
    _changing(live, '<h2 id="recent-title">', '<p>a new line</p><h2 id="recent-title">')
    live.hear("outcome")

    expect(live.page.get_by_text("a new line")).to_be_visible()
    expect(link).to_be_focused()


def test_a_page_whose_session_has_ended_says_so(visit):
    live = Live(visit, "/dashboard")
    visit.context.clear_cookies()
    live.hear("queue")

    expect(live.page.locator("#message")).to_contain_text("no longer signed in")


def test_what_is_unfolded_in_a_live_region_stays_unfolded(visit):
    live = Live(visit, "/libraries")
    folded = "<details><summary>1 problem</summary><p>one.flac</p></details>"
    live.page.route("**/libraries", lambda route: _with(route, folded))
    faults = live.page.locator('[data-region^="library-faults"]').first
    live.hear("scan")
    faults.get_by_text("1 problem").click()
    faults.get_by_text("1 problem").blur()
    live.hear("scan")
    live.wait_for_fetches(2)

    expect(faults.get_by_text("one.flac")).to_be_visible()


def _with(route, words):
    page = route.fetch()
    mark = 'data-region="library-faults-'
    head, _, rest = page.text().partition(mark)
    name, _, rest = rest.partition(">")
    route.fulfill(response=page, body=f"{head}{mark}{name}>{words}{rest}")


def test_a_second_click_while_the_first_is_on_its_way_does_nothing(visit):
    page = visit.open("/settings/keys")
    held = []
    page.route("**/settings/keys", lambda route: held.append(route))
    page.get_by_label("Name").fill("clicked twice")
    create = page.get_by_role("button", name="Create").bounding_box()
    place = create["x"] + 5, create["y"] + 5
    page.mouse.click(*place)
    while not held:
        page.wait_for_timeout(50)
    page.mouse.click(*place)
    page.wait_for_timeout(300)
    assert len(held) == 1
    held[0].continue_()

    expect(page.locator("td", has_text="clicked twice")).to_have_count(1)
