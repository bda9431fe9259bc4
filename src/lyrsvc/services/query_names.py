"""Names of lyrics without an audio file: no song takes the file of another one."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count

from lyrsvc import __version__
from lyrsvc.core.lrc_output import HeaderFacts
from lyrsvc.core.recording import Recording
from lyrsvc.core.sidecar import SongKeys, is_of_another, song_keys
from lyrsvc.core.sidecar_names import numbered
from lyrsvc.files.sidecar_writing import Place
from lyrsvc.files.sidecars import Beside


class QueryNames:
    """Gives every song its own name, among those of this run and the files of earlier ones."""

    def __init__(self, look: Callable[[Place], Beside]) -> None:
        self._look = look
        self._users: dict[str, SongKeys] = {}

    def settle(self, place: Place, recording: Recording) -> Place:
        """Give the place under the first number that no other song has; a second time the same."""
        song = song_keys(HeaderFacts.of(recording, version=__version__))
        for number in count(1):
            named = replace(place, stem=numbered(place.stem, number))
            if self._is_free(named, song):
                break
        self._users[named.stem.casefold()] = song
        return named

    def _is_free(self, place: Place, song: SongKeys) -> bool:
        if self._users.get(place.stem.casefold(), song) != song:
            return False
        lrc = self._look(place).lrc
        ours = lrc.data if lrc and lrc.ours else None
        return ours is None or not is_of_another(ours, song)
