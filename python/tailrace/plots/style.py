"""How plots look: one style, safe for colour-blind readers, the same bytes on every drawing."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import LogFormatterSciNotation

from tailrace import _tailrace


class Pen(NamedTuple):
    """How a curve is drawn."""

    colour: str
    marker: str
    dash: str


# Okabe and Ito's palette without its yellow, which vanishes on white.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = "osD^vPX"
DASHES = ("-", "--", ":")
COLOURS = len(_COLOURS)
# Colours repeat with another dash, so that many curves stay apart, in print as well.
PENS = [
    Pen(colour, marker, dash) for dash in DASHES for colour, marker in zip(_COLOURS, _MARKERS, strict=True)
]

_STYLE = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "lines.markersize": 5,
    "savefig.dpi": 150,
    "svg.hashsalt": "tailrace",
    # A dollar is a dollar, in whatever users call their schemes.
    "text.parse_math": False,
}

# Control characters but the new line, and those that turn the direction of what follows.
_UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

_POWER = re.compile(r"\^\{([−-]?\d+)\}")
_RAISED = str.maketrans("0123456789-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻")

_STATISTIC = re.compile(r"(fct|tct|slowdown)_(mean|p50|p95|p99|max)(_us)?")
_STATISTICS = {
    "mean": "Mean",
    "p50": "Median",
    "p95": "95th percentile of",
    "p99": "99th percentile of",
    "max": "Longest",
}
_LABELS = {
    "fct_ns": "Flow completion time (µs)",
    "tct_ns": "Task completion time (µs)",
    "slowdown": "Slowdown (completion time / ideal)",
    "size_bytes": "Flow size (bytes)",
    "timeouts": "Retransmission timeouts",
    "goodput_gbps": "Goodput (Gbit/s)",
    "offered_gbps": "Offered (Gbit/s)",
    "met_goodput_gbps": "Goodput of met deadlines (Gbit/s)",
    "flow_share": "Share of flows",
    "byte_share": "Share of bytes",
    "unfinished": "Unfinished flows",
    "unfinished_tasks": "Unfinished tasks",
    "stopped": "Flows given up",
    "deadlines": "Flows with deadlines",
    "missed": "Missed deadlines",
    "throughput_bps": "Throughput (bit/s)",
    "normalised_throughput_bps": "Throughput over weight (bit/s)",
    "jain_index": "Jain's index",
    "miss_rate": "Missed deadlines (share)",
    "deadline_ns": "Deadline (µs)",
    "mcp_window_segments": "MCP window (segments)",
    "mcp_target_segments": "MCP target window (segments)",
    "mcp_expected_bps": "MCP expected rate (bit/s)",
    "mcp_residual_bps": "MCP residual rate (bit/s)",
    "queue_estimate_bytes": "Estimated queue (bytes)",
    "longest_queue_bytes": "Longest queue on the way (bytes)",
    "longest_port_bytes": "Longest port on the way (bytes)",
    "queue_estimate_error": "Relative error of the estimated queue",
    "port_estimate_error": "Relative error of the estimated queue, against the port",
    "window_packets": "Window (packets)",
    "window_segments": "Window (segments)",
    "alpha": "Estimate α of the marked share",
    "scheme": "",
}


class Chart(Figure):
    """A figure that notebooks show by themselves, with or without pyplot."""

    def _repr_mimebundle_(self, **_: object) -> dict[str, bytes]:
        # Not _repr_png_, which the formatter for figures goes before that pyplot brings.
        image = io.BytesIO()
        with styled():
            self.savefig(image, format="png")
        return {"image/png": image.getvalue()}


class _Powers(LogFormatterSciNotation):
    """Powers of ten in plain text, since no text is read as mathematics: 4×10⁴."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        text = _POWER.sub(lambda match: match[1].translate(_RAISED), super().__call__(x, pos))
        return text.replace("$\\mathdefault{", "").replace("}$", "").replace(r"\times", "×")


def log_scale(axes: Axes, which: str) -> None:
    """Make the axis logarithmic, ``"x"`` or ``"y"``."""
    axes.set(**{f"{which}scale": "log"})
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_formatter(_Powers())
    axis.set_minor_formatter(_Powers())


@contextmanager
def styled() -> Iterator[None]:
    """Within this, charts are made and saved in our style, whatever the user's own settings are."""
    with matplotlib.style.context(["default", _STYLE]), warnings.catch_warnings():
        # Of logarithmic axes without positive numbers, and of glyphs that no font has: pictures show it.
        warnings.simplefilter("ignore", UserWarning)
        yield


def new_chart(panels: int = 1) -> tuple[Chart, list[Axes]]:
    """An empty chart with so many panels side by side."""
    chart = Chart(figsize=(2.6 + 4.6 * panels, 4.0), layout="constrained")
    return chart, list(chart.subplots(1, panels, squeeze=False)[0])


def finish(chart: Chart, footnote: str) -> None:
    """Add the legend, beside the last panel so that it hides no curve or long title, and the footnote.

    Control characters in any text become visible.
    """
    handles, labels = chart.axes[0].get_legend_handles_labels()
    if labels:
        chart.axes[-1].legend(
            handles, labels, loc="upper left", bbox_to_anchor=(1.02, 1.0), borderaxespad=0.0
        )
    chart.supxlabel(footnote, x=0.01, ha="left", fontsize=8, color="0.35")
    for text in chart.findobj(Text):
        assert isinstance(text, Text)
        text.set_text(shown(text.get_text()))


def shown(text: str) -> str:
    """Text in which control characters are shown, as Python writes them."""
    return _UNSEEN.sub(lambda match: repr(match[0])[1:-1], text)


def save(chart: Chart, stem: Path) -> list[Path]:
    """Write PNG and SVG, with nothing in them that depends on the day."""
    files = []
    for ending, metadata in (("png", {}), ("svg", {"Date": None})):
        image = io.BytesIO()
        chart.savefig(image, format=ending, metadata=metadata)
        files.append(stem.with_name(f"{stem.name}.{ending}"))
        _tailrace.write(files[-1], image.getvalue())
    return files


def label(column: str) -> str:
    """What a column is called on an axis."""
    if column in _LABELS:
        return _LABELS[column]
    if match := _STATISTIC.fullmatch(column):
        what, statistic, unit = match.groups()
        what = what if what == "slowdown" else what.upper()
        return f"{_STATISTICS[statistic]} {what}{' (µs)' if unit else ''}"
    if column.startswith("series:"):
        return label(column.removeprefix("series:"))
    words = column.rpartition(".")[2].split("_")
    unit = f" ({words.pop()})" if words[-1] in ("bytes", "packets") and len(words) > 1 else ""
    return f"{' '.join(words).capitalize()}{unit}"
