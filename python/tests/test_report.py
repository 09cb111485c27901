"""The report: its numbers are the table's, its curves exact, and any text in it is text."""

import html
import json
import re
import shutil
from importlib import import_module
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from checksums import list_checksums
from hypothesis import given
from hypothesis import strategies as st

from tailrace import ResultFolder, RunError
from tailrace.__main__ import command
from tailrace.reports import report, words
from tailrace.reports.charts import ranks
from tailrace.reports.flows import Apart, points
from tailrace.reports.page import answers


@pytest.fixture(scope="module")
def page(folder: ResultFolder, tmp_path_factory: pytest.TempPathFactory) -> str:
    return report(folder.path, out=tmp_path_factory.mktemp("report") / "x.html").read_text("utf-8")


def charts(page: str) -> dict[str, dict[str, object]]:
    (data,) = re.findall(r'<script type="application/json" id="charts">(.*?)</script>', page, re.DOTALL)
    known = json.loads(data)
    for chart in known["charts"].values():
        for curve in (curve for view in chart["views"] for curve in view["curves"] if "count" in curve):
            curve["y"] = [rank / curve["of"] for rank in known["ranks"].get(str(curve["count"]), [])]
    return known["charts"]


def cells_of(row: str) -> list[str]:
    return [html.unescape(cell) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t", row)]


def means_of(page: str) -> dict[tuple[str, ...], dict[str, str]]:
    """The table of means: class, load and scheme, to the cells by column."""
    (section,) = re.findall(r'<section id="r0-means"><h2>Means</h2>(.*?)</section>', page, re.DOTALL)
    parts = re.split(r"<summary>(\w+) flows</summary>", section)
    found = {}
    for kind, part in zip(["all", *parts[1::2]], parts[::2], strict=True):
        header, *rows = map(cells_of, re.findall(r"<tr>(.*?)</tr>", part, re.DOTALL))
        for row in rows:
            cells = dict(zip(header, row, strict=True))
            found[kind, cells["load"], cells["scheme"]] = cells
    return found


def test_numbers_are_those_of_the_printed_table(
    folder: ResultFolder, page: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert command(["gather", str(folder.path)]) == 0
    printed = [re.split(r" {2,}", line.strip()) for line in capfd.readouterr().out.splitlines()]
    (header,) = (row for row in printed if "slowdown" in row)
    rows = [row for row in printed if len(row) == len(header) and row != header]
    means = means_of(page)
    assert len(rows) == len(means) >= 12
    for row in rows:
        cells = dict(zip(header, row, strict=True))
        shown = means[cells["class"], cells["load"], cells["scheme"]]
        for name in header:
            assert name == "class" or shown[name] == cells[name]


def test_curves_are_exact_quantiles(folder: ResultFolder, page: str) -> None:
    chart = charts(page)["r0-distributions"]
    first = chart["views"][0]
    rows = folder.summary.filter(pl.col("class") == "all")
    load = rows["workload.load"][0]
    for curve in first["curves"]:
        runs = rows.filter((pl.col("scheme") == curve["label"]) & (pl.col("workload.load") == load))["run"]
        values = pl.concat(
            folder.run(run).measured_flows().to_polars()["slowdown"].drop_nulls() for run in runs
        ).sort()
        assert curve["y"][-1] == 1.0
        for x, y in zip(curve["x"], curve["y"], strict=True):
            rank = round(y * len(values))
            assert x == pytest.approx(values[rank - 1], rel=1e-3)


@given(st.integers(1, 10**7), st.integers(40, 2000))
def test_ranks_begin_and_end_where_flows_do_and_are_as_many_as_there_is_room_for(
    count: int, most: int
) -> None:
    chosen = ranks(count, most)
    assert chosen == sorted(set(chosen))
    assert (chosen[0], chosen[-1]) == (1, count)
    assert len(chosen) <= most
    # The hundred largest of many are as good as all there where there is room for a thousand.
    if count > 10_000 and most >= 1000:
        assert sum(rank > count - 30 for rank in chosen) == 30


def test_equal_results_have_equal_reports(folder: ResultFolder, page: str, tmp_path: Path) -> None:
    shutil.copytree(folder.path, tmp_path / "again")
    assert report(tmp_path / "again").read_text("utf-8") == page


def test_the_verdict_is_that_of_the_pairs(page: str) -> None:
    (said,) = re.findall(r'<ul class="verdict">(.*?)</ul>', page, re.DOTALL)
    for line in re.findall(r"<li>(.*?)</li>", said):
        first, second = re.findall(r"<strong>(.*?)</strong>", line)
        ratio, low, high = map(
            float,
            re.findall(
                rf"{second} takes ([0-9.]+) \(([0-9.]+) to ([0-9.]+)\) times as long as {first}", line
            )[0],
        )
        assert ratio >= 1.0
        assert low <= ratio <= high
        assert ("before" in line) == (low > 1.0)
        assert ("not told apart" in line) == (low <= 1.0)


HOSTILE = """title = "</script><script>alert(1)</script>"
about = "A <b>bold</b> & simple $text$."
[fabric]
kind = "star"
hosts = 3
host_rate = "1Gbps"
[workload]
sizes = "web-search"
load = 0.4
flows = 40
[[scheme]]
name = "fifo"
label = "</script><i>"
[[scheme]]
name = "dctcp"
label = "a \\"quoted\\" <tag>"
"""


def test_any_text_is_text_and_a_part_is_reported(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(HOSTILE)
    out = tmp_path / "out"
    assert command(["run", str(tmp_path / "x.toml"), "--out", str(out), "--part", "1/2"]) == 0
    part = report(out).read_text("utf-8")
    assert "1 of 2 runs are not finished" in part
    assert command(["run", str(tmp_path / "x.toml"), "--out", str(out), "--report"]) == 0
    page = (out / "report.html").read_text("utf-8")
    assert "alert(1)" in page
    assert page.count("<script") == page.count("</script>") == 1 + answers()
    assert "<i>" not in page
    assert "<tag>" not in page
    assert "not finished" not in page
    curves = charts(page)["r0-distributions"]["views"][0]["curves"]
    assert [curve["label"] for curve in curves] == ["</script><i>", 'a "quoted" <tag>']


def test_it_asks_for_nothing_from_elsewhere(page: str) -> None:
    body = page.partition("<body>")[2]
    assert not re.findall(r'(?:src|href)="(?!data:|#)', body)
    assert "@import" not in page
    assert "fetch(" not in page


def test_several_folders_need_a_place_and_are_one_page(folder: ResultFolder, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="say where it is to be"):
        report(folder.path, folder.path)
    assert command(["report", str(folder.path), str(folder.path)]) == 2
    out = tmp_path / "both.html"
    assert command(["report", str(folder.path), str(folder.path), "--out", str(out)]) == 0
    assert out.read_text("utf-8").count("<h2>In short</h2>") == 2


def test_what_is_no_result_is_one_message(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert command(["report", str(tmp_path / "nowhere")]) == 1
    error = capfd.readouterr().err
    assert error.count("\n") == 1, error
    assert "nowhere" in error
    assert not (tmp_path / "nowhere").exists()


SMALL = """title = "small"
[fabric]
kind = "star"
hosts = 6
host_rate = "1Gbps"
[workload]
sizes = "web-search"
load = 0.6
flows = 200
"""


def reported(place: Path, text: str, *options: str) -> str:
    (place / "x.toml").write_text(SMALL + text)
    assert command(["run", str(place / "x.toml"), "--out", str(place / "out"), *options]) == 0
    return report(place / "out").read_text("utf-8")


def test_curves_end_where_flows_did_not_complete(tmp_path: Path) -> None:
    page = reported(
        tmp_path,
        '[measure]\nhorizon = "100ms"\n[[scheme]]\nname = "tcp"\n[[scheme]]\nname = "pfabric"\n',
    )
    summary = ResultFolder(tmp_path / "out").summary.filter(pl.col("class") == "all")
    curves = charts(page)["r0-distributions"]["views"][0]["curves"]
    for curve, flows, unfinished in zip(curves, summary["flows"], summary["unfinished"], strict=True):
        assert unfinished > 0
        assert curve["y"][-1] == pytest.approx(1 - unfinished / flows)
    assert "This is of flows that completed under both" in page
    assert "of one only" in page


def test_parts_are_joined_by_seed_and_keep_the_order_of_the_file(tmp_path: Path) -> None:
    schemes = '[[scheme]]\nname = "tcp"\n[[scheme]]\nname = "pias"\n'
    sweep = schemes + '[sweep]\nseed = [1, 2]\n"workload.load" = [0.3, 0.6, 0.4]\n'
    # At 0.4 tcp has seed 2 alone, and pias, which comes first of it, both.
    reported(tmp_path, sweep, "--part", "1/5")
    page = reported(tmp_path, sweep, "--part", "2/5")
    folder = ResultFolder(tmp_path / "out")
    assert folder.missing.height == 6
    found = {point.name: point for point in points(folder)}
    assert list(found) == ["load 0.3", "load 0.4"]
    assert {scheme: list(runs) for scheme, runs in found["load 0.4"].runs.items()} == {
        "tcp": [2],
        "pias": [1, 2],
    }
    for point in found.values():
        ((base, others),) = point.clusters()
        assert (base, list(others)) == ("tcp", ["pias"])
        flows = folder.run(next(iter(point.runs["tcp"].values()))).measured_flows().to_polars().height
        assert others["pias"]["all"]["flows"] == flows
    assert "6 of 12 runs are not finished" in page


def test_schemes_with_the_same_flows_are_compared_whoever_is_first(tmp_path: Path) -> None:
    page = reported(
        tmp_path,
        '[[scheme]]\nname = "tcp"\nwith = { "fabric.hosts" = 5 }\n'
        '[[scheme]]\nname = "dctcp"\n[[scheme]]\nname = "pias"\n',
    )
    assert "tcp: no other scheme met the same flows" in page
    (said,) = re.findall(r'<ul class="verdict">(.*?)</ul>', page, re.DOTALL)
    assert {"dctcp", "pias"} == set(re.findall(r"<strong>(.*?)</strong>", said))


def test_offered_and_achieved_load_stand_beside_one_another(folder: ResultFolder, page: str) -> None:
    means = means_of(page)
    for row in folder.means.filter(pl.col("class") == "all").to_dicts():
        cells = means["all", f"{row['workload.load']:g}", row["scheme"]]
        columns = list(cells)
        assert columns[columns.index("offered") + 1] == "goodput"
        offered, achieved = f"{row['offered_gbps']:.1f}", f"{row['goodput_gbps']:.1f}"
        assert (cells["offered"], cells["goodput"]) == (f"{offered} Gbps", f"{achieved} Gbps")
        assert f"{row['scheme']} {achieved} of {offered} Gbps" in page
    # Both schemes have both seeds, which the caption says once.
    assert "Means over 2 seeds ±" in page
    assert "seeds" not in columns


TWO_SEEDS = """[[scheme]]
name = "tcp"
[[scheme]]
name = "dctcp"
[[scheme]]
name = "pias"
[sweep]
seed = [1, 2]
"""


def without(place: Path, *lost: tuple[str, int]) -> str:
    """The report of runs of two seeds, after some of these are gone."""
    reported(place, TWO_SEEDS)
    folder = ResultFolder(place / "out")
    for scheme, seed in lost:
        rows = folder.summary.filter((pl.col("scheme") == scheme) & (pl.col("seed") == seed))
        shutil.rmtree(folder.path / "runs" / rows["run"][0])
    return report(folder.path).read_text("utf-8")


def busiest(folder: ResultFolder, scheme: str, seed: int) -> tuple[str, str]:
    """The busiest port of a run, as the table has it."""
    rows = folder.summary.filter((pl.col("scheme") == scheme) & (pl.col("seed") == seed))
    ports = folder.run(rows["run"][0]).ports.to_polars().sort("utilisation", descending=True)
    return ports["name"][0], f"{100 * ports['utilisation'][0]:.1f} %"


def first_ports(page: str) -> dict[str, tuple[str, str]]:
    """The first port of each scheme in the table of the busiest ones."""
    table = page.partition("<h2>Ports and queues</h2>")[2].partition("</table>")[0]
    _, *rows = map(cells_of, re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL))
    found: dict[str, tuple[str, str]] = {}
    for scheme, port, used, *_ in rows:
        found.setdefault(scheme, (port, used))
    return found


def test_what_is_shown_is_of_seeds_that_all_schemes_have(tmp_path: Path) -> None:
    page = without(tmp_path, ("tcp", 1))
    folder = ResultFolder(tmp_path / "out")
    assert "Maps are of the first seed that all schemes have." in page
    # tcp has none of seed 1: 2 is the first for all.
    assert first_ports(page) == {scheme: busiest(folder, scheme, 2) for scheme in ("tcp", "dctcp", "pias")}
    (point,) = points(folder)
    curves = charts(page)["r0-distributions"]["views"][0]["curves"]
    for curve in curves:
        flows = folder.run(point.runs[curve["label"]][2]).measured_flows().to_polars()
        assert curve["of"] == flows.height
    # Means are over all that there are, and say over how many.
    assert "Means over 1 to 2 seeds ±" in page
    table = page.partition('<section id="r0-means">')[2].partition("</table>")[0]
    header, *rows = map(cells_of, re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL))
    seeds = {row[header.index("scheme")]: row[header.index("seeds")] for row in rows}
    assert seeds == {"tcp": "1", "dctcp": "2", "pias": "2"}
    # What would make maps move is said once.
    assert page.count("With these two fields of [measure]") == 1


def test_where_no_seed_is_that_of_all_schemes_each_says_which_is_its_own(tmp_path: Path) -> None:
    page = without(tmp_path, ("tcp", 2), ("pias", 1), ("dctcp", 2))
    folder = ResultFolder(tmp_path / "out")
    assert "of that which they name" in page
    own = {"tcp": 1, "dctcp": 1, "pias": 2}
    named = {f"{scheme}, seed {seed}": busiest(folder, scheme, seed) for scheme, seed in own.items()}
    assert first_ports(page) == named
    data = json.loads(re.findall(r'id="charts">(.*?)</script>', page, re.DOTALL)[0])
    assert [shown["scheme"] for shown in data["maps"]["r0-fabric0"]["maps"]] == list(named)
    for name in ("r0-distributions", "r0-sizes"):
        assert [curve["label"] for curve in data["charts"][name]["views"][0]["curves"]] == list(named)
    short = page.partition("<h2>In short</h2>")[2].partition("</section>")[0]
    assert "pias is in no order: no seed was run both here and under another scheme." in short
    assert "met the same flows" not in short
    assert page.count("With these two fields of [measure]") == 1


def test_schemes_that_follow_one_another_and_share_no_seed_are_still_told_of(tmp_path: Path) -> None:
    page = without(tmp_path, ("dctcp", 1), ("pias", 2))
    (said,) = re.findall(r'<ul class="verdict">(.*?)</ul>', page, re.DOTALL)
    # Both are beside tcp, which has both seeds.
    assert set(re.findall(r"<strong>(.*?)</strong>", said)) == {"tcp", "dctcp", "pias"}
    (point,) = points(ResultFolder(tmp_path / "out"))
    assert point.apart("tcp") == {}
    assert point.apart("pias") == {Apart.SEEDS: ["dctcp"]}


def test_a_scheme_without_a_finished_run_is_told_of(tmp_path: Path) -> None:
    page = without(tmp_path, ("pias", 1), ("pias", 2))
    short = page.partition("<h2>In short</h2>")[2].partition("</section>")[0]
    assert "pias is in no order: no run is finished here." in short


def test_where_no_flow_has_completed_nothing_is_compared_or_drawn(tmp_path: Path) -> None:
    text = SMALL.replace('"web-search"\nload = 0.6\nflows = 200', '{ fixed = "1GB" }\narrivals = "once"')
    schemes = '[[scheme]]\nname = "tcp"\n[[scheme]]\nname = "dctcp"\n'
    (tmp_path / "x.toml").write_text(f'{text}[measure]\nhorizon = "10ms"\n{schemes}')
    # Its plots cannot be drawn, which is told by the exit status.
    command(["run", str(tmp_path / "x.toml"), "--out", str(tmp_path / "out")])
    page = report(tmp_path / "out").read_text("utf-8")
    assert ResultFolder(tmp_path / "out").summary["flows"].sum() > 0
    assert page.count("no flow has completed both here and under another scheme") == 2
    assert "met the same flows" not in page
    assert "No flow has completed, so that there are no distributions." in page
    assert not {"r0-distributions", "r0-sizes", "r0-ratios"} & set(charts(page))


@pytest.mark.parametrize(
    ("kind", "flows"),
    [
        ("all", "flows"),
        ("short", "short flows"),
        ("all@1", "flows of class 1"),
        ("long@2", "long flows of class 2"),
        ("all@deadline", "flows with a deadline"),
        ("medium@no-deadline", "medium flows without a deadline"),
    ],
)
def test_classes_are_named_in_words(kind: str, flows: str) -> None:
    assert words.of_class(kind) == flows


def test_classes_of_traffic_are_headings_in_words(tmp_path: Path) -> None:
    rules = "[[workload.rule]]\nclass = 1\n"
    page = reported(tmp_path, f'{rules}[[scheme]]\nname = "tcp"\n')
    assert "all@1" in ResultFolder(tmp_path / "out").means["class"].to_list()
    assert "<summary>flows of class 1</summary>" in page
    assert not re.findall(r"<summary>[^<]*@", page)


def test_a_damaged_run_is_left_out_and_said_in_a_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    reported(tmp_path, '[[scheme]]\nname = "tcp"\n[[scheme]]\nname = "pias"\n')
    folder = ResultFolder(tmp_path / "out")
    flows = folder.path / "runs" / folder.summary["run"][0] / "flows.parquet"
    content = bytearray(flows.read_bytes())
    content[len(content) // 2] ^= 0xFF
    flows.write_bytes(content)
    capfd.readouterr()
    assert command(["report", str(folder.path)]) == 0
    (note,) = capfd.readouterr().err.splitlines()
    assert note.startswith(str(flows))
    assert note.endswith("the run counts as missing")
    page = (folder.path / "report.html").read_text("utf-8")
    assert "1 of 2 runs are not finished" in page
    curves = charts(page)["r0-distributions"]["views"][0]["curves"]
    assert [curve["label"] for curve in curves] == ["pias"]


def test_runs_of_an_older_version_are_put_beside_newer_ones(tmp_path: Path) -> None:
    plot = '[plot.times]\nkind = "cdf"\n'
    sweep = '[[scheme]]\nname = "tcp"\n[[scheme]]\nname = "pias"\n[sweep]\nseed = [1, 2]\n'
    page = reported(tmp_path, sweep + plot)
    folder = ResultFolder(tmp_path / "out")
    run = folder.path / "runs" / folder.summary["run"][0]
    flows = pl.read_parquet(run / "flows.parquet")
    assert flows["src"].dtype == pl.UInt32
    about = {k: v for k, v in pl.read_parquet_metadata(run / "flows.parquet").items() if k != "ARROW:schema"}
    flows.with_columns(pl.col("src", "dst").cast(pl.UInt16)).write_parquet(
        run / "flows.parquet", metadata=about
    )
    list_checksums(run)
    # The runs are there, so that only plots and report are made.
    again = reported(tmp_path, sweep + plot)
    assert charts(again)["r0-distributions"] == charts(page)["r0-distributions"]
    assert pl.read_parquet(run / "flows.parquet")["src"].dtype == pl.UInt16


def test_what_losers_have_in_common_is_no_chance() -> None:
    random = np.random.default_rng(7)
    named = 0
    for _ in range(300):
        flows = pl.DataFrame({"of": random.integers(0, 40, 2000), "lost": random.random(2000) < 0.2})
        named += words._over_represented(flows) is not None
    # One in twenty is expected, with a deviation of 3.8; sums of whole numbers are a little rarer.
    assert named < 30
    flows = pl.DataFrame({"of": random.integers(0, 40, 2000)}).with_columns(
        lost=pl.Series(random.random(2000)) < pl.when(pl.col("of") == 7).then(0.9).otherwise(0.2)
    )
    found = words._over_represented(flows)
    assert found is not None
    assert found[0] == 7
    assert found[1] > 2 * found[2]


def test_queues_are_told_apart(tmp_path: Path) -> None:
    page = reported(
        tmp_path,
        '[measure]\nsample_every = "1ms"\nsample_ports = ["switch0->host0", "switch0->host1"]\n'
        '[[scheme]]\nname = "pias"\n',
    )
    chart = charts(page)["r0-series"]
    series = (
        ResultFolder(tmp_path / "out")
        .run(ResultFolder(tmp_path / "out").summary["run"][0])
        .series.to_polars()
    )
    kinds = series.select("metric", "index").unique(maintain_order=True)
    assert kinds.height > 8
    assert chart["choices"][1:] == [
        chart["choices"][1],
        ["all, on average", "switch0->host0", "switch0->host1"],
    ]
    assert len(chart["choices"][1]) == kinds.height
    metric, index = kinds.row(0)
    mean = series.filter((pl.col("metric") == metric) & (pl.col("index") == index))["value"].mean()
    first, one, other = (view["curves"][0] for view in chart["views"][:3])
    assert np.mean(first["y"]) == pytest.approx(mean, rel=0.1)
    assert first["y"] != one["y"] != other["y"]


def test_tasks_and_deadlines_are_told_of(tmp_path: Path) -> None:
    page = reported(
        tmp_path,
        "[[workload.rule]]\ndeadline = { ideal = { factor = 3.0 } }\n"
        '[[scheme]]\nname = "dctcp"\n[[scheme]]\nname = "pdq"\n',
    )
    means = ResultFolder(tmp_path / "out").means.filter(pl.col("class") == "all").sort("miss_rate")
    rates = "; ".join(f"{row['scheme']} {100 * row['miss_rate']:.1f} %" for row in means.to_dicts())
    assert f"Missed deadlines: {rates}." in page


def test_a_report_is_a_page_of_its_own(folder: ResultFolder, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"must end in \.html"):
        report(folder.path, out=tmp_path / "x.toml")


def test_without_uplot_charts_are_still_pictures(
    folder: ResultFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(import_module("tailrace.reports.page"), "_UPLOT", "uplot/nothing.js")
    page = report(folder.path, out=tmp_path / "x.html").read_text("utf-8")
    said = capfd.readouterr().err
    assert said == "uPlot is not here, so that charts are still pictures: python python/uplot.py\n"
    assert "uPlot" not in page
    assert page.count("<script") == 1
    assert page.count('<svg viewBox="0 0 720 360"') == len(charts(page))
