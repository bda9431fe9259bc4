"""A third-party provider behind a door: what it raises and answers is brought into the set."""

from collections.abc import Sequence

from lyrsvc.core.errors import LyrsvcError, Malformed, Miss, Transient
from lyrsvc.core.lyrics import Candidate
from lyrsvc.core.ports import LaneContext, Provider
from lyrsvc.core.recording import Recording
from lyrsvc.providers.catalogue import MOST_CANDIDATES


class Stranger:
    """A provider that can neither crash a lookup nor answer outside the contract."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self.name = provider.name
        self.local = bool(getattr(provider, "local", False))
        self.needs_token = bool(getattr(provider, "needs_token", False))

    def lookup(self, recording: Recording, ctx: LaneContext) -> Sequence[Candidate]:
        """Ask the stranger; an exception outside the closed set is ``Transient``."""
        try:
            answer = list(self._provider.lookup(recording, ctx) or ())
        except LyrsvcError:
            raise
        except Exception as error:
            raise Transient(type(error).__name__, reason="upstream_error") from error
        if not all(isinstance(candidate, Candidate) for candidate in answer):
            raise Malformed("the answer holds something that is no candidate")
        if not answer:
            raise Miss("no candidate", reason="not_found")
        return answer[:MOST_CANDIDATES]

    def probe(self, ctx: LaneContext) -> None:
        """Ask the stranger whether it can serve."""
        try:
            self._provider.probe(ctx)
        except LyrsvcError:
            raise
        except Exception as error:
            raise Transient(type(error).__name__, reason="upstream_error") from error

    def close(self) -> None:
        """Let the stranger go; may be called twice."""
        self._provider.close()
