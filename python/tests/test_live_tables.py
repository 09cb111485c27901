"""The table of agents is made of results, with a row for each scheme of its experiment."""

import importlib.util
import re
import tomllib
from pathlib import Path

import polars as pl

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("live_tables", ROOT / "docs" / "live_tables.py")
assert spec is not None
assert spec.loader is not None
live_tables = importlib.util.module_from_spec(spec)
spec.loader.exec_module(live_tables)


def test_rows_are_means_of_both_seeds() -> None:
    rows = [
        (scheme, seed, kind, 1000.0 * (seed + 100 * number), 0.104 if kind == "all" else None)
        for scheme in live_tables.ROWS
        for seed in (2.0, 1.0)
        for number, kind in enumerate(live_tables.COLUMNS.values())
    ]
    summary = pl.DataFrame(rows, ["scheme", "seed", "class", "fct_mean_us", "miss_rate"], orient="row")
    lines = live_tables.table(summary).splitlines()
    assert lines[2] == "| DCTCP, packets | 1.0, 2.0 | 101, 102 | 201, 202 | 301, 302 | 10, 10 |"
    assert len(lines) == 2 + len(live_tables.ROWS)


def test_the_page_has_a_row_for_each_scheme_of_the_experiment() -> None:
    experiment = tomllib.loads((ROOT / "experiments/live/agents.toml").read_text("utf-8"))
    assert set(live_tables.ROWS) == {scheme.get("label", scheme["name"]) for scheme in experiment["scheme"]}
    page = live_tables.PAGE.read_text("utf-8")
    (table,) = re.findall(f"{live_tables.BEGIN}(.*){live_tables.END}", page, re.DOTALL)
    names = [line.split("|")[1].strip() for line in table.strip().splitlines()[2:]]
    assert names == list(live_tables.ROWS.values())
