"""Line charts as plain SVG, drawn by hand: no plotting library, and equal figures give equal bytes."""

from html import escape
from math import log10

_WIDTH, _HEIGHT = 640, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 170, 40, 50
_COLOURS = ("#1b6ca8", "#c8553d", "#3a7d44", "#8e5ea2", "#b8860b", "#555555")

Series = dict[str, list[tuple[float, float]]]


def chart(title: str, across: str, up: str, series: Series) -> str:
    """An SVG with one line for each of *series*; the horizontal axis is logarithmic, the vertical one starts at 0."""
    points = [point for line in series.values() for point in line]
    lowest, highest = min(x for x, _ in points), max(x for x, _ in points)
    top = max(y for _, y in points) * 1.1 or 1.0
    wide = log10(highest / lowest) or 1.0

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            round(_LEFT + log10(x / lowest) / wide * (_WIDTH - _LEFT - _RIGHT), 1),
            round(_HEIGHT - _BOTTOM - y / top * (_HEIGHT - _TOP - _BOTTOM), 1),
        )

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        _text(_LEFT, 22, title, size=15),
        _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 12, across, anchor="middle"),
        f'<g transform="rotate(-90 16 {_HEIGHT / 2})">{_text(16, _HEIGHT / 2, up, anchor="middle")}</g>',
    ]
    for x in sorted({x for x, _ in points}):
        left, bottom = place(x, 0)
        parts.append(_text(left, bottom + 16, f"{x:,.0f}", anchor="middle"))
    for step in range(5):
        y = top * step / 4
        left, height = place(lowest, y)
        parts.append(f'<line x1="{left}" y1="{height}" x2="{_WIDTH - _RIGHT}" y2="{height}" stroke="#dddddd"/>')
        parts.append(_text(left - 6, height + 4, f"{y:,.0f}" if top > 10 else f"{y:.1f}", anchor="end"))
    for number, (name, line) in enumerate(series.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        path = " ".join(f"{x},{y}" for x, y in (place(*point) for point in line))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in (place(*point) for point in line)]
        parts.append(_text(_WIDTH - _RIGHT + 12, _TOP + 18 * number + 12, name, colour=colour))
    return "\n".join([*parts, "</svg>", ""])


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 12, colour: str = "#222222") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="{size}" fill="{colour}">{escape(text)}</text>'
