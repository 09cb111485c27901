"""Experiments whose runs are made one by one, on one machine or on many, and put together afterwards."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, overload

from tailrace import _tailrace, toml
from tailrace.errors import ScenarioError
from tailrace.folder import ResultFolder
from tailrace.result import Result
from tailrace.scenario import Progress, Scenario, reporting, warn_of_what_is_left_out
from tailrace.varied import Over, varied


@dataclass(frozen=True)
class PlannedRun:
    """A run that a plan names: a scheme at a point of the sweep."""

    index: int
    """Its number in the plan, from 0."""
    scheme: str
    """The scheme's label."""
    point: dict[str, Any]
    """The value on each axis of the sweep."""
    seed: int
    """The seed of all its random streams."""
    key: str
    """What its folder is called."""
    _plan: _tailrace.Plan = field(repr=False, compare=False)

    @property
    def folder(self) -> Path:
        """Where it is made."""
        return self._plan.folder / "runs" / self.key

    @property
    def finished(self) -> bool:
        """Whether it is there, and every byte of it is what was written."""
        return self._plan.is_finished(self.key)


class Plan(Sequence[PlannedRun]):
    """All runs of an experiment, in the order of its file."""

    def __init__(self, plan: _tailrace.Plan, base: Path) -> None:
        self._plan = plan
        self._base = base

    @property
    def title(self) -> str:
        """One line from the experiment's file."""
        return self._plan.title

    @property
    def folder(self) -> Path:
        """The result folder."""
        return self._plan.folder

    def run(self, index: int, progress: bool | Callable[[Progress], object] = False) -> Result:
        """Make one run, as ``tailrace run`` does, and read it. One that is there already is not made again.

        ``progress`` is as in `Scenario.run`. Ctrl-C ends the run, and so does an exception in the function.
        """
        with reporting(progress) as report:
            folder = self._plan.run(range(len(self))[index], report)
        result = Result.load(folder)
        warn_of_what_is_left_out(result, self._base)
        return result

    @overload
    def __getitem__(self, index: int) -> PlannedRun: ...
    @overload
    def __getitem__(self, index: slice) -> list[PlannedRun]: ...
    def __getitem__(self, index: int | slice) -> PlannedRun | list[PlannedRun]:
        numbers = range(len(self))[index]
        return [self._at(number) for number in numbers] if isinstance(numbers, range) else self._at(numbers)

    def _at(self, index: int) -> PlannedRun:
        entry = self._plan.entry(index)
        return PlannedRun(index, entry.scheme, json.loads(entry.point), entry.seed, entry.key, self._plan)

    def __len__(self) -> int:
        return len(self._plan)

    def __repr__(self) -> str:
        return f"Plan({self.title!r}: {len(self)} runs in {str(self.folder)!r})"


def plan(
    file: str | Path | Scenario,
    *,
    over: Over | None = None,
    set: Mapping[str, Any] | None = None,  # noqa: A002 the option's name
    only: Iterable[str] = (),
    scale: float = 1.0,
    out: str | Path | None = None,
) -> Plan:
    """Read an experiment file; nothing is run or written.

    The options are those of ``tailrace run``. ``set`` changes fields, for example ``{"workload.load": 0.7}``;
    text is taken as the command line takes it.

    In the place of a file there may be a scenario, and ``over`` says what varies:
    ``{"scheme": ["dctcp", "pias"], "workload.load": [0.5, 0.8], "seed": [1, 2, 3]}``. It is run in
    ``out/scenario-…``, by a name that differs where what is run does, unless ``out`` is given.
    """
    changes = [(path, toml.inline(value, path)) for path, value in (set or {}).items()]
    text = None
    if isinstance(file, Scenario):
        text, file = varied(file, over or {})
    elif over is not None:
        raise ScenarioError("is for a scenario: an experiment file has its own [sweep]", "over")
    return Plan(_tailrace.Plan(file, changes, list(only), scale, out, text), Path(file).parent)


def gather(folder: str | Path) -> ResultFolder:
    """Put together whatever runs are finished in a result folder, and read it, as ``tailrace gather`` does.

    The folder is enough. ``missing`` of the result tells which runs are not there; of runs that are damaged,
    which count as missing, a warning tells as well.
    """
    _tailrace.gather(folder)
    return ResultFolder(folder)
