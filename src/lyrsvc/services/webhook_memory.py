"""When a webhook came last and from whom, remembered across restarts."""

import json
import logging
import threading
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from lyrsvc.core.errors import LyrsvcError
from lyrsvc.core.ports import Clock
from lyrsvc.store import meta
from lyrsvc.store.database import Database, from_db, to_db

NAME: Final = "last_webhook"
_LOG = logging.getLogger("lyrsvc.webhook")


@dataclass(frozen=True, kw_only=True, slots=True)
class LastWebhook:
    """The latest event; ``instance`` is what the sender calls itself."""

    at: datetime
    event: str
    instance: str


class WebhookMemory:
    """Remembers the latest event; written down now and then, never while a sender waits."""

    def __init__(self, db: Database, *, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._lock = threading.Lock()
        self._last = self._recall()
        self._stored = self._last
        self.missed = ""
        """A path of the latest import, when none of its files was found here."""

    @property
    def last(self) -> LastWebhook | None:
        """The latest event; None when none ever came."""
        return self._last

    def note(self, event: str, instance: str) -> None:
        """Remember an event that came just now."""
        self._last = LastWebhook(at=self._clock.now(), event=event[:64], instance=instance[:200])

    def note_missed(self, path: str) -> None:
        """Remember a path that was found nowhere; blank when the files of an import are there."""
        if path and not self.missed:
            _LOG.warning(
                "the files of a webhook were found in no library; their lyrics go to output.dir; "
                "see server.path_mappings",
                extra={"path": path},
            )
        self.missed = path

    def flush(self) -> None:
        """Write the latest event down; what cannot be written now is tried again."""
        with self._lock:
            last = self._last
            if last is None or last == self._stored:
                return
            text = json.dumps({"at": to_db(last.at), "event": last.event, "from": last.instance})
            try:
                self._db.write(lambda tx: meta.write(tx, NAME, text, now=last.at), bulk=True)
            except LyrsvcError as error:
                _LOG.warning("the last webhook was not written down", extra={"why": error})
            else:
                self._stored = last

    def _recall(self) -> LastWebhook | None:
        with self._db.read() as tx:
            text = meta.read(tx, NAME)
        try:
            found = json.loads(text or "")
            at = from_db(found["at"])
        except (ValueError, TypeError, KeyError):
            return None
        return LastWebhook(at=at, event=str(found["event"]), instance=str(found["from"]))
