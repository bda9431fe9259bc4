"""The libraries and the system in a real browser: what script adds to them."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.xdist_group("browser")  # one site serves them all


@pytest.mark.spec("H-57")
def test_open_forms_and_a_refused_one_are_accessible(visit):
    page = visit.open("/libraries")
    for edit in page.locator("details > summary").all():
        edit.click()
    assert visit.violations() == []
    page.get_by_label("Name", exact=True).first.fill(" ")
    page.get_by_role("button", name="Save").first.click()
    expect(page.get_by_role("alert")).to_contain_text("A library needs a name.")
    assert visit.violations() == []
    page.set_viewport_size({"width": 320, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_a_scan_begun_elsewhere_is_seen_without_a_reload(visit, site):
    page = visit.open("/libraries")
    before = page.locator("time").first.inner_text()
    page.evaluate("window.stayed = true")
    assert site.served.run("scan").returncode == 0
    expect(page.locator("time").first).not_to_have_text(before, timeout=15_000)
    expect(page.get_by_role("button", name="Scan now Music")).to_be_visible(timeout=15_000)
    assert page.evaluate("window.stayed") is True


def test_a_scan_is_begun_with_one_click(visit):
    page = visit.open("/libraries")
    page.get_by_role("button", name="Scan now Music").click()
    expect(page.locator("#message")).to_contain_text("Music is being scanned.")
    expect(page.get_by_role("button", name="Scan now Music")).to_be_visible(timeout=15_000)


def test_a_dialog_asks_before_anything_is_forgotten(visit):
    page = visit.open("/libraries")
    page.get_by_text("Edit Music").click()
    page.get_by_role("button", name="Remove Music").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("No file is deleted")
    assert visit.violations() == []
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    assert page.reload().ok
    expect(page.get_by_role("heading", name="Music", exact=True)).to_be_visible()


def test_a_long_name_breaks_inside_the_dialog_and_is_refused_whole(visit):
    page = visit.open("/libraries")
    page.get_by_text("Edit Music").click()
    remove = page.locator("form", has=page.get_by_role("button", name="Remove Music"))
    remove.evaluate("form => { form.dataset.confirm = 'Remove “' + 'x'.repeat(200) + '”?'; }")
    page.get_by_role("button", name="Remove Music").click()
    dialog = page.get_by_role("dialog")
    assert dialog.evaluate("dialog => dialog.scrollWidth <= dialog.clientWidth")
    dialog.get_by_role("button", name="Cancel").click()

    page.get_by_label("Name", exact=True).first.fill("x" * 201)
    page.get_by_role("button", name="Save").first.click()
    expect(page.get_by_role("alert")).to_contain_text("At most 200 characters fit.")


def test_a_number_that_cannot_be_is_told_with_what_the_browser_says_of_it(visit):
    page = visit.open("/settings?tab=advanced")
    row = page.locator("#setting-history-retention_days")
    row.locator("input[type=number]").fill("1.5")
    row.locator("input[type=number]").press("Enter")
    said = row.locator("input[type=number]").evaluate("field => field.validationMessage")
    assert said
    expect(page.locator("#message")).to_contain_text(f"Not saved: {said}")
    expect(row.locator(".field-error")).to_contain_text(said)


def test_a_provider_is_tried_out(visit):
    page = visit.open("/system/providers")
    page.get_by_role("button", name="Test lrclib").click()
    expect(page.locator("#message")).to_contain_text("lrclib: It answers")
