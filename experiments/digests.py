"""Compare the results of a build with those that are written down: ``python experiments/digests.py``.

Every run of the smoke experiments, of the demonstration and of one experiment of each paper, small enough
that all take less than a minute, has a line in ``digests.toml``. ``--write`` writes the file anew,
``--tailrace PATH`` compares another build than that of this environment, ``--only WORD`` compares those
experiments whose names contain the word.

A line has two numbers. The first is the run's own digest, of all its events. The second is of what came of
them: times and counts in the tables of flows, ports, samples and tasks. Events can be other ones while
nothing comes of it, as when a clock is woken once more, and at flow level the first number covers little.
Files are not compared by their bytes, since an encoding or a column more is no change of results.

``model`` counts the changes of results: ``--write`` raises it where the second number of any run is another
one. ``record.py`` writes it beside what was measured.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

HERE = Path(__file__).parent
FILE = HERE / "digests.toml"
# One experiment of each paper and what the README shows, at a scale that takes seconds.
SCALES = {
    "demo": 0.03,
    "awafs/mismatch": 0.01,
    "baraat/fig7": 0.01,
    "karuna/mismatch": 0.002,
    "uranus/toy-two-links": 0.01,
}
# What a user may see of a run. Other columns follow from these and the scenario.
COLUMNS = {
    "flows": ["flow", "src", "dst", "size_bytes", "start_ns", "fct_ns", "retransmitted_bytes", "timeouts"],
    "ports": ["port", "sent_packets", "sent_bytes", "dropped_packets", "dropped_bytes", "marked_packets"],
    "series": ["time_ns", "place", "metric", "index", "value"],
    "tasks": ["task", "start_ns", "tct_ns"],
}
HEAD = """\
# What the runs of these experiments come to: python experiments/digests.py --write writes this file, and
# without --write compares a build with it. The first number of a run is of its events, the second of its
# tables. `model` is the number of the present results: it is raised where a table of any run has changed.
"""


class Digest(NamedTuple):
    """What a run comes to."""

    events: str
    tables: str


Experiments = dict[str, dict[str, Digest]]
"""Digests of runs by experiment and point."""


def names() -> dict[str, float]:
    """The experiments and their scales."""
    smoke = sorted(f"smoke/{file.stem}" for file in (HERE / "smoke").glob("*.toml"))
    return SCALES | dict.fromkeys(smoke, 1.0)


def heading(name: str, scale: float) -> str:
    """What an experiment is called in the file."""
    return name if scale == 1 else f"{name} at {scale:g}"


def of_tables(folder: Path) -> str:
    """A hash of what the tables of a run hold, whatever their types and their encoding."""
    found = hashlib.sha256()
    for name, columns in COLUMNS.items():
        file = folder / f"{name}.parquet"
        if not file.exists():
            continue
        table = pl.read_parquet(file, columns=columns)
        for column in columns:
            values = table[column]
            if values.dtype.is_numeric():
                # Without a value (a flow that does not end): no number that a value could be.
                values = values.cast(pl.Float64 if values.dtype.is_float() else pl.Int64).fill_null(-1)
                found.update(values.to_numpy().tobytes())
            else:
                found.update("\n".join(values.cast(pl.String)).encode())
    return found.hexdigest()[:16]


def point(row: dict[str, Any]) -> str:
    """What a run is called among those of its experiment: its scheme, and where it differs from others."""
    axes = {axis: value for axis, value in row.items() if axis not in ("scheme", "run")}
    return ", ".join([row["scheme"], *(f"{axis} {shown(value)}" for axis, value in axes.items())])


def shown(value: Any) -> str:
    """A value of an axis."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def made(tailrace: list[str], name: str, scale: float, out: Path) -> dict[str, Digest]:
    """Run an experiment, and return the digests of its runs by point."""
    # As a part, which is the whole, no plots are drawn.
    options = ["--scale", f"{scale:g}", "--part", "1/1", "--out", str(out)]
    command = [*tailrace, "run", str(HERE / f"{name}.toml"), *options]
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    if ran.returncode != 0:
        raise SystemExit(f"{name} cannot be run: {ran.stderr.strip()}")
    found = {}
    for row in pl.read_parquet(out / "plan.parquet").iter_rows(named=True):
        folder = out / "runs" / row["run"]
        events = json.loads((folder / "summary.json").read_text("utf-8"))["digest"]
        found[point(row)] = Digest(events, of_tables(folder))
    return found


def read(text: str) -> tuple[int, Experiments]:
    """The number of the model and the digests in the text of the file."""
    tables = tomllib.loads(text)
    model = int(tables.pop("model"))
    return model, {
        name: {point: Digest(*line.split()) for point, line in runs.items()} for name, runs in tables.items()
    }


def written(model: int, experiments: Experiments) -> str:
    """The text of the file."""
    parts = [f"{HEAD}model = {model}\n"]
    for name, runs in experiments.items():
        lines = [f'{json.dumps(point, ensure_ascii=False)} = "{" ".join(runs[point])}"\n' for point in runs]
        parts.append(f"[{json.dumps(name)}]\n{''.join(lines)}")
    return "\n".join(parts)


def differences(recorded: Experiments, found: Experiments) -> list[str]:
    """A line for each run that differs, or is in one of both only."""
    lines = []
    for name in dict.fromkeys([*recorded, *found]):
        old, new = recorded.get(name, {}), found.get(name, {})
        for where in dict.fromkeys([*old, *new]):
            before, now = old.get(where), new.get(where)
            if before is None or now is None:
                lines.append(f"{name}, {where}: {'is not written down' if before is None else 'is not run'}")
            elif before != now:
                what = "tables" if before.tables != now.tables else "events only"
                lines.append(f"{name}, {where}: {' '.join(before)} became {' '.join(now)} ({what})")
    return lines


def results_changed(recorded: Experiments, found: Experiments) -> bool:
    """Whether the tables of a run that is in both are others."""
    return any(
        run.tables != found[name][where].tables
        for name, runs in recorded.items()
        for where, run in runs.items()
        if where in found.get(name, {})
    )


def main(args: list[str]) -> int:
    """Compare, or write."""
    parser = argparse.ArgumentParser(description="Compare the results of a build with those written down.")
    parser.add_argument("--write", action="store_true", help="write the file anew")
    parser.add_argument("--tailrace", metavar="PATH", help="the build; that of this environment if not given")
    parser.add_argument("--only", default="", help="experiments whose names contain this")
    given = parser.parse_args(args)
    tailrace = [given.tailrace] if given.tailrace else [sys.executable, "-m", "tailrace"]
    chosen = {name: scale for name, scale in names().items() if given.only in name}
    if not chosen:
        raise SystemExit(f"no experiment has {given.only} in its name; there are {', '.join(names())}")
    with tempfile.TemporaryDirectory() as folder:
        found = {
            heading(name, scale): made(tailrace, name, scale, Path(folder) / name)
            for name, scale in chosen.items()
        }
    return conclude(found, only=given.only, write=given.write, file=FILE)


def conclude(found: Experiments, *, only: str, write: bool = False, file: Path) -> int:
    """Compare what was found with the file, or write it there."""
    model, recorded = read(file.read_text("utf-8")) if file.exists() else (1, {})
    others = {name: runs for name, runs in recorded.items() if only not in name}
    recorded = {name: runs for name, runs in recorded.items() if only in name}
    # A file that is not there yet differs in nothing.
    lines = differences(recorded, found) if file.exists() else []
    print("\n".join(lines), end="\n" if lines else "")
    runs = sum(map(len, found.values()))
    if write:
        new = model + results_changed(recorded, found)
        file.write_text(written(new, dict(sorted((others | found).items()))), "utf-8")
        print(f"{file.name}: {runs} runs of model {new}" + (f", which was {model}" if new != model else ""))
        return 0
    if lines:
        print(
            f"{len(lines)} of {runs} runs differ from {file.name}. A change of results is a decision: run "
            "python experiments/digests.py --write, and give the reason in CHANGELOG.md."
        )
        return 1
    print(f"all {runs} runs are those of {file.name}, model {model}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
