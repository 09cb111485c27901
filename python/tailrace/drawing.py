"""All plots of a result folder, as files beside its tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tailrace import plots
from tailrace.errors import TailraceError
from tailrace.fluid_model import Fluid
from tailrace.folder import ResultFolder
from tailrace.plots.fluid import fluid_chart
from tailrace.plots.style import Chart, save, styled


class Drawn(NamedTuple):
    """What has become of the plots of a result folder."""

    files: list[Path]
    """The pictures."""
    failures: list[str]
    """What was wrong with each plot that could not be drawn."""


def draw(directory: str | Path) -> Drawn:
    """Draw all plots of a result folder, also of a fluid model's, into its ``plots/``."""
    directory = Path(directory)
    charts: dict[str, Callable[[], Chart | None]]
    if (directory / "fluid.parquet").exists():
        charts = {"fluid": lambda: fluid_chart(Fluid.load(directory))}
    else:
        folder = ResultFolder(directory)
        charts = {name: partial(plots.chart_if_run, folder, name) for name in plots.tables(folder)}
    drawn = Drawn([], [])
    for name, make in charts.items():
        try:
            if figure := make():
                with styled():
                    drawn.files.extend(save(figure, directory / "plots" / name))
        except TailraceError as error:
            drawn.failures.append(str(error))
        except Exception as error:
            drawn.failures.append(f"plot.{name}: cannot be drawn: {error}")
    return drawn
