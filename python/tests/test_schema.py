"""Tables of any two runs have one schema, and say what they are."""

import tomllib
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tailrace

TABLES = ["flows", "ports", "series", "tasks"]


def scenario(scheme: str, level: str, *, empty: bool) -> tailrace.Scenario:
    """A few flows, half of which have deadlines, and tasks; or flows of which none ends: all is far away."""
    rule: dict[str, Any] = {"sizes": {"fixed": "30KB"}, "every": "50us", "slice": 1}
    delay = "10ms" if empty else "1us"
    return tailrace.Scenario(
        fabric={"kind": "star", "hosts": 6, "host_rate": "10Gbps", "delay": delay},
        workload={
            "duration": "2ms",
            "rule": [rule] if empty else [rule, {**rule, "deadline": {"fixed": "1ms"}}],
            "task": [
                {
                    "arrivals": "once",
                    "count": 3,
                    "slice": 1,
                    "flow_sizes": {"fixed": "10KB"},
                    "workflow": {"parallel": {"servers": 2}},
                }
            ],
        },
        slice=[{"weight": 1.0}],
        scheme={"name": scheme},
        measure={"sample_every": "100us", "horizon": "600us" if empty else "5ms"},
        level=level,
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A folder of each scheme at each level that has it, with flows that end and with none that does."""
    folder = tmp_path_factory.mktemp("runs")
    made = []
    for scheme in tailrace.schemes():
        for level in ("packet", "flow"):
            for empty in (False, True):
                path = folder / f"{scheme}-{level}-{empty}"
                try:
                    scenario(scheme, level, empty=empty).run().save(path)
                except tailrace.ScenarioError as error:
                    assert "level" in str(error) or "flow" in str(error), f"{scheme}, {level}: {error}"  # noqa: PT017
                    continue
                made.append(path)
    of_packets = [path for path in made if "-packet-" in path.name]
    # Five are at flow level alone.
    assert len(of_packets) == 2 * (len(tailrace.schemes()) - 5)
    assert len(made) - len(of_packets) >= 2 * 5 + 12
    return made


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_tables_of_all_runs_are_one(runs: list[Path], table: str) -> None:
    files = [path / f"{table}.parquet" for path in runs]
    schemas = [pq.read_schema(file).remove_metadata() for file in files]
    assert all(schema.equals(schemas[0], check_metadata=True) for schema in schemas)
    whole = pa.concat_tables([pq.read_table(file) for file in files])
    assert pl.concat([pl.read_parquet(file) for file in files]).height == whole.num_rows
    assert len(pd.concat([pd.read_parquet(file) for file in files])) == whole.num_rows


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_table_says_what_it_is(runs: list[Path], table: str) -> None:
    file = runs[0] / f"{table}.parquet"
    schema = pq.read_schema(file)
    about = {key.decode(): value.decode() for key, value in pq.read_metadata(file).metadata.items()}
    assert pl.read_parquet_metadata(file)["tailrace.version"] == about["tailrace.version"]
    assert about["tailrace.version"] == tailrace.__version__
    assert about["tailrace.scheme"] == runs[0].name.split("-")[0]
    assert about["tailrace.scenario"] == (runs[0] / "scenario.toml").read_text("utf-8")
    assert tomllib.loads(about["tailrace.scenario"])["seed"] == int(about["tailrace.seed"])
    for field in schema:
        assert len(field.metadata[b"meaning"]) > 3, field.name
    # Only what a row may really lack may be missing.
    lacking = {field.name for field in schema if field.nullable}
    assert lacking == {"flows": {"fct_ns", "slowdown", "deadline_ns"}, "tasks": {"tct_ns"}}.get(table, set())


def test_the_page_of_columns_names_all_of_them(result: tailrace.Result, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "results.md").read_text("utf-8")
    result.save(tmp_path / "run")
    for table in ("flows", "ports", "series"):
        for name in pq.read_schema(tmp_path / "run" / f"{table}.parquet").names:
            assert f"`{name}`" in page, name
