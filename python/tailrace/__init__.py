"""Tailrace: a simulator of datacenter networks and their flow schedulers, by packets and by flows."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as in typing, which takes as long to import as all that the command needs
if TYPE_CHECKING:
    from typing import Any

    from tailrace import fields
    from tailrace._tailrace import Prospect, __version__, schemes, workload
    from tailrace.comparing import Comparison, compare
    from tailrace.errors import RunError, ScenarioError, TailraceError
    from tailrace.fluid_model import Fluid, fluid
    from tailrace.folder import ResultFolder
    from tailrace.graphs import graph
    from tailrace.planned import Plan, PlannedRun, gather, plan
    from tailrace.plots.beside import plot
    from tailrace.reports import report
    from tailrace.result import Result
    from tailrace.rules import Rule
    from tailrace.scenario import Progress, Scenario
    from tailrace.sweeping import sweep
    from tailrace.table import Table
    from tailrace.telling import tell
    from tailrace.warming import Warmup, warmup

__all__ = [
    "Comparison",
    "Fluid",
    "Plan",
    "PlannedRun",
    "Progress",
    "Prospect",
    "Result",
    "ResultFolder",
    "Rule",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Table",
    "TailraceError",
    "Warmup",
    "__version__",
    "compare",
    "fields",
    "fluid",
    "gather",
    "graph",
    "plan",
    "plot",
    "report",
    "schemes",
    "sweep",
    "tell",
    "warmup",
    "workload",
]

# Imported when asked for: the command needs none of it, and polars takes longer than most commands.
_HOMES = {
    "Comparison": "comparing",
    "Fluid": "fluid_model",
    "Plan": "planned",
    "PlannedRun": "planned",
    "Progress": "scenario",
    "Prospect": "_tailrace",
    "Result": "result",
    "Rule": "rules",
    "ResultFolder": "folder",
    "RunError": "errors",
    "Scenario": "scenario",
    "ScenarioError": "errors",
    "Table": "table",
    "TailraceError": "errors",
    "Warmup": "warming",
    "__version__": "_tailrace",
    "compare": "comparing",
    "fluid": "fluid_model",
    "gather": "planned",
    "graph": "graphs",
    "plan": "planned",
    "plot": "plots.beside",
    "report": "reports",
    "schemes": "_tailrace",
    "sweep": "sweeping",
    "tell": "telling",
    "warmup": "warming",
    "workload": "_tailrace",
}


def __getattr__(name: str) -> Any:
    if name == "fields":
        return import_module("tailrace.fields")
    if name in _HOMES:
        return getattr(import_module(f"tailrace.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
