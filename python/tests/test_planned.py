import shutil
import signal
import threading
from pathlib import Path

import pytest
from conftest import EXPERIMENT

import tailrace
from tailrace import Plan, ResultFolder, RunError, ScenarioError, gather, plan


@pytest.fixture
def small(tmp_path: Path) -> Plan:
    return plan(EXPERIMENT, out=tmp_path / "out")


def files(folder: Path) -> dict[Path, bytes]:
    """All files below a folder but its pictures, with their content."""
    found = (file for file in folder.rglob("*") if file.is_file() and "plots" not in file.parts)
    return {file.relative_to(folder): file.read_bytes() for file in found}


def test_a_plan_names_all_runs_and_writes_nothing(small: Plan, folder: ResultFolder) -> None:
    assert repr(small).startswith("Plan('Two schemes at two loads with two seeds': 8 runs in ")
    assert [(run.index, run.scheme, run.point) for run in small[:3]] == [
        (0, "DCTCP", {"workload.load": 0.4, "seed": 1}),
        (1, "PIAS", {"workload.load": 0.4, "seed": 1}),
        (2, "DCTCP", {"workload.load": 0.4, "seed": 2}),
    ]
    assert [run.seed for run in small] == [1, 1, 2, 2, 1, 1, 2, 2]
    assert [run.key for run in small] == folder.summary["run"].unique(maintain_order=True).to_list()
    assert small[-1] == small[7]
    assert not any(run.finished for run in small)
    assert not small.folder.exists()
    with pytest.raises(IndexError):
        small[8]
    with pytest.raises(IndexError):
        small.run(8)


def test_runs_made_one_by_one_are_to_the_byte_what_the_command_makes(
    small: Plan, folder: ResultFolder
) -> None:
    for index in reversed(range(len(small))):
        result = small.run(index)
        assert result.info == folder.run(small[index].key).info
        assert small[index].finished
    with pytest.raises(RunError, match=r"holds no summary yet: tailrace\.gather makes that"):
        ResultFolder(small.folder)
    gathered = gather(small.folder)
    assert gathered.missing.is_empty()
    assert files(small.folder) == files(folder.path)


def test_finished_runs_of_an_interrupted_sweep_are_read(small: Plan, folder: ResultFolder) -> None:
    for index in (1, 2, 6):
        small.run(index)
    damaged = small[6].folder / "flows.parquet"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    assert [run.index for run in small if run.finished] == [1, 2]
    with pytest.warns(UserWarning, match=r"flows\.parquet: is damaged: .*; the run counts as missing"):
        gathered = gather(small.folder)
    assert gathered.summary.equals(
        folder.summary.filter(folder.summary["run"].is_in([small[1].key, small[2].key]))
    )
    missing = gathered.missing.select("scheme", "workload.load", "seed", "run").rows()
    assert missing == [
        (run.scheme, run.point["workload.load"], run.seed, run.key)
        for run in small
        if run.index not in (1, 2)
    ]
    with pytest.warns(UserWarning, match=r"flows\.parquet: is damaged: .*; the run is made again"):
        small.run(6)
    assert len(gather(small.folder).missing) == 5


def test_a_run_that_is_there_is_not_made_again(small: Plan) -> None:
    small.run(0)
    before = {file: file.stat().st_mtime_ns for file in small[0].folder.iterdir()}
    again = plan(EXPERIMENT, out=small.folder)
    assert again[0].finished
    again.run(0)
    assert {file: file.stat().st_mtime_ns for file in small[0].folder.iterdir()} == before


def test_what_cannot_be_gathered_says_why(small: Plan, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"does not say which runs it is for: plan\.parquet"):
        gather(tmp_path)
    small.run(0)
    shutil.rmtree(small[0].folder)
    with pytest.raises(RunError, match="none of its 8 runs is finished"):
        gather(small.folder)


def test_options_are_those_of_the_command(tmp_path: Path) -> None:
    fields = {
        "workload.flows": 50,
        "fabric.host_rate": "25Gbps",
        "sweep.'workload.load'": [0.8],
        "measure.sample_ports": ["switch0->host1"],
    }
    changed = plan(EXPERIMENT, set=fields, only=["PIAS"], out=tmp_path / "out")
    assert [(run.scheme, run.point) for run in changed] == [
        ("PIAS", {"workload.load": 0.8, "seed": seed}) for seed in (1, 2)
    ]
    changed.run(0)
    gathered = gather(tmp_path / "out")
    assert gathered.set == {
        "workload.flows": "50",
        "fabric.host_rate": "25Gbps",
        "sweep.'workload.load'": "[0.8]",
        "measure.sample_ports": '["switch0->host1"]',
    }
    assert gathered.left_out == {"DCTCP"}
    with pytest.raises(ScenarioError, match="workload: must be a number, text or a list, not a table"):
        plan(EXPERIMENT, set={"workload": {"load": 0.5}})
    with pytest.raises(ScenarioError, match="--only: unknown scheme"):
        plan(EXPERIMENT, only=["fifo"])
    with pytest.raises(ScenarioError, match="--scale: 2 must be"):
        plan(EXPERIMENT, scale=2)
    with pytest.raises(ScenarioError, match=r"nowhere\.toml: cannot be read"):
        plan("nowhere.toml")


def test_results_are_in_out_unless_somebody_wants_them_elsewhere() -> None:
    assert plan(EXPERIMENT).folder == Path("out/small")


LONG = {"workload.flows": 300_000, "measure.warmup": "0s"}


def test_an_exception_in_the_report_ends_the_run(tmp_path: Path) -> None:
    long = plan(EXPERIMENT, set=LONG, out=tmp_path / "out")

    def report(progress: tailrace.Progress) -> None:
        raise ValueError(progress.started_flows)

    with pytest.raises(ValueError, match=r"\d+"):
        long.run(0, progress=report)
    assert not long[0].finished
    assert list((tmp_path / "out" / "runs").iterdir()) == []


def test_ctrl_c_ends_a_run(tmp_path: Path) -> None:
    long = plan(EXPERIMENT, set=LONG, out=tmp_path / "out")
    # Shells start what goes to the background with SIGINT ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        long.run(0)
    timer.join()
    signal.signal(signal.SIGINT, before)
    assert not long[0].finished
