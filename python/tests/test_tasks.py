"""Tasks: what a run tells of them, and that shuffles take no less than their links allow."""

import random

import polars as pl
import pytest

from tailrace import Result, ResultFolder, ScenarioError
from tailrace.__main__ import command

PORTS = 12
SCHEMES = ["orchestra", "stf", "rcp", "baraat"]
EXPERIMENT = f"""
level = "flow"
[fabric]
kind = "star"
hosts = {PORTS}
host_rate = "1Gbps"
[workload]
coflow_trace = "trace.txt"
[measure]
warmup = "1s"
[plot.times]
kind = "cdf"
of = "tasks"
unit = "s"
""" + "".join(f'[[scheme]]\nname = "{name}"\n' for name in SCHEMES)


def trace(coflows: int) -> str:
    """Shuffles of 1 to 4 mappers and reducers; one in eight is fifty times as large as the others."""
    draw = random.Random(1)
    lines = [f"{PORTS} {coflows}"]
    for number in range(coflows):
        mappers = draw.sample(range(PORTS), draw.randint(1, 4))
        reducers = draw.sample(range(PORTS), draw.randint(1, 4))
        times = 50 if number % 8 == 0 else 1
        parts = " ".join(f"{port}:{times * draw.randint(1, 9)}" for port in reducers)
        ports = " ".join(map(str, mappers))
        lines.append(f"{number} {150 * number} {len(mappers)} {ports} {len(reducers)} {parts}")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def shuffles(tmp_path_factory: pytest.TempPathFactory) -> ResultFolder:
    """The result folder of a small coflow trace under four schemes."""
    here = tmp_path_factory.mktemp("shuffles")
    (here / "trace.txt").write_text(trace(64))
    (here / "shuffles.toml").write_text(EXPERIMENT)
    assert command(["run", str(here / "shuffles.toml"), "--out", str(here / "out")]) == 0
    return ResultFolder(here / "out")


def runs(folder: ResultFolder) -> dict[str, Result]:
    """Each scheme's run."""
    rows = folder.summary.filter(pl.col("class") == "all").select("scheme", "run")
    return {scheme: folder.run(key) for scheme, key in rows.iter_rows()}


def test_measured_tasks_are_those_of_the_summary(shuffles: ResultFolder) -> None:
    columns = shuffles.summary.filter(pl.col("class").is_in(["all", "all@0"]))
    for key, size_class, tasks, mean in columns.select("run", "class", "tasks", "tct_mean_us").iter_rows():
        measured = shuffles.run(key).measured_tasks(size_class).to_polars()
        assert len(measured) == tasks
        assert measured["tct_ns"].mean() == pytest.approx(1e3 * mean)
    everything = shuffles.run(key).tasks
    assert everything is not None
    assert 0 < tasks < len(everything.to_polars())


def test_tasks_that_are_not_there_are_named(shuffles: ResultFolder, result: Result) -> None:
    with pytest.raises(ScenarioError, match="there are no tasks: the workload has none"):
        result.measured_tasks()
    with pytest.raises(ScenarioError, match=r'must be "all" or, of a traffic class, .*, not "short"'):
        runs(shuffles)["rcp"].measured_tasks("short")


def test_no_task_is_faster_than_its_busiest_port(shuffles: ResultFolder) -> None:
    size = pl.col("size_bytes")
    for scheme, run in runs(shuffles).items():
        flows = run.flows.to_polars().with_columns(wire=size + 40 * (size / 1460).ceil())
        ends = [flows.rename({end: "host"}).select("task", "host", "wire") for end in ("src", "dst")]
        ports = pl.concat(end.group_by("task", "host").agg(pl.col("wire").sum()) for end in ends)
        assert run.tasks is not None
        busiest = ports.group_by("task").agg(least_ns=8 * pl.col("wire").max())
        tasks = run.tasks.to_polars().join(busiest, on="task", how="left")
        assert (tasks["tct_ns"] >= tasks["least_ns"] * (1 - 1e-9)).all(), scheme


def test_smallest_first_has_the_least_mean_and_order_of_arrival_the_largest(shuffles: ResultFolder) -> None:
    rows = shuffles.summary.filter(pl.col("class") == "all").select("scheme", "tct_mean_us")
    mean = dict(rows.iter_rows())
    assert mean["stf"] <= min(mean.values())
    assert mean["orchestra"] >= max(mean.values())


def test_distributions_may_be_of_tasks(shuffles: ResultFolder, folder: ResultFolder) -> None:
    axes = shuffles.plot("times").axes[0]
    assert axes.get_legend_handles_labels()[1] == SCHEMES
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Task completion time (s)", "Share of tasks")
    longest = shuffles.summary.filter(pl.col("class") == "all")["tct_max_us"]
    assert [line.get_xdata()[-1] for line in axes.get_lines()] == [pytest.approx(1e-6 * us) for us in longest]
    fresh = ResultFolder(folder.path)
    fresh.experiment["plot"] = {"times": {"kind": "cdf", "of": "tasks", "at": {"workload.load": 0.8}}}
    with pytest.raises(ScenarioError, match=r'plot\.times\.of: must be "flows": the workload has no tasks'):
        fresh.plot("times")
