"""The maps of fabrics in a report: what they show is what was measured."""

import base64
import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tailrace import ResultFolder
from tailrace.__main__ import command
from tailrace.reports import report
from tailrace.reports.page import answers

# Eight hosts answer host 0 at once, now and then, beside other traffic. The end is that of a sample.
INCAST = """title = "Eight answer one"
[fabric]
kind = "star"
hosts = 9
host_rate = "10Gbps"
host_delay = "5us"
buffer = "360KB"
[[workload.rule]]
sizes = { fixed = "100KB" }
pattern = { incast = { fan_in = 8, receivers = [0] } }
every = "4ms"
stop = "10ms"
[[workload.rule]]
sizes = { fixed = "20KB" }
load = 0.2
stop = "10ms"
[[scheme]]
name = "dctcp"
[[scheme]]
name = "tcp"
[measure]
horizon = "10ms"
sample_every = "50us"
sample_ports = "all"
"""


def run(place: Path, text: str) -> ResultFolder:
    (place / "x.toml").write_text(text)
    assert command(["run", str(place / "x.toml"), "--out", str(place / "out")]) == 0
    return ResultFolder(place / "out")


def maps(page: str) -> dict[str, Any]:
    (data,) = re.findall(r'<script type="application/json" id="charts">(.*?)</script>', page, re.DOTALL)
    found: dict[str, Any] = json.loads(data)["maps"]
    return found


def section(page: str) -> str:
    (found,) = re.findall(r"<section><h2>The fabric</h2>(.*?)</section>", page, re.DOTALL)
    return str(found)


@pytest.fixture(scope="module")
def incast(tmp_path_factory: pytest.TempPathFactory) -> ResultFolder:
    return run(tmp_path_factory.mktemp("incast"), INCAST)


@pytest.fixture(scope="module")
def page(incast: ResultFolder) -> str:
    return report(incast.path).read_text("utf-8")


def test_shares_and_queues_of_any_frame_and_port_are_those_of_the_samples(
    incast: ResultFolder, page: str
) -> None:
    of = maps(page)["r0-fabric0"]
    # 200 samples in 50 frames, four in each.
    every, count = 200_000, of["frames"]
    assert (count, of["unit"], of["us"]) == (50, "ms", 200)
    for key, own in zip(incast.summary["run"].unique(maintain_order=True), of["maps"], strict=True):
        names = of["fabrics"][own["fabric"]]["names"]
        series = incast.run(key).series.to_polars()
        frames = series.with_columns(frame=((pl.col("time_ns") - 1) / every).floor().cast(pl.Int64))
        for metric, data, put, step in (
            ("utilisation", own["used"], pl.Expr.mean, 1 / 200),
            ("port_bytes", own["queue"], pl.Expr.max, of["longest"] / 255),
        ):
            rows = frames.filter(pl.col("metric") == metric).group_by("place", "frame")
            values = base64.b64decode(data)
            made = rows.agg(put(pl.col("value"))).rows()
            assert len(made) == len(values) == count * len(names)
            for place, frame, value in made:
                shown = values[names.index(place) * count + frame] * step
                assert shown == pytest.approx(value, abs=step * 0.501), (metric, place, frame)


@pytest.mark.parametrize(("scheme", "kind"), [("dctcp", "marked"), ("tcp", "dropped")])
def test_all_that_is_marked_and_dropped_is_in_a_frame(
    incast: ResultFolder, page: str, scheme: str, kind: str
) -> None:
    of = maps(page)["r0-fabric0"]
    (own,) = (own for own in of["maps"] if own["scheme"] == scheme)
    (key,) = incast.summary.filter(pl.col("scheme") == scheme)["run"].unique()
    ports = incast.run(key).ports.to_polars()
    shown = {of["fabrics"][0]["names"][line]: sum(counts[1::2]) for line, *counts in own[kind]}
    column = f"{kind}_packets"
    assert shown == {name: count for name, count in ports.select("name", column).iter_rows() if count}
    assert shown["switch0->host0"] > 10


def stills(page: str) -> list[tuple[str, list[str]]]:
    """The still pictures by their time."""
    (found,) = re.findall(r'<div class="stills">(.*?)</div><ul', section(page), re.DOTALL)
    parts = re.split(r"<h4>(.*?)</h4>", found)
    return [
        (when, re.findall(r"<svg .*?</svg>", svgs))
        for when, svgs in zip(parts[1::2], parts[2::2], strict=True)
    ]


def test_an_incast_is_seen_without_scripts(page: str) -> None:
    of = maps(page)["r0-fabric0"]
    assert len(stills(page)) == 3
    ((when, busiest),) = [(when, svgs) for when, svgs in stills(page) if "when most waited" in when]
    begin = of["start"] * of["every"]
    assert when.startswith(f"{begin:.4g} to {begin + of['every']:.4g} ms")
    assert len(busiest) == 2
    for svg in busiest:
        queues = {int(line): float(r) for line, r in re.findall(r'data-line="(\d+)" .*?r="([0-9.]+)"', svg)}
        longest = max(queues, key=queues.__getitem__)
        assert of["fabrics"][0]["names"][longest] == "switch0->host0"
        # Where the line to host 0 begins, as near as the circle is large.
        x, y = of["fabrics"][0]["lines"][longest][:2]
        (at,) = re.findall(rf'data-line="{longest}" cx="([0-9.]+)" cy="([0-9.]+)"', svg)
        assert abs(float(at[0]) - x) + abs(float(at[1]) - y) < 9
    marked, dropped = (('class="mark"' in svg, 'class="drop"' in svg) for svg in busiest)
    assert marked == (True, False)
    assert dropped == (False, True)


def test_colours_of_stills_are_those_of_their_shares(page: str) -> None:
    of = maps(page)["r0-fabric0"]
    ((_, svgs),) = [still for still in stills(page) if "when most waited" in still[0]]
    limits = [0, *range(40, 200, 40), 190]
    for own, svg in zip(of["maps"], svgs, strict=True):
        used = base64.b64decode(own["used"])
        ways = dict(re.findall(r'<path class="(u\d)" d="(.*?)"', svg))
        for line, place in enumerate(of["fabrics"][0]["lines"]):
            share = used[line * of["frames"] + of["start"]]
            start = "M{:g} {:g}L".format(*place[:2])
            assert start in ways[f"u{sum(share > limit for limit in limits)}"]


def test_flows_of_a_link_are_those_that_passed_it(incast: ResultFolder, page: str) -> None:
    of = maps(page)["r0-fabric0"]
    names = of["fabrics"][0]["names"]
    (listed,) = of["flows"]
    # Both schemes met the same flows, which are there once.
    assert [(own["flows"], own["run"]) for own in of["maps"]] == [(0, 0), (0, 1)]
    for own in of["maps"]:
        (key,) = incast.summary.filter(pl.col("scheme") == own["scheme"])["run"].unique()
        flows = incast.run(key).flows.to_polars()
        for host in range(9):
            passed = flows.filter(pl.col("dst") == host)
            line = names.index(f"switch0->host{host}")
            assert listed["count"][line] == len(passed)
            through = listed["through"][line]
            assert len(through) == min(20, len(passed))
            numbers = [listed["flow"][flow] for flow in through]
            assert set(numbers) <= set(passed["flow"])
            largest = passed.sort("size_bytes", "flow", descending=[True, False])["flow"].head(10).to_list()
            assert set(largest) <= set(numbers)
        times = dict(
            flows.select("flow", pl.struct("fct_ns", "size_bytes", "start_ns", "slowdown")).iter_rows()
        )
        for at, flow in enumerate(listed["flow"]):
            known = times[flow]
            assert listed["size"][at] == known["size_bytes"]
            assert listed["start"][at] == pytest.approx(known["start_ns"] / 1e3, abs=0.06)
            took = listed["runs"][own["run"]]
            expected = known["fct_ns"] and pytest.approx(known["fct_ns"] / 1e3, rel=1e-3)
            assert took["fct"][at] == expected
            assert took["slowdown"][at] == (known["slowdown"] and pytest.approx(known["slowdown"], rel=1e-2))


def test_a_burst_of_small_flows_is_listed_beside_the_largest_of_the_run(tmp_path: Path) -> None:
    """Since these were in progress when the queue was longest."""
    large = [f"1,0,200000,{number * 500_000}" for number in range(30)]
    burst = [f"{host},0,60000,16000000" for host in range(1, 9)]
    (tmp_path / "flows.csv").write_text("\n".join(["src,dst,size_bytes,start_ns", *large, *burst]) + "\n")
    head, _, rest = INCAST.partition("[[workload.rule]]")
    rest = rest[rest.index("[[scheme]]") :].replace('horizon = "10ms"\n', "")
    folder = run(tmp_path, f'{head}[workload]\nflow_list = "flows.csv"\n{rest}')
    of = maps(report(folder.path).read_text("utf-8"))["r0-fabric0"]
    (listed,) = of["flows"]
    line = of["fabrics"][0]["names"].index("switch0->host0")
    assert listed["count"][line] == 38
    numbers = [listed["flow"][flow] for flow in listed["through"][line]]
    assert len(numbers) == 20
    assert set(range(30, 38)) < set(numbers)
    # In order of size, and of their numbers where that is the same.
    assert numbers == [*range(12), *range(30, 38)]


SMALL = """title = "small"
[fabric]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 3
host_rate = "1Gbps"
spine_rate = "1Gbps"
[workload]
sizes = "web-search"
load = 0.4
flows = 200
"""
DCTCP = '[[scheme]]\nname = "dctcp"\n'
SAMPLED = '[measure]\nsample_every = "1ms"\nsample_ports = "all"\n'


def test_without_samples_it_is_the_whole_run_and_says_what_moves_it(tmp_path: Path) -> None:
    folder = run(tmp_path, SMALL + DCTCP)
    page = report(folder.path).read_text("utf-8")
    of = maps(page)["r0-fabric0"]
    (own,) = of["maps"]
    ports = folder.run(folder.summary["run"][0]).ports.to_polars()
    shown = dict(zip(of["fabrics"][0]["names"], base64.b64decode(own["used"]), strict=True))
    assert of["frames"] == 1
    assert shown == {
        name: round(200 * used) for name, used in ports.select("name", "utilisation").iter_rows()
    }
    said = section(page)
    assert "With these two fields of [measure] the map moves: sample_every = &quot;" in said
    (every,) = re.findall(r"sample_every = &quot;(\w+)&quot;, sample_ports = &quot;all&quot;", said)
    assert "data-time" not in said
    assert [when for when, _ in stills(page)] == ["the whole run"]
    # What it says to write can be written, and the map then moves.
    moving = run(tmp_path, f'{SMALL}{DCTCP}[measure]\nsample_every = "{every}"\nsample_ports = "all"\n')
    page = report(moving.path).read_text("utf-8")
    assert maps(page)["r0-fabric0"]["frames"] > 30
    assert "data-time" in section(page)


def test_rates_have_totals_only(tmp_path: Path) -> None:
    folder = run(tmp_path, f'level = "flow"\n{SMALL}{DCTCP.replace("dctcp", "pfabric")}')
    said = section(report(folder.path).read_text("utf-8"))
    assert "Of rates, which are simulated here in place of packets, there are totals only." in said
    assert "sample_every" not in said


def test_a_port_that_was_not_sampled_is_not_idle(tmp_path: Path) -> None:
    folder = run(
        tmp_path, f'{SMALL}{DCTCP}[measure]\nsample_every = "1ms"\nsample_ports = ["leaf0->spine1"]\n'
    )
    of = maps(report(folder.path).read_text("utf-8"))["r0-fabric0"]
    used = base64.b64decode(of["maps"][0]["used"])
    count = of["frames"]
    for line, name in enumerate(of["fabrics"][0]["names"]):
        own = set(used[line * count : (line + 1) * count])
        assert (own == {255}) == (name != "leaf0->spine1")


def test_samples_of_an_earlier_build_are_not_taken_for_idle_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = import_module("tailrace.reports.fabric_map")
    read = module.samples
    monkeypatch.setattr(module, "samples", lambda *of: read(*of).filter(pl.col("metric") == "port_bytes"))
    folder = run(tmp_path, SMALL + DCTCP + SAMPLED)
    page = report(folder.path).read_text("utf-8")
    assert "Its samples say nothing of use" in section(page)
    assert maps(page)["r0-fabric0"]["maps"][0]["totals"]


@pytest.mark.parametrize(("balancing", "several"), [("ecmp", False), ("spray", True)])
def test_where_packets_take_several_ways_only_the_links_of_hosts_have_flows(
    tmp_path: Path, balancing: str, several: bool
) -> None:
    text = SMALL.replace("[workload]", f'load_balancing = "{balancing}"\n[workload]')
    folder = run(tmp_path, text + DCTCP)
    of = maps(report(folder.path).read_text("utf-8"))["r0-fabric0"]
    flows = folder.run(folder.summary["run"][0]).flows.to_polars()
    (listed,) = of["flows"]
    assert listed["choice"] == several
    between = flows.filter((pl.col("src") < 3) & (pl.col("dst") >= 3))
    counts = dict(zip(of["fabrics"][0]["names"], listed["count"], strict=True))
    up = [counts[f"leaf0->spine{spine}"] for spine in (0, 1)]
    assert up == [0, 0] if several else (sum(up) == len(between) and min(up) > 0)
    for host in range(6):
        assert counts[f"host{host}->leaf{host // 3}"] == (flows["src"] == host).sum()
        assert counts[f"leaf{host // 3}->host{host}"] == (flows["dst"] == host).sum()


NAMES = """title = "names"
[fabric]
kind = "graph"
rate = "1Gbps"
hosts = ["<i>a&b", "to->there", "\\"c\\""]
link = [
  { ends = ["<i>a&b", "</script>"] },
  { ends = ["to->there", "</script>"] },
  { ends = ["\\"c\\"", "</script>"] },
]
[workload]
sizes = "web-search"
load = 0.4
flows = 40
[[scheme]]
name = "dctcp"
label = "<u>"
"""


def test_names_of_nodes_are_text(tmp_path: Path) -> None:
    folder = run(tmp_path, NAMES + SAMPLED)
    page = report(folder.path).read_text("utf-8")
    assert page.count("<script") == page.count("</script>") == 1 + answers()
    assert "<i>" not in page
    assert "<u>" not in page
    said = section(page)
    for name in ("&lt;i&gt;a&amp;b", "to-&gt;there", "&quot;c&quot;", "&lt;/script&gt;"):
        assert f"<title>{name}</title>" in said
    of = maps(page)["r0-fabric0"]
    assert (
        of["fabrics"][0]["names"] == folder.run(folder.summary["run"][0]).ports.to_polars()["name"].to_list()
    )
    assert of["flows"][0]["hosts"] == ["<i>a&b", "to->there", '"c"']


def test_what_has_no_room_is_said_and_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schemes = DCTCP + '[[scheme]]\nname = "tcp"\n'
    folder = run(
        tmp_path, SMALL + schemes + SAMPLED + '[sweep]\n"workload.load" = [0.2, 0.4]\nseed = [1, 2]\n'
    )
    module = import_module("tailrace.reports.fabric_map")
    monkeypatch.setattr(module, "_ROOM", 1)
    read: list[Path] = []
    samples = module.samples

    def noted(run: Path, ports: list[str]) -> pl.DataFrame:
        read.append(run)
        return samples(run, ports)

    monkeypatch.setattr(module, "samples", noted)
    page = report(folder.path).read_text("utf-8")
    assert [run.name for run in read] == [folder.summary["run"][0]]
    assert "So that the page stays small, 3 more runs have no map here." in section(page)
    assert list(maps(page)) == ["r0-fabric0"]
    monkeypatch.undo()
    page = report(folder.path).read_text("utf-8")
    assert list(maps(page)) == ["r0-fabric0", "r0-fabric1"]
    # One is open, the other folded; each has both schemes.
    assert section(page).count("<details>") == 1
    assert [[own["scheme"] for own in of["maps"]] for of in maps(page).values()] == [["dctcp", "tcp"]] * 2


def test_schemes_on_different_fabrics_have_their_own(tmp_path: Path) -> None:
    other = '[[scheme]]\nname = "tcp"\nwith = { "fabric.spines" = 1 }\n'
    folder = run(tmp_path, SMALL + DCTCP + other + SAMPLED)
    of = maps(report(folder.path).read_text("utf-8"))["r0-fabric0"]
    assert [len(fabric["names"]) for fabric in of["fabrics"]] == [20, 16]
    assert [(own["fabric"], own["flows"], own["run"]) for own in of["maps"]] == [(0, 0, 0), (1, 1, 0)]
    for own in of["maps"]:
        fabric = of["fabrics"][own["fabric"]]
        assert len(base64.b64decode(own["used"])) == of["frames"] * len(fabric["names"])
        # A run that is over before the other has no samples any more, and is not idle.
    ends = [base64.b64decode(own["used"])[of["frames"] - 1] for own in of["maps"]]
    assert ends.count(255) == 1


def test_a_fabric_that_is_too_large_is_said_to_be(tmp_path: Path) -> None:
    large = SMALL.replace("leaves = 2", "leaves = 200").replace("spines = 2", "spines = 4")
    folder = run(tmp_path, large.replace("flows = 200", "flows = 5") + DCTCP)
    page = report(folder.path).read_text("utf-8")
    assert "204 switches with 800 links between them, too many to be told apart" in section(page)
    assert maps(page) == {}


def test_the_guides_incast_is_seen(tmp_path: Path) -> None:
    guide = Path(__file__).parents[2] / "docs" / "guide" / "watch.toml"
    folder = run(tmp_path, guide.read_text("utf-8"))
    page = report(folder.path).read_text("utf-8")
    names = maps(page)["r0-fabric0"]["fabrics"][0]["names"]
    ((_, svgs),) = [still for still in stills(page) if "when most waited" in still[0]]
    for svg in svgs:
        queues = re.findall(r'data-line="(\d+)" .*?r="([0-9.]+)"', svg)
        line, _ = max(queues, key=lambda queue: float(queue[1]))
        assert names[int(line)] == "leaf0->host0"


def test_the_guides_failure_is_seen(tmp_path: Path) -> None:
    guide = Path(__file__).parents[2] / "docs" / "guide" / "failure.toml"
    folder = run(tmp_path, guide.read_text("utf-8"))
    page = report(folder.path).read_text("utf-8")
    assert len(maps(page)) == 1
    assert "spine1 fails at 20ms and is back at 40ms. Routes follow each change after 2ms." in section(page)
    for directory in sorted((folder.path / "runs").iterdir()):
        series = pl.read_parquet(directory / "series.parquet")
        used = series.filter((pl.col("metric") == "utilisation") & pl.col("place").str.contains("spine1"))
        times = used["time_ns"].to_numpy() / 1e6
        # Switches know of it from 22 ms on, and of its end from 42 ms on; samples are of half a millisecond.
        shares = used["value"].to_numpy()
        assert shares[(times > 23) & (times < 42)].max() == 0
        assert shares[times < 20].max() > 0.1
        assert shares[times > 43].max() > 0.1
        packets = json.loads((directory / "summary.json").read_text("utf-8"))["packets"]
        assert packets["dropped_failure"] > 0
        assert packets["injected"] == sum(packets[what] for what in packets if what != "injected")
