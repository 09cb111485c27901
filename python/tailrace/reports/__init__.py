"""The report of result folders: one HTML file that needs nothing else."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from tailrace import _tailrace
from tailrace.errors import RunError
from tailrace.files import content, verify
from tailrace.folder import ResultFolder
from tailrace.plots.style import PENS, shown
from tailrace.reports import words
from tailrace.reports.charts import Chart, Grids
from tailrace.reports.compared import OfFlows
from tailrace.reports.fabric_map import Maps
from tailrace.reports.flows import METRICS, SIZES, Point, points
from tailrace.reports.page import answers, chart, page, paragraphs, picture, section, text
from tailrace.reports.ports import busiest
from tailrace.reports.sweep import curves, series
from tailrace.reports.tables import tables

# All numbers of distributions together: about two megabytes.
_NUMBERS = 240_000
# A curve has no more, and no fewer.
_MOST, _LEAST = 2_000, 40


def report(*folders: str | Path, out: str | Path | None = None) -> Path:
    """Write the report of result folders and return where it is.

    By default it is ``report.html`` in the only folder.

    Of a folder whose runs are not all finished it is about those that are.
    """
    if not folders:
        raise RunError("a report needs a result folder, as tailrace run leaves it")
    if out is None and len(folders) > 1:
        raise RunError("the report of several folders belongs to none of them: say where it is to be (out)")
    target = Path(out) if out is not None else Path(folders[0]) / "report.html"
    if target.suffix != ".html":
        raise RunError(f"{target}: a report is a page, so that its name must end in .html")
    opened = [_open(Path(folder)) for folder in folders]
    found = [points(folder) for folder in opened]
    curve_count = sum(len(at.runs) for of in found for at in of) * len(SIZES) * (len(METRICS) + 1)
    # Two numbers a point.
    grids = Grids(max(_LEAST, min(_MOST, _NUMBERS // (2 * max(1, curve_count)))))
    charts: dict[str, Chart] = {}
    maps = Maps()
    parts = [
        _part(folder, of, f"r{number}-", grids, charts, maps)
        for number, (folder, of) in enumerate(zip(opened, found, strict=True))
    ]
    title = (
        str(opened[0].experiment.get("title", "Results"))
        if len(opened) == 1
        else f"{len(opened)} experiments"
    )
    body = "".join(parts) if len(opened) == 1 else f"<h1>{text(title)}</h1>{''.join(parts)}"
    if not answers():
        _note("uPlot is not here, so that charts are still pictures: python python/uplot.py")
    _tailrace.write(target, page(title, body, charts, grids, maps.plain).encode())
    return target


def _open(path: Path) -> ResultFolder:
    if (path / "fluid.parquet").exists():
        raise RunError(
            f"{path} holds a fluid model, of which there are plots and no report: {path / 'plots'}"
        )
    try:
        folder = ResultFolder(path)
    except RunError as error:
        if "no summary yet" not in str(error):
            raise
    else:
        if _is_up_to_date(folder):
            return folder
    _gather(path)
    return ResultFolder(path)


def _is_up_to_date(folder: ResultFolder) -> bool:
    """Whether the summary has the runs that are whole, all of them and no others."""
    # Another part may have made runs since, and others may have been damaged.
    runs = folder.path / "runs"
    made = ((runs / key / "SHA256SUMS").exists() for key in folder.missing["run"])
    return not any(made) and all(map(_is_whole, (runs / key for key in folder.summary["run"].unique())))


def _is_whole(run: Path) -> bool:
    try:
        verify(run, "run")
    except RunError:
        return False
    return True


def _gather(path: Path) -> None:
    """Put together what is whole, and say what is damaged."""
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        _tailrace.gather(path)
    for note in notes:
        _note(str(note.message))


def _note(what: str) -> None:
    """Say something in a line, as the command does: what it is of is a folder, and no line of code."""
    print(shown(what), file=sys.stderr)


def _part(
    folder: ResultFolder, of: list[Point], prefix: str, grids: Grids, charts: dict[str, Chart], maps: Maps
) -> str:
    run = set(folder.summary["scheme"])
    pens = {scheme: number % len(PENS) for number, scheme in enumerate(folder.schemes) if scheme in run}
    flows = OfFlows(folder, of, pens, grids)
    sweep, sampled = curves(folder, pens), series(folder, of, pens)

    def figures(*made: Chart | None) -> str:
        kept = [of for of in made if of is not None]
        charts.update({prefix + of.name: of for of in kept})
        return "".join(chart(of, prefix) for of in kept)

    experiment = folder.experiment
    source = f'<p class="lead">{text(experiment["source"])}</p>' if experiment.get("source") else ""
    return "".join(
        [
            f"<h1>{text(experiment.get('title', folder.path.name))}</h1>{source}",
            f'<p class="lead">{text(_extent(folder, of))}</p>',
            section("In short", flows.verdicts()),
            section("About", paragraphs(str(experiment.get("about", "")))),
            section("Means", tables(folder), figures(sweep), name=f"{prefix}means"),
            section("Distributions", flows.completed(), figures(*flows.distributed)),
            section("Flow by flow", flows.compared(), figures(flows.ratios, flows.losers), flows.lost()),
            section("The fabric", maps.of(folder, of, pens, prefix)),
            section("Ports and queues", figures(sampled), busiest(folder, of)),
            section("Claims", words.claims(folder)),
            section("The experiment's own plots", _plots(folder)),
            section("What was run", words.scenario(folder, of)),
            section("Where the numbers are from", words.ledger(folder, of)),
        ]
    )


def _extent(folder: ResultFolder, of: list[Point]) -> str:
    runs, missing = folder.summary["run"].n_unique(), folder.missing.height
    scale = "" if folder.scale == 1 else f", at scale {folder.scale:g}"
    left = (
        f"; {missing} of {runs + missing} runs are not finished, and nothing here is of them"
        if missing
        else ""
    )
    return f"{runs} {'run' if runs == 1 else 'runs'}{scale}{left}.{_seeds(of)}"


def _seeds(of: list[Point]) -> str:
    """What is shown where schemes have different seeds, as in a sweep that is not finished."""
    if all(at.is_even for at in of):
        return ""
    said = (
        " Some schemes lack seeds that others have: means are over all that are there, and distributions, "
        "samples, maps and ports are of seeds that all schemes have."
    )
    if all(at.seeds for at in of):
        return said
    return f"{said} Where there are none, the names of schemes there say of which seeds they are."


def _plots(folder: ResultFolder) -> str:
    names = sorted(folder.experiment.get("plot", {}))
    there = [(name, folder.path / "plots" / f"{name}.svg") for name in names]
    return "".join(picture(content(file), name) for name, file in there if file.exists())


__all__: Sequence[str] = ["report"]
