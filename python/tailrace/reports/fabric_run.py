"""A run, as the map of its fabric needs it."""

from __future__ import annotations

import tomllib
from functools import cached_property
from pathlib import Path

from tailrace import _tailrace
from tailrace.files import frame, load, text
from tailrace.reports.fabric_frames import end_ns, most_frames
from tailrace.reports.fabric_layout import Layout, lay_out
from tailrace.reports.fabric_order import Wiring


class Run:
    """A run, of which a map is to be drawn."""

    def __init__(self, path: Path, scheme: str) -> None:
        self.path, self.scheme = path, scheme
        self.scenario = load(path / "scenario.toml", "run", text)
        self.fields = tomllib.loads(self.scenario)
        self.wiring = Wiring(*_tailrace.drawn(self.scenario))
        self.ports: list[str] = load(path / "ports.parquet", "run", frame)["name"].to_list()
        self.layout = lay_out(self.wiring, self.ports)

    @property
    def map(self) -> Layout:
        """Its layout, which is there."""
        assert isinstance(self.layout, Layout)
        return self.layout

    def is_on_that_of(self, other: Run) -> bool:
        """Whether both are on the same fabric, as far as a map shows it."""
        return (self.wiring, self.ports) == (other.wiring, other.ports)

    @property
    def is_sampled(self) -> bool:
        """Whether the scenario asks for samples of ports."""
        measure = self.fields["measure"]
        return "sample_every" in measure and measure["sample_ports"] not in ("none", [])

    @property
    def bytes(self) -> int:
        """About what its map adds to a page: frames, still pictures, flows."""
        lines = len(self.map.lines)
        return lines * (3 * most_frames(lines) + 200 if self.is_sampled else 120)

    @cached_property
    def end_ns(self) -> float:
        """When it was over."""
        return end_ns(self.path)

    def unsampled(self) -> str:
        """Why its map is of the whole run."""
        if self._is_of_rates:
            return "Of rates, which are simulated here in place of packets, there are totals only."
        if self.is_sampled:
            return "Its samples say nothing of use: an earlier build took them, or none before the end."
        return "This is the whole run at once."

    @property
    def could_be_sampled(self) -> bool:
        """Whether its map would move, had its scenario asked for samples."""
        return not (self.is_sampled or self._is_of_rates)

    @property
    def _is_of_rates(self) -> bool:
        return bool(self.fields.get("level", "packet") == "flow")


def what_moves(end_ns: float) -> str:
    """What a scenario is to say so that the map of a run that is over then moves."""
    every = _tenth(end_ns / 120)
    return (
        f'With these two fields of [measure] the map moves: sample_every = "{every}", sample_ports = "all".'
    )


def _tenth(time_ns: float) -> str:
    """A time with one digit, as a scenario has it."""
    unit, factor = next(
        ((u, f) for u, f in (("s", 1e9), ("ms", 1e6), ("us", 1e3)) if time_ns >= f), ("ns", 1.0)
    )
    return f"{float(f'{max(1.0, time_ns / factor):.1g}'):g}{unit}"
