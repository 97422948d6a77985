"""A line chart as a standalone SVG picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 50, 60
POINTS = 1000  # about one a pixel; longer curves are thinned


def line_chart(values: Sequence[float], *, title: str, across: str, up: str) -> str:
    """The values against their positions 1, 2, ... and their running mean, as the text of an SVG file.

    >>> line_chart([2.0, 1.0, 0.5], title="Loss", across="step", up="loss").startswith("<svg ")
    True
    """
    shown = [value for value in values if math.isfinite(value)]
    low, high, step = scale(min(shown, default=0.0), max(shown, default=1.0))
    last = max(len(values), 2)

    def x(position: float) -> float:
        return LEFT + (position - 1) / (last - 1) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    def curve(heights: Sequence[float], style: str) -> str:
        stride = max(1, len(heights) // POINTS)
        places = [
            f"{x(i + 1):.1f},{y(heights[i]):.1f}" for i in range(0, len(heights), stride) if math.isfinite(heights[i])
        ]
        return f'<polyline points="{" ".join(places)}" fill="none" {style}/>'

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="sans-serif" font-size="13" fill="#333">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{LEFT}" y="30" font-size="17">{escape(title)}</text>',
    ]
    for k in range(round((high - low) / step) + 1):
        value = low + k * step
        parts.append(
            f'<path d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>'
            f'<text x="{LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.6g}</text>'
        )
    first, end, stride = scale(1, last)
    for k in range(round((end - first) / stride) + 1):
        position = max(first + k * stride, 1)
        if position <= last:
            parts.append(
                f'<text x="{x(position):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{position:g}</text>'
            )
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts += [
        f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" fill="none" stroke="#333"/>',
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 16}" text-anchor="middle">{escape(across)}</text>',
        f'<text transform="translate(18 {middle}) rotate(-90)" text-anchor="middle">{escape(up)}</text>',
        curve(values, 'stroke="#9bc" stroke-width="1"'),
        curve(running_mean(values), 'stroke="#036" stroke-width="2"'),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def running_mean(values: Sequence[float], share: float = 0.02) -> list[float]:
    """Exponential mean over about ``share`` of the values, corrected for its start."""
    keep = 1 - 1 / max(1.0, share * len(values))
    means: list[float] = []
    total = weight = 0.0
    for value in values:
        if math.isfinite(value):
            total = keep * total + value
            weight = keep * weight + 1
        means.append(total / weight if weight else math.nan)
    return means


def scale(low: float, high: float) -> tuple[float, float, float]:
    """Round limits around the two values, and a step of 1, 2 or 5 times a power of ten between four to ten marks.

    >>> scale(0.03, 2.4)
    (0.0, 2.5, 0.5)
    """
    span = high - low or abs(high) or 1.0
    unit = 10.0 ** math.floor(math.log10(span / 4))
    step = max(factor * unit for factor in (1, 2, 5) if factor * unit <= span / 4)
    first, last = math.floor(low / step), math.ceil(high / step)
    return first * step, max(last, first + 1) * step, step
