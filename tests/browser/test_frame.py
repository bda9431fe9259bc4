"""Every page in a real browser: it fits, it is readable, nothing is blocked."""

import pytest

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
)
WIDTHS = (390, 1440)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
@pytest.mark.spec("H-57")
def test_a_page_is_accessible_in_both_themes_and_fits_every_screen(visit, path, theme):
    visit.page.emulate_media(color_scheme=theme)
    for width in WIDTHS:
        visit.page.set_viewport_size({"width": width, "height": 900})
        page = visit.open(path)
        assert page.locator("h1").count() == 1
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert visit.violations() == []
