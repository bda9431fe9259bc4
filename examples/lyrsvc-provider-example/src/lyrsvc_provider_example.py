"""A lane of lyrsvc that finds lyrics in JSON files on a web server of your own.

One file for each song, named after it: ``Nina Simone - Feeling Good.json``. Any server
of static files will do, ``python3 -m http.server`` too.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from lyrsvc.core.credits import query_artist
from lyrsvc.core.errors import LaneError, Malformed, Miss, Throttled, Transient
from lyrsvc.core.lrc import read_lrc
from lyrsvc.core.lyrics import Candidate, Matched
from lyrsvc.core.ports import LaneContext, Provider, Reply
from lyrsvc.core.recording import Recording
from lyrsvc.core.setting import Section as SettingsSection
from lyrsvc.core.setting import Tier, clamp
from lyrsvc.core.setting_kinds import Decimal, Url
from lyrsvc.providers.answers import as_flag, as_ms, as_text, describe, read_json, retry_after_s


class Section(SettingsSection):
    """Lyrics from JSON files on a web server of your own."""

    base_url = Url(
        "http://127.0.0.1:8000", "Directory of the JSON files, as an address.", tier=Tier.CAUTION
    )
    cooldown_seconds = Decimal(0.0, "Seconds between two requests.", unit="s", check=clamp(0, 3600))


class Shelf:
    """Asks for one file, named after the song."""

    name = "shelf"
    local = False
    needs_token = False

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url.rstrip("/")

    def lookup(self, recording: Recording, ctx: LaneContext) -> Sequence[Candidate]:
        """Give what the file says; lyrsvc itself judges whether it is the right song."""
        name = f"{query_artist(recording)} - {recording.title}.json"
        reply = self._get(ctx, name)
        body = read_json(reply)
        if not isinstance(body, dict):
            raise Malformed(f"{describe(reply)}, unknown shape")
        return [_candidate(body)]

    def probe(self, ctx: LaneContext) -> None:
        """Ask for a file that is not there: an answer is all that counts."""
        try:
            self._get(ctx, "lyrsvc - lyrsvc.json")
        except Miss:
            return

    def close(self) -> None:
        """Hold nothing, so let go of nothing."""

    def _get(self, ctx: LaneContext, name: str) -> Reply:
        reply = ctx.http.get(f"{self._base_url}/{quote(name, safe='')}")
        if reply.status != 200:
            raise _refusal(reply)
        return reply


def make(settings: Mapping[str, Any], _env: object) -> Provider:
    """Make the provider from the values of ``[providers.shelf]``."""
    return Shelf(settings["base_url"])


def _candidate(body: dict[str, Any]) -> Candidate:
    candidate = Candidate(
        matched=Matched(
            artist=as_text(body.get("artist")),
            title=as_text(body.get("title")),
            album=as_text(body.get("album")),
            duration_ms=as_ms(body.get("seconds")) or None,
        ),
        cues=read_lrc(as_text(body.get("synced"))).cues,
        plain=as_text(body.get("plain")) or None,
        instrumental=as_flag(body.get("instrumental")),
    )
    if not (candidate.cues or candidate.plain or candidate.instrumental):
        raise Miss("the file has no words", reason="no_lyrics")
    return candidate


def _refusal(reply: Reply) -> LaneError:
    """Say what an answer that is no 200 means; never what it says or where it came from."""
    if reply.status == 404:
        return Miss(describe(reply), reason="not_found")
    if reply.status in (401, 429, 503):
        return Throttled(describe(reply), retry_after_s=retry_after_s(reply))
    if reply.status >= 500:
        return Transient(describe(reply), reason="upstream_error")
    return Malformed(describe(reply))
