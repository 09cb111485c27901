"""Tables of the texts have the fields, defaults, columns and schemes that there are."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tailrace import Result, ResultFolder
from tailrace.__main__ import command

ROOT = Path(__file__).parents[2]
Rows = dict[str, str]


def read(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def section(text: str, heading: str) -> str:
    """What stands below a heading, up to the next."""
    below = re.split(rf"^##+ {re.escape(heading)}$", text, maxsplit=1, flags=re.MULTILINE)[1]
    return re.split(r"^#+ ", below, maxsplit=1, flags=re.MULTILINE)[0]


def names(text: str) -> list[str]:
    """What stands in backticks, but not in blocks."""
    return re.findall(r"`([^`]+)`", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))


def rows(text: str, head: str) -> Rows:
    """What the table whose first line begins so says: names of the first column, and the second column."""
    table = text.partition(f"{head}")[2].partition("\n\n")[0]
    found = {}
    for line in table.splitlines()[2:]:
        first, second = line.split("|")[1:3]
        fields = names(first)
        values = second.split(",") if len(fields) > 1 and second.count(",") == len(fields) - 1 else [second]
        found |= {field: value.strip() for field, value in zip(fields, values * len(fields), strict=False)}
    return found


def value(cell: str) -> Any:
    """The value that a cell says, as TOML: text is in backticks, numbers need not be."""
    return tomllib.loads(f"v = {cell.strip('`')}")["v"]


STAR = """
fabric = { kind = "star", hosts = 2, host_rate = "1Gbps" }
scheme = [{ name = "tcp" }]
"""
ONE_FLOW = 'workload = { sizes = { fixed = "1KB" }, load = 0.5, flows = 1 }\n'


def test_a_table_is_read() -> None:
    lines = ["| field | default | |", "|---|---|---|", "| `a` | 1 | x |", '| `b`, `c` | `"0s"`, – | y |']
    text = "\n".join([*lines, "", "| `d` | 2 | |"])
    assert rows(text, "| field") == {"a": "1", "b": '`"0s"`', "c": "–"}
    assert value('`"0s"`') == "0s"


@pytest.fixture(scope="module")
def resolved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A scenario in which nothing is given that need not be, with all defaults written out."""
    folder = tmp_path_factory.mktemp("defaults")
    file = folder / "small.toml"
    file.write_text(STAR + ONE_FLOW)
    assert command(["run", str(file), "--out", str(folder / "out")]) == 0
    (written,) = (folder / "out" / "runs").glob("*/scenario.toml")
    return tomllib.loads(written.read_text("utf-8"))


@pytest.mark.parametrize(
    ("heading", "head", "left_out"),
    [
        ("Transport", "| field | default |", set()),
        ("Fabric", "| field, all kinds | default |", {"kind", "hosts", "host_rate", "host_delay"}),
        ("Measure", "| field | default |", set()),
    ],
)
def test_defaults_are_those_of_the_program(
    resolved: dict[str, Any], heading: str, head: str, left_out: set[str]
) -> None:
    listed = rows(section(read("docs/reference/scenario.md"), heading), head)
    fields = resolved[heading.lower()]
    said = {name: value(listed[name]) for name in fields.keys() - left_out}
    assert said == {name: fields[name] for name in said}


def accepted(folder: Path, change: str, command: str = "run") -> set[str]:
    """The fields of a table that the program knows: it lists them where it is given another one."""
    file = folder / "file.toml"
    start = "" if command == "fluid" else STAR if "workload" in change else STAR + ONE_FLOW
    file.write_text(start + change)
    run = [sys.executable, "-m", "tailrace", command, str(file)]
    said = subprocess.run(run, check=False, capture_output=True, text=True).stderr
    return set(said.strip().rpartition('unknown field "qqqqq"; known are ')[2].split(", "))


@pytest.mark.parametrize(
    ("heading", "heads", "given", "beside"),
    [
        ("Transport", ["| field |"], "[transport]\nqqqqq = 1\n", ""),
        ("Measure", ["| field |"], "[measure]\nqqqqq = 1\n", ""),
        (
            "Workload",
            ["| field of the whole |", "| field of a rule |"],
            "[workload]\nqqqqq = 1\n",
            "rule task",
        ),
        ("Tasks", ["| field |"], "[[workload.task]]\nqqqqq = 1\n", ""),
        ("Slices", ["| field |"], "[[slice]]\nqqqqq = 1\n", ""),
        ("Level", ["| field of `[flow]` |"], "[flow]\nqqqqq = 1\n", ""),
    ],
)
def test_tables_of_fields_are_whole(
    tmp_path: Path, heading: str, heads: list[str], given: str, beside: str
) -> None:
    text = section(read("docs/reference/scenario.md"), heading)
    listed = {name for head in heads for name in rows(text, head)}
    assert listed | set(beside.split()) == accepted(tmp_path, given)


@pytest.mark.parametrize(
    ("page", "heading", "given", "command"),
    [
        ("docs/guide/experiments.md", "`[[claim]]`", "[[claim]]\nqqqqq = 1\n", "run"),
        ("docs/guide/experiments.md", "`[[expect]]`", "[[expect]]\nqqqqq = 1\n", "run"),
        ("docs/guide/experiments.md", "`number`", "[[claim]]\nnumber = { qqqqq = 1 }\n", "run"),
        ("docs/guide/fluid.md", "Your own", 'law = "dctcp"\nqqqqq = 1\n', "fluid"),
    ],
)
def test_every_field_is_told_of(tmp_path: Path, page: str, heading: str, given: str, command: str) -> None:
    told = {name.strip("[]").partition(" = ")[0] for name in names(section(read(page), heading))}
    assert accepted(tmp_path, given, command) <= told


KINDS = {
    "star": {"hosts": 8, "host_rate": "1Gbps"},
    "dumbbell": {"left": 4, "right": 8, "host_rate": "1Gbps", "bottleneck_rate": "1Gbps"},
    "parking-lot": {"switches": 3, "hosts_per_switch": 2, "host_rate": "1Gbps", "row_rate": "1Gbps"},
    "leaf-spine": {
        "leaves": 2, "spines": 2, "hosts_per_leaf": 4, "host_rate": "1Gbps", "spine_rate": "1Gbps",
    },
    "tree": {
        "pods": 2, "edges_per_pod": 2, "hosts_per_edge": 2, "aggs_per_pod": 2, "cores": 2,
        "host_rate": "1Gbps", "edge_rate": "1Gbps", "core_rate": "1Gbps",
    },
    "fat-tree": {
        "radix": 4, "tiers": 3, "oversubscription": 1, "host_rate": "1Gbps", "switch_rate": "1Gbps",
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_fields_and_ports_of_a_kind_of_fabric(tmp_path: Path, kind: str) -> None:
    """Those that the reference names make such a fabric, which has ports of the names that it gives."""
    lines = section(read("docs/reference/scenario.md"), "Fabric").splitlines()
    (line,) = [line for line in lines if line.startswith(f"| `{kind}` |")]
    _, _, fields, ports, _ = line.split("|")
    assert names(fields) == list(KINDS[kind])
    file = tmp_path / "kind.toml"
    given = "".join(f"{name} = {value!r}\n" for name, value in KINDS[kind].items())
    file.write_text(
        f'[fabric]\nkind = "{kind}"\n{given}[workload]\nsizes = {{ fixed = "1KB" }}\nload = 0.5\nflows = 1\n'
        f'[measure]\nsample_every = "1ms"\nsample_ports = {names(ports)}\n[[scheme]]\nname = "tcp"\n'
    )
    assert command(["run", str(file), "--out", str(tmp_path / "out")]) == 0


@pytest.mark.parametrize("heading", ["Flows", "Ports"])
def test_columns_of_tables_are_those_of_results(result: Result, heading: str) -> None:
    listed = rows(section(read("docs/reference/results.md"), heading), "| column |")
    assert set(listed) == set(getattr(result, heading.lower()).to_polars().columns)


def test_columns_of_the_summary(folder: ResultFolder) -> None:
    listed = rows(section(read("docs/reference/results.md"), "Summary"), "| column |")
    of_tasks = {name for name in listed if "task" in name or name.startswith("tct_")}
    assert set(listed) - of_tasks == set(folder.summary.columns) - (set(folder.axes) - {"scheme"})


def test_fields_of_a_run_s_summary(result: Result) -> None:
    listed = rows(section(read("docs/reference/results.md"), "Run summary"), "| field |")
    assert set(listed) - {"updates"} == set(result.info)


def known(level: str) -> set[str]:
    """The names of the schemes that exist at a level, from the page that is made from the program."""
    page = read("docs/reference/schemes.md")
    listed = re.findall(r"^\| \[`(\w+)`\].*\| ([a-z, ]+) \|$", page, re.MULTILINE)
    return {name for name, levels in listed if level in levels.split(", ")}


def test_the_number_of_schemes() -> None:
    schemes = known("packet") | known("flow")
    assert f"; {len(schemes)} ship with it" in read("README.md")


@pytest.mark.parametrize(
    ("page", "passage", "levels"),
    [
        ("README.md", r"^There: .*?(?=\n\n)", ["packet"]),
        ("README.md", r"^There too: .*?(?=\n\n)", ["flow"]),
        ("docs/guide/experiments.md", r"at both do .*?;", ["packet", "flow"]),
    ],
)
def test_schemes_are_named_at_their_levels(page: str, passage: str, levels: list[str]) -> None:
    found = re.search(passage, read(page), re.DOTALL | re.MULTILINE)
    assert found
    named = set(names(found[0])) & (known("packet") | known("flow"))
    assert named == set.intersection(*map(known, levels))


TRACED = """
[fabric]
kind = "star"
hosts = 4
host_rate = "10Gbps"
[workload]
load = 0.6
flows = 60
[measure]
trace_every_flow = 1
sample_every = "1ms"
sample_ports = "all"
[[workload.rule]]
sizes = { fixed = "300KB" }
byte_share = 0.5
deadline = { exp = "20ms" }
slice = 1
[[workload.rule]]
sizes = { fixed = "300KB" }
byte_share = 0.5
reveals = "nothing"
slice = 2
[[slice]]
weight = 1
[[slice]]
weight = 0.5
"""


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The series that each scheme reports, where ports are watched and flows are traced."""
    out = tmp_path_factory.mktemp("traced") / "out"
    file = out.with_suffix(".toml")
    file.write_text(TRACED + "".join(f'[[scheme]]\nname = "{name}"\n' for name in sorted(known("packet"))))
    assert command(["run", str(file), "--out", str(out)]) == 0
    runs = ResultFolder(out)
    keys = runs.summary.select("scheme", "run").unique().iter_rows()
    return {name: set(runs.run(key).series.to_polars()["metric"]) for name, key in keys}


@pytest.mark.parametrize("metric", ["window_segments", "mcp_window_segments"])
def test_series_come_from_the_schemes_that_are_named(reported: dict[str, set[str]], metric: str) -> None:
    lines = section(read("docs/reference/results.md"), "Series").splitlines()
    (line,) = [line for line in lines if line.startswith(f"| `{metric}`")]
    named = set(names(line)) & known("packet")
    assert named == {name for name, metrics in reported.items() if metric in metrics}
