"""A fabric that one can watch: a map for each scheme of a point, and one time for all of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tailrace.folder import ResultFolder
from tailrace.plots.series import time_unit
from tailrace.reports import fabric_flows, page
from tailrace.reports.fabric_frames import Clock, Frames, framed, samples, whole
from tailrace.reports.fabric_layout import Layout
from tailrace.reports.fabric_run import Run, what_moves
from tailrace.reports.fabric_svg import STEPS, Scale, Watched, boxes, draw, room
from tailrace.reports.flows import Point
from tailrace.reports.words import of_one_seed

# Bytes that maps may add to a page. The last point to begin may end beyond it.
_ROOM = 600_000
_ABOUT = (
    "A link is two lines, one a direction, side by side as on a road. Colour and width say which share of "
    "its rate it carried; a circle where it begins how long the queue of its port was at most, a triangle "
    "that packets were marked, a cross that some were dropped: the larger, the more. Maps are {}."
)


class Maps:
    """The maps of a page."""

    def __init__(self) -> None:
        self.plain: dict[str, Any] = {}
        """What moves them, by the figure's name."""
        self._room = _ROOM

    def of(self, folder: ResultFolder, points: list[Point], pens: dict[str, int], prefix: str) -> str:
        """The maps of a folder's points as HTML. Of runs without a map nothing is read."""
        parts: list[str] = []
        reasons: dict[str, None] = {}
        ends: list[float] = []
        without = 0
        for number, at in enumerate(points):
            runs: list[Run] = []
            named = {at.named(scheme, 1): pens[scheme] for scheme in at.runs}
            for scheme in at.runs:
                if sum(run.bytes for run in runs) >= self._room:
                    without += 1
                    continue
                run = Run(folder.path / "runs" / at.first(scheme), at.named(scheme, 1))
                if isinstance(run.layout, str):
                    reasons[run.layout] = None
                else:
                    runs.append(run)
            if runs:
                figure = self._figure(_Point(runs, named).made(f"{prefix}fabric{number}", at.name))
                parts.append(page.folded(at.name, figure) if parts else figure)
            ends += [run.end_ns for run in runs if run.could_be_sampled]
        said = [_ABOUT.format(of_one_seed(points))] if parts else []
        said += reasons
        said += [what_moves(min(ends))] if ends else []
        if without:
            said.append(f"So that the page stays small, {without} more runs have no map here.")
        return "".join([*(f"<p>{page.text(line)}</p>" for line in said), *parts])

    def _figure(self, made: Watched) -> str:
        figure = page.fabric(made)
        self.plain[made.name] = made.plain
        self._room -= len(figure) + len(json.dumps(made.plain, separators=(",", ":")))
        return figure


class _Point:
    """The maps of a point's runs."""

    def __init__(self, runs: list[Run], pens: dict[str, int]) -> None:
        self.runs, self.pens = runs, pens
        self.clock: Clock | None = None
        notes = [note for run in runs for note in (run.map.note, _failures(run.fields["fabric"])) if note]
        self.said: list[str] = list(dict.fromkeys(notes))
        self.fabrics: list[Run] = []
        """A run of each fabric."""
        for run in runs:
            if not any(run.is_on_that_of(of) for of in self.fabrics):
                self.fabrics.append(run)
        self.frames = [self._frames(run) for run in runs]
        counts = ([n for own in kind.values() for n in own.values()] for kind in self._counts())
        marked, dropped = (max(found, default=1) for found in counts)
        self.scale = Scale(max(frames.longest for frames in self.frames), marked, dropped)

    def _counts(self) -> Iterator[dict[tuple[int, int], dict[int, int]]]:
        for kind in ("marked", "dropped"):
            yield {
                (number, line): own
                for number, frames in enumerate(self.frames)
                for line, own in getattr(frames, kind).items()
            }

    def _frames(self, run: Run) -> Frames:
        rows = samples(run.path, run.ports) if run.is_sampled else None
        if rows is None or "utilisation" not in rows["metric"]:
            others = any(of.is_sampled for of in self.runs if of is not run)
            told = f"{run.scheme}: {run.unsampled()}" if others else run.unsampled()
            self.said += [] if told in self.said else [told]
            return whole(run.path, run.map.lines)
        if self.clock is None:
            end = max(of.end_ns for of in self.runs)
            first = rows["time_ns"].min()
            assert isinstance(first, float)
            self.clock = Clock.over(end, first, max(len(of.map.lines) for of in self.runs))
        return framed(rows, run.map.lines, self.clock)

    def made(self, name: str, point: str) -> Watched:
        """The figure of that name."""
        shapes = [boxes(run.wiring, run.map, f"{name}-{n}") for n, run in enumerate(self.fabrics)]
        maps = [
            {
                "scheme": run.scheme,
                "pen": self.pens[run.scheme],
                "fabric": fabric,
                **own.plain(self.scale.queue),
            }
            for run, fabric, own in self._drawn()
        ]
        plain = {
            **self._times(),
            "steps": STEPS,
            "longest": self.scale.queue,
            "marked": self.scale.marked,
            "dropped": self.scale.dropped,
            "fabrics": [_plain(run.map, f"{name}-{n}") for n, run in enumerate(self.fabrics)],
            # Maps are told which of the flows are theirs.
            "flows": self._flows(maps),
            "maps": maps,
        }
        stills = [(self._when(at), self._stills(name, at)) for at in self._moments()]
        return Watched(name, point or "Link by link", self.said, shapes, stills, self._legend(), plain)

    def _drawn(self) -> Iterator[tuple[Run, int, Frames]]:
        """Runs, each with the number of its fabric and its frames."""
        for run, own in zip(self.runs, self.frames, strict=True):
            yield run, next(n for n, of in enumerate(self.fabrics) if run.is_on_that_of(of)), own

    def _stills(self, name: str, at: int) -> list[tuple[str, str]]:
        """A picture of each scheme."""
        return [
            (
                run.scheme,
                draw(run.map, f"{name}-{fabric}", own, at, self.scale, f"{run.scheme}, {self._when(at)}"),
            )
            for run, fabric, own in self._drawn()
        ]

    def _times(self) -> dict[str, Any]:
        if self.clock is None:
            return {"frames": 1, "unit": "", "every": 0, "start": 0, "us": 0}
        unit, factor = time_unit(self.clock.every_ns * self.clock.count)
        every = self.clock.every_ns
        return {
            "frames": self.clock.count,
            "unit": unit,
            "every": every / factor,
            "start": self._busiest(),
            "us": every / 1e3,
        }

    def _when(self, at: int) -> str:
        if self.clock is None:
            return "the whole run"
        times = self._times()
        told = f"{at * times['every']:.4g} to {(at + 1) * times['every']:.4g} {times['unit']}"
        return f"{told}, when most waited" if at == times["start"] and self.scale.queue else told

    def _busiest(self) -> int:
        """The frame in which most waits, or most is sent."""
        assert self.clock is not None
        waits = [0.0] * self.clock.count
        for frames in self.frames:
            if not frames.totals:
                rows = frames.queue if self.scale.queue else frames.known()
                waits = [sum(values) for values in zip(waits, *rows, strict=True)]
        return waits.index(max(waits))

    def _moments(self) -> list[int]:
        """Frames that are told: of the run's first quarter, of its last, and the busiest."""
        if self.clock is None:
            return [0]
        return sorted({self.clock.count // 4, self._busiest(), 3 * self.clock.count // 4})

    def _flows(self, maps: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Flows by line, once for runs that had the same ones on the same fabric; maps say which of them."""
        groups: list[tuple[fabric_flows.Passing, dict[str, Any], list[int]]] = []
        tables = [fabric_flows.read(run.path) for run in self.runs]
        for number, (run, own) in enumerate(zip(self.runs, tables, strict=True)):
            for passing, fabric, members in groups:
                if run.fields["fabric"] == fabric and fabric_flows.same(passing.flows, own):
                    members.append(number)
                    break
            else:
                passing = fabric_flows.Passing(run.scenario, run.wiring, run.map, own)
                groups.append((passing, run.fields["fabric"], [number]))
        for group, (_, _, members) in enumerate(groups):
            for place, number in enumerate(members):
                maps[number] |= {"flows": group, "run": place}
        return [
            passing.plain([(tables[number], self.frames[number]) for number in members], self.clock)
            for passing, _, members in groups
        ]

    def _legend(self) -> list[tuple[str, str]]:
        used = ["idle", *(f"up to {step // 2} %" for step in STEPS[1:]), f"above {STEPS[-1] // 2} %"]
        told = [(f"u{number}", label) for number, label in enumerate(used)]
        if self.clock is not None:
            told.append(("unknown", "no sample"))
        if self.scale.queue:
            told.append(("queue", f"queue, the largest {size(self.scale.queue)}"))
        marked, dropped = self._counts()
        told += [("mark", "marked")] if marked else []
        return told + ([("drop", "dropped")] if dropped else [])


def size(count: float) -> str:
    """Bytes in words."""
    unit, factor = next(
        ((u, f) for u, f in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)) if count >= f), ("bytes", 1.0)
    )
    return f"{count / factor:.3g} {unit}"


def _plain(layout: Layout, boxes: str) -> dict[str, Any]:
    """As JSON has it: the lines' names and places."""
    places = ([*line.start, *line.end, *(line.bend or ())] for line in layout.lines)
    return {
        "boxes": boxes,
        "width": round(layout.width),
        "height": round(layout.height),
        "room": room(layout),
        "dot": layout.dot,
        "names": [line.name for line in layout.lines],
        "lines": [[round(value, 1) for value in place] for place in places],
        "inner": [int(line.inner) for line in layout.lines],
    }


def _failures(fabric: dict[str, Any]) -> str:
    """What of a fabric fails, in words; nothing if nothing does."""
    told = []
    for failure in fabric.get("failure", []):
        what = failure.get("switch") or f"the link of {failure['link']}"
        back = f" and is back at {failure['until']}" if "until" in failure else " for good"
        told.append(f"{what} fails at {failure['at']}{back}")
    if not told:
        return ""
    follow = f"Routes follow each change after {fabric['convergence']}."
    return (
        f"{'; '.join(told)}. {follow} Which flows pass a link then depends on the time, and is not told here."
    )
