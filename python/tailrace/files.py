"""Files of results: what is wrong with one is an error that names it."""

from __future__ import annotations

import errno
import os
import re
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from tailrace import _tailrace
from tailrace.errors import RunError

_T = TypeVar("_T")


def verify(folder: Path, what: str) -> list[str]:
    """The names of the files of a finished `what`, all of which match their checksums."""
    try:
        return _tailrace.verify(folder)
    except RunError as error:
        found = str(error).removeprefix(f"{folder}{os.sep}")
        message = f"{_unfinished(folder, what)}: {found}; running the same again makes it anew"
        raise RunError(message) from error


def load(file: Path, what: str, parse: Callable[[Path], _T]) -> _T:
    """What `parse` makes of a file that belongs to a finished `what`."""
    try:
        return parse(file)
    except (OSError, ValueError, RecursionError, pl.exceptions.PolarsError) as error:
        raise RunError(f"{_unfinished(file.parent, what)}: {file.name}: {reason(error)}") from error


def _unfinished(folder: Path, what: str) -> str:
    return f"{folder} holds no finished {what} as tailrace run leaves it"


def content(file: Path) -> bytes:
    """The content of a regular file. A pipe or a device may have no end."""
    kind = file.stat().st_mode
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
        raise OSError(errno.EINVAL, "it is a pipe or a device, but must be a regular file", str(file))
    return file.read_bytes()


def text(file: Path) -> str:
    """The text of a file."""
    return content(file).decode("utf-8")


def table(file: Path) -> dict[str, Any]:
    """The table that a TOML file is."""
    return tomllib.loads(text(file))


def frame(file: Path, columns: list[str] | None = None) -> pl.DataFrame:
    """The table in a Parquet file, or these columns of it."""
    held = lazy(file)
    return (held.select(columns) if columns else held).collect()


def lazy(file: Path) -> pl.LazyFrame:
    """The table in a Parquet file, of which columns are decoded when they are asked for.

    The file itself is read at once: it may be gone by then, and polars would take no path that is not UTF-8,
    and some as patterns.
    """
    held = content(file)
    made_by = pl.read_parquet_metadata(held).get("tailrace.version", "")
    if _numbers(made_by) > _numbers(_tailrace.__version__):
        message = f"is by Tailrace {made_by}, newer than this one, {_tailrace.__version__}: read it with that"
        raise RunError(f"{file} {message}")
    return pl.scan_parquet(held)


def _numbers(version: str) -> list[int]:
    """A version's numbers, without what follows them."""
    return [int(number) for number in re.findall(r"\d+", version.split("-")[0])]


def reason(error: Exception) -> str:
    """What is wrong, without the file."""
    return (isinstance(error, OSError) and error.strerror) or str(error)
