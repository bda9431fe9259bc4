"""What a command says on stderr; logging is set up when there is something to say."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    import logging

    from lyrsvc.core.ports import Clock
    from lyrsvc.core.redaction import Redactor
    from lyrsvc.logs.setup import Logs
    from lyrsvc.settings.server_sections import Logging


class Voice:
    """One line at a time for the user, as text or as records; secrets never.

    Before settings are known, sentences are plain lines. A listing that has
    nothing to say never pays for logging.
    """

    def __init__(self, stream: TextIO, clock: "Clock") -> None:
        self._stream = stream
        self._clock = clock
        self._redactor: Redactor | None = None
        self._secrets: list[str] = []
        self._section: Logging | None = None
        self._quiet = self._guest = False
        self._logs: Logs | None = None
        self._overhearing: list[logging.Handler] = []

    @property
    def redactor(self) -> "Redactor":
        """The one that knows every secret of this process."""
        if self._redactor is None:
            from lyrsvc.core.redaction import Redactor

            self._redactor = Redactor()
        for secret in self._secrets:
            self._redactor.register(secret)
        self._secrets.clear()
        return self._redactor

    def keep_back(self, secrets: Iterable[str]) -> None:
        """Remember secrets that no line may show."""
        self._secrets += secrets

    def settle_on(self, section: "Logging", *, quiet: bool, guest: bool) -> None:
        """Take note of how to log; a guest runs beside the service, which has the log file."""
        self._section = section
        self._quiet, self._guest = quiet, guest

    def set_up(self) -> "Logs | None":
        """Set logging up, once; without a configuration there is none."""
        section = self._section
        if self._logs is None and section is not None:
            from lyrsvc.logs.setup import LogConfig, set_up

            self._logs = set_up(
                LogConfig(
                    level=section.level,
                    format=section.format,
                    file=section.file or "",
                    max_size_mb=section.max_size_mb,
                    max_files=section.max_files,
                    max_age_days=section.max_age_days,
                    compress=section.compress,
                    guest=self._guest,
                ),
                redactor=self.redactor,
                stream=self._stream,
                clock=self._clock,
                quiet=self._quiet,
                also=self._overhearing,
            )
        return self._logs

    def reopen_log(self) -> None:
        """Open the log file anew: whoever rotates it has moved it away."""
        if self._logs is not None:
            self._logs.reopen()

    def let_overhear(self, handler: "logging.Handler") -> None:
        """Have another handler hear every line from now on."""
        self._overhearing.append(handler)
        if self._logs is not None:
            self._logs.let_overhear(handler)
        else:
            self.set_up()

    def note(self, sentence: str) -> None:
        """Say something worth knowing."""
        if self.set_up():
            from lyrsvc.logs import notes

            notes.tell(sentence)
        else:
            self._plain(sentence)

    def summarise(self, sentence: str) -> None:
        """Close a long command with a line on stderr, also when it logs objects."""
        self.note(sentence)

    def warn(self, sentence: str) -> None:
        """Say what is odd."""
        if self.set_up():
            import logging

            logging.getLogger("lyrsvc.settings").warning("%s", sentence)
        else:
            self._plain(sentence)

    def complain(self, sentence: str) -> None:
        """Say what went wrong and what helps."""
        if self.set_up():
            from lyrsvc.logs import notes

            notes.tell_error(sentence)
        else:
            self._plain(sentence)

    def complain_plainly(self, sentence: str) -> None:
        """Say what is wrong with the command line; never a record."""
        self._plain(sentence)

    def explain(self, error: Exception) -> None:
        """Write the traceback where somebody asked for it."""
        if self.set_up():
            import logging

            logging.getLogger("lyrsvc.cli").debug("traceback", exc_info=error)

    def close(self) -> None:
        """Take the log handlers away again."""
        if self._logs is not None:
            self._logs.close()
            self._logs = None

    def _plain(self, sentence: str) -> None:
        from lyrsvc.logs.formats import plain_note

        self._stream.write(plain_note(sentence, self.redactor) + "\n")
