"""From what was found of a file to the row it gets, and to what is wished for it."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from lyrsvc.core.keys import KEY_VERSION
from lyrsvc.core.ptext import to_ptext
from lyrsvc.core.recording import Recording
from lyrsvc.core.scan_decision import (
    RESPECTED,
    WORDS,
    ScanRules,
    brings_words,
    is_other_song,
    is_respected,
)
from lyrsvc.core.scan_facts import (
    IDENTITY,
    Embedded,
    TagFacts,
    Unreadable,
    keys_of,
    stored_recording,
)
from lyrsvc.core.sidecar import Fetch, FetchMode, should_fetch
from lyrsvc.core.wish import Spot, Wish
from lyrsvc.files.pairing import split_name
from lyrsvc.services.scan_gate import Finding
from lyrsvc.store.scan_results import COLUMNS

_BLANK: Final[dict[str, Any]] = {
    **dict.fromkeys(COLUMNS, ""),
    **dict.fromkeys(("mtime_ns", "size", "inode", "reader_version", "enriched"), 0),
    **dict.fromkeys(("low_confidence", "sidecar", "ours", "duration_ms", "duration_bucket"), 0),
    "artists": "[]",
    "embedded": Embedded.UNKNOWN,
    "key_version": KEY_VERSION,
    "target_id": None,
    "missing_since_at": None,
    "status": "pending",
}


class Change(NamedTuple):
    """What is to be written for one file: its row as it will be, and what is wished for it."""

    finding: Finding
    row: dict[str, Any]
    wish: Wish | None = None
    is_foreign: bool = False
    reopens: bool = False
    """Our own sidecar has vanished."""

    @property
    def is_idle(self) -> bool:
        """Tell whether nothing would be written at all."""
        before = self.finding.row
        if before is None or self.wish is not None or self.finding.standing.moved_from:
            return False
        return all(before[name] == self.row[name] for name in COLUMNS)


def read_change(
    finding: Finding, facts: TagFacts | Unreadable, rules: ScanRules, library_id: int
) -> Change:
    """Give the change for a file whose tags were read."""
    row = _described(finding, library_id)
    row["mtime_ns"], row["size"], row["inode"] = finding.stamp
    row["reader_version"], row["enriched"] = rules.reader_version, int(rules.enrich)
    if isinstance(facts, Unreadable):
        row.update(status="unreadable", reason=facts.reason, reason_text=facts.text)
        return Change(finding, row)
    before = finding.row
    row.update(facts.columns)
    if row["status"] == "unreadable":
        row.update(status="pending", reason="", reason_text="")
    is_news = (
        before is None
        or before["status"] != "done"
        or _has_new_words(finding, row, rules)
        or any(before[name] != row[name] for name in IDENTITY)
    )
    return _wished(finding, row, lambda: facts.recording, rules, is_news=is_news)


def look_change(finding: Finding, rules: ScanRules, library_id: int) -> Change:
    """Give the change for a file that is not opened: only its row is brought up to date."""
    row = _described(finding, library_id)
    if finding.row is None:
        row.update(
            status="unreadable",
            reason=finding.fault,
            reason_text="this is no file that can be read; see the reason",
            reader_version=rules.reader_version,
            enriched=int(rules.enrich),
        )
        return Change(finding, row)
    recording = stored_recording(row)
    if row["key_version"] != KEY_VERSION:
        row.update(keys_of(recording), key_version=KEY_VERSION)
    if row["enriched"] and not rules.enrich:
        row.update(isrc="", mbid="", duration_ms=0, duration_bucket=0, enriched=0)
        recording = stored_recording(row)
    if row["status"] == "unreadable":
        return Change(finding, row)
    return _wished(finding, row, lambda: recording, rules, is_news=False)


def _described(finding: Finding, library_id: int) -> dict[str, Any]:
    """Give the row as it was, or a blank one, with the sidecars as they are."""
    before, standing = finding.row, finding.standing
    row = _BLANK.copy() if before is None else {name: before[name] for name in COLUMNS}
    row["library_id"] = library_id
    row["name"] = to_ptext(finding.name)
    row["out_stem"] = to_ptext(split_name(finding.name)[0])
    row["sidecar"] = standing.bits
    row["sidecar_class"] = str(standing.kind or "")
    row["ours"] = int(standing.ours)
    row["missing_since_at"] = None
    return row


def _wished(
    finding: Finding,
    row: dict[str, Any],
    recording: Callable[[], Recording],
    rules: ScanRules,
    *,
    is_news: bool,
) -> Change:
    """Decide whether lyrics are wanted, by what stands beside the file and by the flags."""
    standing = finding.standing
    if standing.has_words:
        row.update(status="done", reason="", reason_text="")
        if _is_of_another(finding, row):
            rules = rules.anew
        verdict = should_fetch(standing.state, rules.mode)
        if rules.mode is FetchMode.NORMAL or verdict is not Fetch.FETCH:
            return Change(finding, row, is_foreign=verdict is Fetch.FOREIGN)
        return Change(finding, row, _wish(finding, recording(), rules, row, has_sidecar=True))
    if is_respected(row["embedded"], standing.bits, rules):
        row.update(status="done", reason=RESPECTED, reason_text="")
        return Change(finding, row)
    if not _is_wanted(finding, rules, is_news=is_news):
        return Change(finding, row)
    before = finding.row
    had = before is not None and bool(before["sidecar"] & WORDS)
    wish = _wish(finding, recording(), rules, row, has_sidecar=False)
    return Change(finding, row, wish, reopens=had and bool(before and before["ours"]))


def _is_of_another(finding: Finding, row: Mapping[str, Any]) -> bool:
    """Tell whether words of ours stand beside a file that were written for another song."""
    if not finding.standing.ours:
        return False
    song = finding.standing.song
    if song is None and finding.row is not None and finding.row["key_version"] == KEY_VERSION:
        song = finding.row
    return song is not None and is_other_song(song, row)


def _is_wanted(finding: Finding, rules: ScanRules, *, is_news: bool) -> bool:
    """Tell whether a file without sidecar is (still) to be asked for.

    A row that is done without one was given up: only a flag, a new identity or the
    loss of a sidecar brings it back. ``is_news`` says that the tags were just read
    and may tell the queue something; so may a decision of the command line.
    """
    before = finding.row
    if before is None or is_news or rules.mode is not FetchMode.NORMAL:
        return True
    if before["sidecar"] & WORDS or before["missing_since_at"] is not None:
        return True
    if rules.restamps(before["status"]):
        return True
    if before["status"] == "done":
        return bool(before["reason"] == RESPECTED)
    return before["target_id"] is None or before["status"] == "unreadable"


def _wish(
    finding: Finding,
    recording: Recording,
    rules: ScanRules,
    row: Mapping[str, Any],
    *,
    has_sidecar: bool,
) -> Wish:
    return Wish(
        recording=recording,
        spot=Spot(
            out_dir=finding.folder.path,
            out_stem=split_name(finding.name)[0],
            source_path=finding.path,
            library_id=row["library_id"],
        ),
        mode=rules.mode,
        detect=rules.detect,
        has_sidecar=has_sidecar,
        names=(row["artist_key"], row["title_key"]),
        at_hand=not has_sidecar and _has_new_words(finding, row, rules),
    )


def _has_new_words(finding: Finding, row: Mapping[str, Any], rules: ScanRules) -> bool:
    known = Embedded.UNKNOWN if finding.row is None else finding.row["embedded"]
    return brings_words(known, row["embedded"], rules)
