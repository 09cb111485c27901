"""The page: HTML with everything in it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from tailrace.plots.style import PENS, shown
from tailrace.reports.charts import Chart, Grids
from tailrace.reports.fabric_svg import Watched
from tailrace.reports.svg import draw

_ASSETS = files("tailrace.reports")
_UPLOT = "uplot/uPlot.iife.min.js"
_DASHES = {"-": "none", "--": "6 4", ":": "2 3"}
# A cell of more letters is a text of several lines.
_SHORT = 30
# What stands for a thing on a map in its legend.
_LINE = '<path class="{}" d="M1 6H27"/>'
_SIGNS = {
    "queue": '<circle class="{}" cx="14" cy="6" r="5"/>',
    "mark": '<path class="{}" d="M14 2l4.5 8h-9z"/>',
    "drop": '<path class="{}" d="M10 2l8 8m-8 0l8 -8"/>',
}


def text(of: object) -> str:
    """Any text as HTML shows it."""
    return escape(shown(str(of)))


def paragraphs(of: str) -> str:
    """A text whose paragraphs are apart by empty lines."""
    parts = (" ".join(part.split()) for part in of.strip().split("\n\n"))
    return "".join(f"<p>{text(part)}</p>" for part in parts if part)


def table(header: Sequence[str], rows: Iterable[Sequence[object]], texts: int, caption: str = "") -> str:
    """A table whose first columns are texts, the others numbers."""
    kind = ['scope="col"' if place < texts else 'scope="col" class="number"' for place in range(len(header))]
    head = "".join(f"<th {kind}>{text(name)}</th>" for kind, name in zip(kind, header, strict=True))
    body = []
    for row in rows:
        cells = (_cell(str(cell), is_number=place >= texts) for place, cell in enumerate(row))
        body.append(f"<tr>{''.join(cells)}</tr>")
    label = f"<caption>{text(caption)}</caption>" if caption else ""
    content = f"{label}<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody>"
    return f'<div class="wide"><table>{content}</table></div>'


def _cell(content: str, *, is_number: bool) -> str:
    # Names are of one line, however long, for no word shall be broken.
    is_prose = len(content) > _SHORT and " " in content
    kind = " class=number" if is_number else " class=prose" if is_prose else ""
    return f"<td{kind}>{text(content)}</td>"


def chart(of: Chart, prefix: str) -> str:
    """A chart: its choices, the still picture of its first view, and the legend."""
    view = of.views[0]
    picks = "".join(
        f'<label>{text(name)} <select data-choice="{number}">'
        + "".join(f'<option value="{n}">{text(option)}</option>' for n, option in enumerate(options))
        + "</select></label>"
        for number, (name, options) in enumerate(of.choices.items())
        if len(options) > 1
    )
    checked = ("", " checked")
    boxes = "".join(
        f'<label><input type="checkbox" data-log="{axis}"{checked[axis in of.log]}> log {axis}</label>'
        for axis in "xy"
    )
    tail = '<label><input type="checkbox" data-tail> tail (1 − share)</label>' if of.tail else ""
    first = ", ".join(options[0] for options in of.choices.values() if len(options) > 1)
    still = f'<p class="still">{text(first)}</p>' if first else ""
    legend = "".join(
        f'<li><svg viewBox="0 0 28 8" aria-hidden="true">'
        f'<line class="pen{curve.pen}" x1="1" x2="27" y1="4" y2="4"/></svg>{text(curve.label)}</li>'
        for curve in view.curves
    )
    return (
        f'<figure class="chart" id="{prefix}{of.name}" data-chart="{prefix}{of.name}">'
        f"<figcaption><h3>{text(of.title)}</h3><p>{text(of.text)}</p></figcaption>"
        f'<div class="controls">{picks}{boxes}{tail}'
        '<button type="button" data-reset>reset</button></div>'
        f'<div class="plot">{still}{draw(of, view)}<ul class="legend">{legend}</ul></div></figure>'
    )


def fabric(of: Watched) -> str:
    """The maps of a point: still pictures, and where those that move will be."""
    said = "".join(f"<p>{text(line)}</p>" for line in of.said)
    stills = "".join(
        f"<h4>{text(when)}</h4>" + '<div class="maps">' + "".join(_map(*one) for one in maps) + "</div>"
        for when, maps in of.stills
    )
    legend = "".join(
        f'<li><svg viewBox="0 0 28 12" aria-hidden="true">{_SIGNS.get(kind, _LINE).format(kind)}</svg>'
        f"{text(label)}</li>"
        for kind, label in of.legend
    )
    time = (
        '<button type="button" data-play>play</button>'
        '<input type="range" min="0" step="1" aria-label="time" data-time>'
        '<output data-when aria-live="off"></output>'
        if of.plain["frames"] > 1
        else ""
    )
    return (
        f'<figure class="fabric" id="{of.name}" data-fabric="{of.name}">'
        f"<figcaption><h3>{text(of.title)}</h3>{said}</figcaption>{''.join(of.boxes)}"
        f'<div class="controls">{time}<label>link <select data-link></select></label></div>'
        f'<div class="maps" data-maps></div><div class="stills">{stills}</div>'
        f'<ul class="legend">{legend}</ul><div data-chosen></div></figure>'
    )


def _map(scheme: str, svg: str) -> str:
    return f'<div class="map"><p>{text(scheme)}</p>{svg}</div>'


def picture(svg: bytes, title: str) -> str:
    """A picture that was drawn elsewhere."""
    data = base64.b64encode(svg).decode()
    return f'<figure><img src="data:image/svg+xml;base64,{data}" alt="{text(title)}"></figure>'


def section(title: str, *parts: str, level: int = 2, name: str = "") -> str:
    """A part of the page with a name of its own, if there is anything in it."""
    content = "".join(parts)
    own = f' id="{name}"' if name else ""
    return f"<section{own}><h{level}>{text(title)}</h{level}>{content}</section>" if content else ""


def folded(title: str, content: str) -> str:
    """What is shown when it is asked for."""
    return f"<details><summary>{text(title)}</summary>{content}</details>"


def page(title: str, body: str, charts: dict[str, Chart], grids: Grids, maps: dict[str, Any]) -> str:
    """The whole page."""
    pens = "".join(
        f".pen{number}{{--pen:var(--c{number % 7});stroke-dasharray:{_DASHES[pen.dash]}}}"
        for number, pen in enumerate(PENS)
    )
    plain = {
        "charts": {name: of.plain() for name, of in charts.items()},
        "ranks": {str(count): ranks for count, ranks in grids.known.items()},
        "maps": maps,
    }
    data = json.dumps(plain, separators=(",", ":"), allow_nan=False)
    # Without what draws them charts are still pictures.
    draws = answers()
    script = f"<script>{_asset(_UPLOT)}\n{_asset('report.js')}{_asset('fabric.js')}</script>" if draws else ""
    style = _asset("uplot/uPlot.min.css") if draws else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{text(title)}</title>'
        f"<style>{style}{_asset('report.css')}{_asset('fabric.css')}{pens}</style></head>"
        f"<body><main>{body}</main>"
        f'<script type="application/json" id="charts">{_inside(data)}</script>'
        f"{script}</body></html>\n"
    )


def answers() -> bool:
    """Whether uPlot is here, which draws charts that answer."""
    return (_ASSETS / _UPLOT).is_file()


def _inside(data: str) -> str:
    # Nothing in a text may end the element that it is in.
    return data.replace("<", "\\u003c")


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")
