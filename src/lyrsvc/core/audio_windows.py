"""Windows: the parts of a track that are listened to, spread over its whole length."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a track."""

    start_s: float
    length_s: float


def spread_windows(duration_s: float | None, *, sample_s: int, count: int) -> tuple[Window, ...]:
    """Spread a sample over a track: equal parts, each in the middle of its share.

    A track that is no longer than the sample is heard whole; one of unknown length
    from its start.
    """
    if duration_s is None or duration_s <= 0:
        return (Window(0.0, float(sample_s)),)
    if duration_s <= sample_s or count < 2:
        return (Window(0.0, min(float(sample_s), duration_s)),)
    length = max(1, sample_s // count)
    latest = duration_s - length
    middles = (duration_s * (i + 0.5) / count for i in range(count))
    return tuple(
        Window(min(max(middle - length / 2, 0.0), latest), float(length)) for middle in middles
    )
