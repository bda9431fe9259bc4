"""One row for each measurement, its verdict, and the table that shows them all."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """What a figure says about its bar."""

    MET = "met"
    MET_BY_PROCESSOR = "met by processor time"
    MISSED = "missed"
    NO_BAR = "no bar"
    UNMEASURABLE = "not measurable here"
    FAILED = "failed"


BAD = (Verdict.MISSED, Verdict.FAILED)


@dataclass(frozen=True, kw_only=True)
class Bar:
    """What must hold: of the figure itself, or of its ratio to the floor or peer."""

    limit: float
    ratio: bool = False
    least: bool = False
    """The limit is the least that will do, not the most."""
    size: int = 0
    """The size the bar is meant for; a smaller measurement says so."""

    def holds(self, value: float) -> bool:
        """Tell whether a value is good enough."""
        return value >= self.limit if self.least else value <= self.limit

    def text(self, unit: str) -> str:
        """Give the bar as the table shows it."""
        sign = ">=" if self.least else "<="
        return f"{sign} {number(self.limit)} {'x' if self.ratio else unit}"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One measurement; ratio and verdict follow from it."""

    work: str
    figure: float | None = None
    unit: str = ""
    peer: str = ""
    """The floor or peer measured in the same run, on the same data."""
    peer_figure: float | None = None
    processor_ratio: float | None = None
    """The ratio by processor time, for work that is bound by the processor."""
    paired_ratio: float | None = None
    """The median of the ratios of each round, where both were measured in turn."""
    bar: Bar | None = None
    size: int = 0
    stolen: float | None = None
    """The share of the processors' time that the host took away meanwhile."""
    note: str = ""
    """Why nothing was measured, or a few words beside the figure."""
    failed: bool = False
    why: tuple[str, ...] = ()
    """The short profile that says why a bar was missed."""
    bench: str = ""

    @property
    def ratio(self) -> float | None:
        """Give the figure in terms of its peer."""
        if self.paired_ratio is not None:
            return self.paired_ratio
        if self.figure is None or not self.peer_figure:
            return None
        return self.figure / self.peer_figure

    @property
    def verdict(self) -> Verdict:
        """Judge the figure by its bar."""
        if self.failed:
            return Verdict.FAILED
        value = self.ratio if self.bar and self.bar.ratio else self.figure
        if value is None:
            return Verdict.UNMEASURABLE
        if self.bar is None:
            return Verdict.NO_BAR
        if self.bar.holds(value):
            return Verdict.MET
        spare = self.processor_ratio if self.bar.ratio else None
        if spare is not None and self.bar.holds(spare):
            return Verdict.MET_BY_PROCESSOR
        return Verdict.MISSED

    @property
    def is_small(self) -> bool:
        """Tell whether the bar is meant for more than was measured."""
        return self.bar is not None and 0 < self.size < self.bar.size

    def to_json(self) -> dict[str, Any]:
        """Give every field and what follows from them."""
        return {**asdict(self), "ratio": self.ratio, "verdict": str(self.verdict)}


def row_from(values: dict[str, Any]) -> Row:
    """Read a row that ``to_json`` wrote."""
    given = {name: values[name] for name in Row.__dataclass_fields__ if name in values}
    given["why"] = tuple(given.get("why", ()))
    if given.get("bar"):
        given["bar"] = Bar(**given["bar"])
    return Row(**given)


def failure(work: str, reason: str) -> Row:
    """Give the row of a measurement that broke."""
    return Row(work=work, failed=True, note=reason)


def explained(row: Row, profile: Callable[[], Iterable[str]]) -> Row:
    """Add the profile to a row that missed its bar; the others are spared the work."""
    if row.verdict is not Verdict.MISSED:
        return row
    return replace(row, why=(*row.why, *profile()))


def number(value: float | None) -> str:
    """Write a number with as many digits as say something."""
    if value is None:
        return ""
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    digits = 3 if size < 0.1 else 2 if size < 10 else 1
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if value == int(value) else text


HEAD = ("work", "figure", "floor or peer", "ratio", "bar", "stolen", "verdict")


def render(rows: Sequence[Row]) -> str:
    """Write the table, then why each missed bar was missed."""
    parts = [_table(rows)]
    notes = [row for row in rows if row.note and row.verdict not in BAD]
    if notes:
        lines = [f"{_name(row)}: {row.note}" for row in notes]
        parts.append("\n".join(["Notes", "", *(f"  {line}" for line in lines)]))
    bad = [row for row in rows if row.verdict in BAD]
    if bad:
        parts.append("\n".join(["Why", "", *(_reason(row) for row in bad)]))
    parts.append(summary(rows))
    return "\n\n".join(parts)


def summary(rows: Sequence[Row]) -> str:
    """Count the verdicts."""
    counts = {verdict: sum(row.verdict is verdict for row in rows) for verdict in Verdict}
    said = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    small = sum(row.is_small for row in rows)
    more = f"; {small} below the size of their bar (*): use --full" if small else ""
    return (said or "nothing was measured") + more


def to_json(rows: Sequence[Row]) -> str:
    """Write the rows for another program."""
    return json.dumps([row.to_json() for row in rows], indent=1, ensure_ascii=False) + "\n"


def _table(rows: Sequence[Row]) -> str:
    cells = [HEAD, *(_cells(row) for row in rows)]
    widths = [max(len(line[at]) for line in cells) for at in range(len(HEAD))]
    written = [
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    ]
    return "\n".join([written[0], "  ".join("-" * width for width in widths), *written[1:]])


def _cells(row: Row) -> tuple[str, ...]:
    ratio = number(row.ratio)
    if row.processor_ratio is not None:
        ratio += f" (cpu {number(row.processor_ratio)})"
    return (
        _name(row),
        f"{number(row.figure)} {row.unit}".strip() if row.figure is not None else "-",
        f"{row.peer} {number(row.peer_figure)}".strip(),
        ratio,
        row.bar.text(row.unit) if row.bar else "",
        f"{row.stolen:.0%}" if row.stolen is not None else "",
        f"{row.verdict}{' *' if row.is_small else ''}",
    )


def _name(row: Row) -> str:
    return f"{row.bench}: {row.work}" if row.bench else row.work


def _reason(row: Row) -> str:
    if row.verdict is Verdict.FAILED:
        return f"  {_name(row)}\n      failed: {row.note}"
    said = [row.note] if row.note else []
    return "\n".join([f"  {_name(row)}", *(f"      {line}" for line in (*said, *row.why))])
