"""Fluid models over time, alone or before the packet-level run that they stand for."""

from __future__ import annotations

import polars as pl
from matplotlib.axes import Axes

from tailrace.errors import ScenarioError
from tailrace.plots.drawable import Model, Run
from tailrace.plots.series import time_unit
from tailrace.plots.style import PENS, Chart, Pen, finish, label, new_chart, styled

_PACKET_BYTES = 1500


def fluid_chart(model: Model, packets: Run | None = None) -> Chart:
    """Draw windows and the queue of a model; those of a packet-level run, if given, as pale steps."""
    table = model.table.to_polars()
    unit, nanoseconds = time_unit(table["time_s"][-1] * 1e9)
    with styled():
        chart, (windows, queue) = new_chart(2)
        if packets is not None:
            _draw_packets(packets, table["flow"].n_unique(), nanoseconds, windows, queue)
        _draw_model(table, 1e9 / nanoseconds, windows, queue)
        # The run may go on for longer than the model.
        time = {"xlabel": f"Time ({unit})", "xlim": (0, table["time_s"][-1] * 1e9 / nanoseconds)}
        windows.set(ylabel=label("window_packets"), **time)
        queue.set(ylabel=label("queue_packets"), **time)
        chart.suptitle(model.title, x=0.01, ha="left", fontweight="bold")
        finish(chart, "fluid model" + (f"; pale: {packets.info['scheme']}, packet level" if packets else ""))
    return chart


def _draw_model(table: pl.DataFrame, scale: float, windows: Axes, queue: Axes) -> None:
    flows = table.partition_by("flow", maintain_order=True)
    for flow, pen in zip(flows, _pens(len(flows)), strict=True):
        name = f"flow {flow['flow'][0]}"
        windows.plot(
            flow["time_s"] * scale, flow["window_packets"], label=name, color=pen.colour, linestyle=pen.dash
        )
    queue.plot(flows[0]["time_s"] * scale, flows[0]["queue_packets"], color="black", linewidth=1)


def _draw_packets(result: Run, flows: int, nanoseconds: float, windows: Axes, queue: Axes) -> None:
    """Steps of the traced flows' windows, in order of their numbers, and of the queue on their way."""
    series = result.series.to_polars()
    traced = series.filter(pl.col("metric") == "window_segments")
    places = sorted(traced["place"].unique(), key=lambda place: int(place.removeprefix("flow")))
    if len(places) != flows:
        message = (
            f"the run traces {len(places)} windows, the model has {flows} flows: "
            "set trace_every_flow = 1, and a scheme whose law reports its window, such as dctcp"
        )
        raise ScenarioError(message, "measure.trace_every_flow")
    for place, pen in zip(places, _pens(flows), strict=True):
        line = traced.filter(pl.col("place") == place)
        windows.step(line["time_ns"] / nanoseconds, line["value"], where="post", color=pen.colour, alpha=0.35)
    seen = series.filter(pl.col("metric") == "longest_queue_bytes").sort("time_ns")
    times, lengths = seen["time_ns"] / nanoseconds, seen["value"] / _PACKET_BYTES
    queue.step(times, lengths, where="post", color="black", alpha=0.25)


def _pens(flows: int) -> list[Pen]:
    return [PENS[flow % len(PENS)] for flow in range(flows)]
