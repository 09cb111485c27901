"""Flows of one's own under several schemes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from hashlib import sha256
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from tailrace import _tailrace, toml
from tailrace.errors import ScenarioError
from tailrace.folder import ResultFolder
from tailrace.graphs import graph
from tailrace.sweeping import OnResult, sweep

_ESTIMATES = [f"{name}{end}" for name in ("ratio", "mean_change") for end in ("", "_low", "_high")]
# The columns of pairs, where there are none.
_PAIRS = (
    dict.fromkeys(("flows", "scheme", "against"), pl.String)
    | {"paired": pl.Int64}
    | dict.fromkeys(("faster", "slower", *_ESTIMATES), pl.Float64)
)


class Comparison:
    """Flows that met every scheme, so that each can be paired with itself."""

    def __init__(self, file: Path, described: str, results: ResultFolder) -> None:
        self.file = file
        """The experiment that was run: change it, and run it again."""
        self.described = described
        """What the trace holds, what it offers to the fabric, and what to know of it."""
        self.results = results
        """Tables of all runs."""

    @property
    def means(self) -> pl.DataFrame:
        """One row per scheme and size class; see `ResultFolder.means`."""
        return self.results.means

    @cached_property
    def pairs(self) -> pl.DataFrame:
        """Each scheme beside the first one, flow by flow: one row per scheme and size class.

        ``faster`` and ``slower`` are shares of the flows, by more than 1 %; ``ratio`` is the geometric mean
        of the flows' times over those under the first scheme, ``mean_change`` how much the mean is above the
        first one's. ``_low`` and ``_high`` bound their 95 % intervals, null for few flows.
        """
        runs = dict(self.results.summary.select("scheme", "run").unique().iter_rows())
        first, *others = [scheme for scheme in self.results.schemes if scheme in runs]
        scenario = self.results.run(runs[first]).scenario
        rows = []
        for scheme in others:
            folders = [tuple(self.results.path / "runs" / runs[name] for name in (first, scheme))]
            for name, found in json.loads(_tailrace.paired(folders, scenario)).items():
                row = {"flows": name, "scheme": scheme, "against": first, "paired": found["flows"]}
                row |= {share: found[share] for share in ("faster", "slower")}
                for estimate in ("ratio", "mean_change"):
                    low, high = found[estimate]["interval"] or (None, None)
                    value = found[estimate]["value"]
                    row |= {estimate: value, f"{estimate}_low": low, f"{estimate}_high": high}
                rows.append(row)
        return pl.DataFrame(rows) if rows else pl.DataFrame(schema=_PAIRS)

    def report(self, out: str | Path | None = None) -> Path:
        """Write the report of the results, one HTML file, and return its path."""
        from tailrace.reports import report

        return report(self.results.path, out=out)

    def __repr__(self) -> str:
        return f"Comparison of {', '.join(self.results.schemes)} in {str(self.results.path)!r}"

    def _repr_html_(self) -> str:
        whole = self.pairs.filter(pl.col("flows") == "all")
        return f"<pre>{escape(self.described)}</pre>{self.results._repr_html_()}{whole._repr_html_()}"


def compare(
    trace: str | Path | Any,
    *,
    fabric: str | Path | Mapping[str, Any] | Any = None,
    schemes: Iterable[str] | str = (),
    columns: Iterable[str] | Mapping[str, str] | str = (),
    level: str = "packet",
    set: Mapping[str, Any] | None = None,  # noqa: A002 the option's name
    out: str | Path | None = None,
    fresh: bool = False,
    jobs: int | None = None,
    on_result: OnResult | None = None,
    progress: bool = False,
) -> Comparison:
    """Run flows of one's own under several schemes, as ``tailrace compare`` does.

    ``trace`` is a file (CSV, Parquet, pcap, pcapng) or a frame of polars or pandas, one flow a row;
    ``columns`` maps those that are not recognised, as in ``{"start": "ts:us"}`` or ``["start=ts:us"]``.
    ``fabric`` is a preset, a file, the fields of a scenario's fabric, or a graph of NetworkX; left out, one
    that carries the flows. What is made lies in ``out``: if left out, in ``out/TRACE``, of a frame in a
    folder of its own. Runs that are there already are not made again. ``fresh`` writes the experiment anew
    where somebody has changed it. ``level`` is "packet", "flow" or "live", ``set`` changes fields of the
    scenario as in `sweep`, and ``progress`` shows how many runs are finished.
    """
    schemes = _names(schemes)
    columns = _mapped(columns)
    if isinstance(trace, str | Path):
        path = Path(trace)
        file, described, folder = _written(path, columns, fabric, schemes, level, out, fresh=fresh)
    else:
        with TemporaryDirectory() as place:
            path = Path(place) / "frame.parquet"
            _frame(trace).write_parquet(path)
            # Frames have no names: those that differ shall not meet in one folder.
            out = (
                out
                if out is not None
                else Path("out") / f"frame-{_fingerprint(path, fabric, schemes, columns)}"
            )
            try:
                file, described, folder = _written(path, columns, fabric, schemes, level, out, fresh=fresh)
            except ScenarioError as error:
                own = error.file is not None and Path(error.file) == path
                raise ScenarioError(error.message, error.field, None if own else error.file) from None
        described = described.removeprefix(f"{place}/").replace("frame.parquet", "frame", 1)
    changes = {**({} if level == "packet" else {"level": level}), **(set or {})}
    results = sweep(
        file, set=changes, out=folder / "results", jobs=jobs, on_result=on_result, progress=progress
    )
    return Comparison(file, described, results)


def _written(
    trace: Path,
    columns: list[str],
    fabric: Any,
    schemes: list[str],
    level: str,
    out: str | Path | None,
    *,
    fresh: bool,
) -> tuple[Path, str, Path]:
    """The experiment that compares, what the trace holds, and the folder of both."""
    folder = Path(out) if out is not None else Path("out") / trace.stem
    name, fields = _of_fabric(fabric)
    try:
        file, described = _tailrace.comparison(trace, columns, name, fields, schemes, level, folder, fresh)
    except ScenarioError as error:
        # The command's options are arguments here.
        field = "columns" if error.field == "--column" else error.field.removeprefix("--")
        message = error.message.replace("with --out", "with out=").replace("with --fresh", "with fresh=True")
        raise ScenarioError(
            message.replace("(--fabric)", "(fabric=)"), field, error.file, error.line
        ) from None
    return Path(file), described, folder


def _names(schemes: Iterable[str] | str) -> list[str]:
    """Schemes by their names."""
    names = schemes.split(",") if isinstance(schemes, str) else list(schemes)
    for name in names:
        if not isinstance(name, str):
            message = f"must be names, not {name!r}: parameters are for the experiment that is written"
            raise ScenarioError(message, "schemes")
    return names


def _mapped(columns: Iterable[str] | Mapping[str, str] | str) -> list[str]:
    """What columns are, as the command line says it."""
    if isinstance(columns, Mapping):
        return [f"{role}={column}" for role, column in columns.items()]
    return [columns] if isinstance(columns, str) else list(columns)


def _of_fabric(fabric: Any) -> tuple[str | None, str | None]:
    """A fabric as a name or as fields; neither if none is given."""
    if fabric is None or isinstance(fabric, str | Path):
        return None if fabric is None else str(fabric), None
    return None, toml.dumps(dict(fabric if isinstance(fabric, Mapping) else graph(fabric)))


def _fingerprint(trace: Path, fabric: Any, schemes: list[str], columns: list[str]) -> str:
    """Eight digits that differ where what is compared does."""
    asked = json.dumps([_of_fabric(fabric), schemes, columns]).encode()
    return sha256(trace.read_bytes() + asked).hexdigest()[:8]


def _frame(of: Any) -> pl.DataFrame:
    if isinstance(of, pl.DataFrame):
        return of
    if isinstance(of, pl.LazyFrame):
        return of.collect()
    if hasattr(of, "to_dict") and hasattr(of, "columns"):
        return pl.from_pandas(of)
    message = f"must be a file or a frame of polars or pandas, not {type(of).__name__}"
    raise TypeError(message)
