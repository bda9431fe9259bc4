"""Every page in a real browser: it fits, it is readable, nothing is blocked."""

import pytest

pytestmark = pytest.mark.xdist_group("browser")  # one site serves them all

PAGES = (
    "/dashboard",
    "/libraries",
    "/wanted",
    "/wanted?kind=unsynced",
    "/queue",
    "/queue?status=deferred",
    "/queue?q=nothing+matches",
    "/queue/1",
    "/history",
    "/reports",
    "/reports/queue-summary",
    "/reports/recent-outcomes",
    "/reports/provider-effectiveness",
    "/reports/instrumental-inventory",
    "/reports/failure-analysis",
    "/system/status",
    "/system/providers",
    "/system/tasks",
    "/system/logs",
    "/system/logs?kind=audit",
    "/settings",
    "/settings?tab=advanced",
    "/settings?tab=raw",
    "/settings/keys",
    "/settings/account",
    "/api/docs",
)


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.spec("H-57")
def test_a_page_is_accessible_in_both_themes_and_fits_every_screen(visit, path):
    page = visit.open(path)
    assert page.locator("h1").count() == 1
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        assert visit.violations() == []
    for width in (1440, 390, 320):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert visit.violations() == []
