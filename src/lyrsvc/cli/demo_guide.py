"""What a running demo tells its visitor: where to look, how to sign in, what to try."""

import json
import secrets
import shlex
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lyrsvc import brand
from lyrsvc.core.scope import Scope
from lyrsvc.demo.library_plan import WEBHOOK_SONG
from lyrsvc.demo.songs import SONGS
from lyrsvc.settings.environment_sections import Environment
from lyrsvc.settings.sections import Db

if TYPE_CHECKING:
    from lyrsvc.cli.call import Call
    from lyrsvc.cli.demo_place import DemoPlace
    from lyrsvc.serving import Service

USER: Final = "demo"
WEBHOOK: Final = "/api/v1/webhooks/lidarr"
_PASSWORD_BYTES: Final = 12


@dataclass(frozen=True, kw_only=True, slots=True)
class Visitor:
    """Whoever looks at the demo."""

    user: str
    password: str = field(repr=False)
    key: str = field(repr=False)


def admit(service: "Service") -> Visitor:
    """Make an admin with a random password and a webhook key; an earlier admin gets a new one."""
    from lyrsvc.services.first_admin import Bootstrap

    password = secrets.token_urlsafe(_PASSWORD_BYTES)
    access = service.access
    if access.has_admin():
        user = _replace_password(service, password)
    else:
        access.first_admin.bootstrap(Bootstrap(user=USER, password=password, ui_enabled=True))
        user = USER
    key = access.keyring.create("demo", [Scope.WEBHOOK]).raw
    return Visitor(user=user, password=password, key=key)


def guide(call: "Call", service: "Service", place: "DemoPlace", visitor: Visitor) -> dict[str, Any]:
    """Give everything a visitor needs, as data."""
    from lyrsvc.cli.readiness import listener_url

    url = listener_url(service.settings.server)
    program = _program(call.world.environ.get("PATH", ""))
    variables = " ".join(
        f"{name}={shlex.quote(str(path))}"
        for name, path in (
            (Environment.config.env[0], place.config),
            (Db.path.env[0], place.database),
        )
    )
    commands = [f"{variables} {program} {words}" for words in _TO_TRY]
    return {
        "url": url,
        "user": visitor.user,
        "password": visitor.password,
        "key": visitor.key,
        "directory": str(place.root),
        "commands": [_webhook_call(url, visitor.key), *commands],
    }


def shown(text: dict[str, Any]) -> str:
    """Write the guide for people."""
    lines = [
        f"Pages      {text['url']}/",
        f"Sign in    {text['user']} / {text['password']}",
        f"API key    {text['key']}",
        f"Directory  {text['directory']}",
        "",
        "Try in another terminal:",
    ]
    notes = ("a webhook, as Lidarr sends it", *_TO_TRY.values())
    for command, note in zip(text["commands"], notes, strict=True):
        lines += ["", f"# {note}", command]
    return "\n".join((*lines, "", "End it with Ctrl-C."))


def provider_lines(url: str) -> list[str]:
    """Give the variables that lead every lane to a stand-in."""
    from lyrsvc.settings.registry import Registry, variables

    settings = Registry().by_path
    values = {
        "providers.defaultprov.base_url": url,
        "providers.lrclib.base_url": url,
        "providers.lrclib.cooldown_seconds": "0",
        "api.cooldown": "0",
        "instrumental_detector.classifier_url": url,
    }
    return [
        f"export {variables(settings[path])[0]}={shlex.quote(value)}"
        for path, value in values.items()
    ]


def _replace_password(service: "Service", password: str) -> str:
    from lyrsvc.security.passwords import Passwords
    from lyrsvc.services.account_changes import replace_password
    from lyrsvc.store import accounts

    with service.db.read() as tx:
        name = accounts.all_admins(tx)[0].username
        found = accounts.find_admin(tx, name)
    if found is None:
        return name
    made, now = Passwords().hash(password), service.clock.now()
    service.db.write(lambda tx: replace_password(tx, found, made, now=now))
    return name


def _webhook_call(url: str, key: str) -> str:
    song = next(song for song in SONGS if song.title == WEBHOOK_SONG)
    body = {
        "eventType": "Download",
        "artist": {"id": 1, "name": song.artist},
        "album": {"id": 1, "title": song.album},
        "tracks": [{"id": 1, "title": song.title, "trackNumber": "1"}],
        "isUpgrade": False,
    }
    words = (
        *("curl", "-sS", "--noproxy", "*"),
        *("-H", f"X-Api-Key: {key}", "-H", "Content-Type: application/json"),
        *("-d", json.dumps(body), f"{url}{WEBHOOK}"),
    )
    return shlex.join(words)


def _program(search: str) -> str:
    """Name this program so that a shell finds it."""
    beside = Path(sys.executable).parent / brand.PROGRAM
    found = shutil.which(brand.PROGRAM, path=search)
    if found and beside.exists() and Path(found).resolve() == beside.resolve():
        return brand.PROGRAM
    return (
        shlex.quote(str(beside))
        if beside.exists()
        else f"{shlex.quote(sys.executable)} -m {brand.PROGRAM}"
    )


_TO_TRY: Final = {
    "queue list": "what the queue did",
    "realign": "a sidecar that lost its audio to a rename, and where it belongs",
    "config list --changed": "the settings of the demo, and where each comes from",
}
