"""``kind = "cdf"``: how a value is distributed over flows or tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl
from matplotlib.axes import Axes

from tailrace.plots.drawable import Folder, Run
from tailrace.plots.plot import TimesPlot
from tailrace.plots.style import Pen

# More steps than a screen has pixels only make files large.
_MOST_STEPS = 2000


@dataclass(frozen=True, kw_only=True)
class Cdf(TimesPlot):
    """A curve for each group, over the measured flows or tasks of all its seeds."""

    kind: ClassVar[str] = "cdf"
    of: str
    y: list[str]

    def draw(self, folder: Folder, axes: Axes) -> str:
        """Draw the curves and return the footnote."""
        rows = self.rows(folder)
        curves = self.curves(rows)
        (y,) = self.y
        values = {
            name: self.in_unit(
                # Runs of an older version have hosts of 16 bits.
                pl.concat(
                    (self._measured(folder.run(key), y) for key in part["run"]), how="vertical_relaxed"
                )[y]
            )
            for name, part in curves.items()
        }
        if not any(column.drop_nulls().len() for column in values.values()):
            raise self.wrong(
                "class" if self.class_ else "of", f"no {self.of} of these runs have such a value"
            )
        pens = self.pens(folder, [self.scheme_of(part) for part in curves.values()])
        for (name, column), pen in zip(values.items(), pens, strict=True):
            draw_cdf(axes, column, name, pen)
        of_what = self.label(y).replace("Flow", "Task" if self.of == "tasks" else "Flow")
        self.dress(axes, of_what, f"Share of {self.of}")
        return self.footnote(folder, rows, f"{self.of} of")

    def _measured(self, run: Run, y: str) -> pl.DataFrame:
        """A column of the run's measured flows or tasks."""
        if self.of == "tasks" and run.tasks is None:
            raise self.wrong("of", 'must be "flows": the workload has no tasks')
        measured = run.measured_flows if self.of == "flows" else run.measured_tasks
        return self.column(measured(self.class_), y).to_frame()


def draw_cdf(axes: Axes, values: pl.Series, name: str, pen: Pen) -> None:
    """Draw the distribution of values. Missing ones (unfinished flows) keep the curve below 1."""
    known = values.drop_nulls().sort()
    steps = min(len(known), _MOST_STEPS)
    ranks = [round(step * len(known) / steps) for step in range(steps + 1)] if steps else []
    steps_at = known.gather([max(rank, 1) - 1 for rank in ranks])
    shares = [rank / len(values) for rank in ranks]
    axes.step(steps_at, shares, where="post", label=name, color=pen.colour, linestyle=pen.dash)
    axes.set_ylim(0, 1.01)
