"""How long a run takes to settle."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tailrace.errors import RunError

if TYPE_CHECKING:
    from tailrace.result import Result

# White's rule takes batches of five; of long runs there are no more batches than this.
_BATCH = 5
_MOST_BATCHES = 400
_FEWEST_BATCHES = 20


@dataclass(frozen=True)
class Warmup:
    """Where a run begins to be like its rest."""

    time_ns: float
    """Start of the first flow that counts, nanoseconds of virtual time."""
    flows: int
    """Finished flows that start before it."""
    share: float
    """Of all finished flows, those."""
    settled: bool
    """Whether there is such a time. If not, the run is too short, or has no steady state."""

    def __str__(self) -> str:
        if not self.settled:
            return "does not settle within half of the run: let it run for longer, or lower its load"
        if not self.flows:
            return "is settled from its first flow on: it needs no measure.warmup"
        told = f"settles after {self.time_ns / 1e6:.4g} ms, {self.share:.1%} of its flows"
        return f'{told}: measure.warmup = "{self.field}"'

    @property
    def field(self) -> str:
        """The time as a scenario has it, in whole nanoseconds."""
        return f"{math.ceil(self.time_ns)}ns"


def warmup(run: Result | pl.DataFrame, column: str = "slowdown") -> Warmup:
    """Find out how long a run takes from an empty network to its steady state.

    ``run`` is a result, or its table of flows. Of finished flows in order of their starts the logarithm
    of ``column`` is taken, for a few long flows would decide alone, and means of batches; cut off is what
    leaves the rest with the smallest squared standard error, up to half of the run (MSER-5: White,
    Simulation 69:6, 1997). Raises `RunError` if the table has fewer than 100 finished flows, or no
    such column.
    """
    table = run if isinstance(run, pl.DataFrame) else run.flows.to_polars()
    lacking = [name for name in ("start_ns", column) if name not in table.columns]
    if lacking:
        message = f"the table of flows has no column {lacking[0]!r}; there are {', '.join(table.columns)}"
        raise RunError(message)
    flows = table.filter(pl.col(column) > 0).sort("start_ns", maintain_order=True)
    size = max(_BATCH, flows.height // _MOST_BATCHES)
    count = flows.height // size
    if count < _FEWEST_BATCHES:
        message = f"{flows.height} finished flows are too few to tell: {_BATCH * _FEWEST_BATCHES} are needed"
        raise RunError(message)
    values = np.log(flows[column].to_numpy()[: count * size]).reshape(count, size).mean(axis=1)
    errors = [float(values[cut:].var() / (count - cut)) for cut in range(count // 2 + 1)]
    cut = int(np.argmin(errors))
    before = cut * size
    time_ns = float(flows["start_ns"][before]) if cut else 0.0
    # At the end of the search the smallest error is only that of the shortest rest.
    return Warmup(time_ns, before, before / flows.height, settled=cut < 0.95 * (count // 2))
