"""The Rust core: glue only. Values get their shape in the package around it."""

from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import final

__all__ = [
    "Entry",
    "FluidResult",
    "Plan",
    "Prospect",
    "RunResult",
    "Table",
    "__version__",
    "cli",
    "comparison",
    "drawn",
    "duration",
    "fluid",
    "gather",
    "graph",
    "leaves_out",
    "make",
    "measure",
    "missing",
    "paired",
    "plot",
    "run",
    "save",
    "schema",
    "schemes",
    "student",
    "unknown",
    "verify",
    "ways",
    "workload",
    "write",
]

__version__: str

@final
class Table:
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

@final
class Prospect:
    @property
    def id(self) -> int: ...
    @property
    def src(self) -> int: ...
    @property
    def dst(self) -> int: ...
    @property
    def size(self) -> int | None: ...
    @property
    def start_s(self) -> float: ...
    @property
    def deadline_s(self) -> float | None: ...
    @property
    def slice(self) -> int: ...
    @property
    def task(self) -> int: ...
    @property
    def sent(self) -> int: ...
    @property
    def left(self) -> int | None: ...
    @property
    def task_size(self) -> int | None: ...

@final
class RunResult:
    @property
    def scenario(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def flows(self) -> Table: ...
    @property
    def tasks(self) -> Table | None: ...
    @property
    def lag(self) -> Table | None: ...
    @property
    def ports(self) -> Table: ...
    @property
    def series(self) -> Table: ...

@final
class FluidResult:
    @property
    def phases(self) -> str: ...
    @property
    def table(self) -> Table: ...

@final
class Plan:
    def __new__(
        cls,
        file: str | PathLike[str],
        changes: Sequence[tuple[str, str]],
        only: Sequence[str],
        scale: float,
        out: str | PathLike[str] | None = None,
        text: str | None = None,
    ) -> Plan: ...
    @property
    def title(self) -> str: ...
    @property
    def folder(self) -> Path: ...
    def __len__(self) -> int: ...
    def entry(self, index: int) -> Entry: ...
    def is_finished(self, key: str) -> bool: ...
    @property
    def stops(self) -> bool: ...
    def wanted(self, fresh: bool) -> list[int]: ...
    def task(self, index: int) -> tuple[str, Path, list[Path], str]: ...
    def take(self, index: int, folder: str | PathLike[str]) -> bool: ...
    def run(self, index: int, report: Callable[[float, int, int, int], object] | None = None) -> Path: ...

@final
class Entry:
    @property
    def scheme(self) -> str: ...
    @property
    def point(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def key(self) -> str: ...

def run(
    text: str,
    folder: str | PathLike[str],
    file: str | PathLike[str] | None = None,
    report: Callable[[float, int, int, int], object] | None = None,
    rule: object = None,
    threads: int | None = None,
) -> RunResult: ...
def cli(
    args: Sequence[str],
    draw: Callable[[Path], tuple[list[Path], list[str]]],
    report: Callable[[list[Path], Path | None], Path],
    cluster: Callable[[Plan, str, int | None, str | None, bool], Iterator[int | str]],
) -> int: ...
def fluid(text: str, file: str | PathLike[str] | None = None) -> FluidResult: ...
def gather(folder: str | PathLike[str]) -> None: ...
def leaves_out(text: str, folder: str | PathLike[str]) -> list[str]: ...
def make(
    text: str,
    base: str | PathLike[str],
    key: str,
    folder: str | PathLike[str],
    alone: bool,
    fresh: bool,
    report: Callable[[float, int, int, int], object] | None = None,
) -> None: ...
def save(
    directory: str | PathLike[str],
    scenario: str,
    summary: str,
    flows: bytes,
    ports: bytes,
    series: bytes,
    tasks: bytes | None,
    lag: bytes | None,
) -> None: ...
def comparison(
    trace: str | PathLike[str],
    columns: Sequence[str],
    name: str | None,
    fields: str | None,
    schemes: Sequence[str],
    level: str,
    folder: str | PathLike[str],
    fresh: bool,
) -> tuple[Path, str]: ...
def graph(
    text: str,
    rate_unit: str | None = None,
    delay_unit: str | None = None,
    file: str | PathLike[str] | None = None,
) -> str: ...
def measure(text: str) -> tuple[float, int, int]: ...
def missing(folder: str | PathLike[str]) -> list[str]: ...
def plot(name: str, table: str, ground: str) -> str | None: ...
def duration(seconds: float) -> str: ...
def paired(runs: Sequence[tuple[str | PathLike[str], str | PathLike[str]]], scenario: str) -> str: ...
def student(probability: float, freedom: int) -> float: ...
def drawn(text: str) -> tuple[list[str], int, list[tuple[int, int]]]: ...
def ways(text: str, flows: Sequence[tuple[int, int, int]]) -> list[list[int]]: ...
def schema() -> str: ...
def schemes() -> list[str]: ...
def workload(name: str) -> list[tuple[float, float]]: ...
def unknown(what: str, name: str, known: Sequence[str]) -> str: ...
def verify(folder: str | PathLike[str]) -> list[str]: ...
def write(path: str | PathLike[str], content: bytes) -> None: ...
