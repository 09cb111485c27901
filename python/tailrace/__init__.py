"""Tailrace: a packet-level simulator of datacenter networks and their flow schedulers."""

from tailrace._tailrace import __version__, schemes, workload
from tailrace.errors import RunError, ScenarioError, TailraceError
from tailrace.folder import ResultFolder
from tailrace.result import Result
from tailrace.scenario import Progress, Scenario
from tailrace.table import Table

__all__ = [
    "Progress",
    "Result",
    "ResultFolder",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Table",
    "TailraceError",
    "__version__",
    "schemes",
    "workload",
]
