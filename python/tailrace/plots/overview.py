"""One run at a glance."""

from __future__ import annotations

from tailrace.plots.drawable import Run
from tailrace.plots.flows import draw_cdf
from tailrace.plots.style import PENS, Chart, finish, label, log_scale, new_chart, styled


def overview(result: Run) -> Chart:
    """Completion times and slowdowns by size class, as distributions."""
    with styled():
        chart, panels = new_chart(2)
        for axes, column in zip(panels, ("fct_ns", "slowdown"), strict=True):
            for size_class, pen in zip(("all", "short", "medium", "long"), PENS, strict=False):
                values = result.measured_flows(size_class)[column]
                if len(values):
                    draw_cdf(axes, values / 1e3 if column == "fct_ns" else values, size_class, pen)
            log_scale(axes, "x")
            axes.set(xlabel=label(column), ylabel="Share of flows")
        panels[0].set_title(result.info["scheme"])
        finish(chart, "measured flows, by size class")
    return chart
