import pickle
from pathlib import Path

import polars as pl
import pytest

from tailrace import Result, ResultFolder, RunError, ScenarioError


def test_a_saved_result_is_loaded_again(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path / "kept")
    again = Result.load(tmp_path / "kept")
    assert (again.scenario, again.info) == (result.scenario, result.info)
    for name in ("flows", "ports", "series"):
        assert getattr(again, name).to_polars().equals(getattr(result, name).to_polars())


def test_measured_flows_are_those_of_the_summary(folder: ResultFolder) -> None:
    columns = folder.summary.select("run", "class", "flows", "fct_mean_us")
    for key, size_class, flows, mean in columns.iter_rows():
        measured = folder.run(key).measured_flows(size_class).to_polars()
        assert len(measured) == flows
        if mean is not None:
            assert measured["fct_ns"].mean() == pytest.approx(1e3 * mean)
    everything = len(folder.run(key).flows.to_polars())
    assert 0 < len(folder.run(key).measured_flows().to_polars()) < everything


def test_an_unknown_size_class_is_named(result: Result) -> None:
    with pytest.raises(ScenarioError, match='unknown size class "shrot"; known are all, short, medium, long'):
        result.measured_flows("shrot")


def test_series_are_sorted_by_what_they_tell(result: Result) -> None:
    assert set(result.queues.to_polars()["metric"]) == {"port_bytes", "port_packets", "queue_bytes"}
    assert result.thresholds.to_polars().is_empty()
    assert result.summary().to_polars()["class"].to_list() == ["all", "short", "medium", "long"]


def test_a_result_shows_itself(result: Result, folder: ResultFolder) -> None:
    assert repr(result).startswith("Result(DCTCP: ")
    assert repr(folder).endswith("8 runs over scheme, workload.load, seed)")
    assert "size_bytes" in repr(result.flows)
    assert "<table" in result.flows._repr_html_()
    assert result.plot()._repr_png_().startswith(b"\x89PNG")


def test_a_result_travels_between_processes(result: Result) -> None:
    again = pickle.loads(pickle.dumps(result))
    assert again.info == result.info
    assert again.flows.to_polars().equals(result.flows.to_polars())


def test_what_is_no_result_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"holds no finished experiment: .*experiment\.toml"):
        ResultFolder(tmp_path)
    with pytest.raises(RunError, match="holds no finished run"):
        Result.load(tmp_path)


def test_warm_up_flows_are_kept_in_the_table(result: Result) -> None:
    assert result.flows.to_polars().filter(pl.col("start_ns") < 5e6).height > 0
