"""A scenario of which something varies, as the experiment that it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from tailrace import toml
from tailrace.errors import ScenarioError
from tailrace.scenario import Scenario

Over = Mapping[str, Sequence[Any]]


def varied(scenario: Scenario, over: Over) -> tuple[str, Path]:
    """The experiment's text, and the file that it would be: in the scenario's folder, by a name of its own.

    ``over`` has the values of each field that varies, by its dotted path; of "scheme" these are names, or
    tables as in ``[[scheme]]``. Every scheme is run at every combination of the others.
    """
    table = toml.loads(scenario.to_toml(), scenario._file)
    own = table.pop("scheme", None)
    axes = {axis: _values(axis, values) for axis, values in over.items()}
    schemes = axes.pop("scheme", [own] if own is not None else [])
    table["scheme"] = [{"name": scheme} if isinstance(scheme, str) else scheme for scheme in schemes]
    if axes:
        table["sweep"] = axes
    table.setdefault("title", f"A scenario over {', '.join(over)}" if over else "A scenario")
    text = toml.dumps(table)
    return text, scenario._folder / f"scenario-{sha256(text.encode()).hexdigest()[:8]}.toml"


def _values(axis: str, values: Sequence[Any]) -> list[Any]:
    if isinstance(values, str | Mapping) or not hasattr(values, "__iter__"):
        message = f"must be a list of values, not {values!r}: [{values!r}]"
        raise ScenarioError(message, f"over.{axis}")
    return list(values)
