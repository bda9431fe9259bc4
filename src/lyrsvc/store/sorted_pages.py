"""Pages in any order and however deep, with their total, in one pass and without sorting all rows.

A sample of the rows tells two borders between which a page must lie. Rows outside are
only counted, rows between are sorted. The numbers show when a sample misled: then the
borders are moved apart, and at last all rows are sorted.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lyrsvc.store.ordering import Key, terms_of

if TYPE_CHECKING:
    from lyrsvc.store.transaction import Tx

SAMPLE: Final = 4_000
"""So many places of a table are looked at."""
SHORT: Final = 5 * SAMPLE
"""A table of so many rows is sorted as a whole."""
DEVIATIONS: Final = (3, 9)
"""By how many standard deviations a border is moved away, at first and when that misled."""

# The remainder scatters the places, so that no regular pattern of the rows is met.
_SAMPLE: Final = """
    WITH RECURSIVE places (n) AS (
        SELECT 0 UNION ALL SELECT n + 1 FROM places WHERE (n + 1) * :step < :newest
    )
    SELECT {columns}
      FROM places CROSS JOIN {table} {alias}
     WHERE {alias}.id = n * :step + n * 7919 % :step + 1 AND {where}
     ORDER BY {terms}
"""
_COUNT: Final = """
    SELECT count(*) AS total, count(*) FILTER (WHERE {before}) AS before,
           string_agg(CASE WHEN {inside} THEN {alias}.id END, ',') AS inside
      FROM {table} {alias}
     WHERE {where}
"""
_SORT: Final = """
    SELECT {alias}.id
      FROM {table} {alias}
     WHERE {alias}.id IN (SELECT value FROM json_each(:inside))
     ORDER BY {terms}
     LIMIT :limit OFFSET :offset
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sought:
    """Rows of a table that fulfil a condition; ``probe`` asks the same of a single row."""

    table: str
    alias: str
    where: str
    probe: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)

    def fill(self, statement: str, **more: str) -> str:
        """Give a statement about the table."""
        return statement.format(table=self.table, alias=self.alias, **more)


class Hits(NamedTuple):
    """The ids of one page in their order, and how many rows there are in all."""

    ids: list[int]
    total: int


class _Borders(NamedTuple):
    """Rows, as their values of the order; None where a page may begin or end anywhere."""

    lower: tuple[Any, ...] | None
    upper: tuple[Any, ...] | None

    @property
    def params(self) -> dict[str, Any]:
        """Give the values as parameters."""
        named = (("lower", self.lower), ("upper", self.upper))
        return {
            f"{name}_{place}": value
            for name, values in named
            for place, value in enumerate(values or ())
        }


_NO_BORDERS: Final = _Borders(None, None)


def sorted_page(
    tx: "Tx",
    sought: Sought,
    keys: Sequence[Key],
    place: Mapping[str, int],
    *,
    total: int | None = None,
) -> Hits:
    """Give the rows of a page and their total; when that is known, less is looked at."""
    limit, offset = place["limit"], place["offset"]
    for borders in _guesses(tx, sought, keys, place, total=total):
        before = "1 = 0" if borders.lower is None else _before(keys, "lower")
        ahead = "1 = 1" if borders.upper is None else _before(keys, "upper")
        where = sought.where if total is None else f"{sought.where} AND {ahead}"
        inside = f"({before}) IS NOT TRUE AND {ahead}"
        statement = sought.fill(_COUNT, where=where, before=before, inside=inside)
        counted = tx.first(statement, **sought.params, **borders.params)
        if counted is None or counted["before"] > offset:
            continue
        rows = tx.tuples(
            sought.fill(_SORT, terms=terms_of(keys)),
            inside=f"[{counted['inside'] or ''}]",
            limit=limit,
            offset=offset - counted["before"],
        )
        if len(rows) == limit or borders.upper is None:
            return Hits(
                [row_id for (row_id,) in rows], counted["total"] if total is None else total
            )
    raise AssertionError("without borders every page is found")


def _guesses(
    tx: "Tx",
    sought: Sought,
    keys: Sequence[Key],
    place: Mapping[str, int],
    *,
    total: int | None,
) -> Iterator[_Borders]:
    """Give borders of a page, the likeliest first, at last none."""
    newest = tx.value(f"SELECT max(id) FROM {sought.table}") or 0  # noqa: S608 - ours
    if newest > SHORT:
        step = ceil(newest / SAMPLE)
        sample = _sample(tx, sought, keys, step=step, newest=newest)
        rate = len(sample) / total if total else 1 / step
        for deviations in DEVIATIONS if sample else ():
            yield _borders(sample, place, rate=rate, deviations=deviations)
    yield _NO_BORDERS


def _sample(
    tx: "Tx", sought: Sought, keys: Sequence[Key], *, step: int, newest: int
) -> list[tuple[Any, ...]]:
    columns = ", ".join(key.column for key in keys)
    where = sought.probe or sought.where
    statement = sought.fill(_SAMPLE, columns=columns, where=where, terms=terms_of(keys))
    return tx.tuples(statement, **sought.params, step=step, newest=newest)


def _borders(
    sample: Sequence[tuple[Any, ...]], place: Mapping[str, int], *, rate: float, deviations: int
) -> _Borders:
    """Choose the rows of the sample that a page surely lies between, as far as chance goes."""
    begin, end = place["offset"] * rate, (place["offset"] + place["limit"]) * rate
    first = int(begin - deviations * sqrt(begin)) - deviations
    last = ceil(end + deviations * sqrt(end)) + deviations
    return _Borders(
        lower=sample[min(first, len(sample) - 1)] if first >= 0 else None,
        upper=sample[last] if last < len(sample) else None,
    )


def _before(keys: Sequence[Key], border: str) -> str:
    """Give the condition that a row comes before a border, as one that no index is used for."""
    condition = ""
    for number, key in reversed(list(enumerate(keys))):
        name = f":{border}_{number}"
        ahead = _is_ahead(key, name)
        equal = f"({key.column}) IS NOT DISTINCT FROM {name}"
        condition = f"({ahead} OR ({equal} AND {condition}))" if condition else ahead
    return f"({condition}) IS TRUE"


def _is_ahead(key: Key, name: str) -> str:
    """Compare as sorting does: a row without a value is smaller than all others."""
    if key.falls:
        return f"(({key.column}) > {name} OR (({key.column}) IS NOT NULL AND {name} IS NULL))"
    return f"(({key.column}) < {name} OR (({key.column}) IS NULL AND {name} IS NOT NULL))"
