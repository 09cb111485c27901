"""Tables of results, for every library that reads Arrow."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

import polars as pl

from tailrace.errors import RunError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


class ArrowStream(Protocol):
    """What speaks the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the table as an Arrow C stream."""


def _made(lazy: pl.LazyFrame) -> pl.DataFrame:
    try:
        return lazy.collect()
    except pl.exceptions.ComputeError as error:
        raise RunError(f"a table is damaged, though its checksum is right: {error}") from error


class Table:
    """A table of results.

    It speaks the Arrow PyCapsule interface, so ``polars.DataFrame(table)``, ``pyarrow.table(table)``
    and their like read it without a copy; the methods below are shorthands for them. Of a table that was
    read from a file, columns are decoded when they are asked for, once each: ``table["slowdown"]`` is one.
    """

    def __init__(self, source: ArrowStream | pl.LazyFrame) -> None:
        self._source = source
        self._decoded: dict[str, pl.Series] = {}

    def _stream(self) -> ArrowStream:
        """All of it, which is decoded once."""
        if isinstance(self._source, pl.LazyFrame):
            self._source = _made(self._source)
            self._decoded.clear()
        return self._source

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the table as an Arrow C stream."""
        return self._stream().__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        for column in self._decoded.values():
            return len(column)
        return int(_made(self.to_lazy().select(pl.len())).item())

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return self.to_lazy().collect_schema().names()

    def __contains__(self, column: object) -> bool:
        return column in self.columns

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __getitem__(self, column: str) -> pl.Series:
        """A column, as a polars series.

        Raises `polars.exceptions.ColumnNotFoundError` if there is none of this name.
        """
        if column not in self._decoded:
            if column not in self:
                message = f"there is no column {column!r}; there are {', '.join(self.columns)}"
                raise pl.exceptions.ColumnNotFoundError(message)
            found = _made(self.to_lazy().select(pl.col([column])))[column]
            if not isinstance(self._source, pl.LazyFrame):
                return found
            self._decoded[column] = found
        # What its user does to it in place is not done here.
        return self._decoded[column].clone()

    def to_lazy(self) -> pl.LazyFrame:
        """As a polars lazy frame, which decodes what is asked of it and no more."""
        return self._source if isinstance(self._source, pl.LazyFrame) else self.to_polars().lazy()

    def to_polars(self) -> pl.DataFrame:
        """As a polars data frame."""
        return pl.DataFrame(self._stream())

    def to_pyarrow(self) -> pa.Table:
        """As a pyarrow table (needs pyarrow)."""
        import pyarrow as pa

        return pa.table(self._stream())

    def to_pandas(self) -> pd.DataFrame:
        """As a pandas data frame (needs pandas 3 and pyarrow)."""
        import pandas as pd

        return pd.DataFrame.from_arrow(self._stream())

    def to_ipc(self) -> bytes:
        """As a stream in Arrow's IPC format."""
        stream = io.BytesIO()
        self.to_polars().write_ipc_stream(stream, compat_level=pl.CompatLevel.oldest())
        return stream.getvalue()

    def __reduce__(self) -> tuple[type[Table], tuple[pl.DataFrame]]:
        # So that results can come back from other processes.
        return Table, (self.to_polars(),)

    def __repr__(self) -> str:
        return repr(self.to_polars())

    def _repr_html_(self) -> str:
        return self.to_polars()._repr_html_()
