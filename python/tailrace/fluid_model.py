"""Fluid models: long flows over one bottleneck as differential equations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from tailrace import _tailrace, toml
from tailrace.errors import ScenarioError
from tailrace.files import frame, load, reason, table, text, verify
from tailrace.table import Table

if TYPE_CHECKING:
    from tailrace.plots.style import Chart
    from tailrace.result import Result


class Fluid:
    """A solved fluid model: windows, α and the queue over time, and the means of its phases."""

    def __init__(self, title: str, phases: list[dict[str, Any]], table: Table) -> None:
        self.title = title
        """One line from the model's file."""
        self.phases = phases
        """The times between two starts of flows, measured in their second halves."""
        self.table = table
        """``time_s, flow, window_packets, alpha, queue_packets``; no window before a flow starts."""

    @classmethod
    def load(cls, directory: str | Path) -> Self:
        """Read the folder that ``tailrace fluid`` writes. Its checksums must match."""
        directory = Path(directory)
        what = "fluid model"
        verify(directory, what)
        title = str(load(directory / "model.toml", what, table).get("title", ""))
        phases = load(directory / "summary.json", what, _phases)
        return cls(title, phases, Table(load(directory / "fluid.parquet", what, frame)))

    def summary(self) -> Table:
        """The means, one row per phase and flow."""
        rows = [
            {key: value for key, value in phase.items() if key != "flows"} | flow
            for phase in self.phases
            for flow in phase["flows"]
        ]
        return Table(pl.DataFrame(rows))

    def plot(self, packets: Result | None = None) -> Chart:
        """Windows and the queue over time; with `packets`, those of a packet-level run behind them.

        The run must trace as many flows as the model has (``measure.trace_every_flow``), under a scheme whose
        law reports its window.
        """
        from tailrace.plots.fluid import fluid_chart

        return fluid_chart(self, packets)

    def __repr__(self) -> str:
        flows = self.phases[-1]["flows"]
        shares = ", ".join(f"{flow['share']:.3f}" for flow in flows)
        return f"Fluid({len(flows)} flows: shares {shares})"


def fluid(file: str | Path | None = None, /, **fields: Any) -> Fluid:
    """Solve a fluid model: that of a file, of fields as in a file, or of a file with some fields changed.

    >>> fluid(
    ...     law="wvcc",
    ...     weights=[0.25, 0.75],
    ...     rate="10Gbps",
    ...     rtt="100us",
    ...     marking_threshold="65pkt",
    ...     duration="1s",
    ... )
    Fluid(2 flows: shares 0.250, 0.750)
    """
    content, where = "", None
    if file is not None:
        where = Path(file)
        try:
            content = text(where)
        except (OSError, ValueError) as error:
            raise ScenarioError(f"cannot be read: {reason(error)}", file=where) from error
    if fields:
        fields = toml.loads(content, where) | fields
        content, where = toml.dumps(fields), None
    done = _tailrace.fluid(content, where)
    title = str(toml.loads(content).get("title", ""))
    return Fluid(title, json.loads(done.phases), Table(done.table))


def _phases(file: Path) -> list[dict[str, Any]]:
    match json.loads(text(file)):
        case {"phases": list(phases)}:
            return phases
    raise ValueError('must be a JSON object with "phases"')
