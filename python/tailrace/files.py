"""What is wrong with a file of results, as an error that names the file."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from tailrace.errors import RunError

_T = TypeVar("_T")


def load(file: Path, what: str, parse: Callable[[Path], _T]) -> _T:
    """What `parse` makes of a file that belongs to a finished `what`."""
    try:
        return parse(file)
    except (OSError, ValueError, RecursionError, pl.exceptions.PolarsError) as error:
        message = f"{file.parent} holds no finished {what} as tailrace run leaves it"
        raise RunError(f"{message}: {file.name}: {reason(error)}") from error


def text(file: Path) -> str:
    """The text of a file."""
    return file.read_text("utf-8")


def table(file: Path) -> dict[str, Any]:
    """The table that a TOML file is."""
    return tomllib.loads(text(file))


def frame(file: Path) -> pl.DataFrame:
    """The table in a Parquet file. Polars would take no path that is not UTF-8, and some as patterns."""
    return pl.read_parquet(file.read_bytes())


def reason(error: Exception) -> str:
    """What is wrong, without the file."""
    return (isinstance(error, OSError) and error.strerror) or str(error)
