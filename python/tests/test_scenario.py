import os
import pickle
import threading
import time
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tailrace
from tailrace import Progress, ResultFolder, Scenario, ScenarioError


def test_a_scenario_runs_and_gives_tables(scenario: Scenario) -> None:
    result = scenario.run()
    flows = result.flows.to_polars()
    assert len(flows) == 200
    assert flows["fct_ns"].null_count() == 0
    assert (flows["slowdown"] >= 1).all()
    assert result.info["scheme"] == "pias"
    assert result.info["ended"] == "finished"


def test_equal_scenarios_give_equal_results(scenario: Scenario) -> None:
    first, second = scenario.run(), scenario.run()
    assert first.info == second.info
    assert first.flows.to_polars().equals(second.flows.to_polars())
    assert scenario.with_(seed=2).run().info["digest"] != first.info["digest"]


def test_the_resolved_scenario_gives_the_same_run(scenario: Scenario, tmp_path: Path) -> None:
    result = scenario.run()
    file = tmp_path / "scenario.toml"
    file.write_text(result.scenario)
    assert Scenario.from_file(file).run().info == result.info


def test_with_changes_a_copy(scenario: Scenario) -> None:
    busier = scenario.with_(**{"workload.load": 0.9, "scheme.params.port.queues": 4})
    assert "load = 0.9" in busier.to_toml()
    assert tomllib.loads(busier.to_toml())["scheme"]["params"] == {"port": {"queues": 4}}
    assert "load = 0.5" in scenario.to_toml()


def test_with_means_every_table_of_a_list() -> None:
    scenario = Scenario(workload={"rule": [{"load": 0.1}, {"load": 0.2}]})
    assert scenario.with_(**{"workload.rule.load": 0.3}).to_toml().count("load = 0.3") == 2
    with pytest.raises(ScenarioError, match=r"^workload\.rule\.load\.x: leads through"):
        scenario.with_(**{"workload.rule.load.x": 1})


def test_files_are_found_beside_the_scenario(scenario: Scenario, tmp_path: Path) -> None:
    (tmp_path / "own.cdf").write_text("1000 0\n2000 1\n")
    file = tmp_path / "scenario.toml"
    file.write_text(scenario.with_(**{"workload.sizes": {"file": "own.cdf"}}).to_toml())
    for own in (Scenario.from_file(file), Scenario.from_file(file).with_(seed=2)):
        assert own.run().flows.to_polars()["size_bytes"].is_between(1000, 2000).all()


def test_errors_name_file_line_and_field(scenario: Scenario, tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(scenario.to_toml().replace("\nload", "\nlaod"))
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_file(file).run()
    line = 1 + file.read_text().splitlines().index("laod = 0.5")
    assert (caught.value.file, caught.value.line) == (file, line)
    assert caught.value.field == "workload.laod"
    assert str(caught.value).startswith(f"{file}:{line}: workload.laod: ")
    assert 'did you mean "load"?' in caught.value.message


def test_python_checks_what_the_command_checks(scenario: Scenario) -> None:
    row = {
        "kind": "parking-lot",
        "switches": 7,
        "hosts_per_switch": 2,
        "host_rate": "1Gbps",
        "row_rate": "1Gbps",
        "buffer": "300KB",
    }
    long = scenario.with_(fabric=row, scheme={"name": "rcp"}, level="flow", measure={})
    with pytest.raises(
        ScenarioError, match=r"^fabric: has paths of .* links, and at flow level there is room"
    ):
        long.run()
    with pytest.raises(ScenarioError, match=r"^scheme\.name: dctcp has no rule for rates"):
        scenario.with_(scheme={"name": "dctcp"}, level="flow").run()
    with pytest.raises(ScenarioError, match=r"^measure\.sample_ports"):
        scenario.with_(**{"measure.sample_ports": ["nowhere"]}).run()


def test_what_a_level_cannot_express_is_a_warning(scenario: Scenario) -> None:
    capped = scenario.with_(scheme={"name": "qjump"}, measure={})
    with pytest.warns(UserWarning, match="^at flow level: Under a cap"):
        capped.with_(level="flow").run()
    capped.run()


def test_errors_of_a_scenario_built_in_code_name_the_field_only(scenario: Scenario) -> None:
    with pytest.raises(ScenarioError, match=r"^scheme\.name: .*dctpc") as caught:
        scenario.with_(**{"scheme.name": "dctpc"}).run()
    assert (caught.value.file, caught.value.line) == (None, None)
    with pytest.raises(ScenarioError, match=r"^workload\.load: must be .*, not None"):
        Scenario(workload={"load": None})


def test_a_missing_or_broken_file_is_an_error_of_the_scenario(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"none\.toml: cannot be read: No such file"):
        Scenario.from_file(tmp_path / "none.toml")
    file = tmp_path / "broken.toml"
    file.write_text("seed = 1\nseed = = 2\n")
    with pytest.raises(ScenarioError, match=r"broken\.toml:2: "):
        Scenario.from_file(file).run()
    with pytest.raises(ScenarioError, match=r"broken\.toml: .*line 2"):
        Scenario.from_file(file).with_(seed=2)


def test_a_file_in_another_encoding_is_an_error_of_its_line(tmp_path: Path) -> None:
    file = tmp_path / "latin1.toml"
    file.write_bytes("seed = 1\n# für alle\n".encode("latin-1"))
    with pytest.raises(ScenarioError, match=r"latin1\.toml:2: must be text in UTF-8$"):
        Scenario.from_file(file)


def test_an_impossible_path_is_an_error_of_the_scenario() -> None:
    with pytest.raises(ScenarioError, match="cannot be read: embedded null byte"):
        Scenario.from_file("a\0b")


def test_seeds_beyond_toml_are_refused_by_name(scenario: Scenario) -> None:
    for seed in (2**63, -(2**63) - 1):
        with pytest.raises(ScenarioError, match=r"^seed: must be from"):
            scenario.with_(seed=seed)


def test_errors_travel_between_processes() -> None:
    error = pickle.loads(pickle.dumps(ScenarioError("is odd", "a.b", Path("c.toml"), 3)))
    assert str(error) == "c.toml:3: a.b: is odd"


def test_progress_is_reported(scenario: Scenario, capfd: pytest.CaptureFixture[str]) -> None:
    heard: list[Progress] = []
    longer = scenario.with_(**{"workload.flows": 3000})
    longer.run(progress=heard.append)
    assert heard == sorted(heard)
    assert heard[-1].virtual_seconds > 0
    assert heard[-1].finished_flows <= heard[-1].started_flows <= 3000
    longer.run(progress=True)
    assert "flows finished" in capfd.readouterr().err


def test_an_exception_of_the_progress_function_ends_the_run(scenario: Scenario) -> None:
    def stop(_: Progress) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        scenario.with_(**{"workload.flows": 10_000_000}, measure={}).run(progress=stop)


def test_other_threads_run_on_meanwhile(scenario: Scenario) -> None:
    run = threading.Thread(target=scenario.with_(**{"workload.flows": 3000}).run)
    run.start()
    turns = 0
    while run.is_alive():
        time.sleep(0.001)
        turns += 1
    assert turns > 5


RACKS = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2, "host_rate": "10Gbps"} | {
    "spine_rate": "20Gbps",
    "host_delay": "10us",
    "spine_delay": "200ns",
}


@pytest.mark.parametrize("threads", [1, 2, 0])
def test_a_run_is_the_same_on_any_number_of_threads(scenario: Scenario, threads: int) -> None:
    racks = scenario.with_(fabric=RACKS, measure={})
    one, several = racks.run(), racks.run(threads=threads)
    assert one.info["digest"] == several.info["digest"]
    assert one.flows.to_polars().equals(several.flows.to_polars())


@pytest.mark.parametrize("asked", [1000, 10**30])
def test_who_asks_for_more_threads_than_can_be_is_told_and_gets_the_same(
    scenario: Scenario, asked: int
) -> None:
    racks = scenario.with_(fabric=RACKS, measure={})
    with pytest.warns(
        UserWarning, match="threads, since (there are .* processors|the fabric has no more parts)"
    ):
        many = racks.run(threads=asked)
    assert many.info["digest"] == racks.run().info["digest"]


def test_a_fabric_that_cannot_be_cut_has_one_thread_and_says_so(scenario: Scenario) -> None:
    memory = {"total": "1MB", "alpha": 1.0}
    shared = {"kind": "star", "hosts": 4, "host_rate": "10Gbps", "shared_buffer": memory}
    with pytest.warns(UserWarning, match="on one thread, since the fabric has one rack"):
        scenario.with_(fabric=shared).run(threads=2)


def test_one_rack_is_the_same_on_two_threads(scenario: Scenario) -> None:
    rack = scenario.with_(measure={})
    assert rack.run(threads=2).info["digest"] == rack.run().info["digest"]


@pytest.mark.parametrize("threads", [-1, 1.5, "2", True])
def test_threads_are_a_number(scenario: Scenario, threads: Any) -> None:
    with pytest.raises(ValueError, match="threads must be a number of threads, or 0"):
        scenario.run(threads=threads)


def test_a_rule_has_one_thread(scenario: Scenario) -> None:
    class Mine(tailrace.Rule):
        pass

    with pytest.raises(ValueError, match="a rule is for the flow level"):
        scenario.with_(level="flow").run(rule=Mine(), threads=2)


def test_several_threads_stop_where_the_function_raises(scenario: Scenario) -> None:
    def stop(_: Progress) -> None:
        raise LookupError("enough")

    endless = scenario.with_(**{"workload.flows": 10_000_000}, fabric=RACKS, measure={})
    with pytest.raises(LookupError, match="enough"):
        endless.run(progress=stop, threads=2)


def test_tables_speak_arrow(scenario: Scenario) -> None:
    pa, pd = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    flows = scenario.run().flows
    for frame in (pl.DataFrame(flows), pl.from_arrow(pa.table(flows)), pl.from_pandas(flows.to_pandas())):
        assert frame["size_bytes"].equals(flows.to_polars()["size_bytes"])
    assert flows.to_pyarrow().schema.field("fct_ns").type == pa.float64()
    assert isinstance(flows.to_pandas(), pd.DataFrame)


@pytest.mark.parametrize("compression", ["zstd", "snappy", "uncompressed", "gzip"])
def test_a_parquet_flow_list_may_be_compressed_as_polars_does(
    scenario: Scenario, tmp_path: Path, compression: str
) -> None:
    file = tmp_path / "flows.parquet"
    flows = pl.DataFrame({"src": [0, 1], "dst": [1, 0], "size_bytes": [1000, 2000], "start_ns": [0, 5]})
    flows.write_parquet(file, compression=compression)  # type: ignore[arg-type]
    replayed = scenario.with_(workload={"flow_list": str(file)}, scheme={"name": "dctcp"})
    if compression == "gzip":
        with pytest.raises(ScenarioError, match=r"compressed with .*; supported are zstd, snappy and none"):
            replayed.run()
    else:
        assert len(replayed.run().flows.to_polars()) == 2


def test_pipes_and_devices_are_not_read(tmp_path: Path) -> None:
    """They may have no end."""
    pipe = tmp_path / "pipe.toml"
    os.mkfifo(pipe)
    for file in (pipe, "/dev/zero"):
        with pytest.raises(ScenarioError, match="cannot be read: it is a pipe or a device"):
            Scenario.from_file(file)
        with pytest.raises(ScenarioError, match="cannot be read: it is a pipe or a device"):
            tailrace.fluid(file)


def test_what_is_wrong_is_said_in_few_characters(scenario: Scenario, tmp_path: Path) -> None:
    """Whatever the length of what is repeated, and without obeying it."""
    with pytest.raises(ScenarioError) as caught:
        scenario.with_(**{"scheme.name": "\x1b[31m" + "x" * 1_000_000}).run()
    assert len(str(caught.value)) < 3_000
    assert "\x1b" not in str(caught.value)
    file = tmp_path / "long.toml"
    file.write_text(f"title = '{'x' * 301}'")
    with pytest.raises(ScenarioError, match="title: has 301 characters, but may have 300 at most"):
        tailrace.plan(file)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"fabrik": {}}, 'fabrik: unknown field "fabrik"; did you mean "fabric"?'),
        ({"workload": {"laod": 0.5}}, 'workload.laod: unknown field "laod"; did you mean "load"?'),
        ({"workload": {"rule": [{"load": 0.1}, {"laod": 0.1}]}}, "workload.rule.laod: "),
        ({"workload": {"deadline": {"exponentail": {}}}}, "workload.deadline.exponentail: "),
        ({"fabric": {"kind": "graph", "link": [{"form": "a"}]}}, "fabric.link.form: "),
        ({"scheme": {"nmae": "pias"}}, "scheme.nmae: "),
    ],
)
def test_names_of_fields_are_checked_when_it_is_built(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(ScenarioError) as error:
        Scenario(**fields)
    assert str(error.value).startswith(why)


def test_all_examples_have_fields_that_there_are() -> None:
    files = (Path(__file__).parents[2] / "experiments").rglob("*.toml")
    own = {"title", "source", "about", "sweep", "scale", "plot", "claim", "expect", "stop", "scheme"}
    checked = 0
    for file in files:
        table = tomllib.loads(file.read_text("utf-8"))
        if "workload" in table:
            checked += 1
            Scenario(**{name: fields for name, fields in table.items() if name not in own})
    assert checked > 40


def test_equal_scenarios_compare_equal(tmp_path: Path) -> None:
    fields = {"workload": {"sizes": "web-search", "load": 0.6}, "seed": 2}
    one, other = Scenario(**fields), Scenario(**dict(reversed(list(fields.items()))))
    assert one == other
    assert len({one, other}) == 1
    assert one != one.with_(seed=3)
    assert one.with_(seed=3).with_(seed=2) == one
    assert one != "seed = 2"
    whole, part = ({"workload": {"sizes": {"fixed": "10KB"}, "load": load}} for load in (1, 1.0))
    assert Scenario(**whole) == Scenario(**part)
    # Files that both name are not the same ones.
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.toml").write_text(one.to_toml())
    a, b = (Scenario.from_file(tmp_path / name / "x.toml") for name in ("a", "b"))
    assert a == Scenario.from_file(tmp_path / "a" / "x.toml")
    assert a != b


def test_notebooks_show_values_as_text(folder: ResultFolder) -> None:
    hostile = Scenario(scheme={"name": "fifo", "label": "<b>&"})
    assert "&lt;b&gt;&amp;" in hostile._repr_html_()
    slices = [{"weight": n} for n in range(1, 100)]
    long = repr(Scenario(fabric={"preset": "micro4"}, workload={}, scheme={"name": "wvcc"}, slice=slices))
    assert len(long.splitlines()) < 70
    assert "more lines" in long
    assert "<b>" not in hostile._repr_html_()
    assert "Two schemes at two loads with two seeds" in folder._repr_html_()
    assert "slowdown_p99" in folder._repr_html_()
    result = folder.run(folder.summary["run"][0])
    assert "DCTCP" in result._repr_html_()
    assert "short" in result._repr_html_()
