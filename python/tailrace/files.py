"""What is wrong with a file of results, as an error that names the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import polars as pl

from tailrace.errors import RunError

_T = TypeVar("_T")


def load(file: Path, what: str, parse: Callable[[Path], _T]) -> _T:
    """What `parse` makes of a file that belongs to a finished `what`."""
    try:
        return parse(file)
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        message = f"{file.parent} holds no finished {what} as tailrace run leaves it"
        raise RunError(f"{message}: {file.name}: {reason(error)}") from error


def text(file: Path) -> str:
    """The text of a file."""
    return file.read_text("utf-8")


def frame(file: Path) -> pl.DataFrame:
    """The table in a Parquet file."""
    return pl.read_parquet(file, glob=False)


def reason(error: Exception) -> str:
    """What is wrong, without the file."""
    return (isinstance(error, OSError) and error.strerror) or str(error)
