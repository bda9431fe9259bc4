"""The gate: listings of directories against what is stored of them.

Some directories are compared in one read of the database, each from the covering
index alone. What comes out is only what something has to be done about.
"""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lyrsvc.core.ptext import from_ptext, to_ptext
from lyrsvc.core.scan_decision import (
    ELRC_BIT,
    LRC_BIT,
    TRANSIENT,
    TXT_BIT,
    WORDS,
    Gate,
    GateRow,
    ScanRules,
    Stamp,
    judge,
    sidecar_bits,
    stamp_of,
)
from lyrsvc.core.sidecar import FetchMode, Kind
from lyrsvc.files.pairing import Sidecars, pair_sidecars, split_name
from lyrsvc.files.tree import Listing, list_directory
from lyrsvc.services.scan_sidecars import NOTHING, Standing, look
from lyrsvc.store import scan_dirs, scan_results
from lyrsvc.store.database import Database

if TYPE_CHECKING:
    from lyrsvc.store.database import Tx

DIRECTORIES: Final = 16
FILES: Final = 256
"""So much is compared at once: enough for one read to be worth it, little to be held."""

_BARE: Final = Sidecars()
_NO_ROW: Final[GateRow] = ()
_UNKNOWN: Final = (None, "")
_BITS: Final = {"lrc": LRC_BIT, "txt": TXT_BIT, "elrc": ELRC_BIT}


@dataclass(frozen=True, slots=True)
class Folder:
    """A directory of the library; ``dir_id`` is None while it is not stored."""

    path: str
    rel_path: str
    dir_id: int | None = None


class Finding(NamedTuple):
    """One audio file that something has to be done about.

    ``row`` is the whole stored row, if any. A ``fault`` of the listing stands in the
    place of what would have been read.
    """

    folder: Folder
    name: str
    stamp: Stamp
    standing: Standing
    row: Mapping[str, Any] | None = None
    fault: str = ""

    @property
    def path(self) -> str:
        """Give the whole path."""
        return join(self.folder.path, self.name)


@dataclass(slots=True)
class Findings:
    """What some directories came to."""

    to_read: list[Finding] = field(default_factory=list)
    to_look: list[Finding] = field(default_factory=list)
    dir_errors: list[tuple[Folder, str]] = field(default_factory=list)
    """Errors to be written down; a blank one is over."""
    faults: list[tuple[str, str]] = field(default_factory=list)
    """Paths and reasons of what cannot be listed or looked at."""
    gone: "array[int]" = field(default_factory=lambda: array("q"))
    """Rows whose file is no longer there."""
    seen: int = 0
    unchanged: int = 0
    unreadable: int = 0
    bad_directories: int = 0


class ScanGate:
    """Compares directories, and remembers which stored ones are still to come."""

    def __init__(self, db: Database, library_id: int, root: str, rules: ScanRules) -> None:
        self._db = db
        self._library_id = library_id
        self._root = root
        self._rules = rules
        self._waiting: dict[str, tuple[int | None, str]] = {}
        with db.read() as tx:
            self._remembers = scan_results.has_own_files(tx)

    def compare(self, listings: Sequence[Listing]) -> Findings:
        """Compare some directories in one read."""
        found = Findings()
        with self._db.read(deadline_s=None) as tx:
            for listing in listings:
                self._compare(tx, listing, found)
        return found

    def _compare(self, tx: "Tx", listing: Listing, found: Findings) -> None:
        rel_path = below(self._root, listing.path)
        dir_id, stored_error = self._stored(tx, listing.path, rel_path)
        folder = Folder(listing.path, rel_path, dir_id)
        error = listing.fault or ""
        if error != stored_error:
            found.dir_errors.append((folder, error))
        if error:
            found.bad_directories += 1
            found.faults.append((listing.path, error))
        rows: dict[str, GateRow] = {}
        if dir_id is not None:
            rows = scan_results.gate_of(tx, dir_id)
            self._follow(tx, dir_id, listing, found)
        else:  # what lies in it cannot be stored either
            below_it = (join(listing.path, name) for name in listing.subdirectories)
            self._waiting.update(dict.fromkeys(below_it, _UNKNOWN))
        for met in self._met(folder, listing, rows, found):
            self._sort(tx, met, found)
        found.seen += len(listing.audio) + len(listing.faults)
        self._compare_faults(folder, listing, rows, found)
        if rows and not error:
            found.gone.extend(row[-1] for row in rows.values() if row[7] is None)

    def _stored(self, tx: "Tx", path: str, rel_path: str) -> tuple[int | None, str]:
        known = self._waiting.pop(path, None)
        if known is None:
            known = scan_dirs.find(tx, self._library_id, rel_path)
        return known or _UNKNOWN

    def _follow(self, tx: "Tx", dir_id: int, listing: Listing, found: Findings) -> None:
        """Note the ids of directories to come, and the rows of those that are gone."""
        there = set(listing.subdirectories)
        for stored_name, child, error in scan_dirs.children(tx, dir_id):
            name = from_ptext(stored_name)
            if name in there:
                self._waiting[join(listing.path, name)] = child, error
            elif not listing.fault:
                found.gone.extend(scan_results.present_below(tx, child))

    def _met(
        self,
        folder: Folder,
        listing: Listing,
        rows: dict[str, GateRow],
        found: Findings,
    ) -> Iterator["_Met"]:
        """Give the files that fail the gate; rows that are met are taken out of ``rows``."""
        rules, usual, unchanged = self._rules, self._rules.usual, 0
        is_plain = not rules.is_flagged and rules.detect is None
        beside: _Beside | None = None
        bits_of = plain_bits(listing)
        if bits_of is None:
            beside = _Beside(listing)
            bits_of = beside.bits()
        for name, mtime_ns, size, inode in listing.audio:
            row = rows.pop(name if name.isascii() else to_ptext(name), _NO_ROW)
            bits = bits_of.get(name[: name.rfind(".")], 0) if bits_of else 0
            # Most files of most scans end here; whatever is not plain is judged with care.
            is_same = is_plain and row[:8] == (mtime_ns, size, inode, bits, *usual)
            if (
                is_same
                and row[8] == ("done" if bits & WORDS else "pending")
                and (bits & WORDS or row[9])
            ):
                unchanged += 1
                continue
            stamp = stamp_of(mtime_ns, size, inode)
            verdict = judge(row or None, stamp, bits, rules)
            if verdict is Gate.SAME:
                unchanged += 1
                continue
            beside = beside or _Beside(listing)
            row_id = row[-1] if row else None
            yield _Met(folder, name, stamp, beside.of(name), row_id, verdict)
        found.unchanged += unchanged

    def _compare_faults(
        self, folder: Folder, listing: Listing, rows: dict[str, GateRow], found: Findings
    ) -> None:
        """Give entries that cannot be used a row, once; a row that is there stays as it is."""
        for fault in listing.faults:
            found.faults.append((join(folder.path, fault.name), fault.reason))
            found.unreadable += 1
            if rows.pop(to_ptext(fault.name), None) is not None:
                found.unchanged += 1
                continue
            blank = Finding(folder, fault.name, (0, 0, 0), NOTHING, fault=fault.reason)
            found.to_look.append(blank)

    def _sort(self, tx: "Tx", met: "_Met", found: Findings) -> None:
        row = scan_results.get(tx, met.row_id) if met.row_id is not None else None
        standing = self._standing(tx, met, row)
        finding = Finding(met.folder, met.name, met.stamp, standing, row)
        if met.verdict is not Gate.LOOK:
            found.to_read.append(finding)
            return
        if row is not None and row["status"] == "unreadable":
            if row["reason"] in TRANSIENT:
                found.to_read.append(finding)
                return
            found.unreadable += 1
            if row["reason"] != "no_metadata":
                found.faults.append((finding.path, row["reason"]))
        found.unchanged += 1
        found.to_look.append(finding)

    def _standing(self, tx: "Tx", met: "_Met", row: "Mapping[str, Any] | None") -> Standing:
        """Look at the sidecars, unless the row says it all.

        It does not say what ours were written for, which counts when the file is another one.
        """
        bits = sidecar_bits(*met.sidecars)
        if row is not None and row["sidecar"] & WORDS and not bits & WORDS:
            bits, sidecars = self._again(met)
        else:
            sidecars = met.sidecars
        if not bits:
            return NOTHING
        flagged = self._rules.mode is not FetchMode.NORMAL
        if row is not None and row["sidecar"] == bits and not flagged:
            stored = stored_standing(row)
            if not stored.ours or met.verdict is Gate.LOOK:
                return stored
        return look(tx, met.folder.path, sidecars, remembers=self._remembers)

    def _again(self, met: "_Met") -> tuple[int, Sidecars]:
        """List a directory once more: a sidecar may have come after the first look."""
        listing = list_directory(met.folder.path)
        names = [file.name for file in listing.audio]
        sidecars = pair_sidecars(names, listing.sidecars).get(met.name, _BARE)
        return sidecar_bits(*sidecars), sidecars


class _Met(NamedTuple):
    folder: Folder
    name: str
    stamp: Stamp
    sidecars: Sidecars
    row_id: int | None
    verdict: Gate


class _Beside:
    """The sidecars of the files of one directory, by the full rules."""

    def __init__(self, listing: Listing) -> None:
        self._found = pair_sidecars([file.name for file in listing.audio], listing.sidecars)

    def of(self, name: str) -> Sidecars:
        return self._found.get(name, _BARE)

    def bits(self) -> dict[str, int]:
        """Give the sidecar column by stem; files of one stem share theirs."""
        return {split_name(name)[0]: sidecar_bits(*each) for name, each in self._found.items()}


def plain_bits(listing: Listing) -> dict[str, int] | None:
    """Give the sidecar column by stem, where every sidecar is named exactly as its audio.

    That is nearly every directory; None means that the full rules are needed.
    """
    bits: dict[str, int] = {}
    for name in listing.sidecars:
        stem, _, suffix = name.rpartition(".")
        bit = _BITS.get(suffix)
        if bit is None:
            return None
        bits[stem] = bits.get(stem, 0) | bit
    if not bits:
        return bits
    stems = {file.name[: file.name.rfind(".")] for file in listing.audio}
    return bits if bits.keys() <= stems else None


def stored_standing(row: Mapping[str, Any]) -> Standing:
    """Give what a row says of its sidecars."""
    kind = Kind(row["sidecar_class"]) if row["sidecar_class"] else None
    return Standing(row["sidecar"], kind, ours=bool(row["ours"]))


def in_portions(listings: Iterable[Listing]) -> Iterator[list[Listing]]:
    """Gather listings until there is enough for one comparison."""
    portion: list[Listing] = []
    files = 0
    for listing in listings:
        portion.append(listing)
        files += len(listing.audio)
        if len(portion) >= DIRECTORIES or files >= FILES:
            yield portion
            portion, files = [], 0
    if portion:
        yield portion


def below(root: str, path: str) -> str:
    """Give a path relative to the root, blank for the root itself."""
    return path[len(root) :].lstrip("/")


def join(path: str, name: str) -> str:
    """Put a name behind a path."""
    return f"{path}{name}" if path.endswith("/") else f"{path}/{name}"
