"""Small charts as SVG, drawn by hand: panels with axes, units and a legend."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

PANEL_WIDTH = 440
PANEL_HEIGHT = 250
HEAD = 66
FOOT = 14
LEFT, RIGHT, TOP, BOTTOM = 58, 18, 50, 40
"""Room around the lines of a panel, for its words."""
INK, PALE, GRID, PAPER = "#1f2933", "#5b6773", "#e4e8ec", "#ffffff"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"


@dataclass(frozen=True)
class Line:
    """One line: a name for the legend, a colour, and its points."""

    name: str
    colour: str
    points: Sequence[tuple[float, float]]
    dashed: bool = False


@dataclass(frozen=True)
class Panel:
    """One chart; its scale begins at zero, so that a slope looks as steep as it is."""

    title: str
    unit: str
    lines: Sequence[Line]


def write_svg(path: Path, title: str, subtitle: str, panels: Sequence[Panel]) -> None:
    """Draw the panels two in a row, all over the same minutes."""
    rows = math.ceil(len(panels) / 2)
    width, height = 2 * PANEL_WIDTH, HEAD + rows * PANEL_HEIGHT + FOOT
    most = max(x for panel in panels for line in panel.lines for x, _ in line.points)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-labelledby="title" '
        f'font-family="{FONT}">',
        f'<title id="title">{escape(title)}</title>',
        f'<rect width="{width}" height="{height}" rx="8" fill="{PAPER}"/>',
        _text(20, 30, title, size=18, weight=600),
        _text(20, 52, subtitle, size=12.5, colour=PALE),
    ]
    for place, panel in enumerate(panels):
        x, y = place % 2 * PANEL_WIDTH, HEAD + place // 2 * PANEL_HEIGHT
        parts.append(f'<g transform="translate({x} {y})">')
        parts += _panel(panel, most)
        parts.append("</g>")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*parts, "</svg>", ""]), "utf-8")


def _panel(panel: Panel, most_x: float) -> Iterator[str]:
    inner_x, inner_y = PANEL_WIDTH - LEFT - RIGHT, PANEL_HEIGHT - TOP - BOTTOM
    most_y = max((y for line in panel.lines for _, y in line.points), default=0) or 1
    step_y, step_x = nice_step(most_y * 1.05, 5), nice_step(most_x, 6)
    top = math.ceil(most_y * 1.05 / step_y) * step_y
    yield _text(20, 20, panel.title, size=14, weight=600)
    yield _text(PANEL_WIDTH - RIGHT, 20, panel.unit, size=11.5, colour=PALE, anchor="end")
    yield from _legend(panel.lines)
    for number in range(round(top / step_y) + 1):
        value = number * step_y
        y = TOP + inner_y * (1 - value / top)
        colour = PALE if number == 0 else GRID
        yield f'<path d="M{LEFT} {y:.1f}h{inner_x}" stroke="{colour}"/>'
        label = _number(value, step_y)
        yield _text(LEFT - 8, y + 4, label, size=11, colour=PALE, anchor="end")
    for number in range(int(most_x / step_x + 1e-9) + 1):
        value = number * step_x
        x = LEFT + inner_x * value / most_x
        yield f'<path d="M{x:.1f} {TOP + inner_y}v4" stroke="{PALE}"/>'
        label = _number(value, step_x)
        label += " min" if number == 0 else ""
        yield _text(x, TOP + inner_y + 17, label, size=11, colour=PALE, anchor="middle")
    for line in panel.lines:
        points = " ".join(
            f"{LEFT + inner_x * x / most_x:.1f},{TOP + inner_y * (1 - y / top):.1f}"
            for x, y in line.points
        )
        dash = ' stroke-dasharray="5 4"' if line.dashed else ""
        yield (
            f'<polyline points="{points}" fill="none" stroke="{line.colour}" '
            f'stroke-width="1.6" stroke-linejoin="round"{dash}/>'
        )


def _legend(lines: Sequence[Line]) -> Iterator[str]:
    x = 20.0
    for line in lines:
        dash = ' stroke-dasharray="5 4"' if line.dashed else ""
        yield f'<path d="M{x:.0f} 36h18" stroke="{line.colour}" stroke-width="2.5"{dash}/>'
        yield _text(x + 23, 40, line.name, size=11.5)
        x += 23 + 6.1 * len(line.name) + 18


def nice_step(most: float, steps: int) -> float:
    """Give a round distance that divides a range into about so many steps."""
    rough = most / steps
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough)


def _number(value: float, step: float) -> str:
    places = 0 if step == int(step) else 2 if step * 10 != int(step * 10) else 1
    return f"{value:,.{places}f}"


def _text(  # noqa: PLR0913 - the attributes of a text
    x: float,
    y: float,
    words: str,
    *,
    size: float,
    colour: str = INK,
    weight: int = 400,
    anchor: str = "start",
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" '
        f'fill="{colour}" text-anchor="{anchor}">{escape(words)}</text>'
    )
