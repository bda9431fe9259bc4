"""From an empty machine to lyrics beside the audio, by clicks alone."""

import re

import pytest
from playwright.sync_api import expect

from browser_site import PASSWORD, Visit, environment, make_music
from served import Served, wait_until

pytestmark = pytest.mark.xdist_group("browser")  # one site serves them all


@pytest.mark.spec("H-37", "H-52", "H-53")
def test_everything_a_new_user_does_in_a_browser(chromium, upstream, tmp_path):
    music = make_music(tmp_path / "music", unknown=3)
    environ = environment(upstream)
    del environ["LYRSVC_PROVIDERS_PRIMARY"]
    with Served(tmp_path, environ) as served:
        visit = Visit(chromium, f"http://{served.address}")
        page = visit.open("/setup")
        page.get_by_label("User name").fill("ann")
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        page.get_by_label("Password again").fill(PASSWORD)
        page.get_by_role("button", name="Create account").click()
        expect(page.get_by_role("heading", name="Dashboard")).to_be_visible()
        expect(page.get_by_text("The queue is empty")).to_be_visible()

        page = visit.open("/settings")
        page.locator('select[name="providers.primary"]').select_option("lrclib")
        save = page.locator("form", has=page.locator('select[name="providers.primary"]'))
        save.get_by_role("button", name="Save").click()
        expect(page.locator("#message")).to_contain_text("restart to apply")
        visit.close()
    with Served(tmp_path, environ) as served:
        visit = Visit(chromium, f"http://{served.address}")
        visit.sign_in()
        page = visit.open("/libraries")
        page.get_by_label("Directory").fill(str(music))
        page.get_by_role("button", name="Add library").last.click()
        expect(page.locator("#message")).to_contain_text(re.compile("scan", re.IGNORECASE))
        page = visit.open("/dashboard")
        page.evaluate("window.stayed = true")
        wait_until(lambda: len(list(music.rglob("*.lrc"))) > 10, "lyrics are written")
        done = page.locator('a.tile[href$="status=done"] .tile-value')
        expect(done).not_to_have_text("0", timeout=10_000)
        assert page.evaluate("window.stayed") is True
        assert visit.violations() == []
        visit.close()


@pytest.mark.spec("H-52")
def test_the_dashboard_shows_an_outcome_within_seconds_and_keeps_its_place(visit, site):
    page = visit.open("/dashboard")
    page.evaluate("window.scrollTo(0, 200); window.stayed = true")
    deferred = page.locator('a.tile[href$="status=deferred"] .tile-value')
    before = int(deferred.inner_text().replace(",", ""))
    key = site.served.run("keys", "create", "--name", "live", "--scope", "admin").stdout.strip()
    answer = page.request.post(
        f"{site.url}/api/v1/queue",
        headers={"Authorization": f"Bearer {key}"},
        data={"artist": "Nobody At All", "title": "A Song That Came While We Looked"},
    )
    assert answer.status == 201
    expect(deferred).to_have_text(str(before + 1), timeout=5_000)
    assert page.evaluate("window.stayed") is True
    assert page.evaluate("window.scrollY") > 0
