"""The Rust core: glue only. Values get their shape in the package around it."""

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import final

__all__ = [
    "FluidResult",
    "RunResult",
    "Table",
    "__version__",
    "cli",
    "fluid",
    "leaves_out",
    "measure",
    "plot",
    "run",
    "save",
    "schemes",
    "student",
    "unknown",
    "workload",
    "write",
]

__version__: str

@final
class Table:
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

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
    def ports(self) -> Table: ...
    @property
    def series(self) -> Table: ...

@final
class FluidResult:
    @property
    def phases(self) -> str: ...
    @property
    def table(self) -> Table: ...

def run(
    text: str,
    folder: str | PathLike[str],
    file: str | PathLike[str] | None = None,
    report: Callable[[float, int, int, int], object] | None = None,
) -> RunResult: ...
def cli(args: Sequence[str], draw: Callable[[Path], tuple[list[Path], list[str]]]) -> int: ...
def fluid(text: str, file: str | PathLike[str] | None = None) -> FluidResult: ...
def leaves_out(text: str) -> list[str]: ...
def save(
    directory: str | PathLike[str],
    scenario: str,
    summary: str,
    flows: bytes,
    ports: bytes,
    series: bytes,
    tasks: bytes | None,
) -> None: ...
def measure(text: str) -> tuple[float, int, int]: ...
def plot(name: str, table: str, ground: str) -> str | None: ...
def student(probability: float, freedom: int) -> float: ...
def schemes() -> list[str]: ...
def workload(name: str) -> list[tuple[float, float]]: ...
def unknown(what: str, name: str, known: Sequence[str]) -> str: ...
def write(path: str | PathLike[str], content: bytes) -> None: ...
