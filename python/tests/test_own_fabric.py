"""The guide to one's own fabric, followed as it is written, and what Python makes of graphs and frames."""

import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import networkx as nx
import polars as pl
import pytest

import tailrace

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "own-fabric.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A folder in which the guide's first part was followed, and what its commands said."""
    folder = tmp_path_factory.mktemp("own")
    text = GUIDE.read_text("utf-8").split("## In an experiment")[0]
    said = []
    for language, block in BLOCK.findall(text):
        if language == "xml":
            (folder / "ours.graphml").write_text(block, "utf-8")
            continue
        script = block.replace("tailrace ", f"{sys.executable} -m tailrace ") if "awk" not in block else block
        shell = ["sh", "-e", "-c", script]
        done = subprocess.run(shell, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    return folder, said


def test_the_guide_leads_to_a_report(followed: tuple[Path, list[str]]) -> None:
    folder, said = followed
    assert "5 hosts, 4 switches, 9 links: 1 of 1Gbps, 6 of 10Gbps, 2 of 40Gbps" in said[-1]
    for scheme in ("dctcp", "pias", "pfabric"):
        assert scheme in said[-1]
    report = said[-1].rstrip().splitlines()[-1].removeprefix("report: ")
    page = (folder / report).read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert "pfabric" in page


def test_hosts_are_those_that_the_trace_names(followed: tuple[Path, list[str]]) -> None:
    folder, _ = followed
    flows = pl.concat(
        [pl.read_parquet(file) for file in sorted((folder / "out/ours/results").rglob("flows.parquet"))]
    )
    trace = pl.read_csv(folder / "ours.csv")
    names = ["web1", "web2", "db1", "db2", "batch"]
    assert len(flows) == 3 * len(trace)
    for number, name in enumerate(names):
        assert (flows["src"] == number).sum() == 3 * (trace["src"] == name).sum()
        assert (flows["dst"] == number).sum() == 3 * (trace["dst"] == name).sum()


def test_the_faster_spine_carries_four_fifths(followed: tuple[Path, list[str]]) -> None:
    folder, _ = followed
    ports = pl.concat(
        [pl.read_parquet(file) for file in sorted((folder / "out/ours/results").rglob("ports.parquet"))]
    )
    new, old = (
        ports.filter(pl.col("name") == f"leaf0->{name}")["sent_packets"].sum() for name in ("new", "old")
    )
    # Flows by their hash, some of them large.
    assert 0.65 < new / (new + old) < 0.95


def ring() -> Any:
    """Four switches in a ring, a host at each, and a second link between two of them."""
    graph = nx.MultiGraph()
    for number in range(4):
        graph.add_node(f"h{number}", type="host")
        graph.add_node(f"s{number}", type="switch")
        graph.add_edge(f"h{number}", f"s{number}", rate="10Gbps", delay="1us")
    for number in range(4):
        graph.add_edge(f"s{number}", f"s{(number + 1) % 4}", capacity=40, latency_ns=500)
    graph.add_edge("s0", "s1", capacity=10, latency_ns=700, metric=2, ecmp_weight=3)
    return graph


def test_a_graph_of_networkx_is_what_networkx_writes(tmp_path: Path) -> None:
    graph = ring()
    of_graph = tailrace.graph(graph, rate_unit="Gbps")
    nx.write_graphml(graph, tmp_path / "ring.graphml")
    nx.write_gml(graph, tmp_path / "ring.gml")
    for name in ("ring.graphml", "ring.gml"):
        assert tailrace.graph(tmp_path / name, rate_unit="Gbps") == of_graph
    both = tailrace.graph(graph.to_directed(), rate_unit="Gbps")
    assert sorted(map(str, both["link"])) == sorted(map(str, of_graph["link"]))
    slow = of_graph["link"][-1] if "metric" in of_graph["link"][-1] else None
    slow = slow or next(link for link in of_graph["link"] if "metric" in link)
    assert slow == {"ends": ["s0", "s1"], "rate": "10Gbps", "delay": "700ns", "metric": 2, "ecmp_weight": 3}


def test_defaults_of_a_file_are_kept_by_networkx_too(followed: tuple[Path, list[str]]) -> None:
    folder, _ = followed
    of_file = tailrace.graph(folder / "ours.graphml")
    of_networkx = tailrace.graph(nx.read_graphml(folder / "ours.graphml"))
    assert sorted(map(str, of_file["link"])) == sorted(map(str, of_networkx["link"]))
    assert (of_file["hosts"], of_file["switches"]) == (of_networkx["hosts"], of_networkx["switches"])


def test_deadlines_are_those_of_the_slowest_host() -> None:
    links = [
        {"ends": [f"h{host}", "s"], "rate": rate} for host, rate in enumerate(["10Gbps", "1Gbps", "1Gbps"])
    ]
    fabric = {"kind": "graph", "hosts": ["h0", "h1", "h2"], "link": links}
    workload = {
        "sizes": {"fixed": "1MB"},
        "every": "20ms",
        "flows": 60,
        "deadline": {"ideal": {"factor": 1.3}},
    }
    flows = (
        tailrace.Scenario(fabric=fabric, workload=workload, scheme={"name": "fifo"}).run().flows.to_polars()
    )
    assert (flows["deadline_ns"] > 1.25 * flows["ideal_ns"]).all()


def test_a_list_of_flows_at_flow_level(tmp_path: Path) -> None:
    """What a level leaves out of a scheme is known with the list, whose sizes its thresholds are for."""
    graph = tailrace.graph(ring(), rate_unit="Gbps")
    rows = [f"{row % 4},{(row + 1) % 4},{1000 * row},{10_000 if row % 9 else 900_000}" for row in range(300)]
    (tmp_path / "flows.csv").write_text("\n".join(["src,dst,start_ns,size_bytes", *rows]))
    text = tailrace.Scenario(
        fabric=graph, workload={"flow_list": "flows.csv"}, scheme={"name": "pias"}, level="flow"
    ).to_toml()
    (tmp_path / "scenario.toml").write_text(text)
    result = tailrace.Scenario.from_file(tmp_path / "scenario.toml").run()
    assert result.flows.to_polars().height == 300


def test_names_may_be_anything(tmp_path: Path) -> None:
    graph = nx.Graph([(1, 'a "quoted" & odd name'), ((2, "b"), 'a "quoted" & odd name')])
    fabric = tailrace.graph(graph) | {"rate": "1Gbps"}
    assert fabric["hosts"] == ["1", "(2, 'b')"]
    assert fabric["switches"] == ['a "quoted" & odd name']
    workload = {"sizes": {"fixed": "1KB"}, "every": "10us", "flows": 10}
    result = tailrace.Scenario(fabric=fabric, workload=workload, scheme={"name": "fifo"}).run()
    assert set(result.ports.to_polars()["name"]) >= {'1->a "quoted" & odd name'}


@pytest.mark.parametrize(
    ("graph", "because"),
    [
        (nx.Graph(), "has no links"),
        (nx.Graph([("a", "b")]), "are the hosts"),
        (nx.Graph([(0, 1), ("0", 1)]), 'two nodes are called "0"'),
        (nx.DiGraph([("a", "s"), ("s", "a"), ("b", "s")]), 'a link leads from "b" to "s" and none back'),
        (nx.Graph([("a", "s", {"rate": 10}), ("b", "s", {"rate": 10})]), "rate is 10, of what?"),
    ],
)
def test_a_graph_that_is_no_fabric_is_told_so(graph: Any, because: str) -> None:
    with pytest.raises(tailrace.ScenarioError, match=re.escape(because)):
        tailrace.Scenario(
            fabric=tailrace.graph(graph) | {"rate": "1Gbps"},
            workload={"sizes": {"fixed": "1KB"}, "every": "10us", "flows": 10},
            scheme={"name": "fifo"},
        ).run()


def test_what_is_no_graph_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="must be a graph of NetworkX or the name of a file, not int"):
        tailrace.graph(7)
    with pytest.raises(tailrace.ScenarioError, match="cannot be read"):
        tailrace.graph(tmp_path / "nothing.gml")
    (tmp_path / "cut.gml").write_text("graph [\nnode [\n")
    with pytest.raises(tailrace.ScenarioError, match=r"cut.gml:2: a \[ without its \]"):
        tailrace.graph(tmp_path / "cut.gml")


def flows() -> pl.DataFrame:
    rows = range(900)
    return pl.DataFrame(
        {
            "start_us": [3.0 * row for row in rows],
            "src": [f"h{row * 7 % 4}" for row in rows],
            "dst": [f"h{(row * 7 + 1 + row % 3) % 4}" for row in rows],
            "bytes": [100_000 if row % 10 == 0 else 1_000 for row in rows],
        }
    )


def test_a_frame_on_a_graph_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    graph = ring()
    for _, _, of in graph.edges(data=True):
        if "capacity" in of:
            of["rate"] = f"{of.pop('capacity')}Gbps"
    ended = []
    compared = tailrace.compare(
        flows(),
        fabric=graph,
        schemes=["fifo", "pias"],
        jobs=1,
        on_result=lambda run, _: ended.append(run.scheme),
    )
    assert ended == ["fifo", "pias"]
    assert "4 hosts, 4 switches, 9 links" in compared.described
    whole = compared.pairs.filter(pl.col("flows") == "all").row(0, named=True)
    assert (whole["scheme"], whole["against"], whole["paired"]) == ("pias", "fifo", 900)
    runs = compared.results.summary["run"].unique(maintain_order=True)
    one, other = (compared.results.run(run).flows.to_polars() for run in runs)
    ratio = (other["fct_ns"].log() - one["fct_ns"].log()).mean()
    assert math.isclose(whole["ratio"], math.exp(ratio), rel_tol=1e-9)
    # The command finds these runs, and says the same.
    folder = str(compared.results.path)
    words = ["run", str(compared.file), "--out", folder, "--jobs", "1"]
    command = [sys.executable, "-m", "tailrace", *words]
    of_command = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"{folder}/summary.csv" in of_command.stdout
    assert compared.report().read_text("utf-8").startswith("<!doctype html>")
    page = compared._repr_html_()
    assert compared.described.startswith("frame: 900 flows")
    assert compared.results.run("pias").info["scheme"] == "pias"
    assert "900 flows between 4 hosts" in page
    assert "pias" in page


def test_a_frame_of_pandas_is_one_too(tmp_path: Path) -> None:
    schemes = ["fifo", "pias"]
    one = tailrace.compare(flows(), fabric="rack16", schemes=schemes, out=tmp_path / "a")
    two = tailrace.compare(flows().to_pandas(), fabric="rack16", schemes=schemes, out=tmp_path / "b")
    assert one.pairs.equals(two.pairs)


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum([f"h{host}" for host in range(4)])])
def test_hosts_may_be_categories(tmp_path: Path, kind: pl.DataType) -> None:
    texts = flows().with_columns(pl.col("src", "dst").cast(pl.String))
    of_kind = texts.with_columns(pl.col("src", "dst").cast(kind))
    said = [
        tailrace.compare(frame, fabric="rack16", schemes="fifo,tcp", out=tmp_path / name).described
        for name, frame in (("a", texts), ("b", of_kind))
    ]
    assert said[0] == said[1]
    with pytest.raises(tailrace.ScenarioError, match=r"src: has the type Boolean: write it as numbers"):
        tailrace.compare(flows().with_columns(src=pl.lit(True)), out=tmp_path / "c")


def test_a_folder_of_another_trace_is_left_as_it_is(tmp_path: Path) -> None:
    for name in ("a", "b"):
        flows().write_csv(tmp_path / f"{name}.csv")
    out = tmp_path / "out"
    tailrace.compare(tmp_path / "a.csv", fabric="rack16", schemes=["fifo", "tcp"], out=out)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with pytest.raises(tailrace.ScenarioError, match=r"holds the flows of another trace than b: .* out="):
        tailrace.compare(tmp_path / "b.csv", fabric="rack16", schemes=["fifo", "tcp"], out=out)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_rates_of_the_schemes_that_have_some(tmp_path: Path) -> None:
    by_rates = tailrace.compare(flows(), fabric="rack16", level="flow", set={"seed": 3}, out=tmp_path / "a")
    assert by_rates.results.schemes == ["rcp", "pias", "srpt"]
    assert by_rates.results.run("srpt").info["scheme"] == "srpt"
    # A file that nobody has changed gives way to other schemes, and their runs to no others.
    fewer = tailrace.compare(flows(), fabric="rack16", schemes="rcp,srpt", level="flow", out=tmp_path / "a")
    assert fewer.results.schemes == ["rcp", "srpt"]
    with pytest.raises(tailrace.ScenarioError, match=r'^level: unknown level "flwo"'):
        tailrace.compare(flows(), fabric="rack16", level="flwo", out=tmp_path / "b")


def test_mistakes_of_a_comparison(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="must be a file or a frame of polars or pandas, not list"):
        tailrace.compare([1, 2], out=tmp_path)
    with pytest.raises(tailrace.ScenarioError, match="src"):
        tailrace.compare(flows().drop("src"), out=tmp_path)
    with pytest.raises(tailrace.ScenarioError, match=r"^fabric: "):
        tailrace.compare(flows(), fabric="rack61", out=tmp_path)
    with pytest.raises(tailrace.ScenarioError, match="pais"):
        tailrace.compare(flows(), fabric="rack16", schemes=["dctcp", "pais"], out=tmp_path)
    with pytest.raises(tailrace.ScenarioError, match=r"nosuch\.graphml: cannot be read"):
        tailrace.compare(flows(), fabric="nosuch.graphml", out=tmp_path)
    with pytest.raises(tailrace.ScenarioError, match=r"^schemes: must be names, not \{'name'"):
        tailrace.compare(flows(), fabric="rack16", schemes=[{"name": "pias"}, "fifo"], out=tmp_path)  # type: ignore[list-item]
    with pytest.raises(tailrace.ScenarioError, match=r"^columns: "):
        tailrace.compare(flows(), fabric="rack16", columns={"size": "nosuch"}, out=tmp_path)
    assert list(tmp_path.iterdir()) == []
