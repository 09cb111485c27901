import pickle
import shutil
from pathlib import Path

import polars as pl
import pytest
from checksums import list_checksums

import tailrace
from tailrace import Result, ResultFolder, RunError, Scenario, ScenarioError
from tailrace.table import Table


def test_a_saved_result_is_loaded_again(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path / "kept")
    again = Result.load(tmp_path / "kept")
    assert (again.scenario, again.info) == (result.scenario, result.info)
    for name in ("flows", "ports", "series"):
        assert getattr(again, name).to_polars().equals(getattr(result, name).to_polars())


def test_columns_of_a_loaded_result_are_decoded_when_they_are_asked_for(
    result: Result, tmp_path: Path
) -> None:
    result.save(tmp_path / "kept")
    again = Result.load(tmp_path / "kept")
    # Those that are asked for and that flows are chosen by; it does not take the files any more.
    shutil.rmtree(tmp_path / "kept")
    for size_class, decoded in (("all", 2), ("short", 3), ("all@deadline", 3)):
        measured = again.measured_flows(size_class)
        plan = measured.to_lazy().select("slowdown").explain()
        assert f"PROJECT {decoded}/{len(again.flows.columns)} COLUMNS" in plan
        assert measured["slowdown"].equals(result.measured_flows(size_class)["slowdown"])
        assert len(measured) == len(result.measured_flows(size_class))
    assert again.flows.columns == result.flows.columns
    whole = again.flows.to_polars()
    assert whole.equals(result.flows.to_polars())
    assert again.flows.to_polars()["flow"].equals(again.flows["flow"])
    for table in (again.flows, again.measured_flows(), result.flows):
        known = ", ".join(result.flows.columns)
        for unknown in ("fct", "^.*$", 0):
            with pytest.raises(pl.exceptions.ColumnNotFoundError) as raised:
                table[unknown]  # type: ignore[index]
            assert str(raised.value) == f"there is no column {unknown!r}; there are {known}"
        assert "fct_ns" in table
        assert "fct" not in table
        assert list(table) == table.columns


def test_a_column_is_decoded_once(result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result.save(tmp_path)
    measured = Result.load(tmp_path).measured_flows("short")
    column = measured["slowdown"]
    monkeypatch.setattr("tailrace.table._made", None)
    column.sort(descending=True, in_place=True)
    again = measured["slowdown"]
    monkeypatch.undo()
    assert not again.equals(column)
    assert again.equals(result.measured_flows("short")["slowdown"])
    assert len(measured) == len(column) == len(measured.to_polars())


def test_what_is_damaged_with_a_right_checksum_is_an_error_of_ours(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path)
    file = tmp_path / "flows.parquet"
    held = bytearray(file.read_bytes())
    held[8:400] = bytes(392)
    file.write_bytes(held)
    list_checksums(tmp_path)
    flows = Result.load(tmp_path).flows
    for ask in (flows.to_polars, lambda: [flows[column] for column in flows]):
        with pytest.raises(RunError, match="a table is damaged, though its checksum is right: "):
            ask()


def test_how_late_a_live_run_was_is_kept(result: Result, tmp_path: Path) -> None:
    assert result.lag is None
    lag = pl.DataFrame({"what": ["left", "left"], "up_to_ns": [1.0, 2.0], "count": [3, 4]})
    tables = (result.flows, result.ports, result.series)
    Result(result.scenario, result.info, *tables, lag=Table(lag)).save(tmp_path)
    again = Result.load(tmp_path).lag
    assert again is not None
    assert again.to_polars().equals(lag)


@pytest.mark.parametrize("how", ["run", "load", "pickle"])
def test_a_saved_result_is_to_the_byte_what_the_command_writes(
    folder: ResultFolder, tmp_path: Path, how: str
) -> None:
    key = folder.summary["run"][0]
    written = folder.path / "runs" / key
    result = Scenario.from_file(written / "scenario.toml").run() if how == "run" else folder.run(key)
    if how == "run":
        result.info["scheme"] = "DCTCP"  # A label is no part of a scenario.
    result = pickle.loads(pickle.dumps(result)) if how == "pickle" else result
    result.save(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(file.name for file in written.iterdir())
    for file in written.iterdir():
        assert (tmp_path / file.name).read_bytes() == file.read_bytes(), file.name


def test_a_result_that_cannot_be_saved_leaves_what_was_there(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path)
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    (tmp_path / "flows.parquet").unlink()
    (tmp_path / "flows.parquet").mkdir()
    with pytest.raises(RunError, match=r"flows\.parquet"):
        result.save(tmp_path)
    (tmp_path / "flows.parquet").rmdir()
    assert {file: file.read_bytes() for file in tmp_path.iterdir()}.items() <= before.items()


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


@pytest.mark.parametrize("traffic_class", ["x", "", "-1", "256", "deadlin"])
def test_what_is_no_traffic_class_is_said_so(result: Result, traffic_class: str) -> None:
    with pytest.raises(ScenarioError, match=f'"@{traffic_class}" is neither a traffic class, 0 to 255, nor'):
        result.measured_flows(f"short@{traffic_class}")


@pytest.fixture
def due(scenario: Scenario) -> Result:
    """A run in which half of the bytes have deadlines."""
    half = {"sizes": "web-search", "byte_share": 0.5}
    rules = [half | {"deadline": {"exp": "20ms"}}, half]
    changes = {"workload": {"load": 0.5, "flows": 200, "rule": rules}, "scheme": {"name": "karuna"}}
    return scenario.with_(**changes, **{"measure.trace_every_flow": 1}).run()


def test_flows_with_and_without_deadlines_are_those_of_the_summary(due: Result) -> None:
    classes = due.summary().to_polars()
    assert {"all@deadline", "short@deadline", "all@no-deadline", "short@1"} <= {*classes["class"]}
    for size_class, flows, missed in classes.select("class", "flows", "missed").iter_rows():
        measured = due.measured_flows(size_class).to_polars()
        met = measured.filter(pl.col("fct_ns") <= pl.col("deadline_ns"))
        assert (len(measured), len(measured.drop_nulls("deadline_ns")) - len(met)) == (flows, missed)
    with_deadline = due.measured_flows("all@deadline").to_polars()
    assert with_deadline["class"].unique().to_list() == [0]
    assert with_deadline["deadline_ns"].null_count() == 0
    assert due.measured_flows("all@no-deadline").to_polars()["deadline_ns"].is_null().all()


def test_traces_of_flows_are_among_the_series(due: Result) -> None:
    traced = due.series.to_polars().filter(pl.col("metric") == "mcp_expected_bps")["place"].unique()
    flows = due.measured_flows("all@deadline").to_polars()["flow"]
    assert 0 < len(traced) <= len(flows)
    assert {*traced} <= {f"flow{flow}" for flow in flows}


def test_series_are_sorted_by_what_they_tell(result: Result) -> None:
    assert set(result.queues.to_polars()["metric"]) == {"port_bytes", "port_packets", "queue_bytes"}
    assert result.thresholds.to_polars().is_empty()
    assert result.summary().to_polars()["class"].to_list() == ["all", "short", "medium", "long"]


def test_a_result_shows_itself(result: Result, folder: ResultFolder) -> None:
    assert repr(result).startswith("Result(DCTCP: ")
    assert repr(folder).endswith("8 runs over scheme, workload.load, seed)")
    with pytest.raises(RunError, match='unknown scheme or run "PIA"; did you mean "PIAS"'):
        folder.run("PIA")
    assert "size_bytes" in repr(result.flows)
    assert "size_bytes" in result.flows.columns
    assert len(result.flows) == len(result.flows["size_bytes"]) == result.flows.to_polars().height
    assert "<table" in result.flows._repr_html_()
    assert result.plot()._repr_mimebundle_()["image/png"].startswith(b"\x89PNG")


def test_a_result_travels_between_processes(result: Result) -> None:
    again = pickle.loads(pickle.dumps(result))
    assert again.info == result.info
    assert again.flows.to_polars().equals(result.flows.to_polars())


def test_what_is_no_result_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"holds no finished experiment .*: SHA256SUMS: is missing"):
        ResultFolder(tmp_path)
    with pytest.raises(RunError, match=r"holds no finished run .*: SHA256SUMS: is missing"):
        Result.load(tmp_path)
    with pytest.raises(RunError, match="holds no finished run"):
        Result.load("a\0b")


OF_RUN = ("scenario.toml", "summary.json", "flows.parquet", "ports.parquet", "series.parquet", "SHA256SUMS")
OF_EXPERIMENT = ("experiment.toml", "summary.parquet", "summary.csv", "claims.json")


@pytest.mark.parametrize("name", OF_RUN)
@pytest.mark.parametrize("how", ["flip", "truncate", "delete"])
def test_a_damaged_run_names_the_file(result: Result, tmp_path: Path, name: str, how: str) -> None:
    result.save(tmp_path)
    damage(tmp_path / name, how)
    with pytest.raises(RunError, match=named("run", name, how)):
        Result.load(tmp_path)


@pytest.mark.parametrize("name", OF_EXPERIMENT)
@pytest.mark.parametrize("how", ["flip", "truncate", "delete"])
def test_a_damaged_experiment_names_the_file(
    folder: ResultFolder, tmp_path: Path, name: str, how: str
) -> None:
    for file in filter(Path.is_file, folder.path.iterdir()):
        shutil.copy(file, tmp_path)
    assert repr(ResultFolder(tmp_path)).endswith("8 runs over scheme, workload.load, seed)")
    damage(tmp_path / name, how)
    with pytest.raises(RunError, match=named("experiment", name, how)):
        ResultFolder(tmp_path)


def test_a_run_of_a_folder_is_verified_when_it_is_read(folder: ResultFolder, tmp_path: Path) -> None:
    copy = tmp_path / "out"
    shutil.copytree(folder.path, copy)
    key, other = folder.summary["run"].unique(maintain_order=True)[:2]
    damage(copy / "runs" / key / "flows.parquet", "flip")
    copied = ResultFolder(copy)
    with pytest.raises(RunError, match=named("run", "flows.parquet", "flip")):
        copied.run(key)
    assert copied.run(other).info == folder.run(other).info


def test_a_table_that_no_list_names_is_not_read(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path)
    (tmp_path / "tasks.parquet").write_bytes(b"no table")
    assert Result.load(tmp_path).tasks is None


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("scenario.toml", b"\xff", "can't decode"),
        ("summary.json", b"", "Expecting value: line 1"),
        ("summary.json", b"[]", "must be a JSON object"),
        ("flows.parquet", b"no table, but long enough for one", "out of specification"),
    ],
)
def test_what_was_never_a_run_is_said_so(
    result: Result, tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    result.save(tmp_path)
    (tmp_path / name).write_bytes(content)
    list_checksums(tmp_path)
    with pytest.raises(
        RunError, match=f"holds no finished run as tailrace run leaves it: {name}: .*{reason}"
    ):
        Result.load(tmp_path)


def damage(file: Path, how: str) -> None:
    """Flips a bit of a file, cuts off its end, or removes it."""
    content = file.read_bytes()
    middle = len(content) // 2
    match how:
        case "flip":
            file.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
        case "truncate":
            file.write_bytes(content[:middle])
        case "delete":
            file.unlink()


def named(what: str, name: str, how: str) -> str:
    """What is said of a file that is so damaged."""
    is_list = name == "SHA256SUMS"
    found = "is damaged" if is_list else "is damaged: it does not match its checksum"
    if how == "delete":
        found = "is missing: what the folder should" if is_list else "is missing, though SHA256SUMS lists it"
    return f"holds no finished {what} as tailrace run leaves it: {name}: {found}.*; running the same again"


def test_a_folder_may_be_called_anything(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path / "[a]*")
    assert Result.load(tmp_path / "[a]*").info == result.info


def test_a_folder_that_cannot_be_written_is_named(result: Result, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    (tmp_path / "taken" / "flows.parquet").mkdir(parents=True)
    impossible = [file, file / "kept", tmp_path / "taken", "/dev/null/kept", "a\0b"]
    for directory in impossible:
        with pytest.raises(RunError, match="must be a folder that can be made and written: ") as caught:
            result.save(directory)
        assert str(caught.value).startswith(f"{directory} ")


def test_warm_up_flows_are_kept_in_the_table(result: Result) -> None:
    assert result.flows.to_polars().filter(pl.col("start_ns") < 5e6).height > 0


def test_means_are_over_seeds_with_students_interval(folder: ResultFolder) -> None:
    axes = ["scheme", "workload.load", "class"]
    assert folder.means.columns[:4] == [*axes, "seeds"]
    assert folder.means.height == folder.summary.height / 2
    for row in folder.means.iter_rows(named=True):
        runs = folder.summary.filter(*(pl.col(axis) == row[axis] for axis in axes))
        assert row["seeds"] == runs.height == 2
        for name in ("fct_mean_us", "slowdown_p99", "timeouts"):
            values = runs[name].drop_nulls()
            if values.is_empty():
                assert row[name] is None
                assert row[f"{name}_half95"] is None
                continue
            assert row[name] == pytest.approx(values.mean())
            # Student's t of one degree of freedom is 12.706 at 0.975.
            half = 12.7062 * abs(values[0] - values[1]) / 2 if len(values) == 2 else None
            assert row[f"{name}_half95"] == (None if half is None else pytest.approx(half, rel=1e-4))
    assert (folder.path / "means.csv").read_text("utf-8").count("\n") == folder.means.height + 1


def test_results_of_a_newer_version_are_not_read(folder: ResultFolder, tmp_path: Path) -> None:
    newer = tmp_path / "newer"
    shutil.copytree(folder.path, newer)
    key = folder.summary["run"][0]
    for file in (newer / "summary.parquet", newer / "runs" / key / "flows.parquet"):
        metadata = pl.read_parquet_metadata(file)
        assert metadata["tailrace.version"] == tailrace.__version__
        about = {name: text for name, text in metadata.items() if name != "ARROW:schema"}
        pl.read_parquet(file).write_parquet(file, metadata=about | {"tailrace.version": "99.1.0"})
    list_checksums(newer)
    list_checksums(newer / "runs" / key)
    for read in (lambda: ResultFolder(newer), lambda: Result.load(newer / "runs" / key)):
        with pytest.raises(RunError, match=r"\.parquet is by Tailrace 99\.1\.0, newer than this one, "):
            read()
