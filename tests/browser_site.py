"""A filled site for browsers, and somebody who looks at it."""

from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page

from builders import minimal_flac
from lyrsvc.demo.songs import SONGS
from lyrsvc.demo.stand_in import StandIn
from served import Served

ADMIN, PASSWORD = "ann", "correct horse battery"
AXE = Path(__file__).parent / "data" / "axe" / "axe.min.js"
LONG = "A Title That Goes On And On Until The Column Ends And Then Some More " * 4


def environment(upstream: StandIn) -> dict[str, str]:
    return {
        "LYRSVC_WEB_UI_ENABLED": "true",
        "LYRSVC_PROVIDERS_PRIMARY": "lrclib",
        "LYRSVC_PROVIDERS_FALLBACK_ORDER": "",
        "LYRSVC_LRCLIB_BASE_URL": upstream.url,
        "LYRSVC_DEFAULTPROV_BASE_URL": upstream.url,
        "LYRSVC_LRCLIB_COOLDOWN_SECONDS": "0",
        "LYRSVC_API_COOLDOWN": "0",
        "LYRSVC_SCAN_SCHEDULE": "off",
        "TZ": "Europe/Prague",
    }


def make_music(root: Path, *, unknown: int = 30) -> Path:
    """Make a small library: every song of the stand-in, some nobody knows, odd names."""
    for song in SONGS:
        place = root / song.artist / (song.album or "Single")
        name = song.title.replace("/", "-")
        minimal_flac(
            place / f"{name}.flac",
            seconds=song.length_s,
            artist=song.artist,
            title=song.title,
            album=song.album,
        )
    for number in range(unknown):
        minimal_flac(
            root / "Nobody" / f"{number:02}.flac",
            seconds=100.0 + 7 * number,
            artist="The Band That Nobody Has Ever Heard Of, With Everyone Else And A Choir",
            title=f"Unknown Song {number}",
            album="Lost Tapes",
        )
    minimal_flac(
        root / "Odd" / "script.flac",
        seconds=222.0,
        artist="<script>alert(1)</script>",
        title=LONG,
        album='"quoted" & <b>bold</b>',
    )
    return root


class Site:
    """A running service, signed in or not."""

    def __init__(self, served: Served, music: Path) -> None:
        self.served = served
        self.music = music
        self.url = f"http://{served.address}"


class Visit:
    """One browser profile at one site."""

    def __init__(self, chromium: Browser, url: str, **options: object) -> None:
        self.url = url
        self.complaints: list[str] = []
        self.context: BrowserContext = chromium.new_context(
            viewport={"width": 1440, "height": 900}, **options
        )
        self.page: Page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on(
            "console",
            lambda line: (
                self.complaints.append(line.text) if "Content Security" in line.text else None
            ),
        )

    def open(self, path: str) -> Page:
        self.page.goto(self.url + path)
        return self.page

    def sign_in(self, username: str = ADMIN, password: str = PASSWORD) -> None:
        page = self.open("/login")
        page.get_by_label("User name").fill(username)
        page.get_by_label("Password").fill(password)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/dashboard")

    def violations(self) -> list[str]:
        """Give what an accessibility checker finds on the page that is open."""
        self.page.evaluate(AXE.read_text())
        found = self.page.evaluate(
            "() => axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']})"
        )
        return [
            f"{one['id']}: {node['html'][:160]}"
            for one in found["violations"]
            for node in one["nodes"]
        ]

    def close(self) -> None:
        self.context.close()
        assert self.complaints == []
