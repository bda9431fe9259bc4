"""How a recording is named in a question: titles shortened with the artist in mind."""

from lyrsvc.core.credits import name_form, primary_artist, query_artist, read_credit
from lyrsvc.core.recording import Recording
from lyrsvc.core.titles import base_title, query_title


def matcher_title(recording: Recording) -> str:
    """Give the title for a matcher: without guests and what says nothing about the recording."""
    return query_title(recording.title, artists=_artist_forms(recording))


def search_title(recording: Recording) -> str:
    """Give the title for a search: without guests and every qualifier."""
    return base_title(recording.title, artists=_artist_forms(recording))


def has_company(recording: Recording) -> bool:
    """Tell whether the query artist is more than its first credited name: "AC/DC" is not."""
    artist = query_artist(recording)
    credit = read_credit(artist)
    several = len(credit.names | credit.guests) > 1
    return several and name_form(primary_artist(recording)) != name_form(artist)


def whole_seconds(duration_ms: int | None) -> int | None:
    """Round a known length to seconds."""
    return (duration_ms + 500) // 1000 if duration_ms else None


def _artist_forms(recording: Recording) -> frozenset[str]:
    return read_credit(query_artist(recording), recording.artists).everyone
