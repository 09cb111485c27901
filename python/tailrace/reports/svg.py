"""A chart as a still picture: for print, and for readers without JavaScript."""

from __future__ import annotations

import math
from html import escape
from itertools import pairwise

from tailrace.reports.charts import Chart, Curve, View

_WIDTH, _HEIGHT = 720, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 12, 10, 44
# More points of a curve than this nobody sees in a still picture.
_MOST = 240


class _Scale:
    """From numbers to places."""

    def __init__(self, values: list[float], log: bool, start: float, end: float) -> None:
        seen = [value for value in values if math.isfinite(value) and (value > 0 or not log)]
        low, high = (min(seen), max(seen)) if seen else (1.0, 10.0)
        self.log = log
        if high <= low:
            low, high = (low / 2, high * 2) if log else (low - 0.5, high + 0.5)
        elif not log:
            low = 0.0 if 0 < low < high / 3 else low
        self.low, self.high, self.start, self.end = low, high, start, end

    def __call__(self, value: float) -> float:
        low, high = (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)
        at = math.log(value) if self.log else value
        return self.start + (at - low) / (high - low) * (self.end - self.start)

    def has(self, value: float) -> bool:
        return math.isfinite(value) and (value > 0 or not self.log)

    def ticks(self) -> list[float]:
        return _decades(self.low, self.high) if self.log else _steps(self.low, self.high)


def _decades(low: float, high: float) -> list[float]:
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    every = max(1, (last - first + 1) // 7)
    if last - first >= 1:
        return [10.0**power for power in range(first, last + 1, every)]
    digits = [step * 10.0**power for power in range(first - 1, last + 1) for step in (1, 2, 3, 5, 7)]
    return [tick for tick in digits if low <= tick <= high]


def _steps(low: float, high: float) -> list[float]:
    rough = (high - low) / 5
    size = 10 ** math.floor(math.log10(rough))
    step = next(step for step in (size, 2 * size, 5 * size, 10 * size) if step >= rough)
    return [
        step * number for number in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    ]


def number(value: float) -> str:
    """A number on an axis."""
    if value != 0 and (abs(value) >= 1e6 or abs(value) < 1e-3):
        power = math.floor(math.log10(abs(value)) + 1e-9)
        digits = value / 10.0**power
        raised = str(power).translate(str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"))
        return f"10{raised}" if abs(digits - 1) < 1e-9 else f"{digits:.3g}×10{raised}"
    text = f"{value:.4g}"
    return f"{float(text):,.0f}" if abs(value) >= 1000 else text


def draw(chart: Chart, view: View) -> str:
    """The view as SVG. Colours are those of the page, by class: pen0 and so on."""
    bands = [edge for curve in view.curves for edge in (*(curve.low or ()), *(curve.high or ()))]
    x = _Scale([at for curve in view.curves for at in curve.x], "x" in chart.log, _LEFT, _WIDTH - _RIGHT)
    heights = [at for curve in view.curves for at in curve.y] + bands
    y = _Scale(heights, "y" in chart.log, _HEIGHT - _BOTTOM, _TOP)
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(chart.title)}">',
        *_axes(x, y, view),
        *(part for curve in view.curves for part in _curve(curve, x, y)),
        "</svg>",
    ]
    return "\n".join(parts)


def _axes(x: _Scale, y: _Scale, view: View) -> list[str]:
    bottom = _HEIGHT - _BOTTOM
    parts = []
    for tick in x.ticks():
        parts.append(f'<line class="grid" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{_TOP}" y2="{bottom}"/>')
        parts.append(f'<text x="{x(tick):.1f}" y="{bottom + 16}" text-anchor="middle">{number(tick)}</text>')
    for tick in y.ticks():
        parts.append(
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>'
        )
        parts.append(f'<text x="{_LEFT - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{number(tick)}</text>')
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{_HEIGHT - 8}" text-anchor="middle">{escape(view.x_label)}</text>')
    at = (_TOP + bottom) / 2
    turned = f'text-anchor="middle" transform="rotate(-90 14 {at})"'
    parts.append(f'<text x="14" y="{at}" {turned}>{escape(view.y_label)}</text>')
    return parts


def _curve(curve: Curve, x: _Scale, y: _Scale) -> list[str]:
    parts = []
    if curve.low is not None and curve.high is not None:
        there = [(a, b) for a, b in zip(curve.x, curve.low, strict=True) if x.has(a) and y.has(b)]
        back = [(a, b) for a, b in zip(curve.x, curve.high, strict=True) if x.has(a) and y.has(b)]
        ring = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in [*there, *reversed(back)])
        parts.append(f'<polygon class="band pen{curve.pen}" points="{ring}"/>')
    shown = [(a, b) for a, b in zip(curve.x, curve.y, strict=True) if x.has(a) and y.has(b)]
    step = max(1, len(shown) // _MOST)
    shown = [*shown[::step], *shown[-1:]]
    places = [(f"{x(a):.1f}", f"{y(b):.1f}") for a, b in shown]
    kept = [after for before, after in pairwise([("", ""), *places]) if after != before]
    points = " ".join(f"{a},{b}" for a, b in kept)
    title = f"<title>{escape(curve.label)}</title>"
    if len(kept) == 1:
        ((a, b),) = kept
        parts.append(f'<circle class="dot pen{curve.pen}" cx="{a}" cy="{b}" r="3.5">{title}</circle>')
    else:
        parts.append(f'<polyline class="pen{curve.pen}" points="{points}">{title}</polyline>')
    return parts
