import itertools
import re
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest
from checksums import list_checksums
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer

from tailrace import ResultFolder, Scenario, ScenarioError, plot, plots
from tailrace.__main__ import command
from tailrace.drawing import draw
from tailrace.plots.style import PENS, label, save, styled


def drawn(folder: ResultFolder, **table: Any) -> Axes:
    """The axes of a plot described by `table`."""
    folder.experiment["plot"] = {"test": table}
    return folder.plot("test").axes[0]


def legend(axes: Axes) -> list[str]:
    return axes.get_legend_handles_labels()[1]


def line(axes: Axes, name: str) -> list[tuple[Any, Any]]:
    (found,) = [line for line in axes.get_lines() if line.get_label() == name]
    return list(zip(*found.get_data(), strict=True))


@pytest.fixture
def numbers(tmp_path: Path) -> ResultFolder:
    """A folder whose summary is easy to reckon with: A has fct = 100·load + seed, B has half of that."""
    rows = [
        (scheme, load, seed, size_class, fct, 0.0, "key")
        for load in (0.8, 0.4)
        for seed in (1.0, 3.0)
        for scheme, factor in (("A", 1.0), ("B", 0.5))
        for size_class, fct in (("all", factor * (100 * load + seed)), ("short", None))
    ]
    columns = ["scheme", "load", "seed", "class", "fct_mean_us", "timeouts", "run"]
    pl.DataFrame(rows, columns, orient="row").write_parquet(tmp_path / "summary.parquet")
    (tmp_path / "experiment.toml").write_text("[scaled]\nscale = 0.01\n")
    list_checksums(tmp_path)
    return ResultFolder(tmp_path)


def test_curves_of_a_scheme_have_its_colour(numbers: ResultFolder) -> None:
    numbers.experiment["scheme"] = [{"name": name} for name in ("A", "X", "B")]
    numbers.summary = numbers.summary.with_columns(fct_p99_us=2 * pl.col("fct_mean_us"))
    axes = drawn(numbers, x="load", y=["fct_mean_us", "fct_p99_us"])
    drawn_as = [(line.get_color(), line.get_linestyle()) for line in axes.get_lines()]
    assert drawn_as == [(PENS[place].colour, dash) for place in (0, 2) for dash in ("-", "--")]
    # Curves of one scheme are told apart by colour.
    axes = drawn(numbers, x="load", y=["fct_mean_us", "fct_p99_us"], at={"scheme": ["B"]})
    assert len({line.get_color() for line in axes.get_lines()}) == 2


def test_runs_beside_one_another_without_an_experiment() -> None:
    workload = {"sizes": "web-search", "load": 0.5, "flows": 60}
    some = [
        Scenario(fabric={"preset": "micro4"}, workload=workload, scheme={"name": name}).run()
        for name in ("dctcp", "pias", "pias")
    ]
    chart = plot(some, "fct_ns", size_class="short", title="Short")
    assert legend(chart.axes[0]) == ["dctcp", "pias, seed 1", "pias, seed 1 (2)"]
    pens = [(line.get_color(), line.get_linestyle()) for line in chart.axes[0].get_lines()]
    assert pens == [(PENS[0].colour, "-"), (PENS[1].colour, "-"), (PENS[1].colour, "--")]
    assert legend(plot(some[0]).axes[0]) == ["dctcp"]
    flows = some[1].measured_flows("short").to_polars()["fct_ns"].drop_nulls()
    curve = line(chart.axes[0], "pias, seed 1")
    assert curve[0] == (pytest.approx(flows.min() / 1e3), 0)
    assert curve[-1] == (pytest.approx(flows.max() / 1e3), 1)
    assert (chart.axes[0].get_xlabel(), chart.axes[0].get_xscale()) == ("Flow completion time (µs)", "log")
    named = plot({"before": some[0], "after": some[1]}, log=[])
    assert legend(named.axes[0]) == ["before", "after"]
    with pytest.raises(ScenarioError, match=r'^y: has no column "fct" of numbers; there are flow, '):
        plot(some, "fct")
    with pytest.raises(ScenarioError, match=r"^results: are 0: there must be 1 to 21"):
        plot([])


def test_lines_show_the_mean_of_seeds_in_order_of_x(numbers: ResultFolder) -> None:
    axes = drawn(numbers, x="load", y="fct_mean_us")
    assert legend(axes) == ["A", "B"]
    assert line(axes, "A") == [(0.4, 42), (0.8, 82)]
    assert line(axes, "B") == [(0.4, 21), (0.8, 41)]
    band = axes.collections[0].get_paths()[0].get_extents()
    assert (band.ymin, band.ymax) == (41, 83)
    assert axes.get_figure().get_supxlabel() == "scale 0.01; mean and range of seeds 1, 3"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Load", "Mean FCT (µs)")


def test_names_are_not_joined_by_lines(numbers: ResultFolder) -> None:
    axes = drawn(numbers, x="scheme", y="fct_mean_us", group="load", at={"seed": 3})
    assert {line.get_linestyle() for line in axes.get_lines()} == {"None"}
    axes = drawn(numbers, x="load", y="fct_mean_us")
    assert "None" not in {line.get_linestyle() for line in axes.get_lines()}


def test_one_seed_has_no_caps(numbers: ResultFolder) -> None:
    for at, caps in (({"seed": 3}, 0), ({}, 2)):
        axes = drawn(numbers, kind="bars", x="load", y="fct_mean_us", at=at)
        assert len([found for found in axes.containers if isinstance(found, ErrorbarContainer)]) == caps


def test_intervals_end_where_values_do(tmp_path: Path) -> None:
    rows = [
        ("A", load, seed, "all", share, "key")
        for load in (0.4, 0.8)
        for seed, share in ((1.0, 0.0), (2.0, 1.0))
    ]
    columns = ["scheme", "load", "seed", "class", "miss_rate", "run"]
    pl.DataFrame(rows, columns, orient="row").write_parquet(tmp_path / "summary.parquet")
    (tmp_path / "experiment.toml").write_text("")
    list_checksums(tmp_path)
    axes = drawn(ResultFolder(tmp_path), x="load", y="miss_rate", spread="confidence")
    band = axes.collections[0].get_paths()[0].get_extents()
    # Student's interval of 0 and 1 would be from -5.9 to 6.9.
    assert (band.ymin, band.ymax) == (0, 1)


def test_an_experiment_that_asks_for_no_plot_gets_one_that_suits(
    folder: ResultFolder, tmp_path: Path, scenario: Scenario
) -> None:
    shutil.copytree(folder.path, tmp_path / "x")
    swept = ResultFolder(tmp_path / "x")
    swept.experiment.pop("plot")
    assert plots.tables(swept)["slowdown"]["x"] == "workload.load"
    assert swept.plot("slowdown").axes[0].get_xlabel() == "Load"
    text = scenario.to_toml().replace("[scheme]", "[[scheme]]")
    (tmp_path / "y.toml").write_text(f'title = "y"\n{text}')
    assert command(["run", str(tmp_path / "y.toml"), "--out", str(tmp_path / "y")]) == 0
    assert sorted(file.name for file in (tmp_path / "y" / "plots").iterdir()) == [
        "slowdown.png",
        "slowdown.svg",
    ]


def test_a_scheme_has_one_colour_whoever_is_drawn_beside_it(numbers: ResultFolder) -> None:
    numbers.experiment["scheme"] = [{"name": "fifo"}, {"name": "x", "label": "B"}, {"name": "A"}]
    for chosen in (["B"], ["A", "B"]):
        axes = drawn(numbers, x="load", y="fct_mean_us", at={"scheme": chosen})
        colours = {str(line.get_label()): line.get_color() for line in axes.get_lines()}
        assert colours["B"] == PENS[1].colour
        assert colours.get("A", PENS[2].colour) == PENS[2].colour


def test_curves_may_be_grouped_by_anything_swept(numbers: ResultFolder) -> None:
    axes = drawn(numbers, x="load", y="fct_mean_us", group=["scheme", "seed"])
    assert legend(axes) == ["A, seed 1", "B, seed 1", "A, seed 3", "B, seed 3"]
    axes = drawn(numbers, x="scheme", y="fct_mean_us", group="load", at={"seed": 3})
    assert line(axes, "load 0.4") == [("A", 43), ("B", 21.5)]
    assert axes.get_figure().get_supxlabel() == "scale 0.01; seed 3"


def test_changes_are_in_percent_of_the_same_seed(numbers: ResultFolder) -> None:
    axes = drawn(numbers, x="load", y=["fct_mean_us", "timeouts"], relative_to="A")
    assert line(axes, "B, Mean FCT") == [(0.4, -50), (0.8, -50)]
    assert line(axes, "B, Retransmission timeouts") == [(0.4, 0), (0.8, 0)]
    axes = drawn(numbers, x="load", y="fct_mean_us", relative_to="A")
    assert axes.get_ylabel() == "Mean FCT: change from A (%)"


def test_levels_are_curves_of_their_own(numbers: ResultFolder) -> None:
    levels = [numbers.summary.with_columns(pl.lit(level).alias("level")) for level in ("packet", "flow")]
    numbers.summary = pl.concat(levels).select("scheme", "level", pl.exclude("scheme", "level"))
    names = [f"{scheme}, {level} level" for level in ("packet", "flow") for scheme in "AB"]
    assert legend(drawn(numbers, x="load", y="fct_mean_us")) == names
    assert legend(drawn(numbers, x="level", y="fct_mean_us", at={"load": 0.4})) == ["A", "B"]
    assert legend(drawn(numbers, x="load", y="fct_mean_us", at={"level": "flow"})) == ["A", "B"]


def test_times_may_have_another_unit(numbers: ResultFolder) -> None:
    axes = drawn(numbers, x="load", y="fct_mean_us", unit="ms")
    assert line(axes, "A") == [(0.4, pytest.approx(0.042)), (0.8, pytest.approx(0.082))]
    assert axes.get_ylabel() == "Mean FCT (ms)"
    assert line(drawn(numbers, x="load", y="timeouts", unit="ms"), "A") == [(0.4, 0), (0.8, 0)]


def test_bars_stand_side_by_side(numbers: ResultFolder) -> None:
    axes = drawn(numbers, kind="bars", x="load", y="fct_mean_us")
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["0.8", "0.4"]
    heights = [[bar.get_height() for bar in bars] for bars in axes.containers if len(bars) == 2]
    assert heights == [[42, 82], [21, 41]]


def test_long_names_of_bars_are_broken_where_many_stand_side_by_side(numbers: ResultFolder) -> None:
    schemes = numbers.summary.filter(pl.col("scheme") == "A").drop("scheme")
    names = [f"karuna, level {index}" for index in range(8)]
    numbers.summary = pl.concat(schemes.select(pl.lit(name).alias("scheme"), pl.all()) for name in names)
    axes = drawn(numbers, kind="bars", x="scheme", y="fct_mean_us", group=[], at={"load": 0.4})
    texts = [tick for tick in axes.get_xticklabels() if tick.get_text()]
    assert texts[0].get_text() == "karuna,\nlevel 0"
    boxes = [text.get_window_extent() for text in texts]
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))


def test_confidence_intervals_are_students(numbers: ResultFolder) -> None:
    axes = drawn(numbers, x="load", y="fct_mean_us", spread="confidence")
    # Of 41 and 43, whose standard error is 1; t with one degree of freedom is 12.706.
    band = axes.collections[0].get_paths()[0].get_extents()
    assert (band.ymin, band.ymax) == (
        pytest.approx(42 - 12.706, abs=1e-3),
        pytest.approx(82 + 12.706, abs=1e-3),
    )
    assert axes.get_figure().get_supxlabel() == "scale 0.01; mean and 95 % confidence interval of seeds 1, 3"
    one = drawn(numbers, x="load", y="fct_mean_us", spread="confidence", at={"seed": 1})
    extents = one.collections[0].get_paths()[0].get_extents()
    assert (extents.ymin, extents.ymax) == (41, 81)


def test_series_are_drawn_by_their_means(folder: ResultFolder) -> None:
    fresh = ResultFolder(folder.path)  # plots of the shared one stay as they are
    table = {"x": "workload.load", "places": "switch0->host0", "at": {"seed": 1}}
    axes = drawn(fresh, y="series:port_bytes", **table)
    chosen = (pl.col("scheme") == "PIAS") & (pl.col("workload.load") == 0.8) & (pl.col("seed") == 1)
    run = folder.summary.filter(chosen)["run"][0]
    queue = folder.run(run).series.to_polars().filter(pl.col("metric") == "port_bytes")
    assert line(axes, "PIAS")[1] == (0.8, pytest.approx(queue["value"].mean()))
    with pytest.raises(ScenarioError, match='y: unknown metric "port_byte"; did you mean "port_bytes"'):
        drawn(fresh, y="series:port_byte", **table)


def test_a_class_without_flows_draws_empty_curves(numbers: ResultFolder) -> None:
    axes = drawn(numbers, x="load", y="fct_mean_us", **{"class": "short"})
    assert line(axes, "A") == []


LOAD = {"x": "load", "y": "timeouts"}
MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"kind": "pie"}, 'kind: unknown kind of plot "pie"; known are line, bars, cdf, series, workloads'),
    (LOAD | {"y": 3}, "y: must be text or a list of text"),
    (LOAD | {"y": "fct_maen_us"}, 'y: unknown column "fct_maen_us"; did you mean "fct_mean_us"?'),
    (LOAD | {"x": "laod"}, 'x: unknown axis "laod"; did you mean "load"?'),
    (LOAD | {"class": "medium"}, 'class: unknown class "medium"; known are all, short'),
    (LOAD | {"at": {"load": 2}}, "at: no run has load = 2; there are 0.8, 0.4"),
    (LOAD | {"group": []}, 'group: leaves out "scheme", in which runs differ: add it here, or choose'),
    (LOAD | {"relative_to": "C"}, 'relative_to: unknown scheme "C"; known are A, B'),
    (LOAD | {"y": "series:a", "spread": "sigma"}, 'spread: unknown value "sigma"; known are range'),
]


@pytest.mark.parametrize(("table", "message"), MISTAKES)
def test_mistakes_are_named(numbers: ResultFolder, table: dict[str, Any], message: str) -> None:
    numbers.experiment["scaled"]["scale"] = 1.0
    with pytest.raises(ScenarioError, match="^" + re.escape(f"plot.test.{message}")):
        drawn(numbers, **table)


@pytest.mark.parametrize("name", ["/tmp/x", "../x", "a/b", ".x", ""])
def test_a_name_is_no_path(numbers: ResultFolder, name: str) -> None:
    numbers.experiment["plot"] = {name: {"x": "load", "y": "timeouts"}}
    with pytest.raises(ScenarioError, match=r"^plot: .*must be one, not a path"):
        numbers.plot(name)


def test_a_plot_that_fails_does_not_hide_the_others(folder: ResultFolder, tmp_path: Path) -> None:
    shutil.copytree(folder.path, tmp_path / "out", ignore=shutil.ignore_patterns("plots"))
    plots_of = (
        '[plot.a]\nx = "workload.load"\ny = "series:none"\n[plot.b]\nx = "workload.load"\ny = "timeouts"\n'
    )
    experiment = (folder.path / "experiment.toml").read_text("utf-8").partition("[plot.")[0]
    (tmp_path / "out" / "experiment.toml").write_text(experiment + plots_of)
    list_checksums(tmp_path / "out")
    drawn = draw(tmp_path / "out")
    assert [file.name for file in drawn.files] == ["b.png", "b.svg"]
    assert [failure.partition(";")[0] for failure in drawn.failures] == ['plot.a.y: unknown metric "none"']


def test_a_distribution_of_nothing_is_a_failure(
    folder: ResultFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(folder.path, tmp_path / "out", ignore=shutil.ignore_patterns("plots"))
    empty = '[plot.a]\nkind = "cdf"\nclass = "short"\nat = { "workload.load" = 0.8 }\n'
    plots_of = empty + '[plot.b]\nx = "workload.load"\ny = "timeouts"\n'
    experiment = (folder.path / "experiment.toml").read_text("utf-8").partition("[plot.")[0]
    (tmp_path / "out" / "experiment.toml").write_text(experiment + plots_of)
    list_checksums(tmp_path / "out")
    monkeypatch.setattr(
        "tailrace.plots.flows.Cdf._measured", lambda _, run, y: run.flows[y].to_frame().head(0)
    )
    drawn = draw(tmp_path / "out")
    assert [file.name for file in drawn.files] == ["b.png", "b.svg"]
    assert len(drawn.failures) == 1
    assert drawn.failures[0].startswith("plot.a.class: ")


@pytest.mark.parametrize("error", [ValueError, pl.exceptions.ComputeError, RuntimeError])
def test_numbers_that_cannot_be_drawn_are_a_failure(
    error: type[Exception], folder: ResultFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(folder.path, tmp_path / "out", ignore=shutil.ignore_patterns("plots"))

    def refuse(*_: object) -> str:
        raise error("data cannot be log-scaled")

    monkeypatch.setattr("tailrace.plots.flows.Cdf.draw", refuse)
    drawn = draw(tmp_path / "out")
    assert drawn.failures == ["plot.times: cannot be drawn: data cannot be log-scaled"]
    assert len(drawn.files) > 2


def test_text_is_drawn_as_it_is(numbers: ResultFolder) -> None:
    title = "costs $5, $\\foo$ \x1b[2J \u202ea"
    numbers.experiment["plot"] = {"test": {"x": "load", "y": "timeouts", "title": title}}
    numbers.summary = numbers.summary.with_columns(scheme=pl.col("scheme") + "\x07$x_$")
    chart = numbers.plot("test")
    assert chart.axes[0].get_title(loc="left") == "costs $5, $\\foo$ \\x1b[2J \\u202ea"
    with styled():
        files = save(chart, numbers.path / "plots" / "test")
    ElementTree.parse(files[1])


def test_a_picture_that_cannot_be_written_is_a_failure(numbers: ResultFolder) -> None:
    (numbers.path / "experiment.toml").write_text('[plot.a]\nx = "load"\ny = "timeouts"\n')
    list_checksums(numbers.path)
    (numbers.path / "plots").write_text("in the way")
    drawn = draw(numbers.path)
    assert drawn.files == []
    assert len(drawn.failures) == 1
    assert f"{numbers.path / 'plots'}" in drawn.failures[0]


def test_too_many_curves_are_refused(numbers: ResultFolder) -> None:
    schemes = [f"S{i}" for i in range(22)]
    numbers.summary = pl.DataFrame({"scheme": schemes, "load": 0.5, "class": "all", "timeouts": 1.0})
    with pytest.raises(ScenarioError, match="would draw 22 curves"):
        drawn(numbers, x="load", y="timeouts")
    assert len(legend(drawn(numbers, x="load", y="timeouts", at={"scheme": schemes[1:]}))) == len(PENS)


def test_an_experiment_leaves_all_its_plots(folder: ResultFolder) -> None:
    files = sorted(file.name for file in (folder.path / "plots").iterdir())
    names = ["change", "load", "queue", "sizes", "times"]
    assert files == [f"{name}.{ending}" for name in names for ending in ("png", "svg")]


def test_the_same_results_give_the_same_bytes(folder: ResultFolder) -> None:
    before = {file: file.read_bytes() for file in (folder.path / "plots").iterdir()}
    again = draw(folder.path)
    assert {file: file.read_bytes() for file in again.files} == before
    assert not any(b"<dc:date>" in content for content in before.values())


def test_a_distribution_ends_at_the_share_that_finished(folder: ResultFolder) -> None:
    axes = drawn(folder, kind="cdf", y="slowdown", at={"workload.load": 0.8}, **{"class": "short"})
    curve = line(axes, "DCTCP")
    assert curve[0][0] >= 1
    assert curve[0][1] == 0
    assert curve[-1][1] == 1
    assert curve == sorted(curve)
    assert axes.get_xscale() == "log"
    assert axes.get_figure().get_supxlabel() == "short flows; full scale; flows of seeds 1, 2"


def test_powers_of_ten_are_plain_text(folder: ResultFolder) -> None:
    axes = drawn(folder, kind="cdf", y="fct_ns", log="x", at={"workload.load": 0.8})
    axes.set_xlim(1e3, 1e8)
    assert {text.get_text() for text in axes.get_xticklabels()} >= {"10³", "10⁸"}
    axes.set_xlim(1e4, 5e4)
    assert "2×10⁴" in {text.get_text() for text in axes.get_xticklabels(minor=True)}


def test_series_are_chosen_by_place_and_index(folder: ResultFolder) -> None:
    chosen = {"kind": "series", "y": "queue_bytes", "at": {"workload.load": 0.4, "scheme": "PIAS"}}
    axes = drawn(folder, **chosen, index=[0, 7], places="switch0->host0")
    assert legend(axes) == ["queue (bytes) 0", "queue (bytes) 7"]
    assert axes.get_ylabel() == "Queue (bytes)"
    assert axes.get_xlabel() == "Time (ms)"
    with pytest.raises(ScenarioError, match=r'unknown index "9"; known are 0, 1'):
        drawn(folder, **chosen, index=9)
    with pytest.raises(ScenarioError, match=r'unknown place "host0"; known are switch0->host0'):
        drawn(folder, **chosen, places=["host0"])


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("fct_p99_us", "99th percentile of FCT (µs)"),
        ("slowdown_mean", "Mean slowdown"),
        ("retransmitted_bytes", "Retransmitted (bytes)"),
        ("miss_rate", "Missed deadlines (share)"),
        ("tct_p95_us", "95th percentile of TCT (µs)"),
        ("tct_max_us", "Longest TCT (µs)"),
        ("met_goodput_gbps", "Goodput of met deadlines (Gbit/s)"),
        ("mcp_expected_bps", "MCP expected rate (bit/s)"),
        ("workload.load", "Load"),
        ("scheme.PIAS.params.initial_window", "Initial window"),
    ],
)
def test_columns_have_readable_names(column: str, text: str) -> None:
    assert label(column) == text


@pytest.mark.parametrize(
    ("table", "left_out"),
    [
        ({"x": "load", "y": "fct_mean_us"}, False),
        ({"x": "load", "y": "fct_mean_us", "relative_to": "C"}, True),
        ({"x": "load", "y": "fct_mean_us", "relative_to": "A"}, False),
        ({"x": "load", "y": "fct_mean_us", "relative_to": "A", "at": {"scheme": ["A", "C"]}}, True),
        ({"kind": "series", "y": "port_bytes", "at": {"scheme": "C"}}, True),
        ({"kind": "cdf", "at": {"scheme": ["A", "C"], "load": 0.4}}, False),
        ({"kind": "workloads", "names": ["web-search"]}, False),
    ],
)
def test_plots_of_schemes_that_were_not_run_are_left_out(
    numbers: ResultFolder, table: dict[str, Any], left_out: bool
) -> None:
    numbers.experiment |= {"plot": {"test": table}}
    numbers.experiment["scheme"] = [{"name": "a", "label": "A"}, {"name": "B"}, {"name": "C"}]
    assert (plots.read(numbers, "test") is None) == left_out


def test_what_is_left_out_is_not_drawn(numbers: ResultFolder) -> None:
    plot = '[plot.queue]\nkind = "series"\ny = "port_bytes"\nat = { scheme = "C" }\n'
    (numbers.path / "experiment.toml").write_text('[[scheme]]\nname = "C"\n' + plot)
    list_checksums(numbers.path)
    assert draw(numbers.path) == ([], [])
