"""Lists in a real browser: selecting, asking before, and the same without script."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.xdist_group("browser")  # one site serves them all


def message(page):
    return page.locator("#message")


def test_all_rows_of_a_page_are_selected_at_once(visit):
    page = visit.open("/wanted?page_size=5")
    page.get_by_label("Select all on this page").check()

    assert page.locator("td.pick input:checked").count() == 5
    page.get_by_role("button", name="Search selected").click()
    expect(message(page)).to_contain_text("5 tracks will be looked up now.")
    assert page.url.endswith("/wanted?page_size=5")


def test_many_items_are_brought_back_only_after_a_question(visit):
    page = visit.open("/queue?status=deferred")
    page.get_by_role("button", name=re.compile("^Re-check all")).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("again now, ahead of time?")
    dialog.get_by_role("button", name="Cancel").click()

    expect(dialog).to_have_count(0)
    assert message(page).inner_text() == ""
    page.get_by_role("button", name=re.compile("^Re-check all")).click()
    dialog.get_by_role("button", name="Re-check all").click()
    expect(message(page)).to_contain_text("looked up again now.")


def test_the_filter_of_a_report_stays_in_the_address(visit):
    page = visit.open("/reports/recent-outcomes")
    page.get_by_label("Result").select_option("synced")
    page.get_by_role("button", name="Filter").click()
    page.wait_for_url("**/reports/recent-outcomes?*result=synced*")

    assert page.get_by_label("Result").input_value() == "synced"
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    assert re.fullmatch(r"lyrsvc-recent-outcomes-\d{8}\.csv", download.value.suggested_filename)


@pytest.mark.spec("H-53")
def test_clearing_asks_on_a_page_of_its_own_without_script(visit, chromium):
    scriptless = type(visit)(chromium, visit.url, java_script_enabled=False)
    scriptless.sign_in()
    page = scriptless.open("/queue?status=done")
    expect(page.get_by_label("Select all on this page")).to_be_hidden()
    page.get_by_role("button", name="Clear finished").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Clear finished items")
    page.get_by_role("link", name="Cancel").click()
    assert page.url.endswith("/queue?status=done")
    scriptless.close()
