"""A real browser in front of a real server with a filled database."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from browser_site import ADMIN, PASSWORD, Site, Visit, environment, make_music
from devtools.system_tools import TOOLS
from lyrsvc.demo.stand_in import StandIn
from served import Served, wait_until


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.needs_tool("chromium"))


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=TOOLS["chromium"].path(), args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def upstream() -> Iterator[StandIn]:
    with StandIn() as server:
        yield server


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, upstream: StandIn) -> Iterator[Site]:
    """Serve a scanned library whose queue has come to rest; sign in with ADMIN and PASSWORD."""
    home = tmp_path_factory.mktemp("site")
    music = make_music(home / "music")
    environ = environment(upstream) | {
        "LYRSVC_WEBAUTH_ADMIN_USER": ADMIN,
        "LYRSVC_WEBAUTH_ADMIN_PASSWORD": PASSWORD,
        "LYRSVC_TRUSTED_UI_ACCESS": "off",
    }
    with Served(home, environ) as served:
        for words in (("library", "add", str(music), "--name", "Music"), ("scan",)):
            done = served.run(*words)
            assert done.returncode == 0, done.stderr
        wait_until(lambda: _is_at_rest(served), "the queue comes to rest", limit_s=60)
        yield Site(served, music)


def _is_at_rest(served: Served) -> bool:
    listed = served.run("queue", "list", "--json", "--limit", "0").stdout
    statuses = {item["status"] for item in json.loads(listed)}
    return "done" in statuses and statuses.isdisjoint(("pending", "processing"))


@pytest.fixture(scope="session")
def cookies(chromium: Browser, site: Site) -> dict[str, object]:
    """Sign in once, as a person does."""
    visit = Visit(chromium, site.url)
    visit.sign_in()
    state = visit.context.storage_state()
    visit.close()
    return dict(state)


@pytest.fixture
def visit(chromium: Browser, site: Site, cookies: dict[str, object]) -> Iterator[Visit]:
    """Open pages of the site, signed in; a page that complains fails the test."""
    visit = Visit(chromium, site.url, storage_state=cookies)
    yield visit
    visit.close()
