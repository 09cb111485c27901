"""What is to be run."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any, NamedTuple, Self

from tailrace import _tailrace, toml
from tailrace.errors import ScenarioError
from tailrace.files import reason, text
from tailrace.named import check
from tailrace.result import Result
from tailrace.rules import Rule
from tailrace.table import Table

# Lines of a scenario that are shown of it: a graph has thousands.
_SHOWN = 60


class Progress(NamedTuple):
    """How far a run is."""

    virtual_seconds: float
    started_flows: int
    finished_flows: int
    packet_hops: int


class Scenario:
    """Everything that determines a run, with the fields of a scenario file.

    >>> scenario = Scenario(
    ...     fabric={"preset": "micro4"},
    ...     workload={"sizes": "web-search", "load": 0.6, "flows": 100},
    ...     scheme={"name": "dctcp"},
    ... )
    >>> scenario.run()
    Result(dctcp: 100 measured flows, ... packet-hops)

    A scenario is a value: `with_` makes a changed copy. Names of fields are checked at once, all else when it
    is run. Types of its fields are in `tailrace.fields`.
    """

    def __init__(self, **fields: Any) -> None:
        self._text = toml.dumps(fields)
        check(fields)
        self._folder = Path()
        self._file: Path | None = None

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Read a scenario file. Files that it names are found relative to it."""
        scenario = cls()
        scenario._file = Path(path)
        scenario._folder = scenario._file.parent
        try:
            scenario._text = text(scenario._file)
        except UnicodeDecodeError as error:
            line = 1 + error.object.count(b"\n", 0, error.start)
            raise ScenarioError("must be text in UTF-8", file=scenario._file, line=line) from error
        except (OSError, ValueError) as error:
            raise ScenarioError(f"cannot be read: {reason(error)}", file=scenario._file) from error
        return scenario

    def with_(self, **changes: Any) -> Self:
        """A copy in which fields have other values.

        Fields are dotted paths; in a list of tables, they mean every table.

        >>> scenario = Scenario(workload={"sizes": "web-search", "load": 0.6})
        >>> print(scenario.with_(seed=2, **{"workload.load": 0.7}).to_toml())
        seed = 2
        <BLANKLINE>
        [workload]
        sizes = "web-search"
        load = 0.7
        <BLANKLINE>
        """
        table = toml.loads(self._text, self._file)
        for path, value in changes.items():
            _set(table, path.split("."), value, path)
        changed = type(self)(**table)
        changed._folder = self._folder
        return changed

    def to_toml(self) -> str:
        """The scenario as the text of a scenario file."""
        return self._text

    def run(
        self,
        progress: bool | Callable[[Progress], object] = False,
        *,
        rule: Rule | None = None,
        threads: int | None = None,
    ) -> Result:
        """Run it. ``progress=True`` shows how far it is; a function is told so several times a second.

        At flow level, ``rule`` shares out the links in the place of the scheme's own, which then only gives
        the run its name. What comes of it says so in ``info["rule"]``, and cannot be saved as the scheme's.

        A run packet by packet has ``threads`` threads, 1 by default and never more than there are
        processors; 0 is as many as these. What comes of it does not depend on that. Where it has fewer than
        asked for, a warning says why.

        Ctrl-C ends the run, and so does an exception in the function.
        """
        if rule is not None and not isinstance(rule, Rule):
            kind = type(rule).__name__
            raise TypeError(f"rule must be an object of a subclass of tailrace.Rule, and not {kind}")
        if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 0):
            asked = "threads must be a number of threads, or 0 for all processors"
            raise ValueError(f"{asked}, and not {threads!r}")
        if rule is not None and threads is not None:
            raise ValueError("threads are for runs packet by packet, and a rule is for the flow level")
        with reporting(progress) as report:
            most = threads and min(threads, sys.maxsize)
            done = _tailrace.run(self._text, self._folder, self._file, report, rule, most)
        tables = {name: Table(getattr(done, name)) for name in ("flows", "ports", "series")}
        tasks = Table(done.tasks) if done.tasks is not None else None
        lag = Table(done.lag) if done.lag is not None else None
        result = Result(done.scenario, json.loads(done.summary), **tables, tasks=tasks, lag=lag)
        if rule is None:
            warn_of_what_is_left_out(result, self._folder)
        else:
            result.info["rule"] = type(rule).__name__
        return result

    def __eq__(self, other: object) -> bool:
        """Whether both say the same, of files found relative to the same folder."""
        return isinstance(other, Scenario) and self._value() == other._value()

    def __hash__(self) -> int:
        return hash(self._value())

    def _value(self) -> tuple[str, Path]:
        fields = _plain(toml.loads(self._text, self._file))
        return json.dumps(fields, sort_keys=True, default=str), self._folder.absolute()

    def __repr__(self) -> str:
        if self._file:
            return f"Scenario from {self._file}"
        return f"Scenario:\n{self._shown()}"

    def _shown(self) -> str:
        lines = self._text.splitlines()
        if len(lines) <= _SHOWN:
            return self._text
        return "\n".join([*lines[:_SHOWN], f"… and {len(lines) - _SHOWN} more lines"])

    def _repr_html_(self) -> str:
        name = f"<p>{escape(str(self._file))}</p>" if self._file else ""
        return f"{name}<pre>{escape(self._shown())}</pre>"


@contextmanager
def reporting(
    progress: bool | Callable[[Progress], object],
) -> Iterator[Callable[[float, int, int, int], object] | None]:
    """What Rust is to call several times a second; ``True`` shows a line, which is wiped at the end."""
    report = _show if progress is True else progress or None
    try:
        yield report and (lambda *numbers: report(Progress(*numbers)))
    finally:
        if progress is True:
            print(f"\r{'':<78}\r", end="", file=sys.stderr)


def warn_of_what_is_left_out(result: Result, folder: Path) -> None:
    """Warn the caller's caller of what the scheme does that the level of the run cannot express."""
    level = toml.loads(result.scenario).get("level", "packet")
    for what in _tailrace.leaves_out(result.scenario, folder):
        warnings.warn(f"at {level} level: {what}", stacklevel=3)


def _set(table: dict[str, Any], path: list[str], value: Any, field: str) -> None:
    nodes: list[Any] = [table]
    for part in path[:-1]:
        nodes = [node.setdefault(part, {}) for node in _tables(nodes, field)]
    for node in _tables(nodes, field):
        node[path[-1]] = value


def _tables(nodes: list[Any], field: str) -> list[dict[str, Any]]:
    """The nodes, with every list taken apart; all must be tables."""
    tables: list[dict[str, Any]] = []
    for node in nodes:
        if isinstance(node, list):
            tables += _tables(node, field)
        elif isinstance(node, dict):
            tables.append(node)
        else:
            raise ScenarioError("leads through something that is no table", field)
    return tables


def _show(progress: Progress) -> None:
    seconds, _, flows, hops = progress
    text = f"{seconds * 1e3:.1f} ms virtual, {flows} flows finished, {hops / 1e6:.1f} M packet-hops"
    print(f"\r{text:<78}", end="", file=sys.stderr, flush=True)


def _plain(value: Any) -> Any:
    """A value in which whole numbers are integers, so that 1 and 1.0 are the same."""
    if isinstance(value, dict):
        return {name: _plain(field) for name, field in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
