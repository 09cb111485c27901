"""What plots need of results, so that results can have plots and need not be known to them."""

from __future__ import annotations

from typing import Any, Protocol

import polars as pl

from tailrace.table import Table


class Run(Protocol):
    """One run."""

    @property
    def info(self) -> dict[str, Any]:
        """The run in short."""

    @property
    def series(self) -> Table:
        """What was sampled and reported over time."""

    @property
    def tasks(self) -> Table | None:
        """One row a task, if there are any."""

    def measured_flows(self, size_class: str = ...) -> Table:
        """The flows of a size class that started after the warm-up."""

    def measured_tasks(self, task_class: str = ...) -> Table:
        """The tasks that arrived after the warm-up."""


class Folder(Protocol):
    """The runs of an experiment."""

    @property
    def experiment(self) -> dict[str, Any]:
        """The experiment as it was run."""

    @property
    def summary(self) -> pl.DataFrame:
        """One row per run and size class."""

    @property
    def axes(self) -> list[str]:
        """The columns of the summary in which runs may differ."""

    @property
    def schemes(self) -> list[str]:
        """The labels of the experiment's schemes, run or not, in its order."""

    @property
    def left_out(self) -> set[str]:
        """The schemes that were not run."""

    @property
    def scale(self) -> float:
        """The scale at which the experiment was run."""

    @property
    def set(self) -> dict[str, str]:
        """Fields that were changed on the command line, with their values."""

    def run(self, key: str) -> Run:
        """One run, by its key."""


class Model(Protocol):
    """A solved fluid model."""

    @property
    def title(self) -> str:
        """One line from the model's file."""

    @property
    def table(self) -> Table:
        """Windows and the queue over time."""
