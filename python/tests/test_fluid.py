from pathlib import Path
from typing import Any

import pytest
from matplotlib.axes import Axes

import tailrace
from tailrace import Fluid, RunError, Scenario, ScenarioError
from tailrace.__main__ import command
from tailrace.drawing import draw
from tailrace.plots.fluid import fluid_chart

PRESET = Path(__file__).parents[2] / "experiments" / "uranus" / "fluid" / "wvcc.toml"
FIELDS: dict[str, Any] = {
    "law": "dctcp",
    "rate": "10Gbps",
    "rtt": "82us",
    "marking_threshold": "65pkt",
    "duration": "12ms",
    "initial_window": 40,
    "flow": [{}, {"start": "4ms"}],
}


@pytest.fixture(scope="module")
def model() -> Fluid:
    return tailrace.fluid(**FIELDS)


@pytest.fixture(scope="module")
def packets(tmp_path_factory: pytest.TempPathFactory) -> tailrace.Result:
    """Two long flows under DCTCP, the second 4 ms after the first."""
    flows = tmp_path_factory.mktemp("flows") / "two.csv"
    flows.write_text("src,dst,size_bytes,start_ns\n0,2,20000000,0\n1,2,20000000,4000000\n")
    return Scenario(
        fabric={"kind": "star", "hosts": 3, "host_rate": "10Gbps", "delay": "20us", "buffer": "3MB"},
        workload={"flow_list": str(flows)},
        scheme={"name": "dctcp"},
        measure={"trace_every_flow": 1},
    ).run()


def lines(axes: Axes) -> list[tuple[str, float, float]]:
    """Label, opacity and last time of each line."""
    return [
        (str(line.get_label()), line.get_alpha() or 1, line.get_xdata()[-1])  # type: ignore[index]
        for line in axes.get_lines()
    ]


def test_fields_make_a_model(model: Fluid) -> None:
    table = model.table.to_polars()
    assert table.columns == ["time_s", "flow", "window_packets", "alpha", "queue_packets"]
    waiting = table.filter((table["flow"] == 1) & (table["time_s"] < 3.99e-3))
    assert waiting["window_packets"].null_count() == len(waiting) > 0
    assert [phase["from_s"] for phase in model.phases] == [0, 4e-3]
    summary = model.summary().to_polars()
    assert summary["share"].to_list()[0] == 1
    assert summary["steady_share"].to_list() == [1, 0.5, 0.5]
    assert len(model.table.to_pandas()) == len(table)
    assert repr(model).startswith("Fluid(2 flows: shares 0.")


def test_a_file_may_be_changed() -> None:
    half, full = tailrace.fluid(PRESET, duration="50s"), tailrace.fluid(PRESET)
    assert full.title.startswith("Uranus, figure 5a")
    assert half.phases[0]["to_s"] == 50
    # Up to the solver's last steps, which end where the model does.
    rows = 19_900
    assert full.table.to_polars().head(rows).equals(half.table.to_polars().head(rows))


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"rate": "fast"}, "rate", 'cannot read "fast" as a rate'),
        ({"flow": []}, "flows", "missing: give how many there are"),
        ({"flow": [{"start": "1s"}]}, "flow[0].start", "1 must be a finite number at least 0 s"),
        ({"wieghts": [1]}, "wieghts", 'did you mean "weights"?'),
    ],
)
def test_mistakes_name_the_field(changes: dict[str, Any], field: str, message: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        tailrace.fluid(**FIELDS | changes)
    assert raised.value.field == field
    assert message in str(raised.value)
    assert raised.value.file is None


def test_mistakes_in_a_file_say_where(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(PRESET.read_text().replace("0.8]", "0]"))
    with pytest.raises(ScenarioError, match=r"bad\.toml:\d+: weights\[3\]: 0 must be"):
        tailrace.fluid(file)
    file.write_text("law")
    with pytest.raises(ScenarioError, match=r"bad\.toml"):
        tailrace.fluid(file, law="dctcp")
    with pytest.raises(ScenarioError, match="cannot be read: No such file"):
        tailrace.fluid(tmp_path / "none.toml")


def test_the_command_draws_what_can_be_loaded(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert command(["fluid", str(PRESET), "--out", str(out)]) == 0
    assert sorted(file.name for file in (out / "plots").iterdir()) == ["fluid.png", "fluid.svg"]
    loaded, solved = Fluid.load(out), tailrace.fluid(PRESET)
    assert (loaded.title, loaded.phases) == (solved.title, solved.phases)
    assert loaded.table.to_polars().equals(solved.table.to_polars())
    before = (out / "plots" / "fluid.svg").read_bytes()
    draw(out)
    assert (out / "plots" / "fluid.svg").read_bytes() == before
    with pytest.raises(RunError, match="holds no finished fluid model"):
        Fluid.load(tmp_path)
    (out / "fluid.parquet").write_bytes(b"")
    with pytest.raises(RunError, match=r"fluid model .*: fluid\.parquet: is damaged: it does not match"):
        Fluid.load(out)


def test_a_run_lies_behind_the_model(model: Fluid, packets: tailrace.Result) -> None:
    windows, queue = model.plot(packets).axes
    pale = [line for line in lines(windows) if line[1] < 1]
    bold = [line for line in lines(windows) if line[1] == 1]
    assert len(pale) == 2
    assert [line[0] for line in bold] == ["flow 0", "flow 1"]
    assert len(queue.get_lines()) == 2
    # The run takes longer than the model; what the model covers is shown.
    assert pale[1][2] > bold[1][2] == pytest.approx(12, rel=1e-3)
    assert windows.get_xlim() == queue.get_xlim() == pytest.approx((0, 12), rel=1e-3)
    assert [len(axes.get_lines()) for axes in fluid_chart(model).axes] == [2, 1]


def test_dctcp_at_packet_level_is_near_its_model(model: Fluid, packets: tailrace.Result) -> None:
    """The second halves of the second phase: windows together fill the pipe and a queue of about K."""
    series = packets.series.to_polars()
    late = series.filter(series["time_ns"].is_between(8e6, 12e6))
    means = {
        (place, metric): part["value"].mean()
        for (place, metric), part in late.partition_by("place", "metric", as_dict=True).items()
    }
    windows = sum(means[place, "window_segments"] for place in ("flow0", "flow1"))
    phase = model.phases[1]
    assert windows == pytest.approx(sum(flow["mean_window_packets"] for flow in phase["flows"]), rel=0.05)
    queue = means["flow0", "longest_queue_bytes"] / 1500
    assert queue == pytest.approx(phase["mean_queue_packets"], rel=0.1)


def test_a_run_must_trace_the_models_flows(packets: tailrace.Result) -> None:
    three = tailrace.fluid(**FIELDS | {"flow": [{}, {}, {}]})
    with pytest.raises(ScenarioError, match="the run traces 2 windows, the model has 3 flows"):
        three.plot(packets)


def test_wvcc_has_the_same_windows_with_packets() -> None:
    model = tailrace.fluid(PRESET.with_name("packets.toml"))
    packets = Scenario(
        fabric={
            "kind": "dumbbell",
            "left": 4,
            "right": 1,
            "host_rate": "10Gbps",
            "bottleneck_rate": "10Gbps",
            "host_delay": "23.6us",
            "bottleneck_delay": "1us",
            "buffer": "4MB",
        },
        workload={
            "arrivals": "once",
            "pattern": "pairs",
            "to": [4],
            "sizes": {"fixed": "1GB"},
            "rule": [{"from": [host], "slice": host + 1} for host in range(4)],
        },
        slice=[{"weight": weight / 5} for weight in range(1, 5)],
        scheme={"name": "wvcc"},
        measure={"trace_every_flow": 1, "horizon": "400ms"},
    ).run()
    phase = model.phases[0]
    series = packets.series.to_polars()
    late = series.filter(
        (series["metric"] == "window_segments") & (series["time_ns"] > 1e9 * phase["measured_from_s"])
    )
    windows = [late.filter(late["place"] == f"flow{flow}")["value"].mean() for flow in range(4)]
    assert windows == pytest.approx([flow["mean_window_packets"] for flow in phase["flows"]], rel=0.1)
