"""A sweep in Python leaves what the command leaves, and stops as it does."""

import os
import shutil
import signal
import threading
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import EXPERIMENT

import tailrace
from tailrace import PlannedRun, Result, ResultFolder, ScenarioError
from tailrace.__main__ import command


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and "plots" not in file.parts and not file.name.startswith(".")
    }


@pytest.mark.parametrize("jobs", [0, -1, True, 1.5, "2"])
@pytest.mark.parametrize("cluster", [None, "local"])
def test_so_many_jobs_there_cannot_be(tmp_path: Path, jobs: Any, cluster: str | None) -> None:
    with pytest.raises(ScenarioError, match=f"^jobs: must be a whole number from 1 on, not {jobs!r}$"):
        tailrace.sweep(EXPERIMENT, out=tmp_path / "out", jobs=jobs, cluster=cluster)


@pytest.mark.parametrize("jobs", [1, 3, None])
def test_it_leaves_what_the_command_leaves(folder: ResultFolder, tmp_path: Path, jobs: int | None) -> None:
    heard: list[tuple[str, int]] = []
    threads = set()

    def hear(run: PlannedRun, result: Result) -> None:
        heard.append((run.scheme, run.seed))
        threads.add(threading.get_ident())
        assert result.info["scheme"] == run.scheme

    swept = tailrace.sweep(EXPERIMENT, out=tmp_path / "out", jobs=jobs, on_result=hear)
    left = files(folder.path)
    left.pop("report.html", None)
    assert files(swept.path) == left
    assert sorted(heard) == sorted([("DCTCP", 1), ("DCTCP", 2), ("PIAS", 1), ("PIAS", 2)] * 2)
    assert swept.means.height == folder.means.height


def test_progress_is_a_line_that_is_wiped(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    heard: list[int] = []
    tailrace.sweep(
        EXPERIMENT,
        out=tmp_path / "out",
        only=["PIAS"],
        on_result=lambda run, _: heard.append(run.index),
        progress=True,
    )
    said = capfd.readouterr().err
    assert len(heard) == 4
    for number in range(1, 5):
        assert f"{number} of 4 runs are finished, the last PIAS with seed " in said
    assert said.endswith(" \r")
    tailrace.sweep(EXPERIMENT, out=tmp_path / "out", only=["PIAS"])
    assert not capfd.readouterr().err


def test_ctrl_c_leaves_what_is_finished(tmp_path: Path) -> None:
    heard: list[int] = []

    def interrupt(run: PlannedRun, _result: Result) -> None:
        heard.append(run.index)
        if len(heard) == 1:
            os.kill(os.getpid(), signal.SIGINT)
            # So that it is noticed before the other runs, which are short, are over.
            time.sleep(1)

    # Shells start what goes to the background with SIGINT ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.warns(UserWarning, match="stopped: [1-7] of 8 runs are finished"):
            part = tailrace.sweep(EXPERIMENT, out=tmp_path, jobs=1, on_result=interrupt)
    finally:
        signal.signal(signal.SIGINT, before)
    assert part.missing.height == 8 - part.summary["run"].n_unique() > 0
    whole = tailrace.sweep(EXPERIMENT, out=tmp_path)
    assert whole.missing.is_empty()


def test_an_exception_ends_it_and_is_raised(tmp_path: Path) -> None:
    def fail(_run: PlannedRun, _result: Result) -> None:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        tailrace.sweep(EXPERIMENT, out=tmp_path, jobs=2, on_result=fail)
    assert len(list((tmp_path / "runs").iterdir())) < 8


def test_mistakes_are_those_of_the_command(tmp_path: Path) -> None:
    with pytest.raises(tailrace.ScenarioError, match=r"nothing\.toml"):
        tailrace.sweep(tmp_path / "nothing.toml")
    with pytest.raises(tailrace.ScenarioError, match='did you mean "PIAS"'):
        tailrace.sweep(EXPERIMENT, only=["PAIS"], out=tmp_path)


ENOUGH = """
title = "As many seeds as it takes"
[fabric]
preset = "micro4"
[workload]
sizes = "web-search"
load = 0.5
flows = 100
[[scheme]]
name = "dctcp"
[[scheme]]
name = "fifo"
[sweep]
"workload.load" = [0.3, 0.6]
seed = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
[stop]
metric = "all.slowdown_mean"
relative = 0.2
"""


def test_seeds_are_run_until_they_are_enough(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    experiment = tmp_path / "enough.toml"
    experiment.write_text(ENOUGH)
    folders = [tmp_path / name for name in ("one", "three", "python", "cluster")]
    for folder, options in zip(folders, (["--jobs", "1"], ["--jobs", "3"]), strict=False):
        assert command(["run", str(experiment), "--out", str(folder), *options]) == 0
    tailrace.sweep(experiment, out=folders[2], jobs=2)
    assert (
        command(["run", str(experiment), "--out", str(folders[3]), "--cluster", "local", "--jobs", "1"]) == 0
    )
    one, *others = (files(folder) for folder in folders)
    assert all(other == one for other in others)
    capfd.readouterr()
    means = ResultFolder(folders[0]).means.filter(pl.col("class") == "all")
    seeds = means.group_by("workload.load").agg(pl.col("seeds").unique())
    # All schemes of a point have the same, and not all points need all.
    assert all(len(counts) == 1 for counts in seeds["seeds"])
    assert 3 <= min(means["seeds"]) < 12
    enough = means["slowdown_mean_half95"] / means["slowdown_mean"] <= 0.2
    assert all(narrow or count == 12 for narrow, count in zip(enough, means["seeds"], strict=True))
    # What is not needed is not missing; what is, is.
    assert command(["gather", str(folders[0])]) == 0
    assert files(folders[0]) == one
    assert ResultFolder(folders[0]).missing.is_empty()
    first = ResultFolder(folders[0]).summary.sort("workload.load", "seed")["run"][0]
    shutil.rmtree(folders[0] / "runs" / first)
    capfd.readouterr()
    assert command(["gather", str(folders[0])]) == 1
    assert "1 of " in capfd.readouterr().err
    assert ResultFolder(folders[0]).missing["run"].to_list() == [first]
    assert command(["run", str(experiment), "--out", str(folders[0]), "--part", "1/2"]) == 2
    assert "--part: is not for experiments with [stop]" in capfd.readouterr().err


def test_a_scenario_of_which_something_varies(tmp_path: Path) -> None:
    scenario = tailrace.Scenario(
        fabric={"preset": "micro4"}, workload={"sizes": "web-search", "load": 0.5, "flows": 30}
    )
    over = {
        "scheme": ["dctcp", {"name": "pias", "label": "PIAS"}],
        "workload.load": [0.4, 0.6],
        "seed": [1, 2],
    }
    swept = tailrace.sweep(scenario, over=over, out=tmp_path / "out", jobs=2)
    assert swept.axes == ["scheme", "workload.load", "seed"]
    assert swept.schemes == ["dctcp", "PIAS"]
    assert swept.summary["run"].n_unique() == 8
    one = scenario.with_(seed=2, scheme={"name": "pias"}, **{"workload.load": 0.6}).run()
    at = (pl.col("scheme") == "PIAS") & (pl.col("workload.load") == 0.6) & (pl.col("seed") == 2)
    (key,) = swept.summary.filter(at)["run"].unique()
    assert swept.run(key).info["digest"] == one.info["digest"]
    # What differs has a folder of its own.
    folders = [
        tailrace.plan(scenario, over={"scheme": ["pias"], "seed": seeds}).folder for seeds in ([1, 2], [1, 3])
    ]
    assert folders[0] != folders[1]
    for over, why in [
        ({"scheme": "pias"}, r"^over\.scheme: must be a list of values, not 'pias'"),
        ({"seed": 3}, r"^over\.seed: must be a list of values, not 3"),
        ({"scheme": ["pais"]}, 'did you mean "pias"'),
        ({"scheme": ["tcp"], "workload.laod": [0.5]}, r"workload\.laod"),
        ({"seed": [2]}, "at least one"),
    ]:
        with pytest.raises(tailrace.ScenarioError, match=why):
            tailrace.sweep(scenario, over=over, out=tmp_path / "wrong")
    with pytest.raises(tailrace.ScenarioError, match=r"^over: is for a scenario"):
        tailrace.plan(EXPERIMENT, over={"seed": [1]})
    assert not (tmp_path / "wrong").exists()
