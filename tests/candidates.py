"""One invented song as it is asked for and answered."""

from lyrsvc.core.lyrics import Candidate, Cue, Matched
from lyrsvc.core.recording import Recording

LINES = ("We hung the lanterns", "before the weather came", "and the river knew", "all the rest")


def song(title: str = "Paper Lantern Weather", **fields) -> Recording:
    return Recording(**{"title": title, "artist": "The Quiet Ferrymen", **fields})


def matched(title: str = "Paper Lantern Weather", *, number: str = "1", **fields) -> Matched:
    given = {"title": title, "artist": "The Quiet Ferrymen", "ids": (number,), **fields}
    return Matched(**given)


def synced(title: str = "Paper Lantern Weather", lines=LINES, **fields) -> Candidate:
    times = (12_480, 15_970, 19_300, 64_050)
    cues = tuple(Cue(ms, line) for ms, line in zip(times, lines, strict=False))
    return Candidate(matched=matched(title, **fields), cues=cues)


def plain(title: str = "Paper Lantern Weather", lines=LINES, **fields) -> Candidate:
    return Candidate(matched=matched(title, **fields), plain="\n".join(lines))


def claim(title: str = "Paper Lantern Weather", **fields) -> Candidate:
    return Candidate(matched=matched(title, **fields), instrumental=True)
